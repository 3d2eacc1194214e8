/* The interactive page: the samples as numbers, and flame_page.js, which draws them. */
#include <kprof/base/json.h>
#include <kprof/base/text.h>

#include "page_blob.h"
#include "stacks_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The data are in a script in HTML or XML, so they are ASCII and cannot end the element that
 * contains them. */
static void add_script_safe(struct buf *out, const struct buf *in)
{
    for (size_t i = 0, step; i < in->len; i += step) {
        uint32_t cp;
        step = text_next(in->data + i, in->len - i, &cp);
        if (cp < 0x7f && cp != '<' && cp != '>' && cp != '&')
            buf_addch(out, (char)cp);
        else if (cp < 0x10000)
            buf_addf(out, "\\u%04x", (unsigned)cp);
        else
            buf_addf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((cp - 0x10000) >> 10)),
                     (unsigned)(0xdc00 + ((cp - 0x10000) & 0x3ff)));
    }
}

static void write_text(struct stacks_page *p, const char *s, size_t n)
{
    struct buf text, safe;
    struct json j;
    buf_init(&text, 0);
    buf_init(&safe, 0);
    text_safe(&safe, s, n, 0, false);
    json_init(&j, &text);
    json_strn(&j, safe.data, safe.len);
    add_script_safe(&p->o->b, &text);
    buf_release(&text);
    buf_release(&safe);
    stacks_out_more(p->o);
}

static void write_texts(struct stacks_page *p, const struct intern *t)
{
    buf_adds(&p->o->b, "[\"\"");
    for (uint32_t i = 1; i <= intern_count(t); i++) {
        buf_addch(&p->o->b, ',');
        write_text(p, intern_str(t, i), intern_len(t, i));
    }
    buf_addch(&p->o->b, ']');
}

static void write_nodes(struct stacks_page *p)
{
    for (int column = 0; column < 2; column++) {
        buf_adds(&p->o->b, column ? ",[0" : "[[0");
        for (uint32_t i = 1; i <= intern_count(p->nodes); i++) {
            struct stacks_node k;
            memcpy(&k, intern_str(p->nodes, i), sizeof k);
            buf_addf(&p->o->b, ",%u", (unsigned)(column ? k.name : k.parent));
            stacks_out_more(p->o);
        }
        buf_adds(&p->o->b, column ? "]]" : "]");
    }
}

static void write_dims(struct stacks_page *p)
{
    for (unsigned d = 0; d < STACKS_DIMS; d++) {
        buf_adds(&p->o->b, d ? ",{\"name\":" : "[{\"name\":");
        write_text(p, flame_group_name(stacks_dim[d]), strlen(flame_group_name(stacks_dim[d])));
        buf_adds(&p->o->b, ",\"labels\":");
        write_texts(p, p->dim[d]);
        buf_addch(&p->o->b, '}');
    }
    buf_addch(&p->o->b, ']');
}

static void write_widths(struct stacks_page *p)
{
    enum stack_unit unit = stack_profile_meta(p->profile)->unit;
    for (size_t w = 0; w < p->widths; w++) {
        struct buf name;
        buf_init(&name, 0);
        flame_width_text(&name, &p->width[w], unit);
        if (p->width[w].by == FLAME_SAMPLES && (unit == STACK_UNIT_NS || unit == STACK_UNIT_US))
            buf_adds(&name, unit == STACK_UNIT_NS ? " (ns)" : " (us)");
        buf_addch(&p->o->b, w ? ',' : '[');
        write_text(p, name.data, name.len);
        buf_release(&name);
    }
    buf_addch(&p->o->b, ']');
}

static void write_rows(struct stacks_page *p)
{
    for (uint32_t r = 1; r <= intern_count(p->rows); r++) {
        struct stacks_row k;
        memcpy(&k, intern_str(p->rows, r), sizeof k);
        buf_addf(&p->o->b, "%c%u", r > 1 ? ',' : '[', (unsigned)k.node);
        for (unsigned d = 0; d < STACKS_DIMS; d++)
            buf_addf(&p->o->b, ",%u", (unsigned)k.dim[d]);
        for (size_t w = 0; w < p->widths; w++)
            buf_addf(&p->o->b, ",%" PRIu64, p->sum[r * p->widths + w]);
        stacks_out_more(p->o);
    }
    buf_adds(&p->o->b, intern_count(p->rows) ? "]" : "[]");
}

