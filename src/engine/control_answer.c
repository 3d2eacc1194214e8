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
    free(r);
}

static const enum result_kind kind_of[] = {[CONTROL_COMPLETE] = RESULT_COMPLETIONS,
                                           [CONTROL_WHY] = RESULT_WHY,
                                           [CONTROL_DEAD] = RESULT_DEAD,
                                           [CONTROL_WHO] = RESULT_WHO,
                                           [CONTROL_STACK] = RESULT_STACK,
                                           [CONTROL_TRIP] = RESULT_NONE,
                                           [CONTROL_PAGE] = RESULT_CODE,
                                           [CONTROL_EXIST] = RESULT_CODE,
                                           [CONTROL_RATES] = RESULT_CODE,
                                           [CONTROL_RATES_TAKE] = RESULT_CODE,
                                           [CONTROL_CAPTURE] = RESULT_CAPTURE,
                                           [CONTROL_CAPTURED] = RESULT_CAPTURE,
                                           [CONTROL_NO_CAPTURE] = RESULT_NONE};

static struct result *answer_to(const struct control_job *a)
{
    struct result *r = result_new(kind_of[a->what]);

    r->ticket = a->ticket;
    r->ix = a->ix;
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

/* 0 with r filled, lines in *lines where it has some; -1 with err. */
static int ask_node(struct session *s, const struct control_job *a, struct result *r,
                    struct buf *lines, struct err *e)
{
    switch (a->what) {
    case CONTROL_COMPLETE:
        return agent_request_completions(s, a->text, lines, e);
    case CONTROL_WHY:
        return agent_request_why(s, a->ix, &r->called, e);
    case CONTROL_WHO:
        return agent_request_who(s, a->pids, a->n, lines, e);
    case CONTROL_STACK:
        return agent_request_stack(s, a->pids[0], lines, &r->on, e);
    case CONTROL_DEAD:
        return agent_request_dead(s, a->pids, a->n, r->pids, &r->n, e);
    case CONTROL_TRIP:
        return agent_request_trip(s, a->text, e);
    case CONTROL_PAGE:
    case CONTROL_EXIST:
    case CONTROL_RATES:
    case CONTROL_RATES_TAKE:
        return control_look_answer(s, a->what, a->lines, r, e);
    case CONTROL_CAPTURE:
        return capture_begin(s, a->ix, &r->capture, e);
    case CONTROL_CAPTURED:
        return capture_look(s, &r->capture, e);
    case CONTROL_NO_CAPTURE:
        return capture_give_up(s, e);
    }
    return 0;
}

struct result *control_answer(struct session *s, const struct control_job *a)
{
    struct result *r = answer_to(a);
    struct err e = {{0}};
    struct buf lines;

    buf_init(&lines, (size_t)1 << 20);
    if (ask_node(s, a, r, &lines, &e) < 0)
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
