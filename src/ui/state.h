/* What the ui remembers between keys and pictures. Private to the ui room.
 *
 * Invariant: nothing here points into a snapshot. One thread. */
#ifndef UI_STATE_H
#define UI_STATE_H

#include "columns.h"
#include "pick.h"
#include "prompt.h"
#include "screen.h"
#include "scroll.h"
#include "view.h"

#include <kprof/base/value_tree.h>
#include <kprof/core/tier.h>
#include <kprof/ui/ui.h>

enum ui_mode { MODE_SCREEN, MODE_PROMPT, MODE_MENU, MODE_QUESTION };
enum prompt_use {
    PROMPT_EXPORT,
    PROMPT_TIER,
    PROMPT_IDENTITY,
    PROMPT_SAVE,
    PROMPT_FILTER,
    PROMPT_SLOW_FILTER,
    PROMPT_SLOW_EXPORT,
    PROMPT_SLOW,
    PROMPT_TIME_RANGE,
    PROMPT_PRESET
};
enum menu_use { MENU_SORT, MENU_ENTRY, MENU_PICK, MENU_COLUMNS };

struct table_state {
    struct scroll at;
    uint64_t key, groups[2]; /* the selected row, its groups as tree and as pivot, */
    bool has_key;            /* if there is one */
    bool pivot, reverse;
    int sort;
    enum column_state columns[COLUMNS_MAX];
    char filter[128];
    struct folds folds[2]; /* tree, pivot */
    struct column_set set; /* of the last picture, */
    int title_row;         /* its titles; -1: none */
    bool trends;           /* the last picture had columns of them */
};

/* The stretch of time that all screens show, in seconds of the history. */
struct time_range {
    uint64_t end_s;                         /* 0: now */
    uint64_t length_s;                      /* 0: as the window says */
    uint64_t now_length_s;                  /* length_s as it was before */
    uint64_t paused_s;                      /* where now was when the picture was held still */
    uint64_t zero_wall_ns, oldest_s, now_s; /* as of when the prompt was opened */
};

struct heat_state {
    uint64_t end_s;  /* of the map; 0: now */
    size_t step;     /* seconds a column, as number of a list */
    bool has_cursor; /* else it is at the newest column */
    uint64_t cursor_s;
    size_t cursor_bin;
    struct rect area; /* of the last picture */
};

struct slow_state {
    struct scroll at;
    uint64_t seq; /* the selected one; 0: the newest, whatever it is */
    struct slow_filter filter;
};

struct open_state {
    struct scroll at;
    uint64_t pid, start_ns; /* the selected call; 0: the oldest, whatever it is */
    uint64_t stack;         /* whose stack is shown; 0: nobody's */
    bool dead, asked;
    char lines[4096]; /* of the stack */
};

struct waterfall_state {
    uint64_t id; /* of the kept request */
    struct scroll at;
};

/* A capture, and where in it the operator points. */
struct argument_picker_state {
    struct capture got; /* got.set is ours */
    uint16_t tier;
    uint32_t call, prefix; /* prefix in bytes; 0: all of the part */
    struct scroll at;      /* among the nodes of the call */
};

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

struct ui {
    struct ui_opts opts;
    char target[256];
    const struct screen_ops *screen;
    enum ui_mode mode;
    enum theme theme;
    bool paused, slow_focus;
    bool window_asked; /* window: the one last asked for, the snapshot may lag behind */
    enum window window;
    struct table_state table;
    struct slow_state slow;
    struct waterfall_state waterfall;
    struct open_state open;
    struct time_range time_range;
    struct heat_state heat;
    int cols, bar_row; /* of the last picture; -1: no bar */
    struct scroll log, help;
    struct pick pick;
    struct argument_picker_state argument_picker;
    struct prompt prompt;
    enum prompt_use prompt_use;
    char profile[80];        /* the name it was saved under or loaded from last */
    char rule[PROMPT_BYTES]; /* the identity rule in force, or typed since, on one line */
    const char *rule_why;    /* NULL, or why it cannot be on one */
    struct menu menu;
    const struct screen_ops *asked_on; /* where the last menu of app's was asked for, or NULL */
    struct question question;
    char message[512];
    bool message_error;
};

