#include <kprof/cli/environment.h>

#include <kprof/base/clock.h>
#include <kprof/cli/optval.h>
#include <kprof/erl/this_host.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKUP_NS 2000000000u

static const char *value_of(const char *variable)
{
    const char *v = getenv(variable);
    return v && *v ? v : NULL;
}

/* How the release names its node; false: err. */
static bool release_is_long(const char *from, bool *is_long, struct err *e)
{
    const char *v = value_of("RELEASE_DISTRIBUTION");
    *is_long = v && strcmp(v, "name") == 0;
    if (!v || *is_long || strcmp(v, "sname") == 0)
        return true;
    if (strcmp(v, "none") == 0)
        err_set(e,
                "%s names a node, but RELEASE_DISTRIBUTION is none: the release runs without "
                "distribution; start it with RELEASE_DISTRIBUTION=sname or name",
                from);
    else
        err_set(e, "RELEASE_DISTRIBUTION is %s; it must be sname, name or none", optval_show(v).s);
    return false;
}

static int add_host(struct environment_node *out, const char *name, bool is_long, struct err *e)
{
    char host[THIS_HOST_BYTES];
    if (!is_long)
        this_host_short(host);
    else if (!this_host_full(host, clock_mono_ns() + LOOKUP_NS))
        return err_set(e,
                       "%s has no host, and this machine has no full name; write %s=name@host, or "
                       "give the node",
                       out->from, out->from);
    int n = snprintf(out->name, sizeof out->name, "%s@%s", name, host);
    if (n >= (int)sizeof out->name)
        return err_set(e, "%s is too long for the name of a node", out->from);
    return 0;
}

static int take(struct environment_node *out, const char *value, struct err *e)
{
    bool release = strcmp(out->from, "KPROF_NODE") != 0, is_long = false;
    struct node_name parsed;
    if (release && !release_is_long(out->from, &is_long, e))
        return -1;
    if (release && !strchr(value, '@')) {
        if (add_host(out, value, is_long, e))
            return -1;
    } else {
        err_copy(out->name, sizeof out->name, value);
    }
    if (strlen(value) < NODE_NAME_BYTES && node_name_parse(out->name, &parsed))
        return 1;
    return err_set(e, "%s is %s, which is not a node name; write name@host", out->from,
                   optval_show(value).s);
}

int environment_node(struct environment_node *out, struct err *e)
{
    static const char *const variables[] = {"KPROF_NODE", "RELEASE_NODE", "RELEASE_NAME"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *v = value_of(variables[i]);
        out->from = variables[i];
        if (v)
            return take(out, v, e);
    }
    return 0;
}
