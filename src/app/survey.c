#include "survey.h"

#include <kprof/base/clock.h>

#define CALLS_NS 3000000000u /* most that the questions about calls may take */

void survey_begin(struct survey *s, struct engine *g)
{
    s->until_ns = clock_mono_ns() + (uint64_t)SURVEY_MOST_S * 1000000000u;
    s->state = SURVEY_LOADING;
    engine_catalog_open(g);
}

bool survey_runs(const struct survey *s)
{
    return s->state == SURVEY_LOADING || s->state == SURVEY_COUNTING || s->state == SURVEY_READING;
}

static bool fail(struct survey *s)
{
    s->state = SURVEY_FAILED;
    return true;
}

static bool load(struct survey *s, struct engine *g)
{
    const struct catalog *c = engine_catalog(g);
    const struct catalog_status *st = catalog_status(c);

    if (!engine_catalog_of_node(g)) {
        err_set(&s->why,
                "no suggestion: another list of functions was loaded meanwhile; press P again");
        return fail(s);
    }
    if (st->state == CATALOG_PART) {
        err_set(&s->why, "no suggestion: the node's functions are not known: %s", st->note);
        return fail(s);
    }
    if (st->state != CATALOG_WHOLE)
        return false;
    s->n = suggest_count(c, s->ids);
    s->load = engine_catalog_load(g);
    s->state = SURVEY_COUNTING;
    return false;
}

static bool all_counted(const struct survey *s, const struct catalog *c)
{
    for (size_t i = 0; i < s->n; i++) {
        float rate = catalog_rate(c, s->ids[i]);
        if (rate < 0 && rate != CATALOG_UNCOUNTED)
            return false;
    }
    return true;
}

static bool count(struct survey *s, struct engine *g)
{
    const struct catalog *c = engine_catalog(g);

    if (s->load != engine_catalog_load(g)) { /* the picker has started to load another */
        s->state = SURVEY_LOADING;
        return false;
    }
    if (!all_counted(s, c)) {
        engine_catalog_rates(g, s->ids, s->n);
        return false;
    }
    preset_rates(c, s->preset_per_s);
    s->counts++;
    s->counted_ns = clock_mono_ns();
    suggest_calls_begin(&s->calls, c, s->ids, s->n);
    s->calls_asked = false;
    s->calls_until_ns = s->counted_ns + CALLS_NS;
    s->state = SURVEY_READING;
    return false;
}

static void take_calls(struct survey *s, const struct catalog *c, const struct catalog *called)
{
    char text[CATALOG_TEXT_BYTES];

    for (uint32_t id = 0; id < catalog_count(called); id++) {
        catalog_text(called, id, text);
        suggest_calls_add(&s->calls, c, s->calls_of, text);
    }
}

/* True: the next question was sent. */
static bool ask_calls(struct survey *s, struct engine *g)
{
    char text[CATALOG_TEXT_BYTES];
    struct err ignored;

    if (clock_mono_ns() > s->calls_until_ns || !suggest_calls_next(&s->calls, &s->calls_of))
        return false;
    catalog_text(engine_catalog(g), s->calls_of, text);
    return engine_calls_ask(g, text, &ignored) == 0;
}

/* Reads which functions call which, then makes the suggestion. */
static bool read_calls(struct survey *s, struct engine *g)
{
    const struct catalog *c = engine_catalog(g);

    if (s->load != engine_catalog_load(g)) { /* the picker has started to load another */
        s->state = SURVEY_LOADING;
        return false;
    }
    if (s->calls_asked && clock_mono_ns() <= s->calls_until_ns) {
        struct catalog *called = engine_calls_take(g);
        if (!called)
            return false;
        take_calls(s, c, called);
        catalog_free(called);
    }
    s->calls_asked = ask_calls(s, g);
    if (s->calls_asked)
        return false;
    if (suggest_make(c, s->ids, s->n, &s->calls, &s->found, &s->why) < 0)
        return fail(s);
    s->state = SURVEY_FOUND;
    return true;
}

bool survey_poll(struct survey *s, struct engine *g)
{
    if (!survey_runs(s))
        return false;
    if (engine_state(g) != ENGINE_UP) {
        err_set(&s->why, "no suggestion: the connection was lost");
        return fail(s);
    }
    if (clock_mono_ns() > s->until_ns) {
        err_set(&s->why,
                "no suggestion: the node did not count calls within %d s; its breaker may "
                "be open",
                SURVEY_MOST_S);
        return fail(s);
    }
    return s->state == SURVEY_LOADING    ? load(s, g)
           : s->state == SURVEY_COUNTING ? count(s, g)
                                         : read_calls(s, g);
}
