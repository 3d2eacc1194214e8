#include "fixed_port.h"

#include <kprof/erl/node_name.h>
#include <stdlib.h>
#include <string.h>

static const char *const option_variables[] = {"ERL_AFLAGS", "ERL_FLAGS", "ERL_ZFLAGS",
                                               "ELIXIR_ERL_OPTIONS"};

/* The value of -erl_epmd_port in a text of options; its length is 0 if there is none. */
static size_t find_option(const char *options, const char **value)
{
    static const char name[] = "-erl_epmd_port", blanks[] = " \t";
    const char *at = options;

    while ((at = strstr(at, name)) != NULL) {
        bool starts = at == options || strchr(blanks, at[-1]) != NULL;

        at += strlen(name);
        if (starts && *at != 0 && strchr(blanks, *at) != NULL) {
            *value = at + strspn(at, blanks);
            return strcspn(*value, blanks);
        }
    }
    return 0;
}

static int take(struct fixed_port *out, const char *from, const char *value, size_t n,
                struct err *e)
{
    char digits[8] = "";

    if (n < sizeof digits)
        memcpy(digits, value, n);
    out->from = from;
    if (node_name_port(digits, &out->port))
        return 0;
    return err_set(
        e,
        "%s has no port from 1 to 65535 for the Erlang distribution; correct or unset it, "
        "or give the port: name@host:PORT",
        from);
}

int fixed_port(struct fixed_port *out, struct err *e)
{
    const char *value = getenv("ERL_DIST_PORT");

    *out = (struct fixed_port){.port = 0};
    if (value != NULL && *value != 0)
        return take(out, "ERL_DIST_PORT", value, strlen(value), e);
    for (size_t i = 0; i < sizeof option_variables / sizeof *option_variables; i++) {
        const char *options = getenv(option_variables[i]);
        size_t n = options != NULL ? find_option(options, &value) : 0;

        if (n > 0)
            return take(out, option_variables[i], value, n, e);
    }
    return 0;
}
