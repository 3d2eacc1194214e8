/* Fuzzy matching as fzf does it: a term matches a text that has its characters in that order.
 *
 * A query is terms separated by blanks; all must match. Smart case: a term with an upper-case
 * letter is matched as it stands, any other without regard to case (ASCII). Bytes are compared, so
 * UTF-8 matches itself. Scores after fzf's FuzzyMatchV1 (github.com/junegunn/fzf, src/algo/algo.go:
 * points for a match, for the start of a word, for what stands together, less for gaps), and the
 * best of a term's occurrences in one piece, if that is better. Pure; any thread; allocates
 * nothing. */
#ifndef KPROF_BASE_FUZZY_H
#define KPROF_BASE_FUZZY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZY_BYTES 128
#define FUZZY_TERMS (FUZZY_BYTES / 2)

struct fuzzy {
    char text[FUZZY_BYTES]; /* what is longer is cut */
    struct {
        uint8_t at, len; /* in text */
        bool as_is;
    } term[FUZZY_TERMS];
    size_t n;      /* terms; 0 matches everything */
    uint64_t need; /* fuzzy_mask of all terms */
};

void fuzzy_set(struct fuzzy *q, const char *text);
/* Which characters s has, roughly: a text without all bits of q->need cannot match. */
uint64_t fuzzy_mask(const char *s, size_t n);
/* -1: no match; else the higher the better. */
int fuzzy_score(const struct fuzzy *q, const char *s, size_t n);
/* Sets hit[i] for each byte of s[0..n) that the match uses; false and nothing set: no match. */
bool fuzzy_marks(const struct fuzzy *q, const char *s, size_t n, bool *hit);

#endif
