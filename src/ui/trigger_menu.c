#include "trigger_menu.h"

static const struct {
    const char *item, *help;
    enum prompt_use prompt;
} items[] = {
    {"sample stacks", "for 30 s, then pause for 1 min; F shows them", PROMPT_TRIGGER_SAMPLE},
    {"record", "the last minute and 30 s more, to a file", PROMPT_TRIGGER_RECORD},
};

enum { ITEMS = sizeof items / sizeof *items };

void trigger_menu_ask(struct dialog *d, bool set)
{
    struct menu *m = dialog_menu(d, MENU_TRIGGER, "When a condition holds");
    for (size_t i = 0; i < ITEMS; i++) {
        menu_add(m, items[i].item);
        menu_add_more(m, items[i].help);
    }
    if (set) {
        menu_add(m, "remove the trigger");
    }
}

struct intent trigger_menu_picked(struct dialog *d)
{
    struct intent in = {.kind = INTENT_REDRAW};
    size_t i = d->menu.at.sel;
    if (i < ITEMS) {
        dialog_prompt(d, items[i].prompt, "");
    } else {
        in.kind = INTENT_TRIGGER_END;
    }
    return in;
}
