/* A tier as an operator writes it: [NAME=]M:F/A, on the command line, in a file or typed on the
 * screen.
 *
 * Invariant: a struct that came out of here holds an M:F/A that term_parse_mfa takes, and a name
 * that is printable or "". Pure; any thread. Does not know whether the function exists. */
#ifndef KPROF_APP_OPTIONS_TIER_H
#define KPROF_APP_OPTIONS_TIER_H

#include <kprof/base/err.h>
#include <kprof/core/tier.h>
#include <stddef.h>

struct option_tier {
    char name[TIER_NAME_BYTES]; /* "": none was given */
    char mfa[TIER_MFA_BYTES];   /* as given: "m:f/2", "MyApp.Repo.get/2" */
};

/* 0, or -1 with err. */
int options_tier_parse(const char *text, struct option_tier *out, struct err *e);
/* Is that a name a tier may have? 0, or -1 with err. */
int options_tier_check_name(const char *name, struct err *e);
/* Gives t a name that none of taken[0..n) has: the one it has, with a number if need be; else the
 * first of "index", "OrderController.index" (the last part of the module),
 * "OrderController.index/2" that is free. t may be one of taken if it has none. */
void options_tier_name(struct option_tier *t, const struct option_tier *taken, size_t n);

#endif
