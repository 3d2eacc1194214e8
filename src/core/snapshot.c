#include <kprof/core/snapshot.h>

#include "snapshot_impl.h"
#include "state.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arena: chunks that are freed together ---- */

enum { CHUNK_BYTES = 64 << 10 };

struct chunk {
    struct chunk *next;
    size_t used, cap;
    max_align_t data[];
};

void *snapshot_take(struct snapshot *s, size_t bytes)
{
    struct chunk *k = s->owner;

    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!k || k->cap - k->used < bytes) {
        size_t cap = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        struct chunk *more = malloc(sizeof *more + cap);
        if (!more)
            abort();
        *more = (struct chunk){.next = k, .cap = cap};
        s->owner = k = more;
    }
    void *p = (char *)k->data + k->used;
    k->used += bytes;
    return p;
}

const char *snapshot_text(struct snapshot *s, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(snapshot_take(s, n), text, n);
}

void snapshot_free(struct snapshot *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_slow_traces; i++)
        slow_trace_unref(s->slow_traces[i].request);
    for (struct chunk *k = s->owner, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    free(s);
}

/* ---- changing and reading it ---- */

void snapshot_set_log(struct snapshot *s, const struct snap_log *lines, size_t n)
{
    struct snap_log *log = snapshot_take(s, n * sizeof *log);

    for (size_t i = 0; i < n; i++)
        log[i] =
            (struct snap_log){.wall_ns = lines[i].wall_ns, .text = snapshot_text(s, lines[i].text)};
    s->log = log;
    s->n_log = n;
}

void snapshot_set_load(struct snapshot *s, const struct snap_load *load, size_t n)
{
    struct snap_load *own = snapshot_take(s, (n + 1) * sizeof *own);

    if (n)
        memcpy(own, load, n * sizeof *own);
    s->load = own;
    s->n_load = n;
}

uint64_t snapshot_wall_ns(const struct snapshot *s, uint64_t sec)
{
    return s->time.zero_wall_ns + sec * CLOCK_SEC_NS;
}

uint64_t snapshot_end_wall_ns(const struct snapshot *s)
{
    return s->time.history ? snapshot_wall_ns(s, s->time.to_s) : s->wall_ns;
}

enum { NAMES_MANY = 16, WINDOW_LEAST_S = 5 };

uint32_t snapshot_names_once(const struct snapshot *s)
{
    uint32_t n = 0, once = 0;

    if (s->window_s < WINDOW_LEAST_S)
        return 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        if (!r->ident || (s->has_entry && r->tier != TIER_TOTAL) || r->former || !r->count)
            continue;
        n++;
        once += r->count == 1;
    }
    return n >= NAMES_MANY && 4 * once >= 3 * n ? n : 0;
}

void snapshot_pid(uint64_t pid, char out[SNAPSHOT_PID_BYTES])
{
    snprintf(out, SNAPSHOT_PID_BYTES, "<0.%u.%u>", (unsigned)(pid & UINT32_MAX),
             (unsigned)(pid >> 32));
}

struct snap_row *snapshot_rows(struct snapshot *s)
{
    struct snap_row *own = snapshot_take(s, (s->n_rows + 1) * sizeof *own);

    if (s->n_rows)
        memcpy(own, s->rows, s->n_rows * sizeof *own);
    s->rows = own;
    return own;
}

const char *snapshot_name(const char *ident)
{
    return !ident                            ? NULL
           : strcmp(ident, "undefined") == 0 ? "(no name)"
           : strcmp(ident, "<other>") == 0   ? "(other)"
                                             : ident;
}

bool snapshot_is_named(const struct snap_row *r)
{
    return r->ident && r->ident_n >= IDENT_FIRST && r->ident_n != IDENT_ALL;
}

uint64_t snapshot_estimate(const struct snap_row *r, uint64_t n)
{
    if (r->est_count == r->count || r->count == 0)
        return n;
    return (uint64_t)((double)n * (double)r->est_count / (double)r->count + 0.5);
}

bool snapshot_conserves(const struct snapshot *s)
{
    return s->calls.received ==
           s->calls.aggregated + s->calls.open + s->calls.expired + s->calls.unattributed;
}

const char *breaker_name(enum breaker_state s)
{
    static const char *const name[] = {"closed", "open", "half-open"};
    return (unsigned)s < sizeof name / sizeof *name ? name[s] : "?";
}

const char *sample_why_name(enum sample_why w)
{
    static const char *const name[] = {"",      "max-rate",  "max-overhead", "breaker",
                                       "flood", "part-time", "returns"};
    return (unsigned)w < sizeof name / sizeof *name ? name[w] : "?";
}

static void limit_text(const struct snapshot *s, char *out, size_t cap)
{
    static const char *const name[] = {
        [SAMPLE_RATE] = "limit --max-rate",
        [SAMPLE_COST] = "limit --max-overhead",
        [SAMPLE_BREAKER] = "the breaker closes in steps",
        [SAMPLE_FLOOD] = "calls arrive too fast",
        [SAMPLE_PART_TIME] = "for part of the time",
        [SAMPLE_COPIES] = "return values are large",
    };
    if (s->sample_why == SAMPLE_COST && s->cost.limit_percent > 0)
        snprintf(out, cap, " (limit %.3g %% of the node)", s->cost.limit_percent);
    else
        snprintf(out, cap, " (%s)",
                 (unsigned)s->sample_why < sizeof name / sizeof *name ? name[s->sample_why] : "?");
}

void snapshot_sampling(const struct snapshot *s, char *out)
{
    char limit[60] = "", asked[30] = "";
    const char *what = s->has_entry ? "request" : "call";
    uint32_t n = s->sample ? s->sample : 1;

    if (s->sample_why != SAMPLE_ASKED) {
        limit_text(s, limit, sizeof limit);
        if (s->sample_asked > 1)
            snprintf(asked, sizeof asked, ", requested 1 of %u", s->sample_asked);
    }
    if (n == 1)
        snprintf(out, SNAPSHOT_SAMPLING_BYTES, "every %s%s", what, limit);
    else
        snprintf(out, SNAPSHOT_SAMPLING_BYTES, "1 of %u %ss%s%s", n, what, asked, limit);
}

void snapshot_detail(const struct snapshot *s, char *out)
{
    const struct snap_detail *d = &s->detail;

    switch (d->state) {
    case DETAIL_NOT_KNOWN:
        snprintf(out, SNAPSHOT_DETAIL_BYTES, "-");
        return;
    case DETAIL_OFF:
        snprintf(out, SNAPSHOT_DETAIL_BYTES, "off");
        return;
    case DETAIL_NOT_HERE:
        snprintf(out, SNAPSHOT_DETAIL_BYTES, "not on this VM%s%s", d->why[0] ? ": " : "", d->why);
        return;
    case DETAIL_NO_ENTRY:
        snprintf(out, SNAPSHOT_DETAIL_BYTES, "none: there is no entry");
        return;
    case DETAIL_ON:
        break;
    }
    if (d->every != d->every_asked)
        snprintf(out, SNAPSHOT_DETAIL_BYTES, "1/%u, requested 1/%u: max-overhead", d->every,
                 d->every_asked);
    else
        snprintf(out, SNAPSHOT_DETAIL_BYTES, "1/%u", d->every);
}
