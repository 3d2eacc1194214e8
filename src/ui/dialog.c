#include "dialog.h"

#include <kprof/base/text.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *title, *hint;
} prompts[] = {
    [PROMPT_EXPORT] = {"Export to file",
                       "the extension sets the format: .txt .json .csv .prom .hlog"},
    [PROMPT_TIER] = {"Add tier", "module:function/arity, or name=module:function/arity"},
    [PROMPT_IDENTITY] = {"Identity rule", "my_web:handle/1 element(1,arg(1))   or   fun "
                                          "({M,F,[A1,...]}) -> Name; (_) -> undefined end"},
    [PROMPT_SAVE] = {"Save as profile", "a name: letters, digits, . _ -"},
    [PROMPT_FILTER] = {"Filter", "part of a tier's or an identity's name"},
    [PROMPT_SLOW_FILTER] = {"Filter", "part of a tier, identity, process or argument"},
    [PROMPT_SLOW_EXPORT] = {"Export slow requests to file", "as text: .txt"},
    [PROMPT_HEAT_EXPORT] = {"Export heat map to file",
                            ".txt: the map; .json .csv .prom .hlog: the table"},
    [PROMPT_TIME_RANGE] = {"Time range", "45m, or clock times such as 02:10-02:40, or now"},
    [PROMPT_PRESET] = {"Preset of a module", "gen_server:my_server, or gen_server:MyApp.Server"},
    [PROMPT_FLAME_SEARCH] = {"Search", "a regular expression, as in ^lists:|encode"},
    [PROMPT_FLAME_EXPORT] = {"Export samples to file",
                             "the extension sets the format: .svg .html .folded .perf "
                             ".speedscope.json .pb.gz .trace.json .eflame"},
    [PROMPT_FLAME_CHOICE] = {"Sample the stacks of",
                             "top:50:memory  <0.91.0>  name  m:f/2 (initial call)  app:NAME  "
                             "children:PID  inside  all"},
    [PROMPT_HELP_FIND] = {"Search", "part of a line; n: next, N: previous"},
    [PROMPT_SLOW] = {"Slow-call threshold", "20ms, 1500us, 2s; off: none"},
    [PROMPT_PROCESS_FILTER] = {"Filter",
                               "part of a name, initial call, application, function or pid"},
    [PROMPT_FULL_CONDITION] = {"Condition",
                               "on the arguments: arg(1) =:= get, map_size(arg(2)) > 9"},
    [PROMPT_FULL_FIND] = {"Search", "part of a function; n: next, N: previous"},
    [PROMPT_FULL_EXPORT] = {"Export the trace to file",
                            ".txt: the call tree; .svg .html .folded .eflame .speedscope.json "
                            ".trace.json .perf .pb.gz"},
    [PROMPT_TRIGGER_SAMPLE] = {"Sample stacks when",
                               "db.p99>20ms  node.run_queue>50  node.memory>4G  queue(NAME)>1000"},
    [PROMPT_TRIGGER_RECORD] = {"Record when",
                               "db.p99>20ms  node.run_queue>50  node.memory>4G  queue(NAME)>1000"},
    [PROMPT_PROCESS_EXPORT] = {"Export processes to file",
                               "the extension sets the format: .txt .json .csv"},
};

void dialog_prompt(struct dialog *d, enum prompt_use use, const char *text)
{
    d->mode = DIALOG_PROMPT;
    d->prompt_use = use;
    d->offer[0] = 0;
    prompt_open(&d->prompt, prompts[use].title, prompts[use].hint, text);
}

void dialog_prompt_titled(struct dialog *d, enum prompt_use use, const char *title,
                          const char *text)
{
    snprintf(d->title, sizeof d->title, "%s", title);
    dialog_prompt(d, use, text);
    d->prompt.title = d->title;
}

void dialog_offer(struct dialog *d, const char *text)
{
    snprintf(d->offer, sizeof d->offer, "%s", text);
    if (text[0]) {
        snprintf(d->hint, sizeof d->hint, "Enter: %.20s; or 1500us, 2s", text);
        d->prompt.hint = d->hint;
    }
}

void dialog_propose(struct dialog *d, enum prompt_use use, const char *text)
{
    dialog_prompt(d, use, text);
    prompt_propose(&d->prompt);
}

