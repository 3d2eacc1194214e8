#include "mailbox_lines.h"

#include <inttypes.h>
#include <kprof/base/format.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_COLS = 11, TIME_COLS = 8 };

static const struct {
    const char *title;
    size_t wait, call; /* offsets in struct snap_row */
    int cols;          /* of the screen, from which it is shown */
} values[] = {
#define VALUE(title, name, cols)                                                                   \
    {                                                                                              \
        title, offsetof(struct snap_row, wait_##name), offsetof(struct snap_row, name), cols       \
    }
    VALUE("MEAN", mean_us, 60), VALUE("P50", p50_us, 0),     VALUE("P90", p90_us, 52),
    VALUE("P99", p99_us, 0),    VALUE("P99.9", p999_us, 44), VALUE("MAX", max_us, 0),
#undef VALUE
};

enum { VALUES = sizeof values / sizeof *values };

static double value_at(const struct snap_row *r, size_t offset)
{
    double v;
    memcpy(&v, (const char *)r + offset, sizeof v);
    return v;
}

static void draw_times(struct canvas *c, struct rect a, int row, const char *name,
                       const struct snap_row *r, bool waits)
{
    int col = a.col + NAME_COLS;
    canvas_text(c, row, a.col, NAME_COLS, STYLE_NORMAL, name);
    for (int i = 0; i < VALUES; i++) {
        char text[FORMAT_BYTES];
        if (a.cols < values[i].cols) {
            continue;
        }
        format_us(value_at(r, waits ? values[i].wait : values[i].call), text);
        canvas_right(c, row, col, TIME_COLS, STYLE_NORMAL, text);
        col += TIME_COLS;
    }
}

static void draw_head(struct canvas *c, struct rect a)
{
    int col = a.col + NAME_COLS;
    canvas_text(c, a.row, a.col, NAME_COLS, STYLE_DIM, "MAILBOX");
    for (int i = 0; i < VALUES; i++) {
        if (a.cols >= values[i].cols) {
            canvas_right(c, a.row, col, TIME_COLS, STYLE_DIM, values[i].title);
            col += TIME_COLS;
        }
    }
}

/* The processes are those of all identities, and of the last seconds. */
static void draw_busy(struct canvas *c, struct rect a, int row, const struct snap_row *r)
{
    char share[FORMAT_BYTES], most[FORMAT_BYTES], all[FORMAT_BYTES], pid[SNAPSHOT_PID_BYTES],
        text[160];
    int n;
    format_share(r->busy, share);
    n = snprintf(text, sizeof text, "busy %s", share);
    if (r->busiest_pid) {
        format_share(r->busiest, most);
        format_share(r->busiest_all, all);
        snapshot_pid(r->busiest_pid, pid);
        n += snprintf(text + n, sizeof text - (size_t)n, "; busiest %s %s", pid, most);
        if (strcmp(all, most) != 0) {
            n += snprintf(text + n, sizeof text - (size_t)n, " (%s with all tiers)", all);
        }
    }
    if (r->processes > 1) {
        snprintf(text + n, sizeof text - (size_t)n, ", of %" PRIu32 " processes", r->processes);
    }
    canvas_text(c, row, a.col, a.cols, STYLE_NORMAL, text);
}

int mailbox_lines_draw(struct canvas *c, struct rect a, const struct snap_row *r)
{
    int used = 0;
    if (r->waits && a.rows >= 3) {
        draw_head(c, a);
        draw_times(c, a, a.row + 1, "in mailbox", r, true);
        draw_times(c, a, a.row + 2, "the call", r, false);
        used = 3;
    }
    if (isfinite(r->busy) && used < a.rows) {
        draw_busy(c, a, a.row + used++, r);
    }
    return used;
}
