#include <kprof/cli/preset.h>

#include "server_rules.h"

#include <assert.h>
#include <ctype.h>
#include <kprof/base/buf.h>
#include <kprof/cli/options_tier.h>
#include <kprof/cli/optval.h>
#include <kprof/erl/term.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX   8 /* presets combined */
#define ALTERNATIVE " | "
#define LEFT_BYTES  1000

struct preset_tier {
    const char *name;
    const char
        *mfa; /* "m:f/1 | m:f/2": the node has one of them; % at the start: the given module */
    const char *rule; /* names a request; NULL: this tier names none */
    bool optional;    /* the preset works without this tier */
};

struct preset {
    const char *name, *about;
    const char *hint; /* what to do if the node lacks a tier that the preset needs; NULL: nothing */
    bool asks, entry_none;
    bool clauses; /* rules are clauses of a fun, with % for the module's atom; else short rules */
    struct preset_tier tier[PRESET_TIERS_OF_ONE];
};

/* The functions were taken from these sources (repository, commit or release):
 *   cowboy 2.13     ninenines/cowboy b36f064 (cowboy_handler), 03d306e (cowboy_stream_h: since
 *                   2.5); all functions also checked in 2.8, 2.12, 2.20
 *   plug_cowboy 2.7 elixir-plug/plug_cowboy 0227c58 (Plug.Cowboy.Handler)
 *   plug            elixir-plug/plug, lib/plug/conn.ex of 1.2 to 1.15 (send_resp/1)
 *   phoenix 1.7     lib/phoenix/router.ex (__call__/5); 1.4 to 1.6 (__call__/2):
 *                   phoenixframework/phoenix 0018c78
 *   yaws 2.0        erlyaws/yaws, src/yaws_server.erl (handle_ut/4, deliver_dyn_part/8), #arg{} of
 *                   yaws_api.hrl: the request is its fifth element in 1.x and 2.x;
 *                   deliver_file/5 and deliver_accumulated/4 in 2.1.1, 2.2.0, 2.3.1
 *   rabbitmq        the modules of 3.10.8, 4.0.5 and 4.3.6; rabbit_reader is not a tier, because
 *                   it passes frames on before the channel begins a request
 *   ejabberd 17     and later: processone/ejabberd: ejabberd_c2s, ejabberd_router,
 *                   ejabberd_local, ejabberd_sm
 *   liveview        phoenixframework/phoenix_live_view, 0.16 to 1.1: channel.ex, utils.ex,
 *                   renderer.ex, diff.ex, static.ex
 *   ecto 3          elixir-ecto/ecto_sql, lib/ecto/adapters/sql.ex; elixir-ecto/db_connection 2
 *   oban 1, 2       oban-bg/oban, lib/oban/queue/executor.ex, lib/oban/engine.ex
 *
 * Paths are in path(...), which replaces ids: else each request would have its own name. */
#define LIVE "'Elixir.Phoenix.LiveView.Channel'"
#define SQL  "'Elixir.Ecto.Adapters.SQL'"
#define OBAN "'Elixir.Oban.Queue.Executor'"

