#include "flame_title.h"
#include "flame_live.h"
#include "subsecond.h"

#include <kprof/base/format.h>

bool flame_title_is_time(enum flame_by by, enum stack_unit unit)
{
    return by == FLAME_SAMPLES && (unit == STACK_UNIT_NS || unit == STACK_UNIT_US);
}

void flame_title_amount(char *out, enum flame_by by, enum stack_unit unit, uint64_t n)
{
    if (flame_title_is_time(by, unit)) {
        format_us(unit == STACK_UNIT_NS ? (double)n / 1e3 : (double)n, out);
    } else {
        format_count(n, out);
    }
}

void flame_title_range(struct buf *out, const struct stack_view *v, uint64_t from_ns,
                       uint64_t to_ns)
{
    char from[FORMAT_BYTES], to[FORMAT_BYTES];
    subsecond_time_text(v, from_ns, from);
    subsecond_time_text(v, to_ns, to);
    buf_addf(out, "%s-%s", from, to);
}

void flame_title_filter(struct buf *out, const struct flame_state *t, bool time)
{
    const struct flame_filter *f = &t->query.filter;
    buf_adds(out, flame_live_only_running(t) ? ", running" : "");
    if (f->requests) {
        buf_addf(out, ", in requests %s", t->what);
    } else if (f->inside) {
        buf_adds(out, ", inside requests");
    }
    if (time && f->to_ns) {
        buf_adds(out, ", ");
        flame_title_range(out, t->view, f->from_ns, f->to_ns);
    }
}
