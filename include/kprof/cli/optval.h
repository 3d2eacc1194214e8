/* Values of options: converts a text to a number, or checks it; an error has one sentence.
 *
 * Invariant: pure; every part of the operator's text in an err has been made safe to draw. Any
 * thread. opt is the option's long name, for the error message. All functions return 0, or -1 with
 * err; *out is set only on 0. */
#ifndef KPROF_CLI_OPTVAL_H
#define KPROF_CLI_OPTVAL_H

#include <kprof/base/err.h>
#include <kprof/core/tier.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int optval_duration(const char *opt, const char *val, uint64_t min_ns, uint64_t *out_ns,
                    struct err *e);
int optval_count(const char *opt, const char *val, uint64_t max, uint64_t *out, struct err *e);
int optval_sample(const char *val, uint32_t *out, struct err *e); /* "1/10" -> 10 */
int optval_detail(const char *val, uint32_t *out, struct err *e); /* "off" -> 0 */
int optval_rate(const char *opt, const char *val, uint64_t *out,
                struct err *e); /* "20k/s" -> 20000 */
int optval_percent(const char *opt, const char *val, uint32_t *out_ppm,
                   struct err *e); /* "2.5" or "2.5%" -> 25000; "none" -> 0 */
int optval_speed(const char *val, double *out, struct err *e); /* "10" -> 10, "max" -> 0 */
int optval_returns(const char *val, enum returns_mode *out, struct err *e);
int optval_transport(const char *val, struct err *e);
int optval_node(const char *val, struct err *e);      /* name@host or name@host:PORT */
int optval_connect(const char *val, struct err *e);   /* ADDR:PORT or [IPV6]:PORT */
int optval_self_name(const char *val, struct err *e); /* a node name without host */

struct shown {
    char s[160];
};
/* At most 40 columns of text, fit for a terminal. */
struct shown optval_show(const char *text);

#endif
