/* The engine: connects ring, core, stream and control, for the screen and for batch.
 *
 * Invariant: the engine never blocks on a node, except in engine_drain and engine_detach.
 * engine_poll does a bounded piece of work, so that a key waits for at most some milliseconds. All
 * functions are for the core thread; engine_wake_fd becomes readable when another thread has data.
 * The engine owns all its parts, including the recorder. */
#ifndef KPROF_ENGINE_ENGINE_H
#define KPROF_ENGINE_ENGINE_H

#include <kprof/base/value_tree.h>
#include <kprof/core/call_tree.h>
#include <kprof/core/catalog.h>
#include <kprof/core/core.h>
#include <kprof/core/full_trace.h>
#include <kprof/engine/settings.h>
#include <kprof/erl/conn.h>
#include <kprof/trace/code_query.h>
#include <kprof/trace/process_request.h>
#include <kprof/trace/session.h>
#include <kprof/trace/stack_request.h>

struct engine;

enum engine_state { ENGINE_CONNECTING, ENGINE_UP, ENGINE_LOST, ENGINE_FAILED, ENGINE_REPLAYED };

/* Functions that the engine calls to report events. Strings are valid until the next poll. */
struct engine_hooks {
    void *arg;
    void (*message)(void *arg, const char *text, bool is_error);
    void (*stack)(void *arg, uint64_t pid, const char *lines, bool dead);
    void (*completions)(void *arg, const char *typed, const char *lines);
    /* The answer to engine_exist: there[i] is for the i-th function; why: reason of a failure, or
     * NULL. */
    void (*exist)(void *arg, uint16_t tag, const bool *there, const char *why);
    void (*rule_refused)(void *arg, const char *rule, const char *why);
    void (*captured)(void *arg, struct capture *c); /* the function may take c->set */
    /* A new round of the process table: the function takes over t. NULL: why there is none. */
    void (*processes)(void *arg, struct process_table *t, const char *why);
};

struct engine *engine_new(const struct settings *s, const struct engine_hooks *hooks,
                          struct err *e); /* NULL: err */
/* -1: a file of this run (recording, --slow-log) is incomplete, which was reported on the message
 * line or on stderr. NULL is fine. */
int engine_free(struct engine *g);

/* The strings of `to` must outlive the engine. */
int engine_attach(struct engine *g, const struct conn_target *to, struct err *e);
int engine_replay(struct engine *g, const char *path, struct err *e);
/* The share of the recording that has been read, 0..1. */
double engine_replay_share(const struct engine *g);
/* Why the recording could not be read to its end; NULL: it could, or its end is not reached. */
const char *engine_replay_trouble(const struct engine *g);
/* Switches tracing off and waits (at most timeout_ms) until core has all events that were sent
 * before, so that the last values are exact. */
void engine_drain(struct engine *g, int timeout_ms);
/* Detaches and waits for the end of the control thread; the receipt says what is left on the node.
 * */
void engine_detach(struct engine *g, struct session_receipt *receipt);

int engine_wake_fd(const struct engine *g);
bool engine_poll(struct engine *g); /* true: there is more work to do at once */
enum engine_state engine_state(const struct engine *g);
const char *
engine_trouble(const struct engine *g); /* the error message of ENGINE_FAILED or ENGINE_LOST */
/* True: ENGINE_FAILED, because there is no way to the node's host or port (0: not known). */
bool engine_unreached(const struct engine *g, uint16_t *port);
bool engine_configured(const struct engine *g); /* the node uses the latest configuration */
/* Why the node could not set the latest configuration, or could not switch tracing on or off: a
 * sentence without a full stop; "": it could, or has not answered. *again: it will be sent again.
 */
const char *engine_config_failure(const struct engine *g, bool *again);
/* Returns the number of VM functions that the agent avoids on this node, and their texts in *text,
 * with "; " between; 0 until the node is attached. */
size_t engine_avoided(const struct engine *g, const char **text);
const char *engine_rule_error(const struct engine *g); /* "": the rule was accepted */
bool engine_tier_missing(const struct engine *g,
                         const char **note); /* a tier matched no function */
/* True: the operator asked for detailed requests (settings.detail_given), and the node follows
 * none; *why: one sentence, constant. */
