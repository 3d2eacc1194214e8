/* The functions of a node that match the typed text, and the ticked functions.
 *
 * Invariant: a selected or ticked function stays selected or ticked while the catalog grows. The
 * list borrows the catalog and owns the rest. It uses no node: the caller passes a catalog. Core
 * thread only. */
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
    struct scroll at; /* the typed functions, then the lines of `found` */
    bool by_calls;    /* the list is sorted by calls per second */
    bool walking;     /* the arrows were used: Space ticks, and the selected function is kept */
    uint32_t kept;    /* number of the selected function while `walking` */
    bool called_by;   /* only functions that a tier calls: `tier`, with this name, in the waterfall
                         `trace` */
    uint16_t tier;
    uint64_t trace;
    char name[TIER_NAME_BYTES];
    char *tick[TIER_MAX]; /* as shown */
    size_t ticks;
};

void pick_list_init(struct pick_list *p);
void pick_list_release(struct pick_list *p);
void pick_list_open(struct pick_list *p);   /* resets the list: nothing typed, nothing ticked */
void pick_list_reload(struct pick_list *p); /* call when the catalog is loaded again */
/* c: borrowed until the next call; NULL: none. Call this again when the catalog has changed. */
void pick_list_set_catalog(struct pick_list *p, const struct catalog *c);
void pick_list_update(struct pick_list *p); /* call when the typed text has changed */
/* Sorts by calls per second, or by the typed text again. */
void pick_list_sort(struct pick_list *p);
/* call when the selection was moved: it stays on its function */
void pick_list_keep(struct pick_list *p);
/* Stores the functions whose calls are to be counted: those that were drawn last; if the list is
 * sorted by calls, its first ones. */
size_t pick_list_in_sight(const struct pick_list *p, uint32_t *ids, size_t max);

/* The lines of the list. The first pick_list_typed of them are the typed text: a function, or
 * several, separated by spaces. text has CATALOG_TEXT_BYTES. */
size_t pick_list_count(const struct pick_list *p);
size_t pick_list_typed(const struct pick_list *p);
const char *pick_list_line(const struct pick_list *p, size_t i, char *text);

bool pick_list_is_ticked(const struct pick_list *p, const char *text);
/* Ticks or unticks. False: there are TIER_MAX ticks, and one more does not fit. */
bool pick_list_flip(struct pick_list *p, const char *text);
/* Ticks or unticks the selected line, then moves by step (1 or -1). False: as pick_list_flip. */
bool pick_list_tick(struct pick_list *p, int step);
void pick_list_drop_ticks(struct pick_list *p);

#endif
