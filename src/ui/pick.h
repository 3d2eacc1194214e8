/* The picker: functions of the node, found by typing, several ticked, then added as tiers.
 *
 * Invariant: what is selected or ticked stays so while the catalog grows. Borrows the catalog,
 * which is app's; owns the rest. Knows no node: it is handed a catalog and gives intents. Private
 * to the ui room. One thread. */
#ifndef UI_PICK_H
#define UI_PICK_H

#include "prompt.h"
#include "screen.h"
#include "scroll.h"

#include <kprof/core/catalog_filter.h>
#include <kprof/core/tier.h>

struct pick {
    const struct catalog *catalog; /* NULL: none yet */
    struct catalog_filter found;
    struct prompt query;
    struct scroll at;     /* line 0 is what was typed, if that is a function; then `found` */
    bool walking;         /* the arrows were used: Space ticks, and the selected function is kept */
    uint32_t kept;        /* its number, while walking on the list */
    char *tick[TIER_MAX]; /* as shown */
    size_t ticks;
};

void pick_open(struct ui *u);
void pick_release(struct pick *p);
void pick_draw(struct ui *u, struct canvas *c, struct rect a, const struct snapshot *s);

/* For its picture: lines of the list, of which the first pick_typed_lines are what was typed. text
 * has CATALOG_TEXT_BYTES. */
size_t pick_lines(const struct pick *p);
size_t pick_typed_lines(const struct pick *p);
const char *pick_line(const struct pick *p, size_t i, char *text);
bool pick_is_ticked(const struct pick *p, const char *text);

#endif
