#include "timeline.h"

#include <string.h>

/* A node whose time differs from the expected time by this much was restarted. */
#define SAME_NODE_NS INT64_C(2000000000)
/* A smaller forward step is not corrected; a step back is corrected if it exceeds the reordering
 * time. */
#define LEAP_NS INT64_C(500000000)
#define BACK_NS INT64_C(100000000)
#define AWAY_NS UINT64_C(1000000000)

void timeline_init(struct timeline *t)
{
    memset(t, 0, sizeof *t);
    clock_fit_init(&t->fit);
    pthread_mutex_init(&t->lock, NULL);
}

void timeline_release(struct timeline *t)
{
    pthread_mutex_destroy(&t->lock);
}

void timeline_connect(struct timeline *t, bool known)
{
    pthread_mutex_lock(&t->lock);
    if (t->reading.known)
        t->kept = t->reading;
    t->reading = t->kept; /* time goes on as before, until the stamps can be read */
    t->reading.known = t->kept.known && !known;
    pthread_mutex_unlock(&t->lock);
    clock_fit_init(&t->fit);
    t->joining = known && t->kept.known;
}

/* A restarted node counts from 0 again (its start time may have the same number, so it does not
 * show the restart). If the first stamp is far from the time that the old node would have, time
 * continues from that time. */
uint64_t timeline_join(struct timeline *t, uint64_t ts_ns, uint64_t received_ns)
{
    if (!t->joining)
        return 0;
    int64_t lack =
        (int64_t)(received_ns + (uint64_t)clock_reading_offset(&t->kept, received_ns) - ts_ns);

    t->joining = false;
    if (lack < SAME_NODE_NS && lack > -SAME_NODE_NS)
        return 0;
    t->base_ns += (uint64_t)lack;
    return (uint64_t)lack;
}

/* The node's time according to the fit. */
static uint64_t target_at(const struct clock_reading *r, uint64_t now_ns)
{
    return now_ns + (uint64_t)clock_reading_offset(r, now_ns);
}

/* The offset to add to stamps so that time continues from the last time shown, without a step. */
static uint64_t lack_of(struct timeline *t, int64_t step, uint64_t now_ns)
{
    struct clock_reading r = clock_fit_read(&t->fit);
    uint64_t target = target_at(&r, now_ns), without = target - (uint64_t)step;

    pthread_mutex_lock(&t->lock);
    uint64_t shown = (int64_t)(t->told_ns - t->newest_ns) > 0 ? t->told_ns : t->newest_ns;
    pthread_mutex_unlock(&t->lock);
    if (step > LEAP_NS)
        return (int64_t)(shown - without) < BACK_NS ? 0 - (uint64_t)step : 0;
    return (int64_t)(shown - target) > BACK_NS ? shown - target : 0;
}

/* Takes over the results of the fit. */
static uint64_t take(struct timeline *t, int64_t step, uint64_t now_ns)
{
    uint64_t lack = step ? lack_of(t, step, now_ns) : 0;

    if (lack)
        clock_fit_shift(&t->fit, lack);
    t->base_ns += lack;
    struct clock_reading r = clock_fit_read(&t->fit);
    pthread_mutex_lock(&t->lock);
    t->reading = r;
    pthread_mutex_unlock(&t->lock);
    return lack;
}

static void newest(struct timeline *t, uint64_t ts_ns)
{
    if (!t->newest_ns || (int64_t)(ts_ns - t->newest_ns) > 0)
        t->newest_ns = ts_ns;
}

uint64_t timeline_beat(struct timeline *t, uint64_t ts_ns, uint64_t received_ns)
{
    uint64_t lack = take(t, clock_fit_message(&t->fit, ts_ns, received_ns), received_ns);

    newest(t, ts_ns + lack);
    return lack;
}

uint64_t timeline_event(struct timeline *t, uint64_t ts_ns, uint64_t received_ns)
{
    int64_t step = clock_fit_event(&t->fit, ts_ns, received_ns);
    uint64_t lack = step ? take(t, step, received_ns) : 0;

    newest(t, ts_ns + lack);
    return lack;
}

void timeline_round_trip(struct timeline *t, uint64_t sent_ns, uint64_t ts_ns, uint64_t received_ns)
{
    if (!t->joining) /* a message must first show the stamps of this node */
        take(t, clock_fit_round_trip(&t->fit, sent_ns, ts_ns, received_ns), received_ns);
}

bool timeline_is_ahead(const struct timeline *t, uint64_t ts_ns, uint64_t received_ns)
{
    struct clock_reading r = clock_fit_read(&t->fit);
    return r.known && (int64_t)(ts_ns - target_at(&r, received_ns)) > BACK_NS;
}

bool timeline_age(const struct timeline *t, uint64_t ts_ns, uint64_t now_ns, int64_t *age_ns)
{
    struct clock_reading r = clock_fit_read(&t->fit);

    if (!r.known)
        return false;
    *age_ns = clock_fit_in_doubt(&t->fit, now_ns) ? 0 : (int64_t)(target_at(&r, now_ns) - ts_ns);
    return true;
}

bool timeline_now(struct timeline *t, uint64_t now_ns, uint64_t *target_ns)
{
    bool fresh;

    pthread_mutex_lock(&t->lock);
    const struct clock_reading *r = &t->reading;
    if (t->asked_ns && now_ns - t->asked_ns > AWAY_NS)
        t->away_ns = now_ns;
    t->asked_ns = now_ns;
    fresh = r->known && !r->in_doubt && (int64_t)(r->at_ns - t->away_ns) >= 0;
    if (fresh) {
        *target_ns = target_at(r, now_ns);
        if ((int64_t)(*target_ns - t->told_ns) > 0)
            t->told_ns = *target_ns;
        *target_ns = t->told_ns;
    }
    pthread_mutex_unlock(&t->lock);
    return fresh;
}

struct clock_reading timeline_reading(struct timeline *t)
{
    pthread_mutex_lock(&t->lock);
    struct clock_reading r = t->reading;
    pthread_mutex_unlock(&t->lock);
    return r;
}
