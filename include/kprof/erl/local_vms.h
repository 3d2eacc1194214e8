/* The full names of the nodes on this machine, from the command lines of their VMs in /proc: epmd
 * knows only the part before the @.
 *
 * Lists only VMs whose command line this process may read, and none of another network namespace;
 * the namespace of other users' VMs is not known. The cookie of a command line is not stored. Names
 * pass node_name_parse. Opens no socket itself; blocks for at most half a second if the name of a
 * VM needs the full name of this machine (a look-up). Any thread. */
#ifndef KPROF_ERL_LOCAL_VMS_H
#define KPROF_ERL_LOCAL_VMS_H

#include <kprof/erl/node_name.h>

#define LOCAL_VMS_MAX 64

struct local_vm {
    struct node_name name; /* port: of -erl_epmd_port; 0: the node uses epmd */
    bool same_network;     /* false: not known */
    bool tls;              /* -proto_dist inet_tls or inet6_tls */
    char tls_optfile[256]; /* of -ssl_dist_optfile; "": none, or not an absolute path */
};

struct local_vms {
    struct local_vm at[LOCAL_VMS_MAX];
    size_t n;
};

void local_vms_find(struct local_vms *out);

/* What the VMs with this name before the @ say; those of this network namespace if there are any.
 * Any user can start a program with any arguments, so what they say differently is left out: an
 * empty full name, no port, no TLS. False: there is none. */
bool local_vms_named(const struct local_vms *vms, const char *alive, struct local_vm *out);

/* Reads a command line: arguments, each followed by a NUL. here: the short name of this machine,
 * long_here: its full name, or NULL. False: not a VM with a name. Survives any bytes. */
bool local_vm_parse(const char *s, size_t n, const char *here, const char *long_here,
                    struct local_vm *out);

#endif
