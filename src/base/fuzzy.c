#include <kprof/base/fuzzy.h>

#include <stdio.h>
#include <string.h>

enum {
    POINTS_MATCH = 16,
    POINTS_GAP = -3, /* the first byte of a gap; then each further one */
    POINTS_GAP_MORE = -1,
    POINTS_START = 10, /* the start of the text */
    POINTS_PART = 9,   /* after : . or / */
    POINTS_WORD = 8,   /* the start of a word */
    POINTS_HUMP = 7,   /* the start of a word in camelCase */
    POINTS_TOGETHER = 4
};

static inline bool is_upper(char c)
{
    return (unsigned)c - 'A' < 26u;
}

static inline bool is_lower(char c)
{
    return (unsigned)c - 'a' < 26u;
}

static inline bool is_word(char c)
{
    return is_lower(c) || is_upper(c) || (unsigned)c - '0' < 10u || ((unsigned char)c & 0x80);
}

static inline char folded(char c)
{
    return is_upper(c) ? (char)(c | 0x20) : c;
}

static inline bool same(char term, char text, bool as_is)
{
    return term == (as_is ? text : folded(text));
}

static void add_term(struct fuzzy *q, size_t at, size_t len)
{
    bool as_is = false;

    for (size_t i = at; i < at + len; i++)
        as_is = as_is || is_upper(q->text[i]);
    q->term[q->n].at = (uint8_t)at;
    q->term[q->n].len = (uint8_t)len;
    q->term[q->n++].as_is = as_is;
}

void fuzzy_set(struct fuzzy *q, const char *text)
{
    memset(q, 0, sizeof *q);
    snprintf(q->text, sizeof q->text, "%s", text);
    for (size_t at = 0; q->text[at];) {
        size_t len = strcspn(q->text + at, " ");
        if (len)
            add_term(q, at, len);
        at += len + strspn(q->text + at + len, " ");
    }
    q->need = 0;
    for (size_t i = 0; i < q->n; i++)
        q->need |= fuzzy_mask(q->text + q->term[i].at, q->term[i].len);
}

uint64_t fuzzy_mask(const char *s, size_t n)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < n; i++) {
        char c = folded(s[i]);
        unsigned bit = is_lower(c)              ? (unsigned)(c - 'a')
                       : (c >= '0' && c <= '9') ? 26u + (unsigned)(c - '0')
                                                : 36u + (unsigned char)c % 28u;
        mask |= UINT64_C(1) << bit;
    }
    return mask;
}

/* Bonus of a match at s[i] for its position. */
static inline int place(const char *s, size_t i)
{
    if (!is_word(s[i]))
        return 0;
    if (i == 0)
        return POINTS_START;
    if (!is_word(s[i - 1]))
        return s[i - 1] == ':' || s[i - 1] == '.' || s[i - 1] == '/' ? POINTS_PART : POINTS_WORD;
    return is_upper(s[i]) && is_lower(s[i - 1]) ? POINTS_HUMP : 0;
}

/* A match of a term: it is s[from..to), and no match from `from` on ends earlier. */
struct way {
    const char *t;
    size_t m;
    bool as_is;
    size_t from, to; /* of the text */
};

/* The shortest match that ends where the term can first end. */
static bool first_way(struct way *w, const char *s, size_t n)
{
    size_t k = 0, i = 0;

    for (; i < n && k < w->m; i++)
        k += same(w->t[k], s[i], w->as_is);
    if (k < w->m)
        return false;
    w->to = i;
    while (k > 0)
        k -= same(w->t[k - 1], s[--i], w->as_is);
    w->from = i;
    return true;
}

static int way_score(const struct way *w, const char *s, bool *hit)
{
    int score = 0, chunk = 0;
    bool gap = false, together = false;
    size_t k = 0;

    for (size_t i = w->from; i < w->to && k < w->m; i++) {
        if (!same(w->t[k], s[i], w->as_is)) {
            score += gap ? POINTS_GAP_MORE : POINTS_GAP;
            gap = true;
            together = false;
            continue;
        }
        int bonus = place(s, i);
        if (!together)
            chunk = bonus > POINTS_TOGETHER ? bonus : POINTS_TOGETHER;
        else if (bonus < chunk)
            bonus = chunk;
        score += POINTS_MATCH + (k == 0 ? 2 * bonus : bonus);
        if (hit)
            hit[i] = true;
        together = true;
        gap = false;
        k++;
    }
    return score > 0 ? score : 0;
}

/* The score of the term's contiguous occurrence at s[i]. */
static int piece_score(const char *s, size_t i, size_t m)
{
    int first = place(s, i), each = first > POINTS_TOGETHER ? first : POINTS_TOGETHER;
    int score = POINTS_MATCH + 2 * first;

    for (size_t k = 1; k < m; k++) {
        int bonus = place(s, i + k);
        score += POINTS_MATCH + (bonus > each ? bonus : each);
    }
    return score;
}

/* The best contiguous occurrence, if it is better than `best`. */
static void better_piece(struct way *w, const char *s, size_t n, int *best)
{
    for (size_t i = w->from; i + w->m <= n; i++) {
        size_t k = 0;
        while (k < w->m && same(w->t[k], s[i + k], w->as_is))
            k++;
        int score = k == w->m ? piece_score(s, i, w->m) : 0;
        if (score > *best) {
            *best = score;
            w->from = i;
            w->to = i + w->m;
        }
    }
}

static int term_score(const struct fuzzy *q, size_t i, const char *s, size_t n, struct way *w)
{
    w->t = q->text + q->term[i].at;
    w->m = q->term[i].len;
    w->as_is = q->term[i].as_is;
    if (!first_way(w, s, n))
        return -1;
    bool whole = w->to - w->from == w->m;
    int best = whole ? piece_score(s, w->from, w->m) : way_score(w, s, NULL);
    better_piece(w, s, n, &best);
    return best;
}

int fuzzy_score(const struct fuzzy *q, const char *s, size_t n)
{
    struct way w;
    int sum = 0;

    for (size_t i = 0; i < q->n; i++) {
        int score = term_score(q, i, s, n, &w);
        if (score < 0)
            return -1;
        sum += score;
    }
    return sum;
}

bool fuzzy_marks(const struct fuzzy *q, const char *s, size_t n, bool *hit)
{
    struct way w;

    if (fuzzy_score(q, s, n) < 0)
        return false;
    for (size_t i = 0; i < q->n; i++) {
        term_score(q, i, s, n, &w);
        way_score(&w, s, hit);
    }
    return true;
}
