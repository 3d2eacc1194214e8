#include "prompt.h"

#include <kprof/base/text.h>
#include <kprof/ui/input.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_ROWS 10

enum { CTRL_A = 1, CTRL_E = 5, CTRL_K = 11, CTRL_U = 21, CTRL_W = 23 };

static void drop_items(struct prompt *p)
{
    for (size_t i = 0; i < p->n_items; i++) {
        free(p->items[i]);
    }
    free(p->items);
    p->items = NULL;
    p->n_items = p->sel = 0;
}

void prompt_release(struct prompt *p)
{
    drop_items(p);
}

static void set_text(struct prompt *p, const char *text)
{
    snprintf(p->text, sizeof p->text, "%s", text);
    p->len = p->caret = strlen(p->text);
}

void prompt_open(struct prompt *p, const char *title, const char *hint, const char *text)
{
    drop_items(p);
    memset(p, 0, sizeof *p);
    p->title = title;
    p->hint = hint;
    p->error_at = SIZE_MAX;
    set_text(p, text);
}

void prompt_propose(struct prompt *p)
{
    p->proposed = p->len > 0;
}

void prompt_trim(struct prompt *p)
{
    size_t from = strspn(p->text, " ");
    while (p->len > from && p->text[p->len - 1] == ' ') {
        p->len--;
    }
    memmove(p->text, p->text + from, p->len - from);
    p->len -= from;
    p->text[p->len] = 0;
    p->caret = p->caret > from ? p->caret - from : 0;
    p->caret = p->caret < p->len ? p->caret : p->len;
}

static bool is_start(const struct prompt *p, size_t i)
{
    return i >= p->len || ((unsigned char)p->text[i] & 0xc0) != 0x80;
}

static size_t before(const struct prompt *p, size_t i)
{
    do {
        i -= i > 0;
    } while (i > 0 && !is_start(p, i));
    return i;
}

static size_t after(const struct prompt *p, size_t i)
{
    do {
        i += i < p->len;
    } while (!is_start(p, i));
    return i;
}

void prompt_error(struct prompt *p, size_t at, const char *error)
{
    snprintf(p->error, sizeof p->error, "%s", error);
    p->error_at = at > p->len ? p->len : at;
    while (!is_start(p, p->error_at)) {
        p->error_at--;
    }
    p->caret = p->error_at;
}

/* --- editing --- */

static enum prompt_event cut(struct prompt *p, size_t from, size_t to)
{
    if (from >= to) {
        return PROMPT_NOTHING;
    }
    memmove(p->text + from, p->text + to, p->len - to + 1);
    p->len -= to - from;
    p->caret = from;
    return PROMPT_CHANGED;
}

static size_t encode(uint32_t cp, char *out)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    size_t n = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (cp & 0x3f));
        cp >>= 6;
    }
    out[0] = (char)((0xf00u >> n & 0xff) | cp);
    return n;
}

static enum prompt_event insert(struct prompt *p, int key)
{
    char bytes[4];
    if (key < ' ' || key > 0x10ffff || text_cp_width((uint32_t)key) < 0) {
        return PROMPT_NOTHING;
    }
    size_t n = encode((uint32_t)key, bytes);
    if (p->len + n >= sizeof p->text) {
        return PROMPT_NOTHING;
    }
    memmove(p->text + p->caret + n, p->text + p->caret, p->len - p->caret + 1);
    memcpy(p->text + p->caret, bytes, n);
    p->len += n;
    p->caret += n;
    return PROMPT_CHANGED;
}

static size_t word_start(const struct prompt *p)
{
    size_t i = p->caret;
    while (i > 0 && p->text[i - 1] == ' ') {
        i--;
    }
    while (i > 0 && p->text[i - 1] != ' ') {
        i--;
    }
    return i;
}

static enum prompt_event move_to(struct prompt *p, size_t caret)
{
    enum prompt_event ev = p->caret == caret ? PROMPT_NOTHING : PROMPT_MOVED;
    p->caret = caret;
    return ev;
}

/* --- completions --- */

