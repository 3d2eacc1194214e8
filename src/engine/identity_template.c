#include "identity_template.h"

#include "rule_template.h"
#include "session_log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY_NAMES 8
#define NAME_FIRST 2 /* the identities before it are "no name" and (other) */

void identity_template_release(struct engine *g)
{
    free(g->identity_template.former);
    free(g->identity_template.made);
    g->identity_template = (struct identity_template){NULL, NULL};
}

/* The tier whose rows have the names: the total, if there is an entry; else the tier with the most
 * names. */
static uint16_t tier_of_names(const struct snapshot *s)
{
    size_t n = 0, most = 0;
    uint16_t tier = TIER_TOTAL;

    for (size_t i = 0; i < s->n_rows && !s->has_entry; i++) {
        n = s->rows[i].ident ? n + 1 : 0;
        if (n > most) {
            most = n;
            tier = s->rows[i].tier;
        }
    }
    return tier;
}

struct named {
    const char **name;
    uint64_t *calls;
    size_t n;
};

static void read_names(const struct snapshot *s, struct named *to)
{
    uint16_t tier = tier_of_names(s);

    to->name = calloc(s->n_rows + 1, sizeof *to->name);
    to->calls = calloc(s->n_rows + 1, sizeof *to->calls);
    if (!to->name || !to->calls)
        abort();
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        if (!r->ident || r->tier != tier || r->ident_n < NAME_FIRST || r->former)
            continue;
        to->name[to->n] = r->ident;
        to->calls[to->n++] = r->count;
    }
}

static int take_back(struct engine *g, struct buf *said, struct err *e)
{
    char *former = g->identity_template.former;

    g->identity_template.former = NULL;
    int rc = engine_identity(g, former, e);
    buf_addf(said, "the former rule is in use again: %.300s", former);
    free(former);
    identity_template_release(g);
    return rc;
}

static void say_what_follows(const struct rule_template_names *names, enum rule_how how,
                             struct buf *said)
{
    struct buf preview;

    buf_init(&preview, 0);
    size_t n = rule_template_preview(names, how, &preview);
    buf_addf(said, "names by %s(...) (press n to undo): %zu names become %zu: %s",
             how == RULE_BY_PATH ? "path" : "shape", names->n, n, preview.data);
    buf_release(&preview);
}

static int wrap(struct engine *g, const struct rule_template_names *names, struct buf *said,
                struct err *e)
{
    enum rule_how how = rule_template_fit(names);
    const char *why = NULL;
    struct buf rule;
    int rc = -1;

    buf_init(&rule, TRACE_CONFIG_RULE_BYTES);
    if (engine_rule(g)[0] && how == RULE_AS_IS)
        why = names->n && names->n < MANY_NAMES
                  ? "there are only a few names: they need no template"
              : names->n ? "neither path(...) nor shape(...) makes these names few enough: press I "
                           "to name requests by another part"
                         : "no request has a name yet: press I to see the arguments";
    else
        why = rule_template_wrap(engine_rule(g), how, names, &rule);
    char *former = buf_dup(engine_rule(g));
    if (why)
        err_set(e, "%s", why);
    else
        rc = engine_identity(g, rule.data, e);
    if (rc == 0) {
        identity_template_release(g);
        g->identity_template = (struct identity_template){former, buf_dup(rule.data)};
        former = NULL;
        say_what_follows(names, how, said);
    }
    free(former);
    buf_release(&rule);
    return rc;
}

static void say(struct engine *g, const char *said)
{
    char rule[400];

    snprintf(rule, sizeof rule, "the identity rule is now: %.350s", engine_rule(g));
    session_log_add(g, rule);
    session_log_add(g, said);
    session_log_say(g, said, false);
    err_copy(g->configuration.rule_said, sizeof g->configuration.rule_said, said);
}

int engine_identity_template(struct engine *g, struct err *e)
{
    struct named all = {NULL, NULL, 0};
    const char *made = g->identity_template.made;
    struct buf said;
    int rc;

    if (engine_may_set(g, e) < 0)
        return -1;
    buf_init(&said, 0);
    if (made && strcmp(made, engine_rule(g)) == 0) {
        rc = take_back(g, &said, e);
    } else {
        struct view_query whole = {.window = WINDOW_RUN};
        struct snapshot *s = core_view(g->core, &whole, 0);
        read_names(s, &all);
        const struct rule_template_names names = {all.name, all.calls, all.n};
        rc = wrap(g, &names, &said, e);
        snapshot_free(s);
    }
    if (rc == 0)
        say(g, said.data);
    free(all.name);
    free(all.calls);
    buf_release(&said);
    return rc;
}
