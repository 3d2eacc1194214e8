/* Loads the agent on the node and unloads it: session_impl.h. */
#include "session_impl.h"

#include <kprof/base/clock.h>
#include <kprof/erl/conn.h>
#include <kprof/erl/enc.h>
#include <kprof/erl/term.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEAVING_NS UINT64_C(10000000000)
#define LEAVING_US 200000
#define LEFT_MS    8000

/* The agent and what it uses of OTP need some 2,500 atoms and 20 processes. */
#define ATOMS_LEAST     5000
#define PROCESSES_LEAST 50

/* Runs on the node, in processes that run no code of the agent. It needs no module that may not be
 * loaded yet (erl_eval makes binaries with eval_bits). The registered name reserves the
 * slot: registering is atomic, so two kprof-tops do not load into one slot. The node's code server
 * may hang (on some VMs forever): the wait is limited. A module that is loaded later is unloaded,
 * and the slot stays reserved until then; otherwise the next attempt would load the same module
 * again. What blocks a scheduler is cut in two, with a rest between: making the machine code, and
 * adding it to the VM's tables; and it is done on the last scheduler, which on a node with time
 * left is the least in use. */
static const char install_text[] =
    "fun(Slot, Controller, Agent, Tools, Beam, Opts, Ms) ->"
    "  Unload = fun() -> code:purge(Agent), code:delete(Agent), code:purge(Agent) end,"
    "  Free = fun() ->"
    "    (catch erlang:register(Slot, self())) =:= true andalso"
    "      not erlang:module_loaded(Agent) andalso not erlang:module_loaded(Tools) andalso "
    "      erlang:whereis(Controller) =:= undefined "
    "  end,"
    "  Finish = fun"
    "    ({ok, Prepared}) -> receive after 5 -> code:finish_loading(Prepared) end;"
    "    (Error) -> Error "
    "  end,"
    "  Load = fun(From) ->"
    "    case Free() of"
    "      false -> From ! {self(), taken};"
    "      true ->"
    "        erlang:monitor(process, From),"
    "        From ! {self(), (catch Finish(code:prepare_loading([{Agent, [], Beam}])))},"
    "        receive"
    "          keep -> ok;"
    "          drop -> Unload();"
    "          {'DOWN', _, _, _, _} -> erlang:whereis(Controller) =/= undefined orelse Unload() "
    "        end "
    "    end "
    "  end,"
    "  Me = self(),"
    "  Loader = erlang:spawn_opt(fun() -> Load(Me) end, [{max_heap_size, 0},"
    "    {scheduler, erlang:system_info(schedulers_online)}]),"
    "  receive"
    "    {Loader, ok} ->"
    "      R = (catch Agent:controller_start(Opts)),"
    "      Loader ! case is_tuple(R) andalso element(1, R) of ok -> keep; _ -> drop end,"
    "      R;"
    "    {Loader, taken} -> taken;"
    "    {Loader, Why} -> Loader ! keep, {load, Agent, Why}"
    "  after Ms ->"
    "    Loader ! drop,"
    "    {error, code_server, \"the node's code server does not answer: it hangs, or is busy \""
    "      \"loading; nothing was loaded\"}"
    "  end "
    "end.";

/* The agent unloads itself; this waits for it. */
static const char left_text[] =
    "fun(Modules, Names, Ms) ->"
    "  Loaded = fun() -> length([M || M <- Modules, erlang:module_loaded(M)]) end,"
    "  Alive = fun() -> length([N || N <- Names, erlang:whereis(N) =/= undefined]) end,"
    "  (fun Again(Left) ->"
    "     case {Loaded(), Alive()} of"
    "       {0, 0} -> {0, 0};"
    "       Some when Left =< 0 -> Some;"
    "       _ -> receive after 5 -> Again(Left - 5) end "
    "     end "
    "   end)(Ms) "
    "end.";

static void answer_text(const struct buf *a, struct buf *out)
{
    struct etf c;
    etf_init(&c, a->data, a->len);
    buf_clear(out);
    if (!term_print(&c, out, 240))
        buf_adds(out, "(unreadable)");
}

/* One step of building a fun: calls M:F with the arguments, and copies the term after `tag` to out.
 * */
static int step(struct session *s, const char *mod, const char *fun, const char *tag,
                struct buf *args, struct buf *out, struct err *e)
{
    struct buf answer, text;
    struct etf c;
    uint32_t arity;
    int rc;

