/* Text that is safe to draw: valid UTF-8, printable, measured in terminal columns.
 *
 * Invariant: the output contains no control character (C0, DEL, C1), no invalid byte and no
 * bidirectional override; '?' (when `ascii` is set) or U+FFFD replaces each of them. Pure; any
 * thread. */
#ifndef KPROF_BASE_TEXT_H
#define KPROF_BASE_TEXT_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the next code point of s[0..n). Returns the bytes used (>= 1); *cp is UINT32_MAX for an
 * invalid byte. */
size_t text_next(const char *s, size_t n, uint32_t *cp);
/* Returns the columns that a code point takes: 0 (combining), 1, 2; -1 when it must not be
 * drawn. */
int text_cp_width(uint32_t cp);
/* Appends s, made safe and cut to max_cols columns (0: no limit). A cut text ends in ".." (ascii)
 * or an ellipsis. Returns the columns appended. */
size_t text_safe(struct buf *out, const char *s, size_t n, size_t max_cols, bool ascii);
/* Like text_safe, but a text that does not fit is cut in the middle, so names that differ only at
 * their ends stay distinguishable. max_cols > 0. */
size_t text_middle(struct buf *out, const char *s, size_t n, size_t max_cols, bool ascii);
size_t text_width(const char *s, size_t n); /* columns of s after it is made safe */
/* Reports whether hay contains needle, without regard to case (ASCII). An empty needle matches. */
bool text_contains(const char *hay, const char *needle);

#endif
