/* Completion of M:F/A as typed, in Erlang or Elixir syntax; part of trace/agent_request. */
#include "agent_call.h"

#include <ctype.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/agent_request.h>
#include <stdio.h>
#include <string.h>

static bool is_elixir(const char *s)
{
    return isupper((unsigned char)s[0]);
}

/* One module name per entry; shown without "Elixir." */
static int add_modules(struct session *s, const char *prefix, struct buf *lines, struct err *e)
{
    struct agent_call q;
    uint32_t n;
    int rc;

    agent_call_begin(&q, "modules");
    enc_str(&q.request, prefix);
    rc = agent_call_send(&q, s, e);
    if (rc == 0 && etf_list(&q.c, &n)) {
        for (uint32_t i = 0; i < n && i < AGENT_REQUEST_ITEMS; i++) {
            const uint8_t *b;
            size_t len;
            if (!etf_string(&q.c, &b, &len))
                break;
            bool elixir = len > 7 && memcmp(b, "Elixir.", 7) == 0;
            buf_add(lines, elixir ? b + 7 : b, elixir ? len - 7 : len);
            buf_addch(lines, elixir ? '.' : ':');
            buf_addch(lines, '\n');
        }
    }
    agent_call_end(&q);
    return rc;
}

static int add_functions(struct session *s, const char *module, const char *shown,
                         const char *prefix, struct buf *lines, struct err *e)
{
    struct agent_call q;
    uint32_t n, arity;
    size_t kept = 0;
    int rc;

    agent_call_begin(&q, "functions");
    enc_atom(&q.request, module);
    rc = agent_call_send(&q, s, e);
    if (rc == 0 && etf_list(&q.c, &n)) {
        for (uint32_t i = 0; i < n && kept < AGENT_REQUEST_ITEMS; i++) {
            const char *f;
            size_t len;
            uint64_t a;
            if (!etf_tuple(&q.c, &arity) || arity != 3 || !etf_atom(&q.c, &f, &len) ||
                !etf_u64(&q.c, &a) || !etf_skip(&q.c))
                break;
            if (len < strlen(prefix) || memcmp(f, prefix, strlen(prefix)) != 0)
                continue;
            buf_addf(lines, "%s%.*s/%u\n", shown, (int)len, f, (unsigned)a);
            kept++;
        }
    }
    agent_call_end(&q);
    return rc;
}

int agent_request_completions(struct session *s, const char *typed, struct buf *lines,
                              struct err *e)
{
    char module[300], shown[300];
    const char *named = strchr(typed, '='), *sep;

    typed = named ? named + 1 : typed;
    buf_clear(lines);
    sep = is_elixir(typed) ? strrchr(typed, '.') : strchr(*typed == ':' ? typed + 1 : typed, ':');
    if (sep && sep - typed < 250 && (!is_elixir(typed) || !isupper((unsigned char)sep[1]))) {
        int n = (int)(sep - typed);
        snprintf(shown, sizeof shown, "%.*s", n + 1, typed);
        snprintf(module, sizeof module, "%s%.*s", is_elixir(typed) ? "Elixir." : "",
                 n - (*typed == ':'), typed + (*typed == ':'));
        return add_functions(s, module, shown, sep + 1, lines, e);
    }
    snprintf(module, sizeof module, "%s%.200s", is_elixir(typed) ? "Elixir." : "", typed);
    return add_modules(s, module, lines, e);
}
