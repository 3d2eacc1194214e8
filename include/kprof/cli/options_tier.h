/* A tier as an operator writes it: [NAME=]M:F/A, on the command line, in a file or on the screen.
 *
 * Invariant: a struct from this unit has an M:F/A that term_parse_mfa accepts, and a name that is
 * printable or "". Pure; any thread. This unit does not check that the function exists. */
#ifndef KPROF_CLI_OPTIONS_TIER_H
#define KPROF_CLI_OPTIONS_TIER_H

#include <kprof/base/err.h>
#include <kprof/core/tier.h>
#include <stddef.h>

/* 0, or -1 with err. */
int options_tier_parse(const char *text, struct tier_spec *out, struct err *e);
/* Checks that a tier may have this name. Returns 0, or -1 with err. */
int options_tier_check_name(const char *name, struct err *e);
/* Adds t to tier[0..*n), which has room for TIER_MAX. No other tier may have the same name or
 * function. Returns 0, or -1 with err. */
int options_tier_add(struct tier_spec *tier, size_t *n, const struct tier_spec *t, struct err *e);
/* Gives t a name that none of taken[0..n) has. If t has a name, that name stays, with a number if
 * needed; if not, t gets the first free name of "index", "OrderController.index" (the last part of
 * the module), "OrderController.index/2". t may be one of taken if it has no name. */
void options_tier_name(struct tier_spec *t, const struct tier_spec *taken, size_t n);

#endif
