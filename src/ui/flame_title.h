/* Texts that describe what the flame graph and the sub-second heat map show: widths, amounts, time
 * ranges, the filter. Pure. */
#ifndef UI_FLAME_TITLE_H
#define UI_FLAME_TITLE_H

#include "flame_state.h"

bool flame_title_is_time(enum flame_by by, enum stack_unit unit); /* the samples are times */
/* An amount of that width: "1204", or "1.2s". out: FORMAT_BYTES */
void flame_title_amount(char *out, enum flame_by by, enum stack_unit unit, uint64_t n);
/* "03:04:05.600-03:04:05.800" */
void flame_title_range(struct buf *out, const struct stack_view *v, uint64_t from_ns,
                       uint64_t to_ns);
/* Which samples are shown, to add to a title; nothing: all. time: with the range of time. */
void flame_title_filter(struct buf *out, const struct flame_state *t, bool time);

#endif
