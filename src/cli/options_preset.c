#include <kprof/cli/options_preset.h>

#include <kprof/base/buf.h>
#include <kprof/cli/options_tier.h>
#include <kprof/cli/optval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void remember(struct options *o, const char *text)
{
    struct buf all;

    buf_init(&all, 0);
    buf_addf(&all, "%s%s%s", o->preset ? o->preset : "", o->preset ? "," : "", text);
    free(o->preset);
    o->preset = buf_dup(all.data);
    buf_release(&all);
}

int options_preset_add(struct options *o, const char *text, struct err *e)
{
    struct preset_set s;
    size_t had = 0;

    for (size_t i = 0; i < o->n_tiers; i++)
        had += o->of_preset[i];
    remember(o, text);
    if (preset_make(o->preset, NULL, &s, e) < 0)
        return -1;
    for (size_t i = had; i < s.n; i++) {
        if (options_tier_add(o->tier, &o->n_tiers, &s.tier[i], e) < 0)
            return -1;
        o->of_preset[o->n_tiers - 1] = true;
    }
    o->identity_of_preset |= !o->identity;
    preset_fill(&s, o);
    return 0;
}

static const struct tier_spec *named(const struct preset_set *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->tier[i].name, name) == 0)
            return &s->tier[i];
    return NULL;
}

static bool is_tier(const struct options *o, size_t n, const char *mfa)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(o->tier[i].mfa, mfa) == 0)
            return true;
    return false;
}

/* A tier keeps its name; a function that is a tier already is not added again. */
static void take_tiers(struct options *o, const struct preset_set *s)
{
    size_t n = 0;

    for (size_t i = 0; i < o->n_tiers; i++) {
        struct tier_spec t = o->tier[i];
        const struct tier_spec *of = o->of_preset[i] ? named(s, t.name) : &t;
        if (!of || is_tier(o, n, of->mfa))
            continue;
        o->of_preset[n] = false;
        o->tier[n++] = *of;
    }
    o->n_tiers = n;
}

static int check_entry(const struct options *o, struct err *e)
{
    for (size_t i = 0; o->entry && i < o->n_tiers; i++)
        if (strcmp(o->tier[i].name, o->entry) == 0)
            return 0;
    if (!o->entry)
        return 0;
    return err_set(
        e, "--entry %s: the node does not have the function of this tier; choose another tier",
        optval_show(o->entry).s);
}

int options_preset_resolve(struct options *o, const bool *there, char said[PRESET_SAID_BYTES],
                           struct err *e)
{
    struct preset_set s;

    said[0] = 0;
    if (preset_make(o->preset, there, &s, e) < 0)
        return -1;
    memcpy(said, s.left_out, sizeof s.left_out);
    take_tiers(o, &s);
    if (o->identity_of_preset) {
        free(o->identity);
        o->identity = buf_dup(s.identity);
    }
    o->identity_of_preset = false;
    free(o->preset);
    o->preset = NULL;
    return check_entry(o, e);
}