void prompt_completions(struct prompt *p, const char *const *items, size_t n)
{
    drop_items(p);
    p->items = calloc(n + 1, sizeof *p->items);
    if (!p->items) {
        abort();
    }
    for (size_t i = 0; i < n; i++) {
        p->items[i] = strndup(items[i], PROMPT_BYTES - 1);
        if (!p->items[i]) {
            abort();
        }
    }
    p->n_items = p->sel = n;
}

size_t prompt_name_bytes(const char *text)
{
    size_t n = strcspn(text, "=");
    size_t colon = strcspn(text, ":(");
    return n > 0 && text[n] && n < colon ? n + 1 : 0;
}

static enum prompt_event take(struct prompt *p, const char *item, size_t n, enum prompt_event ev)
{
    char text[PROMPT_BYTES];
    size_t keep = prompt_name_bytes(p->text);
    if (keep && strncmp(item, p->text, keep) == 0) {
        keep = 0;
    }
    size_t room = sizeof text - 1 - keep;
    n = strnlen(item, n < room ? n : room);
    memcpy(text, p->text, keep);
    memcpy(text + keep, item, n);
    text[keep + n] = 0;
    set_text(p, text);
    return ev;
}

static size_t common_bytes(const struct prompt *p)
{
    size_t n = strlen(p->items[0]);
    for (size_t i = 1; i < p->n_items; i++) {
        size_t k = 0;
        while (k < n && p->items[i][k] == p->items[0][k]) {
            k++;
        }
        n = k;
    }
    while (n > 0 && ((unsigned char)p->items[0][n] & 0xc0) == 0x80) {
        n--;
    }
    return n;
}

static enum prompt_event choose(struct prompt *p, int step)
{
    if (!p->n_items) {
        return PROMPT_NOTHING;
    }
    size_t n = p->n_items;
    if (step > 0) {
        p->sel = p->sel >= n ? 0 : (p->sel + 1) % n;
    } else {
        p->sel = p->sel == 0 || p->sel >= n ? n - 1 : p->sel - 1;
    }
    return take(p, p->items[p->sel], PROMPT_BYTES, PROMPT_PICKED);
}

/* The common prefix of all completions is inserted at once; after that, Tab selects one after the
 * other. */
static enum prompt_event complete(struct prompt *p)
{
    if (!p->n_items) {
        return PROMPT_NOTHING;
    }
    size_t common = common_bytes(p);
    const char *typed = p->text + prompt_name_bytes(p->text);
    if (p->sel >= p->n_items && common > strlen(typed) &&
        strncmp(p->items[0], typed, strlen(typed)) == 0) {
        return take(p, p->items[0], common, PROMPT_CHANGED);
    }
    return choose(p, 1);
}

static enum prompt_event edit(struct prompt *p, int key)
{
    switch (key) {
    case KEY_LEFT_:
        return move_to(p, before(p, p->caret));
    case KEY_RIGHT_:
        return move_to(p, after(p, p->caret));
    case KEY_HOME_:
    case CTRL_A:
        return move_to(p, 0);
    case KEY_END_:
    case CTRL_E:
        return move_to(p, p->len);
    case KEY_BACKSPACE_:
        return cut(p, before(p, p->caret), p->caret);
    case KEY_DELETE_:
        return cut(p, p->caret, after(p, p->caret));
    case CTRL_U:
        return cut(p, 0, p->caret);
    case CTRL_K:
        return cut(p, p->caret, p->len);
    case CTRL_W:
        return cut(p, word_start(p), p->caret);
    default:
        return insert(p, key);
    }
}

/* As with selected text: a character replaces it, Backspace or Delete removes it, any other key
 * keeps it. */
static void take_proposal(struct prompt *p, int key)
{
    bool erases = key == KEY_BACKSPACE_ || key == KEY_DELETE_;
    bool types = key >= ' ' && key <= 0x10ffff && text_cp_width((uint32_t)key) >= 0;
    if (p->proposed && (types || erases)) {
        p->text[erases] = 0; /* Backspace and Delete erase one byte later, so one byte stays */
        p->len = p->caret = erases;
        p->caret -= key == KEY_DELETE_;
    }
    p->proposed = false;
}

