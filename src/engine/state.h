/* The private state of struct engine: one part for each unit of this layer that has a state. A part
 * is mainly written by the unit that it is named after.
 *
 * Invariant: only the core thread uses the struct. Exceptions: `full_waits`, which is atomic, and
 * `ring` and `pipe`, which do not change after engine_new. */
#ifndef KPROF_ENGINE_STATE_H
#define KPROF_ENGINE_STATE_H

#include "control.h"
#include "recording_meta.h"
#include "slow_log.h"
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/compare.h>
#include <kprof/core/full_trace.h>
#include <kprof/core/guard.h>
#include <kprof/core/sample_wait.h>
#include <kprof/engine/attach.h>
#include <kprof/engine/engine.h>
#include <kprof/trace/full_decode.h>
#include <kprof/trace/record.h>
#include <kprof/trace/stack_decode.h>
#include <kprof/trace/stream.h>
#include <stdatomic.h>

#define ENGINE_LOG 100

struct session_log {
    struct {
        uint64_t wall_ns;
        char text[400];
    } line[ENGINE_LOG];
    size_t n; /* lines written so far; the newest is line[(n - 1) % ENGINE_LOG] */
};

/* The requested configuration, and the node's answer to it. */
struct configuration {
    struct trace_config wanted;
    char good_rule[TRACE_CONFIG_RULE_BYTES]; /* the last identity rule that the node accepted */
    /* of the configuration sent last; of the configuration in use */
    uint64_t gen, configured_gen;
    uint64_t changes;      /* increases when `wanted` may have changed */
    uint64_t identity_gen; /* of the last rule that was typed; 0: its result was reported */
    uint64_t rule_gen;     /* of the last rule that was set; 0: the node has this rule */
    char rule_said[300];   /* message for when the node has the rule; "": the usual one */
    char rule_error[400], missing[400];
    /* Why the configuration failed_gen, the last one sent, could not be set; "": it could, or there
     * is no answer yet. failed_again: it will be sent again. */
    char failed[400];
    uint64_t failed_gen;
    bool failed_again;
    bool unmatched[EVENT_TIERS]; /* the node sent a note on the tier: the note stays even if calls
                                    arrive */
    /* The node has no such function: hash of its note, which the log has; 0: it has the function */
    uint64_t absent[EVENT_TIERS];
};

/* The configuration that the log shows. */
struct change_log {
    struct trace_config known;
    uint64_t changes;      /* of struct configuration, at that time */
    uint64_t slow_ns;      /* the threshold */
    uint32_t cut, cut_why; /* sampling as reduced by a limit; 0: as requested */
    size_t cut_lines;      /* lines of the log after the last line on sampling */
    uint64_t cut_ns;       /* the first of the changes that this line covers, local clock */
};

/* The check of the identity rule. */
struct rule_check {
    /* matched: the rule has named a request before; warned: the log has a warning */
    bool wanted, matched, warned;
    /* local clock: start of the check; first request; next check */
    uint64_t begun_ns, first_ns, next_ns;
    struct core_names base; /* the counts with which the next check begins */
    char note[200];
};

/* The last rule that was wrapped in path(...) or shape(...), and the result. Owned. */
struct identity_template {
    char *former, *made; /* NULL: none */
};

/* Requests for the reason why a tier is empty. The node gets one at a time, because it counts calls
 * for one second per request. */
struct questions {
    uint64_t why_at_ns[EVENT_TIERS]; /* when to ask; 0: not planned yet */
    bool why_by_hand[EVENT_TIERS];   /* the operator asked: the answer is a message, too */
    uint64_t why_next_ns;
};

#define PROCESS_NAMES 128

struct process_name {
    uint64_t pid; /* 0: none */
    /* Local wall clock: the name is valid for calls that ended in this time. Before and after, the
     * pid belongs to another process, because the node was restarted. */
    uint64_t from_wall_ns, to_wall_ns;
    char name[AGENT_REQUEST_WHO_BYTES]; /* "": the node was asked, the name is not known */
};