static const struct preset presets[] = {
    {.name = "sample",
     .about = "the sample node of --demo",
     .tier = {{"handle", "kprof_sample:handle/1", NULL, false},
              {"parsing", "kprof_sample:parsing/1", NULL, false},
              {"db", "kprof_sample:db/2", "arg(1)", false},
              {"accounting", "kprof_sample:accounting/2", NULL, false},
              {"formatter", "kprof_sample:formatter/1", NULL, false}}},
    {.name = "cowboy",
     .about = "Cowboy 2: requests by method and handler",
     .tier = {{"request", "cowboy_stream_h:request_process/3", NULL, false},
              {"routing", "cowboy_router:execute/2", NULL, true},
              {"reply", "cowboy_req:reply/4", NULL, true},
              {"handler", "cowboy_handler:execute/2",
               "{map_get(method, arg(1)), map_get(handler, arg(2))}", false}}},
    {.name = "plug",
     .about = "Plug on Cowboy: requests by method and path",
     .tier = {{"request", "Plug.Cowboy.Handler.init/2", COWBOY_RULE, false},
              {"send", "Plug.Conn.send_resp/1", NULL, true}}},
    {.name = "phoenix",
     .about = "Phoenix 1.7 and later: requests by method and route",
     .tier = {{"router", "Phoenix.Router.__call__/5",
               "{map_get(method, arg(1)), map_get(route, arg(2))}", false},
              {"send", "Plug.Conn.send_resp/1", NULL, true}}},
    {.name = "phoenix16",
     .about = "Phoenix 1.4 to 1.6: requests by method and route",
     .tier = {{"router", "Phoenix.Router.__call__/2",
               "{map_get(method, arg(1)), map_get(route, element(1, arg(2)))}", false},
              {"send", "Plug.Conn.send_resp/1", NULL, true}}},
    {.name = "yaws",
     .about = "Yaws: requests by method and path",
     .tier = {{"request", "yaws_server:handle_ut/4", YAWS_RULE("arg(2)"), false},
              {"dynamic", "yaws_server:deliver_dyn_part/8", NULL, true},
              {"file", "yaws_server:deliver_file/5", NULL, true},
              {"send", "yaws_server:deliver_accumulated/4", NULL, true}}},
    {.name = "rabbitmq",
     .about = "RabbitMQ: AMQP methods per channel, and their path to the queues",
     .clauses = true,
     .tier = {{"channel", "rabbit_channel:handle_cast/2", RABBIT_CHANNEL_CLAUSES, false},
              {"route", "rabbit_exchange:route/3 | rabbit_exchange:route/2", NULL, true},
              {"deliver", "rabbit_queue_type:deliver/4 | rabbit_queue_type:deliver/3", NULL, true},
              {"queue", "rabbit_amqqueue_process:handle_cast/2", NULL, true},
              {"get", "rabbit_amqqueue_process:handle_call/3", NULL, true},
              {"backing", "rabbit_variable_queue:publish/5 | rabbit_variable_queue:publish/6", NULL,
               true},
              {"store", "rabbit_msg_store:handle_cast/2", NULL, true},
              {"writer", "rabbit_writer:handle_message/2", NULL, true}}},
    {.name = "ejabberd",
     .about = "ejabberd: stanzas of clients by kind",
     .tier = {{"stanza", "ejabberd_c2s:handle_authenticated_packet/2", EJABBERD_STANZA_RULE, false},
              {"router", "ejabberd_router:route/1", NULL, true},
              {"local", "ejabberd_local:route/1", NULL, true},
              {"sessions", "ejabberd_sm:route/1", NULL, true},
              {"offline", "mod_offline:store_packet/1", NULL, true}}},
    {.name = "gen_server",
     .about = "callbacks of one module, each call on its own, by message",
     .asks = true,
     .entry_none = true,
     .clauses = true,
     .tier = {{"call", "%handle_call/3",
               "({%, handle_call, [R, _, _]}) when is_tuple(R) -> element(1, R); "
               "({%, handle_call, [R, _, _]}) -> R",
               false},
              {"cast", "%handle_cast/2",
               "({%, handle_cast, [R, _]}) when is_tuple(R) -> element(1, R); "
               "({%, handle_cast, [R, _]}) -> R",
               true},
              {"info", "%handle_info/2",
               "({%, handle_info, [R, _]}) when is_tuple(R) -> element(1, R); "
               "({%, handle_info, [R, _]}) -> R",
               true}}},
    {.name = "gen_statem",
     .about = "events of one module with handle_event/4, each on its own, by type",
     .hint = "; if each state has a function of its own, add these as tiers (a)",
     .asks = true,
     .entry_none = true,
     .clauses = true,
     .tier = {{"event", "%handle_event/4",
               "({%, handle_event, [{T, _}, C, _, _]}) when is_tuple(C) -> {T, element(1, C)}; "
               "({%, handle_event, [{T, _}, C, _, _]}) when is_atom(C) -> {T, C}; "
               "({%, handle_event, [{T, _}, _, _, _]}) -> T; "
               "({%, handle_event, [T, C, _, _]}) when is_tuple(C) -> {T, element(1, C)}; "
               "({%, handle_event, [T, C, _, _]}) when is_atom(C) -> {T, C}; "
               "({%, handle_event, [T, _, _, _]}) -> T",
               false},
              {"init", "%init/1", NULL, true}}},
    {.name = "liveview",
     .about = "Phoenix LiveView: messages of its processes by view and event",
     .clauses = true,
     .tier = {{"event", "Phoenix.LiveView.Channel.handle_info/2",
               "({" LIVE ", handle_info, [#{payload := #{<<\"event\">> := E}}, #{socket := "
               "#{view := V}}]}) -> {V, E}; "
               "({" LIVE ", handle_info, [#{event := E}, #{socket := #{view := V}}]}) -> {V, E}; "
               "({" LIVE ", handle_info, [X, #{socket := #{view := V}}]}) when is_tuple(X) -> "
               "{V, element(1, X)}; "
               "({" LIVE ", handle_info, [X, _]}) when is_tuple(X) -> element(1, X)",
               false},
              {"mount",
               "Phoenix.LiveView.Utils.maybe_call_live_view_mount!/5 | "
               "Phoenix.LiveView.Utils.maybe_call_live_view_mount!/4",
               NULL, true},
              {"render",
               "Phoenix.LiveView.Renderer.to_rendered/2 | Phoenix.LiveView.Utils.to_rendered/2",
               NULL, true},
              {"diff", "Phoenix.LiveView.Diff.render/4 | Phoenix.LiveView.Diff.render/3", NULL,
               true},
              {"static", "Phoenix.LiveView.Static.render/3", NULL, true}}},
    {.name = "ecto",
     .about = "Ecto on DBConnection: each query on its own, by table",
     .entry_none = true,
     .clauses = true,
     .tier = {{"query", "Ecto.Adapters.SQL.execute/6 | Ecto.Adapters.SQL.execute/5",
               "({" SQL ", execute, [_, _, #{sources := S}, _, _, _]}) -> element(1, element(1, "
               "S)); "
               "({" SQL ", execute, [_, #{sources := S}, _, _, _]}) -> element(1, element(1, S))",
               false},
              {"change", "Ecto.Adapters.SQL.struct/10 | Ecto.Adapters.SQL.struct/8",
               "({" SQL ", struct, [_, _, _, Op, S, _, _, _, _, _]}) -> {Op, S}; "
               "({" SQL ", struct, [_, _, _, {Op, S, _}, _, _, _, _]}) -> {Op, S}",
               true},
              {"sql", "Ecto.Adapters.SQL.query/4", NULL, true},
              {"checkout", "DBConnection.Holder.checkout/3 | DBConnection.Holder.checkout/2", NULL,
               true},
              {"prepare", "DBConnection.prepare_execute/4", NULL, true},
              {"execute", "DBConnection.execute/4", NULL, true}}},
    {.name = "oban",
     .about = "Oban: jobs by worker",
     .clauses = true,
     .tier = {{"job", "Oban.Queue.Executor.call/1 | Oban.Queue.Executor.call/2",
               "({" OBAN ", call, [#{job := #{worker := W}}]}) -> W; "
               "({" OBAN ", call, [#{worker := W}, _]}) -> W",
               false},
              {"perform", "Oban.Queue.Executor.perform/1 | Oban.Queue.Executor.perform_inline/2",
               NULL, true},
              {"report",
               "Oban.Queue.Executor.report_finished/1 | Oban.Queue.Executor.report_success/3", NULL,
               true},
              {"complete", "Oban.Engine.complete_job/2 | Oban.Query.complete_job/2", NULL, true},
              {"fetch", "Oban.Engine.fetch_jobs/3", NULL, true}}},
};

