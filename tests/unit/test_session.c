/* A session with a node that is a thread of the test: matching of answers, priorities, the receipt.
 */
#include "../lib/fake_peer.h"

#include <trace/session_impl.h>

#include <app/hazards.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/hazard.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LONG_MS 20000 /* nothing waits for it */

static void word(struct buf *b, const char *atom)
{
    buf_clear(b);
    enc_atom(b, atom);
}

static bool is(const struct buf *answer, const char *atom)
{
    struct etf c;

    etf_init(&c, answer->data, answer->len);
    return etf_is_atom(&c, atom);
}

static int rpc(struct peer *p, struct buf *answer, int timeout_ms)
{
    struct buf args;
    struct err e;

    buf_init(&args, 0);
    enc_nil(&args);
    int rc = session_rpc(peer_session(p), "erlang", "node", &args, answer, timeout_ms, &e);
    buf_release(&args);
    return rc;
}

/* ---- matching of answers ---- */

struct late {
    unsigned calls;
    uint64_t first; /* the reference of the request that was not answered in time */
};

/* The first call is not answered. Before the answer to the second come a late answer to the first,
 * an answer to no request, and one in the old format of rex; then the answer comes again with
 * another value. */
static bool late_and_stray(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    struct late *l = arg;
    struct buf b;

    (void)out;
    if (!h->rpc)
        return false;
    if (l->calls++ == 0) {
        l->first = h->ref;
        return false;
    }
    buf_init(&b, 0);
    word(&b, "late");
    peer_answer(p, true, l->first, &b);
    word(&b, "stray");
    peer_answer(p, true, h->ref + 1, &b);
    peer_answer(p, false, h->ref, &b); /* in the form of an answer of the agent */
    buf_clear(&b);
    enc_tuple(&b, 2);
    enc_atom(&b, "rex");
    enc_atom(&b, "stray");
    peer_send(p, &b);
    word(&b, "right");
    peer_answer(p, true, h->ref, &b);
    word(&b, "twice");
    peer_answer(p, true, h->ref, &b);
    buf_release(&b);
    return false;
}

static void an_answer_is_of_its_question(void **state)
{
    struct late l = {0};
    struct peer *p = peer_new(late_and_stray, &l);
    struct buf answer;

    (void)state;
    buf_init(&answer, 1000);
    assert_int_equal(rpc(p, &answer, 20), -1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rpc(p, &answer, LONG_MS), 0);
        assert_true(is(&answer, "right"));
    }
    buf_release(&answer);
    peer_free(p, false);
}

/* Answers of the agent and of rpc alternate; a late answer of either is ignored. */
static bool by_turns(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    struct late *l = arg;
    struct buf b;

    buf_init(&b, 0);
    word(&b, "late");
    if (l->first)
        peer_answer(p, !h->rpc, l->first, &b);
    buf_release(&b);
    l->first = h->ref;
    word(out, h->rpc ? "rpc" : "agent");
    return true;
}

static void the_agent_and_rpc_are_told_apart(void **state)
{
    struct late l = {0};
    struct peer *p = peer_new(by_turns, &l);
    struct buf request, answer;
    struct err e;

    (void)state;
    buf_init(&answer, 1000);
    buf_init(&request, 0);
    word(&request, "ping");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rpc(p, &answer, LONG_MS), 0);
        assert_true(is(&answer, "rpc"));
        assert_int_equal(session_request(peer_session(p), &request, &answer, LONG_MS, &e), 0);
        assert_true(is(&answer, "agent"));
    }
    buf_release(&request);
    buf_release(&answer);
    peer_free(p, false);
}

/* ---- tools ---- */

enum loading { LOADS, REFUSES, HANGS };

struct node_without_tools {
    enum loading loading;
    bool loaded;
    unsigned requests, loads;
};

/* An agent that answers a request only with its second module. */
static bool without_tools(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    struct node_without_tools *n = arg;
    struct etf c = h->what;
    uint32_t arity;
    const uint8_t *beam;
    size_t len;

    (void)p;
    if (h->rpc) { /* is there room? */
        word(out, "not_a_list");
        return true;
    }
    if (!etf_tuple(&c, &arity)) {
        n->requests++;
        word(out, n->loaded ? "rates" : "tools");
        return true;
    }
    assert_true(arity == 2 && etf_is_atom(&c, "tools"));
    assert_true(etf_string(&c, &beam, &len) && len > 1000 && memcmp(beam, "FOR1", 4) == 0);
    n->loads++;
    n->loaded = n->loading == LOADS;
    word(out, "ok");
    if (n->loading == REFUSES) {
        buf_clear(out);
        enc_tuple(out, 3);
        enc_atom(out, "error");
        enc_atom(out, "load");
        enc_str(out, "badfile");
    }
    return n->loading != HANGS;
}

static int ask_for_rates(struct peer *p, struct buf *answer, int timeout_ms, struct err *e)
{
    struct buf request;

    buf_init(&request, 0);
    word(&request, "rates");
    int rc = session_request(peer_session(p), &request, answer, timeout_ms, e);
    buf_release(&request);
    return rc;
}

static void tools_are_loaded_when_needed(void **state)
{
    struct node_without_tools n = {.loading = LOADS};
    struct peer *p = peer_new(without_tools, &n);
    struct buf answer;
    struct err e;

    (void)state;
    buf_init(&answer, 1000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask_for_rates(p, &answer, LONG_MS, &e), 0);
        assert_true(is(&answer, "rates"));
    }
    assert_int_equal(n.loads, 1);
    assert_int_equal(n.requests, 3);
    peer_free(p, false);

    n = (struct node_without_tools){.loading = REFUSES};
    p = peer_new(without_tools, &n);
    assert_int_equal(ask_for_rates(p, &answer, LONG_MS, &e), -1);
    assert_non_null(strstr(e.text, "cannot load kprof_tools_00 on "));
    assert_non_null(strstr(e.text, "badfile"));
    peer_free(p, false);

    n = (struct node_without_tools){.loading = HANGS};
    p = peer_new(without_tools, &n);
    assert_int_equal(ask_for_rates(p, &answer, 50, &e), -1);
    assert_non_null(strstr(e.text, "code server did not answer within 50 ms"));
    peer_free(p, false);
    buf_release(&answer);
}

