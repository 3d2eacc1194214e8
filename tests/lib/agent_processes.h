/* Answers with the process table, as the agent sends them. */
#ifndef KPROF_TESTS_AGENT_PROCESSES_H
#define KPROF_TESTS_AGENT_PROCESSES_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stdint.h>

/* The parts of a round, in their order: head, list of rows, list of groups by initial call, list of
 * groups by application. between_us: since the round before. */
void agent_processes_head(struct buf *b, uint64_t seq, const char *by, uint64_t between_us);
/* values: reductions in all, since the round before; queue, growth, words, words of binaries,
 * collections */
void agent_processes_row(struct buf *b, uint8_t id, const char *name, const int64_t values[7],
                         uint64_t statuses);
/* name NULL: all other groups; call: an initial call, else an application */
void agent_processes_group(struct buf *b, const char *name, bool call, const int64_t sums[7]);
/* Two processes, two initial calls and the others, one application. */
void agent_processes_round(struct buf *b, uint64_t seq);
/* There is no new round; gate as in struct process_head. */
void agent_processes_wait(struct buf *b, uint64_t gate);

#endif
