/* Recordings: the stream as it arrived, so that it can be fed again (bug report, fixture,
 * benchmark).
 *
 * Format: "KPROFREC" 0x01 0 0 0, then frames: kind (1 byte), stamp_ns, length (u64, u32, big
 * endian), bytes. Kind 'X': event records that kprof-top itself made: dead processes, a lost
 * connection (struct event in memory form; same machine, same build). Kind 'E': one message of the
 * agent. Kind 'M': session data for the engine (engine/recording_meta). Kind 'C': a round trip, for
 * the clocks: the local time of the request (u64) and the node's native time in the answer (i64,
 * both big endian); the stamp is the time at which the answer arrived. Kind 'S': one message of the
 * agent with stack samples. Kind 'D': one with the scheduling of processes. Kind 'V': one with
 * events of the VM. Kind 'P': a poll of a process whose request was open for a long time
 * (engine/recording_poll). Kind 'N': a new connection: the node's clock, as its start in native
 * units (i64) and units per second (i64, 0: not known yet). Kind 'T': the slow-call threshold (ns,
 * u64; 0: none). A reader skips unknown kinds: a kprof-top without stack samples replays the rest.
 * Invariant: a reader survives any bytes: a malformed or cut frame ends the replay with an error,
 * and a length above RECORD_MAX_FRAME counts as malformed. Files are created 0600 and never
 * overwritten. Any thread may call recorder_write; the replay functions are for one thread.
 */
#ifndef KPROF_TRACE_RECORD_H
#define KPROF_TRACE_RECORD_H

#include <kprof/base/err.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_MAX_FRAME  (64u << 20)
#define RECORD_HEAD_BYTES 12
#define RECORD_EVENTS     'E'
#define RECORD_META       'M'
#define RECORD_EXITS      'X'
#define RECORD_CLOCK      'C'
#define RECORD_STACKS     'S'
#define RECORD_DETAIL     'D'
#define RECORD_POLL       'P'
#define RECORD_VM         'V'
#define RECORD_CONNECT    'N'
#define RECORD_SLOW       'T'

/* Whether a file with these first bytes is a recording. */
bool record_is(const void *bytes, size_t n);

struct recorder;
struct recorder *recorder_open(const char *path, struct err *e); /* NULL: err */
/* Keeps the newest frames in memory, at most max_bytes, and writes no file until recorder_keep. */
struct recorder *recorder_ring(size_t max_bytes);
/* Stores no frames until recorder_remember, only the last session data, the last slow-call
 * threshold, and the names of processes and stacks, which later samples refer to. */
struct recorder *recorder_idle(void);
/* Makes an idle recorder work as one of recorder_ring from now on. A second call does nothing. */
void recorder_remember(struct recorder *r, size_t max_bytes);
/* The opposite: the frames in memory are dropped. Not while a file is written. */
void recorder_forget(struct recorder *r);
/* For a recorder with frames in memory: begins a file with the last session data, the last
 * slow-call threshold, what the stack samples refer to, and the frames in memory that are not older
 * than from_ns. Later frames are written to it, too, until recorder_cut. -1 with err: no file was
 * made (errno is set), or it is incomplete. */
int recorder_keep(struct recorder *r, const char *path, uint64_t from_ns, struct err *e);
int recorder_cut(struct recorder *r, struct err *e);
void recorder_write(struct recorder *r, char kind, uint64_t stamp_ns, const void *bytes,
                    size_t n); /* r NULL: does nothing */
void recorder_round_trip(struct recorder *r, uint64_t sent_ns, int64_t native,
                         uint64_t received_ns); /* r NULL: does nothing */
/* A new connection begins with this clock. If it is that of another start of the node,
 * recorder_keep omits all earlier frames. r NULL: does nothing. */
void recorder_connect(struct recorder *r, uint64_t stamp_ns, int64_t start_native,
                      int64_t units_per_s);
void recorder_slow(struct recorder *r, uint64_t stamp_ns, uint64_t threshold_ns);
/* -1 with err, once: a frame could not be written to the file of recorder_open (the disk is full),
 * and none is written after it. 0 does not mean that buffered frames have been written. */
int recorder_trouble(struct recorder *r, struct err *e);
int recorder_close(struct recorder *r, struct err *e); /* -1: something could not be written */

struct replay;
struct replay *replay_open(const char *path, struct err *e);
struct replay *replay_memory(const void *bytes, size_t n); /* borrowed; for tests and fuzzing */
/* 1: a frame (bytes valid until the next call); 0: the end; -1: the rest is unreadable (err). */
int replay_next(struct replay *r, char *kind, uint64_t *stamp_ns, const uint8_t **bytes, size_t *n,
                struct err *e);
/* Reads the bytes of a frame of kind 'C'. False: they are malformed. */
bool replay_round_trip(const uint8_t *bytes, size_t n, uint64_t *sent_ns, int64_t *native);
/* The same for kind 'N'. */
bool replay_connection(const uint8_t *bytes, size_t n, int64_t *start_native, int64_t *units_per_s);
bool replay_slow(const uint8_t *bytes, size_t n, uint64_t *threshold_ns); /* kind 'T' */
double replay_share(const struct replay *r); /* 0..1: how much of the file has been read */
void replay_close(struct replay *r);

#endif
