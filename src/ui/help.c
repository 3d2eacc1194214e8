#include "help.h"
#include "columns.h"
#include "header_help.h"
#include "internals.h"
#include "shared.h"

#include <assert.h>
#include <ctype.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <string.h>

/* From this width on, two columns. */
enum { WIDE_COLS = 116, ENTRIES = 384, LEFT_LEAST = 8 };

/* --- the page: entries, in their order --- */

struct entry {
    const char *left, *right; /* right NULL: a heading; left "" as well: an empty line */
    int indent;               /* column where the right part begins */
};

struct page {
    struct entry of[ENTRIES];
    size_t n;
};

static void add(struct page *p, const char *left, const char *right)
{
    assert(p->n < ENTRIES);
    p->of[p->n++] = (struct entry){.left = left, .right = right};
}

/* The right parts of a section are in one column; an empty line follows. */
static void end_section(struct page *p)
{
    size_t first = p->n, widest = LEFT_LEAST;
    while (first > 0 && p->of[first - 1].right) {
        size_t n = strlen(p->of[--first].left);
        widest = n > widest ? n : widest;
    }
    for (size_t i = first; i < p->n; i++) {
        p->of[i].indent = (int)widest + 3;
    }
    add(p, "", NULL);
}

static void add_keys(struct page *p)
{
    size_t n, n_groups;
    const struct key_def *k = keys_all(&n);
    const char *const *groups = keys_groups(&n_groups);
    for (size_t g = 0; g < n_groups; g++) {
        add(p, groups[g], NULL);
        for (size_t i = 0; i < n; i++) {
            if (k[i].help && strcmp(k[i].group, groups[g]) == 0) {
                add(p, k[i].shown, k[i].help);
            }
        }
        end_section(p);
    }
}

static void add_tables(struct page *p)
{
    size_t n;
    const struct header_label *l = header_labels(&n);
    add(p, "Columns (columns that do not fit are hidden, except the sort column)", NULL);
    for (size_t i = 0; i < columns_n(); i++) {
        add(p, column_at(i)->title, column_at(i)->help);
    }
    end_section(p);
    add(p, "Header", NULL);
    for (size_t i = 0; i < n; i++) {
        add(p, l[i].label, l[i].help);
    }
    end_section(p);
}

/* Labels and meanings are constant; the values are not used. */
static void add_internals(struct page *p)
{
    static const struct snapshot none;
    struct internal list[INTERNALS_MAX];
    size_t n = internals_list(&none, list);
    add(p, "Internals (#; the header shows those that indicate a problem)", NULL);
    for (size_t i = 0; i < n; i++) {
        if (list[i].meaning) {
            add(p, list[i].label, list[i].meaning);
        }
    }
    end_section(p);
}

static void add_words(struct page *p)
{
    static const char *const words[][2] = {
        {"tier", "a function whose calls are timed: one layer of the system"},
        {"entry", "the tier that starts a request"},
        {"request", "everything from a call of the entry to its return, in any process"},
        {"identity", "the name of the kind of request, e.g. create or GET /users"},
        {"(no name)", "requests to which the identity rule gives no name"},
        {"(other)", "requests whose name has no row, because all names are in use"},
        {"_total", "whole requests, from entry call to entry return"},
        {"!", "this slow call ended in an exception"},
        {"~12", "an estimate from the sampled calls (COUNT)"},
        {"P99~", "the value over the last minute, one column per second"},
        {"~, grey", "the value covers only the traced part of the window"},
        {"parts", "run, run queue, gc, dirty, port, wait, mailbox, unknown: r q g d p w m ?"},
        {"bold", "the slowest tier and the slowest identity of a column"},
    };
    add(p, "Words", NULL);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        add(p, words[i][0], words[i][1]);
    }
    end_section(p);
}

static void add_vm_events(struct page *p)
{
    static const char letters[VM_EVENT_COUNT][2] = {"G", "S", "P", "Q", "H", "L", "R", "B", "/"};
    add(p, "VM events (line VM of heat map and waterfall; G S P Q H: OTP 28 and later)", NULL);
    for (int k = 0; k < VM_EVENT_COUNT; k++) {
        assert(letters[k][0] == vm_event_letter((enum vm_event_kind)k));
        add(p, letters[k], vm_event_meaning((enum vm_event_kind)k));
    }
    end_section(p);
}

static void make(struct page *p)
{
    p->n = 0;
    add(p, "kprof-top: how long each layer takes, for each kind of request", NULL);
    add(p, "", NULL);
    add_keys(p);
    add_tables(p);
    add_internals(p);
    add_vm_events(p);
    add_words(p);
}

/* --- lines: an entry may take several --- */

