/* The process table: the first processes of one round, in the node's order, and sums of all
 * processes by initial call and by application. Rates per second are computed from this round and
 * the one before.
 *
 * Invariant: a table belongs to one round; it contains nothing of another round. A decoder fills it
 * in, then it is immutable. It owns its texts, which are raw bytes of the node. Bounded:
 * PROCESS_ROWS rows and PROCESS_ROWS groups of a kind, and for each kind one more for all other
 * groups. One thread at a time. */
#ifndef KPROF_CORE_PROCESS_TABLE_H
#define KPROF_CORE_PROCESS_TABLE_H

#include <kprof/core/stack_profile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROCESS_ROWS = 200, PROCESS_ROUNDS = 19 };
enum { PROCESS_FILTER_BYTES = 128, PROCESS_NAME_BYTES = 256, PROCESS_PID_BYTES = 32 };

/* What the node can order processes by. */
enum process_value {
    PROCESS_REDUCTIONS, /* per second */
    PROCESS_MEMORY,     /* bytes: heaps and messages outside of them */
    PROCESS_QUEUE,      /* messages */
    PROCESS_GROWTH,     /* of the queue, messages per second */
    PROCESS_BINARY,     /* bytes of binaries that the heaps refer to; a binary can count for several
                           processes */
    PROCESS_GCS,        /* collections per second; a lower bound */
    PROCESS_VALUES
};

const char *process_value_name(
    enum process_value v); /* "reductions" "memory" "queue" "growth" "binary" "gcs" */
/* Returns PROCESS_VALUES when there is none of that name. */
enum process_value process_value_parse(const char *name, size_t n);

enum process_group { PROCESS_UNGROUPED, PROCESS_BY_CALL, PROCESS_BY_APPLICATION, PROCESS_GROUPS };

/* What the node is asked for. */
struct process_order {
    enum process_value by;
    enum process_group within;     /* only processes of this group */
    char name[PROCESS_NAME_BYTES]; /* the group, as the table has it */
};

/* Why the table is not refreshed. */
enum process_gate {
    PROCESS_GATE_OPEN,
    PROCESS_GATE_BREAKER,
    PROCESS_GATE_LEASE,
    PROCESS_GATE_RUN_QUEUE
};

/* A process, or a group of processes. */
struct process_row {
    uint64_t pid;       /* serial << 32 | id; 0: a group */
    uint64_t processes; /* of a group; a process: 1 */
    bool rest;          /* all groups that have no row of their own */
    const char *name;   /* process: registered name; group: its name. "" if none */
    const char *initial_call, *application, *current; /* of a process; "": not known */
    double value[PROCESS_VALUES];                     /* NAN: not known */
    enum stack_status status;                         /* in this round */
    double share[STACK_STATUSES];                     /* of the rounds in which it was seen */
    unsigned rounds; /* the number of these rounds: at most PROCESS_ROUNDS */
};

struct process_head {
    uint64_t seq;          /* 1: the first table of this agent */
    enum process_value by; /* the node's order */
    enum process_gate gate;
    uint64_t processes; /* of the node, without those of agents */
    double born_per_s,
        died_per_s;   /* started and ended, as far as the rounds show them; NAN: not known */
    double between_s; /* since the round before; 0: there was none */
    double period_s, asked_s; /* between rounds: in use, requested */
    double round_s;           /* how long this round took */
    double next_s;            /* until the next round */
    double cost_percent;      /* of the schedulers' time */
    uint64_t late;            /* processes that did not answer in time */
    uint64_t unnamed;         /* processes whose initial call has not been requested yet */
};

struct process_table {
    struct process_head head;
    struct process_row row[PROCESS_GROUPS][PROCESS_ROWS + 1];
    size_t n[PROCESS_GROUPS];
    void *owner; /* memory that contains the texts */
};

/* ---- for a decoder ---- */

/* The values of a process or a group as the node reports them; -1: not known, where a value cannot
 * be negative. */
struct process_raw {
    int64_t reductions; /* since the round before */
    int64_t queue, growth, words, binary_words, gcs;
    uint64_t statuses; /* three bits a round, the last one lowest; 0: not seen */
};

struct process_table *process_table_new(void);
void process_table_free(struct process_table *t); /* NULL is fine */
/* The text in the table's memory; "" when that is full. */
const char *process_table_text(struct process_table *t, const char *s, size_t n);
/* The next row of a kind, with the values of raw; its names are "". head.between_s is set before.
 * NULL: there is no room. */
struct process_row *process_table_add(struct process_table *t, enum process_group kind,
                                      const struct process_raw *raw);

/* ---- for a screen or an export ---- */

/* Orders that the node does not have. */
enum { PROCESS_SORT_RUN = PROCESS_VALUES, PROCESS_SORT_NAME, PROCESS_SORTS };

struct process_query {
    enum process_group group;
    unsigned sort; /* enum process_value, PROCESS_SORT_RUN, PROCESS_SORT_NAME */
    bool reverse;
    char
        filter[PROCESS_FILTER_BYTES]; /* part of a name, initial call, application, function or pid;
                                         "": all */
};

/* The share of time in which it ran, was ready to run or collected garbage; NAN: not known. */
double process_row_run(const struct process_row *r);
/* The title of the row: its name, its initial call, or its pid, written to out. */
const char *process_row_name(const struct process_row *r, char out[PROCESS_PID_BYTES]);
/* The rows that pass the filter, in order: largest first, names from A; unknown values and `rest`
 * last. out has room for PROCESS_ROWS + 1. Returns how many there are. */
size_t process_table_order(const struct process_table *t, const struct process_query *q,
                           uint16_t *out);

#endif
