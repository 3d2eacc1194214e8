/* What --full-trace traces, as the operator writes it: a function with or without a condition
 * ("my_web:handle/1", "my_web:handle/2 arg(1) =:= get"), or a process ("<0.123.0>").
 *
 * Invariant: pure; any thread. The condition is not checked here: the node translates it. */
#ifndef KPROF_CLI_FULL_WHAT_H
#define KPROF_CLI_FULL_WHAT_H

#include <kprof/base/err.h>
#include <kprof/erl/term.h>
#include <stdbool.h>
#include <stdint.h>

struct full_what {
    bool process;
    uint64_t pid;    /* serial << 32 | id, when it is a process */
    struct mfa call; /* the call with which a request begins */
    bool condition;  /* there is a condition: the whole text is an identity rule */
};

/* 0, or -1 with err. */
int full_what_parse(const char *text, struct full_what *out, struct err *e);

#endif
