#include "suggest_kind.h"

#include "server_rules.h"

#include <stdlib.h>
#include <string.h>

#define PATH "method and path"

/* The rules of SUGGEST_EDGE are those of presets (server_rules). The functions of libraries are
 * those that their documentation names; an arity of -1 stands for whichever arity the node has. */
static const struct suggest_known table[] = {
    /* servers */
    {"cowboy_stream_h:", "request_process", 3, "request", 0, 0, COWBOY_RULE, PATH},
    {"Plug.Cowboy.Handler.", "init", 2, "plug", 0, 1, COWBOY_RULE, PATH},
    {"yaws_server:", "handle_ut", 4, "request", 0, 0, YAWS_RULE("arg(2)"), PATH},
    {"rabbit_channel:", "handle_cast", 2, "channel", 0, 0,
     "fun " RABBIT_CHANNEL_CLAUSES "; (_) -> undefined end", "AMQP method"},
    {"ejabberd_c2s:", "handle_authenticated_packet", 2, "stanza", 0, 0, EJABBERD_STANZA_RULE,
     "kind of stanza"},
    /* functions of these servers that handle a request */
    {"cowboy_handler:", "execute", 2, "handler", 26, 0, NULL, NULL},
    {"cowboy_router:", "execute", 2, "routing", 7, 0, NULL, NULL},
    {"cowboy_req:", "reply", 4, "reply", 18, 0, NULL, NULL},
    {"cowboy_rest:", "upgrade", 4, "rest", 12, 0, NULL, NULL},
    {"Plug.Conn.", "send_resp", 1, "send", 20, 0, NULL, NULL},
    {"Phoenix.Router.", "__call__", -1, "router", 24, 0, NULL, NULL},
    {"yaws_server:", "deliver_dyn_part", 8, "dynamic", 24, 0, NULL, NULL},
    {"yaws_server:", "deliver_file", 5, "file", 18, 0, NULL, NULL},
    {"yaws_server:", "deliver_accumulated", 4, "send", 20, 0, NULL, NULL},
    {"rabbit_exchange:", "route", -1, "route", 24, 0, NULL, NULL},
    {"rabbit_queue_type:", "deliver", -1, "deliver", 24, 0, NULL, NULL},
    {"rabbit_amqqueue_process:", "handle_cast", 2, "queue", 24, 0, NULL, NULL},
    {"rabbit_amqqueue_process:", "handle_call", 3, "get", 22, 0, NULL, NULL},
    {"rabbit_variable_queue:", "publish", -1, "backing", 20, 0, NULL, NULL},
    {"rabbit_msg_store:", "handle_cast", 2, "store", 22, 0, NULL, NULL},
    {"rabbit_writer:", "handle_message", 2, "writer", 20, 0, NULL, NULL},
    {"ejabberd_router:", "route", 1, "router", 24, 0, NULL, NULL},
    {"ejabberd_local:", "route", 1, "local", 20, 0, NULL, NULL},
    {"ejabberd_sm:", "route", 1, "sessions", 20, 0, NULL, NULL},
    {"mod_offline:", "store_packet", 1, "offline", 18, 0, NULL, NULL},
    /* databases, and calls to other machines */
    {"DBConnection.", "prepare_execute", 4, "db", 30, 0, NULL, NULL},
    {"DBConnection.", "execute", 4, "db", 30, 0, NULL, NULL},
    {"Postgrex.", "query", -1, "db", 28, 0, NULL, NULL},
    {"MyXQL.", "query", -1, "db", 28, 0, NULL, NULL},
    {"Redix.", "command", -1, "redis", 30, 0, NULL, NULL},
    {"Redix.", "pipeline", -1, "redis", 30, 0, NULL, NULL},
    {"epgsql:", "equery", -1, "db", 30, 0, NULL, NULL},
    {"epgsql:", "squery", -1, "db", 30, 0, NULL, NULL},
    {"epgsql:", "prepared_query", -1, "db", 30, 0, NULL, NULL},
    {"pgo:", "query", -1, "db", 30, 0, NULL, NULL},
    {"mysql:", "query", -1, "db", 30, 0, NULL, NULL},
    {"eredis:", "q", -1, "redis", 30, 0, NULL, NULL},
    {"eredis:", "qp", -1, "redis", 30, 0, NULL, NULL},
    {"mc_worker_api:", "find", -1, "db", 30, 0, NULL, NULL},
    {"mc_worker_api:", "find_one", -1, "db", 30, 0, NULL, NULL},
    {"mnesia:", "transaction", -1, "mnesia", 28, 0, NULL, NULL},
    {"mnesia:", "activity", -1, "mnesia", 28, 0, NULL, NULL},
    {"mnesia:", "dirty_read", 2, "mnesia", 24, 0, NULL, NULL},
    {"hackney:", "request", -1, "http", 28, 0, NULL, NULL},
    {"httpc:", "request", -1, "http", 28, 0, NULL, NULL},
    {"Finch.", "request", -1, "http", 28, 0, NULL, NULL},
    {"Tesla.", "execute", 3, "http", 26, 0, NULL, NULL},
};

