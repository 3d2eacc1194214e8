#include <kprof/trace/code_query.h>

#include "agent_call.h"

#include <kprof/erl/enc.h>
#include <string.h>

#define SHOWN_BYTES 4096

int code_query_page(struct session *s, const char *after, struct buf *page, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "catalog");
    enc_str(&q.request, after);
    int rc = session_request(s, &q.request, page, AGENT_CALL_TIMEOUT_MS, e);
    agent_call_end(&q);
    return rc;
}

static bool read_text(struct etf *c, char *out, size_t cap)
{
    const uint8_t *b;
    size_t n;

    if (!etf_string(c, &b, &n) || n >= cap || memchr(b, 0, n))
        return false;
    memcpy(out, b, n);
    out[n] = 0;
    return true;
}

static bool read_functions(struct etf *c, bool elixir, const struct code_query_sink *sink)
{
    struct buf shown;
    uint32_t n, arity;
    bool ok = etf_list(c, &n);

    buf_init(&shown, SHOWN_BYTES);
    for (uint32_t i = 0; ok && i < n; i++) {
        uint64_t a = 0, exported = 0;
        buf_clear(&shown);
        ok = etf_tuple(c, &arity) && arity == 3 && term_function(c, &shown, elixir) &&
             etf_u64(c, &a) && etf_u64(c, &exported) && a <= 255;
        if (ok)
            sink->function(sink->arg, shown.data, (unsigned)a, exported != 0);
    }
    ok = ok && (n == 0 || etf_nil(c));
    buf_release(&shown);
    return ok;
}

static bool read_module(struct etf *c, const struct code_query_sink *sink)
{
    char app[CODE_QUERY_NAME_BYTES], behaviours[CODE_QUERY_NAME_BYTES];
    struct buf shown;
    uint32_t arity;
    uint64_t origin;
    bool elixir = false;

    buf_init(&shown, SHOWN_BYTES);
    bool ok = etf_tuple(c, &arity) && arity == 5 && term_module(c, &shown, &elixir) &&
              read_text(c, app, sizeof app) && etf_u64(c, &origin) &&
              origin <= CODE_QUERY_LIBRARY && read_text(c, behaviours, sizeof behaviours);
    if (ok)
        sink->module(sink->arg, shown.data, app, (enum code_query_origin)origin, behaviours);
    buf_release(&shown);
    return ok && read_functions(c, elixir, sink);
}

bool code_query_read(const void *bytes, size_t n, const struct code_query_sink *sink,
                     struct code_query_page *page)
{
    struct etf c;
    uint32_t arity, modules;
    uint64_t at, of;

    memset(page, 0, sizeof *page);
    etf_init(&c, bytes, n);
    if (!etf_tuple(&c, &arity) || arity != 5 || !etf_is_atom(&c, "catalog") || !etf_u64(&c, &at) ||
        !etf_u64(&c, &of) || at > of || of > UINT32_MAX ||
        !read_text(&c, page->next, sizeof page->next) || !etf_list(&c, &modules))
        return false;
    page->at = (uint32_t)at;
    page->of = (uint32_t)of;
    for (uint32_t i = 0; i < modules; i++)
        if (!read_module(&c, sink))
            return false;
    return true;
}

static void enc_function(struct buf *request, const struct mfa *f)
{
    enc_tuple(request, 3);
    enc_atom(request, f->module);
    enc_atom(request, f->function);
    enc_i64(request, f->arity);
}

static void enc_functions(struct buf *request, const struct mfa *f, size_t n)
{
    if (n)
        enc_list(request, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        enc_function(request, &f[i]);
    enc_nil(request);
}

static int read_callees(struct etf *c, struct buf *page, char note[CODE_QUERY_NOTE_BYTES],
                        struct err *e)
{
    char why[CODE_QUERY_NOTE_BYTES] = "";
    uint32_t arity;

    if (!etf_tuple(c, &arity) || arity != 3)
        return agent_call_unreadable("callees", e);
    if (etf_is_atom(c, "error")) {
        etf_skip(c);
        etf_text(c, why, sizeof why);
        return err_set(e, "%s", why);
    }
    bool ok = etf_is_atom(c, "callees");
    etf_text(c, note, CODE_QUERY_NOTE_BYTES);
    if (!ok || c->bad)
        return agent_call_unreadable("callees", e);
    buf_add(page, c->p, (size_t)(c->end - c->p));
    return 0;
}

int code_query_callees(struct session *s, const struct mfa *f, bool itself, struct buf *page,
                       char note[CODE_QUERY_NOTE_BYTES], struct err *e)
{
    struct agent_call q;

    note[0] = 0;
    agent_call_begin(&q, itself ? "calls" : "callees");
    enc_function(&q.request, f);
    int rc = agent_call_send(&q, s, e);
    if (rc == 0)
        rc = read_callees(&q.c, page, note, e);
    agent_call_end(&q);
    return rc;
}

int code_query_exist(struct session *s, const struct mfa *f, size_t n, bool *there, struct err *e)
{
    struct agent_call q;
    uint32_t got;

    agent_call_begin(&q, "exist");
    enc_functions(&q.request, f, n);
    int rc = agent_call_send(&q, s, e);
    if (rc == 0 && (!etf_tuple(&q.c, &got) || got != n))
        rc = agent_call_unreadable("exist", e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint64_t is = 0;
        rc = etf_u64(&q.c, &is) ? 0 : agent_call_unreadable("exist", e);
        there[i] = is != 0;
    }
    agent_call_end(&q);
    return rc;
}

int code_query_rates_begin(struct session *s, const struct mfa *f, size_t n, bool *wait,
                           struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "rates");
    enc_functions(&q.request, f, n < CODE_QUERY_RATES ? n : CODE_QUERY_RATES);
    int rc = agent_call_send(&q, s, e);
    *wait = rc == 0 && etf_is_atom(&q.c, "wait");
    if (rc == 0 && !*wait && !etf_is_atom(&q.c, "ok"))
        rc = agent_call_unreadable("rates", e);
    agent_call_end(&q);
    return rc;
}

static bool read_rates(struct etf *c, struct code_query_rates *out)
{
    uint32_t arity, n;
    uint64_t ms;

    out->wait = etf_is_atom(c, "wait");
    if (out->wait || etf_is_atom(c, "none"))
        return true;
    if (!etf_tuple(c, &arity) || arity != 3 || !etf_is_atom(c, "rates") || !etf_u64(c, &ms) ||
        !etf_tuple(c, &n) || n > CODE_QUERY_RATES || ms > UINT32_MAX)
        return false;
    out->ms = (uint32_t)ms;
    for (out->n = 0; out->n < n; out->n++)
        if (!etf_i64(c, &out->calls[out->n]))
            return false;
    return true;
}

int code_query_rates_take(struct session *s, struct code_query_rates *out, struct err *e)
{
    struct agent_call q;

    memset(out, 0, sizeof *out);
    agent_call_word(&q, "rates");
    int rc = agent_call_send(&q, s, e);
    if (rc == 0 && !read_rates(&q.c, out))
        rc = agent_call_unreadable("rates", e);
    agent_call_end(&q);
    return rc;
}