bool engine_detail_refused(const struct engine *g, const char **why);
/* Makes snapshots keep the histograms of their rows, for exports that need them
 * (export_needs_hists). */
void engine_keep_hists(struct engine *g, bool on);
struct snapshot *engine_snapshot(struct engine *g, enum window w, bool final);
uint64_t engine_closed_s(const struct engine *g); /* as core_closed_s */
struct snapshot *engine_report(struct engine *g, const struct view_query *query, bool final);
struct snapshot *engine_view(struct engine *g, const struct view_query *look); /* for a screen */
/* While a screen is paused: what s says about node, breaker, sampling and cost is set to the
 * present state. Its statistics and its time stay. s is not shared with another reader. */
void engine_view_state(struct engine *g, struct snapshot *s);

/* Requests of the operator. -1: err (a sentence for the message line). Of the functions with an
 * err, a recording refuses all except engine_slow: there is no node, and tiers, entry and names
 * were fixed when it was made. */
int engine_may_set(const struct engine *g, struct err *e); /* -1: the source is a recording */
/* Adds a tier; its name must be unused. */
int engine_tier_add(struct engine *g, const struct tier_spec *t, struct err *e);
const struct tierset *engine_tiers(const struct engine *g);
int engine_tier_remove(struct engine *g, uint16_t tier, struct err *e);
int engine_entry(struct engine *g, const char *name, struct err *e);
int engine_identity(struct engine *g, const char *rule, struct err *e);
/* Puts path(...) or shape(...) around the parts of the identity rule that name requests. It chooses
 * the one that at least halves the number of names; path(...) is tried first if most names look
 * like paths. While that rule is in use, the next call restores the former rule. Hook `message`
 * gets the resulting names. */
int engine_identity_template(struct engine *g, struct err *e);
const char *engine_rule(const struct engine *g); /* the requested identity rule; "": none */
int engine_slow(struct engine *g, const char *text, struct err *e); /* threshold, or "off" */
/* Returns the current settings; their strings are valid until the next change. */
int engine_settings(const struct engine *g, struct settings *out, struct err *e);
/* Applies settings; tiers that stay keep their values. Returns 0, or -1 with err: nothing has
 * changed. */
int engine_take_settings(struct engine *g, const struct settings *s, struct err *e);
/* Applies tiers, entry and identity of the settings that engine_new received; before a node is
 * attached. */
int engine_first_settings(struct engine *g, struct err *e);
/* The number of current tiers that are not in s. */
size_t engine_would_go(const struct engine *g, const struct settings *s);
/* Switches tracing on or off; pauses or resumes a replay. */
void engine_toggle(struct engine *g);
/* Samples twice as many requests (up), or half as many; changes the speed of a replay. */
void engine_sample(struct engine *g, bool up);
void engine_mailbox(struct engine *g); /* measure the time in mailboxes, or stop */
/* Compares all later snapshots with the time range that is shown now. If there is a reference
 * already, ends the comparison. */
void engine_toggle_comparison(struct engine *g, const struct view_query *shown);
/* Compares all later snapshots with `then`, and takes ownership of it. name: its name on the
 * screen. */
void engine_compare(struct engine *g, struct snapshot *then, const char *name);
/* The snapshot to compare with; NULL: none. */
const struct snapshot *engine_compared(const struct engine *g);
void engine_zero(struct engine *g);
void engine_note(struct engine *g, const char *text); /* a line in the log */
void engine_why(struct engine *g, uint16_t tier);     /* hook `message` gets the answer */
/* Captures calls of a tier (TIER_TOTAL: of the entry); hook `captured` gets the progress and the
 * captured calls. */
void engine_capture(struct engine *g, uint16_t tier);
void engine_capture_end(struct engine *g);
void engine_stack(struct engine *g, uint64_t pid); /* hook `stack` gets the answer, or a reason */
void engine_complete(struct engine *g, const char *typed);
/* Shows the node's processes: hook `processes` gets each round, until r is NULL. A call with
 * another r changes what is asked for. */
void engine_processes(struct engine *g, const struct process_request *r);

/* Watches the message queues of the processes with these registered names (UTF-8, without quotes;
 * at most SNAP_QUEUES), and no others: snapshots have their lengths. */
