#include "no_effect.h"

#include <kprof/ui/input.h>
#include <stdio.h>

static void name_key(int key, char *out, size_t cap)
{
    static const struct {
        int key;
        const char *name;
    } known[] = {{'\n', "Enter"},
                 {'\r', "Enter"},
                 {'\t', "Tab"},
                 {27, "Esc"},
                 {' ', "Space"},
                 {KEY_UP_, "Up"},
                 {KEY_DOWN_, "Down"},
                 {KEY_LEFT_, "Left"},
                 {KEY_RIGHT_, "Right"},
                 {KEY_PGUP_, "PgUp"},
                 {KEY_PGDN_, "PgDn"},
                 {KEY_HOME_, "Home"},
                 {KEY_END_, "End"},
                 {KEY_DELETE_, "Del"},
                 {KEY_BACKSPACE_, "Backspace"},
                 {KEY_BTAB_, "Shift-Tab"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].key == key) {
            snprintf(out, cap, "%s", known[i].name);
            return;
        }
    }
    if (key > 0 && key < ' ') {
        snprintf(out, cap, "^%c", key + '@');
    } else if (key > ' ' && key < 127) {
        snprintf(out, cap, "%c", key);
    } else {
        snprintf(out, cap, "this key");
    }
}

static const char *edge(enum action act, size_t line)
{
    switch (act) {
    case ACT_UP:
    case ACT_PGUP:
    case ACT_HOME:
        return "this is the first line";
    case ACT_DOWN:
    case ACT_PGDN:
    case ACT_END:
        return line == 0 ? "this is the only line" : "this is the last line";
    default:
        return NULL;
    }
}

void no_effect_say(struct message *m, int key, enum action act, bool refused, const char *instead,
                   size_t line)
{
    char text[80], name[16];
    if (m->text[0]) {
        return;
    }
    const char *why = refused && act ? "this key has no effect here" : edge(act, line);
    if (refused && act == ACT_NONE) {
        name_key(key, name, sizeof name);
        snprintf(text, sizeof text, "%s has no effect here: %s", name, instead);
        why = text;
    }
    if (why) {
        message_set(m, why, refused);
    }
}
