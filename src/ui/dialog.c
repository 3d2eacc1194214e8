#include <kprof/base/text.h>
#include <kprof/ui/columns.h>
#include <kprof/ui/rule.h>
#include <kprof/ui/state.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *title, *hint;
} prompts[] = {
    [PROMPT_EXPORT] = {"Export to file", "the ending sets the format: .txt .json .csv .prom .hlog"},
    [PROMPT_TIER] = {"Add tier", "module:function/arity, or name=module:function/arity"},
    [PROMPT_IDENTITY] = {"Identity rule", "my_web:handle/1 element(1,arg(1))   or   fun "
                                          "({M,F,[Args]}) -> Name; (_) -> undefined end"},
    [PROMPT_SAVE] = {"Save as profile", "a name: letters, digits, . _ -"},
    [PROMPT_FILTER] = {"Filter", "part of a tier's or an identity's name"},
    [PROMPT_SLOW_FILTER] = {"Filter", "part of a tier, identity, process or argument"},
    [PROMPT_SLOW_EXPORT] = {"Export slow calls to file", NULL},
    [PROMPT_TIME_RANGE] = {"Window", "45m, or clock times: 02:10-02:40; now"},
    [PROMPT_PRESET] = {"Preset of a module", "gen_server:my_server, or gen_server:MyApp.Server"},
    [PROMPT_SLOW] = {"Slow-call threshold", "20ms, 1500us, 2s; off: none"},
};

void dialog_prompt(struct ui *u, enum prompt_use use, const char *text)
{
    u->mode = MODE_PROMPT;
    u->prompt_use = use;
    prompt_open(&u->prompt, prompts[use].title, prompts[use].hint, text);
}

void ui_set_rule(struct ui *u, const char *rule)
{
    u->rule_why = rule_line(rule, u->rule, sizeof u->rule);
}

void dialog_rule(struct ui *u)
{
    char text[200];
    if (!u->rule_why) {
        dialog_prompt(u, PROMPT_IDENTITY, u->rule);
        return;
    }
    snprintf(text, sizeof text, "%s: edit it in a profile (W saves, L loads)", u->rule_why);
    ui_message(u, text, true);
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
        m->name_bytes[m->n] = strlen(m->item[m->n]);
        m->n++;
    }
}

/* A tier by its name; names may be alike, so its function follows where there is room. */
static void menu_add_tier(struct menu *m, const struct snap_row *r, int cols)
{
    size_t i = m->n;
    menu_add(m, r->tier_name);
    if (m->n > i && r->tier_mfa && cols >= 60) {
        size_t n = m->name_bytes[i];
        int gap = n < 22 ? 24 - (int)n : 2;
        snprintf(m->item[i] + n, sizeof m->item[0] - n, "%*s%s", gap, "", r->tier_mfa);
    }
}

void dialog_sort_menu(struct ui *u)
{
    char item[80];
    menu_open(u, MENU_SORT, "Sort by");
    menu_add(&u->menu, "configured order");
    menu_add(&u->menu, "name");
    for (size_t i = 0; i < columns_n(); i++) {
        snprintf(item, sizeof item, "%-7s %.60s", column_at(i)->title, column_at(i)->help);
        menu_add(&u->menu, item);
    }
    u->menu.at.sel = (size_t)u->table.sort;
}

static void column_items(struct ui *u)
{
    static const char *const state[] = {
        [COLUMN_AUTO] = "auto", [COLUMN_SHOW] = "show", [COLUMN_HIDE] = "hide"};
    u->menu.n = 0;
    for (size_t i = 0; i < columns_n(); i++) {
        char item[80];
        snprintf(item, sizeof item, "%s  %-7s %.60s", state[u->table.columns[i]],
                 column_at(i)->title, column_at(i)->help);
        menu_add(&u->menu, item);
    }
}

void dialog_columns_menu(struct ui *u)
{
    menu_open(u, MENU_COLUMNS, "Columns: Space selects show, hide or auto");
    column_items(u);
}

