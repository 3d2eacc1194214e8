#include <kprof/base/text.h>
#include <kprof/export/stacks.h>

#include "stacks_out.h"

#include <assert.h>
#include <string.h>

enum { PIECE_BYTES = 64 << 10 };

static const struct {
    const char *name, *ending;
} FORMAT[STACKS_FORMATS] = {
    [STACKS_FOLDED] = {"folded", ".folded"},
    [STACKS_EFLAME] = {"eflame", ".eflame"},
    [STACKS_PERF] = {"perf", ".perf"},
    [STACKS_SPEEDSCOPE] = {"speedscope", ".speedscope.json"},
    [STACKS_PPROF] = {"pprof", ".pb.gz"},
    [STACKS_CHROME] = {"chrome", ".trace.json"},
    [STACKS_HTML] = {"html", ".html"},
    [STACKS_SVG] = {"svg", ".svg"},
};

const char *stacks_format_name(enum stacks_format f)
{
    assert(f < STACKS_FORMATS);
    return FORMAT[f].name;
}

enum stacks_format stacks_format_parse(const char *name)
{
    unsigned f = 0;
    while (f < STACKS_FORMATS && strcmp(FORMAT[f].name, name) != 0)
        f++;
    return (enum stacks_format)f;
}

enum stacks_format stacks_format_of_file(const char *path)
{
    size_t n = strlen(path);
    unsigned f = 0;
    for (; f < STACKS_FORMATS; f++) {
        size_t e = strlen(FORMAT[f].ending);
        if (n > e && strcmp(path + n - e, FORMAT[f].ending) == 0)
            break;
    }
    return (enum stacks_format)f;
}

const char *stacks_endings(void)
{
    return ".svg .html .folded .eflame .perf .speedscope.json .pb.gz .trace.json";
}

static void hand_on(struct stacks_out *o)
{
    if (o->b.len == 0)
        return;
    o->ok = o->ok && o->sink(o->arg, o->b.data, o->b.len);
    buf_clear(&o->b);
}

void stacks_out_more(struct stacks_out *o)
{
    if (o->b.len >= PIECE_BYTES)
        hand_on(o);
}

void stacks_out_end(struct stacks_out *o)
{
    hand_on(o);
    buf_release(&o->b);
}

void stacks_out_name(struct buf *b, const char *s, size_t n, const char * not, char by)
{
    size_t from = b->len;
    text_safe(b, s, n, 0, false);
    for (size_t i = from; i < b->len; i++)
        if (strchr(not, b->data[i]))
            b->data[i] = by;
}

void stacks_out_pid(struct buf *b, uint64_t process)
{
    buf_addf(b, "0.%u.%u", (unsigned)(uint32_t)process, (unsigned)(process >> 32));
}

void stacks_out_width_name(struct buf *b, const struct flame *f)
{
    static const char *const UNIT[] = {[STACK_UNIT_SAMPLES] = "samples",
                                       [STACK_UNIT_NS] = "time",
                                       [STACK_UNIT_US] = "time",
                                       [STACK_UNIT_BYTES] = "bytes"};
    static const char *const OF[] = {
        [FLAME_VALUE] = "", [FLAME_GROWTH] = "growth of ", [FLAME_SHRINKAGE] = "shrinkage of "};
    if (f->by == FLAME_SAMPLES)
        buf_adds(b, UNIT[f->unit]);
    else
        buf_addf(b, "%s%s", OF[f->by], stack_metric_name(f->metric));
}

bool stacks_write(const struct stack_view *v, enum stacks_format f, const struct stacks_options *o,
                  stacks_sink *sink, void *arg)
{
    struct stacks_out out = {.sink = sink, .arg = arg, .ok = true};
    buf_init(&out.b, SIZE_MAX / 4);
    switch (f) {
    case STACKS_FOLDED:
        stacks_write_folded(&out, v, o);
        break;
    case STACKS_EFLAME:
        stacks_write_eflame(&out, v, o);
        break;
    case STACKS_PERF:
        stacks_write_perf(&out, v, o);
        break;
    case STACKS_SPEEDSCOPE:
        stacks_write_speedscope(&out, v, o);
        break;
    case STACKS_PPROF:
        stacks_write_pprof(&out, v, o);
        break;
    case STACKS_CHROME:
        stacks_write_chrome(&out, v, o);
        break;
    case STACKS_HTML:
    case STACKS_SVG:
        stacks_write_page(&out, v, o, f == STACKS_HTML);
        break;
    case STACKS_FORMATS:
        assert(false);
    }
    stacks_out_end(&out);
    return out.ok;
}