struct process_names {
    struct process_name of[PROCESS_NAMES]; /* round robin */
    size_t n;
    uint64_t next_ns;      /* no question before that */
    bool asked;            /* a question is under way */
    uint64_t lost_wall_ns; /* when the connection was last lost */
    uint64_t
        vm_wall_ns; /* when the connection to the earlier VM was lost; 0: the VM has not changed */
};

struct hanging {
    uint64_t next_ns; /* no question before that */
    bool asked;       /* a question is under way, for of[0..n) */
    struct core_hanging of[AGENT_REQUEST_HANG];
    size_t n;
};

/* Dead processes that core does not know yet. */
struct dead_processes {
    struct dead_process {
        uint64_t pid;
        uint64_t due_ns; /* its last events have arrived by then */
    } of[AGENT_REQUEST_PIDS];
    size_t n;
    uint32_t from; /* where the next check begins */
    uint64_t next_ns;
    uint64_t asked_id, answered_id; /* of requests to the node */
    uint64_t asked_pid[AGENT_REQUEST_PIDS];
    size_t n_asked;
    uint64_t asked_ns; /* when the request was sent: node time; 0: not known */
    bool last;         /* the last question of the run was asked */
};

struct slow_pump {
    struct slow_log *log;  /* NULL: none */
    uint64_t threshold_ns; /* in use; 0: none */
    bool chosen;           /* by the operator */
    uint64_t done;         /* number of the last slow request that was written or left out */
    uint64_t missed;       /* number of requests left out since the last line */
    uint64_t next_ns, second_ns;
    unsigned lines; /* lines written in the second that began at second_ns */
};

/* The node's data for the picker: the catalog, and call rates of the functions in sight. */
struct catalog_load {
    struct catalog *catalog; /* NULL: never loaded */
    char of[TIER_MFA_BYTES]; /* it has what this function calls; "": all functions of the node */
    bool open;               /* the picker is open */
    uint16_t gen;            /* number of the catalog: pages of an older catalog are dropped */
    uint32_t counted[CODE_QUERY_RATES]; /* numbers of the functions whose calls are counted now */
    size_t counted_n;                   /* 0: none */
    uint64_t take_at_ns;                /* when to take the counts; 0: counting has not begun */
    uint32_t version;                   /* increases when the catalog has changed */
    uint32_t loads;                     /* catalogs that were begun */
};

/* The answer to engine_calls_ask. */
struct static_calls {
    struct catalog *catalog; /* the functions that are called; NULL: no answer yet, or taken */
    uint16_t gen;            /* number of the question */
};

struct captures {
    bool active, asked;   /* a capture is under way; the node was asked for its state */
    uint64_t question_id; /* number of the request that waits for its answer */
    uint16_t tier;
    uint64_t next_ns;
};

/* The message queues that triggers are about. */
struct queue_watch {
    struct snap_queue of[SNAP_QUEUES];
    size_t n, next; /* next: is asked for next */
    bool asked;
    uint64_t next_ns, question_id;
};

struct process_watch {
    bool on, asked; /* the node was asked and has not answered */
    struct process_request wanted;
    uint64_t question_id; /* number of the request that waits for its answer */
    uint64_t next_ns;     /* when to ask again */
};

struct liveness {
    uint64_t polled_ns, heard_ns; /* local clock: the last poll; the last message of the node */
    uint64_t heard_batches;
    bool silent;
    struct guard guard;
    uint64_t guard_next_ns;
};

#define NODE_LOAD_S 10800 /* as long as the history */

/* The load of the node, second by second. */
struct node_load {
    struct node_load_second {
        uint64_t ts_ns; /* node time */
        uint64_t memory_bytes;
        uint32_t run_queue;
        int32_t dirty_queue, use_permille; /* -1: not known */
    } * of;                                /* NODE_LOAD_S, round robin; NULL: no heartbeat yet */
    size_t n; /* seconds so far; the newest is of[(n - 1) % NODE_LOAD_S] */
};

