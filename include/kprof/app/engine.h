/* The engine: ring, core, stream and control wired together, for the screen and for batch alike.
 *
 * Invariant: never blocks on a node. engine_poll does a bounded piece of work, so that a key waits
 * for at most some milliseconds. Everything here is for the core thread; engine_wake_fd becomes
 * readable when another thread has brought something. Owns all of it, the recorder included. */
#ifndef KPROF_APP_ENGINE_H
#define KPROF_APP_ENGINE_H

#include <kprof/app/options.h>
#include <kprof/core/core.h>
#include <kprof/trace/session.h>

struct engine;

enum engine_state { ENGINE_CONNECTING, ENGINE_UP, ENGINE_LOST, ENGINE_FAILED, ENGINE_REPLAYED };

/* What happened, for whoever shows it. Strings are valid until the next poll. */
struct engine_hooks {
    void *arg;
    void (*message)(void *arg, const char *text, bool is_error);
    void (*completions)(void *arg, const char *typed, const char *lines);
    void (*rule_refused)(void *arg, const char *rule, const char *why);
};

struct engine *engine_new(const struct options *o, const struct engine_hooks *hooks,
                          struct err *e); /* NULL: err */
void engine_free(struct engine *g);

/* node, cookie: as found by app (the demo's are made up). */
int engine_attach(struct engine *g, const char *node, const char *cookie, struct err *e);
int engine_replay(struct engine *g, const char *path, struct err *e);
/* Turns tracing off and waits (at most timeout_ms) until all that was sent before is in core: for
 * exact last figures. */
void engine_settle(struct engine *g, int timeout_ms);
/* Detaches; the receipt says what is left on the target. */
void engine_detach(struct engine *g, struct session_receipt *receipt);

int engine_wake_fd(const struct engine *g);
bool engine_poll(struct engine *g); /* true: there is more to do at once */
enum engine_state engine_state(const struct engine *g);
const char *
engine_trouble(const struct engine *g);         /* the sentence of ENGINE_FAILED or ENGINE_LOST */
bool engine_configured(const struct engine *g); /* the latest wish stands at the target */
const char *engine_rule_error(const struct engine *g); /* "": the rule was accepted */
bool engine_tier_missing(const struct engine *g,
                         const char **note); /* a tier matched no function */
struct snapshot *engine_snapshot(struct engine *g, enum window w, bool final);

/* The operator's wishes. -1: err (a sentence for the message line). */
int engine_tier_add(struct engine *g, const char *text, struct err *e);
int engine_tier_remove(struct engine *g, uint16_t tier, struct err *e);
int engine_entry(struct engine *g, const char *name, struct err *e);
int engine_identity(struct engine *g, const char *rule, struct err *e);
void engine_toggle(struct engine *g);
void engine_sample(struct engine *g, bool up);
void engine_zero(struct engine *g);
void engine_why(struct engine *g, uint16_t tier);
void engine_complete(struct engine *g, const char *typed);

#endif
