/* The engine's inside, shared by engine.c, engine_wish.c, engine_view.c,
 * engine_who.c and engine_replay.c only.
 */
#ifndef KPROF_APP_ENGINE_IMPL_H
#define KPROF_APP_ENGINE_IMPL_H

#include <kprof/app/control.h>
#include <kprof/app/engine.h>
#include <kprof/app/meta.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/trace/record.h>
#include <kprof/trace/stream.h>

#define ENGINE_LOG 100
/* Batches are at most this late: time is not pushed on before they can have come. */
#define SETTLE_LAG_NS 150000000u

#define ENGINE_WHO 128

struct engine_who {
    uint64_t pid;
    char name[ASK_WHO_BYTES]; /* "": asked, not known */
};

struct engine {
    const struct options *o;
    struct engine_hooks hooks;
    struct intern *names;
    struct ring *ring;
    struct core *core;
    struct stream *stream;
    struct recorder *recorder;
    struct control *control;
    struct replay *replay;
    int pipe[2];
    unsigned full_waits; /* reader thread's */

    char node[256], cookie[256], who[256];
    enum engine_state state;
    bool tracing; /* as the target confirmed */
    struct session_info info;
    struct meta meta; /* replay: what the recording said */
    struct wish wish;
    char good_rule[WISH_RULE_BYTES]; /* the identity rule that the target took last */
    uint64_t wish_gen, configured_gen, identity_gen; /* of the rule that was typed last; 0: said */
    char trouble[600], rule_error[400], missing[400], state_line[200];

    uint64_t dead_pid[ASK_PIDS], dead_due_ns; /* known dead, not yet told to core */
    size_t dead_n;

    uint64_t begun_ns, target_now_ns, dead_next_ns, retry_at_ns;
    uint64_t replay_first_ns,
        replay_begun_ns;     /* stamps of the recording against our clock, for pace */
    uint64_t replay_core_ns; /* target time of the recording's first event */
    bool replay_paced;
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
    uint64_t who_next_ns;
    char breaker_reason[120]; /* why it opened last */
    struct {
        uint64_t wall_ns;
        char text[400];
    } log[ENGINE_LOG];
    size_t log_n; /* written so far; newest is (log_n - 1) % ENGINE_LOG */
};

void engine_log(struct engine *g, const char *text);
void engine_push_wish(struct engine *g); /* to control, and into the recording */
void engine_result(struct engine *g, struct result *r);
void engine_record_meta(struct engine *g);
void engine_name_slow(struct engine *g, struct snapshot *s, uint64_t now_ns);
void engine_take_who(struct engine *g, const struct result *r);
void replay_pump(struct engine *g); /* feeds the next frames of the recording */

#endif
