#include <kprof/export/stacks.h>

#include "stacks_out.h"

#include <assert.h>
#include <string.h>

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
