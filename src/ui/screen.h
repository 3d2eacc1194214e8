/* A screen: one table of operations, one line in the registry (src/ui/screens.c).
 *
 * draw gets the area left by header, message line and key bar (or all above the key bar if `whole`)
 * and may only remember where it drew; on_key gets what ui.c did not take and returns whether it
 * was for it. */
#ifndef UI_SCREEN_H
#define UI_SCREEN_H

#include <kprof/core/snapshot.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/keys.h>
#include <kprof/ui/ui.h>

struct rect {
    int row, col, rows, cols;
};

struct scroll;

struct screen_ops {
    const char *name;
    int key; /* opens it, by ACT_SCREEN or ACT_HELP in keys.c; 0: the main screen, or opened from
                another */
    unsigned context; /* its keys */
    bool whole;       /* draws without the header */
    void (*draw)(struct ui *u, struct canvas *c, struct rect area, const struct snapshot *s);
    bool (*on_key)(struct ui *u, int key, enum action act, const struct snapshot *s,
                   struct intent *out);
    struct scroll *(*list)(struct ui *u); /* whose lines can be clicked; NULL: none */
    /* A click that is on no line of the list; true: it meant something. May be NULL. */
    bool (*on_click)(struct ui *u, int row, int col, const struct snapshot *s);
};

extern const struct screen_ops screen_table, screen_slow, screen_waterfall, screen_log, screen_help,
    screen_pick, screen_heat, screen_dist, screen_argument_picker, screen_open;

const struct screen_ops *screen_main(void);
const struct screen_ops *screen_at(size_t i);    /* all that there are; NULL past the last */
const struct screen_ops *screen_by_key(int key); /* NULL: none */

#endif