    buf_init(&answer, SESSION_ANSWER_BYTES);
    buf_init(&text, 4096);
    enc_nil(args);
    rc = session_rpc(s, mod, fun, args, &answer, s->o.timeout_ms, e);
    if (rc < 0)
        goto out;
    etf_init(&c, answer.data, answer.len);
    rc = -1;
    if (etf_tuple(&c, &arity) && arity >= 2 && etf_is_atom(&c, tag)) {
        const uint8_t *from = c.p;
        if (etf_skip(&c)) {
            buf_clear(out);
            buf_add(out, from, (size_t)(c.p - from));
            rc = 0;
            goto out;
        }
    }
    answer_text(&answer, &text);
    err_set(e, "cannot load the agent on %s: %s:%s returned %.300s", s->o.to.node, mod, fun,
            text.data);
out:
    buf_release(&answer);
    buf_release(&text);
    buf_clear(args);
    return rc;
}

/* Builds a fun from Erlang text on the node, and calls it. args: an encoded list. */
static int call_text(struct session *s, const char *fun_text, const struct buf *args,
                     struct buf *answer, int timeout_ms, struct err *e)
{
    struct buf in, out;
    size_t n = strlen(fun_text);
    int rc = -1;

    buf_init(&in, SESSION_ANSWER_BYTES);
    buf_init(&out, SESSION_ANSWER_BYTES);
    enc_list(&in, 1);
    enc_list(&in, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        enc_u64(&in, (unsigned char)fun_text[i]);
    enc_nil(&in);
    if (step(s, "erl_scan", "string", "ok", &in, &out, e) < 0)
        goto out;
    enc_list(&in, 1);
    buf_add(&in, out.data, out.len);
    if (step(s, "erl_parse", "parse_exprs", "ok", &in, &out, e) < 0)
        goto out;
    enc_list(&in, 2);
    buf_add(&in, out.data, out.len);
    enc_nil(&in); /* no bindings */
    if (step(s, "erl_eval", "exprs", "value", &in, &out, e) < 0)
        goto out;
    enc_list(&in, 2);
    buf_add(&in, out.data, out.len);
    buf_add(&in, args->data, args->len);
    enc_nil(&in);
    rc = session_rpc(s, "erlang", "apply", &in, answer, timeout_ms, e);
out:
    buf_release(&in);
    buf_release(&out);
    return rc;
}

/* Reads the numbers of a list. False: it has another length, or something else in it. */
static bool read_numbers(const struct buf *answer, uint64_t *to, uint32_t n)
{
    struct etf c;
    uint32_t got;

    etf_init(&c, answer->data, answer->len);
    if (!etf_list(&c, &got) || got != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!etf_u64(&c, &to[i]))
            return false;
    return true;
}

/* A full table of atoms ends the VM, and without a free process its net_kernel can end: so nothing
 * is parsed or loaded there if little is left. lists:map(fun erlang:system_info/1, [...]) needs no
 * new atom. */
int session_has_room(struct session *s, struct err *e)
{
    static const char *const what[] = {"atom_count", "atom_limit", "process_count",
                                       "process_limit"};
    enum { N = sizeof what / sizeof *what };
    uint64_t is[N];
    struct buf args, answer;
    int rc;

    buf_init(&args, 0);
    buf_init(&answer, SESSION_ANSWER_BYTES);
    enc_list(&args, 2);
    enc_fun(&args, "erlang", "system_info", 1);
    enc_list(&args, N);
    for (size_t i = 0; i < N; i++)
        enc_atom(&args, what[i]);
    enc_nil(&args);
    enc_nil(&args);
    rc = session_rpc(s, "lists", "map", &args, &answer, s->o.timeout_ms, e);
    if (rc == 0 && read_numbers(&answer, is, N)) {
        if (is[0] + ATOMS_LEAST > is[1])
            rc = err_set(e,
                         "cannot trace on %s: its table of atoms is almost full (%llu of %llu), "
                         "and a full table ends the VM; restart it with a higher +t",
                         s->o.to.node, (unsigned long long)is[0], (unsigned long long)is[1]);
        else if (is[2] + PROCESSES_LEAST > is[3])
            rc = err_set(e,
                         "cannot trace on %s: it has almost no free processes (%llu of %llu are in "
                         "use); restart it with a higher +P",
                         s->o.to.node, (unsigned long long)is[2], (unsigned long long)is[3]);
    }
    buf_release(&args);
    buf_release(&answer);
    return rc;
}

static void read_others(struct etf *c, char *out, size_t cap)
{
    uint32_t n;

    if (!etf_list(c, &n))
        return;
    for (uint32_t i = 0; i < n; i++) {
        size_t len = strlen(out);
        if (len && len + 3 < cap)
            strcat(out, ", ");
        len = strlen(out);
        etf_text(c, out + len, cap - len);
    }
}

static void read_held(struct etf *c, struct session_info *info)
{
    uint32_t n;

    if (!etf_list(c, &n))
        return;
    info->n_avoided = n;
    for (uint32_t i = 0; i < n; i++) {
        char one[160];
        size_t len = strlen(info->avoided);
        struct etf text = *c;
        etf_text(&text, one, sizeof one);
        if (!etf_skip(c))
            return;
        snprintf(info->avoided + len, sizeof info->avoided - len, "%s%s", i ? "; " : "", one);
    }
}

static void read_info(struct etf *c, struct session_info *info)
{
    uint32_t pairs;
    uint64_t u;

    if (!etf_map(c, &pairs))
        return;
    for (uint32_t i = 0; i < pairs && !c->bad; i++) {
        const char *k;
        size_t n;
        if (!etf_atom(c, &k, &n))
            return;
        struct etf value = *c;
#define IS(s) (n == sizeof s - 1 && memcmp(k, s, n) == 0)
        if (IS("otp"))
            etf_text(&value, info->otp, sizeof info->otp);
        else if (IS("start_time"))
            etf_i64(&value, &info->start_native);
        else if (IS("time_unit"))
            etf_i64(&value, &info->units_per_s);
        else if (IS("schedulers") && etf_u64(&value, &u))
            info->schedulers = (uint32_t)u;
        else if (IS("session"))
            info->own_session = etf_is_atom(&value, "true");
        else if (IS("lean"))
            info->lean = etf_is_atom(&value, "true");
        else if (IS("gc"))
            info->no_gc = etf_is_atom(&value, "false");
        else if (IS("elixir"))
            info->elixir = etf_is_atom(&value, "true");
        else if (IS("others"))
            read_others(&value, info->others, sizeof info->others);
        else if (IS("held"))
            read_held(&value, info);
#undef IS
        etf_skip(c);
    }
}

static void start_opts(struct session *s, struct buf *args)
{
    enc_map(args, s->o.pause_ms ? 10 : 8);
    enc_atom(args, "pid");
    conn_self_pid(s->conn, args);
    enc_atom(args, "node");
    enc_atom(args, conn_self(s->conn));
    enc_atom(args, "who");
    enc_str(args, s->o.who);
    enc_atom(args, "instance");
    enc_u64(args, s->o.instance);
    enc_atom(args, "force");
    enc_atom(args, s->o.force ? "true" : "false");
    enc_atom(args, "again");
    enc_atom(args, s->o.reconnected ? "true" : "false");
    enc_atom(args, "key");
    enc_binary(args, s->key, sizeof s->key);
    enc_atom(args, "epoch");
    enc_u64(args, s->o.epoch);
    if (s->o.pause_ms) {
        enc_atom(args, "pause_ms");
        enc_u64(args, s->o.pause_ms);
        enc_atom(args, "end_ms");
        enc_u64(args, (uint64_t)s->o.pause_ms * 6);
    }
}

static void take_slot(struct session *s, unsigned slot)
{
    agent_module_release(&s->agent);
    agent_module_make(AGENT_MAIN, slot, &s->agent);
    s->slot = slot;
}

/* A name that the agent registers in this slot, as an atom. */
static void enc_slot_name(const struct session *s, const char *word, struct buf *out)
{
    char name[64];

    snprintf(name, sizeof name, "kprof_%s_%s", word, s->agent.digits);
    enc_atom(out, name);
}

static void install_args(struct session *s, struct buf *args)
{
    enc_list(args, 7);
    enc_slot_name(s, "slot", args);
    enc_slot_name(s, "controller", args);
    enc_atom(args, s->agent.name);
    enc_slot_name(s, "tools", args);
    enc_binary(args, s->agent.bytes, s->agent.len);
    start_opts(s, args);
    enc_u64(args, (uint64_t)s->o.timeout_ms * 4 / 5); /* its answer arrives before the timeout */
    enc_nil(args);
}

enum installed { INSTALLED, INSTALL_FAILED, INSTALL_TAKEN, INSTALL_LEAVING };

static enum installed refused(struct session *s, struct etf *c, struct err *e)
{
    bool leaving = etf_is_atom(c, "leaving");
    char why[400] = "";

