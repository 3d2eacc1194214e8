#include "menu_type.h"

#include <kprof/base/text.h>
#include <kprof/ui/input.h>
#include <string.h>
#include <strings.h>

static bool find(struct menu *m, const char *text, bool begins)
{
    for (size_t i = 0; i < m->n; i++) {
        const char *name = m->item[i] + m->name_from;
        if (begins ? strncasecmp(name, text, strlen(text)) == 0 : text_contains(name, text)) {
            m->at.sel = i;
            return true;
        }
    }
    return false;
}

static bool jump(struct menu *m, const char *text, bool command)
{
    return find(m, text, true) || (!command && find(m, text, false));
}

bool menu_type(struct menu *m, int key, enum action act)
{
    size_t n = strlen(m->typed);
    if (key == KEY_BACKSPACE_ && n > 0) {
        m->typed[n - 1] = 0;
        jump(m, m->typed, false);
        return true;
    }
    bool ticks = key == ' ' && (n == 0 || m->use == MENU_COLUMNS);
    if (key < ' ' || key > 126 || ticks) {
        m->typed[0] = 0;
        return false;
    }
    char text[sizeof m->typed];
    size_t last = n + 1 < sizeof text ? n : n - 1;
    memcpy(text, m->typed, sizeof text);
    text[last] = (char)key;
    text[last + 1] = 0;
    if (jump(m, text, n == 0 && act != ACT_NONE)) {
        memcpy(m->typed, text, sizeof text);
        return true;
    }
    return n > 0 || act == ACT_NONE;
}

void menu_select(struct menu *m, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; n > 0 && i < m->n; i++) {
        char after = m->item[i][n];
        if (strncmp(m->item[i], name, n) == 0 && (after == 0 || after == ' ')) {
            m->at.sel = i;
            return;
        }
    }
}
