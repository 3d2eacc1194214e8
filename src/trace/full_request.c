#include <kprof/trace/full_request.h>

#include "agent_call.h"

#include <kprof/erl/enc.h>
#include <stdlib.h>
#include <string.h>

#define APP "app:"

static void enc_call(struct buf *b, const struct mfa *f)
{
    enc_tuple(b, 3);
    enc_str(b, f->module);
    enc_str(b, f->function);
    enc_i64(b, f->arity);
}

static void enc_who(struct buf *b, const struct full_request *r)
{
    enc_tuple(b, 2);
    if (!r->pids) {
        enc_atom(b, "call");
        enc_call(b, &r->call);
        return;
    }
    enc_atom(b, "pids");
    if (r->n_pids)
        enc_list(b, (uint32_t)r->n_pids);
    for (size_t i = 0; i < r->n_pids; i++) {
        enc_tuple(b, 2);
        enc_u64(b, r->pids[i] & UINT32_MAX);
        enc_u64(b, r->pids[i] >> 32);
    }
    enc_nil(b);
}

static void enc_follow(struct buf *b, const struct full_request *r)
{
    if (r->n_follow)
        enc_list(b, (uint32_t)r->n_follow);
    for (size_t i = 0; i < r->n_follow; i++)
        enc_call(b, &r->follow[i]);
    enc_nil(b);
}

/* The name of a module as the node has it: Elixir's begin with a capital letter. */
static void enc_module(struct buf *b, const char *s, size_t n)
{
    char name[300];

    if (n > 255)
        n = 255;
    bool elixir = *s >= 'A' && *s <= 'Z' && !(n > 7 && memcmp(s, "Elixir.", 7) == 0);
    size_t at = elixir ? 7 : 0;
    memcpy(name, "Elixir.", 7);
    memcpy(name + at, s, n);
    enc_binary(b, name, at + n);
}

/* Writes the applications of the list, or the modules. */
static void enc_names(struct buf *b, const char *list, bool apps)
{
    const char *end;

    for (; *list; list = *end ? end + 1 : end) {
        end = strchrnul(list, ',');
        bool app = strncmp(list, APP, sizeof APP - 1) == 0;
        const char *from = app ? list + sizeof APP - 1 : list;
        if (app != apps || from >= end)
            continue;
        enc_list(b, 1); /* [A | [B | ...]] */
        if (app)
            enc_binary(b, from, (size_t)(end - from));
        else
            enc_module(b, from, (size_t)(end - from));
    }
    enc_nil(b);
}

static void enc_modules(struct buf *b, const struct full_request *r)
{
    const char *list = r->modules;

    if (strcmp(list, "all") == 0) {
        enc_atom(b, "all");
        return;
    }
    if (r->with_applications) {
        enc_tuple(b, 2);
        enc_atom(b, "with");
        enc_names(b, list, false);
        return;
    }
    enc_tuple(b, 3);
    enc_atom(b, "some");
    enc_names(b, list, false);
    enc_names(b, list, true);
}

static void enc_text(struct buf *b, const char *text)
{
    if (text)
        enc_str(b, text);
    else
        enc_atom(b, "none");
}

/* Copies n bytes to *at, and advances it to the next aligned place. from NULL: NULL */
static void *put(char **at, const void *from, size_t n)
{
    void *to = *at;

    if (!from)
        return NULL;
    memcpy(to, from, n);
    *at += (n + 7) & ~(size_t)7;
    return to;
}

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

struct full_request *full_request_copy(const struct full_request *r)
{
    const char *const text[] = {r->rule, r->value, r->name, r->modules};
    size_t n = sizeof *r + r->n_pids * sizeof *r->pids + r->n_follow * sizeof *r->follow + 64;

    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        n += text_bytes(text[i]);
    char *at = malloc(n);
    if (!at)
        abort();
    struct full_request *to = put(&at, r, sizeof *r);
    to->pids = put(&at, r->pids, r->n_pids * sizeof *r->pids);
    to->follow = put(&at, r->follow, r->n_follow * sizeof *r->follow);
    to->rule = put(&at, r->rule, text_bytes(r->rule));
    to->value = put(&at, r->value, text_bytes(r->value));
    to->name = put(&at, r->name, text_bytes(r->name));
    to->modules = put(&at, r->modules, text_bytes(r->modules));
    return to;
}

int full_request_begin(struct session *s, const struct full_request *r, struct err *e)
{
    const struct {
        const char *name;
        uint64_t value;
    } number[] = {{"slow_ns", r->slow_ns},
                  {"events", r->events},
                  {"wait_ms", r->wait_ms},
                  {"run_ms", r->run_ms},
                  {"id", r->id}};
    struct agent_call q;

    agent_call_begin(&q, "full");
    struct buf *b = &q.request;
    enc_map(b, r->name ? 11 : 10);
    enc_atom(b, "who");
    enc_who(b, r);
    enc_atom(b, "follow");
    enc_follow(b, r);
    enc_atom(b, "modules");
    enc_modules(b, r);
    enc_atom(b, "rule");
    enc_text(b, r->rule);
    enc_atom(b, "value");
    enc_text(b, r->value);
    if (r->name) {
        enc_atom(b, "name");
        enc_str(b, r->name);
    }
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        enc_atom(b, number[i].name);
        enc_u64(b, number[i].value);
    }
    return agent_call_ok(&q, s, "", e);
}

int full_request_end(struct session *s, struct err *e)
{
    struct agent_call q;

    agent_call_begin(&q, "full");
    enc_atom(&q.request, "off");
    return agent_call_ok(&q, s, "", e);
}