/* Space in the chooser: by room, always, never. */
static void next_column_state(struct ui *u)
{
    enum column_state *c = &u->table.columns[u->menu.at.sel];
    *c = *c == COLUMN_HIDE ? COLUMN_AUTO : (enum column_state)(*c + 1);
    column_items(u);
}

void dialog_entry_menu(struct ui *u, const struct snapshot *s)
{
    menu_open(u, MENU_ENTRY, "Which tier starts a request?");
    for (size_t i = 0; s && i < s->n_rows; i++) {
        if (!s->rows[i].ident && s->rows[i].tier != TIER_TOTAL && u->menu.n < TIER_MAX) {
            menu_add_tier(&u->menu, &s->rows[i], u->cols);
        }
    }
    menu_add(&u->menu, "none (every call counts on its own)");
}

bool ui_choose(struct ui *u, enum intent_kind pick, const char *title, const char *const *items,
               size_t n)
{
    if (u->mode != MODE_SCREEN || (u->asked_on && u->asked_on != u->screen)) {
        return false;
    }
    menu_open(u, MENU_PICK, title);
    u->menu.pick = pick;
    for (size_t i = 0; i < n; i++) {
        menu_add(&u->menu, items[i]);
    }
    return true;
}

static struct intent picked(struct ui *u)
{
    struct menu *m = &u->menu;
    struct intent in = {.kind = INTENT_REDRAW};
    u->mode = MODE_SCREEN;
    if (m->use == MENU_SORT) {
        u->table.sort = (int)m->at.sel;
        u->table.reverse = false;
    } else if (m->use == MENU_COLUMNS) {
        return in; /* each was carried out at once */
    } else if (m->use == MENU_PICK) {
        in.kind = m->pick;
        snprintf(in.text, sizeof in.text, "%s", m->item[m->at.sel]);
    } else {
        in.kind = INTENT_ENTRY;
        bool none = m->at.sel + 1 == m->n;
        snprintf(in.text, sizeof in.text, "%.*s", (int)m->name_bytes[m->at.sel],
                 m->item[m->at.sel]);
        if (none) {
            snprintf(in.text, sizeof in.text, "none");
        }
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
    } else if (act == ACT_TICK) {
        if (u->menu.use == MENU_COLUMNS) {
            next_column_state(u);
        }
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
    /* a strip of what is below, too small to read, is none */
    int cols = (int)widest + 4 < c->cols - 6 ? (int)widest + 4 : c->cols;
    int row = (bottom - shown - 1) / 2, col = (c->cols - cols) / 2;
    scroll_fit(&m->at, m->n, (size_t)shown);
    m->at.row = row + 1;
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
    u->mode = MODE_QUESTION;
    size_t most = u->cols > 5 ? (size_t)u->cols - 5 : 0; /* beside y/n */
    int n = snprintf(u->question.text, sizeof u->question.text,
                     "Remove tier %.64s (%.300s) and its statistics?", r->tier_name,
                     r->tier_mfa ? r->tier_mfa : "");
    if (!r->tier_mfa || text_width(u->question.text, (size_t)n) > most) {
        snprintf(u->question.text, sizeof u->question.text, "Remove tier %.64s and its statistics?",
                 r->tier_name);
    }
    u->question.yes = (struct intent){.kind = INTENT_TIER_REMOVE, .tier = r->tier};
}

void ui_ask_overwrite(struct ui *u, const char *path)
{
    u->mode = MODE_QUESTION;
    snprintf(u->question.text, sizeof u->question.text, "%.600s exists. Overwrite it?", path);
    u->question.yes = (struct intent){.kind = INTENT_EXPORT,
                                      .force = true,
                                      .slow_only = u->prompt_use == PROMPT_SLOW_EXPORT,
                                      .filter = u->slow.filter};
    snprintf(u->question.yes.text, sizeof u->question.yes.text, "%s", path);
}

void ui_ask(struct ui *u, const char *question, const struct intent *yes)
{
    u->mode = MODE_QUESTION;
    snprintf(u->question.text, sizeof u->question.text, "%s", question);
    u->question.yes = *yes;
}

static struct intent ask_key(struct ui *u, enum action act)
{
    if (act == ACT_YES || act == ACT_NO) {
        u->mode = MODE_SCREEN;
    }
    return act == ACT_YES ? u->question.yes : (struct intent){.kind = INTENT_REDRAW};
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

/* The filter that is being typed; NULL: something else is. */
static char *filter_of(struct ui *u, size_t *cap)
{
    bool slow = u->prompt_use == PROMPT_SLOW_FILTER;
    *cap = slow ? sizeof u->slow.filter.text : sizeof u->table.filter;
    return slow ? u->slow.filter.text : u->prompt_use == PROMPT_FILTER ? u->table.filter : NULL;
}

static void set_filter(struct ui *u, char *filter, size_t cap)
{
    /* cut at a whole code point: the filter is looked for in names byte by byte */
    size_t n = u->prompt.len, max = cap - 1;
    if (n > max) {
        n = max;
        while (n > 0 && ((unsigned char)u->prompt.text[n] & 0xc0) == 0x80) {
            n--;
        }
    }
    memcpy(filter, u->prompt.text, n);
    filter[n] = 0;
}

static struct intent export_slow_calls(struct ui *u)
{
    struct intent in = with_text(u, INTENT_EXPORT);
    in.slow_only = true;
    in.filter = u->slow.filter;
    return in;
}

static struct intent take_moment(struct ui *u)
{
    char error[200], text[PROMPT_BYTES];
    memcpy(text, u->prompt.text, u->prompt.len + 1);
    if (time_range_typed(u, text, error, sizeof error)) {
        return (struct intent){.kind = INTENT_LOOK};
    }
    dialog_prompt(u, PROMPT_TIME_RANGE, text);
    prompt_error(&u->prompt, SIZE_MAX, error);
    return (struct intent){.kind = INTENT_REDRAW};
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
    case PROMPT_SAVE:
        memcpy(u->profile, u->prompt.text, sizeof u->profile - 1);
        return u->prompt.len ? with_text(u, INTENT_SAVE) : none;
    case PROMPT_IDENTITY:
        if (u->screen == &screen_argument_picker) {
            u->screen = screen_main();
        }
        ui_set_rule(u, u->prompt.text);
        return with_text(u, INTENT_IDENTITY);
    case PROMPT_SLOW_EXPORT:
        return u->prompt.len ? export_slow_calls(u) : none;
    case PROMPT_PRESET:
        return u->prompt.len ? with_text(u, INTENT_PRESET) : none;
    case PROMPT_SLOW:
        return u->prompt.len ? with_text(u, INTENT_SLOW) : none;
    case PROMPT_TIME_RANGE:
        return take_moment(u);
    case PROMPT_FILTER:
    case PROMPT_SLOW_FILTER:
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
    size_t cap;
    char *filter = filter_of(u, &cap);
    if (ev == PROMPT_CANCELLED) {
        u->mode = MODE_SCREEN;
        if (filter) {
            filter[0] = 0;
        }
    }
    if (ev == PROMPT_CHANGED && filter) {
        set_filter(u, filter, cap);
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
                          : which == INTENT_SLOW     ? PROMPT_SLOW
                          : which == INTENT_SAVE     ? PROMPT_SAVE
                          : which == INTENT_PRESET   ? PROMPT_PRESET
                                                     : PROMPT_IDENTITY;
    char line[PROMPT_BYTES];
    const char *why = use == PROMPT_IDENTITY ? rule_line(text, line, sizeof line) : NULL;
    if (use == PROMPT_IDENTITY && !why) { /* to be mended now or later */
        ui_set_rule(u, line);
        text = line;
    }
    if (u->mode != MODE_SCREEN || why) { /* the operator is at something else by now */
        ui_message(u, error, true);
        return;
    }
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
    case MODE_QUESTION:
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
    } else if (u->mode == MODE_QUESTION) {
        canvas_fill(c, line_row, 0, c->cols, STYLE_NORMAL, ' ');
        int col = canvas_text(c, line_row, 0, c->cols - 5, STYLE_WARN, u->question.text);
        canvas_text(c, line_row, col, c->cols - col, STYLE_KEY, " y/n ");
    }
}
