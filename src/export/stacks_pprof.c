/* pprof's profile.proto, encoded here: a field is a tag (number << 3 | kind) and a varint, or a
 * length and bytes. */
#include <kprof/base/text.h>

#include "stacks_out.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { NUMBER = 0, BYTES = 2 };

/* Fields of Profile and of its messages. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NS = 9,
    PROFILE_DURATION_NS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    TYPE_NAME = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATIONS = 1,
    SAMPLE_VALUES = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    LINE_NUMBER = 2,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILE = 4
};

/* Strings: 0 is empty; then the labels of the graph by number; then a file name for each label,
 * which may be empty; then these words. */
enum { WORD_WIDTH, WORD_UNIT, WORD_GROUP, WORDS };

struct pprof {
    struct stacks_out *o;
    struct buf plain; /* input of the compression */
    z_stream z;
    const struct flame *f;
    const struct stack_profile *profile;
    uint32_t *frame; /* by label: one of its frames; 0: a group or only a text */
    uint64_t words;  /* number of the string WORD_WIDTH */
};

static void number(struct buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_addch(b, (char)(v | 0x80));
    buf_addch(b, (char)v);
}

static void field(struct buf *b, unsigned id, uint64_t v)
{
    number(b, id << 3 | NUMBER);
    number(b, v);
}

static void bytes(struct buf *b, unsigned id, const char *s, size_t n)
{
    number(b, id << 3 | BYTES);
    number(b, n);
    buf_add(b, s, n);
}

static void compress_some(struct pprof *p, int flush)
{
    p->z.next_in = (Bytef *)p->plain.data;
    p->z.avail_in = (uInt)p->plain.len;
    int rc;
    do {
        unsigned char out[16384];
        p->z.next_out = out;
        p->z.avail_out = sizeof out;
        rc = deflate(&p->z, flush);
        assert(rc != Z_STREAM_ERROR);
        buf_add(&p->o->b, out, sizeof out - p->z.avail_out);
        stacks_out_more(p->o);
    } while (p->z.avail_out == 0);
    buf_clear(&p->plain);
}

static void part(struct pprof *p, unsigned id, const struct buf *b)
{
    bytes(&p->plain, id, b->data, b->len);
    if (p->plain.len > 64 << 10)
        compress_some(p, Z_NO_FLUSH);
}

/* pprof knows some units by name and shows others unchanged */
static const char *unit_name(const struct flame *f)
{
    static const char *const UNIT[] = {[STACK_UNIT_SAMPLES] = "count",
                                       [STACK_UNIT_NS] = "nanoseconds",
                                       [STACK_UNIT_US] = "microseconds",
                                       [STACK_UNIT_BYTES] = "bytes"};
    if (f->by != FLAME_SAMPLES)
        return f->metric == STACK_MEMORY ? "bytes" : "count";
    return UNIT[f->unit];
}

static void value_type(struct pprof *p, unsigned id)
{
    struct buf b;
    buf_init(&b, 0);
    field(&b, TYPE_NAME, p->words + WORD_WIDTH);
    field(&b, TYPE_UNIT, p->words + WORD_UNIT);
    part(p, id, &b);
    buf_release(&b);
}

/* One location and one function for each label, with its number. */
static void functions(struct pprof *p)
{
    struct buf b, line;
    buf_init(&b, 0);
    buf_init(&line, 0);
    for (uint32_t l = 1; l <= p->f->labels; l++) {
        struct stack_frame at = stack_profile_frame_of(p->profile, p->frame[l]);
        buf_clear(&line);
        field(&line, LINE_FUNCTION, l);
        if (at.line)
            field(&line, LINE_NUMBER, at.line);
        buf_clear(&b);
        field(&b, LOCATION_ID, l);
        bytes(&b, LOCATION_LINE, line.data, line.len);
        part(p, PROFILE_LOCATION, &b);
        buf_clear(&b);
        field(&b, FUNCTION_ID, l);
        field(&b, FUNCTION_NAME, l);
        field(&b, FUNCTION_SYSTEM_NAME, l);
        if (at.file)
            field(&b, FUNCTION_FILE, p->f->labels + l);
        part(p, PROFILE_FUNCTION, &b);
    }
    buf_release(&b);
    buf_release(&line);
}

