#include <kprof/export/export.h>
#include <kprof/export/writers.h>

#include <string.h>

static const char *const names[] = {[EXPORT_TEXT] = "text",
                                    [EXPORT_JSON] = "json",
                                    [EXPORT_CSV] = "csv",
                                    [EXPORT_PROM] = "prom",
                                    [EXPORT_HLOG] = "hlog"};

void export_write(struct buf *out, const struct snapshot *s, enum export_format f, bool first)
{
    switch (f) {
    case EXPORT_TEXT:
        export_text(out, s, false);
        break;
    case EXPORT_JSON:
        export_json(out, s);
        break;
    case EXPORT_CSV:
        export_csv(out, s, first);
        break;
    case EXPORT_PROM:
        export_prom(out, s);
        break;
    case EXPORT_HLOG:
        export_hlog(out, s, first);
        break;
    }
}

void export_details(struct buf *out, const struct snapshot *s)
{
    export_text(out, s, true);
}

void export_view(struct buf *out, const struct snapshot *s)
{
    export_text_view(out, s);
}

void export_slow(struct buf *out, const struct snapshot *s, const struct slow_filter *f)
{
    export_text_slow(out, s, f);
}

void export_slow_line(struct buf *out, const struct snapshot *s, const struct snap_slow *w,
                      const char *node)
{
    export_json_slow(out, s, w, node);
}

int export_format_parse(const char *s)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i]) == 0)
            return (int)i;
    return -1;
}

int export_format_of_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name || strcmp(dot, ".txt") == 0) /* a hidden file has no extension */
        return EXPORT_TEXT;
    return export_format_parse(dot + 1);
}

const char *export_endings(void)
{
    return ".txt .json .csv .prom .hlog";
}

bool export_needs_hists(enum export_format f)
{
    return f == EXPORT_HLOG;
}
