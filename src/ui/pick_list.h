/* The functions of a node that match what is typed, and those that are ticked.
 *
 * Invariant: what is selected or ticked stays so while the catalog grows. Borrows the catalog,
 * which is app's; owns the rest. Knows no node: it is handed a catalog. Core thread only. */
#ifndef UI_PICK_LIST_H
#define UI_PICK_LIST_H

#include "prompt.h"
#include "scroll.h"

#include <kprof/core/catalog_filter.h>
#include <kprof/core/tier.h>

struct pick_list {
    const struct catalog *catalog; /* NULL: none yet */
    struct catalog_filter found;
    struct prompt query;
    struct scroll at;     /* line 0 is what was typed, if that is a function; then `found` */
    bool walking;         /* the arrows were used: Space ticks, and the selected function is kept */
    uint32_t kept;        /* its number, while walking on the list */
    char *tick[TIER_MAX]; /* as shown */
    size_t ticks;
};

void pick_list_init(struct pick_list *p);
void pick_list_release(struct pick_list *p);
void pick_list_open(struct pick_list *p);   /* anew: nothing is typed, nothing ticked */
void pick_list_reload(struct pick_list *p); /* the catalog comes anew */
/* c: borrowed until the next call, NULL: none. Called again when it has changed. */
void pick_list_set_catalog(struct pick_list *p, const struct catalog *c);
void pick_list_update(struct pick_list *p); /* another text was typed */
void pick_list_keep(struct pick_list *p);   /* the selection was moved: it stays on its function */
/* Functions that were drawn last. */
size_t pick_list_in_sight(const struct pick_list *p, uint32_t *ids, size_t max);

/* Lines, of which the first pick_list_typed are what was typed. text has CATALOG_TEXT_BYTES. */
size_t pick_list_count(const struct pick_list *p);
size_t pick_list_typed(const struct pick_list *p);
const char *pick_list_line(const struct pick_list *p, size_t i, char *text);

bool pick_list_is_ticked(const struct pick_list *p, const char *text);
void pick_list_flip(struct pick_list *p, const char *text);
void pick_list_tick(struct pick_list *p, int step); /* the selected one, and on by step (1 or -1) */
void pick_list_drop_ticks(struct pick_list *p);

#endif
