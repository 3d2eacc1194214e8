#include "columns.h"
#include "state.h"

#include <kprof/ui/ui.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 32 };

enum theme ui_theme(const struct ui *u)
{
    return u->theme;
}

void ui_set_theme(struct ui *u, enum theme t)
{
    u->theme = t;
}

void ui_layout_write(const struct ui *u, enum window w, struct buf *out)
{
    const struct rows *rows = &u->shared.rows;
    buf_addf(out, "theme %s\nwindow %s\n", theme_name(u->theme), window_name(w));
    buf_addf(out, "sort %s%s\n",
             rows->sort == SORT_ORDER  ? "order"
             : rows->sort == SORT_NAME ? "name"
                                       : column_at((size_t)(rows->sort - SORT_COLUMN))->title,
             rows->reverse ? " reversed" : "");
    if (rows->pivot) {
        buf_adds(out, "pivot\n");
    }
    for (size_t i = 0; i < columns_n(); i++) {
        if (u->table.columns[i] != COLUMN_AUTO) {
            buf_addf(out, "%s %s\n", u->table.columns[i] == COLUMN_SHOW ? "show" : "hide",
                     column_at(i)->title);
        }
    }
}

static size_t column_named(const char *title)
{
    size_t i = 0;
    while (i < columns_n() && strcmp(column_at(i)->title, title) != 0) {
        i++;
    }
    return i;
}

static void read_sort(struct rows *rows, const char *by, const char *how)
{
    size_t i = column_named(by);
    if (i < columns_n()) {
        rows->sort = SORT_COLUMN + (int)i;
    } else if (strcmp(by, "name") == 0) {
        rows->sort = SORT_NAME;
    } else if (strcmp(by, "order") == 0) {
        rows->sort = SORT_ORDER;
    } else {
        return;
    }
    rows->reverse = strcmp(how, "reversed") == 0;
}

static void read_line(struct ui *u, char word[3][WORD_BYTES], enum window *w)
{
    struct table_state *t = &u->table;
    struct rows *rows = &u->shared.rows;
    const char *what = word[0], *value = word[1];
    size_t column = column_named(value);
    if (strcmp(what, "theme") == 0) {
        theme_parse(value, &u->theme);
    } else if (strcmp(what, "window") == 0) {
        for (int i = 0; i < WINDOW_COUNT; i++) {
            *w = strcmp(value, window_name((enum window)i)) == 0 ? (enum window)i : *w;
        }
    } else if (strcmp(what, "sort") == 0) {
        read_sort(rows, value, word[2]);
    } else if (strcmp(what, "pivot") == 0) {
        rows->pivot = true;
    } else if (column < columns_n() && (strcmp(what, "show") == 0 || strcmp(what, "hide") == 0)) {
        t->columns[column] = what[0] == 's' ? COLUMN_SHOW : COLUMN_HIDE;
    }
}

/* Reads the words of the line at s, n bytes; longer and further words are ignored. */
static void split(const char *s, size_t n, char word[3][WORD_BYTES])
{
    memset(word, 0, 3 * WORD_BYTES);
    for (size_t k = 0, i = 0, len = 0; i < n && k < 3; i++) {
        if (s[i] == ' ') {
            k += len > 0;
            len = 0;
        } else if (len < WORD_BYTES - 1) {
            word[k][len++] = s[i];
        }
    }
}

void ui_layout_read(struct ui *u, const char *text, size_t n_bytes, enum window *w)
{
    for (size_t at = 0, end; at < n_bytes; at = end + 1) {
        char word[3][WORD_BYTES];
        const char *nl = memchr(text + at, '\n', n_bytes - at);
        end = nl ? (size_t)(nl - text) : n_bytes;
        split(text + at, end - at, word);
        read_line(u, word, w);
    }
}
