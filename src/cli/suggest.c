#include <kprof/cli/suggest.h>

#include "server_rules.h"
#include "suggest_calls.h"
#include "suggest_kind.h"

#include <kprof/base/buf.h>
#include <kprof/erl/term.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_RATIO 0.3 /* calls of a tier for each call of the entry */
#define MOST_RATIO  20.0
#define EVEN                                                                                       \
    0.06 /* a ratio counts as a whole number if it differs from the nearest one by at most this    \
            fraction of the ratio, and by at most EVEN_MOST */
#define EVEN_MOST        0.2 /* counters are not all set at the same time */
#define FUNCTION_LEAST_S 5   /* minimum calls per second of an entry of unknown kind */
#define LEAST_TIERS      3
#define GOOD             0.25   /* score of a tier that is worth its cost */
#define POOR             (-1.5) /* never a tier, even if there are too few */

struct called {
    uint32_t id, module;
    enum suggest_kind kind;
    const struct suggest_known *known;
    bool own, local;
    bool itself; /* it calls itself, as the loop of a process does; not known of callbacks */
    double per_s;
};

struct chooser {
    const struct catalog *c;
    const struct suggest_calls *calls;
    struct called of[SUGGEST_COUNTED];
    size_t n, counted;
    size_t chosen[SUGGEST_TIERS];
    size_t n_chosen;
};

static bool is_among(uint32_t id, const uint32_t *of, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (of[i] == id)
            return true;
    return false;
}

static bool calls_itself(const struct suggest_calls *calls, uint32_t id)
{
    uint32_t to[SUGGEST_REACHED];

    return calls && is_among(id, to, suggest_calls_reach(calls, id, to));
}

static void take_called(struct chooser *s, const struct suggest_node *node, uint32_t id)
{
    struct called *k = &s->of[s->n];
    float rate = catalog_rate(s->c, id);

    if (rate < 0)
        return;
    s->counted++;
    struct suggest_module m = suggest_module_of(s->c, id);
    *k = (struct called){.id = id,
                         .module = catalog_module_of(s->c, id),
                         .own = m.own,
                         .local = catalog_is_local(s->c, id),
                         .per_s = (double)rate};
    k->kind = suggest_kind_of(s->c, node, &m, id, &k->known);
    if (rate <= 0 || k->kind == SUGGEST_NOTHING)
        return;
    k->itself = k->kind == SUGGEST_FUNCTION && calls_itself(s->calls, id);
    s->n++;
}

/* ---- the entry ---- */

static bool is_even(double ratio)
{
    double off = fabs(ratio - round(ratio));

    return ratio >= 1 - EVEN && ratio <= MOST_RATIO && off <= EVEN * ratio && off <= EVEN_MOST;
}

static bool divides(double n, double of)
{
    return is_even(of / n);
}

/* The share of the node's other own functions whose call rate is about a multiple of that of k. */
static double share_divided(const struct chooser *s, const struct called *k)
{
    size_t even = 0, all = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (!s->of[i].own || &s->of[i] == k)
            continue;
        all++;
        even += divides(k->per_s, s->of[i].per_s);
    }
    return all ? (double)even / (double)all : 0;
}

static double plug_bonus(const struct chooser *s, const struct called *k)
{
    const char *module = catalog_module_text(s->c, k->id);

    return strstr(module, "Endpoint") ? 0.3 : strstr(module, "Router") ? 0.15 : 0;
}

/* A function of no known kind. One that is called rarely, as by a timer, is not an entry. */
static double function_score(const struct chooser *s, const struct called *k)
{
    const char *name = catalog_function_text(s->c, k->id);
    double busy = log10(k->per_s + 1) / 4;

    if (!k->own || k->per_s < FUNCTION_LEAST_S || k->itself)
        return -1;
    return 2 * share_divided(s, k) + (suggest_sounds_like_entry(name) ? 0.6 : 0) +
           (k->local ? 0 : 0.3) + (busy < 0.5 ? busy : 0.5);
}

