#include "ui_script.h"

#include <errno.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int key;
} names[] = {
    {"<Up>", KEY_UP_},         {"<Down>", KEY_DOWN_},  {"<Left>", KEY_LEFT_},
    {"<Right>", KEY_RIGHT_},   {"<PgUp>", KEY_PGUP_},  {"<PgDn>", KEY_PGDN_},
    {"<Home>", KEY_HOME_},     {"<End>", KEY_END_},    {"<Tab>", '\t'},
    {"<BTab>", KEY_BTAB_},     {"<Enter>", '\n'},      {"<Esc>", 27},
    {"<BS>", KEY_BACKSPACE_},  {"<Del>", KEY_DELETE_}, {"<F1>", KEY_F1_},
    {"<Resize>", KEY_RESIZE_},
};

int script_key(const char **s)
{
    if (strncmp(*s, "<C-", 3) == 0 && (*s)[3] && (*s)[4] == '>') {
        int key = (*s)[3] & 31;
        *s += 5;
        return key;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].name);
        if (strncmp(*s, names[i].name, n) == 0) {
            *s += n;
            return names[i].key;
        }
    }
    if (!**s) {
        return 0;
    }
    uint32_t cp;
    *s += text_next(*s, strlen(*s), &cp);
    return (int)cp;
}

void script_begin(struct ui **u, struct canvas *c, bool ascii)
{
    *u = ui_new(NULL);
    canvas_init(c, 30, 100, ascii);
}

void script_end(struct ui *u, struct canvas *c, struct fake *shown)
{
    canvas_release(c);
    ui_free(u);
    fake_free(shown);
}

struct intent script_run(struct ui *u, struct canvas *c, const struct snapshot *s, const char *keys)
{
    struct intent last = {.kind = INTENT_NONE};
    ui_draw(u, c, s);
    for (int key; (key = script_key(&keys));) {
        struct intent in = ui_key(u, key, s);
        if (in.kind > INTENT_REDRAW || last.kind <= INTENT_REDRAW) {
            last = in;
        }
        ui_draw(u, c, s);
    }
    return last;
}

static const struct cell *cell_at(const struct canvas *c, int row, int col)
{
    return &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
}

static char shade_letter(unsigned shade)
{
    return shade == SHADE_NONE   ? ' '
           : shade >= SHADE_PART ? (char)('0' + shade - SHADE_PART)
                                 : (char)('A' + shade - 1);
}

static bool is_lower_half(const struct cell *k)
{
    return strcmp(k->utf8, "\xe2\x96\x84") == 0;
}

static char style_letter(const struct canvas *c, int row, int col)
{
    const struct cell *k = cell_at(c, row, col);
    if (row == c->cursor_row && col == c->cursor_col) {
        return '_';
    }
    return !k->ink            ? " dbhsgwxk01234567ABCDEFm+-"[k->style]
           : is_lower_half(k) ? ' '
                              : shade_letter(k->ink);
}

static char lower_letter(const struct canvas *c, int row, int col)
{
    const struct cell *k = cell_at(c, row, col);
    return shade_letter(is_lower_half(k) ? k->ink : k->paper);
}

static void map(const struct canvas *c, struct buf *out, const char *title,
                char (*letter)(const struct canvas *c, int row, int col))
{
    buf_adds(out, title);
    for (int row = 0; row < c->rows; row++) {
        size_t start = out->len, end = start;
        for (int col = 0; col < c->cols; col++) {
            char ch = letter(c, row, col);
            buf_addch(out, ch);
            end = ch == ' ' ? end : out->len;
        }
        out->len = end;
        out->data[end] = 0;
        buf_addch(out, '\n');
    }
}

void picture(const struct canvas *c, struct buf *out)
{
    canvas_dump(c, out);
    map(c, out, "--- styles\n", style_letter);
    if (c->shades) {
        map(c, out, "--- lower halves\n", lower_letter);
    }
}

static bool write_golden(const char *path, const struct buf *b)
{
    FILE *f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        return false;
    }
    fwrite(b->data, 1, b->len, f);
    fclose(f);
    return true;
}

