/* A recording in a file that is gone after the test, and how it is read back. */
#ifndef KPROF_TEST_RECORD_FIXTURE_H
#define KPROF_TEST_RECORD_FIXTURE_H

#include <kprof/trace/record.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

static char path[64]; /* of this process */

static inline int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/kprof-test-record-%ld", (long)getpid());
    unlink(path);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

struct frame {
    char kind;
    uint64_t stamp;
    const uint8_t *bytes; /* until the next frame */
    size_t n;
};

/* As replay_next: 1, 0 at the end, or -1. */
static inline int next_frame(struct replay *r, struct frame *f)
{
    struct err e;
    return replay_next(r, &f->kind, &f->stamp, &f->bytes, &f->n, &e);
}

/* The next frame is of this kind. */
#define NEXT_IS(r, f, is_kind)                                                                     \
    do {                                                                                           \
        assert_int_equal(next_frame(r, f), 1);                                                     \
        assert_int_equal((f)->kind, is_kind);                                                      \
    } while (0)

#endif
