#include <kprof/core/catalog_filter.h>

#include <assert.h>
#include <kprof/base/fuzzy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key, from the top: 18 bits of score (less is better), 2 origin, 1 not called, 17 length, 26
 * number. */
enum { ID_BITS = 26, LEN_BITS = 17, CALLED_BITS = 1, ORIGIN_BITS = 2, SCORE_BITS = 18 };
/* Bonus of a function that is called. */
enum { CALLED_POINTS = 8 };
/* Bonus by origin; it grows with the length of the typed text. It is larger than those for the
 * start of a word and for a called function, but smaller than that for a contiguous match. */
static const struct {
    int once, each, place;
} START[] = {
    [CATALOG_OWN] = {20, 4, 0}, [CATALOG_LIBRARY] = {8, 2, 1}, [CATALOG_PLATFORM] = {0, 0, 2}};
#define SCORE_MAX ((1 << SCORE_BITS) - 1)

_Static_assert(CATALOG_FUNCTIONS_MAX < 1u << ID_BITS, "a number fits its bits");
_Static_assert(CATALOG_TEXT_BYTES < 1 << LEN_BITS, "a length fits its bits");
_Static_assert(SCORE_BITS + ORIGIN_BITS + CALLED_BITS + LEN_BITS + ID_BITS == 64, "all bits");

void catalog_filter_init(struct catalog_filter *s)
{
    memset(s, 0, sizeof *s);
}

void catalog_filter_release(struct catalog_filter *s)
{
    free(s->key);
    free(s->spare);
    catalog_filter_init(s);
}

void catalog_filter_forget(struct catalog_filter *s)
{
    s->seen = 0;
    s->n = 0;
}

static void make_room(struct catalog_filter *s, size_t n)
{
    if (n <= s->room)
        return;
    s->room = n + n / 2 + 1024;
    s->key = realloc(s->key, s->room * sizeof *s->key);
    s->spare = realloc(s->spare, s->room * sizeof *s->spare);
    if (!s->key || !s->spare)
        abort();
}

static int letters(const struct fuzzy *q)
{
    size_t sum = 0;

    for (size_t i = 0; i < q->n; i++)
        sum += q->term[i].len;
    return (int)sum;
}

static bool key_of(const struct fuzzy *q, const struct catalog *c, uint32_t id, uint64_t *key)
{
    char text[CATALOG_TEXT_BYTES];
    enum catalog_origin origin = catalog_origin(c, id);
    bool called = catalog_rate(c, id) > 0;
    int score = 0;
    size_t len = 0;

    if (q->need & ~catalog_mask(c, id))
        return false;
    if (q->n) {
        len = catalog_text(c, id, text);
        score = fuzzy_score(q, text, len);
        if (score < 0)
            return false;
        score += START[origin].once + START[origin].each * letters(q);
        score += called ? CALLED_POINTS : 0;
        score = score < SCORE_MAX ? score : SCORE_MAX;
    }
    uint64_t top = (uint64_t)(SCORE_MAX - score) << ORIGIN_BITS | (uint64_t)START[origin].place;
    *key = (top << CALLED_BITS | !called) << (LEN_BITS + ID_BITS) | (uint64_t)len << ID_BITS | id;
    return true;
}

/* Radix sort by bytes; a byte that all keys share costs one pass over the counts. */
static void sort(struct catalog_filter *s)
{
    static const size_t bytes = sizeof(uint64_t);

    for (size_t b = 0; b < bytes; b++) {
        size_t at[256] = {0}, sum = 0;
        unsigned shift = (unsigned)(8 * b);
        for (size_t i = 0; i < s->n; i++)
            at[s->key[i] >> shift & 255]++;
        if (s->n && at[s->key[0] >> shift & 255] == s->n)
            continue;
        for (size_t i = 0; i < 256; i++) {
            size_t n = at[i];
            at[i] = sum;
            sum += n;
        }
        for (size_t i = 0; i < s->n; i++)
            s->spare[at[s->key[i] >> shift & 255]++] = s->key[i];
        uint64_t *was = s->key;
        s->key = s->spare;
        s->spare = was;
    }
}

void catalog_filter_update(struct catalog_filter *s, const struct catalog *c, const char *text)
{
    struct fuzzy q;
    uint32_t count = c ? catalog_count(c) : 0;
    bool same = strcmp(s->text, text) == 0;
    bool narrower = strncmp(s->text, text, strlen(s->text)) == 0;

    if (same && s->seen == count)
        return;
    fuzzy_set(&q, text);
    make_room(s, count);
    if (s->seen > count || !narrower)
        catalog_filter_forget(s);
    if (!same) {
        size_t kept = 0;
        for (size_t i = 0; i < s->n; i++)
            kept += key_of(&q, c, catalog_filter_at(s, i), &s->key[kept]);
        s->n = kept;
    }
    for (uint32_t id = s->seen; id < count; id++)
        s->n += key_of(&q, c, id, &s->key[s->n]);
    s->seen = count;
    snprintf(s->text, sizeof s->text, "%s", text);
    sort(s);
}

struct called {
    float per_s;
    uint64_t key;
};

static int by_rate(const void *a, const void *b)
{
    const struct called *x = a, *y = b;

    return x->per_s != y->per_s ? (x->per_s < y->per_s ? 1 : -1)
                                : (x->key > y->key) - (x->key < y->key);
}

void catalog_filter_by_calls(struct catalog_filter *s, const struct catalog *c)
{
    struct called *called = malloc((s->n + 1) * sizeof *called);
    size_t n = 0, others = 0;

    if (!called)
        abort();
    for (size_t i = 0; i < s->n; i++) {
        float per_s = catalog_rate(c, catalog_filter_at(s, i));
        if (per_s > 0)
            called[n++] = (struct called){per_s, s->key[i]};
        else
            s->spare[others++] = s->key[i];
    }
    qsort(called, n, sizeof *called, by_rate);
    for (size_t i = 0; i < n; i++)
        s->key[i] = called[i].key;
    if (others)
        memcpy(s->key + n, s->spare, others * sizeof *s->key);
    free(called);
}

size_t catalog_filter_count(const struct catalog_filter *s)
{
    return s->n;
}

uint32_t catalog_filter_at(const struct catalog_filter *s, size_t i)
{
    assert(i < s->n);
    return (uint32_t)(s->key[i] & ((UINT64_C(1) << ID_BITS) - 1));
}
