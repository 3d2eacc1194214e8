#include "live_trigger.h"

#include "file_series.h"
#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

#define SPAN_NS 1000000000u  /* the condition is about the last second */
#define REST_NS 60000000000u /* after it fired */
#define FILES   "kprof-top-%t.rec"

/* ---- what it says ---- */

static void show(const struct live_trigger *t, struct ui *u, uint64_t now_ns)
{
    char text[ASSERTION_BYTES + 60] = "";
    double left_s = t->until_ns > now_ns ? (double)(t->until_ns - now_ns) / 1e9 : 0;

    if (t->what != LIVE_TRIGGER_NONE && t->state == LIVE_TRIGGER_WAITS)
        snprintf(text, sizeof text, "%s", t->condition.text);
    else if (t->what != LIVE_TRIGGER_NONE)
        snprintf(text, sizeof text, "%s %.0fs %s",
                 t->state == LIVE_TRIGGER_RESTS   ? "pause"
                 : t->what == LIVE_TRIGGER_SAMPLE ? "sampling"
                                                  : "recording",
                 left_s, t->condition.text);
    ui_set_trigger(u, text, t->what != LIVE_TRIGGER_NONE && t->state == LIVE_TRIGGER_FIRED);
}

/* A message, which is also in the log. */
static void say(struct engine *g, struct ui *u, const char *text, bool is_error)
{
    engine_note(g, text);
    ui_message(u, text, is_error);
}

/* ---- what it does ---- */

static int keep(void *arg, const char *path, struct err *e)
{
    return engine_record_keep(arg, path, TRIGGER_BEFORE_NS, e);
}

static int begin_recording(struct engine *g, char path[FILE_SERIES_PATH_BYTES], struct err *e)
{
    struct file_series files;

    file_series_init(&files, FILES, 0);
    int rc = file_series_make(&files, keep, g, path, e);
    file_series_release(&files);
    return rc;
}

static int fire(const struct live_trigger *t, struct engine *g, struct ui *u, struct live_stacks *p,
                struct err *e)
{
    char path[FILE_SERIES_PATH_BYTES], line[ASSERTION_BYTES + 200];
    int n = snprintf(line, sizeof line, "trigger %.200s: ", t->condition.text);
    char *rest = line + n;
    size_t room = sizeof line - (size_t)n;

    if (t->what == LIVE_TRIGGER_RECORD) {
        if (begin_recording(g, path, e) < 0)
            return -1;
        snprintf(rest, room, "recording to %.100s", path);
    } else if (live_stacks_triggered(p, g, u)) {
        snprintf(rest, room, "sampling stacks; F shows them");
    } else {
        snprintf(rest, room, "stacks are sampled already; F shows them");
    }
    say(g, u, line, false);
    return 0;
}

static void end_action(struct live_trigger *t, struct engine *g, struct ui *u,
                       struct live_stacks *p)
{
    struct err e = {{0}};

    if (t->state != LIVE_TRIGGER_FIRED)
        return;
    if (t->what == LIVE_TRIGGER_SAMPLE)
        live_stacks_trigger_over(p, g);
    else if (engine_record_cut(g, &e) < 0)
        say(g, u, e.text, true);
}

static void none(struct live_trigger *t, struct engine *g, struct ui *u, struct live_stacks *p)
{
    end_action(t, g, u, p);
    if (t->what == LIVE_TRIGGER_RECORD)
        engine_record_forget(g);
    *t = (struct live_trigger){.what = LIVE_TRIGGER_NONE};
    engine_watch_queues(g, NULL, 0);
}

/* ---- setting it ---- */

/* The sentences are those of the option --trigger. */
static const char *without_option(const char *text)
{
    static const char option[] = "--trigger ";

    return strncmp(text, option, sizeof option - 1) == 0 ? text + sizeof option - 1 : text;
}

/* Refuses what was typed, before anything changes. */
static int parse(struct live_trigger *made, struct engine *g, const struct intent *in,
                 struct err *e)
{
    *made = (struct live_trigger){.what = in->kind == INTENT_TRIGGER_RECORD ? LIVE_TRIGGER_RECORD
                                                                            : LIVE_TRIGGER_SAMPLE};
    if (engine_may_set(g, e) < 0 || assertion_parse("trigger", in->text, &made->condition, e) < 0)
        return -1;
    if (made->condition.relative)
        return err_set(e, "a trigger has no baseline: write a value");
    return trigger_check(g, &made->condition, 1, e);
}

