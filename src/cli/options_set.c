#include "options_set.h"

#include <assert.h>
#include <kprof/base/buf.h>
#include <kprof/cli/full_what.h>
#include <kprof/cli/options_preset.h>
#include <kprof/cli/optval.h>
#include <kprof/core/stack_profile.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MIN_NS   100000000u
#define MAX_AGE_MIN_NS 1000000u
#define ITERATIONS_MAX 1000000000u
#define DEMO_RATE_MAX  20000u
#define TOP_MAX        1000u
#define SAMPLE_MIN_NS  1000000u
#define EVENTS_MAX     500000u
#define FLUSH_MIN_NS   1000000000u
#define FILES_MAX      10000u

/* The field of d; the table ensures its type. */
static void *field(const struct options_def *d, struct options *o)
{
    return (char *)o + d->at;
}

/* ---- values of one field ---- */

static int set_flag(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    (void)val;
    (void)e;
    *(bool *)field(d, o) = true;
    return 0;
}

static int set_duration(const struct options_def *d, const char *val, struct options *o,
                        struct err *e)
{
    return optval_duration(d->name, val, d->bound, field(d, o), e);
}

static int set_count(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    return optval_count(d->name, val, d->bound, field(d, o), e);
}

static int set_slow(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    if (strcmp(val, "none") != 0)
        return set_duration(d, val, o, e);
    o->slow_ns = 0;
    return 0;
}

static int set_rate(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    if (strcmp(val, "none") != 0)
        return optval_rate(d->name, val, field(d, o), e);
    o->max_rate = 0;
    return 0;
}

static int set_percent(const struct options_def *d, const char *val, struct options *o,
                       struct err *e)
{
    return optval_percent(d->name, val, field(d, o), e);
}

static int set_text(const struct options_def *d, const char *val, struct options *o)
{
    char **to = field(d, o);
    free(*to);
    *to = buf_dup(val);
    return 0;
}

static int set_filled(const struct options_def *d, const char *val, struct options *o,
                      struct err *e)
{
    if (!*val)
        return err_set(e, "--%s: the value is empty; give one, or leave the option out", d->name);
    return set_text(d, val, o);
}

/* ---- values with their own syntax ---- */

static int set_profile(const struct options_def *d, const char *val, struct options *o,
                       struct err *e)
{
    if (strcmp(val, "cpu") != 0 && strcmp(val, "wall") != 0 &&
        stack_metric_parse(val, strlen(val)) == STACK_METRICS)
        return err_set(e,
                       "--profile %s: unknown value; write cpu, wall, reductions, memory, "
                       "message_queue_len, bin_vheap_size, minor_gcs or another metric (kprof(1))",
                       optval_show(val).s);
    return set_text(d, val, o);
}

static int set_full_trace(const struct options_def *d, const char *val, struct options *o,
                          struct err *e)
{
    struct full_what what;

    if (strlen(val) >= OPTIONS_IDENTITY_BYTES)
        return err_set(e, "--full-trace: the text is longer than %u bytes; shorten it",
                       OPTIONS_IDENTITY_BYTES - 1);
    return full_what_parse(val, &what, e) < 0 ? -1 : set_text(d, val, o);
}

static int set_full_hide(const struct options_def *d, const char *val, struct options *o,
                         struct err *e)
{
    (void)d;
    bool both = strcmp(val, "sleep,gc") == 0 || strcmp(val, "gc,sleep") == 0;
    o->full_hide_sleep = both || strcmp(val, "sleep") == 0;
    o->full_hide_gc = both || strcmp(val, "gc") == 0;
    if (!o->full_hide_sleep && !o->full_hide_gc)
        return err_set(e, "--full-hide %s: write sleep, gc or sleep,gc", optval_show(val).s);
    return 0;
}

static int set_processes(const struct options_def *d, const char *val, struct options *o,
                         struct err *e)
{
    struct err why;
    if (process_choice_parse(val, &o->processes, &why) < 0)
        return err_set(e, "--%s %s: %.300s", d->name, optval_show(val).s, why.text);
    o->has_processes = true;
    return 0;
}

static int set_statuses(const struct options_def *d, const char *val, struct options *o,
                        struct err *e)
{
    struct err why;
    if (process_choice_statuses(val, &o->statuses, &why) < 0)
        return err_set(e, "--%s %s: %.300s", d->name, optval_show(val).s, why.text);
    return 0;
}

