#include "full_form.h"
#include "shared.h"

#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <kprof/core/tier.h>
#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static const uint64_t events[] = {10000, 100000, 500000};
static const uint64_t waits[] = {10 * SECOND, 30 * SECOND, 120 * SECOND, 600 * SECOND};
static const uint64_t runs[] = {SECOND, 5 * SECOND, 10 * SECOND, 60 * SECOND};

enum { EVENTS = sizeof events / sizeof *events, TIMES = sizeof waits / sizeof *waits };

/* --- what is offered --- */

/* True: the node does not compute the names of this rule, so it cannot compare them. */
static bool has_made_names(const char *rule)
{
    return strstr(rule, "path(") || strstr(rule, "shape(") || strstr(rule, "name(");
}

static void take_process(struct full_form *f, bool process)
{
    f->ask.pid = process ? f->pid : 0;
    f->ask.calls = process ? FULL_CALLS_ALL : FULL_CALLS_TIERS;
    f->ask.time_ns = process ? runs[1] : waits[1];
}

static void take(struct full_form *f, const struct full_offer *o, const char *rule)
{
    *f = (struct full_form){.there = true, .request = o->request, .pid = o->pid};
    f->ask.tier = o->tier;
    f->ask.events = events[1];
    f->ask.slow_ns = o->default_slow_ns;
    f->n_slow = 1;
    for (size_t i = 0; i < FULL_SLOW_CHOICES; i++) {
        if (o->slow_ns[i] > f->slow_ns[f->n_slow - 1]) {
            f->slow_ns[f->n_slow++] = o->slow_ns[i];
        }
    }
    snprintf(f->tier_name, sizeof f->tier_name, "%s", o->tier_name ? o->tier_name : "");
    bool named = o->ident && strcmp(o->ident, "undefined") != 0 && strcmp(o->ident, "<other>") != 0;
    f->no_name = named && has_made_names(rule);
    if (named && !f->no_name) {
        snprintf(f->ident, sizeof f->ident, "%s", o->ident);
        snprintf(f->ask.ident, sizeof f->ask.ident, "%s", o->ident);
    }
    take_process(f, o->pid && (o->process_first || !o->request));
}

static void open_form(void *own, const struct screen_request *r, struct intent *out)
{
    struct full_form *f = own;
    (void)out;
    if (r->full) {
        take(f, r->full, r->name ? r->name : "");
    }
}

void full_form_condition(struct full_form *f, const char *text)
{
    snprintf(f->ask.condition, sizeof f->ask.condition, "%s", text);
    snprintf(f->ask.ident, sizeof f->ask.ident, "%s", text[0] ? "" : f->ident);
}

/* --- fields --- */

static bool is_shown(const struct full_form *f, unsigned field)
{
    return !f->ask.pid || (field != FULL_FIELD_SLOWER && field != FULL_FIELD_CONDITION);
}

static void step_field(struct full_form *f, int by)
{
    unsigned at = f->field;
    do {
        at = (at + FULL_FIELDS + (unsigned)by) % FULL_FIELDS;
    } while (!is_shown(f, at));
    f->field = at;
}

static uint64_t stepped(const uint64_t *list, size_t n, uint64_t now, int by)
{
    size_t at = 0;
    while (at + 1 < n && list[at] < now) {
        at++;
    }
    return list[(at + n + (size_t)(by > 0 ? 1 : n - 1)) % n];
}

static void change(struct full_form *f, int by, struct ui_shared *sh)
{
    switch ((enum full_field)f->field) {
    case FULL_FIELD_WHAT:
        if (f->pid && f->request) {
            take_process(f, !f->ask.pid);
        } else {
            message_set(&sh->message, "there is no other choice here", true);
        }
        break;
    case FULL_FIELD_SLOWER:
        f->ask.slow_ns = stepped(f->slow_ns, f->n_slow, f->ask.slow_ns, by);
        break;
    case FULL_FIELD_CONDITION:
        dialog_prompt(&sh->dialog, PROMPT_FULL_CONDITION, f->ask.condition);
        break;
    case FULL_FIELD_CALLS:
        f->ask.calls =
            (enum full_calls)(((int)f->ask.calls + FULL_CALLS_KINDS + by) % FULL_CALLS_KINDS);
        break;
    case FULL_FIELD_EVENTS:
        f->ask.events = stepped(events, EVENTS, f->ask.events, by);
        break;
    case FULL_FIELD_TIME:
        f->ask.time_ns = stepped(f->ask.pid ? runs : waits, TIMES, f->ask.time_ns, by);
        break;
    case FULL_FIELDS:
        break;
    }
}

/* --- drawing --- */

static void what_text(const struct full_form *f, struct buf *out)
{
    char pid[SNAPSHOT_PID_BYTES];
    if (f->ask.pid) {
        snapshot_pid(f->ask.pid, pid);
        buf_addf(out, "process %s, from now on", pid);
    } else if (f->ask.ident[0]) {
        buf_adds(out, "the next request named ");
        text_safe(out, f->ask.ident, strlen(f->ask.ident), 0, false);
    } else if (f->ask.tier != TIER_TOTAL) {
        buf_adds(out, "the next call of ");
        text_safe(out, f->tier_name, strlen(f->tier_name), 0, false);
    } else {
        buf_adds(out, "the next request");
    }
}