/* True if a function has the name of an entry, and its count divides that of this callback and
 * those of most others: the callback is then inside of the requests of that function. */
static bool is_inside(const struct chooser *s, const struct called *k)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct called *f = &s->of[i];
        if (f->kind == SUGGEST_FUNCTION && f->own && !f->local && divides(f->per_s, k->per_s) &&
            suggest_sounds_like_entry(catalog_function_text(s->c, f->id)) &&
            share_divided(s, f) >= 0.5)
            return true;
    }
    return false;
}

static double callback_score(const struct chooser *s, const struct called *k, double least)
{
    return is_inside(s, k) ? 0.5 : least + log10(k->per_s) + share_divided(s, k);
}

/* A better kind of function is preferred, unless the other one is called more than about 100 times
 * as often: an interface that is hardly used is not the entry of a busy server. */
static double entry_score(const struct chooser *s, const struct called *k)
{
    double calls = log10(k->per_s);

    switch (k->kind) {
    case SUGGEST_EDGE: /* if the calls differ by less than a seventh, the outer one */
        return 6 + calls - 0.06 * k->known->rank;
    case SUGGEST_COWBOY:
    case SUGGEST_YAWS:
    case SUGGEST_PLUG:
        return 4 + calls + (k->own ? 0.5 : 0) + plug_bonus(s, k);
    case SUGGEST_CALL:
    case SUGGEST_EVENT:
        return callback_score(s, k, 2);
    case SUGGEST_CAST:
        return callback_score(s, k, 1.5);
    case SUGGEST_FUNCTION:
        return function_score(s, k);
    default:
        return -1;
    }
}

/* How many of the node's own called functions k leads to; 0 if the entry is not one of them. */
static size_t led_to(const struct chooser *s, const struct called *k, const struct called *entry)
{
    uint32_t to[SUGGEST_REACHED];
    size_t reached = suggest_calls_reach(s->calls, k->id, to), n = 0;

    if (!is_among(entry->id, to, reached))
        return 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->of[i].own && is_among(s->of[i].id, to, reached);
    return n;
}

/* The function that leads to this one, and to most others; `entry` if there is none. */
static size_t outermost(const struct chooser *s, size_t entry)
{
    size_t best = entry, most = 0;

    for (size_t i = 0; i < s->n && s->calls; i++) {
        const struct called *k = &s->of[i];
        if (i == entry || k->kind != SUGGEST_FUNCTION || !k->own || k->itself ||
            k->per_s * MOST_RATIO < s->of[entry].per_s)
            continue;
        size_t n = led_to(s, k, &s->of[entry]);
        if (n > most || (n > 0 && n == most && k->per_s > s->of[best].per_s)) {
            most = n;
            best = i;
        }
    }
    return best;
}

/* The called function with the best score; SIZE_MAX: none can be the entry. */
static size_t best_entry(const struct chooser *s)
{
    size_t best = SIZE_MAX;
    double most = 0;

    for (size_t i = 0; i < s->n; i++) {
        double score = entry_score(s, &s->of[i]);
        if (score > most) {
            most = score;
            best = i;
        }
    }
    return best;
}

static size_t choose_entry(const struct chooser *s)
{
    size_t best = best_entry(s);

    return best == SIZE_MAX ? best : outermost(s, best);
}

/* ---- the tiers ---- */

static double kind_score(const struct chooser *s, const struct called *k)
{
    const char *name = catalog_function_text(s->c, k->id);

    switch (k->kind) {
    case SUGGEST_LAYER:
        return k->known->weight / 10.0;
    case SUGGEST_EDGE:
        return 2.2;
    case SUGGEST_COWBOY:
    case SUGGEST_PLUG:
    case SUGGEST_YAWS:
        /* a handler of a library scores less: the server's own handler tier includes its time */
        return k->own ? 1.6 : 0.8;
    case SUGGEST_CALL:
        return 2.3;
    case SUGGEST_EVENT:
        return 2.0;
    case SUGGEST_CAST:
        return 1.8;
    default:
        return (k->local ? 0.5 : 1.2) + (suggest_sounds_like_layer(name) ? 0.5 : 0);
    }
}

