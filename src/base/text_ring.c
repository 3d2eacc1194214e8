#include <kprof/base/text_ring.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, MAX_WORDS = TEXT_RING_MAX_BYTES / WORD, LEAST_WORDS = 8192 };

/* A handle is the number of the text's first word, counted from 1 over all words ever written: a
 * word with the length, then the text. `begun` is increased before words are overwritten (release).
 * A reader that reads it after the words (acquire) knows whether the words still belonged to that
 * text: a seqlock (Boehm, "Can seqlocks get along with programming language memory models?", 2012).
 */
struct text_ring {
    _Atomic uint64_t *word;
    uint64_t words;         /* a power of 2 */
    _Atomic uint64_t begun; /* words written or about to be */
    uint64_t next;          /* of the writer */
};

struct text_ring *text_ring_new(size_t bytes)
{
    struct text_ring *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->words = LEAST_WORDS;
    while (s->words * WORD < bytes)
        s->words *= 2;
    s->word = calloc(s->words, sizeof *s->word);
    if (!s->word)
        abort();
    s->next = 1;
    return s;
}

void text_ring_free(struct text_ring *s)
{
    if (!s)
        return;
    free(s->word);
    free(s);
}

uint64_t text_ring_add(struct text_ring *s, const char *text, size_t n)
{
    uint64_t handle = s->next, w;

    n = n > TEXT_RING_MAX_BYTES ? TEXT_RING_MAX_BYTES : n;
    s->next += 1 + (n + WORD - 1) / WORD;
    atomic_store_explicit(&s->begun, s->next, memory_order_relaxed);
    atomic_store_explicit(&s->word[handle & (s->words - 1)], n, memory_order_release);
    for (size_t i = 0; i * WORD < n; i++) {
        size_t left = n - i * WORD;
        w = 0;
        memcpy(&w, text + i * WORD, left < WORD ? left : WORD);
        atomic_store_explicit(&s->word[(handle + 1 + i) & (s->words - 1)], w, memory_order_release);
    }
    return handle;
}

bool text_ring_get(const struct text_ring *s, uint64_t handle, char *out, size_t cap_bytes)
{
    uint64_t got[MAX_WORDS], n;

    if (handle == 0 || cap_bytes == 0)
        return false;
    n = atomic_load_explicit(&s->word[handle & (s->words - 1)], memory_order_acquire);
    n = n > TEXT_RING_MAX_BYTES ? TEXT_RING_MAX_BYTES : n;
    for (size_t i = 0; i * WORD < n; i++)
        got[i] =
            atomic_load_explicit(&s->word[(handle + 1 + i) & (s->words - 1)], memory_order_acquire);
    uint64_t begun = atomic_load_explicit(&s->begun, memory_order_relaxed);
    if (handle >= begun || begun - handle > s->words)
        return false;
    n = n < cap_bytes - 1 ? n : cap_bytes - 1;
    memcpy(out, got, n);
    out[n] = 0;
    return true;
}
