#include <kprof/export/export.h>
#include <kprof/export/formats.h>

#include <string.h>

void export_write(struct buf *out, const struct snapshot *s, enum export_format f, bool first)
{
    switch (f) {
    case EXPORT_TEXT:
        format_text(out, s);
        break;
    case EXPORT_JSON:
        format_json(out, s);
        break;
    case EXPORT_CSV:
        format_csv(out, s, first);
        break;
    }
}

int export_format_parse(const char *s)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (int i = 0; i < 3; i++)
        if (strcmp(s, names[i]) == 0)
            return i;
    return -1;
}
