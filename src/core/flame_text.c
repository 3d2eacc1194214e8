#include <kprof/core/flame.h>

#include <assert.h>
#include <string.h>

static const char *const GROUP[FLAME_GROUPS] = {
    [FLAME_UNGROUPED] = "none",  [FLAME_STATUS] = "status",     [FLAME_MEMORY] = "memory",
    [FLAME_PROCESS] = "process", [FLAME_WHO] = "name",          [FLAME_APPLICATION] = "application",
    [FLAME_TIER] = "tier",       [FLAME_IDENTITY] = "identity",
};

const char *flame_group_name(enum flame_group g)
{
    assert(g < FLAME_GROUPS);
    return GROUP[g];
}

enum flame_group flame_group_parse(const char *name)
{
    unsigned g = 0;
    while (g < FLAME_GROUPS && strcmp(GROUP[g], name) != 0)
        g++;
    return (enum flame_group)g;
}

/* Elixir modules are shown in Elixir syntax. */
static void add_module(struct buf *out, const char *s, size_t n)
{
    static const char ELIXIR[] = "Elixir.";
    size_t prefix = sizeof ELIXIR - 1;
    if (n > prefix && memcmp(s, ELIXIR, prefix) == 0) {
        buf_add(out, s + prefix, n - prefix);
        buf_addch(out, '.');
    } else {
        buf_add(out, s, n);
        buf_addch(out, ':');
    }
}

void flame_frame_text(struct buf *out, const struct stack_profile *p, uint32_t frame, bool line)
{
    struct stack_frame f = stack_profile_frame_of(p, frame);
    size_t n;
    const char *s = stack_profile_str(p, f.module, &n);
    if (n > 0)
        add_module(out, s, n);
    s = stack_profile_str(p, f.function, &n);
    buf_add(out, s, n);
    if (f.arity != STACK_NO_ARITY)
        buf_addf(out, "/%u", (unsigned)f.arity);
    if (line && f.line != 0)
        buf_addf(out, ":%u", (unsigned)f.line);
}

unsigned flame_decade(const struct stack_view *v, size_t i)
{
    int64_t bytes, delta;
    if (!stack_view_metric(v, i, STACK_MEMORY, &bytes, &delta))
        return 0;
    unsigned d = 1;
    for (; bytes >= 10; bytes /= 10)
        d++;
    return d;
}

/* "1-10 MB" */
static void add_decade(struct buf *out, unsigned d)
{
    static const char *const UNIT[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    static const char *const LOW[] = {"1", "10", "100"};
    static const char *const HIGH[] = {"10", "100", "1000"};
    if (d == 0)
        buf_adds(out, "memory not known");
    else
        buf_addf(out, "%s-%s %s", LOW[(d - 1) % 3], HIGH[(d - 1) % 3], UNIT[(d - 1) / 3]);
}

uint64_t flame_group_key(const struct stack_view *v, size_t i, enum flame_group g)
{
    const struct stack_sample *s = stack_view_at(v, i);
    uint64_t outside = s->request ? 0 : UINT64_C(1) << 32; /* or inside of an unknown one */
    switch (g) {
    case FLAME_STATUS:
        return s->status;
    case FLAME_MEMORY:
        return flame_decade(v, i);
    case FLAME_PROCESS:
        return s->process;
    case FLAME_WHO:
        return s->name ? UINT64_C(1) << 32 | s->name : s->initial_call;
    case FLAME_APPLICATION:
        return s->application;
    case FLAME_TIER:
        return s->tier ? s->tier : outside;
    case FLAME_IDENTITY:
        return s->identity ? s->identity : outside;
    default:
        return 0;
    }
}

static void add_text(struct buf *out, const struct stack_profile *p, uint32_t text,
                     const char *none)
{
    size_t n;
    const char *s = stack_profile_str(p, text, &n);
    if (text == 0)
        buf_adds(out, none);
    else
        buf_add(out, s, n);
}

void flame_group_text(struct buf *out, const struct stack_view *v, size_t i, enum flame_group g)
{
    const struct stack_sample *s = stack_view_at(v, i);
    const struct stack_profile *p = stack_view_profile(v);
    switch (g) {
    case FLAME_STATUS:
        buf_adds(out, s->status ? stack_status_name(s->status) : "status not known");
        return;
    case FLAME_MEMORY:
        add_decade(out, flame_decade(v, i));
        return;
    case FLAME_PROCESS:
        if (s->process == 0)
            buf_adds(out, "process not known");
        else
            buf_addf(out, "<0.%u.%u>", (unsigned)s->process, (unsigned)(s->process >> 32));
        if (s->name) {
            buf_addch(out, ' ');
            add_text(out, p, s->name, "");
        }
        return;
    case FLAME_WHO:
        if (s->name)
            add_text(out, p, s->name, "");
        else if (s->initial_call)
            flame_frame_text(out, p, s->initial_call, false);
        else
            buf_adds(out, "process not known");
        return;
    case FLAME_APPLICATION:
        add_text(out, p, s->application, "no application");
        return;
    case FLAME_TIER:
        add_text(out, p, s->tier, s->request ? "no tier" : "outside requests");
        return;
    case FLAME_IDENTITY:
        add_text(out, p, s->identity, s->request ? "no identity" : "outside requests");
        return;
    default:
        return;
    }
}
