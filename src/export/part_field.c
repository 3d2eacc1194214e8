#include <kprof/export/part_field.h>

#include <assert.h>
#include <string.h>

#define AT(f) offsetof(struct time_part_view, f)

const struct part_field part_fields[PART_FIELDS] = {
    {"mean_us", "kprof_part_mean_seconds", "Mean time of a call in this part.", 3, AT(mean_us)},
    {"p50_us", "kprof_part_p50_seconds", "Median time of a call in this part.", 3, AT(p50_us)},
    {"p99_us", "kprof_part_p99_seconds", "99 % of the calls were at most this long in this part.",
     3, AT(p99_us)},
    {"share", "kprof_part_share",
     "Share of the time of the calls that was spent in this part, 0 to 1.", 4, AT(share)},
    {"slow_share", "kprof_part_slow_share",
     "Share of the time of the slowest 1 % of the calls that was spent in this part, 0 to 1.", 4,
     AT(slow_share)},
};

double part_field_value(const struct part_field *f, const struct time_part_view *v,
                        enum time_part p)
{
    double x;
    assert(p < PART_COUNT);
    memcpy(&x, (const char *)v + f->offset + p * sizeof x, sizeof x);
    return x;
}

double part_field_mean(const struct time_part_view *v)
{
    double sum = 0;
    for (int p = 0; p < PART_COUNT; p++)
        sum += v->mean_us[p];
    return sum;
}

const char *part_field_key(enum time_part p)
{
    return p == PART_RUN_QUEUE ? "run_queue" : time_part_name(p);
}
