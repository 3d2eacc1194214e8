#include "argument_picker.h"
#include "rule.h"
#include "shared.h"

#include <stdio.h>
#include <string.h>

#define WIDE_COLS 72 /* from this width on, the preview is beside the tree, else below */

static const struct value_tree *set_of(const struct argument_picker_state *t)
{
    return t->got.set;
}

static uint32_t node_of(const struct argument_picker_state *t)
{
    return set_of(t)->call[t->call] + (uint32_t)t->at.sel;
}

/* How the selected part names requests. RULE_WHOLE if it has no shape: a click may have selected
 * such a part. */
static uint32_t how_of(const struct argument_picker_state *t)
{
    bool fits = t->how < RULE_PATH || rule_has_shape(&set_of(t)->node[node_of(t)]);
    return fits ? t->how : RULE_WHOLE;
}

static uint32_t call_nodes(const struct argument_picker_state *t)
{
    return value_tree_call_end(set_of(t), t->call) - set_of(t)->call[t->call];
}

void argument_picker_set(struct argument_picker_state *t, struct capture *c)
{
    value_tree_free(t->got.set);
    t->got = *c;
    c->set = NULL;
    t->call = t->how = 0;
    t->at = (struct scroll){0};
}

void argument_picker_release(struct argument_picker_state *t)
{
    value_tree_free(t->got.set);
}

/* Begins to capture calls of the tier. */
static void open_screen(void *own, const struct screen_request *r, struct intent *out)
{
    struct argument_picker_state *t = own;
    value_tree_free(t->got.set);
    *t = (struct argument_picker_state){.tier = r->tier, .got.state = CAPTURE_RUNNING};
    *out = (struct intent){.kind = INTENT_CAPTURE, .tier = r->tier};
}

/* --- the tree --- */

static void label(const struct value_tree *s, const struct value_tree_node *n, char *out,
                  size_t cap)
{
    switch (n->step) {
    case VALUE_TREE_ARG:
        snprintf(out, cap, "arg %u", n->nth);
        break;
    case VALUE_TREE_ELEMENT:
    case VALUE_TREE_NTH:
        snprintf(out, cap, "%u", n->nth);
        break;
    case VALUE_TREE_KEY:
    case VALUE_TREE_LONG_KEY:
        snprintf(out, cap, "%.60s =>", value_tree_str(s, n->key));
        break;
    }
}

static const char *inner_name(enum value_tree_kind k)
{
    return k == VALUE_TREE_TUPLE ? "tuple" : k == VALUE_TREE_LIST ? "list" : "map";
}

static void value_text(const struct value_tree *s, const struct value_tree_node *n, char *out,
                       size_t cap)
{
    const char *text = value_tree_str(s, n->text);

    switch (n->kind) {
    case VALUE_TREE_TUPLE:
    case VALUE_TREE_LIST:
    case VALUE_TREE_MAP:
        if (n->parts < n->size)
            snprintf(out, cap, "%s of %llu (%u shown)", inner_name(n->kind),
                     (unsigned long long)n->size, n->parts);
        else
            snprintf(out, cap, "%s of %u", inner_name(n->kind), n->parts);
        break;
    case VALUE_TREE_PROCESS:
        snprintf(out, cap, "%s  %s", text, value_tree_str(s, n->other_name));
        break;
    case VALUE_TREE_BINARY:
    case VALUE_TREE_STRING:
    case VALUE_TREE_VALUE:
        snprintf(out, cap, "%s", text);
        break;
    }
}

static void draw_node(struct canvas *c, int row, struct rect a, const struct value_tree *s,
                      uint32_t i, bool selected)
{
    const struct value_tree_node *n = &s->node[i];
    char text[400];
    int indent = (int)n->depth * 2, most = a.cols / 2;
    int col = a.col + 1 + (indent < most ? indent : most), end = a.col + a.cols;

    label(s, n, text, sizeof text);
    col += canvas_text(c, row, col, end - col, STYLE_DIM, text) + 1;
    value_text(s, n, text, sizeof text);
    canvas_text(c, row, col, end - col, n->text.len ? STYLE_NORMAL : STYLE_DIM, text);
    if (selected)
        canvas_style(c, row, a.col, a.cols, STYLE_SELECT);
}