    if (leaving || etf_skip(c))
        etf_text(c, why, sizeof why);
    err_set(e, "cannot trace on %s: %s", s->o.to.node, why);
    return leaving ? INSTALL_LEAVING : INSTALL_FAILED;
}

static enum installed read_installed(struct session *s, const struct buf *answer,
                                     struct session_info *info, struct err *e)
{
    enum installed got = INSTALL_FAILED;
    struct buf text;
    struct etf c;
    uint32_t arity;

    etf_init(&c, answer->data, answer->len);
    if (etf_is_atom(&c, "taken"))
        return INSTALL_TAKEN;
    buf_init(&text, 4096);
    answer_text(answer, &text);
    if (!etf_tuple(&c, &arity) || arity != 3) {
        err_set(e, "cannot start the agent on %s: %s", s->o.to.node, text.data);
    } else if (etf_is_atom(&c, "ok")) {
        const uint8_t *from = c.p;
        if (etf_skip(&c)) {
            buf_clear(&s->controller);
            buf_add(&s->controller, from, (size_t)(c.p - from));
            read_info(&c, info);
            got = INSTALLED;
        }
    } else if (etf_is_atom(&c, "error")) {
        got = refused(s, &c, e);
    } else if (etf_is_atom(&c, "load")) {
        err_set(e,
                "cannot load the agent on %s: %s; it was compiled for another Erlang: build "
                "kprof-top with the OTP release of the node, or an older one",
                s->o.to.node, text.data);
    } else {
        err_set(e, "cannot start the agent on %s: %s", s->o.to.node, text.data);
    }
    buf_release(&text);
    return got;
}

static enum installed install(struct session *s, struct session_info *info, struct err *e)
{
    struct buf args, answer;
    enum installed got = INSTALL_FAILED;

