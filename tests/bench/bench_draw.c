/* The time to draw a picture: 500 rows unfolded on 200 x 60, with trends; heat map and
 * distribution, also with shades. Only ui_draw is measured, not the output to the terminal. Limit:
 * 5 ms. */
#include "fake_snapshot.h"
#include "ui_script.h"

#include <kprof/base/clock.h>
#include <kprof/core/tier.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 200, ROWS = 500 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void draw(const struct snapshot *s, const char *what, const char *keys, bool shades)
{
    struct ui *u = ui_new(NULL);
    struct canvas c;
    double ms[RUNS];

    canvas_init(&c, 60, 200, false);
    c.shades = shades;
    script_run(u, &c, s, keys);
    for (int i = 0; i < RUNS; i++) {
        uint64_t t = clock_mono_ns();
        ui_draw(u, &c, s);
        ms[i] = (double)(clock_mono_ns() - t) / 1e6;
    }
    qsort(ms, RUNS, sizeof *ms, by_value);
    printf("draw: %s, %zu rows at 200x60: %.2f ms (median of %d, 99 %% within %.2f ms; limit: 5 "
           "ms)\n",
           what, s->n_rows, ms[RUNS / 2], RUNS, ms[RUNS * 99 / 100]);
    canvas_release(&c);
    ui_free(u);
}

int main(void)
{
    struct fake *f = fake_many(ROWS - 1);
    const struct snap_row *total = fake_row(f, TIER_TOTAL, "_total", NULL, 1000000, 12345);

    fake_heat(f, total, 192, 1);
    fake_dist(f, total);
    fake_trends(f);
    draw(fake_snap(f), "table", "f", false);
    draw(fake_snap(f), "table sorted by p99", "fs<End><Up><Up><Up><Up><Up><Enter>", false);
    draw(fake_snap(f), "heat map", "H", false);
    draw(fake_snap(f), "heat map with shades", "H", true);
    draw(fake_snap(f), "distribution", "D", false);
    draw(fake_snap(f), "distribution with shades", "D", true);
    fake_free(f);
    return 0;
}