static int set_perf_pid(const struct options_def *d, const char *val, struct options *o,
                        struct err *e)
{
    o->perf_pid_integer = strcmp(val, "integer") == 0;
    if (!o->perf_pid_integer && strcmp(val, "pid") != 0)
        return err_set(e, "--%s %s: write pid (0.80.0) or integer (80)", d->name,
                       optval_show(val).s);
    return 0;
}

static int set_identity(const struct options_def *d, const char *val, struct options *o,
                        struct err *e)
{
    if (val[strspn(val, " \t\r\n")] == '\0')
        return err_set(e, "--identity: the rule is empty; write \"m:f/2 arg(1)\" or a fun, or "
                          "leave the option out");
    if (strlen(val) >= OPTIONS_IDENTITY_BYTES)
        return err_set(e, "--identity: the rule is longer than %u bytes; shorten it",
                       OPTIONS_IDENTITY_BYTES - 1);
    o->identity_of_preset = false;
    return set_text(d, val, o);
}

static int set_cookie(const struct options_def *d, const char *val, struct options *o,
                      struct err *e)
{
    if (!*val || strlen(val) >= OPTIONS_COOKIE_BYTES)
        return err_set(e, "--setcookie: a cookie has 1 to %d bytes; give the node's cookie",
                       OPTIONS_COOKIE_BYTES - 1);
    return set_text(d, val, o);
}

static int set_connect(const struct options_def *d, const char *val, struct options *o,
                       struct err *e)
{
    return optval_connect(val, e) ? -1 : set_text(d, val, o);
}

static int set_name(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    return optval_self_name(val, e) ? -1 : set_text(d, val, o);
}

static int set_entry(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    (void)d;
    (void)e;
    o->entry_none = strcmp(val, "none") == 0;
    free(o->entry);
    o->entry = o->entry_none ? NULL : buf_dup(val);
    return 0;
}

static int set_format(const struct options_def *d, const char *val, struct options *o,
                      struct err *e)
{
    int f = export_format_parse(val);
    (void)d;
    if (f < 0)
        return err_set(e, "--format %s: no such format; write text, json, csv, prom or hlog",
                       optval_show(val).s);
    o->format = (enum export_format)f;
    return 0;
}

static int set_theme(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    (void)d;
    return theme_parse(val, &o->theme)
               ? 0
               : err_set(e, "--theme %s: no such theme; write dark, light or 8",
                         optval_show(val).s);
}

static int set_sample(const struct options_def *d, const char *val, struct options *o,
                      struct err *e)
{
    (void)d;
    return optval_sample(val, &o->sample, e);
}

static int set_detail(const struct options_def *d, const char *val, struct options *o,
                      struct err *e)
{
    (void)d;
    return optval_detail(val, &o->detail, e);
}

static int set_returns(const struct options_def *d, const char *val, struct options *o,
                       struct err *e)
{
    (void)d;
    return optval_returns(val, &o->returns, e);
}

static int set_transport(const struct options_def *d, const char *val, struct options *o,
                         struct err *e)
{
    (void)d;
    (void)o;
    return optval_transport(val, e);
}

static int set_demo_rate(const struct options_def *d, const char *val, struct options *o,
                         struct err *e)
{
    uint64_t v = o->demo_rate;
    int rc = optval_count(d->name, val, DEMO_RATE_MAX, &v, e);
    o->demo_rate = (uint32_t)v;
    return rc;
}

static int set_demo_trouble(const struct options_def *d, const char *val, struct options *o,
                            struct err *e)
{
    static const char *const troubles[] = {"queue", "gc", "dirty", "runq", "lock"};

    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        if (strcmp(val, troubles[i]) == 0) {
            o->demo_trouble = troubles[i];
            return 0;
        }
    }
    return err_set(e, "--%s %s: no such trouble; write queue, gc, dirty, runq or lock", d->name,
                   optval_show(val).s);
}

static int set_speed(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    (void)d;
    return optval_speed(val, &o->speed, e);
}

static int set_demo(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    (void)d;
    (void)val;
    (void)e;
    o->mode = OPTIONS_DEMO;
    return 0;
}

/* ---- options that can be repeated ---- */

