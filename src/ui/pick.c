#include <kprof/ui/pick.h>

#include <ctype.h>
#include <kprof/base/buf.h>
#include <kprof/ui/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_ticks(struct pick *p)
{
    while (p->ticks) {
        free(p->tick[--p->ticks]);
    }
}

void pick_release(struct pick *p)
{
    drop_ticks(p);
    catalog_filter_release(&p->found);
    prompt_release(&p->query);
}

void pick_open(struct ui *u)
{
    struct pick *p = &u->pick;
    drop_ticks(p);
    catalog_filter_forget(&p->found);
    p->catalog = NULL;
    p->walking = false;
    memset(&p->at, 0, sizeof p->at);
    prompt_open(&p->query, "Find", "parts of a name, separated by spaces; case is ignored", "");
    u->screen = &screen_pick;
    u->slow_focus = false;
}

/* --- the list --- */

/* Something like [NAME=]M:F/A: app knows whether it is one. */
static bool typed_function(const struct pick *p)
{
    const char *s = p->query.text + prompt_name_bytes(&p->query);
    const char *slash = strrchr(s, '/');
    size_t digits = slash ? strspn(slash + 1, "0123456789") : 0;
    if (!slash || slash == s || digits == 0 || digits > 3 || slash[1 + digits]) {
        return false;
    }
    size_t head = strcspn(s, ":.");
    return head > 0 && s + head + 1 < slash;
}

size_t pick_typed_lines(const struct pick *p)
{
    char text[CATALOG_TEXT_BYTES];
    if (!typed_function(p)) {
        return 0;
    }
    for (size_t i = 0; p->catalog && i < catalog_filter_count(&p->found) && i < 10; i++) {
        catalog_text(p->catalog, catalog_filter_at(&p->found, i), text);
        if (strcmp(text, p->query.text) == 0) {
            return 0;
        }
    }
    return 1;
}

size_t pick_lines(const struct pick *p)
{
    return pick_typed_lines(p) + catalog_filter_count(&p->found);
}

const char *pick_line(const struct pick *p, size_t i, char *text)
{
    size_t typed = pick_typed_lines(p);
    if (i < typed) {
        return p->query.text;
    }
    catalog_text(p->catalog, catalog_filter_at(&p->found, i - typed), text);
    return text;
}

static void keep_selected(struct pick *p)
{
    size_t typed = pick_typed_lines(p), n = pick_lines(p);
    if (p->walking && p->at.sel >= typed && p->at.sel < n) {
        p->kept = catalog_filter_at(&p->found, p->at.sel - typed);
    }
}

/* Where a person walks, the line stays under them; else the best is selected. */
static void update(struct pick *p)
{
    catalog_filter_update(&p->found, p->catalog, p->query.text);
    size_t typed = pick_typed_lines(p), n = catalog_filter_count(&p->found);
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

void ui_set_catalog(struct ui *u, const struct catalog *c)
{
    struct pick *p = &u->pick;
    if (c != p->catalog) {
        catalog_filter_forget(&p->found);
        p->walking = false;
    }
    p->catalog = c;
    update(p);
}

size_t ui_pick_wanted(const struct ui *u, uint32_t *ids, size_t max)
{
    const struct pick *p = &u->pick;
    size_t typed = pick_typed_lines(p), n = 0;
    if (u->screen != &screen_pick || !p->catalog) {
        return 0;
    }
    for (size_t i = p->at.top; i < p->at.top + p->at.page && n < max; i++) {
        if (i >= typed && i < pick_lines(p)) {
            ids[n++] = catalog_filter_at(&p->found, i - typed);
        }
    }
    return n;
}

/* --- ticks --- */

bool pick_is_ticked(const struct pick *p, const char *text)
{
    for (size_t i = 0; i < p->ticks; i++) {
        if (strcmp(p->tick[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void flip(struct pick *p, const char *text)
{
    for (size_t i = 0; i < p->ticks; i++) {
        if (strcmp(p->tick[i], text) == 0) {
            free(p->tick[i]);
            memmove(&p->tick[i], &p->tick[i + 1], (--p->ticks - i) * sizeof p->tick[0]);
            return;
        }
    }
    if (p->ticks < TIER_MAX)
        p->tick[p->ticks++] = buf_dup(text);
}

static void tick(struct pick *p, int step)
{
    char text[CATALOG_TEXT_BYTES];
    if (p->at.sel >= pick_lines(p)) {
        return;
    }
    flip(p, pick_line(p, p->at.sel, text));
    p->walking = true;
    scroll_key(&p->at, step > 0 ? ACT_DOWN : ACT_UP, pick_lines(p));
    keep_selected(p);
}

const char *ui_picked(const struct ui *u, size_t i)
{
    return i < u->pick.ticks ? u->pick.tick[i] : NULL;
}

/* --- keys --- */

static void leave(struct ui *u, struct intent *out)
{
    u->screen = screen_main();
    out->kind = INTENT_CATALOG_CLOSE;
}

static void cancel(struct ui *u, struct intent *out)
{
    const struct catalog *c = u->pick.catalog;
    if (c && catalog_status(c)->state == CATALOG_LOADING) {
        out->kind = INTENT_CATALOG_STOP;
        return;
    }
    drop_ticks(&u->pick);
    leave(u, out);
}

static void accept(struct ui *u, struct intent *out)
{
    struct pick *p = &u->pick;
    char text[CATALOG_TEXT_BYTES];
    if (!p->ticks && p->at.sel < pick_lines(p)) {
        flip(p, pick_line(p, p->at.sel, text));
    }
    if (p->ticks) {
        leave(u, out);
        out->kind = INTENT_PICKED;
    }
}

static void type(struct pick *p, int key)
{
    if (prompt_key(&p->query, key) == PROMPT_CHANGED) {
        p->walking = false;
        p->at.top = 0;
        update(p);
    }
}

static bool on_key(struct ui *u, int key, enum action act, const struct snapshot *s,
                   struct intent *out)
{
    struct pick *p = &u->pick;
    (void)s;
    switch (act) {
    case ACT_ACCEPT:
        accept(u, out);
        break;
    case ACT_CANCEL:
        cancel(u, out);
        break;
    case ACT_TICK:
        tick(p, key == KEY_BTAB_ ? -1 : 1);
        break;
    case ACT_RELOAD:
        catalog_filter_forget(&p->found);
        p->catalog = NULL;
        p->walking = false;
        update(p);
        out->kind = INTENT_CATALOG;
        break;
    default:
        if (key == ' ' && p->walking) {
            tick(p, 1);
        } else if (scroll_key(&p->at, act, pick_lines(p))) {
            p->walking = true;
            keep_selected(p);
        } else {
            type(p, key);
        }
    }
    return true;
}

static struct scroll *list(struct ui *u)
{
    return &u->pick.at;
}

const struct screen_ops screen_pick = {
    .name = "picker",
    .key = 'a',
    .context = CTX_PICK,
    .whole = true,
    .draw = pick_draw,
    .on_key = on_key,
    .list = list,
};