_Static_assert(sizeof presets / sizeof *presets <= PRESETS_MAX, "too many presets");

size_t preset_count(void)
{
    return sizeof presets / sizeof *presets;
}

const char *preset_name(size_t i)
{
    return presets[i].name;
}

const char *preset_about(size_t i)
{
    return presets[i].about;
}

static const struct preset *find(const char *name, size_t n)
{
    for (size_t i = 0; i < preset_count(); i++)
        if (strlen(presets[i].name) == n && memcmp(presets[i].name, name, n) == 0)
            return &presets[i];
    return NULL;
}

bool preset_asks(const char *name)
{
    const struct preset *p = find(name, strlen(name));
    return p && p->asks;
}

static int unknown(const char *text, struct err *e)
{
    struct buf names;

    buf_init(&names, 512);
    for (size_t i = 0; i < preset_count(); i++)
        buf_addf(&names, "%s%s%s", i ? ", " : "", presets[i].name,
                 presets[i].asks ? ":MODULE" : "");
    err_set(e, "preset %s: unknown preset; the presets are %s", optval_show(text).s, names.data);
    buf_release(&names);
    return -1;
}

/* A module as typed: the text before a function of it, and its atom in a rule. */
struct module {
    char before[200], atom[300];
};

static int read_module(const char *typed, struct module *m, struct err *e)
{
    char text[256];
    struct mfa mfa;
    size_t at, n = strlen(typed);

    snprintf(m->before, sizeof m->before, "%.*s%c", (int)(sizeof m->before - 2), typed,
             isupper((unsigned char)typed[0]) ? '.' : ':');
    snprintf(text, sizeof text, "%sf/1", m->before);
    if (n == 0 || n + 2 > sizeof m->before || !term_parse_mfa(text, &mfa, &at) ||
        strpbrk(mfa.module, "'\\"))
        return err_set(e,
                       "preset: \"%s\" is not a module; write gen_server:my_server, or "
                       "gen_server:MyApp.Server",
                       optval_show(typed).s);
    snprintf(m->atom, sizeof m->atom, "'%s'", mfa.module);
    return 0;
}