static void string(struct pprof *p, const char *s, size_t n)
{
    struct buf safe;
    buf_init(&safe, 0);
    text_safe(&safe, s, n, 0, false); /* must be UTF-8 */
    part(p, PROFILE_STRING, &safe);
    buf_release(&safe);
}

static void strings(struct pprof *p, enum flame_group group)
{
    struct buf width;
    size_t n;
    string(p, "", 0);
    for (uint32_t l = 1; l <= p->f->labels; l++) {
        const char *s = flame_label_text(p->f, l, &n);
        string(p, s, n);
    }
    for (uint32_t l = 1; l <= p->f->labels; l++) {
        struct stack_frame at = stack_profile_frame_of(p->profile, p->frame[l]);
        const char *s = stack_profile_str(p->profile, at.file, &n);
        string(p, s, n);
    }
    buf_init(&width, 0);
    flame_width_text(&width, &(struct flame_width){p->f->by, p->f->metric}, p->f->unit);
    string(p, width.data, width.len);
    string(p, unit_name(p->f), strlen(unit_name(p->f)));
    string(p, flame_group_name(group), strlen(flame_group_name(group)));
    buf_release(&width);
}

/* Leaf first; the group is a label, not a frame. */
static void sample(struct pprof *p, uint32_t node, bool grouped)
{
    struct buf b, locations;
    buf_init(&b, 0);
    buf_init(&locations, 0);
    uint32_t at = node, top = grouped ? 1 : 0;
    for (; p->f->node[at].depth > top; at = p->f->node[at].parent)
        number(&locations, p->f->node[at].label);
    if (locations.len == 0) /* without a stack */
        number(&locations, p->f->node[at].label);
    bytes(&b, SAMPLE_LOCATIONS, locations.data, locations.len);
    buf_clear(&locations);
    number(&locations, p->f->node[node].self);
    bytes(&b, SAMPLE_VALUES, locations.data, locations.len);
    if (grouped) {
        buf_clear(&locations);
        field(&locations, LABEL_KEY, p->words + WORD_GROUP);
        field(&locations, LABEL_TEXT, p->f->node[at].label);
        bytes(&b, SAMPLE_LABEL, locations.data, locations.len);
    }
    part(p, PROFILE_SAMPLE, &b);
    buf_release(&b);
    buf_release(&locations);
}

static void profile(struct pprof *p, const struct flame_query *q)
{
    const struct stack_profile_meta *m = stack_profile_meta(p->profile);
    const struct flame *f = p->f;
    value_type(p, PROFILE_SAMPLE_TYPE);
    for (uint32_t i = 0; i < f->nodes && p->o->ok; i++)
        if (f->node[i].self > 0)
            sample(p, i, q->group != FLAME_UNGROUPED);
    functions(p);
    strings(p, q->group);
    if (m->wall_ns)
        field(&p->plain, PROFILE_TIME_NS, (uint64_t)m->wall_ns + f->first_ns);
    field(&p->plain, PROFILE_DURATION_NS, f->last_ns - f->first_ns);
    value_type(p, PROFILE_PERIOD_TYPE);
    field(&p->plain, PROFILE_PERIOD, 1);
}

void stacks_write_pprof(struct stacks_out *o, const struct stack_view *v,
                        const struct stacks_options *how)
{
    struct flame *f = flame_build(v, &how->query);
    struct pprof p = {.o = o, .f = f, .profile = stack_view_profile(v)};
    p.frame = calloc((size_t)f->labels + 1, sizeof *p.frame);
    /* 16 more window bits: the gzip format. */
    if (!p.frame || deflateInit2(&p.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                                 Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    for (uint32_t i = 1; i < f->nodes; i++)
        p.frame[f->node[i].label] = f->node[i].frame;
    p.words = 2 * (uint64_t)f->labels + 1;
    buf_init(&p.plain, SIZE_MAX / 4);
    profile(&p, &how->query);
    compress_some(&p, Z_FINISH);
    deflateEnd(&p.z);
    buf_release(&p.plain);
    free(p.frame);
    flame_free(f);
}
