/* The time in mailboxes, and the busiest process, of a row; where a request hangs. */
#include "snapshot_impl.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>

void snapshot_fill_waits(struct snap_row *r, const struct figures *f)
{
    const struct hist *h = &f->hist;
    static const double q[] = {0.5, 0.9, 0.99, 0.999};
    double *to[] = {&r->wait_p50_us, &r->wait_p90_us, &r->wait_p99_us, &r->wait_p999_us};
    uint64_t v[sizeof q / sizeof *q];

    r->waits = f->tally.calls;
    if (h->count == 0)
        return;
    hist_quantiles(h, q, v, sizeof q / sizeof *q);
    for (size_t i = 0; i < sizeof q / sizeof *q; i++)
        *to[i] = us(v[i]);
    r->wait_mean_us = hist_mean(h) / 1e3;
    r->wait_max_us = us(h->max_ns);
}

void snapshot_fill_busiest(const struct core *c, struct snap_row *r, uint16_t tier)
{
    struct mailbox_busiest b = mailbox_busiest(c, tier);

    r->busiest_pid = b.pid;
    r->busiest = b.busy;
    r->busiest_all = b.all;
    r->load = b.load;
    r->processes = b.processes;
}

static int by_share(const void *a, const void *b)
{
    const struct snap_place *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share ? 1 : -1) : strcmp(x->text, y->text);
}

size_t snapshot_places(const struct core *c, struct snapshot *s, uint64_t label,
                       const struct snap_place **out, uint32_t *polls)
{
    static const char *const STATUS[] = {"",           "running",   "runnable", "waiting",
                                         "collecting", "suspended", "exiting"};
    const struct hang *h = label ? hang_find(&c->hangs, label) : NULL;
    size_t n = 0;

    *polls = h ? h->polls : 0;
    *out = NULL;
    if (!h)
        return 0;
    struct snap_place *to = snapshot_take(s, HANG_PLACES * sizeof *to);
    for (; n < HANG_PLACES && h->place[n].polls; n++)
        to[n] = (struct snap_place){.text = snapshot_text(s, h->place[n].text),
                                    .status = STATUS[h->place[n].status % 7],
                                    .share = (double)h->place[n].polls / h->polls};
    qsort(to, n, sizeof *to, by_share);
    *out = to;
    return n;
}