static void draw_tree(struct argument_picker_state *t, struct canvas *c, struct rect a)
{
    const struct value_tree *s = set_of(t);
    uint32_t first = s->call[t->call], n = call_nodes(t);

    scroll_fit(&t->at, n, (size_t)a.rows);
    t->at.row = a.row;
    for (int i = 0; i < a.rows && t->at.top + (size_t)i < n; i++) {
        size_t at = t->at.top + (size_t)i;
        draw_node(c, a.row + i, a, s, first + (uint32_t)at, at == t->at.sel);
    }
}

/* --- the preview --- */

static enum style name_style(const struct rule_names *names, const struct rule_name *n)
{
    if (!n->known || strcmp(n->name, "undefined") == 0)
        return STYLE_DIM;
    return names->mine.known && strcmp(n->name, names->mine.name) == 0 ? STYLE_GOOD : STYLE_NORMAL;
}

static const char *shown(const struct rule_name *n)
{
    return n->known ? snapshot_name(n->name) : "(shortened here; the node uses the full value)";
}

static void draw_names(struct canvas *c, struct rect a, const struct rule_names *names)
{
    int most = (int)names->n <= a.rows ? (int)names->n : a.rows - 1;

    for (int i = 0; i < most; i++) {
        const struct rule_name *n = &names->of[i];
        canvas_textf(c, a.row + i, a.col, 5, STYLE_NORMAL, "%4u", n->count);
        canvas_text(c, a.row + i, a.col + 5, a.cols - 5, name_style(names, n), shown(n));
    }
    if (most >= 0 && most < (int)names->n && a.rows > 0)
        canvas_textf(c, a.row + most, a.col + 5, a.cols - 5, STYLE_DIM, "and %d more",
                     (int)names->n - most);
}

/* "create 12, read 6, undefined 2" */
static void names_line(const struct rule_names *names, char *out, size_t cap)
{
    size_t at = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < names->n && at < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%.100s %u", i ? ", " : "",
                               shown(&names->of[i]), names->of[i].count);
}

static void draw_preview(struct argument_picker_state *t, struct canvas *c, struct rect a,
                         bool tall)
{
    const struct value_tree *s = set_of(t);
    struct rule_names names;
    struct buf rule;
    char line[800];

    buf_init(&rule, 0);
    const char *why = rule_write(s, node_of(t), how_of(t), t->got.function, &rule);
    rule_names(s, node_of(t), how_of(t), &names);
    struct rect r = a;
    if (tall) {
        canvas_text(c, r.row, r.col, r.cols, STYLE_HEAD, "RULE");
        r.row++;
        r.rows--;
    }
    int keep = tall ? 4 : 1, room = r.rows > keep ? r.rows - keep : r.rows;
    int used = canvas_wrap(c, r.row, r.col, room, r.cols, why ? STYLE_WARN : STYLE_BOLD,
                           why ? why : rule.data);
    r.row += used;
    r.rows -= used;
    buf_release(&rule);
    if (why || r.rows < 1)
        return;
    if (!tall) {
        names_line(&names, line, sizeof line);
        canvas_wrap(c, r.row, r.col, r.rows, r.cols, STYLE_NORMAL, line);
        return;
    }
    canvas_textf(c, r.row + 1, r.col, r.cols, STYLE_HEAD, "NAMES of these %u calls", s->calls);
    bool many = names.n >= 8 && names.n * 4 >= s->calls * 3;
    struct rect list = {r.row + 2, r.col, r.rows - 2 - 3 * many, r.cols};
    if (list.rows > 0)
        draw_names(c, list, &names);
    if (many && list.rows > 0)
        canvas_wrap(c, r.row + r.rows - 2, r.col, 2, r.cols, STYLE_WARN,
                    rule_prefix_most(&s->node[node_of(t)])
                        ? "Almost every call has its own name: use a prefix (<) or another part."
                        : "Almost every call has its own name: choose a part that repeats.");
}

/* --- the screen --- */

