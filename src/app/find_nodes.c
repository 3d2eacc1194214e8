#include "find_nodes.h"

#include <kprof/cli/node_history.h>
#include <kprof/erl/local_nodes.h>
#include <kprof/erl/local_vms.h>
#include <kprof/erl/this_host.h>
#include <stdio.h>
#include <string.h>

#define EPMD_MS 500

/* vm NULL: not known. The network namespace is known only if this user may inspect the process. */
static void add_local(struct node_choices *out, const char *name, uint16_t port,
                      const struct local_vm *vm)
{
    struct node_choice c = {.local = true, .tls = vm && vm->tls};
    bool v6 = port && strchr(strchr(name, '@'), ':');
    int at = (int)(strchr(name, '@') - name) + 1;
    int n = v6     ? snprintf(c.node, sizeof c.node, "%.*s[%s]:%u", at, name, name + at, port)
            : port ? snprintf(c.node, sizeof c.node, "%s:%u", name, port)
                   : snprintf(c.node, sizeof c.node, "%s", name);

    if (vm && vm->same_network)
        memcpy(c.tls_optfile, vm->tls_optfile, sizeof c.tls_optfile);
    if (n > 0 && (size_t)n < sizeof c.node)
        node_choices_add(out, &c);
}

static bool has(const struct local_nodes *here, const char *alive)
{
    for (size_t i = 0; i < here->n; i++)
        if (strcmp(here->at[i].name, alive) == 0)
            return true;
    return false;
}

/* Nodes of epmd, by their full names if these are known; then those that listen without epmd. */
static void add_running(struct node_choices *out, const struct local_nodes *here,
                        const struct local_vms *vms)
{
    char host[THIS_HOST_BYTES], name[2 * NODE_NAME_BYTES];
    struct local_vm vm;

    this_host_short(host);
    for (size_t i = 0; i < here->n; i++) {
        bool known = local_vms_named(vms, here->at[i].name, &vm);
        snprintf(name, sizeof name, "%s@%s", here->at[i].name, host);
        add_local(out, known && vm.name.full[0] ? vm.name.full : name, 0, known ? &vm : NULL);
    }
    for (size_t k = 0; k < vms->n; k++) {
        const struct node_name *its = &vms->at[k].name;
        if (its->port && vms->at[k].same_network && !has(here, its->alive) &&
            local_vms_named(vms, its->alive, &vm))
            add_local(out, its->full, its->port, &vm);
    }
}

static void add_release(struct node_choices *out, const char *name)
{
    struct node_choice c = {.release = true};

    snprintf(c.node, sizeof c.node, "%s", name);
    node_choices_add(out, &c);
}

void find_nodes(struct node_choices *out, const char *release)
{
    struct local_nodes here;
    struct local_vms vms;

    memset(out, 0, sizeof *out);
    out->epmd = local_nodes_find(&here, EPMD_MS);
    if (release)
        add_release(out, release);
    local_vms_find(&vms);
    add_running(out, &here, &vms);
    node_history_load(out);
    node_choices_sort(out);
}