/* A trigger that records replaces one of its kind without loss of the events in memory. */
static int take(struct live_trigger *t, struct engine *g, struct ui *u, struct live_stacks *p,
                const struct intent *in, struct err *e)
{
    struct live_trigger made;

    if (parse(&made, g, in, e) < 0)
        return -1;
    if (made.what == LIVE_TRIGGER_RECORD && engine_record_remember(g, TRIGGER_RING_BYTES, e) < 0)
        return -1;
    if (made.what == t->what)
        end_action(t, g, u, p);
    else
        none(t, g, u, p);
    *t = made;
    trigger_watch(g, &made.condition, 1);
    return 0;
}

void live_trigger(struct live_trigger *t, struct engine *g, struct ui *u, struct live_stacks *p,
                  const struct intent *in)
{
    char line[ASSERTION_BYTES + 80];
    struct err e = {{0}};

    if (in->kind == INTENT_TRIGGER_END) {
        ui_message(u,
                   t->what == LIVE_TRIGGER_NONE ? "there is no trigger" : "the trigger was removed",
                   t->what == LIVE_TRIGGER_NONE);
        none(t, g, u, p);
    } else {
        if (take(t, g, u, p, in, &e) < 0) {
            ui_reprompt(u, in->kind, in->text, SIZE_MAX, without_option(e.text));
        } else {
            snprintf(line, sizeof line, "trigger set: %s", t->condition.text);
            say(g, u, line, false);
        }
    }
    show(t, u, clock_mono_ns());
}

/* ---- waiting for it ---- */

static void enter(struct live_trigger *t, enum live_trigger_state state, uint64_t until_ns)
{
    t->state = state;
    t->until_ns = until_ns;
}

static void look(struct live_trigger *t, struct engine *g, struct ui *u, struct live_stacks *p,
                 uint64_t now_ns)
{
    struct err e = {{0}};

    if (engine_state(g) != ENGINE_UP || !trigger_holds(g, &t->condition, 1, SPAN_NS))
        return;
    if (fire(t, g, u, p, &e) < 0) {
        say(g, u, e.text, true);
        enter(t, LIVE_TRIGGER_RESTS, now_ns + REST_NS);
        return;
    }
    t->fired++;
    enter(t, LIVE_TRIGGER_FIRED, now_ns + TRIGGER_TIME_NS);
}

/* The tier of the condition was removed (key d, a profile, a preset): it can never hold. What the
 * trigger has begun takes its time first. */
static bool lost_tier(struct live_trigger *t, struct engine *g, struct ui *u, struct live_stacks *p)
{
    char line[ASSERTION_BYTES + 100];
    struct err ignored;

    if (t->state == LIVE_TRIGGER_FIRED || trigger_check(g, &t->condition, 1, &ignored) == 0)
        return false;
    snprintf(line, sizeof line, "trigger %s was removed, as its tier was; set another with !",
             t->condition.text);
    none(t, g, u, p);
    say(g, u, line, true);
    return true;
}

bool live_trigger_poll(struct live_trigger *t, struct engine *g, struct ui *u,
                       struct live_stacks *p, uint64_t now_ns)
{
    if (t->what == LIVE_TRIGGER_NONE || now_ns < t->next_ns)
        return false;
    t->next_ns = now_ns + SPAN_NS;
    if (lost_tier(t, g, u, p)) {
        ; /* there is none */
    } else if (t->state == LIVE_TRIGGER_WAITS) {
        look(t, g, u, p, now_ns);
    } else if (now_ns >= t->until_ns && t->state == LIVE_TRIGGER_FIRED) {
        end_action(t, g, u, p);
        enter(t, LIVE_TRIGGER_RESTS, now_ns + REST_NS);
    } else if (now_ns >= t->until_ns) {
        enter(t, LIVE_TRIGGER_WAITS, 0);
    }
    show(t, u, now_ns);
    return true;
}
