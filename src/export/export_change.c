/* Changes against the reference, row by row: the part of the text format that only a comparison
 * has. */
#include <kprof/base/text.h>
#include <kprof/export/writers.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_COLS = 40, CELL_COLS = 9 };

static void cell(struct buf *out, double part)
{
    char text[32] = "-";
    if (isfinite(part))
        snprintf(text, sizeof text, "%+.1f%%", fmin(part * 100, 99999));
    buf_addf(out, "  %*s", CELL_COLS, text);
}

static void row(struct buf *out, const struct snap_row *r)
{
    const char *name = r->ident ? snapshot_name(r->ident) : r->tier_name;
    int indent = r->ident ? 2 : 0;
    buf_addf(out, "%*s", indent, "");
    size_t cols = text_safe(out, name, strlen(name), (size_t)(NAME_COLS - indent), false);
    buf_addf(out, "%*s", NAME_COLS - indent - (int)cols, "");
    cell(out, r->d_rate);
    cell(out, r->d_p50);
    cell(out, r->d_p99);
    buf_addch(out, '\n');
}

void export_change(struct buf *out, const struct snapshot *s)
{
    if (!s->compared[0])
        return;
    buf_adds(out, "\ncompared with ");
    text_safe(out, s->compared, strlen(s->compared), 0, false);
    buf_addf(out, "\n%-*s  %*s  %*s  %*s\n", NAME_COLS, "tier / identity", CELL_COLS, "rate",
             CELL_COLS, "p50", CELL_COLS, "p99");
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].count || s->rows[i].then_count)
            row(out, &s->rows[i]);
}
