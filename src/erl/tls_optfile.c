#include "tls_optfile.h"
#include "tls_file.h"

#include <errno.h>
#include <kprof/base/text.h>
#include <kprof/erl/scan.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_BYTES_MAX  ((size_t)4096)
#define UNUSED_BYTES_MAX 200
#define NAME_COLUMNS_MAX 40
#define DEPTH_MAX        100
#define SECTIONS_TEXT    "expected {client, [...]} or {server, [...]}"

struct parser {
    struct scan scan;
    const char *file;
    struct tls_optfile client, server, *out; /* out: the one that is being read */
    bool has_client, has_server;
    struct err *e;
};

void tls_optfile_init(struct tls_optfile *o)
{
    *o = (struct tls_optfile){.depth = -1};
    buf_init(&o->unused, UNUSED_BYTES_MAX);
}

static void drop(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void tls_optfile_release(struct tls_optfile *o)
{
    drop(&o->ca);
    drop(&o->cert);
    drop(&o->key);
    drop(&o->password);
    buf_release(&o->unused);
}

static int fail_at(const struct parser *x, const struct tok *at, const char *what)
{
    return err_set(x->e, "%.200s:%d:%d: %s", x->file, at->line, at->col, what);
}

static int fail(const struct parser *x, const char *what)
{
    return fail_at(x, &x->scan.tok, what);
}

static int next(struct parser *x)
{
    const char *wrong = scan_next(&x->scan);

    return wrong != NULL ? fail(x, wrong) : 0;
}

static bool at(const struct parser *x, char c)
{
    return scan_is_punct(&x->scan, c);
}

static bool at_op(const struct parser *x, const char *op)
{
    return x->scan.tok.kind == TOK_OTHER && scan_is_op(&x->scan, op);
}

static int expect(struct parser *x, char c, const char *what)
{
    return at(x, c) ? next(x) : fail(x, what);
}

/* ---- values that are not used ---- */

/* After `fun`: a clause follows, which has an `end`. `fun m:f/1` has none. */
static bool opens_fun(const struct parser *x)
{
    struct scan look = x->scan;

    if (at_op(x, "("))
        return true;
    return x->scan.tok.kind == TOK_VAR && scan_next(&look) == NULL && scan_is_op(&look, "(");
}

static bool opens(const struct parser *x)
{
    return at(x, '[') || at(x, '{') || at_op(x, "(") || at_op(x, "<<") ||
           scan_opens_block(&x->scan);
}

static bool closes(const struct parser *x)
{
    return at(x, ']') || at(x, '}') || at_op(x, ")") || at_op(x, ">>") ||
           scan_is_word(&x->scan, "end");
}

/* Skips an expression: up to the comma or bracket after it. */
static int skip_value(struct parser *x)
{
    struct tok start = x->scan.tok;
    size_t depth = 0;

    for (;;) {
        bool fun = scan_is_word(&x->scan, "fun"), twice;

        if (depth == 0 && (at(x, ',') || closes(x)))
            return x->scan.tok.from == start.from ? fail(x, "expected a value") : 0;
        if (x->scan.tok.kind == TOK_END || x->scan.tok.kind == TOK_DOT)
            return fail_at(x, &start, "the value that starts here has no end");
        twice = at_op(x, "<<") || at_op(x, ">>"); /* the lexer reads each as two tokens */
        if (opens(x))
            depth++;
        else if (closes(x))
            depth--;
        if ((twice && next(x) < 0) || next(x) < 0)
            return -1;
        if (fun && opens_fun(x))
            depth++;
    }
}

/* ---- values that are used ---- */

/* "text" or <<"text">>, as a new string. */
static int text_value(struct parser *x, char **out)
{
    static const char *const what =
        "the value must be a text in quotes; kprof-top does not evaluate expressions";
    struct tok start = x->scan.tok;
    bool binary = at_op(x, "<<");
    const char *wrong = NULL;
    struct buf b;
    int rc = -1;

    buf_init(&b, VALUE_BYTES_MAX);
    if (binary && (next(x) < 0 || next(x) < 0))
        goto out;
    if (x->scan.tok.kind != TOK_STRING) {
        (void)fail_at(x, &start, what);
        goto out;
    }
    while (x->scan.tok.kind == TOK_STRING) {
        wrong = scan_unquote(&x->scan, &b);
        if (wrong != NULL || next(x) < 0)
            break;
    }
    if (wrong != NULL || b.truncated || x->scan.tok.kind == TOK_STRING) {
        if (wrong != NULL || b.truncated)
            (void)fail_at(x, &start, wrong != NULL ? wrong : "this text is too long");
        goto out;
    }
    if (binary && at_op(x, "/") && (next(x) < 0 || next(x) < 0)) /* /utf8 */
        goto out;
    if (binary && (!at_op(x, ">>") || next(x) < 0 || next(x) < 0)) {
        (void)fail_at(x, &start, what);
        goto out;
    }
    if (!at(x, '}')) { /* "a" ++ "b" */
        (void)fail_at(x, &start, what);
        goto out;
    }
    drop(out);
    *out = buf_dup(b.data);
    rc = 0;
out:
    explicit_bzero(b.data, b.len);
    buf_release(&b);
    return rc;
}

/* The atom without quotes; false: something else, or too long. */
static bool atom(const struct parser *x, char *out, size_t cap)
{
    const struct tok *t = &x->scan.tok;
    size_t n = t->to - t->from - (t->quoted ? 2 : 0);

    if (t->kind != TOK_ATOM || n >= cap)
        return false;
    memcpy(out, x->scan.s + t->from + (t->quoted ? 1 : 0), n);
    out[n] = 0;
    return true;
}

static int verify_value(struct parser *x)
{
    char word[24];

    if (!atom(x, word, sizeof word) ||
        (strcmp(word, "verify_peer") != 0 && strcmp(word, "verify_none") != 0))
        return fail(x, "verify must be verify_peer or verify_none");
    x->out->verify_none = strcmp(word, "verify_none") == 0;
    return next(x);
}

static int depth_value(struct parser *x)
{
    const struct tok *t = &x->scan.tok;
    int v = 0;

    for (size_t i = t->from; i < t->to; i++) {
        char c = x->scan.s[i];

        if (t->kind != TOK_NUMBER || c < '0' || c > '9' || v > DEPTH_MAX)
            return fail(x, "depth must be a number from 0 to 100");
        v = 10 * v + (c - '0');
    }
    x->out->depth = v;
    return v <= DEPTH_MAX ? next(x) : fail(x, "depth must be a number from 0 to 100");
}

static void add_unused(struct tls_optfile *o, const char *name, size_t n)
{
    if (o->unused.len + NAME_COLUMNS_MAX + 2 >= UNUSED_BYTES_MAX) {
        if (o->unused.len > 3 && strcmp(o->unused.data + o->unused.len - 3, "...") != 0)
            buf_adds(&o->unused, ", ...");
        return;
    }
    buf_adds(&o->unused, o->unused.len > 0 ? ", " : "");
    text_safe(&o->unused, name, n, NAME_COLUMNS_MAX, true);
}

/* ['tlsv1.3','tlsv1.2'] */
static int versions_value(struct parser *x)
{
    static const char *const what = "versions must be a list such as ['tlsv1.3','tlsv1.2']";
    struct tok start = x->scan.tok;
    bool older = false;

    x->out->first = x->out->last = TLS_VERSION_ANY;
    if (expect(x, '[', what) < 0)
        return -1;
    while (!at(x, ']')) {
        enum tls_version v;
        char word[24];

        if (!atom(x, word, sizeof word))
            return fail(x, what);
        v = strcmp(word, "tlsv1.3") == 0   ? TLS_VERSION_1_3
            : strcmp(word, "tlsv1.2") == 0 ? TLS_VERSION_1_2
                                           : TLS_VERSION_ANY;
        older = older || v == TLS_VERSION_ANY;
        if (v != TLS_VERSION_ANY && (x->out->first == TLS_VERSION_ANY || v < x->out->first))
            x->out->first = v;
        if (v > x->out->last)
            x->out->last = v;
        if (next(x) < 0 || (!at(x, ']') && expect(x, ',', what) < 0))
            return -1;
    }
    if (x->out->last == TLS_VERSION_ANY)
        return fail_at(x, &start, "kprof-top needs TLS 1.2 or 1.3: 'tlsv1.2' or 'tlsv1.3'");
    if (older)
        add_unused(x->out, "versions before tlsv1.2", strlen("versions before tlsv1.2"));
    return next(x);
}

/* ---- options ---- */

/* They change nothing for a client that opens one connection. inet_tls_dist sets
 * server_name_indication itself. */
static bool without_effect(const char *name)
{
    static const char *const names[] = {"secure_renegotiate",
                                        "client_renegotiation",
                                        "renegotiate_at",
                                        "key_update_at",
                                        "reuse_sessions",
                                        "reuse_session",
                                        "session_tickets",
                                        "hibernate_after",
                                        "log_level",
                                        "log_alert",
                                        "ktls",
                                        "fail_if_no_peer_cert",
                                        "dh",
                                        "dhfile",
                                        "honor_cipher_order",
                                        "honor_ecc_order",
                                        "nodelay",
                                        "server_name_indication",
                                        "sender_spawn_opts",
                                        "receiver_spawn_opts",
                                        "beast_mitigation",
                                        "padding_check"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int option_value(struct parser *x, const char *name)
{
    struct tls_optfile *o = x->out;

    if (strcmp(name, "cacertfile") == 0)
        return text_value(x, &o->ca);
    if (strcmp(name, "certfile") == 0)
        return text_value(x, &o->cert);
    if (strcmp(name, "keyfile") == 0)
        return text_value(x, &o->key);
    if (strcmp(name, "password") == 0)
        return text_value(x, &o->password);
    if (strcmp(name, "verify") == 0)
        return verify_value(x);
    if (strcmp(name, "depth") == 0)
        return depth_value(x);
    if (strcmp(name, "versions") == 0)
        return versions_value(x);
    if (!without_effect(name))
        add_unused(o, name, strlen(name));
    return skip_value(x);
}

/* {Name, Value}, or an atom. */
static int option(struct parser *x)
{
    char name[64];
    bool pair = at(x, '{');

    if (pair && next(x) < 0)
        return -1;
    if (!atom(x, name, sizeof name))
        return fail(x, "expected an option: {Name, Value}");
    if (next(x) < 0)
        return -1;
    if (!pair) {
        if (!without_effect(name))
            add_unused(x->out, name, strlen(name));
        return 0;
    }
    if (expect(x, ',', "expected a comma after the name of the option") < 0 ||
        option_value(x, name) < 0)
        return -1;
    return expect(x, '}', "expected } after the value of the option");
}

/* [Item, ...]. */
static int list(struct parser *x, int (*item)(struct parser *x), const char *what)
{
    if (expect(x, '[', what) < 0)
        return -1;
    while (!at(x, ']')) {
        if (item(x) < 0)
            return -1;
        if (!at(x, ']') && expect(x, ',', "expected a comma or ]") < 0)
            return -1;
    }
    return next(x);
}

/* {client, [...]} */
static int section(struct parser *x)
{
    char name[16];

    if (expect(x, '{', SECTIONS_TEXT) < 0)
        return -1;
    if (atom(x, name, sizeof name) && strcmp(name, "client") == 0 && !x->has_client) {
        x->has_client = true;
        x->out = &x->client;
    } else if (atom(x, name, sizeof name) && strcmp(name, "server") == 0 && !x->has_server) {
        x->has_server = true;
        x->out = &x->server;
    } else {
        return fail(x, SECTIONS_TEXT ", each once");
    }
    if (next(x) < 0 || expect(x, ',', SECTIONS_TEXT) < 0 ||
        list(x, option, "expected a list of options: [{Name, Value}, ...]") < 0)
        return -1;
    return expect(x, '}', "expected } after the options");
}

static int whole(struct parser *x)
{
    if (next(x) < 0 || list(x, section, "expected [{client, [...]}, {server, [...]}].") < 0)
        return -1;
    if (x->scan.tok.kind != TOK_DOT)
        return fail(x, "expected a dot at the end: [...].");
    if (next(x) < 0)
        return -1;
    if (x->scan.tok.kind != TOK_END)
        return fail(x, "expected nothing after the dot");
    if (!x->has_client && !x->has_server)
        return err_set(x->e, "%.200s: it has neither {client, [...]} nor {server, [...]}", x->file);
    return 0;
}

int tls_optfile_parse(const char *text, size_t n, const char *file, struct tls_optfile *out,
                      struct err *e)
{
    struct parser x = {.file = file, .e = e};
    bool server;
    int rc;

    tls_optfile_init(&x.client);
    tls_optfile_init(&x.server);
    scan_init(&x.scan, text, n);
    rc = whole(&x);
    server = x.has_server && !x.has_client;
    *out = server ? x.server : x.client;
    out->of_server = server;
    tls_optfile_release(server ? &x.client : &x.server);
    return rc;
}

/* The bytes of the file in text, which has TLS_OPTFILE_BYTES. */
static int read_bytes(const char *file, char *text, size_t *n, struct err *e)
{
    int fd = tls_file_open(file, "--tls-optfile", "the file of the node's -ssl_dist_optfile", e);
    ssize_t got = 0;

    *n = 0;
    if (fd < 0)
        return -1;
    while (*n < TLS_OPTFILE_BYTES && (got = read(fd, text + *n, TLS_OPTFILE_BYTES - *n)) > 0)
        *n += (size_t)got;
    if (got < 0)
        (void)err_set(e, "cannot read %.200s (from --tls-optfile): %s", file, strerror(errno));
    close(fd);
    if (got > 0)
        (void)err_set(e, "%.200s is too long for a file of TLS options; give another --tls-optfile",
                      file);
    return got == 0 ? 0 : -1;
}

int tls_optfile_read(const char *file, struct tls_optfile *out, struct err *e)
{
    char *text = malloc(TLS_OPTFILE_BYTES);
    size_t n;
    int rc;

    if (text == NULL)
        abort();
    rc = read_bytes(file, text, &n, e);
    if (rc == 0)
        rc = tls_optfile_parse(text, n, file, out, e);
    else
        tls_optfile_init(out);
    explicit_bzero(text, n);
    free(text);
    return rc;
}
