/* Carries out the intents of keys and clicks. */
#include "live_impl.h"

#include "flame_file.h"
#include "live_profile.h"
#include "settings_map.h"
#include "stack_note.h"
#include <assert.h>
#include <errno.h>
#include <kprof/cli/output.h>
#include <kprof/export/export.h>
#include <kprof/export/export_processes.h>
#include <stdio.h>
#include <string.h>

/* Shows an error of the system or the node as a message. */
static void tell(struct live *l, int rc, const struct err *e)
{
    if (rc < 0)
        ui_message(l->ui, e->text, true);
}

/* ---- the view ---- */

static void redraw(struct live *l, const struct intent *in)
{
    (void)in;
    (void)l;
}

static void quit(struct live *l, const struct intent *in)
{
    (void)in;
    l->quit = true;
}

static void window(struct live *l, const struct intent *in)
{
    l->query.window = in->window;
    live_view(l);
}

static void view(struct live *l, const struct intent *in)
{
    (void)in;
    live_view(l);
}

static void zero(struct live *l, const struct intent *in)
{
    (void)in;
    engine_zero(l->g);
    live_refresh(l);
}

static void compare(struct live *l, const struct intent *in)
{
    (void)in;
    engine_toggle_comparison(l->g, &l->query);
    live_refresh(l);
}

/* Exports what is shown. A snapshot of the screen does not have all distributions, so a new one of
 * the same time range is made; while paused, the range ends at the time of the pause. */
static void export_text(struct live *l, enum export_format f, struct buf *text)
{
    struct snapshot *own = NULL;
    struct view_query shown = l->query;

    if (export_needs_hists(f)) {
        ui_view_query(l->ui, l->snap, &shown);
        engine_keep_hists(l->g, true);
        own = engine_view(l->g, &shown);
        engine_keep_hists(l->g, false);
    }
    if (f == EXPORT_TEXT)
        export_view(text, l->snap);
    else
        export_write(text, own ? own : l->snap, f, true);
    snapshot_free(own);
}

/* The screen as it is, without the key bar. */
static void picture(struct live *l, struct buf *text)
{
    struct canvas c;

    canvas_init(&c, l->canvas.rows, l->canvas.cols, l->canvas.ascii);
    ui_draw(l->ui, &c, l->snap);
    int bar = c.rows > 1;
    c.rows -= bar;
    canvas_dump(&c, text);
    c.rows += bar;
    canvas_release(&c);
}

static void processes(struct live *l, enum export_format f, struct buf *text)
{
    struct process_query q;
    const struct process_table *t = ui_processes(l->ui, &q);

    if (t)
        export_processes(text, t, &q, l->snap->node.name, l->snap->wall_ns, f);
}

static void contents(struct live *l, const struct intent *in, struct buf *text)
{
    struct slow_filter shown = slow_filter_at(&in->filter, l->snap);
    enum export_format f = (enum export_format)export_format_of_file(in->text);

    if (in->processes)
        processes(l, f, text);
    else if (in->slow_only)
        export_slow(text, l->snap, &shown);
    else if (in->picture && f == EXPORT_TEXT)
        picture(l, text);
    else
        export_text(l, f, text);
}

/* False: the operator was asked for another name. */
static bool right_ending(struct live *l, const struct intent *in)
{
    char line[200];
    int f = export_format_of_file(in->text);

    if (f == EXPORT_TEXT || (in->processes && (f == EXPORT_JSON || f == EXPORT_CSV)) ||
        (f >= 0 && !in->slow_only && !in->processes))
        return true;
    snprintf(line, sizeof line,
             in->processes ? "processes are exported as .txt, .json or .csv"
             : f >= 0      ? "slow requests are exported as text: use a name that ends in %.4s"
                           : "unknown extension: use one of %s",
             export_endings());
    ui_reprompt(l->ui, INTENT_EXPORT, in->text, SIZE_MAX, line);
    return false;
}