    buf_init(&args, 0);
    buf_init(&answer, SESSION_ANSWER_BYTES);
    install_args(s, &args);
    if (call_text(s, install_text, &args, &answer, s->o.timeout_ms, e) == 0)
        got = read_installed(s, &answer, info, e);
    buf_release(&args);
    buf_release(&answer);
    return got;
}

int session_load(struct session *s, struct session_info *info, struct err *e)
{
    uint64_t until = clock_mono_ns() + LEAVING_NS;
    unsigned slot =
        0; /* the first free slot, because each slot name is a permanent atom on the node */

    if (session_has_room(s, e) < 0)
        return -1;
    while (slot < AGENT_SLOTS) {
        take_slot(s, slot);
        switch (install(s, info, e)) {
        case INSTALLED:
            return 0;
        case INSTALL_FAILED:
            return -1;
        case INSTALL_LEAVING:
            if (clock_mono_ns() > until)
                return -1;
            usleep(LEAVING_US);
            break;
        case INSTALL_TAKEN:
            slot++;
            break;
        }
    }
    return err_set(e,
                   "cannot load the agent on %s: all %d slots are in use, possibly by agents of "
                   "earlier runs",
                   s->o.to.node, AGENT_SLOTS);
}

void session_left(struct session *s, struct session_receipt *r)
{
    struct buf args, answer;
    struct err ignored;
    struct etf c;
    uint32_t arity;

    buf_init(&args, 0);
    buf_init(&answer, SESSION_ANSWER_BYTES);
    enc_list(&args, 3);
    enc_list(&args, 2);
    enc_atom(&args, s->agent.name);
    enc_slot_name(s, "tools", &args);
    enc_nil(&args);
    enc_list(&args, 3);
    enc_slot_name(s, "controller", &args);
    enc_slot_name(s, "relay", &args);
    enc_slot_name(s, "guardian", &args);
    enc_nil(&args);
    enc_u64(&args, LEFT_MS);
    enc_nil(&args);
    r->asked = call_text(s, left_text, &args, &answer, LEFT_MS + s->o.timeout_ms, &ignored) == 0;
    etf_init(&c, answer.data, answer.len);
    r->asked = r->asked && etf_tuple(&c, &arity) && arity == 2 && etf_u64(&c, &r->modules) &&
               etf_u64(&c, &r->processes);
    buf_release(&args);
    buf_release(&answer);
}
