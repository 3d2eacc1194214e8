/* The inside of struct engine: a part for each unit of this room that keeps something. Only the
 * unit that a part is named after writes it; engine wires them.
 *
 * Invariant: one thread (the core thread), but for `full_waits`. */
#ifndef KPROF_ENGINE_STATE_H
#define KPROF_ENGINE_STATE_H

#include "control.h"
#include "recording_meta.h"
#include "slow_log.h"
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/compare.h>
#include <kprof/core/guard.h>
#include <kprof/engine/attach.h>
#include <kprof/engine/engine.h>
#include <kprof/trace/record.h>
#include <kprof/trace/stream.h>
#include <stdatomic.h>

#define ENGINE_LOG 100
/* Batches are at most this late: time is not pushed on before they can have come. */
#define FINALIZE_LAG_NS 150000000u

struct session_log {
    struct {
        uint64_t wall_ns;
        char text[400];
    } line[ENGINE_LOG];
    size_t n; /* written so far; newest is (n - 1) % ENGINE_LOG */
};

/* The configuration that is wanted, and what came of it. */
struct configuration {
    struct trace_config wanted;
    char good_rule[TRACE_CONFIG_RULE_BYTES]; /* the identity rule that the target took last */
    uint64_t gen, configured_gen;            /* of the one sent last, of the one in force */
    uint64_t identity_gen;                   /* of the rule that was typed last; 0: said */
    uint64_t rule_gen;                       /* of the rule set last; 0: the target has it */
    char rule_error[400], missing[400];
    bool unmatched[EVENT_TIERS]; /* the target has a word on it: its note stays */
    bool absent[EVENT_TIERS];    /* no such function */
};

/* Whether the identity rule names anything. */
struct rule_check {
    bool wanted, again, said;             /* again: something was named; said: that nothing is */
    uint64_t begun_ns, first_ns, next_ns; /* our clock: looked at first, a request was seen */
    struct core_names base;               /* what was named before */
    char note[200];
};

/* Why a tier is empty: asked of the node, one at a time, for each counts for a second. */
struct questions {
    uint64_t why_at_ns[EVENT_TIERS]; /* when to ask; 0: not thought of yet */
    bool why_by_hand[EVENT_TIERS];   /* the operator asked: the answer is said, too */
    uint64_t why_next_ns;
};

#define PROCESS_NAMES 128

struct process_name {
    uint64_t pid; /* 0: none */
    /* Our wall clock: of calls that ended in this time. Before and after, the number is that of
     * another process: the node has been started anew. */
    uint64_t from_wall_ns, to_wall_ns;
    char name[AGENT_REQUEST_WHO_BYTES]; /* "": asked, not known */
};

struct process_names {
    struct process_name of[PROCESS_NAMES]; /* round robin */
    size_t n;
    uint64_t next_ns;
    uint64_t lost_wall_ns; /* when the connection was lost last */
    uint64_t vm_wall_ns;   /* the node that runs now is another than before then; 0: it is not */
};

/* Processes that are known to be dead, and not yet told to core. */
struct dead_processes {
    uint64_t pid[AGENT_REQUEST_PIDS], due_ns;
    size_t n;
    uint32_t from; /* where to look for the next to ask after */
    uint64_t next_ns;
};

struct slow_pump {
    struct slow_log *log;  /* NULL: none */
    uint64_t threshold_ns; /* in force; 0: none */
    uint64_t done;         /* the last slow request that was written or left out */
    uint64_t missed;       /* left out since the last line */
    uint64_t next_ns, second_ns;
    unsigned lines; /* in that second */
};

/* What the picker needs of the node: its catalog, how often what is in sight is called. */
struct catalog_load {
    struct catalog *catalog;            /* NULL: never asked for */
    bool open;                          /* somebody looks at it */
    uint16_t gen;                       /* of the catalog: pages of an older one are dropped */
    uint32_t counted[CODE_QUERY_RATES]; /* numbers of the functions whose calls are counted now, */
    size_t counted_n;                   /* 0: none */
    uint64_t take_at_ns;                /* when to ask for the counts; 0: not begun */
    uint32_t version;                   /* goes up when the catalog has changed */
};

struct captures {
    bool active, asked;   /* a capture is under way; its state was asked for */
    uint64_t question_id; /* of the question whose answer is waited for */
    uint16_t tier;
    uint64_t next_ns;
};

struct liveness {
    uint64_t polled_ns, heard_ns; /* our clock: the last poll; the node's last word */
    uint64_t heard_batches;
    bool silent;
    struct guard guard;
    uint64_t guard_next_ns;
};

struct replaying {
    struct replay *file;        /* NULL: a node */
    struct recording_meta meta; /* what the recording said */
    /* At since_ns of our clock it stood at the stamp at_ns. */
    uint64_t at_ns, since_ns;
    double speed;     /* 0: all at once */
    uint64_t core_ns; /* target time of the recording's first event */
    struct {
        char kind;
        bool waiting;
        uint64_t stamp_ns;
        const uint8_t *bytes;
        size_t n;
    } frame; /* the one being replayed */
};

struct event_rate { /* events/s, of the last second */
    uint64_t at_ns, events;
    double per_s;
};

struct connection {
    char node[256], cookie[256];
    struct attach_who who;
    struct session_info info;
    char trouble[600], state_line[200];
    uint64_t retry_at_ns;
};

struct engine {
    struct settings run;
    struct engine_hooks hooks;
    struct intern *names;
    struct text_ring *text_ring; /* arguments of calls */
    struct ring *ring;
    struct core *core;
    struct stream *stream;
    struct recorder *recorder;
    struct control *control;
    struct compare *compare; /* what snapshots are compared with; NULL: nothing */
    int pipe[2];
    atomic_uint full_waits; /* of the reader, since the core took something out of the ring */

    enum engine_state state;
    bool tracing; /* as the target confirmed */
    uint64_t begun_ns, target_now_ns;
    char breaker_reason[120]; /* why it opened last */

    struct connection connection;
    struct configuration configuration;
    struct session_log log;
    struct questions questions;
    struct rule_check rule_check;
    struct process_names process_names;
    struct dead_processes dead;
    struct slow_pump slow;
    struct catalog_load catalog_load;
    struct captures captures;
    struct liveness liveness;
    struct replaying replay;
    struct event_rate rate;
};

#endif
