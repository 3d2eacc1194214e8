/* The time of messages in mailboxes: from the moment at which a process sends the message of a call
 * to a server (EVENT_SENT), to the first call that the server makes for it. Also finds which
 * processes are servers, and how busy they are. Private to core.
 *
 * Invariant: an event of this unit changes no counter of calls and no stack. A message waits for at
 * most one call, and a call has at most one message: of the messages to its process with its label
 * that were sent before and not answered before, the one that was sent first. A process sends one
 * message at a time, because it waits for the answer: its return, or its next message, is the time
 * of the answer. Events of different processes may arrive in any order while the request is open.
 * At most MAILBOX_SENT messages, MAILBOX_SERVERS processes and MAILBOX_SHARES tiers of processes
 * are kept; beyond that, messages are dropped in turn, and all processes are forgotten. Memory is
 * reserved when it is first needed. One thread. */
#ifndef KPROF_CORE_MAILBOX_H
#define KPROF_CORE_MAILBOX_H

#include <kprof/base/map.h>
#include <stdbool.h>
#include <stdint.h>

struct core;
struct event;
struct proc;
struct attribution;

enum {
    MAILBOX_SENT = 1 << 16,
    MAILBOX_SERVERS = 1 << 14,
    MAILBOX_SHARES = 4 * MAILBOX_SERVERS,
    MAILBOX_CHAIN = 64
};

struct mailbox_sent {
    uint64_t from, to, label, ts_ns;
    uint64_t answered_ns; /* UINT64_MAX: not yet */
    uint32_t returns_to;  /* function to which the sender returns when it has the answer */
    uint32_t next;        /* to the same process with the same label, sent later; or a free one */
    bool used, waits;     /* waits: no call has been found for it */
};

/* A process that has calls of requests that began in other processes. */
struct mailbox_server {
    uint64_t pid, label; /* label: the last one */
    uint32_t first;      /* its mailbox_share that was made last; UINT32_MAX: none */
    bool serves;         /* it has had calls of two requests */
};

/* How long a server ran calls of one tier. */
struct mailbox_share {
    uint64_t epoch;                   /* of busy_ns */
    uint64_t busy_ns, busy_before_ns; /* in this epoch, and in the one before */
    uint32_t server, next;            /* next: of the same server; UINT32_MAX: none */
    uint16_t tier;
};

struct mailbox {
    struct mailbox_sent *sent; /* NULL until the first message */
    uint32_t high, free, hand; /* slots below `high` have been used; hand: the next one to drop */
    struct map by_sender, by_target;
    struct mailbox_server *server; /* NULL until the first */
    struct map by_server;
    struct mailbox_share *share; /* NULL until the first */
    uint32_t servers, shares;
    /* start of the first call of a server that has ended; 0: none has ended yet */
    uint64_t since_ns;
};

void mailbox_init(struct mailbox *m);
void mailbox_release(struct mailbox *m);
void mailbox_clear(struct mailbox *m); /* drops all messages: no open call will have an end now */

void mailbox_sent(struct core *c, const struct event *ev); /* EVENT_SENT */
/* An exception was caught. True: the process waited for a server, so it was in that call (a
 * time-out, or the server has ended); its wait has ended. */
bool mailbox_failed(struct core *c, const struct event *ev);
/* A process has returned to ev->fn. True: only the call to a server that sent the message has
 * returned, not a call of a tier. p: the process, NULL: it has no open calls. */
bool mailbox_returned(struct core *c, const struct event *ev, const struct proc *p);
void mailbox_exit(struct core *c, uint64_t pid);

/* True: the call would be the first of its request in its process, which is not the process in
 * which the request began. p: its process before the call; NULL: it has no open calls. */
bool mailbox_arrives(struct core *c, const struct event *ev, const struct proc *p,
                     const struct attribution *to);
/* The call `at` has arrived with this event. */
void mailbox_arrived(struct core *c, uint32_t at, const struct event *ev);

struct call;
/* Returns the time for which the process of the ended call was busy for its tier (0: it does not
 * serve), and remembers it. */
uint64_t mailbox_busy_ns(struct core *c, const struct call *f, uint64_t weight);

/* The processes that had calls of a tier in the last 5 to 10 s, and the one that was busiest with
 * them, as shares of the time without that in which nothing was traced. Calls of all tiers wait for
 * the same process: `all` and `load` include all of them. */
struct mailbox_busiest {
    uint64_t pid;     /* 0: none */
    double busy, all; /* of this process: with calls of the tier, and of all tiers */
    double load;      /* with calls of all tiers, summed over the processes */
    uint32_t processes;
};
struct mailbox_busiest mailbox_busiest(const struct core *c, uint16_t tier);

#endif
