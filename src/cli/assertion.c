#include <kprof/cli/assertion.h>

#include <kprof/base/clock.h>
#include <kprof/cli/optval.h>
#include <kprof/erl/term.h>
#include <kprof/export/field.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */

struct reading {
    const char *opt;
    struct assertion *a;
    struct err *e;
};

static int bad(const struct reading *r, const char *what)
{
    char op = strcmp(r->opt, "assert") == 0 ? '<' : '>';
    return err_set(r->e,
                   "--%s %s: %s; write it as 'db.p99%c20ms', 'db/create.errors%c1' or "
                   "'node.run_queue%c50'%s",
                   r->opt, optval_show(r->a->text).s, what, op, op, op,
                   op == '>' ? ", or 'queue(NAME)>1000'" : "");
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

static int read_relative(const struct reading *r, const char *s)
{
    struct assertion *a = r->a;
    double percent;
    const char *end;
    if (a->node)
        return bad(r, "a value of the node has no baseline");
    if (!read_number(s + 1, &percent, &end) || strcmp(end, "%") != 0)
        return bad(r, "the value after the sign is not a percentage");
    a->relative = true;
    a->value = *s == '+' ? 1 + percent / 100 : 1 - percent / 100;
    return 0;
}

static int read_node_value(const struct reading *r, const char *s)
{
    static const char units[] = "kMGT";
    const char *end, *unit;
    if (!read_number(s, &r->a->value, &end))
        return bad(r, "the value is not a number");
    if (r->a->node == ASSERTION_MEMORY && *end && (unit = strchr(units, *end))) {
        r->a->value = ldexp(r->a->value, 10 * (int)(unit - units + 1));
        end++;
    }
    if (r->a->node == ASSERTION_MEMORY && *end == 'B')
        end++;
    return *end ? bad(r, "the value is not a number") : 0;
}

static int read_value(const struct reading *r, const char *s)
{
    struct assertion *a = r->a;
    const char *end;
    uint64_t ns;
    if (*s == '+' || *s == '-')
        return read_relative(r, s);
    if (a->node)
        return read_node_value(r, s);
    if (fields[a->field].kind == FIELD_US) {
        /* clock_parse_duration would read a number without a unit as seconds, which is often not
         * what is meant. */
        if (!clock_parse_duration(s, &ns) || !strpbrk(s, "numsh"))
            return bad(r, "the field is a time, but the value is not");
        a->value = (double)ns / 1e3;
        return 0;
    }
    if (!read_number(s, &a->value, &end))
        return bad(r, "the value is not a number");
    if (*end == '%' && fields[a->field].kind == FIELD_SHARE) {
        a->value /= 100;
        end++;
    }
    return *end ? bad(r, "the value is not a number") : 0;
}

static const struct {
    const char *name;
    enum assertion_node node;
} node_fields[] = {{"run_queue", ASSERTION_RUN_QUEUE},
                   {"memory", ASSERTION_MEMORY},
                   {"processes", ASSERTION_PROCESSES}};

/* text[0..n): node.FIELD. A tier named "node" has other fields. */
static enum assertion_node find_node(const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof node_fields / sizeof *node_fields; i++)
        if (n == strlen(node_fields[i].name) + 5 && strncmp(text, "node.", 5) == 0 &&
            strncmp(text + 5, node_fields[i].name, n - 5) == 0)
            return node_fields[i].node;
    return ASSERTION_NO_NODE;
}

/* After "queue(": a registered name and ")"; value: after the comparison. */
static int read_queue(const struct reading *r, const char *name, const char *value)
{
    size_t used;
    if (!term_parse_atom(name, r->a->row, &used) || name[used] != ')')
        return bad(r, "not the registered name of a process");
    const char *after = name + used + 1;
    after += strspn(after, " ");
    if (*after != '<' && *after != '>')
        return bad(r, "it has no comparison");
    if (strcmp(r->opt, "trigger") != 0)
        return bad(r, "queue(NAME) works only with --trigger");
    r->a->node = ASSERTION_QUEUE;
    return read_value(r, value);
}

int assertion_parse(const char *opt, const char *text, struct assertion *out, struct err *e)
{
    const struct reading r = {opt, out, e};
    *out = (struct assertion){0};
    snprintf(out->text, sizeof out->text, "%s", text);
    if (strlen(text) >= ASSERTION_BYTES)
        return bad(&r, "it is too long");
    size_t left = strcspn(text, "<>");
    const char *op = text + left;
    if (!*op)
        return bad(&r, "it has no comparison");
    out->less = *op++ == '<';
    out->or_equal = *op == '=';
    op += out->or_equal;
    while (left > 0 && text[left - 1] == ' ')
        left--;
    if (strncmp(text, "queue(", 6) == 0)
        return read_queue(&r, text + 6, op + strspn(op, " "));
    out->node = find_node(text, left);
    size_t dot = left;
    while (dot > 0 && text[dot - 1] != '.')
        dot--;
    if (dot < 2)
        return bad(&r, "it has no TIER.FIELD");
    if (!out->node && !find_field(text + dot, left - dot, &out->field))
        return bad(&r, "there is no such field");
    snprintf(out->row, sizeof out->row, "%.*s", (int)(dot - 1), text);
    return read_value(&r, op + strspn(op, " "));
}

bool assertion_of_tier(const struct assertion *a, const char *tier)
{
    size_t n = strlen(tier);
    return !a->node && strncmp(a->row, tier, n) == 0 && (!a->row[n] || a->row[n] == '/');
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

static bool queue_figure(const struct assertion *a, const struct snapshot *s, const char *whose,
                         double *v, char *why, size_t cap)
{
    for (size_t i = 0; i < s->node.n_queues; i++) {
        const struct snap_queue *q = &s->node.queue[i];
        if (q->length < 0 || strcmp(q->name, a->row) != 0)
            continue;
        *v = (double)q->length;
        return true;
    }
    snprintf(why, cap, "%s has no queue length for %s", whose, optval_show(a->row).s);
    return false;
}

/* The value in the last heartbeat. False: there was none yet. */
static bool node_figure(const struct assertion *a, const struct snapshot *s, const char *whose,
                        double *v, char *why, size_t cap)
{
    if (a->node == ASSERTION_QUEUE)
        return queue_figure(a, s, whose, v, why, cap);
    if (s->node.processes == 0) {
        snprintf(why, cap, "%s has no values of the node", whose);
        return false;
    }
    *v = a->node == ASSERTION_RUN_QUEUE ? s->node.run_queue
         : a->node == ASSERTION_MEMORY  ? (double)s->node.memory_bytes
                                        : (double)s->node.processes;
    return true;
}

/* False: the row has no such value. */
static bool figure(const struct assertion *a, const struct snapshot *s, const char *whose,
                   double *v, char *why, size_t cap)
{
    const struct field *f = &fields[a->field];
    const struct snap_row *r;
    if (a->node)
        return node_figure(a, s, whose, v, why, cap);
    r = find_row(s, a->row);
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
    if (isnan(*v)) {
        snprintf(why, cap, "%s has no %s of %s", whose, f->key, optval_show(a->row).s);
        return false;
    }
    return true;
}

static void show(const struct assertion *a, double v, char *to, size_t cap)
{
    if (a->node) {
        snprintf(to, cap, a->node == ASSERTION_MEMORY ? "%.1f MB" : "%.0f",
                 a->node == ASSERTION_MEMORY ? v / 1048576 : v);
        return;
    }
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