/* src/ui/header.c: the rows it takes, and the header itself (with the line of trouble, if any). */
int header_rows(const struct snapshot *s, int rows);
void header_draw(const struct ui *u, struct canvas *c, int n_rows, const struct snapshot *s);

/* src/ui/bar.c: the key bar of a context. */
void bar_draw(struct canvas *c, int row, unsigned context, const char *extra);
/* The key whose entry is drawn at col of a bar without extra, `cols` wide; 0: none. */
int bar_key_at(int cols, unsigned context, int col);

/* src/ui/ui.c: the keys that are valid now. */
unsigned ui_bar_context(const struct ui *u);

/* src/ui/table.c, shared with its keys (src/ui/table_keys.c). */
void table_view(const struct ui *u, const struct snapshot *s, struct view *v);
void table_find_selection(struct table_state *t, const struct view *v);
const struct snap_row *table_selected(struct ui *u, const struct snapshot *s); /* NULL: none */
bool table_has_tier(const struct snapshot *s); /* a row beside _total */
/* A title line for a screen about one row: its names, and its function where there is room; returns
 * the columns used. */
int table_row_title(struct canvas *c, struct rect a, const struct snap_row *r);
bool table_on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                  struct intent *out);

bool table_move(struct ui *u, enum action act, const struct snapshot *s); /* selects another row */

/* src/ui/moment.c */
void time_range_forget(struct ui *u);
void time_range_set(struct ui *u, uint64_t from_s, uint64_t to_s); /* closed seconds */
bool time_range_on_key(struct ui *u, enum action act, const struct snapshot *s, struct intent *out);
/* What was typed; false: error. */
bool time_range_typed(struct ui *u, const char *text, char *error, size_t cap);
void time_range_clock(const struct snapshot *s, uint64_t sec, char *out); /* FORMAT_BYTES */
void time_range_text(const struct snapshot *s, char *out, size_t cap);    /* of one that is past */

/* src/ui/bins.c: bins of base/scale, several a line. */
size_t bins_per(size_t low, size_t n, size_t lines); /* so that bins low .. low + n - 1 fit */
size_t bins_group(size_t bin, size_t per);
size_t bins_first(size_t group, size_t per);
void bins_mark(size_t group, size_t per, char *out); /* where it begins; FORMAT_BYTES */

/* src/ui/heat.c: which part of the map it needs. */
void heat_view_query(const struct ui *u, struct view_query *l);

/* src/ui/slow.c: the pane under the table. rows includes its title. A screen that knows a moment
 * sets the filter's time and opens screen_slow; Esc there takes the filter off again. */
void slow_pane_draw(struct ui *u, struct canvas *c, struct rect area, const struct snapshot *s);
void slow_ask_threshold(struct ui *u, const struct snapshot *s); /* prompts for it */
/* Why no slow call is there that ended in this time of our wall clock; true: another threshold
 * would help from now on. */
bool slow_why_none(const struct snapshot *s, uint64_t from_ns, uint64_t to_ns, char *out,
                   size_t cap);
bool slow_on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                 struct intent *out);

/* src/ui/fall.c: shows a kept request; false: it is not in s. */
bool waterfall_open(struct ui *u, const struct snapshot *s, uint64_t id);

/* src/ui/point.c: begins to capture calls of the tier, and goes to that screen. */
void argument_picker_open(struct ui *u, uint16_t tier, struct intent *out);

/* src/ui/dialog.c: prompts, menus and questions. */
void dialog_rule(struct ui *u); /* edits the identity rule, or says why that cannot be */
void dialog_prompt(struct ui *u, enum prompt_use use, const char *text);
void dialog_sort_menu(struct ui *u);
void dialog_columns_menu(struct ui *u);
void dialog_entry_menu(struct ui *u, const struct snapshot *s);
void dialog_remove(struct ui *u, const struct snap_row *r);
struct intent dialog_key(struct ui *u, int key);
void dialog_draw(struct ui *u, struct canvas *c, int line_row);

#endif
