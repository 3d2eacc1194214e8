/* The table of the values of a part of the time of a row: name, place and form. All formats use
 * this table, so they agree. Pure; any thread. */
#ifndef KPROF_EXPORT_PART_FIELD_H
#define KPROF_EXPORT_PART_FIELD_H

#include <kprof/core/time_part.h>
#include <stddef.h>

#define PART_FIELDS 5

struct part_field {
    const char *key;           /* JSON; in CSV after the part: "gc_mean_us" */
    const char *metric, *help; /* Prometheus: in seconds, or a share */
    int decimals;              /* 3: microseconds; 4: a share, 0..1 */
    size_t offset;             /* in struct time_part_view: the first of PART_COUNT doubles */
};

extern const struct part_field part_fields[PART_FIELDS];

double part_field_value(const struct part_field *f, const struct time_part_view *v,
                        enum time_part p);
/* The mean duration of the calls, in us: the sum of the means of the parts. */
double part_field_mean(const struct time_part_view *v);
/* The name of a part in JSON, CSV and labels: "run_queue". */
const char *part_field_key(enum time_part p);

#endif
