#include <kprof/base/text.h>

#include "stacks_page.h"

#include <stdlib.h>
#include <string.h>

enum { STILL_WIDTH = 1180, STILL_LEFT = 10, STILL_TOP = 30, STILL_ROW = 18, LETTER = 7 };

void stacks_xml(struct buf *b, const char *s, size_t n)
{
    struct buf safe;
    buf_init(&safe, 0);
    text_safe(&safe, s, n, 0, false);
    for (size_t i = 0, step; i < safe.len; i += step) {
        uint32_t cp;
        step = text_next(safe.data + i, safe.len - i, &cp);
        if (cp < 0x7f && !strchr("<>&\"'", (int)cp))
            buf_addch(b, (char)cp);
        else
            /* XML has no characters FFFE and FFFF. */
            buf_addf(b, "&#%u;", (unsigned)((cp & 0xfffe) == 0xfffe ? 0xfffd : cp));
    }
    buf_release(&safe);
}

static unsigned hue(const char *s, size_t n)
{
    unsigned h = 0;
    for (size_t i = 0; i < n && s[i] != ':'; i++)
        h = (h * 31 + (unsigned char)s[i]) % 360;
    return h;
}

static void still_frame(struct buf *b, const struct flame *f, uint32_t node, double x, double w)
{
    size_t n;
    const char *s = flame_text(f, node, &n);
    unsigned y = STILL_TOP + STILL_ROW * f->node[node].depth, letters = (unsigned)(w / LETTER);
    buf_addf(b,
             "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"17\" rx=\"2\" "
             "fill=\"hsl(%u,60%%,76%%)\"/>\n",
             x, y, w, hue(s, n));
    if (letters < 3)
        return;
    struct buf text;
    buf_init(&text, 0);
    text_safe(&text, s, n, letters, false);
    buf_addf(b, "<text x=\"%.1f\" y=\"%u\">", x + 3, y + 13);
    stacks_xml(b, text.data, text.len);
    buf_adds(b, "</text>\n");
    buf_release(&text);
}

void stacks_still(struct stacks_out *o, const struct flame *f, const char *title)
{
    double *left = malloc(f->nodes * sizeof *left);
    if (!left)
        abort();
    double scale = f->node[0].total ? (double)STILL_WIDTH / (double)f->node[0].total : 0;
    buf_adds(&o->b, "<g id=\"still\" font-family=\"monospace\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
                    "<text x=\"10\" y=\"20\" font-size=\"14\">");
    stacks_xml(&o->b, title, strlen(title));
    buf_adds(&o->b, "</text>\n");
    left[0] = STILL_LEFT;
    for (uint32_t i = 0; i < f->nodes; i++) {
        const struct flame_node *n = &f->node[i];
        double w = (double)n->total * scale, x = left[i];
        if (w >= 1)
            still_frame(&o->b, f, i, x, w - 0.5);
        for (uint32_t c = n->first_child; c < n->first_child + n->children; c++) {
            left[c] = x;
            x += (double)f->node[c].total * scale;
        }
        stacks_out_more(o);
    }
    buf_adds(&o->b, "</g>\n");
    free(left);
}

unsigned stacks_still_height(const struct flame *f)
{
    unsigned rows = f->depth < 60 ? f->depth + 1 : 60;
    unsigned h = STILL_TOP + STILL_ROW * rows + 120; /* room for the controls */
    return h < 500 ? 500 : h;
}
