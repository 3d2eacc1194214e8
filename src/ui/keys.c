#include <kprof/ui/canvas.h>
#include <kprof/ui/keys.h>

#define ESC 27

static const char seeing[] = "Seeing", moving[] = "Moving", tracing[] = "Tracing",
                  other[] = "Other";

/* The bar shows what fits from the left, so what is needed most comes first. */
static const struct key_def table[] = {
    {{'?', KEY_F1_}, "?", "help", "this page", other, ACT_HELP, CTX_SCREENS},
    {{'q'},
     "q",
     "quit",
     "quit; everything is taken off the node again",
     other,
     ACT_QUIT,
     CTX_SCREENS},
    {{'t', ' '}, "t", "on/off", "tracing on or off (also Space)", tracing, ACT_TOGGLE, CTX_SCREENS},
    {{'a'}, "a", "add", "add a tier: type a function, Tab completes", tracing, ACT_ADD, CTX_TABLE},
    {{'w'},
     "w",
     "window",
     "next window: 1s 10s 1m 5m 30m 60m 3h run",
     seeing,
     ACT_WINDOW,
     CTX_SCREENS},
    {{'s'}, "s", "sort", "choose the column to sort by", seeing, ACT_SORT, CTX_TABLE},
    {{'/'},
     "/",
     "filter",
     "show only names that contain a text; Esc clears",
     seeing,
     ACT_FILTER,
     CTX_TABLE},
    {{'v'},
     "v",
     "pivot",
     "tiers with their identities, or identities with their tiers",
     seeing,
     ACT_PIVOT,
     CTX_TABLE},
    {{'\n', '\r'},
     "Enter",
     "fold",
     "fold or unfold a tier; in the slow pane: all of it",
     seeing,
     ACT_OPEN,
     CTX_TABLE},
    {{'p'},
     "p",
     "pause",
     "hold the picture still; tracing goes on",
     seeing,
     ACT_PAUSE,
     CTX_SCREENS},
    {{'e'}, "e", "export", "write what is shown to a file", other, ACT_EXPORT, CTX_SCREENS},
    {{'z'}, "z", "zero", "forget all figures and start anew", tracing, ACT_ZERO, CTX_SCREENS},
    {{'<'}, "<", NULL, "sort by the column to the left", seeing, ACT_SORT_LEFT, CTX_TABLE},
    {{'>'}, ">", NULL, "sort by the column to the right", seeing, ACT_SORT_RIGHT, CTX_TABLE},
    {{'r'}, "r", "reverse", "reverse the order", seeing, ACT_REVERSE, CTX_TABLE},
    {{'f'}, "f", NULL, "fold or unfold all", seeing, ACT_FOLD_ALL, CTX_TABLE},
    {{'E'}, "E", "entry", "choose the tier that starts a request", tracing, ACT_ENTRY, CTX_TABLE},
    {{'i'}, "i", "identity", "type the rule that names requests", tracing, ACT_IDENTITY, CTX_TABLE},
    {{'d'}, "d", "remove", "remove the selected tier", tracing, ACT_REMOVE, CTX_TABLE},
    {{'y'}, "y", "why", "ask why the selected tier is empty", tracing, ACT_WHY, CTX_TABLE},
    {{'+', '='}, "+", NULL, "sample more requests", tracing, ACT_SAMPLE_UP, CTX_SCREENS},
    {{'-'}, "-", NULL, "sample fewer requests", tracing, ACT_SAMPLE_DOWN, CTX_SCREENS},
    {{'\t', KEY_BTAB_}, "Tab", NULL, "to the slow calls and back", seeing, ACT_FOCUS, CTX_TABLE},
    {{'S'},
     "S",
     "slow",
     "slow calls on the whole screen, with their tiers",
     seeing,
     ACT_SCREEN,
     CTX_SCREENS},
    {{'M'}, "M", "messages", "what happened so far", seeing, ACT_SCREEN, CTX_SCREENS},
    {{ESC}, "Esc", "back", "back; clears filter and message", moving, ACT_BACK, CTX_SCREENS},
    {{KEY_UP_, 'k'}, "Up k", NULL, "a line up", moving, ACT_UP, CTX_SCROLL},
    {{KEY_DOWN_, 'j'}, "Down j", NULL, "a line down", moving, ACT_DOWN, CTX_SCROLL},
    {{KEY_LEFT_, 'h'},
     "Left h",
     NULL,
     "fold; on an identity: to its tier",
     moving,
     ACT_LEFT,
     CTX_TABLE},
    {{KEY_RIGHT_, 'l'},
     "Right l",
     NULL,
     "unfold; on an open tier: its first identity",
     moving,
     ACT_RIGHT,
     CTX_TABLE},
    {{KEY_PGUP_, 2}, "PgUp ^B", NULL, "a page up", moving, ACT_PGUP, CTX_SCROLL},
    {{KEY_PGDN_, 6}, "PgDn ^F", NULL, "a page down", moving, ACT_PGDN, CTX_SCROLL},
    {{KEY_HOME_, 'g'}, "Home g", NULL, "to the first line", moving, ACT_HOME, CTX_SCROLL},
    {{KEY_END_, 'G'}, "End G", NULL, "to the last line", moving, ACT_END, CTX_SCROLL},

    {{'q', ESC, '?'}, "q", "close", NULL, NULL, ACT_BACK, CTX_HELP},
    {{KEY_F1_, '\n', ' '}, "", NULL, NULL, NULL, ACT_BACK, CTX_HELP},
    {{KEY_DOWN_}, "Up Down PgUp PgDn", "scroll", NULL, NULL, ACT_DOWN, CTX_HELP},

    {{'\n'}, "Enter", "ok", NULL, NULL, ACT_ACCEPT, CTX_PROMPT | CTX_TYPING | CTX_MENU},
    {{ESC}, "Esc", "cancel", NULL, NULL, ACT_CANCEL, CTX_PROMPT | CTX_TYPING | CTX_MENU},
    {{'q'}, "", NULL, NULL, NULL, ACT_CANCEL, CTX_MENU},
    {{'\t'}, "Tab", "complete", NULL, NULL, ACT_COMPLETE, CTX_PROMPT},
    {{KEY_UP_, 'k'}, "Up Down", "choose", NULL, NULL, ACT_UP, CTX_MENU},
    {{KEY_DOWN_, 'j'}, "", NULL, NULL, NULL, ACT_DOWN, CTX_MENU},
    {{KEY_PGUP_}, "", NULL, NULL, NULL, ACT_PGUP, CTX_MENU},
    {{KEY_PGDN_}, "", NULL, NULL, NULL, ACT_PGDN, CTX_MENU},
    {{KEY_HOME_, 'g'}, "", NULL, NULL, NULL, ACT_HOME, CTX_MENU},
    {{KEY_END_, 'G'}, "", NULL, NULL, NULL, ACT_END, CTX_MENU},
    {{'y', 'Y'}, "y", "yes", NULL, NULL, ACT_YES, CTX_ASK},
    {{'n', 'N', ESC}, "n", "no", NULL, NULL, ACT_NO, CTX_ASK},
};

enum action keys_find(unsigned context, int key)
{
    for (size_t i = 0; key != 0 && i < sizeof table / sizeof *table; i++) {
        const struct key_def *k = &table[i];
        if (!(k->contexts & context)) {
            continue;
        }
        if (k->key[0] == key || k->key[1] == key || k->key[2] == key) {
            return k->act;
        }
    }
    return ACT_NONE;
}

const struct key_def *keys_all(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}