bool dialog_is_export(enum prompt_use use)
{
    return use == PROMPT_EXPORT || use == PROMPT_SLOW_EXPORT || use == PROMPT_HEAT_EXPORT ||
           use == PROMPT_PROCESS_EXPORT;
}

struct menu *dialog_menu(struct dialog *d, enum menu_use use, const char *title)
{
    d->mode = DIALOG_MENU;
    memset(&d->menu, 0, sizeof d->menu);
    d->menu.use = use;
    d->menu.title = title;
    return &d->menu;
}

void menu_add(struct menu *m, const char *item)
{
    if (m->n < MENU_ITEMS) {
        snprintf(m->item[m->n], sizeof m->item[0], "%s", item);
        m->name_bytes[m->n] = strlen(m->item[m->n]);
        m->n++;
    }
}

void menu_add_more(struct menu *m, const char *more)
{
    if (m->n > 0) {
        size_t i = m->n - 1, n = m->name_bytes[i];
        int gap = n < 22 ? 24 - (int)n : 2;
        snprintf(m->item[i] + n, sizeof m->item[0] - n, "%*s%s", gap, "", more);
    }
}

void menu_tick_all(struct menu *m)
{
    for (size_t i = 0; i < m->n; i++) {
        char item[sizeof m->item[0]];
        memcpy(item, m->item[i], sizeof item);
        snprintf(m->item[i], sizeof m->item[0], "[x] %.*s", (int)sizeof item - 5, item);
    }
}

void menu_tick_turn(struct menu *m)
{
    size_t i = m->at.sel;
    m->left_out[i] = !m->left_out[i];
    m->item[i][1] = m->left_out[i] ? ' ' : 'x';
}

void dialog_question(struct dialog *d, const char *text, const struct intent *yes)
{
    d->mode = DIALOG_QUESTION;
    snprintf(d->question.text, sizeof d->question.text, "%s", text);
    d->question.yes = *yes;
}

void dialog_close(struct dialog *d)
{
    d->mode = DIALOG_NONE;
}

void dialog_release(struct dialog *d)
{
    prompt_release(&d->prompt);
}

#define FIND "   find: "

static void menu_draw(struct menu *m, struct canvas *c, int bottom)
{
    size_t widest = strlen(m->title) + (m->typed[0] ? strlen(m->typed) + strlen(FIND) : 0);
    for (size_t i = 0; i < m->n; i++) {
        size_t w = text_width(m->item[i], strlen(m->item[i]));
        widest = w > widest ? w : widest;
    }
    int room = bottom > 1 ? bottom - 1 : 0;
    int shown = m->n < (size_t)room ? (int)m->n : room;
    /* If too few columns would be left beside the menu, it takes all. */
    int cols = (int)widest + 4 < c->cols - 6 ? (int)widest + 4 : c->cols;
    int row = (bottom - shown - 1) / 2, col = (c->cols - cols) / 2;
    scroll_fit(&m->at, m->n, (size_t)shown);
    m->at.row = row + 1;
    canvas_fill(c, row, col, cols, STYLE_KEY, ' ');
    canvas_textf(c, row, col + 1, cols - 1, STYLE_KEY, "%s%s%s", m->title, m->typed[0] ? FIND : "",
                 m->typed);
    for (int i = 0; i < shown; i++) {
        size_t at = m->at.top + (size_t)i;
        enum style st = at == m->at.sel ? STYLE_SELECT : STYLE_HEAD;
        canvas_fill(c, row + 1 + i, col, cols, st, ' ');
        canvas_text(c, row + 1 + i, col + 2, cols - 2, st, m->item[at]);
    }
}

void dialog_draw(struct dialog *d, struct canvas *c, int line_row)
{
    if (d->mode == DIALOG_PROMPT) {
        prompt_draw(&d->prompt, c, line_row);
    } else if (d->mode == DIALOG_MENU) {
        menu_draw(&d->menu, c, line_row);
    } else if (d->mode == DIALOG_QUESTION) {
        canvas_fill(c, line_row, 0, c->cols, STYLE_NORMAL, ' ');
        int col = canvas_text(c, line_row, 0, c->cols - 5, STYLE_WARN, d->question.text);
        canvas_text(c, line_row, col, c->cols - col, STYLE_KEY, " y/n ");
    }
}
