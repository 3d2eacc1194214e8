#include "survey.h"

#include <kprof/base/clock.h>

void survey_begin(struct survey *s, struct engine *g)
{
    s->until_ns = clock_mono_ns() + (uint64_t)SURVEY_MOST_S * 1000000000u;
    s->state = SURVEY_LOADING;
    engine_catalog_open(g);
}

bool survey_runs(const struct survey *s)
{
    return s->state == SURVEY_LOADING || s->state == SURVEY_COUNTING;
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
    if (suggest_make(c, s->ids, s->n, &s->found, &s->why) < 0)
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
    return s->state == SURVEY_LOADING ? load(s, g) : count(s, g);
}
