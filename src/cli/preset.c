#include <kprof/cli/preset.h>

#include <assert.h>
#include <ctype.h>
#include <kprof/base/buf.h>
#include <kprof/cli/optval.h>
#include <kprof/erl/term.h>
#include <stdio.h>
#include <string.h>

struct preset_tier {
    const char *name, *mfa; /* % at the start: the module that was given */
    const char *rule;       /* what names a request, NULL: not this tier */
    bool spare;             /* the preset can do without */
};

struct preset {
    const char *name, *about;
    bool asks, entry_none;
    bool clauses; /* rules are clauses of a fun, with % for the module's atom; else short ones */
    struct preset_tier tier[PRESET_TIERS];
};

/* The functions were read in these sources (repository, commit or release):
 *   cowboy 2.13     ninenines/cowboy b36f064 (cowboy_handler), 03d306e (cowboy_stream_h: 2.5 on)
 *   plug_cowboy 2.7 elixir-plug/plug_cowboy 0227c58 (Plug.Cowboy.Handler)
 *   plug            elixir-plug/plug, lib/plug/conn.ex of 1.2 to 1.15 (send_resp/1)
 *   phoenix 1.7     lib/phoenix/router.ex (__call__/5); 1.4 to 1.6: phoenixframework/phoenix
 * 0018c78
 *                   (__call__/2)
 *   yaws 2.0        erlyaws/yaws, src/yaws_server.erl (handle_ut/4, deliver_dyn_part/8), #arg{} of
 *                   yaws_api.hrl: the request is its fifth element in 1.x and 2.x
 *   rabbitmq 4.0    rabbitmq/rabbitmq-server 00070d9 (rabbit_channel); rabbit_exchange:route/3 and
 *                   rabbit_queue_type:deliver/4 as it calls them; rabbit_amqqueue_process of 3.9
 *   ejabberd 17 on  processone/ejabberd: ejabberd_c2s, ejabberd_router, ejabberd_local, ejabberd_sm
 * A path is named by its shape, path(...): with an id in it each request would have a name. */
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
              {"handler", "cowboy_handler:execute/2",
               "{map_get(method, arg(1)), map_get(handler, arg(2))}", false}}},
    {.name = "plug",
     .about = "Plug on Cowboy: requests by method and path",
     .tier = {{"request", "Plug.Cowboy.Handler.init/2",
               "{map_get(method, arg(1)), path(map_get(path, arg(1)))}", false},
              {"send", "Plug.Conn.send_resp/1", NULL, true}}},
    {.name = "phoenix",
     .about = "Phoenix 1.7 on: requests by method and route",
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
     .tier = {{"request", "yaws_server:handle_ut/4",
               "{element(2, element(5, arg(2))), path(element(2, element(3, element(5, arg(2)))))}",
               false},
              {"dynamic", "yaws_server:deliver_dyn_part/8", NULL, true}}},
    {.name = "rabbitmq",
     .about = "RabbitMQ: AMQP methods of channels, with their way to the queues",
     .clauses = true,
     .tier = {{"channel", "rabbit_channel:handle_cast/2",
               "({rabbit_channel, handle_cast, [{method, M, _, _}, _]}) -> element(1, M); "
               "({rabbit_channel, handle_cast, [X, _]}) when is_tuple(X) -> element(1, X)",
               false},
              {"route", "rabbit_exchange:route/3", NULL, true},
              {"deliver", "rabbit_queue_type:deliver/4", NULL, true},
              {"queue", "rabbit_amqqueue_process:handle_cast/2", NULL, true}}},
    {.name = "ejabberd",
     .about = "ejabberd: stanzas of clients by kind",
     .tier = {{"stanza", "ejabberd_c2s:handle_authenticated_packet/2", "element(1, arg(1))", false},
              {"router", "ejabberd_router:route/1", NULL, true},
              {"local", "ejabberd_local:route/1", NULL, true},
              {"sessions", "ejabberd_sm:route/1", NULL, true}}},
    {.name = "gen_server",
     .about = "callbacks of one module, each call on its own, by request",
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
};

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
    err_set(e, "preset %s: unknown preset; known are %s", optval_show(text).s, names.data);
    buf_release(&names);
    return -1;
}

/* A module as typed: what stands before a function of it, and its atom in a rule. */
struct module {
    char before[200], atom[300];
};

static int read_module(const char *typed, struct module *m, struct err *e)
{
    char text[256];
    struct mfa mfa;
    size_t at, n = strlen(typed);

    snprintf(m->before, sizeof m->before, "%s%c", typed,
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

static void put_rule(struct buf *rule, const struct preset *p, const struct preset_tier *t,
                     const char *mfa, const char *atom)
{
    buf_adds(rule, rule->len ? "; " : p->clauses ? "fun " : "");
    if (!p->clauses)
        buf_addf(rule, "%s ", mfa);
    for (const char *c = t->rule; *c; c++) {
        if (*c == '%')
            buf_adds(rule, atom);
        else
            buf_addch(rule, *c);
    }
}

int preset_make(const char *text, const bool *there, struct preset_set *out, struct err *e)
{
    size_t n = strcspn(text, ":");
    const struct preset *p = find(text, n);
    struct module m = {"", ""};
    struct buf rule;

    memset(out, 0, sizeof *out);
    if (!p || p->asks != (text[n] == ':'))
        return unknown(text, e);
    if (p->asks && read_module(text + n + 1, &m, e) < 0)
        return -1;
    buf_init(&rule, PRESET_RULE_BYTES - 1);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < PRESET_TIERS && p->tier[i].name; i++) {
        const struct preset_tier *t = &p->tier[i];
        struct tier_spec *to = &out->tier[out->n];
        bool of_module = t->mfa[0] == '%';
        snprintf(to->name, sizeof to->name, "%s", t->name);
        snprintf(to->mfa, sizeof to->mfa, "%s%s", of_module ? m.before : "", t->mfa + of_module);
        if (there && !there[i] && !t->spare)
            rc = err_set(e, "preset %s: the node has no %s", optval_show(text).s, to->mfa);
        if (there && !there[i])
            continue;
        if (t->rule)
            put_rule(&rule, p, t, to->mfa, m.atom);
        out->n++;
    }
    if (p->clauses)
        buf_adds(&rule, "; (_) -> undefined end");
    assert(!rule.truncated);
    snprintf(out->identity, sizeof out->identity, "%s", rule.data);
    out->entry_none = p->entry_none;
    buf_release(&rule);
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