static void time_text(uint64_t ns, struct buf *out)
{
    char text[FORMAT_BYTES];
    format_us((double)ns / 1e3, text);
    buf_adds(out, text);
}

static const char *const calls_text[] = {
    [FULL_CALLS_TIERS] = "of the modules of the tiers",
    [FULL_CALLS_APPLICATIONS] = "of the applications of the tiers",
    [FULL_CALLS_ALL] = "of all modules",
};

static void value_text(const struct full_form *f, unsigned field, struct buf *out)
{
    char text[FORMAT_BYTES];
    switch ((enum full_field)field) {
    case FULL_FIELD_WHAT:
        what_text(f, out);
        break;
    case FULL_FIELD_SLOWER:
        buf_adds(out, f->ask.slow_ns ? "" : "any duration");
        if (f->ask.slow_ns) {
            time_text(f->ask.slow_ns, out);
            buf_adds(out, " or longer");
        }
        break;
    case FULL_FIELD_CONDITION:
        buf_adds(out, f->ask.condition[0] ? "" : "none");
        text_safe(out, f->ask.condition, strlen(f->ask.condition), 0, false);
        break;
    case FULL_FIELD_CALLS:
        buf_adds(out, calls_text[f->ask.calls]);
        break;
    case FULL_FIELD_EVENTS:
        format_count(f->ask.events, text);
        buf_addf(out, "at most %s", text);
        break;
    case FULL_FIELD_TIME:
        format_span(f->ask.time_ns / SECOND, text);
        buf_addf(out, f->ask.pid ? "trace for %s" : "wait for at most %s", text);
        break;
    case FULL_FIELDS:
        break;
    }
}

static const char *const names[] = {
    [FULL_FIELD_WHAT] = "trace",          [FULL_FIELD_SLOWER] = "that takes",
    [FULL_FIELD_CONDITION] = "condition", [FULL_FIELD_CALLS] = "all calls",
    [FULL_FIELD_EVENTS] = "events",       [FULL_FIELD_TIME] = "time",
};

static void draw_field(const struct full_form *f, struct canvas *c, int row, struct rect a,
                       unsigned field)
{
    struct buf text;
    int name = a.cols < 50 ? 12 : 14;
    buf_init(&text, 0);
    value_text(f, field, &text);
    canvas_text(c, row, a.col + 1, name, STYLE_DIM, names[field]);
    canvas_text(c, row, a.col + name, a.cols - name, STYLE_NORMAL, text.data);
    if (field == f->field) {
        canvas_style(c, row, a.col, a.cols, STYLE_SELECT);
    }
    buf_release(&text);
}

static const char *note(const struct full_form *f)
{
    if (f->no_name) {
        return "The node does not compute names made with path(...), shape(...) or name(...), so a "
               "request of any name is traced. A condition on the arguments can select one (i).";
    }
    if (f->ask.pid) {
        return "Each traced call costs the process about a microsecond, and the time to copy the "
               "value it returns. Before OTP 27 the tiers are not traced meanwhile.";
    }
    return "Each traced call costs the request about a microsecond, and the time to copy the value "
           "it returns. The tiers are not traced meanwhile: the history has a gap.";
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct full_form *f = own;
    int row = a.row;
    (void)sh;
    (void)s;
    f->first_row = 0;
    canvas_fill(c, row, a.col, a.cols, STYLE_HEAD, ' ');
    canvas_text(c, row++, a.col, a.cols, STYLE_HEAD,
                "FULL TRACE: all calls of one request or process");
    if (!f->there) {
        canvas_wrap(c, row, a.col, a.rows - 1, a.cols, STYLE_DIM,
                    "Nothing was chosen: press x on a row of the table, a slow request, an open "
                    "call or a process.");
        return;
    }
    row += a.rows >= 14;
    for (unsigned i = 0; i < FULL_FIELDS && row < a.row + a.rows; i++) {
        if (is_shown(f, i)) {
            draw_field(f, c, row++, a, i);
        }
    }
    row += a.rows >= 14;
    row += canvas_wrap(
        c, row, a.col + 1, a.row + a.rows - row, a.cols - 1, STYLE_NORMAL,
        "Enter starts the trace; Left and Right change the value in the selected line.");
    canvas_wrap(c, row, a.col + 1, a.row + a.rows - row, a.cols - 1, STYLE_DIM, note(f));
}

/* --- keys --- */

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct full_form *f = own;
    (void)key;
    (void)s;
    if (!f->there && act != ACT_BACK) {
        return false;
    }
    switch (act) {
    case ACT_UP:
    case ACT_DOWN:
        step_field(f, act == ACT_UP ? -1 : 1);
        return true;
    case ACT_LEFT:
    case ACT_RIGHT:
        change(f, act == ACT_LEFT ? -1 : 1, sh);
        return true;
    case ACT_IDENTITY:
        if (f->ask.pid) {
            message_set(&sh->message, "only a request can have a condition", true);
        } else {
            dialog_prompt(&sh->dialog, PROMPT_FULL_CONDITION, f->ask.condition);
        }
        return true;
    case ACT_OPEN:
        out->intent = (struct intent){.kind = INTENT_FULL, .full = f->ask};
        out->open.to = SCREEN_FULL;
        return true;
    default:
        return false;
    }
}

const struct screen_ops screen_full_ask = {
    .name = "ask for a full trace",
    .context = CTX_FULL_ASK,
    .open = open_form,
    .draw = draw,
    .on_key = on_key,
};
