#include "config.h"
#include <kprof/base/buf.h>
#include <kprof/erl/scan.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES_MAX (16u << 10) /* maximum of one value */

struct parser {
    struct scan scan;
    const char *file;
    struct config *out;
    struct err *e;
};

static int fail_at(struct parser *x, int line, int col, const char *what)
{
    return err_set(x->e, "%.200s:%d:%d: %s", x->file, line, col, what);
}

static int fail(struct parser *x, const char *what)
{
    return fail_at(x, x->scan.tok.line, x->scan.tok.col, what);
}

static int next(struct parser *x)
{
    const char *wrong = scan_next(&x->scan);
    return wrong ? fail(x, wrong) : 0;
}

static int expect(struct parser *x, char c, const char *what)
{
    if (!scan_is_punct(&x->scan, c))
        return fail(x, what);
    return next(x);
}

/* ---- values ---- */

static char *copy(const char *p, size_t n)
{
    char *s = malloc(n + 1);
    if (!s)
        abort();
    memcpy(s, p, n);
    s[n] = '\0';
    return s;
}

static int text_value(struct parser *x, struct buf *b)
{
    const char *wrong = scan_unquote(&x->scan, b);
    return wrong ? fail(x, wrong) : 0;
}

/* Atom, string (adjacent ones joined, <<"...">> too) or number. */
static int word_value(struct parser *x, struct buf *b)
{
    int rc = 0;
    bool binary = scan_is_op(&x->scan, "<<") && x->scan.tok.kind == TOK_OTHER;
    if (binary && (next(x) || next(x)))
        return -1;
    if (x->scan.tok.kind == TOK_STRING) {
        while (rc == 0 && x->scan.tok.kind == TOK_STRING) {
            rc = text_value(x, b);
            if (rc == 0)
                rc = next(x);
        }
    } else if (binary) {
        return fail(x, "a binary here must be text: <<\"...\">>");
    } else if (x->scan.tok.kind == TOK_ATOM && x->scan.tok.quoted) {
        rc = text_value(x, b) ? -1 : next(x);
    } else if (x->scan.tok.kind == TOK_ATOM || x->scan.tok.kind == TOK_NUMBER) {
        buf_add(b, x->scan.s + x->scan.tok.from, x->scan.tok.to - x->scan.tok.from);
        rc = next(x);
    } else {
        return fail(x, "expected an atom, a string, a number or a fun");
    }
    if (rc == 0 && binary && scan_is_op(&x->scan, "/utf8"))
        rc = next(x) || next(x) ? -1 : 0;
    if (rc == 0 && binary) {
        if (!scan_is_op(&x->scan, ">>"))
            return fail(x, "expected >> at the end of the binary");
        rc = next(x) || next(x) ? -1 : 0;
    }
    return rc;
}

/* True: this `fun` opens a block that has an `end`. `fun m:f/1` and `fun f/1` do not. */
static bool opens_fun(const struct parser *x)
{
    if (scan_is_op(&x->scan, "("))
        return true;
    if (x->scan.tok.kind != TOK_VAR) /* fun Name(...) -> ... end */
        return false;
    struct scan look = x->scan;
    return !scan_next(&look) && scan_is_op(&look, "(");
}

/* The text from `fun` to its `end`, unchanged. */
static int fun_value(struct parser *x, struct buf *b)
{
    struct tok start = x->scan.tok;
    int depth = 0;
    if (next(x))
        return -1;
    if (!opens_fun(x))
        return fail(x, "expected a fun with clauses: fun ({M,F,[A1,...]}) -> ... end");
    depth = 1;
    for (;;) {
        if (x->scan.tok.kind == TOK_END)
            return fail_at(x, start.line, start.col, "the fun that starts here has no `end`");
        if (scan_is_op(&x->scan, "?") && x->scan.tok.kind == TOK_OTHER)
            return fail(x, "a config file has no macros; write the name out");
        if (scan_is_word(&x->scan, "end") && --depth == 0)
            break;
        bool fun = scan_is_word(&x->scan, "fun");
        if (scan_opens_block(&x->scan))
            depth++;
        if (next(x))
            return -1;
        if (fun && opens_fun(x))
            depth++;
    }
    buf_add(b, x->scan.s + start.from, x->scan.tok.to - start.from);
    if (memchr(b->data, '\0', b->len))
        return fail_at(x, start.line, start.col, "this fun contains a NUL byte; remove it");
    return next(x);
}

/* ---- grammar ---- */

static int add_item(struct parser *x, struct config_item item)
{
    struct config *c = x->out;
    if (c->n == CONFIG_ITEMS_MAX) {
        free(item.name);
        free(item.text);
        return fail_at(x, item.line, item.col, "too many settings; 256 is the limit");
    }
    c->item[c->n++] = item;
    return 0;
}

static int bounded(struct parser *x, const struct buf *b, const struct tok *at)
{
    if (b->truncated)
        return fail_at(x, at->line, at->col, "this value is longer than 16 KiB; shorten it");
    return 0;
}

/* {M,F,A} as M:F/A, atoms as they were written, so that unusual ones keep their quotes. */
static int mfa_tuple(struct parser *x, struct buf *b)
{
    static const char *const what = "expected {Module, Function, Arity}";
    if (expect(x, '{', what))
        return -1;
    for (int i = 0; i < 3; i++) {
        if (x->scan.tok.kind != (i < 2 ? TOK_ATOM : TOK_NUMBER))
            return fail(x, what);
        buf_add(b, x->scan.s + x->scan.tok.from, x->scan.tok.to - x->scan.tok.from);
        buf_adds(b, i == 0 ? ":" : i == 1 ? "/" : "");
        if (next(x) || expect(x, i < 2 ? ',' : '}', what))
            return -1;
    }
    if (memchr(b->data, '\0', b->len))
        return fail(x, "a name contains a NUL byte; remove it");
    return 0;
}