static int add_node(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    (void)d;
    if (optval_node(val, e))
        return -1;
    if (o->n_nodes == OPTIONS_NODES_SUPPORTED)
        return err_set(e, "%s: kprof-top can trace only one node; start another kprof-top for it",
                       optval_show(val).s);
    o->node[o->n_nodes++] = buf_dup(val);
    return 0;
}

static int add_tier(const struct options_def *d, const char *val, struct options *o, struct err *e)
{
    struct tier_spec t;
    (void)d;
    return options_tier_parse(val, &t, e) || options_tier_add(o->tier, &o->n_tiers, &t, e) ? -1 : 0;
}

static int add_preset(const struct options_def *d, const char *val, struct options *o,
                      struct err *e)
{
    (void)d;
    return options_preset_add(o, val, e);
}

static int add_assertion(const struct options_def *d, const char *val, struct options *o,
                         struct err *e)
{
    (void)d;
    if (o->n_assertions == OPTIONS_ASSERTIONS_MAX)
        return err_set(e, "--assert %s: more than %d assertions; leave some out",
                       optval_show(val).s, OPTIONS_ASSERTIONS_MAX);
    return assertion_parse("assert", val, &o->assertion[o->n_assertions], e)
               ? -1
               : (o->n_assertions++, 0);
}

static int add_trigger(const struct options_def *d, const char *val, struct options *o,
                       struct err *e)
{
    struct assertion *a = &o->trigger[o->n_triggers];
    if (o->n_triggers == OPTIONS_TRIGGERS_MAX)
        return err_set(e, "--%s %s: more than %d triggers; leave some out", d->name,
                       optval_show(val).s, OPTIONS_TRIGGERS_MAX);
    if (assertion_parse(d->name, val, a, e) < 0)
        return -1;
    if (a->relative)
        return err_set(e, "--%s %s: a trigger has no baseline; write a value", d->name,
                       optval_show(val).s);
    o->n_triggers++;
    return 0;
}

/* ---- the table ---- */

/* The offset of a field; a field of another type does not compile. */
#define AT(type, field)                                                                            \
    .at = _Generic(((struct options *)0)->field, type : offsetof(struct options, field))
#define TEXT(field)      AT(char *, field), .owns = true
#define FLAG(field)      .kind = OPTIONS_FLAG, .set = set_flag, AT(bool, field)
#define NS(field, least) .set = set_duration, AT(uint64_t, field), .bound = (least)

