/* Fuzzy matching in the manner of fzf: a term matches a text that contains the characters of the
 * term in the same order.
 *
 * A query consists of terms separated by blanks; all terms must match. Smart case: a term with an
 * upper-case letter is case-sensitive, any other term is not (ASCII only). Bytes are compared, so
 * UTF-8 matches itself. The score of a term follows the FuzzyMatchV1 of fzf
 * (github.com/junegunn/fzf, src/algo/algo.go: points for a match, for the start of a word and for
 * adjacent characters, fewer for gaps). If a contiguous occurrence of the whole term has a higher
 * score, that score counts. Pure; any thread; allocates nothing. */
#ifndef KPROF_BASE_FUZZY_H
#define KPROF_BASE_FUZZY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZY_BYTES 128
#define FUZZY_TERMS (FUZZY_BYTES / 2)

struct fuzzy {
    char text[FUZZY_BYTES]; /* a longer query is cut */
    struct {
        uint8_t at, len; /* in text */
        bool as_is;
    } term[FUZZY_TERMS];
    size_t n;      /* terms; 0 matches everything */
    uint64_t need; /* fuzzy_mask of all terms */
};

void fuzzy_set(struct fuzzy *q, const char *text);
/* Returns an approximate mask of the characters in s. A text whose mask does not contain all bits
 * of q->need cannot match. */
uint64_t fuzzy_mask(const char *s, size_t n);
/* Returns -1 when s does not match, else a score; a higher score is a better match. */
int fuzzy_score(const struct fuzzy *q, const char *s, size_t n);
/* Sets hit[i] for each byte of s[0..n) that the match uses. Returns false and sets nothing when s
 * does not match. */
bool fuzzy_marks(const struct fuzzy *q, const char *s, size_t n, bool *hit);

#endif
