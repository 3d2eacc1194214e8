#include <kprof/base/text.h>
#include <kprof/ui/columns.h>
#include <kprof/ui/state.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *title, *hint;
} prompts[] = {
    [PROMPT_EXPORT] = {"Export to file", NULL},
    [PROMPT_TIER] = {"Add tier", "module:function/arity, or name=module:function/arity"},
    [PROMPT_IDENTITY] = {"Identity rule", "my_web:handle/1 element(1,arg(1))   or   fun "
                                          "({M,F,[Args]}) -> Name; (_) -> undefined end"},
    [PROMPT_FILTER] = {"Filter", "part of a tier's or an identity's name"},
};

void dialog_prompt(struct ui *u, enum prompt_use use, const char *text)
{
    u->mode = MODE_PROMPT;
    u->prompt_use = use;
    prompt_open(&u->prompt, prompts[use].title, prompts[use].hint, text);
}

/* --- menus --- */

static void menu_open(struct ui *u, enum menu_use use, const char *title)
{
    u->mode = MODE_MENU;
    memset(&u->menu, 0, sizeof u->menu);
    u->menu.use = use;
    u->menu.title = title;
}

static void menu_add(struct menu *m, const char *item)
{
    if (m->n < MENU_ITEMS) {
        snprintf(m->item[m->n], sizeof m->item[0], "%s", item);
        m->n++;
    }
}

void dialog_sort_menu(struct ui *u)
{
    char item[80];
    menu_open(u, MENU_SORT, "Sort by");
    menu_add(&u->menu, "order given");
    menu_add(&u->menu, "name");
    for (size_t i = 0; i < columns_n(); i++) {
        snprintf(item, sizeof item, "%-7s %.60s", column_at(i)->title, column_at(i)->help);
        menu_add(&u->menu, item);
    }
    u->menu.at.sel = (size_t)u->table.sort;
}

void dialog_entry_menu(struct ui *u, const struct snapshot *s)
{
    menu_open(u, MENU_ENTRY, "Which tier starts a request?");
    for (size_t i = 0; s && i < s->n_rows; i++) {
        if (!s->rows[i].ident && s->rows[i].tier != TIER_TOTAL && u->menu.n < TIER_MAX) {
            menu_add(&u->menu, s->rows[i].tier_name);
        }
    }
    menu_add(&u->menu, "none (every call counts on its own)");
}

static struct intent picked(struct ui *u)
{
    struct menu *m = &u->menu;
    struct intent in = {.kind = INTENT_REDRAW};
    u->mode = MODE_SCREEN;
    if (m->use == MENU_SORT) {
        u->table.sort = (int)m->at.sel;
        u->table.reverse = false;
    } else {
        in.kind = INTENT_ENTRY;
        bool none = m->at.sel + 1 == m->n;
        snprintf(in.text, sizeof in.text, "%s", none ? "none" : m->item[m->at.sel]);
    }
    return in;
}

static struct intent menu_key(struct ui *u, enum action act)
{
    if (act == ACT_ACCEPT) {
        return picked(u);
    }
    if (act == ACT_CANCEL) {
        u->mode = MODE_SCREEN;
    } else {
        scroll_key(&u->menu.at, act, u->menu.n);
    }
    return (struct intent){.kind = INTENT_REDRAW};
}

static void menu_draw(struct menu *m, struct canvas *c, int bottom)
{
    size_t widest = strlen(m->title);
    for (size_t i = 0; i < m->n; i++) {
        size_t w = text_width(m->item[i], strlen(m->item[i]));
        widest = w > widest ? w : widest;
    }
    int room = bottom > 1 ? bottom - 1 : 0;
    int shown = m->n < (size_t)room ? (int)m->n : room;
    int cols = (int)widest + 4 < c->cols ? (int)widest + 4 : c->cols;
    int row = (bottom - shown - 1) / 2, col = (c->cols - cols) / 2;
    scroll_fit(&m->at, m->n, (size_t)shown);
    canvas_fill(c, row, col, cols, STYLE_KEY, ' ');
    canvas_text(c, row, col + 1, cols - 1, STYLE_KEY, m->title);
    for (int i = 0; i < shown; i++) {
        size_t at = m->at.top + (size_t)i;
        enum style st = at == m->at.sel ? STYLE_SELECT : STYLE_HEAD;
        canvas_fill(c, row + 1 + i, col, cols, st, ' ');
        canvas_text(c, row + 1 + i, col + 2, cols - 2, st, m->item[at]);
    }
}

/* --- questions --- */

void dialog_remove(struct ui *u, const struct snap_row *r)
{
    u->mode = MODE_ASK;
    snprintf(u->ask.text, sizeof u->ask.text, "Remove tier %.64s and its figures?", r->tier_name);
    u->ask.yes = (struct intent){.kind = INTENT_TIER_REMOVE, .tier = r->tier};
}

