/* Searches for a suggestion: loads the node's catalog, has calls counted for a second, and calls
 * cli/suggest, for which it asks the node which functions call which. A part of app/live and
 * app/suggest_print.
 *
 * Invariant: nothing is traced. At most one survey runs at a time, and it ends within
 * SURVEY_MOST_S. If the picker reloads the catalog in the meantime, the survey continues with the
 * new one. Core thread. */
#ifndef KPROF_APP_SURVEY_H
#define KPROF_APP_SURVEY_H

#include <kprof/cli/preset_rate.h>
#include <kprof/cli/suggest.h>
#include <kprof/engine/engine.h>

#define SURVEY_MOST_S 30

enum survey_state {
    SURVEY_NONE,
    SURVEY_LOADING,
    SURVEY_COUNTING,
    SURVEY_READING,
    SURVEY_FOUND,
    SURVEY_FAILED
};

struct survey {
    enum survey_state state;
    struct suggestion found; /* SURVEY_FOUND */
    struct err why;          /* SURVEY_FAILED */
    uint32_t ids[SUGGEST_COUNTED];
    size_t n;
    float preset_per_s[PRESETS_MAX]; /* as preset_rates; of the last count */
    uint32_t counts;                 /* number of counts that ended; 0: preset_per_s is not set */
    uint64_t counted_ns;             /* when the last one ended */
    uint32_t load;                   /* engine_catalog_load of the catalog with these ids */
    uint64_t until_ns;
    struct suggest_calls calls;
    uint32_t calls_of; /* the function that was asked for */
    bool calls_asked;
    uint64_t calls_until_ns;
};

/* The node must be attached. */
void survey_begin(struct survey *s, struct engine *g);
/* True: it ended in this call. */
bool survey_poll(struct survey *s, struct engine *g);
bool survey_runs(const struct survey *s);

#endif