static void export_to(struct live *l, const struct intent *in)
{
    char line[700];
    struct buf text;
    struct err e = {{0}};
    if (!right_ending(l, in))
        return;
    buf_init(&text, 0);
    contents(l, in, &text); /* before the file is opened, which empties it */
    int fd = -1, rc = output_check_text(&text, in->text, &e);

    if (rc == 0) {
        fd = output_open(in->text, in->force ? OUTPUT_OVER : OUTPUT_NEW, &e);
        rc = fd < 0 ? -1 : 0;
    }
    if (rc < 0 && errno == EEXIST && !in->force) {
        ui_ask_overwrite(l->ui, in->text);
        goto out;
    }
    if (rc == 0)
        rc = output_close(fd, in->text, output_write(fd, in->text, text.data, text.len, &e), &e);
    snprintf(line, sizeof line, "written to %.300s", in->text);
    ui_message(l->ui, rc == 0 ? line : e.text, rc < 0);
out:
    buf_release(&text);
}

static void export_stacks(struct live *l, const struct intent *in)
{
    const char *node = l->snap && l->snap->node.name[0] ? l->snap->node.name : NULL;
    char note[STACK_NOTE_BYTES] = "";
    struct snap_sampling s;

    if (live_full_export(l->ui, in))
        return;
    if (!ui_shows_full(l->ui)) {
        engine_sampling(l->g, &s);
        stack_note(&s, note);
    }
    flame_file_export(l->ui, in, node, note);
}

static void full(struct live *l, const struct intent *in)
{
    live_full(&l->full, l->g, l->ui, in);
}

/* ---- the trace configuration ---- */

static void toggle(struct live *l, const struct intent *in)
{
    (void)in;
    engine_toggle(l->g);
}

static void sample(struct live *l, const struct intent *in)
{
    engine_sample(l->g, in->kind == INTENT_SAMPLE_UP);
}

static void mailbox(struct live *l, const struct intent *in)
{
    (void)in;
    engine_mailbox(l->g);
}

static void slow(struct live *l, const struct intent *in)
{
    struct err e = {{0}};

    if (engine_slow(l->g, in->text, &e) < 0)
        ui_reprompt(l->ui, INTENT_SLOW, in->text, SIZE_MAX, e.text);
    live_refresh(l);
}

static void tier_add(struct live *l, const struct intent *in)
{
    struct err e = {{0}};

    if (settings_map_add_tier(l->g, in->text, &e) < 0)
        ui_reprompt(l->ui, INTENT_TIER_ADD, in->text, strlen(in->text), e.text);
    live_refresh(l);
}

static void tier_remove(struct live *l, const struct intent *in)
{
    struct err e = {{0}};

    tell(l, engine_tier_remove(l->g, in->tier, &e), &e);
    live_refresh(l);
}

static void entry(struct live *l, const struct intent *in)
{
    struct err e = {{0}};

    tell(l, engine_entry(l->g, in->text, &e), &e);
}

static void identity(struct live *l, const struct intent *in)
{
    struct err e = {{0}};

    tell(l, engine_identity(l->g, in->text, &e), &e);
}

static void by_template(struct live *l, const struct intent *in)
{
    struct err e = {{0}};

    (void)in;
    tell(l, engine_identity_template(l->g, &e), &e);
    live_refresh(l);
}

static void preset(struct live *l, const struct intent *in)
{
    live_preset(&l->preset, l->g, l->ui, in);
}

static void suggested(struct live *l, const struct intent *in)
{
    live_suggest_take(&l->suggest, l->g, l->ui, in);
    live_refresh(l);
}

static void profile(struct live *l, const struct intent *in)
{
    live_profile(l->g, l->ui, &l->preset.take, in);
    live_refresh(l);
}

static void stacks(struct live *l, const struct intent *in)
{
    live_stacks(&l->stacks, l->g, l->ui, in);
}

static void trigger(struct live *l, const struct intent *in)
{
    live_trigger(&l->trigger, l->g, l->ui, &l->stacks, in);
}

/* ---- requests to the node ---- */

static void complete(struct live *l, const struct intent *in)
{
    engine_complete(l->g, in->text);
}

static void why(struct live *l, const struct intent *in)
{
    engine_why(l->g, in->tier);
}

static void stack(struct live *l, const struct intent *in)
{
    engine_stack(l->g, in->pid);
}

static void capture(struct live *l, const struct intent *in)
{
    engine_capture(l->g, in->tier);
}

static void capture_end(struct live *l, const struct intent *in)
{
    (void)in;
    engine_capture_end(l->g);
}

/* ---- the picker ---- */