/* When the connection is lost, a waiting call returns at once. */
static bool cut(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    (void)arg;
    (void)h;
    (void)out;
    peer_hang_up(p);
    return false;
}

static void a_cut_line_ends_the_wait(void **state)
{
    struct peer *p = peer_new(cut, NULL);
    struct buf answer;

    (void)state;
    buf_init(&answer, 1000);
    assert_int_equal(rpc(p, &answer, LONG_MS), -1);
    assert_true(session_lost(peer_session(p)));
    buf_release(&answer);
    peer_free(p, false);
}

/* ---- the receipt ---- */

struct leave {
    bool rich; /* an agent that supports `holders` */
};

static bool leaving(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    const struct leave *l = arg;
    struct etf c = h->what;

    (void)p;
    if (h->rpc || !etf_is_atom(&c, "detach")) {
        enc_atom(out, "no"); /* it does not report what is left */
        return true;
    }
    enc_map(out, l->rich ? 5 : 3);
    enc_atom(out, "patterns");
    enc_u64(out, 1);
    enc_atom(out, "flags");
    enc_u64(out, 2);
    enc_atom(out, "tokens");
    enc_atom(out, l->rich ? "drained" : "a_word_that_is_longer_than_anyone_would_think_of");
    if (l->rich) {
        enc_atom(out, "holders");
        enc_u64(out, 3);
        enc_atom(out, "session");
        enc_atom(out, "none");
    }
    return true;
}

static void the_receipt_is_read(void **state)
{
    (void)state;
    for (int rich = 0; rich < 2; rich++) {
        struct leave l = {.rich = rich};
        struct peer *p = peer_new(leaving, &l);
        struct session_receipt r;

        session_close(peer_session(p), &r);
        assert_false(r.asked); /* nothing was reported about processes and modules */
        assert_int_equal(r.patterns, 1);
        assert_int_equal(r.flags, 2);
        assert_int_equal(r.holders, rich ? 3 : 0);
        assert_string_equal(r.tokens, rich ? "drained" : "a_word_that_is_longer_than_anyo");
        peer_free(p, true);
    }
}

/* ---- the table of hazards ---- */

enum table { TABLE, TABLE_ODD, TABLE_TOO_LONG, TABLE_HELD_TWICE, TABLE_ERROR };

static void row(struct buf *out, const char *id, uint64_t held, const char *text)
{
    enc_tuple(out, 3);
    enc_atom(out, id);
    enc_u64(out, held);
    enc_str(out, text);
}

static bool tell_table(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    const enum table *t = arg;

    (void)p;
    (void)h;
    if (*t == TABLE_ERROR) {
        enc_tuple(out, 3);
        enc_atom(out, "error");
        enc_atom(out, "unknown");
        enc_str(out, "unknown request hazards");
        return true;
    }
    if (*t == TABLE_ODD) {
        enc_atom(out, "ok");
        return true;
    }
    uint32_t n = *t == TABLE_TOO_LONG ? HAZARDS_MAX + 1 : 2;
    enc_list(out, n);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            row(out, "an_atom_of_no_hazard", *t == TABLE_HELD_TWICE ? 2 : 1, "\x1b[2Jone\ntwo");
        else
            row(out, "b8", 0, "code_server crashes");
    }
    enc_nil(out);
    return true;
}

static int table(enum table t, struct hazard *h, size_t *n, struct err *e)
{
    struct peer *p = peer_new(tell_table, &t);
    int rc = hazard_ask(peer_session(p), h, n, e);

    peer_free(p, false);
    return rc;
}

static void the_table_of_hazards_is_read_and_printed(void **state)
{
    struct hazard h[HAZARDS_MAX];
    struct err e = {{0}};
    struct buf out;
    size_t n;

    (void)state;
    assert_int_equal(table(TABLE, h, &n, &e), 0);
    assert_int_equal(n, 2);
    assert_string_equal(h[0].id, "b8");
    assert_false(h[0].avoided);
    assert_string_equal(h[1].id, "an_atom_of_no_h");
    assert_true(h[1].avoided);
    buf_init(&out, 0);
    hazards_text(h, n, &out); /* avoided ones first; no control sequences */
    assert_string_equal(out.data, "AN_ATOM_OF_NO_H precaution  \xef\xbf\xbd[2Jone\xef\xbf\xbdtwo\n"
                                  "B8   does not apply   code_server crashes\n");
    buf_release(&out);
    assert_int_equal(table(TABLE_ODD, h, &n, &e), -1);
    assert_int_equal(table(TABLE_TOO_LONG, h, &n, &e), -1);
    assert_int_equal(table(TABLE_HELD_TWICE, h, &n, &e), -1);
    assert_int_equal(table(TABLE_ERROR, h, &n, &e), -1);
    assert_non_null(strstr(e.text, "unknown request hazards"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_of_its_question),
        cmocka_unit_test(the_agent_and_rpc_are_told_apart),
        cmocka_unit_test(tools_are_loaded_when_needed),
        cmocka_unit_test(a_cut_line_ends_the_wait),
        cmocka_unit_test(the_receipt_is_read),
        cmocka_unit_test(the_table_of_hazards_is_read_and_printed),
    };
    return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
