/* The engine: ring, core, stream and control wired together, for the screen and for batch alike.
 *
 * Invariant: never blocks on a node. engine_poll does a bounded piece of work, so that a key waits
 * for at most some milliseconds. Everything here is for the core thread; engine_wake_fd becomes
 * readable when another thread has brought something. Owns all of it, the recorder included. */
#ifndef KPROF_ENGINE_ENGINE_H
#define KPROF_ENGINE_ENGINE_H

#include <kprof/base/value_tree.h>
#include <kprof/core/catalog.h>
#include <kprof/core/core.h>
#include <kprof/engine/settings.h>
#include <kprof/trace/code_query.h>
#include <kprof/trace/session.h>

struct engine;

enum engine_state { ENGINE_CONNECTING, ENGINE_UP, ENGINE_LOST, ENGINE_FAILED, ENGINE_REPLAYED };

/* What happened, for whoever shows it. Strings are valid until the next poll. */
struct engine_hooks {
    void *arg;
    void (*message)(void *arg, const char *text, bool is_error);
    void (*stack)(void *arg, uint64_t pid, const char *lines, bool dead);
    void (*completions)(void *arg, const char *typed, const char *lines);
    /* The answer to engine_exist: there[i] of the i-th function; why: it failed, or NULL. */
    void (*exist)(void *arg, uint16_t tag, const bool *there, const char *why);
    void (*rule_refused)(void *arg, const char *rule, const char *why);
    void (*captured)(void *arg, struct capture *c); /* may take c->set */
};

struct engine *engine_new(const struct settings *s, const struct engine_hooks *hooks,
                          struct err *e); /* NULL: err */
void engine_free(struct engine *g);

/* node, cookie: as found by app (the demo's are made up). */
int engine_attach(struct engine *g, const char *node, const char *cookie, struct err *e);
int engine_replay(struct engine *g, const char *path, struct err *e);
double engine_replay_share(const struct engine *g); /* 0..1 of the recording has been read */
/* Turns tracing off and waits (at most timeout_ms) until all that was sent before is in core: for
 * exact last figures. */
void engine_settle(struct engine *g, int timeout_ms);
/* Detaches; the receipt says what is left on the target. */
void engine_detach(struct engine *g, struct session_receipt *receipt);

int engine_wake_fd(const struct engine *g);
bool engine_poll(struct engine *g); /* true: there is more to do at once */
enum engine_state engine_state(const struct engine *g);
const char *
engine_trouble(const struct engine *g); /* the sentence of ENGINE_FAILED or ENGINE_LOST */
bool engine_configured(
    const struct engine *g); /* the latest configuration is in force at the target */
/* How many uses of the VM are held back on this node, and which, with "; " between; 0 until it is
 * attached. */
size_t engine_held(const struct engine *g, const char **text);
const char *engine_rule_error(const struct engine *g); /* "": the rule was accepted */
bool engine_tier_missing(const struct engine *g,
                         const char **note); /* a tier matched no function */
/* Snapshots' rows with their histograms, for exports that need them (export_needs_hists). */
void engine_keep_hists(struct engine *g, bool on);
struct snapshot *engine_snapshot(struct engine *g, enum window w, bool final);
struct snapshot *engine_view(struct engine *g, const struct view_query *look); /* for a screen */

/* What the operator wants. -1: err (a sentence for the message line). A recording refuses all but
 * the threshold of slow calls: there is no node, and its tiers, entry and names are those of then.
 */
int engine_may_set(const struct engine *g, struct err *e); /* -1: it is a recording */
/* Adds a tier; its name must be unused. */
int engine_tier_add(struct engine *g, const struct tier_spec *t, struct err *e);
const struct tierset *engine_tiers(const struct engine *g);
int engine_tier_remove(struct engine *g, uint16_t tier, struct err *e);
int engine_entry(struct engine *g, const char *name, struct err *e);
int engine_identity(struct engine *g, const char *rule, struct err *e);
const char *engine_rule(const struct engine *g); /* the identity rule that is wanted; "": none */
int engine_slow(struct engine *g, const char *text, struct err *e); /* threshold, or "off" */
/* Returns the current settings; their strings are valid until the next change. */
int engine_settings(const struct engine *g, struct settings *out, struct err *e);
/* Applies settings; tiers that stay keep their figures. */
int engine_take_settings(struct engine *g, const struct settings *s, struct err *e);
/* Tiers, entry and identity of the settings that engine_new was given, before a node is attached.
 */
int engine_first_settings(struct engine *g, struct err *e);
size_t engine_would_go(const struct engine *g, const struct settings *s); /* tiers that s lacks */
/* Switches tracing on or off; pauses or resumes a replay. */
void engine_toggle(struct engine *g);
/* Samples twice as many requests (up), or half as many; changes the speed of a replay. */
void engine_sample(struct engine *g, bool up);
/* Snapshots are compared with the stretch of time that is shown from now on; when they are compared
 * already, no more. */
void engine_mark(struct engine *g, const struct view_query *shown);
/* Takes the snapshot over: snapshots are compared with it. name: what it is, for people. */
void engine_compare(struct engine *g, struct snapshot *then, const char *name);
const struct snapshot *engine_compared(const struct engine *g); /* with what; NULL: nothing */
void engine_zero(struct engine *g);
void engine_note(struct engine *g, const char *text); /* a line in the log */
void engine_why(struct engine *g, uint16_t tier);     /* answered by a message */
/* Captures calls of a tier (TIER_TOTAL: of the entry): hook `captured` is told how far it is, and
 * what it brought. */
void engine_capture(struct engine *g, uint16_t tier);
void engine_capture_end(struct engine *g);
void engine_stack(struct engine *g, uint64_t pid); /* answered by the hook, if only with why not */
void engine_complete(struct engine *g, const char *typed);

#define ENGINE_EXIST CODE_QUERY_EXIST
/* Asks the node which of these functions it has (a line each, at most ENGINE_EXIST): hooks.exist
 * is told, with the tag. -1 with err: there is no node to ask. */
int engine_can_ask(const struct engine *g, struct err *e); /* the same, without a question */
int engine_exist(struct engine *g, uint16_t tag, const char *lines, struct err *e);

/* The picker's: begins to load the catalog anew (the old one is gone); stops loading; nobody looks
 * any more. The catalog is the engine's, valid until the next engine_catalog_open. */
void engine_catalog_open(struct engine *g);
void engine_catalog_stop(struct engine *g);
void engine_catalog_close(struct engine *g);
const struct catalog *engine_catalog(const struct engine *g); /* NULL: never opened */
uint32_t engine_catalog_version(const struct engine *g);      /* another: something is new in it */
/* These are in sight: how often they are called is measured, some at a time, each once. */
void engine_catalog_rates(struct engine *g, const uint32_t *ids, size_t n);

#endif
