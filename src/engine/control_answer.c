#include "control_answer.h"

#include "control_code_query.h"

#include <kprof/base/buf.h>
#include <stdlib.h>
#include <string.h>

struct result *result_new(enum result_kind kind)
{
    struct result *r = calloc(1, sizeof *r);

    if (!r)
        abort();
    r->kind = kind;
    return r;
}

void result_release(struct result *r)
{
    if (!r)
        return;
    free(r->text);
    free(r->pids);
    value_tree_free(r->capture.set);
    process_table_free(r->processes);
    free(r);
}

/* Returns 0 with r filled, and *lines if it has lines; -1 with err. */
typedef int run(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
                struct err *e);

static int complete(struct session *s, const struct control_job *a, struct result *r,
                    struct buf *lines, struct err *e)
{
    (void)r;
    return agent_request_completions(s, a->text, lines, e);
}

static int why(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
               struct err *e)
{
    (void)lines;
    return agent_request_why(s, a->ix, &r->called, e);
}

static int who(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
               struct err *e)
{
    (void)r;
    return agent_request_who(s, a->pids, a->n, lines, e);
}

static int stack(struct session *s, const struct control_job *a, struct result *r,
                 struct buf *lines, struct err *e)
{
    return agent_request_stack(s, a->pids[0], lines, &r->on, e);
}

static int hang(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
                struct err *e)
{
    (void)r;
    return agent_request_hang(s, a->pids, a->n, lines, e);
}

static int queue(struct session *s, const struct control_job *a, struct result *r,
                 struct buf *lines, struct err *e)
{
    (void)lines;
    return agent_request_queue(s, a->text, &r->length, e);
}

static int dead(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
                struct err *e)
{
    (void)lines;
    return agent_request_dead(s, a->pids, a->n, r->pids, &r->n, e);
}

static int trip(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
                struct err *e)
{
    (void)r;
    (void)lines;
    return agent_request_trip(s, a->text, e);
}

static int code(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
                struct err *e)
{
    (void)lines;
    return control_code_query_answer(s, a->what, a->lines, r, e);
}

static int capture(struct session *s, const struct control_job *a, struct result *r,
                   struct buf *lines, struct err *e)
{
    (void)lines;
    return capture_begin(s, a->ix, &r->capture, e);
}

static int captured(struct session *s, const struct control_job *a, struct result *r,
                    struct buf *lines, struct err *e)
{
    (void)a;
    (void)lines;
    return capture_look(s, &r->capture, e);
}

static int no_capture(struct session *s, const struct control_job *a, struct result *r,
                      struct buf *lines, struct err *e)
{
    (void)a;
    (void)r;
    (void)lines;
    return capture_give_up(s, e);
}

static int stacks(struct session *s, const struct control_job *a, struct result *r,
                  struct buf *lines, struct err *e)
{
    (void)r;
    (void)lines;
    return stack_request_begin(s, &a->stacks, e);
}

static int no_stacks(struct session *s, const struct control_job *a, struct result *r,
                     struct buf *lines, struct err *e)
{
    (void)a;
    (void)r;
    (void)lines;
    return stack_request_end(s, e);
}

static int processes(struct session *s, const struct control_job *a, struct result *r,
                     struct buf *lines, struct err *e)
{
    (void)lines;
    r->processes = process_table_new();
    return process_request_take(s, &a->processes, r->processes, e);
}

static int no_processes(struct session *s, const struct control_job *a, struct result *r,
                        struct buf *lines, struct err *e)
{
    (void)a;
    (void)r;
    (void)lines;
    return process_request_end(s, e);
}

static int full(struct session *s, const struct control_job *a, struct result *r, struct buf *lines,
                struct err *e)
{
    (void)r;
    (void)lines;
    return full_request_begin(s, a->full, e);
}

static int no_full(struct session *s, const struct control_job *a, struct result *r,
                   struct buf *lines, struct err *e)
{
    (void)a;
    (void)r;
    (void)lines;
    return full_request_end(s, e);
}

static const struct {
    run *run;
    enum result_kind kind; /* of the answer; RESULT_NONE: there is one only on failure */
} JOBS[] = {[CONTROL_COMPLETE] = {complete, RESULT_COMPLETIONS},
            [CONTROL_WHY] = {why, RESULT_WHY},
            [CONTROL_DEAD] = {dead, RESULT_DEAD},
            [CONTROL_WHO] = {who, RESULT_WHO},
            [CONTROL_STACK] = {stack, RESULT_STACK},
            [CONTROL_QUEUE] = {queue, RESULT_QUEUE},
            [CONTROL_HANG] = {hang, RESULT_HANG},
            [CONTROL_TRIP] = {trip, RESULT_NONE},
            [CONTROL_PAGE] = {code, RESULT_CODE},
            [CONTROL_CALLEES] = {code, RESULT_CODE},
            [CONTROL_CALLS] = {code, RESULT_CALLS},
            [CONTROL_EXIST] = {code, RESULT_CODE},
            [CONTROL_RATES] = {code, RESULT_CODE},
            [CONTROL_RATES_TAKE] = {code, RESULT_CODE},
            [CONTROL_CAPTURE] = {capture, RESULT_CAPTURE},
            [CONTROL_CAPTURED] = {captured, RESULT_CAPTURE},
            [CONTROL_NO_CAPTURE] = {no_capture, RESULT_NONE},
            [CONTROL_STACKS] = {stacks, RESULT_STACKS},
            [CONTROL_NO_STACKS] = {no_stacks, RESULT_STACKS},
            [CONTROL_PROCESSES] = {processes, RESULT_PROCESSES},
            [CONTROL_NO_PROCESSES] = {no_processes, RESULT_NONE},
            [CONTROL_FULL] = {full, RESULT_FULL},
            [CONTROL_NO_FULL] = {no_full, RESULT_NONE}};

static struct result *answer_to(const struct control_job *a)
{
    struct result *r = result_new(JOBS[a->what].kind);

    r->question_id = a->question_id;
    r->ix = a->ix;
    r->on = a->what == CONTROL_STACKS;
    r->code.what = a->what;
    memcpy(r->typed, a->text, sizeof r->typed);
    r->pids = calloc(a->n + 1, sizeof *r->pids);
    if (!r->pids)
        abort();
    memcpy(r->pids, a->pids, a->n * sizeof *r->pids);
    r->n = a->n;
    return r;
}

static void fail(struct result *r, const char *why)
{
    free(r->text);
    r->text = buf_dup(why);
    r->failed = true;
    if (r->kind == RESULT_NONE)
        r->kind = RESULT_TROUBLE;
    if (r->kind == RESULT_CAPTURE) {
        r->capture.state = CAPTURE_FAILED;
        err_copy(r->capture.why, sizeof r->capture.why, why);
    }
}

struct result *control_answer(struct session *s, const struct control_job *a)
{
    struct result *r = answer_to(a);
    struct err e = {{0}};
    struct buf lines;

    buf_init(&lines, (size_t)1 << 20);
    if (JOBS[a->what].run(s, a, r, &lines, &e) < 0)
        fail(r, e.text);
    else if (!r->text)
        r->text = buf_dup(lines.data);
    buf_release(&lines);
    return r;
}

struct result *control_refuse(const struct control_job *a, const char *why)
{
    struct result *r = answer_to(a);

    fail(r, why);
    return r;
}
