#include "hang.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_NS    UINT64_C(20000000)   /* shorter requests are not polled */
#define UNKNOWN_NS  UINT64_C(1000000000) /* without enough requests for a percentile */
#define VALID_NS    UINT64_C(1000000000)
#define LEAST_CALLS 20
#define AGAIN_PART  4 /* a request is polled again when its age has grown by 1/AGAIN_PART */

void hang_init(struct hang_table *h)
{
    *h = (struct hang_table){0};
    map_init(&h->by_label, HANG_REQUESTS);
}

void hang_release(struct hang_table *h)
{
    free(h->hang);
    map_release(&h->by_label);
    *h = (struct hang_table){0};
}

void hang_clear(struct hang_table *h)
{
    map_clear(&h->by_label);
    h->n = h->until_ns = 0;
}

const struct hang *hang_find(const struct hang_table *h, uint64_t label)
{
    uint32_t at = h->hang ? map_get(&h->by_label, label) : MAP_EMPTY;
    return at == MAP_EMPTY ? NULL : &h->hang[at];
}

/* ---- which requests ---- */

bool core_request_quantile(const struct core *c, double q, bool running_second, uint64_t least,
                           uint64_t *ns)
{
    struct hist all;
    uint64_t calls = 0;

    hist_init(&all);
    for (uint16_t i = 0; i < c->idents.n; i++) {
        const struct row *r = windows_row(&c->windows, ROW_TOTAL, i);
        if (r && !running_second) {
            hist_merge(&all, &r->run.hist);
            calls += r->run.tally.calls;
        }
        if (r) {
            hist_merge(&all, &r->cur.hist);
            calls += r->cur.tally.calls;
        }
    }
    bool enough = calls >= least && all.count > 0;
    *ns = enough ? hist_quantile(&all, q) : 0;
    hist_release(&all);
    return enough;
}

/* The age from which a request hangs: the 90th percentile of those that have ended. */
static uint64_t hang_from(struct core *c)
{
    struct hang_table *h = &c->hangs;
    uint64_t p90;

    if (c->now_ns < h->until_ns)
        return h->from_ns;
    bool known = core_request_quantile(c, 0.9, false, LEAST_CALLS, &p90);
    if (!known)
        p90 = UNKNOWN_NS;
    h->from_ns = p90 > LEAST_NS ? p90 : LEAST_NS;
    h->until_ns = known ? after(c->now_ns, VALID_NS) : 0;
    return h->from_ns;
}

/* Of the open calls of the request, the one that began last: the others wait for it. */
static uint32_t innermost(const struct core *c, const struct request *r)
{
    uint32_t last = CALL_NIL;

    for (uint32_t at = r->first; at != CALL_NIL; at = c->calls.call[at].next) {
        const struct call *f = &c->calls.call[at];
        if (f->kind == CALL_MEMBER && f->flags & CALL_ON_STACK &&
            (last == CALL_NIL || f->start_ns >= c->calls.call[last].start_ns))
            last = at;
    }
    return last;
}

static struct hang *hang_of(struct hang_table *h, uint64_t label)
{
    uint32_t at = map_get(&h->by_label, label);

    if (!h->hang && !(h->hang = calloc(HANG_REQUESTS, sizeof *h->hang)))
        abort();
    if (at == MAP_EMPTY) {
        at = (uint32_t)(h->n++ % HANG_REQUESTS);
        if (h->n > HANG_REQUESTS)
            map_del(&h->by_label, h->hang[at].label);
        h->hang[at] = (struct hang){.label = label};
        map_put(&h->by_label, label, at);
    }
    return &h->hang[at];
}

size_t core_hanging(struct core *c, struct core_hanging *out, size_t max)
{
    uint64_t from = hang_from(c), seen = 0;
    size_t n = 0;

    for (uint32_t at = c->requests.list[REQ_OPEN].oldest;
         at != REQ_NIL && n < max && seen++ < HANG_REQUESTS; at = c->requests.req[at].newer) {
        const struct request *r = &c->requests.req[at];
        if (after(r->start_ns, from) > c->now_ns)
            break;
        const struct hang *before = hang_find(&c->hangs, r->label);
        if (event_in_detail(r->label) || (before && before->again_ns > c->now_ns))
            continue; /* its parts are known, or it was polled */
        uint32_t call = innermost(c, r);
        if (call == CALL_NIL)
            continue;
        out[n++] = (struct core_hanging){.pid = c->calls.call[call].pid, .request = r->label};
        hang_of(&c->hangs, r->label)->again_ns =
            after(c->now_ns, (c->now_ns - r->start_ns) / AGAIN_PART);
    }
    return n;
}

/* ---- what they did ---- */

static bool goes_on(struct core *c, uint64_t label, uint64_t ns)
{
    const struct closed_label *closed;
    uint32_t req = requests_find(&c->requests, label, &closed);

    if (req != REQ_NIL)
        return c->requests.req[req].state != REQ_CLOSING || ns <= c->requests.req[req].end_ns;
    return closed && closed->weight && ns <= closed->end_ns;
}

void core_hang(struct core *c, const struct core_poll *p)
{
    struct hang_table *h = &c->hangs;

    if (!p->request || !goes_on(c, p->request, p->ns))
        return;
    struct hang *g = hang_of(h, p->request);
    g->polls++;
    for (int i = 0; i < HANG_PLACES; i++) {
        struct hang_place *k = &g->place[i];
        if (k->polls && (k->status != p->status || strcmp(k->text, p->place) != 0))
            continue;
        if (!k->polls)
            memcpy(k->text, p->place, sizeof k->text);
        k->status = p->status;
        k->polls++;
        return;
    }
}
