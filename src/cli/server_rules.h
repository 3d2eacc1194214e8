/* Identity rules for the functions of known servers, once for presets and for suggestions. preset.c
 * lists the sources from which these functions and their data were taken. Constant texts: short
 * rules without their M:F/A, or clauses of a fun. */
#ifndef KPROF_CLI_SERVER_RULES_H
#define KPROF_CLI_SERVER_RULES_H

#include <kprof/cli/preset.h>

/* Cowboy's map of a request is the first argument. */
#define COWBOY_RULE "{map_get(method, arg(1)), path(map_get(path, arg(1)))}"
/* A Plug.Conn is the first argument. */
#define PLUG_RULE "{map_get(method, arg(1)), path(map_get(request_path, arg(1)))}"
/* arg: the argument with the record #arg{} of Yaws. */
#define YAWS_RULE(arg)                                                                             \
    "{element(2, element(5, " arg ")), path(element(2, element(3, element(5, " arg "))))}"
#define RABBIT_CHANNEL_CLAUSES                                                                     \
    "({rabbit_channel, handle_cast, [{method, M, _, _}, _]}) -> element(1, M); "                   \
    "({rabbit_channel, handle_cast, [X, _]}) when is_tuple(X) -> element(1, X); "                  \
    "({rabbit_channel, handle_cast, [X, _]}) when is_atom(X) -> X"
#define EJABBERD_STANZA_RULE "element(1, arg(1))"

_Static_assert(sizeof RABBIT_CHANNEL_CLAUSES < PRESET_RULE_BYTES / 2, "the longest fits");

#endif
