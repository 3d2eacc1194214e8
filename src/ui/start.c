#include "start.h"

#include <kprof/base/format.h>
#include <stdio.h>
#include <string.h>

enum { BUSIEST = 3, ALL_ROWS = 11, COLS = 72 };

void start_set_presets(struct start *t, const char *names)
{
    t->presets_known = true;
    snprintf(t->presets, sizeof t->presets, "%s", names);
}

void start_set_suggested(struct start *t, const char *text)
{
    snprintf(t->suggested, sizeof t->suggested, "%s", text);
}

/* The busiest, most calls first; returns how many. */
static size_t find_busiest(const struct catalog *c, uint32_t *ids)
{
    size_t n = 0;
    for (uint32_t id = 0; id < catalog_count(c); id++) {
        float rate = catalog_rate(c, id);
        if (!(rate > 0) || catalog_is_local(c, id) || catalog_is_platform(c, id)) {
            continue;
        }
        size_t at = n;
        while (at > 0 && rate > catalog_rate(c, ids[at - 1])) {
            at--;
        }
        if (at == BUSIEST) {
            continue;
        }
        n += n < BUSIEST;
        memmove(&ids[at + 1], &ids[at], (n - at - 1) * sizeof *ids);
        ids[at] = id;
    }
    return n;
}

void start_set_catalog(struct start *t, const struct catalog *c)
{
    uint32_t ids[BUSIEST];
    char name[CATALOG_TEXT_BYTES], rate[FORMAT_BYTES];
    if (!c || catalog_status(c)->state == CATALOG_LOADING) {
        return; /* the line is added when the catalog is complete */
    }
    size_t n = find_busiest(c, ids);
    t->busiest[0] = 0;
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(t->busiest);
        catalog_text(c, ids[i], name);
        format_rate((double)catalog_rate(c, ids[i]), rate);
        snprintf(t->busiest + used, sizeof t->busiest - used, "%s%.80s %s/s", i ? ", " : "", name,
                 rate);
    }
}

/* --- drawing --- */

struct page {
    struct canvas *c;
    struct rect a;
    int row; /* the next one, from the top of the area */
};

static void line(struct page *p, enum style st, const char *text)
{
    if (p->row < p->a.rows) {
        p->row +=
            canvas_wrap(p->c, p->a.row + p->row, p->a.col, p->a.rows - p->row, p->a.cols, st, text);
    }
}

/* key "": continues the line above */
static void way(struct page *p, const char *key, const char *text)
{
    int row = p->a.row + p->row;
    if (p->row >= p->a.rows) {
        return;
    }
    canvas_text(p->c, row, p->a.col, 1, STYLE_KEY, key);
    if (p->a.rows < ALL_ROWS + 2) { /* no free row */
        canvas_text(p->c, row, p->a.col + 4, p->a.cols - 4, STYLE_NORMAL, text);
        p->row++;
    } else {
        p->row += canvas_wrap(p->c, row, p->a.col + 4, 2, p->a.cols - 4, STYLE_NORMAL, text);
    }
}

/* A key, its purpose, and the data about it ("": `unknown` instead). Without room for a title, the
 * data is shown alone. */
static void titled(struct page *p, const char *key, const char *title, const char *known,
                   const char *unknown)
{
    char both[400];
    bool narrow = p->a.cols < 60;
    snprintf(both, sizeof both, "%s: %s", title, known[0] ? known : unknown);
    way(p, key, !narrow ? both : known[0] ? known : title);
}

static void ways(const struct start *t, struct page *p)
{
    if (t->suggested[0]) {
        titled(p, "P", "Suggested", t->suggested, "");
    }
    titled(p, t->suggested[0] ? "" : "P", "Presets found here", t->presets,
           t->presets_known ? "none" : "P lists them");
    titled(p, "a", "Busiest functions", t->busiest, "the list shows calls per second");
    titled(p, "/", "Search", "", "type parts of a function's name");
}

void start_draw(const struct start *t, struct canvas *c, struct rect a)
{
    struct page p = {.c = c, .a = a};
    bool all = a.rows >= ALL_ROWS;
    p.row = all ? (a.rows - ALL_ROWS) / 3 : 0;
    if (a.cols > COLS) {
        p.a.col += (a.cols - COLS) / 2;
        p.a.cols -= p.a.col - a.col;
    }
    line(&p, STYLE_BOLD, "No tiers yet: choose what is timed");
    p.row += all;
    ways(t, &p);
    p.row += all;
    line(&p, STYLE_DIM, "A tier is a function whose calls are timed: one layer of the system.");
    line(&p, STYLE_DIM, "The first tier starts a request; E chooses another.");
    line(&p, STYLE_DIM, "Press I to name the requests by an argument of a call. ? shows all keys.");
    line(&p, STYLE_DIM, "F shows a flame graph of the processes; it needs no tier.");
}
