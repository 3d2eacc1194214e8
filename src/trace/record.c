#include <kprof/trace/record.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_BYTES  12
#define FRAME_BYTES 13
#define TRIP_BYTES  16

static const uint8_t head[HEAD_BYTES] = {'K', 'P', 'R', 'O', 'F', 'R', 'E', 'C', 1, 0, 0, 0};

struct recorder {
    FILE *f;
    char path[512];
    int failed; /* errno of the first write that failed */
    pthread_mutex_t lock;
};

struct replay {
    FILE *f; /* owned; NULL after the end */
    uint8_t *frame;
    size_t cap;
    uint64_t read, bytes; /* of all */
};

struct recorder *recorder_open(const char *path, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct recorder *r;

    if (fd < 0) {
        err_set(e, "cannot record to %s: %s%s", path, strerror(errno),
                errno == EEXIST ? "; choose another file name" : "");
        return NULL;
    }
    r = calloc(1, sizeof *r);
    if (!r || !(r->f = fdopen(fd, "wb")))
        abort();
    snprintf(r->path, sizeof r->path, "%s", path);
    pthread_mutex_init(&r->lock, NULL);
    if (fwrite(head, sizeof head, 1, r->f) != 1)
        r->failed = errno;
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

void recorder_write(struct recorder *r, char kind, uint64_t stamp_ns, const void *bytes, size_t n)
{
    uint8_t h[FRAME_BYTES] = {(uint8_t)kind};

    if (!r || n > RECORD_MAX_FRAME)
        return;
    put_be(h + 1, stamp_ns, 8);
    put_be(h + 9, n, 4);
    pthread_mutex_lock(&r->lock);
    if (!r->failed && (fwrite(h, sizeof h, 1, r->f) != 1 || (n && fwrite(bytes, n, 1, r->f) != 1)))
        r->failed = errno ? errno : EIO;
    pthread_mutex_unlock(&r->lock);
}

void recorder_round_trip(struct recorder *r, uint64_t sent_ns, int64_t native, uint64_t received_ns)
{
    uint8_t trip[TRIP_BYTES];

    put_be(trip, sent_ns, 8);
    put_be(trip + 8, (uint64_t)native, 8);
    recorder_write(r, RECORD_CLOCK, received_ns, trip, sizeof trip);
}

bool replay_round_trip(const uint8_t *bytes, size_t n, uint64_t *sent_ns, int64_t *native)
{
    if (n != TRIP_BYTES)
        return false;
    *sent_ns = get_be(bytes, 8);
    *native = (int64_t)get_be(bytes + 8, 8);
    return true;
}

int recorder_close(struct recorder *r, struct err *e)
{
    int rc = 0;

    if (!r)
        return 0;
    if (fclose(r->f) != 0 && !r->failed)
        r->failed = errno;
    if (r->failed)
        rc = err_set(e, "recording %s is incomplete: %s", r->path, strerror(r->failed));
    pthread_mutex_destroy(&r->lock);
    free(r);
    return rc;
}

static struct replay *replay_from(FILE *f)
{
    struct replay *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->f = f;
    off_t here = f ? ftello(f) : -1, end = -1;
    if (here >= 0 && fseeko(f, 0, SEEK_END) == 0) { /* a pipe has no end to seek to */
        end = ftello(f);
        fseeko(f, here, SEEK_SET);
    }
    r->read = here > 0 ? (uint64_t)here : 0;
    r->bytes = end > 0 ? (uint64_t)end : 0;
    return r;
}

struct replay *replay_open(const char *path, struct err *e)
{
    uint8_t got[HEAD_BYTES];
    FILE *f = fopen(path, "rbe");

    if (!f) {
        err_set(e, "cannot replay %s: %s", path, strerror(errno));
        return NULL;
    }
    if (fread(got, sizeof got, 1, f) != 1 || memcmp(got, head, sizeof head) != 0) {
        err_set(e,
                "cannot replay %s: not a recording of this version of kprof-top (make one with "
                "--record)",
                path);
        fclose(f);
        return NULL;
    }
    return replay_from(f);
}

struct replay *replay_memory(const void *bytes, size_t n)
{
    FILE *f = n ? fmemopen((void *)(uintptr_t)bytes, n, "rb") : NULL;
    return replay_from(f);
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
        /* grows with the bytes that arrive, not with the length in a header */
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
    return err_set(e, "the recording is incomplete: its last frame was ignored");
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
