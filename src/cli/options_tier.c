#include <kprof/base/text.h>
#include <kprof/cli/options_tier.h>
#include <kprof/cli/optval.h>
#include <kprof/erl/term.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_printable(const char *s, size_t n)
{
    uint32_t cp;
    for (size_t i = 0; i < n;) {
        i += text_next(s + i, n - i, &cp);
        if (cp == UINT32_MAX || text_cp_width(cp) < 0)
            return false;
    }
    return true;
}

static bool is_reserved(const char *name)
{
    return strcmp(name, "_total") == 0 || strcmp(name, "none") == 0;
}

int options_tier_check_name(const char *name, struct err *e)
{
    size_t n = strlen(name);
    if (n == 0 || n >= TIER_NAME_BYTES || name[0] == ' ' || name[n - 1] == ' ' ||
        !is_printable(name, n))
        return err_set(e, "tier %s: a name is 1 to %d bytes of printable text", optval_show(name).s,
                       TIER_NAME_BYTES - 1);
    if (is_reserved(name))
        return err_set(e, "tier %s: this name is reserved; choose another", name);
    return 0;
}

/* A function without an arity: with or without the slash. */
static bool lacks_arity(const char *spec, size_t *name_bytes)
{
    char whole[1024];
    struct mfa mfa;
    size_t n = strlen(spec), at;
    *name_bytes = n - (n > 0 && spec[n - 1] == '/');
    return n + 3 < sizeof whole &&
           snprintf(whole, sizeof whole, "%.*s/0", (int)*name_bytes, spec) > 0 &&
           term_parse_mfa(whole, &mfa, &at);
}

static int no_function(const char *text, const char *spec, size_t at, struct err *e)
{
    size_t n;
    if (lacks_arity(spec, &n)) {
        char name[1024];
        snprintf(name, sizeof name, "%.*s", (int)n, spec);
        return err_set(e, "tier %s: arity is missing: %s/N", optval_show(text).s,
                       optval_show(name).s);
    }
    return err_set(
        e,
        "tier %s: not a function (error at byte %zu); write module:function/arity, as in "
        "my_db:query/2 or MyApp.Repo.get/2",
        optval_show(text).s, at + 1);
}

int options_tier_parse(const char *text, struct tier_spec *out, struct err *e)
{
    struct mfa mfa;
    size_t at = 0, name_n = 0;
    const char *spec = text, *eq = strchr(text, '=');
    *out = (struct tier_spec){0};
    /* First without splitting it: the name of a function may contain a '='. */
    if (!term_parse_mfa(text, &mfa, &at)) {
        if (!eq)
            return no_function(text, text, at, e);
        spec = eq + 1;
        name_n = (size_t)(eq - text);
        if (!term_parse_mfa(spec, &mfa, &at))
            return no_function(text, spec, at + name_n + 1, e);
    }
    if (strlen(spec) >= sizeof out->mfa || (name_n && name_n >= sizeof out->name))
        return err_set(e, "tier %s: a name has at most %d bytes, a function %d; shorten it",
                       optval_show(text).s, TIER_NAME_BYTES - 1, TIER_MFA_BYTES - 1);
    memcpy(out->mfa, spec, strlen(spec) + 1);
    memcpy(out->name, text, name_n);
    return spec == text ? 0 : options_tier_check_name(out->name, e);
}

int options_tier_add(struct tier_spec *tier, size_t *n, const struct tier_spec *t, struct err *e)
{
    if (*n == TIER_MAX)
        return err_set(e, "tier %s: more than %d tiers; leave some out", optval_show(t->mfa).s,
                       TIER_MAX);
    for (size_t i = 0; i < *n; i++) {
        if (t->name[0] && strcmp(t->name, tier[i].name) == 0)
            return err_set(
                e, "tier %s: the name is given twice; give one of them another name (NAME=M:F/A)",
                optval_show(t->name).s);
        if (strcmp(t->mfa, tier[i].mfa) == 0)
            return err_set(e, "tier %s: the function is given twice; leave one out",
                           optval_show(t->mfa).s);
    }
    tier[(*n)++] = *t;
    return 0;
}

static bool is_taken(const char *name, const struct tier_spec *taken, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(taken[i].name, name) == 0)
            return true;
    return is_reserved(name);
}

/* base, cut between characters so that the suffix fits */
static void compose(char out[TIER_NAME_BYTES], const char *base, const char *suffix)
{
    size_t room = TIER_NAME_BYTES - 1 - strlen(suffix), n = strlen(base);
    if (n > room)
        for (n = room; n > 0 && ((unsigned char)base[n] & 0xc0) == 0x80;)
            n--;
    memcpy(out, base, n);
    memcpy(out + n, suffix, strlen(suffix) + 1);
}

static bool fits_in_name(const char *part)
{
    return part[0] && part[0] != ' ' && is_printable(part, strlen(part));
}

/* "OrderController.index": with the last part of the module. */
static void qualify(char out[TIER_NAME_BYTES], const struct mfa *mfa)
{
    const char *dot = strrchr(mfa->module, '.'), *last = dot ? dot + 1 : mfa->module;
    char both[sizeof mfa->module + sizeof mfa->function + 1];
    snprintf(both, sizeof both, "%s.%s", last, mfa->function);
    compose(out, fits_in_name(last) ? both : mfa->function, "");
}

void options_tier_name(struct tier_spec *t, const struct tier_spec *taken, size_t n)
{
    struct mfa mfa;
    size_t at;
    char suffix[24], base[TIER_NAME_BYTES];
    char name[TIER_NAME_BYTES]; /* t may be one of taken: its new name must not conflict with its
                                   old one */
    bool given = t->name[0];
    bool ok = term_parse_mfa(t->mfa, &mfa, &at) && fits_in_name(mfa.function);
    compose(base, given ? t->name : ok ? mfa.function : "tier", "");
    compose(name, base, "");
    if (!given && ok && is_taken(name, taken, n)) {
        qualify(base, &mfa);
        compose(name, base, "");
        snprintf(suffix, sizeof suffix, "/%d", mfa.arity);
        if (is_taken(name, taken, n))
            compose(name, base, suffix);
    }
    for (int k = 2; is_taken(name, taken, n); k++) {
        snprintf(suffix, sizeof suffix, "#%d", k);
        compose(name, base, suffix);
    }
    memcpy(t->name, name, sizeof name);
}
