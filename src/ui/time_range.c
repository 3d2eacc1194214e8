#include "time_range.h"
#include "time_parse.h"

#include <inttypes.h>
#include <kprof/base/clock.h>
#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

void time_range_clock(const struct snapshot *s, uint64_t sec, char *out)
{
    format_time(snapshot_wall_ns(s, sec), false, out);
}

void time_range_forget(struct time_range *t)
{
    *t = (struct time_range){.window_asked = t->window_asked, .window = t->window};
}

/* Seconds of the window; 0: the whole run. */
static uint64_t length_of(const struct time_range *t, const struct snapshot *s)
{
    enum window w = t->window_asked ? t->window : s->window;
    return t->length_s ? t->length_s : w == WINDOW_RUN ? 0 : window_ns(w) / CLOCK_SEC_NS;
}

static void nothing_before(struct message *m, const struct snapshot *s)
{
    char when[FORMAT_BYTES], text[80];
    time_range_clock(s, s->time.oldest_s, when);
    snprintf(text, sizeof text, "no history before %s", when);
    message_set(m, text, true);
}

/* An earlier time range may have its own length; at `now` the previous length is restored. */
static void leave_now(struct time_range *t)
{
    if (!t->end_s) {
        t->now_length_s = t->length_s;
    }
}

static void to_now(struct time_range *t)
{
    if (t->end_s) {
        t->length_s = t->now_length_s;
    }
    t->end_s = 0;
}

static bool step(struct time_range *t, struct message *m, const struct snapshot *s, bool back)
{
    uint64_t length = length_of(t, s), end = t->end_s ? t->end_s : s->time.now_s;
    if (length == 0) {
        message_set(m, "this is the whole run; press w or c to choose a window first", true);
        return false;
    }
    if (back && end <= s->time.oldest_s + length) {
        nothing_before(m, s);
        return false;
    }
    if (!back && !t->end_s) {
        message_set(m, "this is already the present time range", false);
        return false;
    }
    leave_now(t);
    t->end_s = back ? end - length : end + length;
    if (t->end_s >= s->time.now_s) {
        to_now(t);
    }
    return true;
}

void time_range_set(struct time_range *t, uint64_t from_s, uint64_t to_s)
{
    leave_now(t);
    t->end_s = to_s;
    t->length_s = to_s - from_s;
}

static struct intent next_window(struct time_range *t, const struct snapshot *s)
{
    enum window now = t->window_asked ? t->window : s->window;
    t->window = (now + 1) % WINDOW_COUNT;
    t->window_asked = true;
    t->length_s = t->now_length_s = 0;
    return (struct intent){.kind = INTENT_WINDOW, .window = t->window};
}

static void ask(struct time_range *t, struct dialog *d, const struct snapshot *s)
{
    t->zero_wall_ns = s->time.zero_wall_ns;
    t->oldest_s = s->time.oldest_s;
    t->now_s = s->time.now_s;
    dialog_prompt(d, PROMPT_TIME_RANGE, "");
}

static bool is_of_time(enum action act)
{
    return act == ACT_WINDOW || act == ACT_PAUSE || act == ACT_EARLIER || act == ACT_LATER ||
           act == ACT_NOW || act == ACT_TIME_RANGE;
}

bool time_range_key(struct time_range *t, struct dialog *d, struct message *m, enum action act,
                    const struct snapshot *s, struct intent *out)
{
    bool changed = false;
    if (!s && is_of_time(act)) {
        message_set(m, "no data yet", true);
        return true;
    }
    switch (act) {
    case ACT_WINDOW:
        *out = next_window(t, s);
        break;
    case ACT_PAUSE:
        t->paused = !t->paused;
        t->paused_s = s->time.now_s ? s->time.now_s : 1; /* 0 would be now */
        t->paused_oldest_s = s->time.oldest_s;
        break;
    case ACT_EARLIER:
    case ACT_LATER:
        changed = step(t, m, s, act == ACT_EARLIER);
        break;
    case ACT_NOW:
        changed = t->end_s != 0;
        to_now(t);
        if (!changed && out->kind != INTENT_VIEW_QUERY) { /* the heat map was at `now`, too */
            message_set(m, "this is already the present time range", false);
        }
        break;
    case ACT_TIME_RANGE:
        ask(t, d, s);
        break;
    default:
        return false;
    }
    if (changed) {
        out->kind = INTENT_VIEW_QUERY;
    }
    return true;
}

/* Clock times to seconds of the history. False: the history does not have them. */
static bool take_past(struct time_range *t, const struct time_parsed *p)
{
    uint64_t zero = t->zero_wall_ns / CLOCK_SEC_NS;
    uint64_t end = p->length_s ? p->to_s : p->from_s + (t->length_s ? t->length_s : 60);
    uint64_t from = p->from_s > zero ? p->from_s - zero : 0;
    uint64_t to = end > zero ? end - zero : 0;
    to = to < t->now_s ? to : t->now_s;
    from = from > t->oldest_s ? from : t->oldest_s;
    if (to <= from) {
        return false;
    }
    leave_now(t);
    t->end_s = to;
    t->length_s = to - from;
    return true;
}

bool time_range_typed(struct time_range *t, const char *text, char *error, size_t cap)
{
    struct time_parsed p;
    uint64_t now_s = t->zero_wall_ns / CLOCK_SEC_NS + t->now_s;
    if (!time_parse(text, now_s, &p, error, cap)) {
        return false;
    }
    if (p.kind == TIME_PAST && !take_past(t, &p)) {
        char when[FORMAT_BYTES];
        format_time(t->zero_wall_ns + t->oldest_s * CLOCK_SEC_NS, false, when);
        snprintf(error, cap, "no history for this time: it starts at %s", when);
        return false;
    }
    if (p.kind != TIME_PAST) {
        to_now(t);
    }
    if (p.kind == TIME_LAST) {
        t->length_s = t->now_length_s = p.length_s;
    }
    return true;
}

void time_range_text(const struct snapshot *s, char *out, size_t cap)
{
    char from[FORMAT_BYTES], to[FORMAT_BYTES], ago[FORMAT_BYTES];
    time_range_clock(s, s->time.from_s, from);
    time_range_clock(s, s->time.to_s, to);
    format_ago(s->time.now_s > s->time.to_s ? s->time.now_s - s->time.to_s : 0, ago);
    snprintf(out, cap, "%s-%s, %s", from, to, ago);
}

/* A window that does not end now is read from the history, which may not go back to the start of
 * the run. The length makes the header show the time that it has. */
static void run_until_pause(const struct time_range *t, struct view_query *q)
{
    q->end_s = t->paused_s;
    q->length_s = t->paused_s > t->paused_oldest_s ? t->paused_s - t->paused_oldest_s : 0;
}

void time_range_query(const struct time_range *t, struct view_query *q)
{
    if (t->window_asked) {
        q->window = t->window;
    }
    q->length_s = t->length_s;
    q->end_s = t->end_s;
    if (t->paused && !q->end_s) { /* another window or row, still at the time of the pause */
        q->end_s = t->paused_s;
    }
    if (q->end_s && !q->length_s && q->window == WINDOW_RUN) {
        q->end_s = 0; /* `run` was chosen in the past: it has no earlier time range */
        if (t->paused) {
            run_until_pause(t, q);
        }
    }
}
