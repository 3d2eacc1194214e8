/* Writes stack samples as files that other tools read, and as interactive pages:
 * - folded: a line for each stack, root first, and its width (flamegraph.pl, inferno, speedscope)
 * - eflame: a line for each sample, the process first (eflame's stack_to_flame.sh)
 * - perf: `perf script` as flame_prof writes it, with metrics (FlameScope's fork)
 * - speedscope: speedscope's own JSON, a profile for each group
 * - pprof: gzipped protobuf (go tool pprof, Pyroscope, Parca)
 * - chrome: trace events, a time line for each process (Perfetto, chrome://tracing, speedscope)
 * - html, svg: one interactive file that needs no network
 *
 * folded, speedscope and pprof show the flame graph of the query; eflame, perf, chrome and the
 * pages show the samples that pass its filter. Texts from the node are made safe for the format.
 * Memory is bounded: output is passed on in pieces. Pure except for the sink; any thread that may
 * read the view. */
#ifndef KPROF_EXPORT_STACKS_H
#define KPROF_EXPORT_STACKS_H

#include <kprof/core/flame.h>
#include <stdbool.h>
#include <stddef.h>

enum stacks_format {
    STACKS_FOLDED,
    STACKS_EFLAME,
    STACKS_PERF,
    STACKS_SPEEDSCOPE,
    STACKS_PPROF,
    STACKS_CHROME,
    STACKS_HTML,
    STACKS_SVG,
    STACKS_FORMATS
};

struct stacks_options {
    struct flame_query query;
    bool integer_pid;  /* perf: 80 instead of 0.80.0, for readers that need a number */
    const char *title; /* of speedscope and the pages, e.g. the node; may be NULL */
    const char *note;  /* on the pages: what is not in the samples; may be NULL */
};

/* Receives the next piece of the file. Returns false to stop (the disk is full). */
typedef bool stacks_sink(void *arg, const char *bytes, size_t n);

const char *stacks_format_name(enum stacks_format f); /* "folded" */
/* By the extension of the file name; STACKS_FORMATS if there is no such format. */
enum stacks_format stacks_format_of_file(const char *path);
const char *stacks_endings(void); /* ".svg .html ..." */

/* Returns false if the sink did. */
bool stacks_write(const struct stack_view *v, enum stacks_format f, const struct stacks_options *o,
                  stacks_sink *sink, void *arg);

#endif
