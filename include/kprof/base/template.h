/* Replaces the variable parts of a text, so that many URLs share a few names.
 *
 * Invariant: reads at most TEMPLATE_READS bytes, allocates nothing, and writes at most
 * TEMPLATE_BYTES bytes (without NUL) and at most 3 bytes more than the text has. The name consists
 * of bytes of the text in their order, with '*' or '#' in place of some of them and "..." at a cut;
 * it contains no control character that the text does not contain. The function is idempotent: the
 * name of a name is that name. The text may contain any bytes. Pure; any thread. */
#ifndef KPROF_BASE_TEMPLATE_H
#define KPROF_BASE_TEMPLATE_H

#include <stddef.h>

enum {
    TEMPLATE_READS = 256,  /* bytes; a text of this size or more counts as cut */
    TEMPLATE_BYTES = 264,  /* the longest name */
    TEMPLATE_SEGMENTS = 8, /* of a path; "..." stands for the others */
    TEMPLATE_WORD = 64     /* longer segments and words count as ids */
};

/* Names a path or URL, without query, fragment and user. '*' replaces each segment (and each part
 * of one between punctuation) that is a number, a date, a UUID, hexadecimal of 8 or more digits, or
 * 16 or more characters that look random: the last segment of "/api/item/1781.json?x=1" becomes
 * "*.json". Scheme, host and port stay. The name of an empty path is "/". Returns the bytes
 * written. */
size_t template_path(const char *text, size_t n, char out[TEMPLATE_BYTES]);

/* Names any text: '#' replaces each run of digits and the same kinds of words. Returns the bytes
 * written. */
size_t template_shape(const char *text, size_t n, char out[TEMPLATE_BYTES]);

#endif
