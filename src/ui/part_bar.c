#include "part_bar.h"

#include <kprof/base/format.h>
#include <string.h>

enum { BLANK = PART_COUNT, KINDS = PART_COUNT + 1, EIGHTHS = 8 };

/* The lengths within a cell, by part, and the order in which the parts begin. */
struct cell_parts {
    double of[KINDS], sum;
    uint8_t order[KINDS];
    size_t n;
};

static void add(struct cell_parts *k, int part, double length)
{
    size_t i = part < 0 || part >= PART_COUNT ? BLANK : (size_t)part;
    if (length <= 0) {
        return;
    }
    if (k->of[i] <= 0) {
        k->order[k->n++] = (uint8_t)i;
    }
    k->of[i] += length;
    k->sum += length;
}

/* The longest part in the order of the cell, without `except`; BLANK + 1: none. */
static size_t longest(const struct cell_parts *k, size_t except)
{
    size_t best = BLANK + 1;
    for (size_t i = 0; i < k->n; i++) {
        size_t p = k->order[i];
        if (p != except && (best > BLANK || k->of[p] > k->of[best])) {
            best = p;
        }
    }
    return best;
}

static bool begins_before(const struct cell_parts *k, size_t a, size_t b)
{
    size_t i = 0;
    while (k->order[i] != a && k->order[i] != b) {
        i++;
    }
    return k->order[i] == a;
}

static void draw_letter(struct canvas *c, int row, int col, size_t part, bool letter)
{
    char text[2] = {letter ? time_part_letter((enum time_part)part) : ' ', 0};
    canvas_text(c, row, col, 1, (enum style)(STYLE_PART + part), text);
}

/* The right side of a cell that is blank on the left: only two such blocks exist. */
static void draw_right(struct canvas *c, int row, int col, size_t part, unsigned blank)
{
    canvas_text(c, row, col, 1, STYLE_NORMAL, blank < 6 ? "\xe2\x96\x90" : "\xe2\x96\x95");
    canvas_shade(c, row, col, 1, (unsigned)(SHADE_PART + part));
}

static unsigned part_shade(size_t part)
{
    return part == BLANK ? SHADE_NONE : (unsigned)(SHADE_PART + part);
}

/* Two parts side by side, or one. Returns the part that fills the cell; BLANK: none does. */
static size_t draw_shaded(struct canvas *c, int row, int col, const struct cell_parts *k,
                          size_t before)
{
    size_t a = longest(k, BLANK + 1), b = longest(k, a), left = a, right = b;
    if (b <= BLANK && !begins_before(k, a, b)) {
        left = b;
        right = a;
    }
    unsigned n = EIGHTHS;
    if (b <= BLANK) {
        n = (unsigned)(EIGHTHS * k->of[left] / (k->of[left] + k->of[right]) + 0.5);
    }
    bool only_blank = k->n == 1 && a == BLANK;
    if (k->n > 1 && (a == BLANK || b == BLANK)) { /* a short part is not lost beside a blank */
        n = n < 1 ? 1 : n > EIGHTHS - 1 ? EIGHTHS - 1 : n;
    }
    size_t full = n == EIGHTHS ? left : n == 0 ? right : BLANK;
    if (only_blank) {
        return BLANK;
    }
    if (full != BLANK) {
        draw_letter(c, row, col, full, full != before);
    } else if (left == BLANK) {
        draw_right(c, row, col, right, n);
    } else {
        canvas_split(c, row, col, n, part_shade(left), part_shade(right));
    }
    return full;
}

static size_t draw_cell(struct canvas *c, int row, int col, const struct cell_parts *k,
                        size_t before)
{
    if (k->n == 0) {
        return BLANK;
    }
    if (c->shades) {
        return draw_shaded(c, row, col, k, before);
    }
    size_t part = longest(k, BLANK);
    if (part < BLANK) {
        draw_letter(c, row, col, part, true);
    }
    return BLANK;
}

void part_bar_draw(struct canvas *c, int row, int col, int cols, const struct part_span *span,
                   size_t n)
{
    double all = 0;
    for (size_t i = 0; i < n; i++) {
        all += span[i].length;
    }
    double at = 0; /* where span i begins */
    size_t before = BLANK;
    for (int x = 0, i = 0; x < cols && all > 0; x++) {
        struct cell_parts k = {.n = 0};
        double from = all * x / cols, to = all * (x + 1) / cols;
        for (; (size_t)i < n; i++) {
            double end = at + span[i].length;
            add(&k, span[i].part, (end < to ? end : to) - (at > from ? at : from));
            if (end > to) {
                break; /* goes on in the next cell */
            }
            at = end;
        }
        before = draw_cell(c, row, col + x, &k, before);
    }
}

void part_bar_shares(struct canvas *c, int row, int col, int cols, const double share[PART_COUNT])
{
    struct part_span span[PART_COUNT];
    for (int p = 0; p < PART_COUNT; p++) {
        span[p] = (struct part_span){share[p] > 0 ? share[p] : 0, p};
    }
    part_bar_draw(c, row, col, cols, span, PART_COUNT);
}

void part_bar_one(struct canvas *c, int row, int col, int cols, enum time_part p, double share)
{
    double part = share > 1 ? 1 : share;
    struct part_span span[] = {{part, (int)p}, {1 - part, PART_NONE}};
    if (part > 0) {
        part_bar_draw(c, row, col, cols, span, 2);
    }
}

int part_bar_legend(struct canvas *c, int row, int col, int cols, unsigned mask)
{
    int at = 0;
    for (int p = 0; p < PART_COUNT; p++) {
        const char *name = time_part_name((enum time_part)p);
        int width = 2 + (int)strlen(name);
        if (!(mask & 1u << p) || at + width > cols) {
            continue;
        }
        draw_letter(c, row, col + at, (size_t)p, true);
        canvas_text(c, row, col + at + 2, cols - at - 2, STYLE_DIM, name);
        at += width + 2;
    }
    return at > cols ? cols : at;
}
