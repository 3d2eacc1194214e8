#include "options_report.h"

#include <stddef.h>

struct given {
    const bool *on_command_line; /* by index in the table of options */
    struct err *e;
};

static bool said(const struct given *p, const char *name)
{
    return p->on_command_line[options_set_index(name)];
}

/* Parts of a report: stack samples, a full trace and the recording of a trigger have none. */
static int check_parts(const struct options *o, const struct given *p)
{
    const char *part = said(p, "why") ? "--why" : said(p, "slow-details") ? "--slow-details" : NULL;
    const char *other = o->profile                 ? "--profile"
                        : o->full_trace            ? "--full-trace"
                        : o->n_triggers            ? "--trigger"
                        : o->mode == OPTIONS_FLAME ? "--flame"
                                                   : NULL;

    if (part && other)
        return err_set(p->e, "%s does not work with %s; leave it out", part, other);
    if (said(p, "why") && !o->batch)
        return err_set(p->e, "--why works only without a screen; add --batch (on the screen: Y)");
    if (o->why && o->batch && o->format != EXPORT_TEXT && o->format != EXPORT_JSON)
        return err_set(p->e, "--why works only with --format text or json; leave it out");
    if (said(p, "slow-details") && !o->batch)
        return err_set(p->e, "--slow-details works only without a screen; add --batch");
    if (said(p, "slow-details") && o->format != EXPORT_TEXT)
        return err_set(p->e, "--slow-details works only with --format text; leave it out");
    return 0;
}

int options_report_check(const struct options *o, const bool given[OPTIONS_DEFS_MAX], struct err *e)
{
    const struct given p = {given, e};

    if (o->n_assertions && !o->batch)
        return err_set(e, "--assert works only without a screen; add --batch");
    if (!o->batch && said(&p, "format"))
        return err_set(e, "--format works only without a screen; add --batch");
    if (!o->batch && said(&p, "output"))
        return err_set(e, "--output works only without a screen; add --batch");
    if (!o->batch && said(&p, "iterations"))
        return err_set(e,
                       "--iterations works only without a screen; add --batch, or use --duration");
    return check_parts(o, &p);
}
