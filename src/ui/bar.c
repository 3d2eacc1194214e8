#include <kprof/base/text.h>
#include <kprof/ui/keys.h>
#include <kprof/ui/state.h>
#include <string.h>

void bar_draw(struct canvas *c, int row, unsigned context, const char *extra)
{
    size_t n;
    const struct key_def *k = keys_all(&n);
    int col = 0;
    if (extra) {
        col = canvas_text(c, row, 0, c->cols, STYLE_NORMAL, extra) + 2;
    }
    for (size_t i = 0; i < n; i++) {
        if (!(k[i].contexts & context) || !k[i].bar) {
            continue;
        }
        int width = (int)(strlen(k[i].shown) + strlen(k[i].bar)) + 1;
        if (col + width > c->cols) {
            break; /* the help has the rest */
        }
        col += canvas_text(c, row, col, c->cols - col, STYLE_KEY, k[i].shown);
        canvas_fill(c, row, col++, 1, STYLE_NORMAL, ' ');
        col += canvas_text(c, row, col, c->cols - col, STYLE_NORMAL, k[i].bar) + 2;
    }
}
