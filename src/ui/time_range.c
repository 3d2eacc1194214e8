/* Which stretch of time all screens show: now, or a moment that is past. */
#include <inttypes.h>
#include <kprof/base/clock.h>
#include <kprof/ui/format.h>
#include <kprof/ui/state.h>
#include <kprof/ui/time_parse.h>
#include <stdio.h>
#include <string.h>

void time_range_clock(const struct snapshot *s, uint64_t sec, char *out)
{
    format_time(snapshot_wall_ns(s, sec), false, out);
}

void time_range_forget(struct ui *u)
{
    u->time_range = (struct time_range){.end_s = 0};
}

/* Seconds of the window; 0: the whole run. */
static uint64_t length_of(const struct ui *u, const struct snapshot *s)
{
    enum window w = u->window_asked ? u->window : s->window;
    return u->time_range.length_s ? u->time_range.length_s
           : w == WINDOW_RUN      ? 0
                                  : window_ns(w) / CLOCK_SEC_NS;
}

static void nothing_before(struct ui *u, const struct snapshot *s)
{
    char when[FORMAT_BYTES], text[80];
    time_range_clock(s, s->time.oldest_s, when);
    snprintf(text, sizeof text, "no history before %s", when);
    ui_message(u, text, true);
}

/* A moment that is past may have a length of its own; now has its own again afterwards. */
static void leave_now(struct time_range *m)
{
    if (!m->end_s) {
        m->now_length_s = m->length_s;
    }
}

static void to_now(struct time_range *m)
{
    if (m->end_s) {
        m->length_s = m->now_length_s;
    }
    m->end_s = 0;
}

static bool step(struct ui *u, const struct snapshot *s, bool back)
{
    struct time_range *m = &u->time_range;
    uint64_t length = length_of(u, s), end = m->end_s ? m->end_s : s->time.now_s;
    if (length == 0) {
        ui_message(u, "this is the whole run; press w or c to choose a window first", true);
        return false;
    }
    if (back && end <= s->time.oldest_s + length) {
        nothing_before(u, s);
        return false;
    }
    if (!back && !m->end_s) {
        ui_message(u, "already at now", false);
        return false;
    }
    leave_now(m);
    m->end_s = back ? end - length : end + length;
    if (m->end_s >= s->time.now_s) {
        to_now(m);
    }
    return true;
}

void time_range_set(struct ui *u, uint64_t from_s, uint64_t to_s)
{
    leave_now(&u->time_range);
    u->time_range.end_s = to_s;
    u->time_range.length_s = to_s - from_s;
}

bool time_range_on_key(struct ui *u, enum action act, const struct snapshot *s, struct intent *out)
{
    bool changed = false;
    switch (act) {
    case ACT_EARLIER:
    case ACT_LATER:
        changed = s && step(u, s, act == ACT_EARLIER);
        break;
    case ACT_NOW:
        changed = u->time_range.end_s != 0;
        to_now(&u->time_range);
        break;
    case ACT_MOMENT:
        if (!s) {
            ui_message(u, "no data yet", true);
            break;
        }
        u->time_range.zero_wall_ns = s->time.zero_wall_ns;
        u->time_range.oldest_s = s->time.oldest_s;
        u->time_range.now_s = s->time.now_s;
        dialog_prompt(u, PROMPT_TIME_RANGE, "");
        break;
    default:
        return false;
    }
    if (changed) {
        out->kind = INTENT_LOOK;
    }
    return true;
}

/* Clock times to seconds of the history. False: nothing is kept of them. */
static bool take_past(struct time_range *m, const struct span *p)
{
    uint64_t zero = m->zero_wall_ns / CLOCK_SEC_NS;
    uint64_t from = p->from_s > zero ? p->from_s - zero : 0;
    uint64_t to = p->to_s > zero ? p->to_s - zero : 0;
    if (p->length_s == 0) {
        to = from + (m->length_s ? m->length_s : 60);
    }
    to = to < m->now_s ? to : m->now_s;
    from = from > m->oldest_s ? from : m->oldest_s;
    if (to <= from) {
        return false;
    }
    leave_now(m);
    m->end_s = to;
    m->length_s = to - from;
    return true;
}

bool time_range_typed(struct ui *u, const char *text, char *error, size_t cap)
{
    struct time_range *m = &u->time_range;
    struct span p;
    uint64_t now_s = m->zero_wall_ns / CLOCK_SEC_NS + m->now_s;
    if (!time_parse(text, now_s, &p, error, cap)) {
        return false;
    }
    if (p.kind == SPAN_PAST && !take_past(m, &p)) {
        char when[FORMAT_BYTES];
        format_time(m->zero_wall_ns + m->oldest_s * CLOCK_SEC_NS, false, when);
        snprintf(error, cap, "no history for that time: it starts at %s", when);
        return false;
    }
    if (p.kind != SPAN_PAST) {
        to_now(m);
    }
    if (p.kind == SPAN_LAST) {
        m->length_s = m->now_length_s = p.length_s;
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

void ui_view_query(struct ui *u, const struct snapshot *s, struct view_query *l)
{
    if (u->window_asked) {
        l->window = u->window;
    }
    l->length_s = u->time_range.length_s;
    l->end_s = u->time_range.end_s;
    if (u->paused && !l->end_s) { /* another window, another row: still of when it was paused */
        l->end_s = u->time_range.paused_s;
    }
    if (l->end_s && !l->length_s && l->window == WINDOW_RUN) {
        l->end_s = 0;
    }
    l->trends = u->table.trends;
    l->dist = u->screen == &screen_dist;
    l->heat = u->screen == &screen_heat;
    if (!l->dist && !l->heat) {
        return;
    }
    const struct snap_row *r = table_selected(u, s);
    l->dist = l->dist && r;
    l->heat = l->heat && r;
    if (r) {
        l->tier = r->tier;
        l->ident = r->ident_n;
    }
    heat_view_query(u, l);
}
