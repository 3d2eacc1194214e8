/* Completion of M:F/A as typed, the Erlang way or the Elixir way; part of trace/ask. */
#include <kprof/trace/ask.h>

#include <ctype.h>
#include <kprof/erl/enc.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_BYTES ((size_t)4 << 20)
#define TIMEOUT_MS   8000

static bool is_elixir(const char *s)
{
    return isupper((unsigned char)s[0]);
}

static int ask_text(struct session *s, const char *what, const char *arg, bool as_atom,
                    struct buf *answer, struct err *e)
{
    struct buf ask;
    int rc;

    buf_init(&ask, 0);
    enc_tuple(&ask, 2);
    enc_atom(&ask, what);
    if (as_atom)
        enc_atom(&ask, arg);
    else
        enc_str(&ask, arg);
    rc = session_ask(s, &ask, answer, TIMEOUT_MS, e);
    buf_release(&ask);
    return rc;
}

/* One module name an entry; shown without "Elixir." */
static int add_modules(struct session *s, const char *prefix, struct buf *lines, struct err *e)
{
    struct buf answer;
    struct etf c;
    uint32_t n;
    int rc;

    buf_init(&answer, ANSWER_BYTES);
    rc = ask_text(s, "modules", prefix, false, &answer, e);
    etf_init(&c, answer.data, answer.len);
    if (rc == 0 && etf_list(&c, &n)) {
        for (uint32_t i = 0; i < n && i < ASK_ITEMS; i++) {
            const uint8_t *b;
            size_t len;
            if (!etf_string(&c, &b, &len))
                break;
            bool elixir = len > 7 && memcmp(b, "Elixir.", 7) == 0;
            buf_add(lines, elixir ? b + 7 : b, elixir ? len - 7 : len);
            buf_addch(lines, elixir ? '.' : ':');
            buf_addch(lines, '\n');
        }
    }
    buf_release(&answer);
    return rc;
}

static int add_functions(struct session *s, const char *module, const char *shown,
                         const char *prefix, struct buf *lines, struct err *e)
{
    struct buf answer;
    struct etf c;
    uint32_t n, arity;
    size_t kept = 0;
    int rc;

    buf_init(&answer, ANSWER_BYTES);
    rc = ask_text(s, "functions", module, true, &answer, e);
    etf_init(&c, answer.data, answer.len);
    if (rc == 0 && etf_list(&c, &n)) {
        for (uint32_t i = 0; i < n && kept < ASK_ITEMS; i++) {
            const char *f;
            size_t len;
            uint64_t a;
            if (!etf_tuple(&c, &arity) || arity != 3 || !etf_atom(&c, &f, &len) ||
                !etf_u64(&c, &a) || !etf_skip(&c))
                break;
            if (len < strlen(prefix) || memcmp(f, prefix, strlen(prefix)) != 0)
                continue;
            buf_addf(lines, "%s%.*s/%u\n", shown, (int)len, f, (unsigned)a);
            kept++;
        }
    }
    buf_release(&answer);
    return rc;
}

int ask_completions(struct session *s, const char *typed, struct buf *lines, struct err *e)
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