void engine_watch_queues(struct engine *g, const char *const *names, size_t n);

/* Stack samples. begin also changes what is sampled. fresh: samples so far are forgotten. Without a
 * connection, sampling begins with the next one. -1 with err: the source is a recording. */
int engine_stacks_begin(struct engine *g, const struct stack_request *r, bool fresh, struct err *e);
void engine_stacks_end(struct engine *g); /* the samples stay */
/* True: the node was asked to end sampling and has not done it yet, so more samples can arrive;
 * false after the last of some tries. */
bool engine_stacks_ending(const struct engine *g);
void engine_stacks_forget(struct engine *g); /* the samples so far, for example after an export */
/* The samples so far, of the node or the recording; NULL: none has arrived. The caller releases the
 * view before engine_free. */
struct stack_view *engine_stacks_view(struct engine *g);
/* The requests with samples that have a call in these cells of the latency heat map: labels,
 * ascending, for the caller to free (core_sampled_requests). */
uint64_t *engine_stacks_requests(const struct engine *g, const struct view_cells *cells, size_t *n);
void engine_sampling(const struct engine *g, struct snap_sampling *out);

/* A full trace, at most one at a time. -1 with err: it cannot be requested. engine_full has the
 * progress, and the reason if the node refuses. */
int engine_full_begin(struct engine *g, const struct full_ask *a, struct err *e);
void engine_full_end(struct engine *g); /* what was traced so far is kept */
void engine_full(const struct engine *g, struct full_now *out);
/* Once after FULL_ENDED: hands over the tree and its profile, which outlives the tree. False: there
 * is none. */
bool engine_full_take(struct engine *g, struct call_tree **tree, struct stack_profile **profile);

/* From now on, keeps the newest events in memory, at most `bytes` bytes. A second call does
 * nothing. -1 with err: all events are recorded to a file. */
int engine_record_remember(struct engine *g, size_t bytes, struct err *e);
void engine_record_forget(struct engine *g); /* frees this memory */
/* With settings.record_ring_bytes, or after engine_record_remember: begins a recording with the
 * events of the last before_ns that are in memory. It goes on until engine_record_cut. -1 with err;
 * errno is set if the file could not be made. */
int engine_record_keep(struct engine *g, const char *path, uint64_t before_ns, struct err *e);
int engine_record_cut(struct engine *g, struct err *e);

#define ENGINE_EXIST CODE_QUERY_EXIST
int engine_can_ask(const struct engine *g, struct err *e); /* -1 with err: no node can be asked */
/* Asks the node which of these functions it has (one per line, at most ENGINE_EXIST); hooks.exist
 * gets the answer with the tag. -1 with err: there is no node to ask. */
int engine_exist(struct engine *g, uint16_t tag, const char *lines, struct err *e);

/* For the picker. open begins to load the catalog again and frees the old catalog; stop ends the
 * loading; close reports that the picker is closed. The engine owns the catalog, which is valid
 * until the next engine_catalog_open. */
void engine_catalog_open(struct engine *g);
/* Does the same with only the functions that the function of a tier calls. */
void engine_callees_open(struct engine *g, uint16_t tier);
void engine_catalog_stop(struct engine *g);
void engine_catalog_close(struct engine *g);
const struct catalog *engine_catalog(const struct engine *g); /* NULL: never opened */
uint32_t engine_catalog_version(const struct engine *g); /* changes whenever the catalog changes */
uint32_t engine_catalog_load(const struct engine *g);    /* changes with each catalog */
bool engine_catalog_of_node(const struct engine *g);     /* false: of the callees of a tier */
/* Asks which functions this one calls ("m:f/1"), for engine_calls_take. A new question replaces one
 * without an answer. -1 with err: there is no node to ask. */
int engine_calls_ask(struct engine *g, const char *function, struct err *e);
/* The answer, once; the caller frees it. It is empty if the node does not know. NULL: no answer
 * yet. */
struct catalog *engine_calls_take(struct engine *g);
/* Sets the functions that are in sight. The engine measures their call rates, at most
 * CODE_QUERY_RATES at a time, each once. */
void engine_catalog_rates(struct engine *g, const uint32_t *ids, size_t n);

#endif
