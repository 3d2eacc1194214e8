#include <kprof/ui/node_picker.h>

#include "bar.h"
#include "prompt.h"
#include "scroll.h"
#include <kprof/base/fuzzy.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COLS_MIN = 16 };

struct node_picker {
    struct node_choices nodes;
    uint64_t now_s;
    struct prompt query;
    struct scroll at;              /* of the lines below */
    size_t line[NODE_CHOICES_MAX]; /* those that match, as indexes of nodes */
    size_t n;
    bool walking; /* the arrows were used: the selected node is kept */
    char error[128];
    struct node_choice picked;
};

/* --- the list --- */

static int score(const struct node_picker *p, const struct fuzzy *q, size_t i)
{
    const char *node = p->nodes.at[i].node;
    return fuzzy_score(q, node, strlen(node));
}

static const struct node_choice *selected(const struct node_picker *p)
{
    return p->at.sel < p->n ? &p->nodes.at[p->line[p->at.sel]] : NULL;
}

/* Selects this node again, if it is still there. */
static bool select_again(struct node_picker *p, const struct node_choice *c)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct node_choice *k = &p->nodes.at[p->line[i]];
        if (strcmp(k->node, c->node) == 0 && strcmp(k->connect, c->connect) == 0) {
            p->at.sel = i;
            return true;
        }
    }
    return false;
}

/* The best match first; equal ones in the order of the list. */
static void find(struct node_picker *p)
{
    struct fuzzy q;
    fuzzy_set(&q, p->query.text);
    p->n = 0;
    for (size_t i = 0; i < p->nodes.n; i++) {
        int s = score(p, &q, i);
        size_t at = p->n;
        if (s < 0) {
            continue;
        }
        while (at > 0 && score(p, &q, p->line[at - 1]) < s) {
            p->line[at] = p->line[at - 1];
            at--;
        }
        p->line[at] = i;
        p->n++;
    }
    p->at.sel = 0;
}

struct node_picker *node_picker_new(void)
{
    struct node_picker *p = calloc(1, sizeof *p);
    if (!p) {
        abort();
    }
    prompt_open(&p->query, "Node", "type a part of a name, or name@host", "");
    return p;
}

void node_picker_free(struct node_picker *p)
{
    if (p) {
        prompt_release(&p->query);
    }
    free(p);
}

void node_picker_set(struct node_picker *p, const struct node_choices *l, uint64_t now_s)
{
    struct node_choice kept = {.node = ""};
    if (p->walking && selected(p)) {
        kept = *selected(p);
    }
    p->nodes = *l;
    p->now_s = now_s;
    find(p);
    p->walking = select_again(p, &kept);
}

const struct node_choice *node_picker_picked(const struct node_picker *p)
{
    return &p->picked;
}

/* --- keys --- */

/* Picks the selected node, or the typed name if it is a whole name of another node. */
static enum node_picker_event pick(struct node_picker *p)
{
    prompt_trim(&p->query);
    const char *text = p->query.text;
    const struct node_choice *c = selected(p);
    bool typed = node_choice_name_ok(text);
    if (c && (p->walking || !typed || strcmp(c->node, text) == 0)) {
        p->picked = *c;
        return NODE_PICKER_PICKED;
    }
    if (typed) {
        memset(&p->picked, 0, sizeof p->picked);
        snprintf(p->picked.node, sizeof p->picked.node, "%.271s", text);
        if (select_again(p, &p->picked)) {
            p->picked = *selected(p);
        }
        return NODE_PICKER_PICKED;
    }
    snprintf(p->error, sizeof p->error, "%s",
             p->query.len ? "no node has such a name: type name@host or name@host:PORT"
                          : "no node is selected: type name@host or name@host:PORT");
    return NODE_PICKER_REDRAW;
}

static enum node_picker_event type(struct node_picker *p, enum prompt_event ev)
{
    if (ev == PROMPT_CHANGED) {
        p->walking = false;
        p->at.top = 0;
        find(p);
    }
    return ev == PROMPT_NOTHING ? NODE_PICKER_NOTHING : NODE_PICKER_REDRAW;
}