/* One preset of a text that names several. */
struct part {
    const struct preset *p;
    struct module m;
    size_t n, have; /* number of its tiers; number of them on the node */
};

struct plan {
    struct part part[PARTS_MAX];
    size_t n_parts;
    struct {
        struct part *of;
        const struct preset_tier *t;
    } tier[PRESET_TIERS];
    struct tier_spec name[PRESET_TIERS]; /* a tier has the same name whichever tiers are left out */
    size_t n;
};

/* The k-th candidate of the tier; false: there are no more. */
static bool alternative(const struct preset_tier *t, const struct module *m, size_t k, char *mfa,
                        size_t cap)
{
    const char *at = t->mfa;

    for (; k > 0; k--) {
        const char *next = strstr(at, ALTERNATIVE);
        if (!next)
            return false;
        at = next + strlen(ALTERNATIVE);
    }
    const char *end = strstr(at, ALTERNATIVE);
    bool of_module = *at == '%';
    at += of_module;
    int len = (int)(end ? (size_t)(end - at) : strlen(at));
    snprintf(mfa, cap, "%s%.*s", of_module ? m->before : "", len, at);
    return true;
}

bool preset_first_tier(size_t i, size_t k, char mfa[TIER_MFA_BYTES])
{
    return !presets[i].asks && alternative(&presets[i].tier[0], NULL, k, mfa, TIER_MFA_BYTES);
}

/* True: another preset of the plan has this function, too. */
static bool planned(const struct plan *plan, const char *mfa)
{
    char other[TIER_MFA_BYTES];

    for (size_t i = 0; i < plan->n; i++)
        if (alternative(plan->tier[i].t, &plan->tier[i].of->m, 0, other, sizeof other) &&
            strcmp(other, mfa) == 0)
            return true;
    return false;
}

static int plan_part(struct plan *plan, const char *text, struct err *e)
{
    struct part *part = &plan->part[plan->n_parts];
    size_t n = strcspn(text, ":");
    char mfa[TIER_MFA_BYTES];

    *part = (struct part){.p = find(text, n)};
    if (!part->p || part->p->asks != (text[n] == ':'))
        return unknown(text, e);
    if (part->p->asks && read_module(text + n + 1, &part->m, e) < 0)
        return -1;
    plan->n_parts++;
    for (size_t i = 0; i < PRESET_TIERS_OF_ONE && part->p->tier[i].name; i++) {
        const struct preset_tier *t = &part->p->tier[i];
        if (!alternative(t, &part->m, 0, mfa, sizeof mfa) || planned(plan, mfa))
            continue;
        if (plan->n == PRESET_TIERS)
            return err_set(e, "preset %s: too many presets at once", optval_show(text).s);
        snprintf(plan->name[plan->n].name, sizeof plan->name[0].name, "%s", t->name);
        options_tier_name(&plan->name[plan->n], plan->name, plan->n);
        plan->tier[plan->n].of = part;
        plan->tier[plan->n++].t = t;
        part->n++;
    }
    return 0;
}

static int make_plan(const char *text, struct plan *plan, struct err *e)
{
    char one[256];

    memset(plan, 0, sizeof *plan);
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        if (n >= sizeof one || plan->n_parts == PARTS_MAX)
            return err_set(e, "preset %s: too long, or too many presets at once",
                           optval_show(text).s);
        snprintf(one, sizeof one, "%.*s", (int)n, at);
        if (plan_part(plan, one, e) < 0)
            return -1;
        at += n;
        if (!*at)
            return 0;
    }
}

int preset_candidates(const char *text, struct buf *lines, size_t *n, struct err *e)
{
    struct plan plan;
    char mfa[TIER_MFA_BYTES];

    *n = 0;
    if (make_plan(text, &plan, e) < 0)
        return -1;
    for (size_t i = 0; i < plan.n; i++) {
        for (size_t k = 0; alternative(plan.tier[i].t, &plan.tier[i].of->m, k, mfa, sizeof mfa);
             k++, ++*n)
            buf_addf(lines, "%s\n", mfa);
    }
    return 0;
}

