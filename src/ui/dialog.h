/* Prompts, menus and questions: what is open over a screen, how it is moved in and drawn. What
 * follows from an answer is not known here: src/ui/dialog_answer.c carries it out.
 *
 * Invariant: at most one is open. Core thread only. */
#ifndef UI_DIALOG_H
#define UI_DIALOG_H

#include "prompt.h"
#include "scroll.h"

#include <kprof/core/tier.h>
#include <kprof/ui/intent.h>

enum dialog_mode { DIALOG_NONE, DIALOG_PROMPT, DIALOG_MENU, DIALOG_QUESTION };

/* What is being typed. */
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
    PROMPT_PRESET
};

/* What is being chosen. */
enum menu_use { MENU_SORT, MENU_ENTRY, MENU_PICK, MENU_COLUMNS };

#define MENU_ITEMS (TIER_MAX + 2)

struct menu {
    enum menu_use use;
    enum intent_kind pick; /* of MENU_PICK */
    const char *title;
    char item[MENU_ITEMS][160];
    size_t name_bytes[MENU_ITEMS]; /* of an item; what follows says more about it */
    size_t n;
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
    char title[64]; /* of a prompt with one of its own */
    char offer[32], hint[64];
    struct menu menu;
    struct question question;
};

void dialog_prompt(struct dialog *d, enum prompt_use use, const char *text);
/* With a title of its own, which is copied. */
void dialog_prompt_titled(struct dialog *d, enum prompt_use use, const char *title,
                          const char *text);
/* What Enter takes of the prompt just opened while nothing is typed; "": nothing. Copied. */
void dialog_offer(struct dialog *d, const char *text);

/* The same; what is typed first replaces the text. */
void dialog_propose(struct dialog *d, enum prompt_use use, const char *text);
bool dialog_is_export(enum prompt_use use);

/* title: constant */
struct menu *dialog_menu(struct dialog *d, enum menu_use use, const char *title);
void menu_add(struct menu *m, const char *item); /* beyond MENU_ITEMS: left out */
/* After the name of the last item, from column 24 on where the name is short. */
void menu_add_more(struct menu *m, const char *more);

void dialog_question(struct dialog *d, const char *text, const struct intent *yes);

void dialog_close(struct dialog *d);
/* line_row: where a prompt or a question is; a menu is in the middle of what is above it. */
void dialog_draw(struct dialog *d, struct canvas *c, int line_row);
void dialog_release(struct dialog *d);

#endif
