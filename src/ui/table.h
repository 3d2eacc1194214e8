/* The main screen: the table of rows, and the slow requests under it. All screens share the rows,
 * their order and the selected row (src/ui/rows.h). Core thread only. */
#ifndef UI_TABLE_H
#define UI_TABLE_H

#include "screen.h"

extern const struct screen_ops screen_table; /* its state: struct table_state */

#endif
