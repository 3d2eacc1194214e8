/* Nodes that the operator can choose from: where each was found, and when it was used last.
 *
 * Invariant: every name passes node_choice_name_ok, so it is safe to draw and has no blank. A node
 * is in the list once, with all its sources, unless its entries have different addresses. Contains
 * no cookie. Pure; one thread. */
#ifndef KPROF_CORE_NODE_CHOICE_H
#define KPROF_CORE_NODE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODE_CHOICE_BYTES 272 /* name@host:port */
#define NODE_CHOICES_MAX  128
#define NODE_NOTE_BYTES   384

struct node_choice {
    char node[NODE_CHOICE_BYTES];    /* name@host or name@host:PORT */
    char connect[NODE_CHOICE_BYTES]; /* ADDR:PORT to connect to; "": as the name says */
    bool local;                      /* the epmd of this machine has it */
    bool release;                    /* it is named by the environment of a release */
    bool tls;                        /* it is known to use TLS */
    char tls_optfile[256];           /* for --tls-optfile; "": not known */
    uint64_t used_s;                 /* Unix time of the last use; 0: not known */
};

struct node_choices {
    struct node_choice at[NODE_CHOICES_MAX];
    size_t n;
    bool epmd; /* an epmd answers on this machine */
};

/* True for name@host and name@host:PORT with the characters that Erlang allows in node names. */
bool node_choice_name_ok(const char *s);
/* True for ADDR:PORT, [ADDR]:PORT, or "". */
bool node_choice_address_ok(const char *s);

/* Adds a copy, or joins it with the entry of the same node. Ignored: a name or an address that is
 * not valid, and what does not fit. */
void node_choices_add(struct node_choices *l, const struct node_choice *c);
/* Orders the list: the release's node, nodes of this machine by name, then the last used first. */
void node_choices_sort(struct node_choices *l);
/* Stores where the node was found, such as "runs here, used 3 h ago", and the address to connect
 * to, if there is one. */
void node_choice_note(const struct node_choice *c, uint64_t now_s, char out[NODE_NOTE_BYTES]);

#endif
