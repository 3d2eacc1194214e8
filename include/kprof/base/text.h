/* Text that is safe to draw: valid UTF-8, printable, measured in terminal columns.
 *
 * Invariant: nothing that leaves here holds a control character (C0, DEL, C1), an invalid byte, or
 * a bidirectional override; each such is shown as '?' when ascii, else U+FFFD. Pure; any thread. */
#ifndef KPROF_BASE_TEXT_H
#define KPROF_BASE_TEXT_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Next code point of s[0..n): returns bytes used (>= 1); *cp is UINT32_MAX for an invalid byte. */
size_t text_next(const char *s, size_t n, uint32_t *cp);
/* Columns a code point takes: 0 (combining), 1, 2; -1 when it must not be drawn. */
int text_cp_width(uint32_t cp);
/* Appends s made safe, at most max_cols columns (0: no limit); cut text ends in ".." (ascii) or an
 * ellipsis. Returns the columns appended. */
size_t text_safe(struct buf *out, const char *s, size_t n, size_t max_cols, bool ascii);
/* The same, but what does not fit is cut out of the middle: names that differ in their ends only
 * can still be told apart. max_cols > 0. */
size_t text_middle(struct buf *out, const char *s, size_t n, size_t max_cols, bool ascii);
size_t text_width(const char *s, size_t n); /* columns of s once made safe */
/* Case-insensitive (ASCII) substring; empty needle matches. */
bool text_contains(const char *hay, const char *needle);

#endif
