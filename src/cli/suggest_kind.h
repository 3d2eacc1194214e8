/* The kind of a function, from a table of known libraries and from the exports and behaviours of
 * its module. For suggest*.c only. Pure; constant data. */
#ifndef KPROF_CLI_SUGGEST_KIND_H
#define KPROF_CLI_SUGGEST_KIND_H

#include <kprof/core/catalog.h>

enum suggest_kind {
    SUGGEST_NOTHING, /* not a tier: of OTP, of an unknown library, or not useful */
    SUGGEST_EDGE,    /* a known server calls it once per request */
    SUGGEST_LAYER,   /* of a known library */
    SUGGEST_COWBOY,  /* handlers of requests: init/2, */
    SUGGEST_PLUG,    /* call/2, */
    SUGGEST_YAWS,    /* out/1 of an appmod */
    SUGGEST_CALL,    /* callbacks: handle_call/3, */
    SUGGEST_CAST,    /* handle_cast/2, */
    SUGGEST_EVENT,   /* handle_event/4 of gen_statem */
    SUGGEST_FUNCTION /* any other function of the node's own code */
};

struct suggest_known {
    const char *module, *function; /* as shown: "cowboy_req:", "reply" */
    int arity;                     /* -1: any */
    const char *name;              /* of the tier */
    uint8_t weight;                /* of a layer, in tenths; 0: SUGGEST_EDGE */
    uint8_t rank;                  /* of SUGGEST_EDGE: 0 is the outermost */
    const char *rule;              /* of SUGGEST_EDGE: a short rule without its M:F/A, or a fun */
    const char *named_by;
};

/* The servers of the node that decide the kinds of functions. */
struct suggest_node {
    bool cowboy, yaws;
};

/* A module of the catalog: its functions are [first, end). */
struct suggest_module {
    uint32_t first, end;
    bool own;      /* its application is the node's own, not a known library */
    bool platform; /* it comes with Erlang/OTP or Elixir */
    bool known;    /* the table has functions of it */
};

struct suggest_node suggest_node_of(const struct catalog *c);
/* The module whose first function is this one. */
struct suggest_module suggest_module_at(const struct catalog *c, uint32_t first);
/* The module of this function. */
struct suggest_module suggest_module_of(const struct catalog *c, uint32_t id);
/* *known: its line of the table, or NULL. */
enum suggest_kind suggest_kind_of(const struct catalog *c, const struct suggest_node *node,
                                  const struct suggest_module *m, uint32_t id,
                                  const struct suggest_known **known);
/* SUGGEST_CALL, SUGGEST_CAST or SUGGEST_EVENT; SUGGEST_NOTHING: it is no callback of a server. */
enum suggest_kind suggest_callback_of(const struct catalog *c, const struct suggest_module *m,
                                      uint32_t id);
/* Its name is typical of a layer: "query", "render", "fetch" ... */
bool suggest_sounds_like_layer(const char *function);
/* Its name is typical of the start of a request: "handle", "request", "process" ... */
bool suggest_sounds_like_entry(const char *function);

#endif