/* Bytes of the first line of an ASCII text, wrapped at `cols`. */
static size_t line_bytes(const char *s, int cols)
{
    size_t n = strlen(s), most = cols > 1 ? (size_t)cols : 1;
    if (n <= most) {
        return n;
    }
    for (size_t i = most; i > 0; i--) {
        if (s[i] == ' ') {
            return i;
        }
    }
    return most;
}

static int right_cols(const struct entry *e, int cols)
{
    return cols - e->indent > 8 ? cols - e->indent : 8;
}

static size_t lines_of(const struct entry *e, int cols)
{
    size_t lines = 1;
    const char *s = e->right ? e->right : e->left;
    for (size_t n; s[n = line_bytes(s, right_cols(e, cols))]; lines++) {
        s += n + (s[n] == ' ');
    }
    return lines;
}

/* The line where an entry begins; p->n: how many lines there are. */
static size_t line_at(const struct page *p, size_t entry, int cols)
{
    size_t line = 0;
    for (size_t i = 0; i < entry && i < p->n; i++) {
        line += lines_of(&p->of[i], cols);
    }
    return line;
}

static size_t entry_at(const struct page *p, size_t line, int cols)
{
    size_t i = 0, at = 0;
    while (i + 1 < p->n && (at += lines_of(&p->of[i], cols)) <= line) {
        i++;
    }
    return i;
}

/* --- drawing --- */

/* The position at which a line is drawn; false: it is not in sight. */
static bool place(const struct scroll *at, struct rect a, int cols, size_t line, int *row, int *col)
{
    if (line < at->sel || line - at->sel >= at->page || a.rows < 1) {
        return false;
    }
    size_t nth = line - at->sel;
    *row = a.row + (int)(nth % (size_t)a.rows);
    *col = a.col + (int)(nth / (size_t)a.rows) * (cols + 2);
    return true;
}

static void draw_heading(const struct help_state *t, struct canvas *c, struct rect a, int cols,
                         const char *text, size_t line)
{
    int row, col;
    char upper[100];
    size_t n = strcspn(text, ":(");
    snprintf(upper, sizeof upper, "%s", text);
    for (size_t i = 0; i < n && upper[i] && text[n] != ':'; i++) {
        upper[i] = (char)toupper((unsigned char)upper[i]);
    }
    const char *s = upper;
    for (bool first = true; first || *s; first = false, line++) {
        n = line_bytes(s, cols);
        if (place(&t->at, a, cols, line, &row, &col)) {
            canvas_textf(c, row, col, cols, STYLE_BOLD, "%.*s", (int)n, s);
        }
        s += n + (s[n] == ' ');
    }
}

static void draw_entry(const struct help_state *t, struct canvas *c, struct rect a, int cols,
                       const struct entry *e, size_t line, bool found)
{
    int row, col;
    const char *s = e->right;
    if (!s) {
        draw_heading(t, c, a, cols, e->left, line);
        return;
    }
    for (bool first = true; first || *s; first = false, line++) {
        size_t n = line_bytes(s, right_cols(e, cols));
        if (place(&t->at, a, cols, line, &row, &col)) {
            canvas_text(c, row, col + 2, e->indent - 3, STYLE_KEY, first ? e->left : "");
            canvas_textf(c, row, col + e->indent, cols - e->indent, STYLE_NORMAL, "%.*s", (int)n,
                         s);
            if (found) {
                canvas_style(c, row, col, cols, STYLE_SELECT);
            }
        }
        s += n + (s[n] == ' ');
    }
}

/* Scrolls to the entry that must be shown: to the top, or until it is in sight. */
static void scroll_to(struct help_state *t, const struct page *p, int cols)
{
    if (!t->show) {
        return;
    }
    size_t line = line_at(p, t->show - 1, cols);
    bool in_sight = line >= t->at.sel && line - t->at.sel < t->at.page;
    if (t->on_top || !in_sight) {
        t->at.sel = line;
    }
    t->show = 0;
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct help_state *t = own;
    struct page p;
    int n = a.cols >= WIDE_COLS ? 2 : 1, cols = n > 1 ? (a.cols - 2) / 2 : a.cols;
    (void)sh;
    (void)s;
    make(&p);
    t->at.page = (size_t)(n * a.rows);
    t->cols = cols;
    scroll_to(t, &p, cols);
    size_t last = line_at(&p, p.n - 1, cols);
    t->at.sel = t->at.sel < last ? t->at.sel : last;
    for (size_t i = 0, line = 0; i < p.n; line += lines_of(&p.of[i++], cols)) {
        draw_entry(t, c, a, cols, &p.of[i], line, t->found == i + 1);
    }
}

/* --- search --- */