static void catalog(struct live *l, const struct intent *in)
{
    (void)in;
    engine_catalog_open(l->g);
}

static void callees(struct live *l, const struct intent *in)
{
    engine_callees_open(l->g, in->tier);
}

static void catalog_stop(struct live *l, const struct intent *in)
{
    (void)in;
    engine_catalog_stop(l->g);
}

static void catalog_close(struct live *l, const struct intent *in)
{
    (void)in;
    engine_catalog_close(l->g);
}

/* An invalid function does not prevent the others from being added. */
static void add_picked(struct live *l)
{
    char line[200];
    size_t added = 0, refused = 0;

    for (size_t i = 0; ui_picked(l->ui, i); i++) {
        const char *text = ui_picked(l->ui, i);
        struct err e = {{0}};
        if (settings_map_add_tier(l->g, text, &e) == 0)
            added++;
        else if (refused++ == 0 && !ui_picked(l->ui, 1))
            ui_reprompt(l->ui, INTENT_TIER_ADD, text, strlen(text), e.text);
        else
            ui_message(l->ui, e.text, true);
    }
    snprintf(line, sizeof line, "%zu tier%s added%s", added, added == 1 ? "" : "s",
             added && added + refused > 1 ? "; E chooses which of them starts a request" : "");
    if (!refused)
        ui_message(l->ui, line, false);
}

static void picked(struct live *l, const struct intent *in)
{
    (void)in;
    engine_catalog_close(l->g);
    add_picked(l);
    live_refresh(l);
}

/* ---- all intents ---- */

typedef void dispatch(struct live *l, const struct intent *in);

static dispatch *const DISPATCH[] = {
    [INTENT_REDRAW] = redraw,
    [INTENT_QUIT] = quit,
    [INTENT_WINDOW] = window,
    [INTENT_VIEW_QUERY] = view,
    [INTENT_ZERO] = zero,
    [INTENT_COMPARE] = compare,
    [INTENT_EXPORT] = export_to,
    [INTENT_EXPORT_STACKS] = export_stacks,
    [INTENT_TOGGLE] = toggle,
    [INTENT_SAMPLE_UP] = sample,
    [INTENT_SAMPLE_DOWN] = sample,
    [INTENT_MAILBOX] = mailbox,
    [INTENT_SLOW] = slow,
    [INTENT_TIER_ADD] = tier_add,
    [INTENT_TIER_REMOVE] = tier_remove,
    [INTENT_ENTRY] = entry,
    [INTENT_IDENTITY] = identity,
    [INTENT_TEMPLATE] = by_template,
    [INTENT_PRESETS] = preset,
    [INTENT_PRESET] = preset,
    [INTENT_SUGGESTED] = suggested,
    [INTENT_SAVE] = profile,
    [INTENT_PROFILES] = profile,
    [INTENT_LOAD] = profile,
    [INTENT_COMPLETE] = complete,
    [INTENT_WHY] = why,
    [INTENT_STACK] = stack,
    [INTENT_CAPTURE] = capture,
    [INTENT_CAPTURE_END] = capture_end,
    [INTENT_CATALOG] = catalog,
    [INTENT_CALLEES] = callees,
    [INTENT_CATALOG_STOP] = catalog_stop,
    [INTENT_CATALOG_CLOSE] = catalog_close,
    [INTENT_PICKED] = picked,
    [INTENT_FLAME] = stacks,
    [INTENT_SAMPLING] = stacks,
    [INTENT_SAMPLING_TOGGLE] = stacks,
    [INTENT_SAMPLING_END] = stacks,
    [INTENT_SAMPLING_MORE] = stacks,
    [INTENT_SAMPLING_LESS] = stacks,
    [INTENT_FLAME_INSIDE] = stacks,
    [INTENT_TRIGGER_SAMPLE] = trigger,
    [INTENT_TRIGGER_RECORD] = trigger,
    [INTENT_TRIGGER_END] = trigger,
    [INTENT_FULL] = full,
    [INTENT_FULL_END] = full,
};

void live_dispatch(struct live *l, const struct intent *in)
{
    if (in->kind == INTENT_NONE)
        return;
    assert((size_t)in->kind < sizeof DISPATCH / sizeof *DISPATCH && DISPATCH[in->kind]);
    DISPATCH[in->kind](l, in);
    l->dirty = l->keyed = true;
}