/* Applications that are libraries, even if no other application depends on them. */
static const char *const libraries[] = {"cowboy",
                                        "cowlib",
                                        "ranch",
                                        "yaws",
                                        "mochiweb",
                                        "elli",
                                        "plug",
                                        "plug_cowboy",
                                        "plug_crypto",
                                        "phoenix",
                                        "bandit",
                                        "thousand_island",
                                        "phoenix_html",
                                        "mime",
                                        "telemetry",
                                        "jason",
                                        "poison",
                                        "ecto",
                                        "ecto_sql",
                                        "postgrex",
                                        "myxql",
                                        "db_connection",
                                        "decimal",
                                        "redix",
                                        "finch",
                                        "mint",
                                        "nimble_pool",
                                        "nimble_options",
                                        "castore",
                                        "hpax",
                                        "tesla",
                                        "epgsql",
                                        "pgo",
                                        "mysql",
                                        "eredis",
                                        "mongodb",
                                        "hackney",
                                        "gun",
                                        "jsx",
                                        "jiffy",
                                        "poolboy",
                                        "lager",
                                        "recon",
                                        "observer_cli",
                                        "prometheus",
                                        "gproc",
                                        "phoenix_pubsub",
                                        "phoenix_live_view",
                                        "amqp_client",
                                        "ibrowse",
                                        "certifi",
                                        "idna"};

/* Functions that modules must have, or that have no relation to a request. */
static const char *const boilerplate[] = {"start",
                                          "start_link",
                                          "stop",
                                          "init",
                                          "terminate",
                                          "code_change",
                                          "child_spec",
                                          "behaviour_info",
                                          "format_status",
                                          "module_info",
                                          "__info__",
                                          "__struct__",
                                          "callback_mode",
                                          "enable",
                                          "disable",
                                          "description",
                                          "__impl__",
                                          "__schema__",
                                          "handle_info",
                                          "handle_continue",
                                          "init_it",
                                          "system_continue",
                                          "system_terminate"};

static const char *const layer_words[] = {
    "db",     "query",  "cache",   "store",   "repo", "render", "encode", "decode", "pars",
    "format", "auth",   "find",    "fetch",   "load", "lookup", "read",   "write",  "save",
    "insert", "update", "delete",  "publish", "send", "list",   "search", "price",  "account",
    "exec",   "check",  "compute", "view",    "json", "call",   "request"};

static const char *const entry_words[] = {"handle", "request", "process", "dispatch", "serve",
                                          "route",  "execute", "run",     "call",     "perform"};

static const struct suggest_known *find_known(const char *module, const char *function,
                                              unsigned arity)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct suggest_known *k = &table[i];
        if (strcmp(k->module, module) == 0 && strcmp(k->function, function) == 0 &&
            (k->arity < 0 || (unsigned)k->arity == arity))
            return k;
    }
    return NULL;
}

static bool in_table(const char *module)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].module, module) == 0)
            return true;
    return false;
}

static bool is_one_of(const char *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], s) == 0)
            return true;
    return false;
}

struct suggest_module suggest_module_at(const struct catalog *c, uint32_t first)
{
    enum catalog_origin origin = catalog_origin(c, first);
    bool library =
        is_one_of(catalog_app(c, first), libraries, sizeof libraries / sizeof *libraries);
    struct suggest_module m = {.first = first,
                               .end = first + 1,
                               .own = origin == CATALOG_OWN && !library,
                               .platform = origin == CATALOG_PLATFORM,
                               .known = in_table(catalog_module_text(c, first))};

    while (m.end < catalog_count(c) && catalog_module_of(c, m.end) == catalog_module_of(c, first))
        m.end++;
    return m;
}

