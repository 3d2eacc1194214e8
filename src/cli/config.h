/* A config file: Erlang terms with kprof's own keys, as a flat list of settings.
 *
 *   {tier_config, [{db, {my_db, query, 2}}, {"http", "MyApp.Router.call/2"}]}.
 *   {identity_f, fun ({my_web, handle, [Req]}) -> element(2, Req); (_) -> undefined end}.
 *   {entry, http}. {slow, "20ms"}. {sample, "1/10"}. {no_color, true}.
 *
 * or the same tuples in one list, followed by a dot. This unit does not interpret a fun: it returns
 * the text of the fun unchanged, up to its `end`.
 *
 * Invariant: at most CONFIG_BYTES_MAX bytes are read and at most CONFIG_ITEMS_MAX items are
 * returned; there is no recursion; the parser survives any bytes. The caller decides which keys
 * exist. The caller owns the struct and frees it with config_release. Any thread. Source of the
 * syntax: Erlang reference manual, "Character Set and Source File Encoding", "Data Types". */
#ifndef KPROF_CLI_CONFIG_H
#define KPROF_CLI_CONFIG_H

#include <kprof/base/err.h>
#include <stddef.h>

#define CONFIG_BYTES_MAX (256u << 10)
#define CONFIG_ITEMS_MAX 256
#define CONFIG_KEY_BYTES 32

enum config_kind {
    CONFIG_WORD, /* atom, string or number: text is its value, UTF-8, no NUL inside */
    CONFIG_FUN,  /* text is the source of the fun */
    CONFIG_TIER  /* name and text (an M:F/A); comes from tier_config */
};

struct config_item {
    char key[CONFIG_KEY_BYTES];
    enum config_kind kind;
    char *name;    /* CONFIG_TIER only, else NULL */
    char *text;    /* never NULL */
    int line, col; /* position of the value, from 1; col in bytes */
};

struct config {
    struct config_item *item;
    size_t n;
};

/* Returns 0, or -1 with err "FILE:LINE:COLUMN: ...". file is used only in errors. */
int config_parse(const char *text, size_t n_bytes, const char *file, struct config *out,
                 struct err *e);
/* Reads path and parses it. */
int config_load(const char *path, struct config *out, struct err *e);
void config_release(struct config *c); /* a zeroed struct is fine */

#endif