/* {Name, {M,F,A}} or {Name, "M:F/A"} */
static int tier_value(struct parser *x)
{
    struct buf name, mfa;
    buf_init(&name, WORD_BYTES_MAX);
    buf_init(&mfa, WORD_BYTES_MAX);
    int rc = expect(x, '{', "expected {Name, {Module, Function, Arity}}");
    struct tok at = x->scan.tok;
    if (rc == 0)
        rc = word_value(x, &name);
    if (rc == 0)
        rc = expect(x, ',', "expected a comma after the tier's name");
    if (rc == 0)
        rc = scan_is_punct(&x->scan, '{') ? mfa_tuple(x, &mfa) : word_value(x, &mfa);
    if (rc == 0)
        rc = expect(x, '}', "expected } at the end of the tier");
    if (rc == 0)
        rc = bounded(x, &name, &at) || bounded(x, &mfa, &at) ? -1 : 0;
    if (rc == 0)
        rc = add_item(x, (struct config_item){.key = "tier",
                                              .kind = CONFIG_TIER,
                                              .name = copy(name.data, name.len),
                                              .text = copy(mfa.data, mfa.len),
                                              .line = at.line,
                                              .col = at.col});
    buf_release(&name);
    buf_release(&mfa);
    return rc;
}

static int tier_list(struct parser *x)
{
    if (expect(x, '[', "expected a list: [{Name, {Module, Function, Arity}}, ...]"))
        return -1;
    if (scan_is_punct(&x->scan, ']'))
        return next(x);
    for (;;) {
        if (tier_value(x))
            return -1;
        if (!scan_is_punct(&x->scan, ','))
            break;
        if (next(x))
            return -1;
    }
    return expect(x, ']', "expected a comma or ] after the tier");
}

static int plain_value(struct parser *x, const char *key)
{
    struct tok at = x->scan.tok;
    struct buf b;
    buf_init(&b, WORD_BYTES_MAX);
    bool fun = scan_is_word(&x->scan, "fun");
    int rc = fun ? fun_value(x, &b) : word_value(x, &b);
    if (rc == 0)
        rc = bounded(x, &b, &at);
    if (rc == 0) {
        struct config_item item = {.kind = fun ? CONFIG_FUN : CONFIG_WORD,
                                   .text = copy(b.data, b.len),
                                   .line = at.line,
                                   .col = at.col};
        snprintf(item.key, sizeof item.key, "%s", key);
        rc = add_item(x, item);
    }
    buf_release(&b);
    return rc;
}

/* {Key, Value} */
static int pair(struct parser *x)
{
    char key[CONFIG_KEY_BYTES];
    if (expect(x, '{', "expected {Key, Value}"))
        return -1;
    size_t len = x->scan.tok.to - x->scan.tok.from;
    if (x->scan.tok.kind != TOK_ATOM || x->scan.tok.quoted || len >= sizeof key)
        return fail(x, "expected a key: tier_config, identity_f, entry, slow, ...");
    memcpy(key, x->scan.s + x->scan.tok.from, len);
    key[len] = '\0';
    if (next(x) || expect(x, ',', "expected a comma after the key"))
        return -1;
    if (strcmp(key, "tier_config") == 0 ? tier_list(x) : plain_value(x, key))
        return -1;
    return expect(x, '}', "expected } at the end of the setting");
}

static int pair_list(struct parser *x)
{
    if (next(x))
        return -1;
    while (!scan_is_punct(&x->scan, ']')) {
        if (pair(x))
            return -1;
        if (!scan_is_punct(&x->scan, ','))
            break;
        if (next(x))
            return -1;
    }
    return expect(x, ']', "expected a comma or ] after the setting");
}

static int file(struct parser *x)
{
    if (next(x))
        return -1;
    while (x->scan.tok.kind != TOK_END) {
        if (scan_is_punct(&x->scan, '[') ? pair_list(x) : pair(x))
            return -1;
        if (x->scan.tok.kind != TOK_DOT)
            return fail(x, "expected a dot at the end of the setting");
        if (next(x))
            return -1;
    }
    return 0;
}

int config_parse(const char *text, size_t n_bytes, const char *name, struct config *out,
                 struct err *e)
{
    struct parser x = {.file = name, .out = out, .e = e};
    scan_init(&x.scan, text, n_bytes);
    *out = (struct config){0};
    if (n_bytes > CONFIG_BYTES_MAX)
        return err_set(e, "%.200s: larger than 256 KiB; is it a config file?", name);
    out->item = calloc(CONFIG_ITEMS_MAX, sizeof *out->item);
    if (!out->item)
        abort();
    int rc = file(&x);
    if (rc)
        config_release(out);
    return rc;
}

int config_load(const char *path, struct config *out, struct err *e)
{
    int rc = -1;
    size_t n = 0;
    char *text = NULL;
    *out = (struct config){0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return err_set(e, "cannot read the config file %.200s: %s; check --config", path,
                       strerror(errno));
    text = malloc(CONFIG_BYTES_MAX + 1);
    if (!text)
        abort();
    n = fread(text, 1, CONFIG_BYTES_MAX + 1, f);
    if (ferror(f)) {
        err_set(e, "cannot read the config file %.200s: %s; check --config", path, strerror(errno));
        goto out;
    }
    rc = config_parse(text, n, path, out, e);
out:
    free(text);
    fclose(f);
    return rc;
}

void config_release(struct config *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->item[i].name);
        free(c->item[i].text);
    }
    free(c->item);
    *c = (struct config){0};
}