static bool same_name(const struct catalog *c, const struct called *a, const struct called *b)
{
    return a->module == b->module &&
           strcmp(catalog_function_text(c, a->id), catalog_function_text(c, b->id)) == 0;
}

/* The score is reduced for each tier of the same module, which is likely the same layer. A function
 * with the module and the name of a tier (another arity) is never chosen. */
static double nearness(const struct chooser *s, const struct called *k)
{
    double less = 0;

    for (size_t i = 0; i < s->n_chosen; i++) {
        const struct called *has = &s->of[s->chosen[i]];
        if (same_name(s->c, has, k))
            return 100;
        /* functions of known libraries are layers by themselves */
        if (has->module == k->module && !(k->known && k->kind == SUGGEST_LAYER))
            less += less > 0 ? 0.1 : 0.9;
    }
    return less;
}

static double tier_score(const struct chooser *s, const struct called *k)
{
    double ratio = k->per_s / s->of[s->chosen[0]].per_s;

    if (ratio < LEAST_RATIO || ratio > MOST_RATIO || k->itself)
        return -100;
    double even = is_even(ratio) ? 0.3 : 0;
    double far = ratio > 1 ? 0.15 * log2(ratio) : 0.5 * (1 - ratio);
    return kind_score(s, k) + even - far - nearness(s, k);
}

static bool is_chosen(const struct chooser *s, size_t i)
{
    for (size_t k = 0; k < s->n_chosen; k++)
        if (s->chosen[k] == i)
            return true;
    return false;
}

static bool choose_tier(struct chooser *s)
{
    double most = s->n_chosen < LEAST_TIERS ? POOR : GOOD;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < s->n; i++) {
        double score = is_chosen(s, i) ? -100 : tier_score(s, &s->of[i]);
        if (score > most) {
            most = score;
            best = i;
        }
    }
    if (best != SIZE_MAX)
        s->chosen[s->n_chosen++] = best;
    return best != SIZE_MAX;
}

/* ---- names and the rule ---- */

/* The last part of the module, where that is a plain word. */
static void name_of_module(const struct catalog *c, uint32_t id, char name[TIER_NAME_BYTES])
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    char text[TIER_NAME_BYTES];

    snprintf(text, sizeof text, "%s", catalog_module_text(c, id));
    size_t n = strlen(text);
    name[0] = 0;
    if (n == 0 || n + 1 == sizeof text)
        return;
    text[n - 1] = 0; /* the ':' or '.' before the function */
    const char *last = strrchr(text, '.');
    last = last ? last + 1 : text;
    if (last[0] && last[strspn(last, word)] == 0)
        memcpy(name, last, strlen(last) + 1);
}

static void put_tier(const struct chooser *s, size_t i, struct suggestion *out)
{
    const struct called *k = &s->of[s->chosen[i]];
    struct tier_spec *t = &out->tier[i];
    char text[CATALOG_TEXT_BYTES];

    memset(t, 0, sizeof *t);
    catalog_text(s->c, k->id, text);
    snprintf(t->mfa, sizeof t->mfa, "%.*s", (int)sizeof t->mfa - 1, text);
    if (k->known)
        snprintf(t->name, sizeof t->name, "%s", k->known->name);
    else if (k->kind != SUGGEST_FUNCTION)
        name_of_module(s->c, k->id, t->name);
    options_tier_name(t, out->tier, i);
    out->per_s[i] = k->per_s;
}

/* The atom of a module, as written in a rule; false: it cannot be written. */
static bool module_atom(const char *mfa_text, char *atom, size_t cap)
{
    struct mfa mfa;
    size_t at;

    if (!term_parse_mfa(mfa_text, &mfa, &at) || strpbrk(mfa.module, "'\\"))
        return false;
    snprintf(atom, cap, "'%s'", mfa.module);
    return true;
}