static void draw_state(const struct argument_picker_state *t, struct canvas *c, struct rect a)
{
    const struct capture *g = &t->got;
    char text[700];

    if (g->state == CAPTURE_FAILED)
        snprintf(text, sizeof text, "%s: %s", g->function[0] ? g->function : "this tier", g->why);
    else
        snprintf(text, sizeof text,
                 "capturing the arguments of %s: %llu of %d calls (at most 5 s; Esc cancels)",
                 g->function[0] ? g->function : "the selected tier", (unsigned long long)g->kept,
                 VALUE_TREE_CALLS);
    canvas_wrap(c, a.row, a.col, a.rows, a.cols,
                g->state == CAPTURE_FAILED ? STYLE_WARN : STYLE_NORMAL, text);
}

/* Shows how long the capture took, so that the operator can decide whether to repeat it. */
static void draw_head(const struct argument_picker_state *t, struct canvas *c, struct rect a)
{
    const struct capture *g = &t->got;
    char cost[300];

    canvas_fill(c, a.row, a.col, a.cols, STYLE_HEAD, ' ');
    int col = canvas_text(c, a.row, a.col, a.cols, STYLE_HEAD, "ARGUMENT PICKER") + 2;
    if (!g->set)
        return;
    canvas_textf(c, a.row, col, a.cols - col, STYLE_HEAD, "call %u of %u of %s", t->call + 1,
                 g->set->calls, g->function);
    snprintf(cost, sizeof cost,
             "%llu of %llu calls captured in %.1f s%s; at most 4 KB of each argument sent",
             (unsigned long long)g->kept, (unsigned long long)g->seen, (double)g->elapsed_us / 1e6,
             g->paused ? " (tracing paused)" : "");
    canvas_text(c, a.row + 1, a.col, a.cols, STYLE_DIM, cost);
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct argument_picker_state *t = own;
    (void)sh;
    (void)s;
    draw_head(t, c, a);
    struct rect body = {a.row + 2, a.col, a.rows - 2, a.cols};
    if (body.rows < 1)
        return;
    if (!set_of(t)) {
        draw_state(t, c, body);
        return;
    }
    struct rect tree = body, side = body;
    bool wide = body.cols >= WIDE_COLS;
    if (wide) {
        tree.cols = body.cols * 11 / 20;
        side.col += tree.cols + 2;
        side.cols -= tree.cols + 2;
    } else {
        side.rows = body.rows > 12 ? 6 : body.rows / 2;
        tree.rows -= side.rows;
        side.row += tree.rows;
    }
    draw_tree(t, c, tree);
    if (side.rows > 0)
        draw_preview(t, c, side, wide);
}

/* --- keys --- */

static void to_call(struct argument_picker_state *t, int step)
{
    const struct value_tree *s = set_of(t);
    uint32_t to = (t->call + s->calls + (uint32_t)step) % s->calls;
    bool cut;
    uint32_t alike = value_tree_alike(s, node_of(t), to, &cut);

    t->call = to;
    t->at.sel = alike == VALUE_TREE_NONE ? 0 : alike - s->call[to];
    bool fits = t->how >= RULE_PATH || t->how <= rule_prefix_most(&s->node[node_of(t)]);
    if (alike == VALUE_TREE_NONE || !fits)
        t->how = RULE_WHOLE;
}

static void shift_prefix(struct argument_picker_state *t, struct message *m, enum action act)
{
    const struct value_tree *s = set_of(t);
    uint32_t most = rule_prefix_most(&s->node[node_of(t)]), *p = &t->how;

    if (*p > most)
        *p = RULE_WHOLE;
    if (act == ACT_SHORTER || act == ACT_LONGER)
        *p = rule_prefix_step(s, node_of(t), *p, act == ACT_LONGER ? 1 : -1);
    else if (act == ACT_LESS)
        *p = *p == 0 ? most : *p > 1 ? *p - 1 : 1;
    else
        *p = *p == 0 || *p >= most ? 0 : *p + 1;
    if (!most)
        message_set(m, "a prefix needs a text of two or more characters", true);
}

static void next_shape(struct argument_picker_state *t, struct message *m)
{
    uint32_t now = how_of(t);

    if (!rule_has_shape(&set_of(t)->node[node_of(t)]))
        message_set(m, "only a binary or a string has a shape", true);
    else
        t->how = now == RULE_PATH ? RULE_SHAPE : now == RULE_SHAPE ? RULE_WHOLE : RULE_PATH;
}

