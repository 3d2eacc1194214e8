/* The menus and the question of the table, and the changes that its own menus make. Core thread
 * only. */
#ifndef UI_TABLE_MENUS_H
#define UI_TABLE_MENUS_H

#include "shared.h"
#include "table_state.h"

void table_menus_sort(struct ui_shared *sh);
void table_menus_sort_done(struct ui_shared *sh, size_t item);

void table_menus_columns(const struct table_state *t, struct ui_shared *sh);
/* Gives the selected column its next state: auto, shown, hidden. */
void table_menus_column_next(struct table_state *t, struct ui_shared *sh);

void table_menus_entry(struct ui_shared *sh, const struct snapshot *s);
/* Asks y/n before a tier is removed. A tier without calls loses no values: the result is then the
 * intent for app that removes it at once. */
struct intent table_menus_remove(struct ui_shared *sh, const struct snap_row *r);

#endif