enum node_picker_event node_picker_key(struct node_picker *p, int key)
{
    p->error[0] = 0;
    if (key & KEY_PASTED_) {
        return type(p, prompt_paste(&p->query, key & ~KEY_PASTED_));
    }
    enum action act = keys_find(CTX_NODES, key);
    switch (act) {
    case ACT_CANCEL:
        return NODE_PICKER_QUIT;
    case ACT_RELOAD:
        return NODE_PICKER_RELOAD;
    case ACT_ACCEPT:
        return pick(p);
    default:
        break;
    }
    if (scroll_key(&p->at, act, p->n)) {
        p->walking = true;
        return NODE_PICKER_REDRAW;
    }
    return key == KEY_RESIZE_ ? NODE_PICKER_REDRAW : type(p, prompt_key(&p->query, key));
}

enum node_picker_event node_picker_mouse(struct node_picker *p, const struct mouse *m)
{
    size_t line = scroll_line_at(&p->at, m->row);
    if (m->kind == MOUSE_WHEEL_UP || m->kind == MOUSE_WHEEL_DOWN) {
        return node_picker_key(p, m->kind == MOUSE_WHEEL_UP ? KEY_UP_ : KEY_DOWN_);
    }
    if (line >= p->n) {
        return NODE_PICKER_NOTHING;
    }
    p->at.sel = line;
    p->walking = true;
    return m->kind == MOUSE_DOUBLE ? pick(p) : NODE_PICKER_REDRAW;
}

/* --- drawing --- */

static int name_cols(const struct node_picker *p, int cols)
{
    int most = NAME_COLS_MIN, limit = cols * 2 / 3;
    for (size_t i = 0; i < p->n; i++) {
        const char *node = p->nodes.at[p->line[i]].node;
        int n = (int)text_width(node, strlen(node));
        most = n > most ? n : most;
    }
    return most < limit ? most : limit;
}

static void draw_note(const struct node_picker *p, struct canvas *c, int row, int col,
                      const struct node_choice *k)
{
    char note[NODE_NOTE_BYTES];
    node_choice_note(k, p->now_s, note);
    canvas_text(c, row, col, c->cols - col, STYLE_DIM, note);
}

static void draw_lines(struct node_picker *p, struct canvas *c, int row, int rows)
{
    int names = name_cols(p, c->cols);
    struct fuzzy q;
    fuzzy_set(&q, p->query.text);
    scroll_fit(&p->at, p->n, rows > 0 ? (size_t)rows : 0);
    p->at.row = row;
    for (int i = 0; i < rows && p->at.top + (size_t)i < p->n; i++) {
        size_t line = p->at.top + (size_t)i;
        const struct node_choice *k = &p->nodes.at[p->line[line]];
        canvas_name(c, row + i, 0, names, STYLE_NORMAL, k->node);
        draw_note(p, c, row + i, names + 2, k);
        if (line == p->at.sel) {
            canvas_style(c, row + i, 0, c->cols, STYLE_SELECT);
        }
    }
}

/* What the list says when it is empty, or why a name was not taken. */
static void draw_says(const struct node_picker *p, struct canvas *c, int row)
{
    const char *text = p->error;
    if (!text[0] && p->nodes.n == 0) {
        text = p->nodes.epmd ? "no node runs here, none was used before"
                             : "no epmd here, no node was used before";
    } else if (!text[0] && p->n == 0) {
        text = node_choice_name_ok(p->query.text) ? "Enter attaches to the typed name"
                                                  : "no node of the list has this in its name";
    }
    canvas_text(c, row, 0, c->cols, p->error[0] ? STYLE_BAD : STYLE_WARN, text);
}

void node_picker_draw(struct node_picker *p, struct canvas *c)
{
    char count[48];
    int row = 0, end = c->rows;
    canvas_clear(c);
    c->cursor_row = -1;
    if (c->rows >= 5) {
        canvas_fill(c, row, 0, c->cols, STYLE_HEAD, ' ');
        canvas_text(c, row, 0, c->cols, STYLE_HEAD, "kprof-top: choose a node");
        snprintf(count, sizeof count, "%zu/%zu", p->n, p->nodes.n);
        canvas_right(c, row++, 26, c->cols - 26, STYLE_HEAD, count);
    }
    int query_row = row++;
    if (c->rows >= 3) {
        bar_draw(c, --end, &(struct bar){.context = CTX_NODES});
    }
    if (c->rows >= 4) {
        draw_says(p, c, --end);
    }
    draw_lines(p, c, row, end > row ? end - row : 0);
    prompt_draw(&p->query, c, query_row);
}
