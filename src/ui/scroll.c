#include "scroll.h"

#include <stdint.h>

bool scroll_key(struct scroll *a, enum action act, size_t n)
{
    size_t last = n ? n - 1 : 0, page = a->page > 1 ? a->page - 1 : 1;
    switch (act) {
    case ACT_UP:
        a->sel -= a->sel > 0;
        break;
    case ACT_DOWN:
        a->sel++;
        break;
    case ACT_PGUP:
        a->sel = a->sel > page ? a->sel - page : 0;
        break;
    case ACT_PGDN:
        a->sel += page;
        break;
    case ACT_HOME:
        a->sel = 0;
        break;
    case ACT_END:
        a->sel = last;
        break;
    default:
        return false;
    }
    a->sel = a->sel > last ? last : a->sel;
    return true;
}

void scroll_fit(struct scroll *a, size_t n, size_t page)
{
    a->page = page;
    if (a->sel >= n) {
        a->sel = n ? n - 1 : 0;
    }
    if (a->top > a->sel) {
        a->top = a->sel;
    }
    if (page && a->sel - a->top >= page) {
        a->top = a->sel - page + 1;
    }
    size_t last_top = n > page ? n - page : 0;
    if (a->top > last_top) {
        a->top = last_top;
    }
}

size_t scroll_line_at(const struct scroll *a, int row)
{
    bool inside = a->row > 0 && row >= a->row && (size_t)(row - a->row) < a->page;
    return inside ? a->top + (size_t)(row - a->row) : SIZE_MAX;
}
