#include <kprof/cli/profile_save.h>

#include <errno.h>
#include <inttypes.h>
#include <kprof/base/buf.h>
#include <kprof/cli/output.h>
#include <kprof/cli/profile.h>
#include <kprof/cli/xdg_path.h>
#include <stdio.h>
#include <string.h>

static void string(struct buf *out, const char *s)
{
    buf_addch(out, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            buf_addch(out, '\\');
        if (*s == '\n')
            buf_adds(out, "\\n");
        else
            buf_addch(out, *s);
    }
    buf_addch(out, '"');
}

static void setting(struct buf *out, const char *key, const char *value)
{
    buf_addf(out, "{%s, ", key);
    string(out, value);
    buf_adds(out, "}.\n");
}

static void duration(struct buf *out, const char *key, uint64_t ns)
{
    static const struct {
        uint64_t ns;
        const char *unit;
    } units[] = {{1000000000u, "s"}, {1000000u, "ms"}, {1000u, "us"}, {1, "ns"}};
    size_t u = 0;
    while (ns % units[u].ns != 0)
        u++;
    buf_addf(out, "{%s, \"%" PRIu64 "%s\"}.\n", key, ns / units[u].ns, units[u].unit);
}

static void tiers(struct buf *out, const struct options *o)
{
    buf_adds(out, "{tier_config, [");
    for (size_t i = 0; i < o->n_tiers; i++) {
        buf_adds(out, i ? ",\n               {" : "{");
        string(out, o->tier[i].name);
        buf_adds(out, ", ");
        string(out, o->tier[i].mfa);
        buf_adds(out, "}");
    }
    buf_adds(out, "]}.\n");
}

static void of_requests(const struct options *o, const struct options *plain, struct buf *out)
{
    if (o->slow_ns)
        duration(out, "slow", o->slow_ns);
    else if (!plain)
        setting(out, "slow", "none");
    if (!plain || o->sample != plain->sample)
        buf_addf(out, "{sample, \"1/%" PRIu32 "\"}.\n", o->sample);
    if (o->detail && (!plain || o->detail != plain->detail))
        buf_addf(out, "{detail, \"1/%" PRIu32 "\"}.\n", o->detail);
    else if (!o->detail)
        setting(out, "detail", "off");
    if (!plain || o->returns != plain->returns)
        setting(out, "returns", o->returns == RETURNS_FULL ? "full" : "lean");
    if (!plain || o->mailbox)
        buf_addf(out, "{mailbox, %s}.\n", o->mailbox ? "true" : "false");
}

static void limits(const struct options *o, const struct options *plain, struct buf *out)
{
    if (!plain || o->max_age_ns != plain->max_age_ns)
        duration(out, "max_age", o->max_age_ns);
    if (!plain || o->cooldown_ns != plain->cooldown_ns)
        duration(out, "cooldown", o->cooldown_ns);
    if (o->max_overhead_ppm == 0)
        setting(out, "max_overhead", "none");
    else if (!plain || o->max_overhead_ppm != plain->max_overhead_ppm)
        buf_addf(out, "{max_overhead, \"%.2f\"}.\n", o->max_overhead_ppm / 1e4);
    if (!plain || o->all_the_time)
        buf_addf(out, "{all_the_time, %s}.\n", o->all_the_time ? "true" : "false");
    if (o->max_rate)
        buf_addf(out, "{max_rate, \"%" PRIu64 "/s\"}.\n", o->max_rate);
    else if (!plain)
        setting(out, "max_rate", "none");
}

void profile_save_text(const struct options *o, bool whole, struct buf *out)
{
    struct options defaults;
    options_defaults(&defaults);
    const struct options *plain = whole ? NULL : &defaults;
    buf_adds(out, "%% A profile of kprof-top: load it with L on the screen, or with -f.\n");
    if (o->n_tiers)
        tiers(out, o);
    if (o->entry_none || o->entry)
        setting(out, "entry", o->entry_none ? "none" : o->entry);
    if (o->identity && o->identity[0])
        setting(out, "identity_f", o->identity);
    of_requests(o, plain, out);
    limits(o, plain, out);
}

int profile_save(const struct options *o, const char *name, bool over, struct err *e)
{
    char path[PROFILE_PATH_BYTES];
    struct buf text;
    int rc, why;
    errno = 0;
    if (profile_path(name, path, e) < 0)
        return -1;
    xdg_path_make(path);
    buf_init(&text, 0);
    profile_save_text(o, true, &text);
    if (over) {
        rc = output_replace(path, text.data, text.len, e);
    } else {
        int fd = output_open(path, OUTPUT_NEW, e);
        rc = fd < 0 ? -1 : output_write(fd, path, text.data, text.len, e);
        if (fd >= 0)
            rc = output_close(fd, path, rc, e);
    }
    why = errno;
    buf_release(&text);
    errno = why;
    return rc;
}
