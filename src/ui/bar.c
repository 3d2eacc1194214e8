#include "bar.h"

#include <kprof/base/text.h>
#include <kprof/ui/keys.h>
#include <stdbool.h>
#include <string.h>

enum { TURNS = 3 };

/* On the table: in the order of the keys. On another screen: help and back first, then the keys of
 * only this screen, then the rest. */
static size_t turn_of(const struct key_def *k, unsigned context)
{
    if (context & CTX_TABLE) {
        return 0;
    }
    if (!(k->contexts & CTX_TABLE)) {
        return 1;
    }
    return k->act == ACT_HELP || k->act == ACT_BACK ? 0 : 2;
}

/* Entries of the context that fit, from the left; i: where to continue. NULL: no more. */
static const struct key_def *next(unsigned context, int cols, size_t *i, int col, int *width)
{
    size_t n;
    const struct key_def *k = keys_all(&n);
    for (; *i < TURNS * n; (*i)++) {
        const struct key_def *d = &k[*i % n];
        if ((d->contexts & context) && d->bar && turn_of(d, context) == *i / n) {
            *width = (int)(strlen(d->shown) + strlen(d->bar)) + 1;
            return col + *width <= cols ? d : NULL; /* the help has the rest */
        }
    }
    return NULL;
}

void bar_draw(struct canvas *c, int row, unsigned context, const char *extra)
{
    const struct key_def *k;
    int col = extra ? canvas_text(c, row, 0, c->cols, STYLE_NORMAL, extra) + 2 : 0, width;
    for (size_t i = 0; (k = next(context, c->cols, &i, col, &width)); i++) {
        int at = col + canvas_text(c, row, col, c->cols - col, STYLE_KEY, k->shown);
        canvas_fill(c, row, at++, 1, STYLE_NORMAL, ' ');
        canvas_text(c, row, at, c->cols - at, STYLE_NORMAL, k->bar);
        col += width + 2;
    }
}

int bar_key_at(int cols, unsigned context, int col)
{
    const struct key_def *k;
    int at = 0, width;
    for (size_t i = 0; (k = next(context, cols, &i, at, &width)); i++) {
        if (col >= at && col < at + width) {
            return k->key[0];
        }
        at += width + 2;
    }
    return 0;
}