void ui_ask_overwrite(struct ui *u, const char *path)
{
    u->mode = MODE_ASK;
    snprintf(u->ask.text, sizeof u->ask.text, "%.600s exists. Overwrite it?", path);
    u->ask.yes = (struct intent){.kind = INTENT_EXPORT, .force = true};
    snprintf(u->ask.yes.text, sizeof u->ask.yes.text, "%s", path);
}

static struct intent ask_key(struct ui *u, enum action act)
{
    if (act == ACT_YES || act == ACT_NO) {
        u->mode = MODE_SCREEN;
    }
    return act == ACT_YES ? u->ask.yes : (struct intent){.kind = INTENT_REDRAW};
}

/* --- prompts --- */

static struct intent text_from(const struct ui *u, enum intent_kind kind, size_t from)
{
    struct intent in = {.kind = kind};
    _Static_assert(sizeof in.text >= PROMPT_BYTES, "a typed line fits");
    memcpy(in.text, u->prompt.text + from, u->prompt.len - from + 1);
    return in;
}

static struct intent with_text(const struct ui *u, enum intent_kind kind)
{
    return text_from(u, kind, 0);
}

static void set_filter(struct ui *u)
{
    /* cut at a whole code point: the filter is looked for in names byte by byte */
    size_t n = u->prompt.len, max = sizeof u->table.filter - 1;
    if (n > max) {
        n = max;
        while (n > 0 && ((unsigned char)u->prompt.text[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    memcpy(u->table.filter, u->prompt.text, n);
    u->table.filter[n] = 0;
}

static struct intent prompt_done(struct ui *u)
{
    struct intent none = {.kind = INTENT_REDRAW};
    u->mode = MODE_SCREEN;
    switch (u->prompt_use) {
    case PROMPT_EXPORT:
        return u->prompt.len ? with_text(u, INTENT_EXPORT) : none;
    case PROMPT_TIER:
        return u->prompt.len ? with_text(u, INTENT_TIER_ADD) : none;
    case PROMPT_IDENTITY:
        memcpy(u->rule, u->prompt.text, u->prompt.len + 1);
        return with_text(u, INTENT_IDENTITY);
    case PROMPT_FILTER:
        break;
    }
    return none;
}

static struct intent on_prompt_key(struct ui *u, int key)
{
    enum prompt_event ev = prompt_key(&u->prompt, key);
    if (ev == PROMPT_DONE) {
        return prompt_done(u);
    }
    if (ev == PROMPT_CANCELLED) {
        u->mode = MODE_SCREEN;
        if (u->prompt_use == PROMPT_FILTER) {
            u->table.filter[0] = 0;
        }
    }
    if (ev == PROMPT_CHANGED && u->prompt_use == PROMPT_FILTER) {
        set_filter(u);
    }
    if (ev == PROMPT_CHANGED && u->prompt_use == PROMPT_TIER) {
        return text_from(u, INTENT_COMPLETE, prompt_name_bytes(&u->prompt));
    }
    return (struct intent){.kind = INTENT_REDRAW};
}

void ui_set_completions(struct ui *u, const char *typed, const char *const *items, size_t n)
{
    bool wanted = u->mode == MODE_PROMPT && u->prompt_use == PROMPT_TIER;
    if (wanted && strcmp(typed, u->prompt.text + prompt_name_bytes(&u->prompt)) == 0) {
        prompt_completions(&u->prompt, items, n);
    }
}

void ui_reprompt(struct ui *u, enum intent_kind which, const char *text, size_t at,
                 const char *error)
{
    enum prompt_use use = which == INTENT_EXPORT     ? PROMPT_EXPORT
                          : which == INTENT_TIER_ADD ? PROMPT_TIER
                                                     : PROMPT_IDENTITY;
    dialog_prompt(u, use, text);
    prompt_error(&u->prompt, at, error);
}

/* --- all of them --- */

struct intent dialog_key(struct ui *u, int key)
{
    switch (u->mode) {
    case MODE_PROMPT:
        return on_prompt_key(u, key);
    case MODE_MENU:
        return menu_key(u, keys_find(CTX_MENU, key));
    case MODE_ASK:
        return ask_key(u, keys_find(CTX_ASK, key));
    case MODE_SCREEN:
        break;
    }
    return (struct intent){.kind = INTENT_NONE};
}

void dialog_draw(struct ui *u, struct canvas *c, int line_row)
{
    if (u->mode == MODE_PROMPT) {
        prompt_draw(&u->prompt, c, line_row);
    } else if (u->mode == MODE_MENU) {
        menu_draw(&u->menu, c, line_row);
    } else if (u->mode == MODE_ASK) {
        canvas_fill(c, line_row, 0, c->cols, STYLE_NORMAL, ' ');
        int col = canvas_text(c, line_row, 0, c->cols - 5, STYLE_WARN, u->ask.text);
        canvas_text(c, line_row, col, c->cols - col, STYLE_KEY, " y/n ");
    }
}
