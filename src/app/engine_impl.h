/* The engine's inside, shared by engine.c and its parts, engine_*.c, only. */
#ifndef KPROF_APP_ENGINE_IMPL_H
#define KPROF_APP_ENGINE_IMPL_H

#include <kprof/app/attach.h>
#include <kprof/app/control.h>
#include <kprof/app/engine.h>
#include <kprof/app/meta.h>
#include <kprof/app/slow_log.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/base/text_ring.h>
#include <kprof/core/compare.h>
#include <kprof/core/guard.h>
#include <kprof/trace/record.h>
#include <kprof/trace/stream.h>
#include <stdatomic.h>

#define ENGINE_LOG 100
/* Batches are at most this late: time is not pushed on before they can have come. */
#define FINALIZE_LAG_NS 150000000u

/* Without a word for so long the node is called silent: it tells twice a second that it lives. */
#define ENGINE_SILENCE_NS 3000000000u

#define ENGINE_WHO 128

struct engine_who {
    uint64_t pid; /* 0: none */
    /* Our wall clock: of calls that ended in this time. Before and after, the number is that of
     * another process: the node has been started anew. */
    uint64_t from_wall_ns, to_wall_ns;
    char name[AGENT_REQUEST_WHO_BYTES]; /* "": asked, not known */
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
    char preset[256];                   /* the one to take when the node has said what it has */
};

struct engine {
    const struct options *o;
    struct engine_hooks hooks;
    struct intern *names;
    struct text_ring *text_ring; /* arguments of calls */
    struct ring *ring;
    struct core *core;
    struct stream *stream;
    struct recorder *recorder;
    struct control *control;
    struct replay *replay;
    struct compare *compare; /* what snapshots are compared with; NULL: nothing */
    int pipe[2];
    atomic_uint full_waits; /* of the reader, since the core took something out of the ring */

    char node[256], cookie[256];
    struct attach_who who;
    enum engine_state state;
    bool tracing; /* as the target confirmed */
    struct session_info info;
    struct meta meta; /* replay: what the recording said */
    struct trace_config trace_config;
    char good_rule[TRACE_CONFIG_RULE_BYTES]; /* the identity rule that the target took last */
    uint64_t trace_config_gen, configured_gen,
        identity_gen; /* of the rule that was typed last; 0: said */
    uint64_t slow_ns; /* the threshold in force; 0: none */
    char trouble[600], rule_error[400], missing[400], state_line[200];

    uint64_t dead_pid[AGENT_REQUEST_PIDS], dead_due_ns; /* known dead, not yet told to core */
    size_t dead_n;
    uint32_t dead_from; /* where to look for the next to ask after */

    uint64_t begun_ns, target_now_ns, dead_next_ns, retry_at_ns;
    /* A replay's pace: at replay_since_ns of our clock it stood at the stamp replay_at_ns. */
    uint64_t replay_at_ns, replay_since_ns;
    double replay_speed;     /* 0: all at once */
    uint64_t replay_core_ns; /* target time of the recording's first event */
    struct {
        char kind;
        bool waiting;
        uint64_t stamp_ns;
        const uint8_t *bytes;
        size_t n;
    } frame;                       /* the one being replayed */
    uint64_t rate_ns, rate_events; /* of the last events/s */
    double events_per_s;
    bool unmatched[EVENT_TIERS];          /* no such function: its note stays */
    uint64_t why_at_ns[EVENT_TIERS];      /* when to ask why it is empty; 0: not thought of yet */
    bool why_by_hand[EVENT_TIERS];        /* the operator asked: the answer is said, too */
    uint64_t why_next_ns;                 /* one at a time: each counts for a second */
    struct engine_who who_of[ENGINE_WHO]; /* round robin */
    size_t who_n;
    uint64_t lost_wall_ns; /* when the connection was lost last */
    uint64_t vm_wall_ns;   /* the node that runs now is another than before then; 0: it is not */
    struct {
        bool active, asked; /* a capture is under way; its state was asked for */
        uint64_t ticket;    /* of the question whose answer is waited for */
        uint16_t tier;
        uint64_t next_ns;
    } capture;
    uint64_t who_next_ns;
    struct slow_log *slow_log; /* NULL: none */
    uint64_t slow_seq;         /* the last slow call that was written or left out */
    uint64_t slow_missed;      /* left out since the last line */
    uint64_t slow_next_ns, slow_second_ns;
    unsigned slow_lines; /* in that second */
    struct catalog_load catalog_load;
    char breaker_reason[120]; /* why it opened last */
    uint64_t polled_ns, heard_ns,
        heard_batches; /* our clock: the last poll; the node's last word */
    bool silent;
    struct guard guard;
    uint64_t guard_next_ns;
    struct {
        uint64_t wall_ns;
        char text[400];
    } log[ENGINE_LOG];
    size_t log_n; /* written so far; newest is (log_n - 1) % ENGINE_LOG */
};

void engine_log(struct engine *g, const char *text);
void engine_log_once(struct engine *g, const char *text); /* not when the last line says the same */
void engine_say(struct engine *g, const char *text, bool is_error); /* on the message line */
/* The node is not heard any more: since its last word nothing is known. Recorded, too. */
void engine_gap(struct engine *g, enum gap_reason reason);
void engine_set_slow(struct engine *g, uint64_t ns);
void engine_take_notes(struct engine *g);  /* what the agent said, into the log */
void engine_listen(struct engine *g);      /* is the node silent? */
void engine_guard(struct engine *g);       /* are we the ones who cannot follow? */
void engine_push_config(struct engine *g); /* to control, and into the recording */
/* -1: a recording is looked at; its tiers, entry and names stay what they were. */
int engine_may_set(const struct engine *g, struct err *e);
void engine_result(struct engine *g, struct result *r);
void engine_record_meta(struct engine *g);
void engine_name_slow(struct engine *g, struct snapshot *s, uint64_t now_ns);
uint64_t engine_wall_of_core(const struct engine *g);       /* our wall clock at core_now */
bool engine_asks(const struct engine *g, const char **why); /* false: why no node can be asked */
void engine_pump_slow(struct engine *g, bool all); /* all: nothing waits for its name any more */
void engine_capture_poll(struct engine *g);
void engine_take_capture(struct engine *g, struct result *r);
void engine_take_who(struct engine *g, const struct result *r);
void engine_take_stack(struct engine *g, const struct result *r);
void engine_who_lost(struct engine *g);      /* the connection is lost now; */
void engine_who_restarted(struct engine *g); /* since then the node is another */
void replay_pump(struct engine *g);          /* feeds the next frames of the recording */
void replay_toggle(struct engine *g);        /* holds it, or lets it go on */
void replay_faster(struct engine *g, bool faster);
void engine_take_catalog(struct engine *g, const struct result *r);
void engine_take_exist(struct engine *g, const struct result *r);
void engine_poll_catalog(struct engine *g);

#endif