static void changed(struct prompt *p)
{
    p->error[0] = 0;
    p->error_at = SIZE_MAX;
    p->sel = p->n_items;
}

enum prompt_event prompt_paste(struct prompt *p, int cp)
{
    if (cp == '\n' || cp == '\r' || cp == '\t') {
        p->pasted_break = p->caret > 0 && !p->proposed;
        return PROMPT_NOTHING;
    }
    take_proposal(p, cp);
    if (p->pasted_break) {
        insert(p, ' ');
    }
    p->pasted_break = false;
    enum prompt_event ev = insert(p, cp);
    if (ev == PROMPT_CHANGED) {
        changed(p);
    }
    return ev;
}

enum prompt_event prompt_key(struct prompt *p, int key)
{
    enum prompt_event ev;
    p->pasted_break = false;
    take_proposal(p, key);
    switch (key) {
    case 27:
        return PROMPT_CANCELLED;
    case '\n':
    case '\r':
        return PROMPT_DONE;
    case '\t':
        ev = complete(p);
        break;
    case KEY_DOWN_:
        ev = choose(p, 1);
        break;
    case KEY_UP_:
    case KEY_BTAB_:
        ev = choose(p, -1);
        break;
    default:
        ev = edit(p, key);
    }
    if (ev == PROMPT_CHANGED) {
        changed(p);
    }
    return ev;
}

/* --- drawing --- */

static void draw_list(const struct prompt *p, struct canvas *c, int row)
{
    size_t shown = p->n_items < LIST_ROWS ? p->n_items : LIST_ROWS;
    size_t room = row > 1 ? (size_t)row - 1 : 0;
    shown = shown < room ? shown : room;
    size_t top = p->sel < p->n_items && p->sel >= shown ? p->sel - shown + 1 : 0;
    size_t widest = 16;
    for (size_t i = 0; i < shown; i++) {
        size_t w = text_width(p->items[top + i], strlen(p->items[top + i]));
        widest = w > widest ? w : widest;
    }
    int cols = widest + 2 < (size_t)c->cols ? (int)widest + 2 : c->cols;
    for (size_t i = 0; i < shown; i++) {
        enum style st = top + i == p->sel ? STYLE_SELECT : STYLE_HEAD;
        int at = row - (int)shown + (int)i;
        canvas_fill(c, at, 0, cols, st, ' ');
        canvas_text(c, at, 1, cols - 1, st, p->items[top + i]);
    }
    if (shown && p->n_items > shown) {
        canvas_textf(c, row - 1, cols + 1, c->cols - cols - 1, STYLE_DIM, "%zu of %zu",
                     p->sel < p->n_items ? p->sel + 1 : shown, p->n_items);
    }
}

void prompt_draw(const struct prompt *p, struct canvas *c, int row)
{
    canvas_fill(c, row, 0, c->cols, STYLE_NORMAL, ' ');
    if (p->error[0] && row > 0) {
        canvas_text(c, row--, 0, c->cols, STYLE_BAD, p->error);
        canvas_fill(c, row, 0, c->cols, STYLE_NORMAL, ' ');
    }
    int col = canvas_text(c, row, 0, c->cols / 2, STYLE_KEY, p->title);
    col += canvas_text(c, row, col, 2, STYLE_KEY, ": ");
    int room = c->cols - col - 1; /* one for the caret behind the end */
    size_t start = 0;
    while (start < p->caret && room > 0 &&
           text_width(p->text + start, p->caret - start) > (size_t)room) {
        start = after(p, start);
    }
    if (!p->len && p->hint) {
        canvas_text(c, row, col, room, STYLE_DIM, p->hint);
    }
    enum style st = p->proposed ? STYLE_SELECT : STYLE_NORMAL;
    canvas_text(c, row, col, room + 1, st, p->text + start);
    c->cursor_row = row;
    int caret = col + (int)text_width(p->text + start, p->caret - start);
    c->cursor_col = caret < c->cols ? caret : c->cols - 1;
    draw_list(p, c, row);
}