/* The first width and group of the page: those of the query. */
static void write_first(struct stacks_page *p)
{
    const struct flame_query *q = &p->how->query;
    size_t width = 0;
    int dim = -1;
    for (size_t w = 0; w < p->widths; w++)
        if (p->width[w].by == q->by && (q->by == FLAME_SAMPLES || p->width[w].metric == q->metric))
            width = w;
    for (int d = 0; d < STACKS_DIMS; d++)
        if (stacks_dim[d] == q->group)
            dim = d;
    buf_addf(&p->o->b, ",\"width\":%zu,\"group\":%d", width, dim);
}

static const char *title_of(const struct stacks_page *p)
{
    return p->how->title ? p->how->title : "kprof-top";
}

static void write_data(struct stacks_page *p)
{
    const struct stack_profile_counts *n = stack_view_counts(p->view);
    const char *note = p->how->note ? p->how->note : "";
    char notes[600] = "";
    snprintf(notes, sizeof notes, "%.380s", note);
    if (n->dropped + n->left_out + n->cut_stacks + p->merged + intern_refused(p->nodes) > 0)
        snprintf(notes, sizeof notes,
                 "%.380s%snot shown: %" PRIu64 " older samples, %" PRIu64
                 " that did not fit; %" PRIu64 " stacks are truncated, %" PRIu64
                 " samples are in the group of all others",
                 note, *note ? "; " : "", n->dropped, n->left_out,
                 n->cut_stacks + intern_refused(p->nodes), p->merged);
    const char *title = title_of(p);
    buf_adds(&p->o->b, "const D={\"title\":");
    write_text(p, title, strlen(title));
    buf_adds(&p->o->b, ",\"notes\":");
    write_text(p, notes, strlen(notes));
    write_first(p);
    buf_adds(&p->o->b, ",\"widths\":");
    write_widths(p);
    buf_adds(&p->o->b, ",\"dims\":");
    write_dims(p);
    buf_adds(&p->o->b, ",\"names\":");
    write_texts(p, p->names);
    buf_adds(&p->o->b, ",\"nodes\":");
    write_nodes(p);
    buf_adds(&p->o->b, ",\"rows\":");
    write_rows(p);
    buf_adds(&p->o->b, "};\n");
}

static void add_style(struct stacks_page *p)
{
    buf_adds(&p->o->b, "<style>\n");
    buf_add(&p->o->b, page_flame_page_css, page_flame_page_css_bytes);
    buf_adds(&p->o->b, "</style>\n");
}

static void add_program(struct stacks_page *p)
{
    write_data(p);
    buf_add(&p->o->b, page_flame_page_js, page_flame_page_js_bytes);
}

static void write_html(struct stacks_page *p)
{
    const char *title = title_of(p);
    buf_adds(&p->o->b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    stacks_xml(&p->o->b, title, strlen(title));
    buf_adds(&p->o->b, "</title>\n");
    add_style(p);
    buf_adds(&p->o->b, "<style>html,body{margin:0;height:100%}</style></head>\n"
                       "<body><div id=\"kprof\"></div>\n<script>\n");
    add_program(p);
    buf_adds(&p->o->b, "</script></body></html>\n");
}

static void write_svg(struct stacks_page *p)
{
    struct flame *f = flame_build(p->view, &p->how->query);
    buf_addf(&p->o->b,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"%u\">\n",
             stacks_still_height(f));
    add_style(p);
    stacks_still(p->o, f, title_of(p));
    buf_adds(&p->o->b, "<foreignObject width=\"100%\" height=\"100%\">"
                       "<div xmlns=\"http://www.w3.org/1999/xhtml\" id=\"kprof\"></div>"
                       "</foreignObject>\n<script><![CDATA[\n");
    add_program(p);
    buf_adds(&p->o->b, "]]></script>\n</svg>\n");
    flame_free(f);
}

void stacks_write_page(struct stacks_out *o, const struct stack_view *v,
                       const struct stacks_options *how, bool html)
{
    struct stacks_page p = {.o = o, .view = v, .profile = stack_view_profile(v), .how = how};
    stacks_page_init(&p);
    if (html)
        write_html(&p);
    else
        write_svg(&p);
    stacks_page_release(&p);
}
