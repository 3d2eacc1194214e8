/* Names of texts by their shape, so that a million URLs are a few names.
 *
 * Invariant: reads at most TEMPLATE_READS bytes, allocates nothing, writes at most TEMPLATE_BYTES
 * (no NUL), at most 3 more than the text has. What it writes are bytes of the text in their order,
 * with '*' or '#' for some of them, and "..." at a cut: no control character that was not there. A
 * text that is such a name stays as it is. The text may hold any bytes. Pure; any thread. */
#ifndef KPROF_BASE_TEMPLATE_H
#define KPROF_BASE_TEMPLATE_H

#include <stddef.h>

enum {
    TEMPLATE_READS = 256,  /* bytes; a text that has as many is taken for one that was cut */
    TEMPLATE_BYTES = 264,  /* of a name, at most */
    TEMPLATE_SEGMENTS = 8, /* of a path; the rest is "..." */
    TEMPLATE_WORD = 64     /* longer segments and words are ids */
};

/* A path or URL without query, fragment and user. A segment, or a part of it between punctuation,
 * is '*' when it is a number, a date, a UUID, hexadecimal of 8 digits or more, or 16 characters or
 * more that look random: of "/api/item/1781.json?x=1" the last segment is "*.json". Scheme, host
 * and port stay. An empty path is "/". Gives the bytes written. */
size_t template_path(const char *text, size_t n, char out[TEMPLATE_BYTES]);

/* Any text: '#' for each run of digits and for the same kinds of words. */
size_t template_shape(const char *text, size_t n, char out[TEMPLATE_BYTES]);

#endif