/* The rule for a callback of a server process: the tag of its message. */
static void put_callback_rule(const char *mfa, const char *callback, int more,
                              struct suggestion *out)
{
    static const char *const rest[] = {"", ", _", ", _, _", ", _, _, _"};
    char atom[300];

    if (!module_atom(mfa, atom, sizeof atom))
        return;
    snprintf(out->identity, sizeof out->identity,
             "fun ({%s, %s, [R%s]}) when is_tuple(R) -> element(1, R); ({%s, %s, [R%s]}) -> R; "
             "(_) -> undefined end",
             atom, callback, rest[more], atom, callback, rest[more]);
    out->named_by = "tag of the message";
}

static void put_rule(const char *mfa, const char *rule, const char *named_by,
                     struct suggestion *out)
{
    bool whole = strncmp(rule, "fun ", 4) == 0;

    snprintf(out->identity, sizeof out->identity, "%s%s%s", whole ? "" : mfa, whole ? "" : " ",
             rule);
    out->named_by = named_by;
}

static void put_identity(const struct called *entry, struct suggestion *out)
{
    static const char by_path[] = "method and path";
    const char *mfa = out->tier[0].mfa;

    out->named_by = "";
    switch (entry->kind) {
    case SUGGEST_EDGE:
        put_rule(mfa, entry->known->rule, entry->known->named_by, out);
        break;
    case SUGGEST_COWBOY:
        put_rule(mfa, COWBOY_RULE, by_path, out);
        break;
    case SUGGEST_PLUG:
        put_rule(mfa, PLUG_RULE, by_path, out);
        break;
    case SUGGEST_YAWS:
        put_rule(mfa, YAWS_RULE("arg(1)"), by_path, out);
        break;
    case SUGGEST_CALL:
        put_callback_rule(mfa, "handle_call", 2, out);
        break;
    case SUGGEST_CAST:
        put_callback_rule(mfa, "handle_cast", 1, out);
        break;
    default:
        break;
    }
}

/* ---- the whole suggestion ---- */

static int why_none(const struct chooser *s, size_t asked, struct err *e)
{
    if (asked == 0)
        return err_set(e, "no suggestion: the node has no code of its own that could be counted; "
                          "add tiers with key a or --tier");
    if (s->counted == 0)
        return err_set(e,
                       "no suggestion: the node counted no calls; add tiers with key a or --tier");
    if (s->n == 0)
        return err_set(e,
                       "no suggestion: none of %zu functions was called in a second; try again "
                       "under load, or add tiers with key a or --tier",
                       s->counted);
    return err_set(e, "no suggestion: nothing that was called looks like the start of a request; "
                      "add tiers with key a or --tier");
}

int suggest_make(const struct catalog *c, const uint32_t *ids, size_t n,
                 const struct suggest_calls *calls, struct suggestion *out, struct err *e)
{
    struct suggest_node node = suggest_node_of(c);
    struct chooser s = {.c = c, .calls = calls};

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n && i < SUGGEST_COUNTED; i++)
        take_called(&s, &node, ids[i]);
    size_t entry = choose_entry(&s);
    if (entry == SIZE_MAX)
        return why_none(&s, n, e);
    s.chosen[s.n_chosen++] = entry;
    while (s.n_chosen < SUGGEST_TIERS && choose_tier(&s))
        ;
    /* one function of unknown kind, without other tiers, is not a useful suggestion */
    if (s.of[entry].kind == SUGGEST_FUNCTION && s.n_chosen < 2)
        return why_none(&s, n, e);
    for (size_t i = 0; i < s.n_chosen; i++)
        put_tier(&s, i, out);
    out->n = s.n_chosen;
    put_identity(&s.of[entry], out);
    return 0;
}

void suggest_fill(const struct suggestion *s, const bool *keep, bool identity, struct options *o)
{
    for (size_t i = 0; i < s->n; i++)
        if (!keep || keep[i])
            o->tier[o->n_tiers++] = s->tier[i];
    if (identity && s->identity[0] && (!keep || keep[0]))
        o->identity = buf_dup(s->identity);
}