struct suggest_module suggest_module_of(const struct catalog *c, uint32_t id)
{
    uint32_t first = id;

    while (first > 0 && catalog_module_of(c, first - 1) == catalog_module_of(c, id))
        first--;
    return suggest_module_at(c, first);
}

struct suggest_node suggest_node_of(const struct catalog *c)
{
    struct suggest_node node = {false, false};

    for (uint32_t id = 0; id < catalog_count(c); id = suggest_module_at(c, id).end) {
        node.cowboy |= strcmp(catalog_module_text(c, id), "cowboy_handler:") == 0;
        node.yaws |= strcmp(catalog_module_text(c, id), "yaws_server:") == 0;
    }
    return node;
}

bool suggest_sounds_like_layer(const char *function)
{
    for (size_t i = 0; i < sizeof layer_words / sizeof *layer_words; i++)
        if (strstr(function, layer_words[i]))
            return true;
    return strcmp(function, "get") == 0; /* get_this and get_that are mostly fields of a record */
}

bool suggest_sounds_like_entry(const char *function)
{
    for (size_t i = 0; i < sizeof entry_words / sizeof *entry_words; i++)
        if (strncmp(function, entry_words[i], strlen(entry_words[i])) == 0)
            return true;
    return false;
}

static bool is(const struct catalog *c, uint32_t id, const char *function, unsigned arity)
{
    return catalog_arity(c, id) == arity && !catalog_is_local(c, id) &&
           strcmp(catalog_function_text(c, id), function) == 0;
}

static bool exports(const struct catalog *c, const struct suggest_module *m, const char *function,
                    unsigned arity)
{
    for (uint32_t id = m->first; id < m->end; id++)
        if (is(c, id, function, arity))
            return true;
    return false;
}

/* Elixir's GenServer and others of that kind have these exports, too. */
static bool is_server(const struct catalog *c, const struct suggest_module *m)
{
    return exports(c, m, "init", 1) &&
           (exports(c, m, "handle_call", 3) || exports(c, m, "handle_cast", 2));
}

static bool is_plug(const struct catalog *c, const struct suggest_module *m)
{
    return catalog_has_behaviour(c, m->first, "Elixir.Plug") ||
           (exports(c, m, "init", 1) && !is_server(c, m));
}

static enum suggest_kind handler_of(const struct catalog *c, const struct suggest_node *node,
                                    const struct suggest_module *m, uint32_t id)
{
    bool cowboy = node->cowboy || catalog_has_behaviour(c, id, "cowboy_handler") ||
                  catalog_has_behaviour(c, id, "cowboy_rest");

    if (cowboy && is(c, id, "init", 2))
        return SUGGEST_COWBOY;
    if (is(c, id, "call", 2) && is_plug(c, m))
        return SUGGEST_PLUG;
    if (node->yaws && is(c, id, "out", 1))
        return SUGGEST_YAWS;
    return SUGGEST_NOTHING;
}

enum suggest_kind suggest_callback_of(const struct catalog *c, const struct suggest_module *m,
                                      uint32_t id)
{
    if (is(c, id, "handle_call", 3) && is_server(c, m))
        return SUGGEST_CALL;
    if (is(c, id, "handle_cast", 2) && is_server(c, m))
        return SUGGEST_CAST;
    if (is(c, id, "handle_event", 4) && exports(c, m, "callback_mode", 0))
        return SUGGEST_EVENT;
    return SUGGEST_NOTHING;
}

enum suggest_kind suggest_kind_of(const struct catalog *c, const struct suggest_node *node,
                                  const struct suggest_module *m, uint32_t id,
                                  const struct suggest_known **known)
{
    const char *function = catalog_function_text(c, id);

    *known =
        m->known ? find_known(catalog_module_text(c, id), function, catalog_arity(c, id)) : NULL;
    if (*known)
        return (*known)->weight ? SUGGEST_LAYER : SUGGEST_EDGE;
    enum suggest_kind kind = m->platform ? SUGGEST_NOTHING : handler_of(c, node, m, id);
    if (kind != SUGGEST_NOTHING || !m->own)
        return kind;
    kind = suggest_callback_of(c, m, id);
    if (kind != SUGGEST_NOTHING || catalog_arity(c, id) == 0 ||
        is_one_of(function, boilerplate, sizeof boilerplate / sizeof *boilerplate))
        return kind;
    return SUGGEST_FUNCTION;
}
