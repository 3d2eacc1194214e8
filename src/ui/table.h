/* The main screen: the table of rows, and under it the slow calls. Which rows, in which order, and
 * which is selected is shared by all screens (src/ui/rows.h). Core thread only. */
#ifndef UI_TABLE_H
#define UI_TABLE_H

#include "screen.h"

extern const struct screen_ops screen_table; /* its state: struct table_state */

#endif
