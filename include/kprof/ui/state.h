/* What the ui remembers between keys and pictures. Private to the ui room.
 *
 * Invariant: nothing here points into a snapshot. One thread. */
#ifndef KPROF_UI_STATE_H
#define KPROF_UI_STATE_H

#include <kprof/core/tier.h>
#include <kprof/ui/prompt.h>
#include <kprof/ui/screen.h>
#include <kprof/ui/ui.h>
#include <kprof/ui/view.h>

enum ui_mode { MODE_SCREEN, MODE_PROMPT, MODE_MENU, MODE_ASK };
enum prompt_use { PROMPT_EXPORT, PROMPT_TIER, PROMPT_IDENTITY, PROMPT_FILTER };
enum menu_use { MENU_SORT, MENU_ENTRY };

/* A list of which one line is selected; keeps that line in sight. */
struct scroll {
    size_t sel, top;
    size_t page; /* lines shown by the last picture */
};

struct table_state {
    struct scroll at;
    uint64_t key, groups[2]; /* the selected row, its groups as tree and as pivot, */
    bool has_key;            /* if there is one */
    bool pivot, reverse;
    int sort;
    char filter[128];
    struct folds folds[2]; /* tree, pivot */
};

struct slow_state {
    struct scroll at;
    uint64_t seq; /* the selected one; 0: the newest, whatever it is */
};

#define MENU_ITEMS (TIER_MAX + 2)

struct menu {
    enum menu_use use;
    const char *title;
    char item[MENU_ITEMS][80];
    size_t n;
    struct scroll at;
};

struct ask {
    char text[700];
    struct intent yes;
};

struct ui {
    struct ui_opts opts;
    char target[256];
    const struct screen_ops *screen;
    enum ui_mode mode;
    bool paused, slow_focus;
    bool window_asked; /* window: the one last asked for, the snapshot may lag behind */
    enum window window;
    struct table_state table;
    struct slow_state slow;
    struct scroll log, help;
    struct prompt prompt;
    enum prompt_use prompt_use;
    char rule[PROMPT_BYTES]; /* the identity rule last typed */
    struct menu menu;
    struct ask ask;
    char message[512];
    bool message_error;
};

/* src/ui/scroll.c */
bool scroll_key(struct scroll *a, enum action act, size_t n); /* false: not a movement */
void scroll_fit(struct scroll *a, size_t n,
                size_t page); /* sel and top into range; page remembered */

/* src/ui/header.c: the rows it takes, and the header itself (with the line of trouble, if any). */
int header_rows(const struct snapshot *s, int rows);
void header_draw(const struct ui *u, struct canvas *c, int n_rows, const struct snapshot *s);

/* src/ui/bar.c: the key bar of a context. */
void bar_draw(struct canvas *c, int row, unsigned context, const char *extra);

/* src/ui/table.c, shared with its keys (src/ui/table_keys.c). */
void table_view(const struct ui *u, const struct snapshot *s, struct view *v);
void table_find_selection(struct table_state *t, const struct view *v);
const struct snap_row *table_selected(struct ui *u, const struct snapshot *s); /* NULL: none */
bool table_on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                  struct intent *out);

/* src/ui/slow.c: the pane under the table. rows includes its title. */
void slow_pane_draw(struct ui *u, struct canvas *c, struct rect area, const struct snapshot *s);
bool slow_on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                 struct intent *out);

/* src/ui/dialog.c: prompts, menus and questions. */
void dialog_prompt(struct ui *u, enum prompt_use use, const char *text);
void dialog_sort_menu(struct ui *u);
void dialog_entry_menu(struct ui *u, const struct snapshot *s);
void dialog_remove(struct ui *u, const struct snap_row *r);
struct intent dialog_key(struct ui *u, int key);
void dialog_draw(struct ui *u, struct canvas *c, int line_row);

#endif
