/* The table of keys: the action of each key, the screens where it is valid, and its text in the key
 * bar and the help. The tables in README and in the manual page are made from it, too (make docs).
 *
 * Invariant: in one context a key has one meaning. The table is constant; any thread. Keys that
 * type text (prompts) are not in the table. */
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
    ACT_COLUMNS,
    ACT_THEME,
    ACT_SORT_LEFT,
    ACT_SORT_RIGHT,
    ACT_REVERSE,
    ACT_FILTER,
    ACT_TOGGLE,
    ACT_WINDOW,
    ACT_PAUSE,
    ACT_ZERO,
    ACT_EXPORT,
    ACT_SAVE,
    ACT_LOAD,
    ACT_ADD,
    ACT_TYPE_TIER,
    ACT_PRESETS,
    ACT_REMOVE,
    ACT_ENTRY,
    ACT_IDENTITY,
    ACT_TEMPLATE,
    ACT_CAPTURE,
    ACT_SHORTER,
    ACT_LONGER,
    ACT_LESS,
    ACT_MORE,
    ACT_SHAPE,
    ACT_AGAIN,
    ACT_WHY,
    ACT_COMPARE,
    ACT_THRESHOLD,
    ACT_NEXT,
    ACT_PREVIOUS,
    ACT_EARLIER,
    ACT_LATER,
    ACT_NOW,
    ACT_TIME_RANGE,
    ACT_NEXT_ROW,
    ACT_PREV_ROW,
    ACT_FINER,
    ACT_COARSER,
    ACT_TAKE,
    ACT_RESET,
    ACT_SAME,
    ACT_HALVES,
    ACT_WIDTH,
    ACT_GROUP,
    ACT_LINES,
    ACT_UPSIDE_DOWN,
    ACT_CHOOSE,
    ACT_STATUSES,
    ACT_KEEP,
    ACT_TRIGGER,
    ACT_FLAME_OF,
    ACT_EVENT_LATER, /* the next VM event */
    ACT_EVENT_EARLIER,
    ACT_INSIDE,
    ACT_SUBSECOND,
    ACT_BEGIN_MARK,
    ACT_OPEN_CALL,
    ACT_FULL,
    ACT_SAMPLE_UP,
    ACT_SAMPLE_DOWN,
    ACT_MAILBOX,
    ACT_ACCEPT,
    ACT_CANCEL,
    ACT_COMPLETE,
    ACT_TICK,
    ACT_RELOAD,
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
    CTX_PICK = 256,
    CTX_HEAT = 512,
    CTX_DIST = 1024,
    CTX_FLAME = 2048,
    CTX_WATERFALL = 4096,
    CTX_ARGUMENTS = 8192,
    CTX_OPEN = 16384,
    CTX_INTERNALS = 32768,
    CTX_SUBSECOND = 65536,
    CTX_PROCESSES = 131072,
    CTX_PARTS = 262144,
    CTX_NODES = 524288, /* the choice of a node, before anything else */
    CTX_FINDINGS = 1048576,
    CTX_FULL_ASK = 2097152,
    CTX_FULL = 4194304,
    CTX_FULL_LINE = 8388608,
    CTX_FULL_SCREENS = CTX_FULL_ASK | CTX_FULL | CTX_FULL_LINE,
    CTX_SCREENS = CTX_TABLE | CTX_SLOW | CTX_LOG | CTX_WATERFALL | CTX_HEAT | CTX_DIST | CTX_OPEN |
                  CTX_INTERNALS | CTX_PROCESSES | CTX_PARTS | CTX_FINDINGS,
    CTX_SCROLL =
        CTX_SCREENS | CTX_HELP | CTX_ARGUMENTS | CTX_FLAME | CTX_SUBSECOND | CTX_FULL_SCREENS
};

struct key_def {
    int key[3];        /* enum key in input.h or code points; 0: none */
    const char *shown; /* as the help and the bar write it */
    const char *bar;   /* NULL: not in the bar */
    const char *help;  /* NULL: not in the help (a variant of another line) */
    const char *group; /* heading in the help */
    enum action act;
    unsigned contexts;
};

enum action keys_find(unsigned context, int key);
const struct key_def *keys_all(size_t *n); /* in the order of bar and help */
/* Every group of the table, in the order of the help, README and manual page. */
const char *const *keys_groups(size_t *n);

#endif