struct stack_sampling {
    struct stack_profile *profile; /* NULL: there was no sample yet */
    struct stack_decoder *decoder;
    struct sample_wait *wait;     /* samples that wait for the events of their time */
    struct stack_request request; /* what is sampled, or was last */
    bool begun;                   /* the request has been set */
    bool wanted, on;              /* on: as the node has confirmed */
    bool taken;                   /* the node has sampled for the operator's last request */
    uint64_t question_id;         /* of the last request to the node */
    uint64_t clear_id;            /* when this is answered, earlier samples are dropped */
    uint64_t end_id;              /* of the request to end it; 0: answered */
    uint64_t end_next_ns; /* local clock: when to ask for the end again; 0: it did not fail */
    unsigned end_tries;   /* to end it, that failed */
    /* the same for requests to sample after a reconnect */
    uint64_t begin_next_ns;
    unsigned begin_tries;
    uint64_t samplers;           /* seen before the last request to sample */
    uint64_t first_ns;           /* time of the first sample; 0: none */
    char why[300], end_why[300]; /* end_why: why it could not be ended */
};

struct replaying {
    struct replay *file;        /* NULL: the source is a node */
    struct recording_meta meta; /* the first meta frame of the recording */
    int64_t start_native;       /* of the clock in use; valid if has_clock */
    bool has_clock;
    /* At since_ns of the local clock the replay was at the stamp at_ns. */
    uint64_t at_ns, since_ns;
    double speed;       /* 0: all at once */
    struct err trouble; /* the file is incomplete; empty: it is not, as far as it was read */
    uint64_t core_ns; /* node time of the first event or heartbeat of the recording; 0: none yet */
    uint64_t meta_ns; /* stamp of the first meta frame, whose wall clock is meta.wall_ns */
    uint64_t wall_ns; /* wall clock at the node time target_now_ns; 0: not known yet */
    struct {
        char kind;
        bool waiting;
        uint64_t stamp_ns;
        const uint8_t *bytes;
        size_t n;
    } frame; /* the frame being replayed */
};

struct full_trace {
    struct full_now now;
    char function[TIER_MFA_BYTES]; /* that begins the request, or the pid; safe */
    uint64_t question_id;          /* of the request; 0: answered, or none */
    uint64_t id;                   /* of the last one */
    /* local clock: the request; the last message; the last poll */
    uint64_t asked_ns, heard_ns, polled_ns;
    /* NULL: none is under way, or the tree was taken */
    struct stack_profile *profile;
    struct call_tree *tree;
    struct full_decoder *decoder;
};

struct part_time {
    uint64_t next_ns; /* when to look again */
};

struct event_rate { /* events/s in the last second */
    uint64_t at_ns, events;
    double per_s;
};

struct connection {
    char node[256];
    bool tls, unverified;
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
    bool recording_incomplete; /* and this was reported */
    bool files_incomplete;     /* the recording, or the file of --slow-log */
    struct control *control;
    struct compare *compare; /* the reference of snapshots; NULL: none */
    int pipe[2];
    atomic_uint
        full_waits; /* waits of the reader since the core thread last took events from the ring */

    enum engine_state state;
    bool tracing; /* as the node has confirmed */
    uint64_t begun_ns, target_now_ns;
    char breaker_reason[240]; /* why the breaker opened last */

    struct connection connection;
    struct configuration configuration;
    struct session_log log;
    struct change_log change_log;
    struct questions questions;
    struct rule_check rule_check;
    struct identity_template identity_template;
    struct process_names process_names;
    struct dead_processes dead;
    struct static_calls static_calls;
    struct hanging hangs;
    struct slow_pump slow;
    struct catalog_load catalog_load;
    struct captures captures;
    struct process_watch process_watch;
    struct queue_watch queue_watch;
    struct liveness liveness;
    struct node_load load;
    struct stack_sampling stacks;
    struct full_trace full;
    struct replaying replay;
    struct part_time part_time;
    struct event_rate rate;
};

#endif
