#include "options_profile.h"

#include <kprof/cli/optval.h>
#include <kprof/export/stacks.h>
#include <string.h>

struct given {
    const bool *on_command_line; /* by index in the table of options */
    struct err *e;
};

static bool said(const struct given *p, const char *name)
{
    return p->on_command_line[options_set_index(name)];
}

/* Options that choose what is sampled, and files that only samples can be written to. */
static int check_without(const struct options *o, const struct given *p)
{
    static const char *const names[] = {"top", "processes", "statuses", "sample-interval", "flush"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (said(p, names[i]))
            return err_set(p->e, "--%s works only with --profile; add --profile cpu", names[i]);
    if (o->output && o->mode != OPTIONS_FLAME && !o->full_trace &&
        stacks_format_of_file(o->output) != STACKS_FORMATS)
        return err_set(p->e, "--output %s is a file of stack samples, not of reports; %s",
                       optval_show(o->output).s,
                       o->mode == OPTIONS_REPLAY ? "use --flame instead of --replay"
                                                 : "add --profile cpu");
    return 0;
}

/* Which files are written, and when. */
static int check_files(const struct options *o, struct err *e)
{
    const char *several = o->flush_ns ? "--flush" : o->n_triggers ? "--trigger" : NULL;

    if (!o->output)
        return err_set(e, "--profile writes a file; add --output FILE.svg");
    if (stacks_format_of_file(o->output) == STACKS_FORMATS)
        return err_set(e, "--output %s: the extension must be one of %s", optval_show(o->output).s,
                       stacks_endings());
    if (several && !strstr(o->output, "%t"))
        return err_set(e,
                       "%s writes several files; put %%t, the local time, into the name of "
                       "--output",
                       several);
    if (o->files && !several)
        return err_set(e, "--files works only with several files; add --flush or --trigger");
    if (o->flush_ns && o->n_triggers)
        return err_set(e, "--flush does not work with --trigger; leave one out");
    return 0;
}

/* A trigger on a tier that is not traced would never fire. */
static int check_trigger(const struct options *o, const struct given *p)
{
    const char *needs = said(p, "before")       ? "before"
                        : said(p, "rearm")      ? "rearm"
                        : said(p, "iterations") ? "iterations"
                                                : NULL;

    if (!o->n_triggers && said(p, "delay"))
        return err_set(p->e, "--delay with --profile needs a --trigger; --duration sets how long "
                             "stacks are sampled");
    if (!o->n_triggers && needs)
        return err_set(p->e, "--%s with --profile needs a --trigger; add one, or leave it out",
                       needs);
    for (size_t i = 0; i < o->n_triggers; i++) {
        const struct assertion *a = &o->trigger[i];
        bool known =
            a->node || o->preset || o->mode == OPTIONS_DEMO || assertion_of_tier(a, "_total");
        for (size_t k = 0; k < o->n_tiers && !known; k++)
            known = assertion_of_tier(a, o->tier[k].name);
        if (!known)
            return err_set(p->e, "--trigger %s: no tier has this name; add --tier NAME=M:F/A",
                           optval_show(a->text).s);
    }
    return 0;
}

/* --record with --trigger: the recording is written when a trigger fires. */
static int check_record(struct options *o, const struct given *p)
{
    static const char *const names[] = {"trigger", "before", "rearm", "files"};
    bool triggered = o->n_triggers && o->record;

    for (size_t i = 0; i < sizeof names / sizeof *names && !triggered; i++)
        if (said(p, names[i]))
            return err_set(p->e,
                           "--%s works only with --profile, or with --record%s; add --profile cpu",
                           names[i], i > 0 ? " and --trigger" : "");
    int rc = check_without(o, p);
    if (rc || !triggered)
        return rc;
    if (o->mode == OPTIONS_REPLAY || o->mode == OPTIONS_FLAME || o->output || said(p, "format") ||
        o->n_assertions || o->baseline || o->why)
        return err_set(
            p->e,
            "--trigger with --record writes recordings of a node, no reports; "
            "leave out --replay, --flame, --output, --format, --assert, --baseline and --why");
    if (!strstr(o->record, "%t"))
        return err_set(p->e, "--trigger writes several files; put %%t, the local time, into the "
                             "name of --record");
    o->batch = true;
    return check_trigger(o, p);
}

/* A profile writes only stack samples: options of other sources or reports have no meaning. */
int options_profile_check(struct options *o, const bool given[OPTIONS_DEFS_MAX], struct err *e)
{
    const struct given p = {given, e};
    const char *other = o->mode == OPTIONS_REPLAY  ? "--replay"
                        : o->mode == OPTIONS_FLAME ? "--flame"
                        : o->record                ? "--record"
                        : o->baseline              ? "--baseline"
                        : o->hazards               ? "--hazards"
                        : o->slow_log              ? "--slow-log"
                        : o->n_assertions          ? "--assert"
                        : said(&p, "format")       ? "--format"
                                                   : NULL;

    if (!o->profile)
        return check_record(o, &p);
    if (other)
        return err_set(e, "%s does not work with --profile; leave it out", other);
    if (o->top && o->has_processes)
        return err_set(e, "--top does not work with --processes; leave one out");
    if (o->has_processes && o->processes.kind == PROCESSES_INSIDE && o->n_tiers == 0 &&
        !o->preset && o->mode != OPTIONS_DEMO)
        return err_set(e, "--processes inside needs traced requests; add --tier or --preset");
    if (check_files(o, e) || check_trigger(o, &p))
        return -1;
    o->batch = true;
    return 0;
}
