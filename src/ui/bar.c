#include "bar.h"

#include <kprof/base/text.h>
#include <stdbool.h>
#include <string.h>

enum { TURN_FIRST = 1, TURN_OWN = TURN_FIRST + BAR_FIRST, TURN_REST, TURNS };

/* On the table: the most important keys, then the others in the order of the keys. On another
 * screen: help and back first, then the keys of only this screen, then the rest. */
static size_t turn_of(const struct key_def *k, const struct bar *b)
{
    bool table = b->context & CTX_TABLE, common = k->contexts & CTX_TABLE;
    if (common && (k->act == ACT_HELP || k->act == (table ? ACT_QUIT : ACT_BACK))) {
        return 0;
    }
    for (size_t i = 0; i < BAR_FIRST && b->first[i]; i++) {
        if (k->act == b->first[i]) {
            return TURN_FIRST + i;
        }
    }
    return !table && common ? TURN_REST : TURN_OWN;
}

/* Entries of the bar that fit, from the left; i: where to continue. NULL: no more. */
static const struct key_def *next(const struct bar *b, int cols, size_t *i, int col, int *width)
{
    size_t n;
    const struct key_def *k = keys_all(&n);
    for (; *i < TURNS * n; (*i)++) {
        const struct key_def *d = &k[*i % n];
        if ((d->contexts & b->context) && d->bar && turn_of(d, b) == *i / n) {
            *width = (int)(strlen(d->shown) + strlen(d->bar)) + 1;
            return col + *width <= cols ? d : NULL; /* the help has the rest */
        }
    }
    return NULL;
}

void bar_draw(struct canvas *c, int row, const struct bar *b)
{
    const struct key_def *k;
    int col = 0, width;
    for (size_t i = 0; (k = next(b, c->cols, &i, col, &width)); i++) {
        int at = col + canvas_text(c, row, col, c->cols - col, STYLE_KEY, k->shown);
        canvas_fill(c, row, at++, 1, STYLE_NORMAL, ' ');
        canvas_text(c, row, at, c->cols - at, STYLE_NORMAL, k->bar);
        col += width + 2;
    }
}

int bar_key_at(int cols, const struct bar *b, int col)
{
    const struct key_def *k;
    int at = 0, width;
    for (size_t i = 0; (k = next(b, cols, &i, at, &width)); i++) {
        if (col >= at && col < at + width) {
            return k->key[0];
        }
        at += width + 2;
    }
    return 0;
}
