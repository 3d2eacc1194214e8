#include <kprof/cli/assertion.h>

#include <kprof/base/clock.h>
#include <kprof/cli/optval.h>
#include <kprof/export/field.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */

static int bad(const char *text, struct err *e, const char *what)
{
    return err_set(e, "--assert %s: %s; write it as 'db.p99<20ms' or 'db/create.errors<1'",
                   optval_show(text).s, what);
}

/* Keys as in the exports; the unit may be left out. */
static bool find_field(const char *name, size_t n, unsigned *out)
{
    for (unsigned i = 0; i < FIELDS; i++) {
        const char *key = fields[i].key;
        size_t whole = strlen(key);
        size_t bare = whole > 3 && strcmp(key + whole - 3, "_us") == 0 ? whole - 3 : whole;
        if ((n == whole || n == bare) && strncmp(key, name, n) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* A finite number at the start of s; *end: after it. */
static bool read_number(const char *s, double *v, const char **end)
{
    char *stop;
    if (!strchr("0123456789", *s) || !*s)
        return false;
    *v = strtod(s, &stop);
    *end = stop;
    return isfinite(*v);
}

static int read_relative(struct assertion *a, const char *s, struct err *e)
{
    double percent;
    const char *end;
    if (!read_number(s + 1, &percent, &end) || strcmp(end, "%") != 0)
        return bad(a->text, e, "the value after the sign is not a percentage");
    a->relative = true;
    a->value = *s == '+' ? 1 + percent / 100 : 1 - percent / 100;
    return 0;
}

static int read_value(struct assertion *a, const char *s, struct err *e)
{
    const char *end;
    uint64_t ns;
    if (*s == '+' || *s == '-')
        return read_relative(a, s, e);
    if (fields[a->field].kind == FIELD_US) {
        /* clock_parse would read a number without a unit as seconds, which is easily not what is
         * meant. */
        if (!clock_parse_duration(s, &ns) || !strpbrk(s, "numsh"))
            return bad(a->text, e, "the field is a time, but the value is not");
        a->value = (double)ns / 1e3;
        return 0;
    }
    if (!read_number(s, &a->value, &end))
        return bad(a->text, e, "the value is not a number");
    if (*end == '%' && fields[a->field].kind == FIELD_SHARE) {
        a->value /= 100;
        end++;
    }
    return *end ? bad(a->text, e, "the value is not a number") : 0;
}

int assertion_parse(const char *text, struct assertion *out, struct err *e)
{
    *out = (struct assertion){0};
    if (strlen(text) >= ASSERTION_BYTES)
        return bad(text, e, "it is too long");
    snprintf(out->text, sizeof out->text, "%s", text);
    size_t left = strcspn(text, "<>");
    const char *op = text + left;
    if (!*op)
        return bad(text, e, "it has no comparison");
    out->less = *op++ == '<';
    out->or_equal = *op == '=';
    op += out->or_equal;
    while (left > 0 && text[left - 1] == ' ')
        left--;
    size_t dot = left;
    while (dot > 0 && text[dot - 1] != '.')
        dot--;
    if (dot < 2)
        return bad(text, e, "it has no TIER.FIELD");
    if (!find_field(text + dot, left - dot, &out->field))
        return bad(text, e, "there is no such field");
    snprintf(out->row, sizeof out->row, "%.*s", (int)(dot - 1), text);
    return read_value(out, op + strspn(op, " "), e);
}

/* ---- evaluation ---- */

static const struct snap_row *find_row(const struct snapshot *s, const char *name)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        const struct snap_row *r = &s->rows[i];
        size_t n = strlen(r->tier_name);
        if (strncmp(name, r->tier_name, n) != 0)
            continue;
        if (r->ident ? name[n] == '/' && strcmp(name + n + 1, r->ident) == 0 : name[n] == 0)
            return r;
    }
    return NULL;
}

/* False: the row has no such value. */
static bool figure(const struct assertion *a, const struct snapshot *s, const char *whose,
                   double *v, char *why, size_t cap)
{
    const struct field *f = &fields[a->field];
    const struct snap_row *r = find_row(s, a->row);
    if (!r) {
        snprintf(why, cap, "%s has no row %s", whose, optval_show(a->row).s);
        return false;
    }
    *v = f->kind == FIELD_COUNT ? (double)field_count(f, r) : field_value(f, r);
    bool of_calls = f->kind == FIELD_US || f->kind == FIELD_SHARE;
    if (of_calls && r->count == 0 && strcmp(f->key, "oldest_open_us") != 0) {
        snprintf(why, cap, "%s has no calls of %s", whose, optval_show(a->row).s);
        return false;
    }
    return true;
}

static void show(const struct assertion *a, double v, char *to, size_t cap)
{
    switch (fields[a->field].kind) {
    case FIELD_US:
        clock_format_ns((uint64_t)(v * 1e3), to, cap);
        break;
    case FIELD_COUNT:
        snprintf(to, cap, "%.0f", v);
        break;
    case FIELD_SHARE:
        snprintf(to, cap, "%.2f%%", v * 100);
        break;
    case FIELD_RATE:
        snprintf(to, cap, "%.1f", v);
        break;
    }
}

bool assertion_holds(const struct assertion *a, const struct snapshot *s,
                     const struct snapshot *base, char *why, size_t cap)
{
    double v, limit = a->value;
    char is[32], should[32];
    if (!figure(a, s, "the run", &v, why, cap))
        return false;
    if (a->relative) {
        if (!base) {
            snprintf(why, cap, "there is no baseline; add --baseline FILE");
            return false;
        }
        if (!figure(a, base, "the baseline", &limit, why, cap))
            return false;
        limit *= a->value;
    }
    if (a->less ? v < limit || (a->or_equal && v <= limit)
                : v > limit || (a->or_equal && v >= limit))
        return true;
    show(a, v, is, sizeof is);
    show(a, limit, should, sizeof should);
    snprintf(why, cap, "the value is %s, expected %s%s %s", is, a->less ? "<" : ">",
             a->or_equal ? "=" : "", should);
    return false;
}
