/* Prompts, menus and questions that are open over a screen: their keys and their drawing.
 * src/ui/dialog_answer.c carries out the answers.
 *
 * Invariant: at most one dialog is open. Core thread only. */
#ifndef UI_DIALOG_H
#define UI_DIALOG_H

#include "prompt.h"
#include "scroll.h"

#include <kprof/core/tier.h>
#include <kprof/ui/intent.h>

enum dialog_mode { DIALOG_NONE, DIALOG_PROMPT, DIALOG_MENU, DIALOG_QUESTION };

/* What the text that is being typed is for. */
enum prompt_use {
    PROMPT_EXPORT,
    PROMPT_TIER,
    PROMPT_IDENTITY,
    PROMPT_SAVE,
    PROMPT_FILTER,
    PROMPT_SLOW_FILTER,
    PROMPT_SLOW_EXPORT,
    PROMPT_HEAT_EXPORT,
    PROMPT_SLOW,
    PROMPT_TIME_RANGE,
    PROMPT_PRESET,
    PROMPT_FLAME_SEARCH,
    PROMPT_FLAME_EXPORT,
    PROMPT_FLAME_CHOICE,
    PROMPT_HELP_FIND,
    PROMPT_PROCESS_FILTER,
    PROMPT_PROCESS_EXPORT,
    PROMPT_FULL_CONDITION,
    PROMPT_FULL_FIND,
    PROMPT_FULL_EXPORT,
    PROMPT_TRIGGER_SAMPLE,
    PROMPT_TRIGGER_RECORD
};

/* What an open menu is for. */
enum menu_use {
    MENU_SORT,
    MENU_ENTRY,
    MENU_PICK,
    MENU_TICKS,
    MENU_COLUMNS,
    MENU_FLAME_WIDTH,
    MENU_PROCESS_SORT,
    MENU_FLAME_GROUP,
    MENU_FLAME_CHOICE,
    MENU_FLAME_INSIDE,
    MENU_TRIGGER
};

#define MENU_ITEMS (TIER_MAX + 2)

struct menu {
    enum menu_use use;
    enum intent_kind pick; /* of MENU_PICK, MENU_TICKS */
    const char *title;
    char item[MENU_ITEMS][160];
    size_t name_bytes[MENU_ITEMS]; /* length of the item's name; the text after it describes the
                                      item */
    bool left_out[MENU_ITEMS];     /* of MENU_TICKS: the item is not ticked */
    size_t n;
    size_t name_from; /* where the name of an item begins */
    char typed[40];   /* what was typed to get to the selected item */
    struct scroll at;
};

struct question {
    char text[700];
    struct intent yes;
};

struct dialog {
    enum dialog_mode mode;
    struct prompt prompt;
    enum prompt_use prompt_use;
    char title[64]; /* title of a prompt opened with dialog_prompt_titled */
    char offer[32], hint[64];
    struct menu menu;
    struct question question;
};

void dialog_prompt(struct dialog *d, enum prompt_use use, const char *text);
/* Opens a prompt with its own title, which is copied. */
void dialog_prompt_titled(struct dialog *d, enum prompt_use use, const char *title,
                          const char *text);
/* Sets the text that Enter accepts in the open prompt while nothing is typed; "": none. Copied. */
void dialog_offer(struct dialog *d, const char *text);

/* As dialog_prompt, but the first typed character replaces the text. */
void dialog_propose(struct dialog *d, enum prompt_use use, const char *text);
bool dialog_is_export(enum prompt_use use);

/* title: borrowed while the menu is open */
struct menu *dialog_menu(struct dialog *d, enum menu_use use, const char *title);
void menu_add(struct menu *m, const char *item); /* items beyond MENU_ITEMS are left out */
/* Adds a text after the name of the last item, from column 24 on if the name is short. */
void menu_add_more(struct menu *m, const char *more);

/* Puts a ticked box before each item. */
void menu_tick_all(struct menu *m);
void menu_tick_turn(struct menu *m); /* of the selected item */

void dialog_question(struct dialog *d, const char *text, const struct intent *yes);

void dialog_close(struct dialog *d);
/* line_row: row of a prompt or a question; a menu is in the middle of the rows above it. */
void dialog_draw(struct dialog *d, struct canvas *c, int line_row);
void dialog_release(struct dialog *d);

#endif