static void put_rule(struct buf *rule, const struct part *part, const struct preset_tier *t,
                     const char *mfa)
{
    buf_adds(rule, rule->len ? "; " : part->p->clauses ? "fun " : "");
    if (!part->p->clauses)
        buf_addf(rule, "%s ", mfa);
    for (const char *c = t->rule; *c; c++) {
        if (*c == '%')
            buf_adds(rule, part->m.atom);
        else
            buf_addch(rule, *c);
    }
}

/* "store (rabbit_msg_store:handle_cast/2)", "route (m:route/3 or m:route/2)" */
static void put_left_out(struct buf *left, const struct plan *plan, size_t i)
{
    char mfa[TIER_MFA_BYTES];

    buf_addf(left, "%s%s (", left->len ? ", " : "", plan->name[i].name);
    for (size_t k = 0; alternative(plan->tier[i].t, &plan->tier[i].of->m, k, mfa, sizeof mfa); k++)
        buf_addf(left, "%s%s", k ? " or " : "", mfa);
    buf_addch(left, ')');
}

/* The function of a tier that the node has, according to *there; advances *there. */
static bool choose(const struct part *part, const struct preset_tier *t, const bool **there,
                   char *mfa, size_t cap)
{
    char at[TIER_MFA_BYTES];
    bool found = false;

    for (size_t k = 0; alternative(t, &part->m, k, at, sizeof at); k++) {
        bool has = !*there || *(*there)++;
        if (has && !found)
            snprintf(mfa, cap, "%s", at);
        found |= has;
    }
    return found;
}

static int half_of_each(const struct plan *plan, struct err *e)
{
    for (size_t i = 0; i < plan->n_parts; i++) {
        const struct part *part = &plan->part[i];
        if (2 * part->have < part->n)
            return err_set(e,
                           "preset %s: the node has only %zu of its %zu tiers; add "
                           "tiers one by one",
                           part->p->name, part->have, part->n);
    }
    return 0;
}

static int make_tiers(struct plan *plan, const bool *there, struct preset_set *out,
                      struct buf *rule, struct buf *left, struct err *e)
{
    char first[TIER_MFA_BYTES];

    for (size_t i = 0; i < plan->n; i++) {
        struct part *part = plan->tier[i].of;
        const struct preset_tier *t = plan->tier[i].t;
        struct tier_spec *to = &out->tier[out->n];
        if (!choose(part, t, &there, to->mfa, sizeof to->mfa)) {
            put_left_out(left, plan, i);
            if (!t->optional && alternative(t, &part->m, 0, first, sizeof first))
                return err_set(e, "preset %s: the node has no %s%s", part->p->name, first,
                               part->p->hint ? part->p->hint : "");
            continue;
        }
        memcpy(to->name, plan->name[i].name, sizeof to->name);
        if (t->rule &&
            part ==
                plan->part) /* the first preset: tiers of the others are inside of its requests */
            put_rule(rule, part, t, to->mfa);
        part->have++;
        out->n++;
    }
    return half_of_each(plan, e);
}

int preset_make(const char *text, const bool *there, struct preset_set *out, struct err *e)
{
    struct plan plan;
    struct buf rule, left;

    memset(out, 0, sizeof *out);
    if (make_plan(text, &plan, e) < 0)
        return -1;
    buf_init(&rule, PRESET_RULE_BYTES - 1);
    buf_init(&left, LEFT_BYTES - 1);
    int rc = make_tiers(&plan, there, out, &rule, &left, e);
    if (plan.part[0].p->clauses)
        buf_adds(&rule, "; (_) -> undefined end");
    assert(!rule.truncated);
    snprintf(out->identity, sizeof out->identity, "%s", rule.data);
    if (left.len)
        snprintf(out->left_out, sizeof out->left_out,
                 "left out, because the node has not loaded them: %s", left.data);
    out->all = plan.n;
    out->entry_none = plan.part[0].p->entry_none;
    buf_release(&rule);
    buf_release(&left);
    return rc;
}

void preset_fill(const struct preset_set *s, struct options *o)
{
    if (!o->n_tiers) {
        memcpy(o->tier, s->tier, s->n * sizeof o->tier[0]);
        o->n_tiers = s->n;
    }
    if (!o->entry)
        o->entry_none = o->entry_none || s->entry_none;
    if (!o->identity)
        o->identity = buf_dup(s->identity);
}
