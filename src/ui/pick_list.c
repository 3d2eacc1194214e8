#include "pick_list.h"

#include <ctype.h>
#include <kprof/base/buf.h>
#include <stdlib.h>
#include <string.h>

void pick_list_drop_ticks(struct pick_list *p)
{
    while (p->ticks) {
        free(p->tick[--p->ticks]);
    }
}

void pick_list_init(struct pick_list *p)
{
    catalog_filter_init(&p->found);
}

void pick_list_release(struct pick_list *p)
{
    pick_list_drop_ticks(p);
    catalog_filter_release(&p->found);
    prompt_release(&p->query);
}

static void forget(struct pick_list *p)
{
    catalog_filter_forget(&p->found);
    p->catalog = NULL;
    p->walking = false;
}

void pick_list_open(struct pick_list *p)
{
    pick_list_drop_ticks(p);
    forget(p);
    p->by_calls = false;
    memset(&p->at, 0, sizeof p->at);
    prompt_open(&p->query, "Find", "parts of a name, separated by spaces; case is ignored", "");
}

/* --- the list --- */

/* True for a text of the form [NAME=]M:F/A; app checks it. */
static bool is_function(const char *s)
{
    s += prompt_name_bytes(s);
    const char *slash = strrchr(s, '/');
    size_t digits = slash ? strspn(slash + 1, "0123456789") : 0;
    if (!slash || slash == s || digits == 0 || digits > 3 || slash[1 + digits]) {
        return false;
    }
    size_t head = strcspn(s, ":.");
    return head > 0 && s + head + 1 < slash;
}

/* Copies word i of the typed text. Words are separated by spaces. False: there are not so many. */
static bool typed_word(const struct pick_list *p, size_t i, char *out)
{
    const char *s = p->query.text + strspn(p->query.text, " ");
    for (; i > 0 && *s; i--) {
        s += strcspn(s, " ");
        s += strspn(s, " ");
    }
    size_t n = strcspn(s, " ");
    memcpy(out, s, n);
    out[n] = 0;
    return n > 0;
}

_Static_assert(PROMPT_BYTES <= CATALOG_TEXT_BYTES, "a word fits");

/* Several functions, as in a pasted list; 0: not every word is one. */
static size_t typed_functions(const struct pick_list *p)
{
    char word[CATALOG_TEXT_BYTES];
    size_t n = 0;
    for (; typed_word(p, n, word); n++) {
        if (n == TIER_MAX || !is_function(word)) {
            return 0;
        }
    }
    return n > 1 ? n : 0;
}

size_t pick_list_typed(const struct pick_list *p)
{
    char text[CATALOG_TEXT_BYTES];
    size_t several = typed_functions(p);
    if (several || !is_function(p->query.text)) {
        return several;
    }
    for (size_t i = 0; p->catalog && i < catalog_filter_count(&p->found) && i < 10; i++) {
        catalog_text(p->catalog, catalog_filter_at(&p->found, i), text);
        if (strcmp(text, p->query.text) == 0) {
            return 0;
        }
    }
    return 1;
}

size_t pick_list_count(const struct pick_list *p)
{
    return pick_list_typed(p) + catalog_filter_count(&p->found);
}

const char *pick_list_line(const struct pick_list *p, size_t i, char *text)
{
    size_t typed = pick_list_typed(p);
    if (i >= typed) {
        catalog_text(p->catalog, catalog_filter_at(&p->found, i - typed), text);
        return text;
    }
    if (typed == 1) {
        return p->query.text;
    }
    typed_word(p, i, text);
    return text;
}

void pick_list_keep(struct pick_list *p)
{
    size_t typed = pick_list_typed(p), n = pick_list_count(p);
    if (p->walking && p->at.sel >= typed && p->at.sel < n) {
        p->kept = catalog_filter_at(&p->found, p->at.sel - typed);
    }
}

/* After an arrow key, the selected line stays selected; otherwise the best match is selected. */
void pick_list_update(struct pick_list *p)
{
    catalog_filter_update(&p->found, p->catalog, p->query.text);
    if (p->by_calls && p->catalog) {
        catalog_filter_by_calls(&p->found, p->catalog);
    }
    size_t typed = pick_list_typed(p), n = catalog_filter_count(&p->found);
    if (!p->walking) {
        p->at.sel = 0;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (catalog_filter_at(&p->found, i) == p->kept) {
            p->at.sel = typed + i;
            return;
        }
    }
}

void pick_list_sort(struct pick_list *p)
{
    p->by_calls = !p->by_calls;
    p->at.top = 0;
    catalog_filter_forget(&p->found);
    pick_list_update(p);
}

void pick_list_reload(struct pick_list *p)
{
    forget(p);
    pick_list_update(p);
}

void pick_list_set_catalog(struct pick_list *p, const struct catalog *c)
{
    if (c != p->catalog) {
        catalog_filter_forget(&p->found);
        p->walking = false;
    }
    p->catalog = c;
    pick_list_update(p);
}

size_t pick_list_in_sight(const struct pick_list *p, uint32_t *ids, size_t max)
{
    size_t typed = pick_list_typed(p), n = 0, found = catalog_filter_count(&p->found);
    if (!p->catalog) {
        return 0;
    }
    for (; p->by_calls && n < found && n < max; n++) {
        ids[n] = catalog_filter_at(&p->found, n);
    }
    if (p->by_calls) {
        return n;
    }
    for (size_t i = p->at.top; i < p->at.top + p->at.page && n < max; i++) {
        if (i >= typed && i < pick_list_count(p)) {
            ids[n++] = catalog_filter_at(&p->found, i - typed);
        }
    }
    return n;
}

/* --- ticks --- */

bool pick_list_is_ticked(const struct pick_list *p, const char *text)
{
    for (size_t i = 0; i < p->ticks; i++) {
        if (strcmp(p->tick[i], text) == 0) {
            return true;
        }
    }
    return false;
}

bool pick_list_flip(struct pick_list *p, const char *text)
{
    for (size_t i = 0; i < p->ticks; i++) {
        if (strcmp(p->tick[i], text) == 0) {
            free(p->tick[i]);
            memmove(&p->tick[i], &p->tick[i + 1], (--p->ticks - i) * sizeof p->tick[0]);
            return true;
        }
    }
    if (p->ticks == TIER_MAX)
        return false;
    p->tick[p->ticks++] = buf_dup(text);
    return true;
}

bool pick_list_tick(struct pick_list *p, int step)
{
    char text[CATALOG_TEXT_BYTES];
    if (p->at.sel >= pick_list_count(p)) {
        return true;
    }
    bool fits = pick_list_flip(p, pick_list_line(p, p->at.sel, text));
    p->walking = true;
    scroll_key(&p->at, step > 0 ? ACT_DOWN : ACT_UP, pick_list_count(p));
    pick_list_keep(p);
    return fits;
}
