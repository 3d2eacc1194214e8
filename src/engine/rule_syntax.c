#include "rule_syntax.h"

#include <kprof/erl/scan.h>
#include <string.h>

#define DEPTH_MAX 100 /* of brackets; deeper ones are left to the node */

struct open {
    char with;
    int line, col;
};

struct reader {
    struct scan scan;
    struct open open[DEPTH_MAX];
    size_t n;
    struct err *e;
};

static int fail(struct reader *r, int line, int col, const char *why)
{
    return err_set(r->e, "the identity rule has an error in line %d, column %d: %s", line, col,
                   why);
}

/* The bracket that is the token, or 0; `end` and the words before it count as brackets, too. */
static char bracket(const struct reader *r)
{
    const struct scan *x = &r->scan;
    char c = x->s[x->tok.from];

    if (x->tok.kind == TOK_PUNCT || x->tok.kind == TOK_OTHER)
        return x->tok.to == x->tok.from + 1 && strchr("()[]{}", c) ? c : 0;
    if (scan_is_word(x, "end"))
        return 'e';
    if (scan_opens_block(x))
        return 'b';
    if (!scan_is_word(x, "fun"))
        return 0;
    struct scan look = *x; /* fun m:f/1 has no end */
    if (!scan_next(&look) && look.tok.kind == TOK_VAR)
        scan_next(&look);
    return scan_is_op(&look, "(") ? 'b' : 0;
}

static bool closes(char open, char with)
{
    return (open == '(' && with == ')') || (open == '[' && with == ']') ||
           (open == '{' && with == '}') || (open == 'b' && with == 'e');
}

static int take(struct reader *r, char b)
{
    const struct tok *t = &r->scan.tok;

    if (strchr("([{b", b)) {
        if (r->n < DEPTH_MAX)
            r->open[r->n] = (struct open){b, t->line, t->col};
        r->n++;
        return 0;
    }
    if (r->n == 0 || (r->n <= DEPTH_MAX && !closes(r->open[r->n - 1].with, b)))
        return fail(r, t->line, t->col, "nothing is open that this could close");
    r->n--;
    return 0;
}

int rule_syntax_check(const char *rule, struct err *e)
{
    struct reader r = {.e = e};

    scan_init(&r.scan, rule, strlen(rule));
    for (;;) {
        const char *why = scan_next(&r.scan);
        if (why)
            return fail(&r, r.scan.tok.line, r.scan.tok.col, why);
        if (r.scan.tok.kind == TOK_END)
            break;
        char b = bracket(&r);
        if (b && take(&r, b) < 0)
            return -1;
    }
    if (r.n == 0 || r.n > DEPTH_MAX)
        return 0;
    const struct open *o = &r.open[r.n - 1];
    return fail(&r, o->line, o->col,
                o->with == 'b' ? "what begins here has no end" : "this bracket is not closed");
}
