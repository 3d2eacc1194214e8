/* The distribution port that the environment gives to every node of a release without epmd:
 * ERL_DIST_PORT, or -erl_epmd_port in the variables with options of the VM. For src/erl only. Reads
 * the environment. Any thread. */
#ifndef KPROF_ERL_FIXED_PORT_H
#define KPROF_ERL_FIXED_PORT_H

#include <kprof/base/err.h>
#include <stdint.h>

struct fixed_port {
    uint16_t port;    /* 0: none is given */
    const char *from; /* the variable */
};

/* Returns 0, or -1 with err if a variable has no port. */
int fixed_port(struct fixed_port *out, struct err *e);

#endif