static bool matches(const struct entry *e, const char *text)
{
    return text_contains(e->left, text) || (e->right && text_contains(e->right, text));
}

/* The next match from an entry on; wraps around. */
static bool search(struct help_state *t, const struct page *p, size_t from, bool back)
{
    t->found = 0;
    for (size_t i = 0; t->find[0] && i < p->n; i++) {
        size_t at = (back ? from + 2 * p->n - i : from + i) % p->n;
        if (matches(&p->of[at], t->find)) {
            t->found = t->show = at + 1;
            t->on_top = false;
            return true;
        }
    }
    return false;
}

void help_find(struct help_state *t, const char *text)
{
    struct page p;
    make(&p);
    snprintf(t->find, sizeof t->find, "%s", text);
    search(t, &p, t->begin, false);
}

static void begin_search(struct help_state *t)
{
    struct page p;
    make(&p);
    t->begin = entry_at(&p, t->at.sel, t->cols);
}

static void search_on(struct help_state *t, struct message *m, bool back)
{
    struct page p;
    char text[120];
    make(&p);
    size_t here = t->found ? t->found - 1 : entry_at(&p, t->at.sel, t->cols);
    size_t from = !t->found ? here : back ? here + p.n - 1 : here + 1;
    if (!t->find[0]) {
        message_set(m, "search first: /", true);
    } else if (!search(t, &p, from, back)) {
        snprintf(text, sizeof text, "nothing here contains \"%s\"", t->find);
        message_set(m, text, true);
    } else if (t->found == here + 1) {
        message_set(m, "there is no other place with this text", false);
    }
}

/* --- keys --- */

/* How many keys of the group only this screen has. */
static unsigned own_keys(const char *group, unsigned context)
{
    size_t n;
    unsigned own = 0;
    const struct key_def *k = keys_all(&n);
    for (size_t i = 0; i < n; i++) {
        own += k[i].help && k[i].contexts == context && strcmp(k[i].group, group) == 0;
    }
    return own;
}

/* The group with most of the screen's own keys; without such keys, that of its first key. A screen
 * that only has keys of the table: NULL, the page begins with them. */
static const char *group_of(unsigned context)
{
    size_t n;
    unsigned most = 0;
    const char *first = NULL, *group = NULL;
    const struct key_def *k = keys_all(&n);
    for (size_t i = 0; i < n && !(context & CTX_TABLE); i++) {
        if (!k[i].help || !(k[i].contexts & context) || k[i].contexts & CTX_TABLE) {
            continue;
        }
        unsigned own = own_keys(k[i].group, context);
        first = first ? first : k[i].group;
        group = own > most ? k[i].group : group;
        most = own > most ? own : most;
    }
    return group ? group : first;
}

void help_of(struct help_state *t, enum screen_id from, unsigned context)
{
    struct page p;
    const char *group = group_of(context);
    make(&p);
    *t = (struct help_state){.from = from, .show = 1, .on_top = true};
    for (size_t i = 0; group && i < p.n; i++) {
        if (p.of[i].left == group) {
            t->show = i + 1;
        }
    }
}

static void move(struct help_state *t, struct message *m, enum action act)
{
    struct page p;
    make(&p);
    size_t n = line_at(&p, p.n, t->cols), page = t->at.page, before = t->at.sel;
    size_t most = n > page ? n - page : 0;
    /* help may have opened below the last full page */
    bool beyond = before > most && (act == ACT_DOWN || act == ACT_PGDN);
    if (!beyond) {
        scroll_key(&t->at, act, most + 1);
    }
    if (t->at.sel == before) {
        message_set(m, before && act != ACT_UP ? "this is the end" : "this is the beginning",
                    false);
    }
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct help_state *t = own;
    (void)s;
    (void)out;
    switch (act) {
    case ACT_FILTER:
        begin_search(t);
        dialog_propose(&sh->dialog, PROMPT_HELP_FIND, t->find);
        return true;
    case ACT_NEXT:
    case ACT_PREVIOUS:
        search_on(t, &sh->message, act == ACT_PREVIOUS);
        return true;
    case ACT_BACK:
        if (key != 27 || !t->find[0]) {
            return false;
        }
        t->find[0] = 0;
        t->found = 0;
        return true;
    case ACT_UP:
    case ACT_DOWN:
    case ACT_PGUP:
    case ACT_PGDN:
    case ACT_HOME:
    case ACT_END:
        move(t, &sh->message, act);
        return true;
    default:
        return false;
    }
}

const struct screen_ops screen_help = {
    .name = "help",
    .key = '?',
    .context = CTX_HELP,
    .whole = true,
    .draw = draw,
    .on_key = on_key,
};