static void accept(struct argument_picker_state *t, struct ui_shared *sh, bool as_text,
                   struct screen_reply *out)
{
    struct buf rule;

    buf_init(&rule, 0);
    const char *why = rule_write(set_of(t), node_of(t), how_of(t), t->got.function, &rule);
    _Static_assert(sizeof out->intent.text > RULE_BYTES, "a rule fits");
    if (why) {
        message_set(&sh->message, why, true);
    } else if (as_text) {
        dialog_prompt(&sh->dialog, PROMPT_IDENTITY, rule.data);
    } else {
        rule_edit_draft(&sh->rule, rule.data);
        out->intent.kind = INTENT_IDENTITY;
        memcpy(out->intent.text, rule.data, rule.len + 1);
        out->open.to = SCREEN_MAIN;
    }
    buf_release(&rule);
}

static bool in_tree(struct argument_picker_state *t, struct ui_shared *sh, enum action act,
                    struct screen_reply *out)
{
    size_t before = t->at.sel;

    switch (act) {
    case ACT_NEXT:
        to_call(t, 1);
        return true;
    case ACT_PREVIOUS:
        to_call(t, -1);
        return true;
    case ACT_SHORTER:
    case ACT_LONGER:
    case ACT_LESS:
    case ACT_MORE:
        shift_prefix(t, &sh->message, act);
        return true;
    case ACT_SHAPE:
        next_shape(t, &sh->message);
        return true;
    case ACT_OPEN:
    case ACT_IDENTITY:
        accept(t, sh, act == ACT_IDENTITY, out);
        return true;
    case ACT_LEFT: {
        uint32_t up = value_tree_parent(set_of(t), node_of(t));
        if (up != VALUE_TREE_NONE)
            t->at.sel = up - set_of(t)->call[t->call];
        break;
    }
    case ACT_RIGHT:
        t->at.sel += set_of(t)->node[node_of(t)].parts > 0;
        break;
    default:
        if (!scroll_key(&t->at, act, call_nodes(t)))
            return false;
    }
    if (t->at.sel != before)
        t->how = rule_suggest(set_of(t), node_of(t));
    return true;
}

/* The reason why a key of the tree has changed nothing. Moving to another line gives its own
 * message. */
static const char *why_same(enum action act)
{
    switch (act) {
    case ACT_NEXT:
    case ACT_PREVIOUS:
        return "there is no other captured call";
    case ACT_LEFT:
        return "there is no enclosing value";
    case ACT_RIGHT:
        return "this value has no parts";
    case ACT_SHORTER:
    case ACT_LESS:
        return "the prefix cannot be shorter";
    case ACT_LONGER:
    case ACT_MORE:
        return "this is already the whole text";
    default:
        return NULL;
    }
}

static bool on_tree(struct argument_picker_state *t, struct ui_shared *sh, enum action act,
                    struct screen_reply *out)
{
    const char *why = why_same(act);
    if (!set_of(t)) {
        if (act != ACT_NONE && act != ACT_HELP)
            message_set(&sh->message, "there is no captured call to choose from", true);
        return act != ACT_NONE && act != ACT_HELP;
    }
    size_t sel = t->at.sel;
    uint32_t call = t->call, how = t->how;
    bool taken = in_tree(t, sh, act, out);
    bool same = t->at.sel == sel && t->call == call && t->how == how;
    if (taken && same && why && !sh->message.text[0])
        message_set(&sh->message, why, true);
    return taken;
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct argument_picker_state *t = own;
    (void)key;
    (void)s;
    if (act == ACT_BACK) {
        out->open.to = SCREEN_MAIN;
        out->intent.kind = t->got.state == CAPTURE_RUNNING ? INTENT_CAPTURE_END : INTENT_REDRAW;
        return true;
    }
    if (act == ACT_AGAIN) {
        out->open = (struct screen_request){.to = SCREEN_ARGUMENTS, .tier = t->tier};
        return true;
    }
    return on_tree(t, sh, act, out);
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)sh;
    return &((struct argument_picker_state *)own)->at;
}

const struct screen_ops screen_argument_picker = {
    .name = "arguments",
    .context = CTX_ARGUMENTS,
    .whole = true,
    .open = open_screen,
    .draw = draw,
    .on_key = on_key,
    .list = list,
};
