#include <kprof/trace/record.h>

#include "record_ring.h"
#include "record_stacks.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAME_BYTES RECORD_FRAME_BYTES
#define TWO_BYTES   16 /* of two words */

static const uint8_t head[RECORD_HEAD_BYTES] = {'K', 'P', 'R', 'O', 'F', 'R', 'E', 'C', 1, 0, 0, 0};

/* The last frame of a kind, with its head. */
struct last_frame {
    uint8_t *frame; /* NULL: none yet */
    size_t n;
};

struct recorder {
    FILE *f; /* NULL: only the ring has the frames */
    char path[512];
    atomic_int failed;            /* errno of the first write that failed */
    bool told;                    /* it was returned as an error */
    struct record_ring *ring;     /* NULL: none */
    struct record_stacks *stacks; /* what samples refer to; NULL: the file has all */
    struct last_frame meta, slow; /* each file of the ring begins with them */
    int64_t start_native;         /* of the last connection */
    uint64_t start_ns;            /* stamp of the first connection to this start of the node */
    pthread_mutex_t lock;
};

struct replay {
    FILE *f; /* owned; NULL after the end */
    uint8_t *frame;
    size_t cap;
    uint64_t read, bytes; /* of all */
    char name[256];       /* for messages */
};

/* Begins a file: -1 with err and errno. */
static int open_file(struct recorder *r, const char *path, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), why = errno;

    if (fd < 0) {
        err_set(e, "cannot record to %s: %s%s", path, strerror(why),
                why == EEXIST ? "; choose another file name" : "");
        errno = why;
        return -1;
    }
    if (!(r->f = fdopen(fd, "wb")))
        abort();
    snprintf(r->path, sizeof r->path, "%s", path);
    r->failed = fwrite(head, sizeof head, 1, r->f) == 1 ? 0 : errno;
    return 0;
}

static struct recorder *new_recorder(void)
{
    struct recorder *r = calloc(1, sizeof *r);