static const struct options_def defs[] = {
    {"config", 'f', .where = OPTIONS_ARGV, .set = set_filled, TEXT(config)},
    {"tier", 't', .set = add_tier},
    {"preset", .set = add_preset, TEXT(preset)},
    {"entry", 'e', .set = set_entry, TEXT(entry)},
    {"identity", 'i', .set = set_identity, TEXT(identity)},
    {"sample", .set = set_sample},
    {"detail", .set = set_detail},
    {"returns", .set = set_returns},
    {"transport", .set = set_transport},
    {"slow", .set = set_slow, AT(uint64_t, slow_ns), .bound = 1},
    {"slow-args", FLAG(slow_args)},
    {"all-the-time", FLAG(all_the_time)},
    {"mailbox", FLAG(mailbox)},
    {"slow-details", FLAG(slow_details)},
    {"why", FLAG(why)},
    {"slow-log", .set = set_filled, TEXT(slow_log)},
    {"max-age", NS(max_age_ns, MAX_AGE_MIN_NS)},
    {"max-rate", .set = set_rate, AT(uint64_t, max_rate)},
    {"max-overhead", .set = set_percent, AT(uint32_t, max_overhead_ppm)},
    {"cooldown", NS(cooldown_ns, DELAY_MIN_NS)},
    {"duration", NS(duration_ns, DELAY_MIN_NS)},
    {"batch", 'b', FLAG(batch)},
    {"delay", 'd', NS(delay_ns, DELAY_MIN_NS)},
    {"iterations", 'n', .set = set_count, AT(uint64_t, iterations), .bound = ITERATIONS_MAX},
    {"format", .set = set_format},
    {"output", 'o', .set = set_filled, TEXT(output)},
    {"assert", .set = add_assertion},
    {"baseline", .set = set_filled, TEXT(baseline)},
    {"record", .set = set_filled, TEXT(record)},
    {"connect", .set = set_connect, TEXT(connect)},
    {"cookie-file", .set = set_filled, TEXT(cookie_file)},
    {"setcookie", .set = set_cookie, TEXT(setcookie)},
    {"name", .set = set_name, TEXT(name)},
    {"tls", FLAG(tls)},
    {"tls-optfile", .set = set_filled, TEXT(tls_optfile)},
    {"tls-ca", .set = set_filled, TEXT(tls_ca)},
    {"tls-cert", .set = set_filled, TEXT(tls_cert)},
    {"tls-key", .set = set_filled, TEXT(tls_key)},
    {"tls-insecure", FLAG(tls_insecure)},
    {"no-color", FLAG(no_color)},
    {"no-mouse", FLAG(no_mouse)},
    {"theme", .set = set_theme},
    {"ascii", FLAG(ascii)},
    {"force", FLAG(force)},
    {"demo", .kind = OPTIONS_FLAG, .where = OPTIONS_ARGV, .set = set_demo},
    {"demo-rate", .set = set_demo_rate},
    {"demo-trouble", .where = OPTIONS_ARGV, .set = set_demo_trouble},
    {"speed", .set = set_speed},
    {"profile", .where = OPTIONS_ARGV, .set = set_profile, TEXT(profile)},
    {"top", .set = set_count, AT(uint64_t, top), .bound = TOP_MAX},
    {"processes", .set = set_processes},
    {"statuses", .set = set_statuses},
    {"sample-interval", NS(sample_interval_ns, SAMPLE_MIN_NS)},
    {"full-trace", .where = OPTIONS_ARGV, .set = set_full_trace, TEXT(full_trace)},
    {"full-calls", .where = OPTIONS_ARGV, .set = set_filled, TEXT(full_calls)},
    {"full-events", .where = OPTIONS_ARGV, .set = set_count, AT(uint64_t, full_events),
     .bound = EVENTS_MAX},
    {"full-hide", .where = OPTIONS_ARGV, .set = set_full_hide},
    {"flush", NS(flush_ns, FLUSH_MIN_NS)},
    {"files", .set = set_count, AT(uint64_t, files), .bound = FILES_MAX},
    {"perf-pid", .set = set_perf_pid},
    {"trigger", .where = OPTIONS_ARGV, .set = add_trigger},
    {"before", NS(before_ns, FLUSH_MIN_NS)},
    {"rearm", NS(rearm_ns, FLUSH_MIN_NS)},
    {"hazards", .where = OPTIONS_ARGV, FLAG(hazards)},
    {"suggest", .where = OPTIONS_ARGV, FLAG(suggest)},
    {"replay", .where = OPTIONS_ARGV, .set = set_filled, TEXT(replay)},
    {"flame", .where = OPTIONS_ARGV, .set = set_filled, TEXT(flame)},
    {"node", .where = OPTIONS_FILE, .set = add_node},
    {"version", 'V', .kind = OPTIONS_ASK, .where = OPTIONS_ARGV},
    {"help", 'h', .kind = OPTIONS_ASK, .where = OPTIONS_ARGV},
};

#define DEFS (sizeof defs / sizeof *defs)
_Static_assert(DEFS <= OPTIONS_DEFS_MAX, "OPTIONS_DEFS_MAX is too small");

const struct options_def *options_set_at(size_t i)
{
    return i < DEFS ? &defs[i] : NULL;
}

size_t options_set_index(const char *name)
{
    size_t i = 0;
    while (i < DEFS && strcmp(defs[i].name, name) != 0)
        i++;
    assert(i < DEFS);
    return i;
}

int options_set_value(const struct options_def *d, const char *val, struct options *o,
                      struct err *e)
{
    return d->set(d, val, o, e);
}

void options_set_off(const struct options_def *d, struct options *o)
{
    assert(d->kind == OPTIONS_FLAG && d->set == set_flag);
    *(bool *)field(d, o) = false;
}

void options_set_release(struct options *o)
{
    if (o->setcookie)
        explicit_bzero(o->setcookie, strlen(o->setcookie));
    for (size_t i = 0; i < DEFS; i++)
        if (defs[i].owns)
            free(*(char **)field(&defs[i], o));
    for (size_t i = 0; i < o->n_nodes; i++)
        free(o->node[i]);
}
