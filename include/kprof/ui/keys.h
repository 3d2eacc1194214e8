/* The one table of keys: what each does, where, what the key bar and the help say about it.
 *
 * Invariant: in one context a key means one thing. The table is constant; any thread. A key that
 * types text (prompts) is not in it. */
#ifndef KPROF_UI_KEYS_H
#define KPROF_UI_KEYS_H

#include <stddef.h>

enum action {
    ACT_NONE, /* not a command here */
    ACT_QUIT,
    ACT_HELP,
    ACT_BACK,
    ACT_SCREEN,
    ACT_UP,
    ACT_DOWN,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_PGUP,
    ACT_PGDN,
    ACT_HOME,
    ACT_END,
    ACT_OPEN,
    ACT_FOLD_ALL,
    ACT_PIVOT,
    ACT_FOCUS,
    ACT_SORT,
    ACT_SORT_LEFT,
    ACT_SORT_RIGHT,
    ACT_REVERSE,
    ACT_FILTER,
    ACT_TOGGLE,
    ACT_WINDOW,
    ACT_PAUSE,
    ACT_ZERO,
    ACT_EXPORT,
    ACT_ADD,
    ACT_REMOVE,
    ACT_ENTRY,
    ACT_IDENTITY,
    ACT_WHY,
    ACT_SAMPLE_UP,
    ACT_SAMPLE_DOWN,
    ACT_ACCEPT,
    ACT_CANCEL,
    ACT_COMPLETE,
    ACT_YES,
    ACT_NO
};

enum key_context {
    CTX_TABLE = 1,
    CTX_SLOW = 2,
    CTX_LOG = 4,
    CTX_HELP = 8,
    CTX_PROMPT = 16,
    CTX_MENU = 32,
    CTX_ASK = 64,
    CTX_TYPING = 128, /* a prompt without completions */
    CTX_SCREENS = CTX_TABLE | CTX_SLOW | CTX_LOG,
    CTX_SCROLL = CTX_SCREENS | CTX_HELP
};

struct key_def {
    int key[3];        /* enum key in canvas.h or code points; 0: none */
    const char *shown; /* as the help and the bar write it */
    const char *bar;   /* NULL: not in the bar */
    const char *help;  /* NULL: not in the help (a variant of another line) */
    const char *group; /* heading in the help */
    enum action act;
    unsigned contexts;
};

enum action keys_find(unsigned context, int key);
const struct key_def *keys_all(size_t *n); /* in the order of bar and help */

#endif