static void read_golden(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "r");
    char part[4096];
    size_t n;
    while (f && (n = fread(part, 1, sizeof part, f)) > 0) {
        buf_add(b, part, n);
    }
    if (f) {
        fclose(f);
    }
}

static void show_difference(const char *name, const struct buf *want, const struct buf *got)
{
    size_t i = 0, line = 1;
    while (i < want->len && i < got->len && want->data[i] == got->data[i]) {
        line += want->data[i++] == '\n';
    }
    while (i > 0 && got->data[i - 1] != '\n') {
        i--;
    }
    size_t j = i < want->len ? i : want->len;
    fprintf(stderr, "%s: line %zu\n want: %.*s\n  got: %.*s\n", name, line,
            (int)strcspn(want->data + j, "\n"), want->data + j, (int)strcspn(got->data + i, "\n"),
            got->data + i);
}

bool text_is_golden(const struct buf *got, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/%s.txt", name);
    const char *update = getenv("UPDATE_GOLDENS");
    if (update && *update == '1') {
        return write_golden(path, got);
    }
    struct buf want;
    buf_init(&want, 0);
    read_golden(path, &want);
    bool same = want.len == got->len && memcmp(want.data, got->data, got->len) == 0;
    if (!same) {
        show_difference(name, &want, got);
    }
    buf_release(&want);
    return same;
}

bool picture_is_golden(const struct canvas *c, const char *name)
{
    char in_ui[200];
    struct buf got;
    buf_init(&got, 0);
    picture(c, &got);
    snprintf(in_ui, sizeof in_ui, "ui/%s", name);
    bool same = text_is_golden(&got, in_ui);
    buf_release(&got);
    return same;
}

static const char *cell_broken(const struct canvas *c, int row, int col)
{
    const struct cell *k = cell_at(c, row, col);
    size_t n = strnlen(k->utf8, sizeof k->utf8);
    if (n == sizeof k->utf8) {
        return "not terminated";
    }
    if (k->style >= STYLE_COUNT) {
        return "no such style";
    }
    if (k->ink > SHADE_PART_LAST || k->paper > SHADE_PART_LAST || (k->paper && !k->ink) ||
        (k->ink && !c->shades)) {
        return "no such shade";
    }
    uint32_t cp = 0;
    if (n == 0) {
        if (col == 0 || !k[-1].utf8[0]) {
            return "right half without its wide character";
        }
        text_next(k[-1].utf8, strlen(k[-1].utf8), &cp);
        return text_cp_width(cp) == 2 ? NULL : "right half after a narrow character";
    }
    for (size_t i = 0; i < n;) {
        size_t step = text_next(k->utf8 + i, n - i, &cp);
        int w = cp == UINT32_MAX ? -1 : text_cp_width(cp);
        if (w < 0 || (c->ascii && cp > 126)) {
            return "unprintable";
        }
        if ((i == 0) != (w > 0)) {
            return "not one character and its marks";
        }
        if (w == 2 && (col + 1 >= c->cols || k[1].utf8[0])) {
            return "wide character without a second cell";
        }
        i += step;
    }
    return NULL;
}

const char *canvas_broken(const struct canvas *c)
{
    static char what[100];
    for (int row = 0; row < c->rows; row++) {
        for (int col = 0; col < c->cols; col++) {
            const char *why = cell_broken(c, row, col);
            if (why) {
                snprintf(what, sizeof what, "row %d column %d: %s", row, col, why);
                return what;
            }
        }
    }
    bool hidden = c->cursor_row == -1 && c->cursor_col == -1;
    bool inside = c->cursor_row >= 0 && c->cursor_row < c->rows && c->cursor_col >= 0 &&
                  c->cursor_col < c->cols;
    return hidden || inside ? NULL : "cursor outside";
}

bool picture_has(const struct canvas *c, const char *text)
{
    struct buf b;
    buf_init(&b, 0);
    canvas_dump(c, &b);
    bool has = strstr(b.data, text) != NULL;
    buf_release(&b);
    return has;
}