    if (!r)
        abort();
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void free_recorder(struct recorder *r)
{
    record_ring_free(r->ring);
    record_stacks_free(r->stacks);
    free(r->meta.frame);
    free(r->slow.frame);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

struct recorder *recorder_open(const char *path, struct err *e)
{
    struct recorder *r = new_recorder();

    if (open_file(r, path, e) == 0)
        return r;
    free_recorder(r);
    return NULL;
}

static void left(void *arg, const uint8_t *frame, size_t n)
{
    record_stacks_take(arg, frame + FRAME_BYTES, n - FRAME_BYTES);
}

struct recorder *recorder_idle(void)
{
    struct recorder *r = new_recorder();

    r->stacks = record_stacks_new();
    return r;
}

void recorder_remember(struct recorder *r, size_t max_bytes)
{
    pthread_mutex_lock(&r->lock);
    if (!r->ring)
        r->ring = record_ring_new(max_bytes, RECORD_STACKS, left, r->stacks);
    pthread_mutex_unlock(&r->lock);
}

void recorder_forget(struct recorder *r)
{
    pthread_mutex_lock(&r->lock);
    assert(!r->f);
    if (r->ring) {
        record_ring_clear(r->ring); /* later samples refer to what its frames name */
        record_ring_free(r->ring);
        r->ring = NULL;
    }
    pthread_mutex_unlock(&r->lock);
}

struct recorder *recorder_ring(size_t max_bytes)
{
    struct recorder *r = recorder_idle();

    recorder_remember(r, max_bytes);
    return r;
}

static void put_be(uint8_t *to, uint64_t v, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, v >>= 8)
        to[i] = (uint8_t)v;
}

static uint64_t get_be(const uint8_t *from, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | from[i];
    return v;
}

static void to_file(struct recorder *r, const uint8_t *h, const void *bytes, size_t n)
{
    if (r->f && !r->failed &&
        (fwrite(h, FRAME_BYTES, 1, r->f) != 1 || (n && fwrite(bytes, n, 1, r->f) != 1)))
        r->failed = errno ? errno : EIO;
}

/* Where the last frame of this kind is; NULL: in the ring. An idle recorder has it, too: there may
 * be no other one before recorder_keep. */
static struct last_frame *last_of(struct recorder *r, char kind)
{
    if (!r->stacks)
        return NULL;
    return kind == RECORD_META ? &r->meta : kind == RECORD_SLOW ? &r->slow : NULL;
}

static void set_last(struct last_frame *k, const uint8_t *h, const void *bytes, size_t n)
{
    free(k->frame);
    k->n = FRAME_BYTES + n;
    k->frame = malloc(k->n);
    if (!k->frame)
        abort();
    memcpy(k->frame, h, FRAME_BYTES);
    if (n)
        memcpy(k->frame + FRAME_BYTES, bytes, n);
}

static void last_to_file(struct recorder *r, const struct last_frame *k)
{
    if (k->frame)
        to_file(r, k->frame, k->frame + FRAME_BYTES, k->n - FRAME_BYTES);
}

void recorder_write(struct recorder *r, char kind, uint64_t stamp_ns, const void *bytes, size_t n)
{
    uint8_t h[FRAME_BYTES] = {(uint8_t)kind};

    if (!r || n > RECORD_MAX_FRAME)
        return;
    put_be(h + 1, stamp_ns, 8);
    put_be(h + 9, n, 4);
    pthread_mutex_lock(&r->lock);
    to_file(r, h, bytes, n);
    struct last_frame *k = last_of(r, kind);
    if (k)
        set_last(k, h, bytes, n);
    else if (r->ring)
        record_ring_add(r->ring, h, bytes, n);
    else if (r->stacks && kind == RECORD_STACKS)
        record_stacks_take(r->stacks, bytes, n);
    pthread_mutex_unlock(&r->lock);
}

/* Writes what the samples of the file refer to, before the first frame that is kept. */
static void name_stacks(struct recorder *r, uint64_t stamp_ns)
{
    uint8_t h[FRAME_BYTES] = {RECORD_STACKS};
    struct buf b;

    buf_init(&b, 0);
    if (record_stacks_write(r->stacks, &b)) {
        put_be(h + 1, stamp_ns, 8);
        put_be(h + 9, b.len, 4);
        to_file(r, h, b.data, b.len);
    }
    buf_release(&b);
}

/* Writes the frames of the ring that are not older than from_ns. */
static void keep_frames(struct recorder *r, uint64_t from_ns)
{
    uint8_t *frame = NULL;
    size_t at = 0, cap = 0, n;
    bool named = false;

    while ((n = record_ring_walk(r->ring, &at, &frame, &cap)) > 0) {
        uint64_t stamp_ns = get_be(frame + 1, 8);
        if (stamp_ns < from_ns) {
            if (frame[0] == RECORD_STACKS)
                left(r->stacks, frame, n);
            continue;
        }
        if (!named)
            name_stacks(r, stamp_ns);
        named = true;
        to_file(r, frame, frame + FRAME_BYTES, n - FRAME_BYTES);
    }
    if (!named)
        name_stacks(r, from_ns);
    free(frame);
}

int recorder_keep(struct recorder *r, const char *path, uint64_t from_ns, struct err *e)
{
    int rc;

    assert(r->ring && !r->f);
    pthread_mutex_lock(&r->lock);
    rc = open_file(r, path, e);
    if (rc == 0) {
        last_to_file(r, &r->meta);
        last_to_file(r, &r->slow);
        keep_frames(r, from_ns > r->start_ns ? from_ns : r->start_ns);
    }
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static int incomplete(const struct recorder *r, struct err *e)
{
    return err_set(e, "recording %s is incomplete: %s", r->path, strerror(r->failed));
}

static int close_file(struct recorder *r, struct err *e)
{
    if (!r->f)
        return 0;
    if (fclose(r->f) != 0 && !r->failed)
        r->failed = errno;
    r->f = NULL;
    if (!r->failed)
        return 0;
    r->told = true;
    return incomplete(r, e);
}

int recorder_trouble(struct recorder *r, struct err *e)
{
    int rc = 0;

    if (!r || !r->failed) /* without the lock: a writer has it while it waits for the disk */
        return 0;
    pthread_mutex_lock(&r->lock);
    if (!r->ring && !r->told) {
        r->told = true;
        rc = incomplete(r, e);
    }
    pthread_mutex_unlock(&r->lock);
    return rc;
}

int recorder_cut(struct recorder *r, struct err *e)
{
    pthread_mutex_lock(&r->lock);
    int rc = close_file(r, e);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static void write_two(struct recorder *r, char kind, uint64_t stamp_ns, uint64_t a, uint64_t b)
{
    uint8_t two[TWO_BYTES];

    put_be(two, a, 8);
    put_be(two + 8, b, 8);
    recorder_write(r, kind, stamp_ns, two, sizeof two);
}

static bool read_two(const uint8_t *bytes, size_t n, uint64_t *a, int64_t *b)
{
    if (n != TWO_BYTES)
        return false;
    *a = get_be(bytes, 8);
    *b = (int64_t)get_be(bytes + 8, 8);
    return true;
}

void recorder_round_trip(struct recorder *r, uint64_t sent_ns, int64_t native, uint64_t received_ns)
{
    write_two(r, RECORD_CLOCK, received_ns, sent_ns, (uint64_t)native);
}

bool replay_round_trip(const uint8_t *bytes, size_t n, uint64_t *sent_ns, int64_t *native)
{
    return read_two(bytes, n, sent_ns, native);
}

void recorder_connect(struct recorder *r, uint64_t stamp_ns, int64_t start_native,
                      int64_t units_per_s)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    if (units_per_s && (!r->start_ns || r->start_native != start_native)) {
        r->start_native = start_native;
        r->start_ns = stamp_ns;
    }
    pthread_mutex_unlock(&r->lock);
    write_two(r, RECORD_CONNECT, stamp_ns, (uint64_t)start_native, (uint64_t)units_per_s);
}

bool replay_connection(const uint8_t *bytes, size_t n, int64_t *start_native, int64_t *units_per_s)
{
    uint64_t start;

    if (!read_two(bytes, n, &start, units_per_s))
        return false;
    *start_native = (int64_t)start;
    return true;
}

void recorder_slow(struct recorder *r, uint64_t stamp_ns, uint64_t threshold_ns)
{
    uint8_t ns[8];

    put_be(ns, threshold_ns, sizeof ns);
    recorder_write(r, RECORD_SLOW, stamp_ns, ns, sizeof ns);
}

bool replay_slow(const uint8_t *bytes, size_t n, uint64_t *threshold_ns)
{
    if (n != 8)
        return false;
    *threshold_ns = get_be(bytes, 8);
    return true;
}

int recorder_close(struct recorder *r, struct err *e)
{
    if (!r)
        return 0;
    int rc = close_file(r, e);
    free_recorder(r);
    return rc;
}

static struct replay *replay_from(FILE *f, const char *name)
{
    struct replay *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->f = f;
    err_copy(r->name, sizeof r->name, name);
    off_t here = f ? ftello(f) : -1, end = -1;
    if (here >= 0 && fseeko(f, 0, SEEK_END) == 0) { /* a pipe has no end to seek to */
        end = ftello(f);
        fseeko(f, here, SEEK_SET);
    }
    r->read = here > 0 ? (uint64_t)here : 0;
    r->bytes = end > 0 ? (uint64_t)end : 0;
    return r;
}

bool record_is(const void *bytes, size_t n)
{
    return n >= sizeof head && memcmp(bytes, head, sizeof head) == 0;
}

struct replay *replay_open(const char *path, struct err *e)
{
    uint8_t got[RECORD_HEAD_BYTES];
    FILE *f = fopen(path, "rbe");

    if (!f) {
        err_set(e, "cannot replay %s: %s", path, strerror(errno));
        return NULL;
    }
    if (fread(got, sizeof got, 1, f) != 1 || !record_is(got, sizeof got)) {
        err_set(e,
                "cannot replay %s: not a recording of this version of kprof-top (make one with "
                "--record)",
                path);
        fclose(f);
        return NULL;
    }
    return replay_from(f, path);
}

struct replay *replay_memory(const void *bytes, size_t n)
{
    FILE *f = n ? fmemopen((void *)(uintptr_t)bytes, n, "rb") : NULL;
    return replay_from(f, "the recording");
}

int replay_next(struct replay *r, char *kind, uint64_t *stamp_ns, const uint8_t **bytes, size_t *n,
                struct err *e)
{
    uint8_t h[FRAME_BYTES];
    size_t got;

    if (!r->f)
        return 0;
    got = fread(h, 1, sizeof h, r->f);
    if (got == 0)
        return 0;
    if (got < sizeof h)
        goto cut;
    *kind = (char)h[0];
    *stamp_ns = get_be(h + 1, 8);
    *n = (size_t)get_be(h + 9, 4);
    if (*n > RECORD_MAX_FRAME)
        goto cut;
    if (*n > r->cap) {
        /* RECORD_MAX_FRAME limits it, whatever a header says */
        size_t cap = *n < 65536 ? 65536 : *n;
        free(r->frame);
        r->frame = malloc(cap);
        if (!r->frame)
            abort();
        r->cap = cap;
    }
    if (*n && fread(r->frame, *n, 1, r->f) != 1)
        goto cut;
    *bytes = r->frame;
    r->read += sizeof h + *n;
    return 1;
cut:
    fclose(r->f);
    r->f = NULL;
    return err_set(e, "%s is incomplete: only its readable part is shown", r->name);
}

double replay_share(const struct replay *r)
{
    return r->bytes > 0 && r->read < r->bytes ? (double)r->read / (double)r->bytes : 1;
}

void replay_close(struct replay *r)
{
    if (!r)
        return;
    if (r->f)
        fclose(r->f);
    free(r->frame);
    free(r);
}
