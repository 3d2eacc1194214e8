#include "preset_take.h"

#include "settings_map.h"
#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

#define RETRY_NS 1000000000u

void preset_take_want(struct preset_take *p, const struct options *o, const char *what)
{
    struct settings s;

    options_release(&p->want);
    settings_map_from(o, &s);
    settings_map_to(&s, &p->want);
    p->want.preset = buf_dup(o->preset);
    memcpy(p->want.of_preset, o->of_preset, sizeof p->want.of_preset);
    p->want.identity_of_preset = o->identity_of_preset;
    snprintf(p->what, sizeof p->what, "%s", what);
    p->tag =
        p->tag < PRESET_TAKE_TAG || p->tag == UINT16_MAX ? PRESET_TAKE_TAG : (uint16_t)(p->tag + 1);
    p->asked = false;
    p->retry_at_ns = 0;
}

void preset_take_first(struct preset_take *p, const struct options *o, struct settings *first)
{
    char what[300];

    if (!o->preset)
        return;
    snprintf(what, sizeof what, "preset %.200s", o->preset);
    preset_take_want(p, o, what);
    settings_map_clear_tiers(first);
}

void preset_take_drop(struct preset_take *p)
{
    options_release(&p->want);
    p->asked = false;
}

bool preset_take_wanted(const struct preset_take *p)
{
    return p->want.preset != NULL;
}

void preset_take_poll(struct preset_take *p, struct engine *g)
{
    struct buf lines;
    struct err e;
    size_t n;

    if (!p->want.preset || p->asked || engine_can_ask(g, &e) < 0 ||
        clock_mono_ns() < p->retry_at_ns)
        return;
    buf_init(&lines, 0);
    p->asked = preset_candidates(p->want.preset, &lines, &n, &e) == 0 &&
               engine_exist(g, p->tag, lines.data, &e) == 0;
    buf_release(&lines);
}

bool preset_take_is_mine(const struct preset_take *p, uint16_t tag)
{
    return p->asked && p->tag == tag;
}

int preset_take_answer(struct preset_take *p, struct engine *g, const bool *there, const char *why,
                       char said[PRESET_SAID_BYTES], struct err *e)
{
    struct settings s;

    said[0] = 0;
    p->asked = false;
    if (why) {
        p->retry_at_ns = clock_mono_ns() + RETRY_NS;
        return err_set(e, "%s", why);
    }
    int rc = options_preset_resolve(&p->want, there, said, e);
    if (rc == 0) {
        settings_map_from(&p->want, &s);
        rc = engine_take_settings(g, &s, e);
    }
    preset_take_drop(p);
    return rc;
}
