#include "flame_live.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <kprof/base/text.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RUNNING (1u << STACK_RUNNING | 1u << STACK_RUNNABLE | 1u << STACK_GARBAGE_COLLECTING)

bool flame_live_only_running(const struct flame_state *t)
{
    return t->query.filter.statuses == RUNNING;
}

/* If there are many processes, most of them wait at any time, which would hide what the others
 * do. */
static bool has_many(const char *who)
{
    return !who[0] || strncmp(who, "top", 3) == 0 || strcmp(who, "all") == 0;
}

void flame_live_set(struct flame_state *t, const struct snap_sampling *s)
{
    bool other = !t->live || strcmp(t->sampling.who, s->who) != 0;
    t->live = true;
    t->sampling = *s;
    if (!other) {
        return;
    }
    t->query.filter.statuses = has_many(s->who) ? RUNNING : 0;
    t->frozen = false;
    t->compare = t->compare && t->base;
    t->base_to_ns = t->query.filter.from_ns = t->query.filter.to_ns = 0;
}

void flame_live_statuses(struct flame_state *t, struct message *m)
{
    t->query.filter.statuses = flame_live_only_running(t) ? 0 : RUNNING;
    message_set(m,
                flame_live_only_running(t)
                    ? "only samples of processes that run, are ready to run or collect garbage"
                    : "samples of processes in any status",
                false);
}

/* --- the choice of processes --- */

static const struct {
    const char *choice, *help;
} choices[] = {
    {"top:100:reductions", "the 100 processes with the most reductions"},
    {"top:100:memory", "the 100 with the largest heaps"},
    {"top:100:queue", "the 100 with the longest message queues"},
    {"top:100:binary", "the 100 with the most binaries"},
    {"inside", "processes in traced requests"},
    {"all", "all processes, 1000 at a time"},
    {"other ...", "pids, names, initial call, application"},
};

enum { CHOICES = sizeof choices / sizeof *choices };

void flame_live_ask(struct dialog *d)
{
    struct menu *m = dialog_menu(d, MENU_FLAME_CHOICE, "Sample the stacks of");
    for (size_t i = 0; i < CHOICES; i++) {
        menu_add(m, choices[i].choice);
        menu_add_more(m, choices[i].help);
    }
}

struct intent flame_live_picked(struct dialog *d)
{
    struct intent in = {.kind = INTENT_REDRAW};
    size_t i = d->menu.at.sel;
    if (i + 1 >= CHOICES) {
        dialog_prompt(d, PROMPT_FLAME_CHOICE, "");
        return in;
    }
    in.kind = INTENT_SAMPLING;
    snprintf(in.text, sizeof in.text, "%s", choices[i].choice);
    return in;
}

/* --- keys --- */

static void keep(struct flame_state *t, struct message *m)
{
    t->keep = !t->keep;
    message_set(m,
                t->keep
                    ? "sampling continues when you leave this screen; K on another screen ends it"
                    : "sampling ends when you leave this screen",
                false);
}

static enum intent_kind intent_of(enum action act)
{
    switch (act) {
    case ACT_TOGGLE:
        return INTENT_SAMPLING_TOGGLE;
    case ACT_SAMPLE_UP:
        return INTENT_SAMPLING_MORE;
    case ACT_SAMPLE_DOWN:
        return INTENT_SAMPLING_LESS;
    default:
        return INTENT_NONE;
    }
}

bool flame_live_key(struct flame_state *t, struct dialog *d, struct message *m, enum action act,
                    struct intent *out)
{
    enum intent_kind kind = intent_of(act);
    if (kind == INTENT_NONE && act != ACT_CHOOSE && act != ACT_KEEP) {
        return false;
    }
    if (!t->live) {
        message_set(m,
                    t->trace ? "nothing is sampled: this is a full trace"
                             : "nothing is sampled: the samples are from a file",
                    true);
    } else if (t->sampling.replay) {
        message_set(m, "nothing is sampled: the samples are from a recording", true);
    } else if (act == ACT_CHOOSE) {
        flame_live_ask(d);
    } else if (act == ACT_KEEP) {
        keep(t, m);
    } else {
        out->kind = kind;
    }
    return true;
}

/* --- the line with the cost --- */

struct line {
    struct canvas *c;
    int row, col, end;
};

/* Draws a value if there is room for all of it. */
__attribute__((format(printf, 3, 4))) static void add(struct line *l, enum style st,
                                                      const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (l->col + (int)text_width(text, strlen(text)) <= l->end) {
        l->col += canvas_text(l->c, l->row, l->col, l->end - l->col, st, text) + 2;
    }
}

static const char *pause_text(enum sampling_pause p)
{
    switch (p) {
    case SAMPLING_BREAKER:
        return "the breaker is open";
    case SAMPLING_LEASE:
        return "the node receives nothing from kprof-top";
    case SAMPLING_RUN_QUEUE:
        return "the run queue of the node is long";
    case SAMPLING_RUNS:
        break;
    }
    return "";
}

