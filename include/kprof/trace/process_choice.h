/* Which processes are sampled: what the operator types, as a value.
 *
 *   top[:N][:MOST]     the N processes (100) with the most reductions, memory, queue or binary
 *   <0.91.0>,...       pids; the angle brackets can be left out
 *   NAME,...           registered names, as Erlang or Elixir writes them; in quotes if it is one of
 *                      these words
 *   M:F/A              processes that started with this function
 *   app:NAME           processes of an application
 *   children:PID|NAME  a process, the processes that it started, and so on
 *   inside             processes that run calls of traced requests
 *   all                all processes
 *
 * Invariant: plain data, copied; pure. Any text is parsed or refused with one sentence, and no
 * table of names is needed: a name that the node does not have matches nothing. Any thread. */
#ifndef KPROF_TRACE_PROCESS_CHOICE_H
#define KPROF_TRACE_PROCESS_CHOICE_H

#include <kprof/base/err.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_CHOICE_TOP   100  /* processes of `top` if no number is given */
#define PROCESS_CHOICE_MOST  1000 /* processes that are sampled at a time */
#define PROCESS_CHOICE_LIST  32   /* pids or names of a list */
#define PROCESS_CHOICE_BYTES 512

enum process_choice_kind {
    PROCESSES_TOP, /* the n with the most of `by` */
    PROCESSES_PIDS,
    PROCESSES_NAMES,
    PROCESSES_INITIAL_CALL, /* name: module and function; n: arity */
    PROCESSES_APPLICATION,
    PROCESSES_CHILDREN, /* of the one pid, or, if n is 0, of the one name */
    PROCESSES_INSIDE,
    PROCESSES_ALL
};
enum stack_top { STACK_TOP_REDUCTIONS, STACK_TOP_MEMORY, STACK_TOP_QUEUE, STACK_TOP_BINARY };

struct process_choice {
    enum process_choice_kind kind;
    enum stack_top by;
    uint32_t n; /* pids or names of the list; or as the kind says */
    uint64_t pid[PROCESS_CHOICE_LIST];
    char text[PROCESS_CHOICE_BYTES]; /* as it was typed */
    char name[PROCESS_CHOICE_BYTES]; /* UTF-8 without quotes, each ended by a NUL */
};

/* Returns 0, or -1 with err. */
int process_choice_parse(const char *text, struct process_choice *out, struct err *e);
/* The default: the 100 processes with the most reductions. */
void process_choice_default(struct process_choice *out);
/* "running,waiting" -> a bit 1 << enum stack_status for each; "all": all of them. Returns 0, or -1
 * with err. */
int process_choice_statuses(const char *text, uint32_t *out, struct err *e);

#endif
