#include "settings_map.h"

#include "trigger.h"

#include <kprof/base/buf.h>
#include <kprof/cli/options_tier.h>
#include <string.h>

/* The lines of a histogram log begin where the previous one ended, however late they are. */
static bool looks_back(const struct options *o)
{
    return !o->batch || o->why || (o->format == EXPORT_HLOG && o->mode == OPTIONS_NODE);
}

void settings_map_from(const struct options *o, struct settings *out)
{
    *out =
        (struct settings){.n_tiers = o->n_tiers,
                          .entry = o->entry,
                          .entry_none = o->entry_none,
                          .identity = o->identity,
                          .sample = o->sample,
                          .detail = o->detail,
                          .detail_given = o->detail_given,
                          .returns = o->returns,
                          .slow_args = o->slow_args,
                          .all_the_time = o->all_the_time,
                          .mailbox = o->mailbox,
                          .slow_ns = o->slow_ns,
                          .max_age_ns = o->max_age_ns,
                          .cooldown_ns = o->cooldown_ns,
                          .max_rate = o->max_rate,
                          .max_overhead_ppm = o->max_overhead_ppm,
                          .history = looks_back(o),
                          .force = o->force,
                          .self_name = o->name,
                          .record = o->n_triggers ? NULL : o->record,
                          .record_ring_bytes = o->n_triggers && o->record ? TRIGGER_RING_BYTES : 0,
                          .slow_log = o->slow_log,
                          .lease_ns = o->lease_ns,
                          .replay_speed = o->batch ? 0 : o->speed,
                          .replay_most_ns = o->batch ? o->duration_ns : 0};
    memcpy(out->tier, o->tier, o->n_tiers * sizeof o->tier[0]);
}

void settings_map_to(const struct settings *s, struct options *out)
{
    options_defaults(out);
    memcpy(out->tier, s->tier, s->n_tiers * sizeof s->tier[0]);
    out->n_tiers = s->n_tiers;
    out->entry = s->entry ? buf_dup(s->entry) : NULL;
    out->entry_none = s->entry_none;
    out->identity = s->identity ? buf_dup(s->identity) : NULL;
    out->slow_ns = s->slow_ns;
    out->sample = s->sample;
    out->mailbox = s->mailbox;
    out->detail = s->detail;
    out->returns = s->returns;
    out->max_age_ns = s->max_age_ns;
    out->cooldown_ns = s->cooldown_ns;
    out->max_rate = s->max_rate;
    out->max_overhead_ppm = s->max_overhead_ppm;
    out->all_the_time = s->all_the_time;
}

void settings_map_clear_tiers(struct settings *s)
{
    s->n_tiers = 0;
    s->entry_none = false;
    s->entry = s->identity = NULL;
}

int settings_map_add_tier(struct engine *g, const char *text, struct err *e)
{
    const struct tierset *t = engine_tiers(g);
    struct tier_spec spec, taken[TIER_MAX];
    size_t n = 0;

    if (engine_may_set(g, e) < 0 || options_tier_parse(text, &spec, e) < 0)
        return -1;
    for (uint16_t i = 0; i < t->n; i++) {
        if (t->tier[i].active)
            err_copy(taken[n++].name, sizeof taken[0].name, t->tier[i].name);
    }
    options_tier_name(&spec, taken, n);
    return engine_tier_add(g, &spec, e);
}