static void add_state(struct line *l, const struct snap_sampling *s)
{
    switch (s->state) {
    case SAMPLING_NONE:
        add(l, STYLE_DIM, s->replay ? "recording" : "w chooses processes to sample");
        break;
    case SAMPLING_NO_NODE:
        add(l, STYLE_WARN, "WAITING for the node");
        break;
    case SAMPLING_ASKED:
        add(l, STYLE_WARN, "asking the node ...");
        break;
    case SAMPLING_ON:
        if (s->replay) {
            add(l, STYLE_DIM, "recording");
        } else if (s->pause) {
            add(l, STYLE_WARN, "PAUSED: %s", pause_text(s->pause));
        } else {
            add(l, STYLE_GOOD, "SAMPLING");
        }
        break;
    case SAMPLING_FAILED:
        add(l, STYLE_BAD, "FAILED");
        break;
    case SAMPLING_OFF:
        add(l, STYLE_WARN, "OFF (t: on)");
        break;
    }
}

/* How often a process is sampled: less often than requested, to keep the cost below --max-overhead,
 * or because timers of the node come late. */
static void add_rate(struct line *l, const struct snap_sampling *s)
{
    char now[FORMAT_BYTES], asked[FORMAT_BYTES];
    format_us(s->each_ms * 1e3, now);
    format_us(s->each_ms_asked * 1e3, asked);
    if (s->less_often) {
        add(l, STYLE_WARN, "every %s (set %s)", now, asked);
    } else if (s->each_ms > 0) {
        add(l, STYLE_NORMAL, "every %s", now);
    }
}

static void add_chosen(struct line *l, const struct snap_sampling *s)
{
    char n[FORMAT_BYTES], of[FORMAT_BYTES];
    format_count(s->processes, n);
    format_count(s->matched, of);
    if (s->matched > s->processes) {
        add(l, STYLE_NORMAL, "%s of %s processes", n, of);
    } else if (s->processes) {
        add(l, STYLE_NORMAL, "%s process%s", n, s->processes == 1 ? "" : "es");
    }
}

static void add_count(struct line *l, const char *what, uint64_t n)
{
    char text[FORMAT_BYTES];
    if (n > 0) {
        format_count(n, text);
        add(l, STYLE_WARN, "%s %s", what, text);
    }
}

void flame_live_draw(const struct flame_state *t, struct canvas *c, struct rect a)
{
    const struct snap_sampling *s = &t->sampling;
    struct line l = {.c = c, .row = a.row, .col = a.col, .end = a.col + a.cols};
    add_state(&l, s);
    if (s->why[0]) {
        canvas_text(c, l.row, l.col, l.end - l.col, STYLE_WARN, s->why);
        return;
    }
    if (s->state == SAMPLING_ON && !s->replay) {
        add(&l, STYLE_NORMAL, "overhead %.1f%%", s->percent);
    }
    add_rate(&l, s);
    if (t->keep) {
        add(&l, STYLE_KEY, "KEEP");
    }
    add(&l, STYLE_BOLD, "%.60s", s->who);
    add_chosen(&l, s);
    add_count(&l, "lost", s->lost);
    add_count(&l, "skipped", s->skipped);
    add_count(&l, "delayed", s->late);
    add_count(&l, "left out (--hazards)", s->held);
    if (s->cut_share > 0)
        add(&l, STYLE_WARN, "truncated %.0f%%", s->cut_share * 100);
    if (s->born > 0 && s->born_s > 0 && strcmp(s->who, "inside") != 0)
        add(&l, STYLE_DIM, "started %.0f/s", (double)s->born / s->born_s);
}

/* --- why there are no samples --- */

/* The node samples, but no sample has arrived. */
static const char *why_nothing_came(const struct snap_sampling *s)
{
    if (s->pause) {
        return pause_text(s->pause);
    }
    if (s->held > 0 && s->processes == 0) {
        return "the processes are left out because of a fault of this VM: see --hazards";
    }
    if (s->each_ms > 0 && s->processes == 0 && strcmp(s->who, "inside") == 0) {
        return "no call of a tier was seen in the last 2 s";
    }
    if (s->each_ms > 0 && s->processes == 0 && s->who[0] == '<') { /* a pid */
        return "the process has ended; w chooses others, for example those inside requests";
    }
    if (s->each_ms > 0 && s->processes == 0) {
        return "no process matches; the node checks again every 5 s";
    }
    if (s->lost > 0) {
        return "all samples so far were lost";
    }
    return "the first samples arrive within a second";
}

void flame_live_why(const struct flame_state *t, char *out, size_t cap)
{
    const struct snap_sampling *s = &t->sampling;
    switch (s->state) {
    case SAMPLING_NONE:
        snprintf(out, cap, "%s",
                 s->replay ? "No samples yet: the recording has contained no stack samples so far."
                           : "No samples yet: nothing is sampled. w chooses the processes.");
        break;
    case SAMPLING_NO_NODE:
        snprintf(out, cap, "No samples yet: the node is not connected.");
        break;
    case SAMPLING_ASKED:
        snprintf(out, cap, "No samples yet: the node has not answered.");
        break;
    case SAMPLING_ON:
        snprintf(out, cap, "No samples yet: %s.", why_nothing_came(s));
        break;
    case SAMPLING_FAILED:
        snprintf(out, cap, "No samples: %s", s->why);
        break;
    case SAMPLING_OFF:
        snprintf(out, cap, "No samples: sampling is off%s%s. t switches it on.",
                 s->why[0] ? ": " : "", s->why);
        break;
    }
}
