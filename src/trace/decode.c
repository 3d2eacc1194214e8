#include "decode.h"
#include "args.h"

#include <kprof/base/buf.h>
#include <kprof/base/must.h>
#include <kprof/core/vm_event.h>
#include <kprof/erl/term.h>
#include <stdlib.h>
#include <string.h>

#define RAW_MAX         65536u
#define RAW_BYTES       ((size_t)16 << 20)
#define ARGS_BYTES      200
#define VM_DETAIL_BYTES 200
#define VM_MOST_US      UINT64_C(86400000000) /* a day */
#define FN_PART         4                     /* a fourth of the room for names is for functions */
#define LABEL_PID_BIT   (UINT64_C(1) << 63)

enum text_as { TEXT_MFA, TEXT_IDENT };

void decoder_init(struct decoder *d, struct intern *names)
{
    memset(d, 0, sizeof *d);
    d->names = names;
    d->raw = intern_new(RAW_MAX, RAW_BYTES);
    d->text_of[TEXT_MFA] = must(calloc(RAW_MAX + 1, sizeof **d->text_of));
    d->text_of[TEXT_IDENT] = must(calloc(RAW_MAX + 1, sizeof **d->text_of));
    buf_init(&d->shaped, DECODE_IDENT_BYTES);
    d->clock.units_per_s = 1000000000;
    intern_room(names, &d->fn_ids, &d->fn_bytes);
    d->fn_ids /= FN_PART;
    d->fn_bytes /= FN_PART;
    decoder_new_rule(d);
}

void decoder_new_rule(struct decoder *d)
{
    uint32_t ids;
    size_t bytes;

    intern_room(d->names, &ids, &bytes);
    d->leave_ids = ids > d->fn_ids ? d->fn_ids + (ids - d->fn_ids) / 2 : d->fn_ids;
    d->leave_bytes = bytes > d->fn_bytes ? d->fn_bytes + (bytes - d->fn_bytes) / 2 : d->fn_bytes;
}

void decoder_release(struct decoder *d)
{
    intern_free(d->raw);
    free(d->text_of[TEXT_MFA]);
    free(d->text_of[TEXT_IDENT]);
    buf_release(&d->shaped);
    memset(d, 0, sizeof *d);
}

static uint32_t ident_id(struct decoder *d, const struct buf *text)
{
    return intern_add_leaving(d->names, text->data, text->len, d->leave_ids, d->leave_bytes);
}

/* The text of encoded bytes that are seen for the first time. */
static uint32_t name_new(struct decoder *d, const uint8_t *from, size_t n, enum text_as as)
{
    struct buf text;
    struct etf c;
    bool ok;
    uint32_t id;

    buf_init(&text, 1024);
    etf_init(&c, from, n);
    ok = as == TEXT_MFA ? term_mfa(&c, &text, 600) : term_identity(&c, &text, DECODE_IDENT_BYTES);
    if (!ok)
        id = INTERN_FULL;
    else
        id = as == TEXT_MFA ? intern_add(d->names, text.data, text.len) : ident_id(d, &text);
    buf_release(&text);
    return id;
}

static uint32_t name_of(struct decoder *d, const uint8_t *from, size_t n, enum text_as as)
{
    uint32_t raw = intern_add(d->raw, from, n);
    if (raw == INTERN_FULL)
        return name_new(d, from, n, as); /* table full: slow, but correct */
    if (d->text_of[as][raw])
        return d->text_of[as][raw];
    uint32_t id = name_new(d, from, n, as);
    if (id != INTERN_FULL) /* else a later rule may have room for it */
        d->text_of[as][raw] = id;
    return id;
}

/* A function: {M,F,A}, or an atom such as undefined (0). */
static bool read_fn(struct decoder *d, struct etf *c, uint32_t *id)
{
    const uint8_t *from = c->p;
    int tag = etf_peek(c);

    if (!etf_skip(c))
        return false;
    *id = tag == 104 ? name_of(d, from, (size_t)(c->p - from), TEXT_MFA) : 0;
    return true;
}

/* Each request may bring another term for the same name: only the name is interned. */
static bool read_shaped(struct decoder *d, struct etf *c, uint32_t *id)
{
    buf_clear(&d->shaped);
    if (!term_identity(c, &d->shaped, DECODE_IDENT_BYTES))
        return false;
    *id = strcmp(d->shaped.data, "undefined") == 0 ? INTERN_NONE : ident_id(d, &d->shaped);
    return true;
}

static bool read_ident(struct decoder *d, struct etf *c, uint32_t *id)
{
    const uint8_t *from = c->p;

    if (etf_is_atom(c, "undefined") || etf_is_atom(c, "EXIT")) {
        *id = 0;
        return true;
    }
    if (term_has_template(*c))
        return read_shaped(d, c, id);
    if (!etf_skip(c))
        return false;
    *id = name_of(d, from, (size_t)(c->p - from), TEXT_IDENT);
    return true;
}

/* The caller, or {Caller, Arguments}. */
static bool read_caller(struct decoder *d, struct etf *c, struct event *ev)
{
    struct etf in = *c;
    struct buf text;
    uint32_t n;
    bool ok;

    if (etf_peek(c) != 104 || !etf_tuple(&in, &n) || n != 2)
        return read_fn(d, c, &ev->caller);
    *c = in;
    if (!read_fn(d, c, &ev->caller))
        return false;
    if (!d->text_ring)
        return etf_skip(c);
    buf_init(&text, ARGS_BYTES + 1);
    ok = args_print(c, &text, ARGS_BYTES);
    if (ok)
        ev->args = text_ring_add(d->text_ring, text.data, text.len);
    buf_release(&text);
    return ok;
}

static bool is_pid(int tag)
{
    return tag == 88 || tag == 103;
}

/* A label is a small integer or a pid; an atom (false) means no label. */
static bool read_label(struct etf *c, uint64_t *label)
{
    int tag = etf_peek(c);

    if (is_pid(tag)) {
        if (!etf_pid(c, label))
            return false;
        *label |= LABEL_PID_BIT;
        return true;
    }
    if (tag == 97 || tag == 98 || tag == 110) {
        if (!etf_u64(c, label))
            return false;
        *label &= ~LABEL_PID_BIT;
        return true;
    }
    *label = 0;
    return etf_skip(c);
}

/* {To,Label,Caller}: a message to the process To. */
static bool read_sent(struct decoder *d, struct etf *c, struct event *ev)
{
    ev->kind = EVENT_SENT;
    return etf_pid(c, &ev->prev) && read_label(c, &ev->label) && read_fn(d, c, &ev->caller);
}

/* The message of the match spec: {Ix,Label,Caller | {Caller,Arguments}[,Ident[,entry |
 * Junk,Prev]]}. */
static bool read_payload(struct decoder *d, struct etf *c, struct event *ev)
{
    uint32_t arity;
    uint64_t tier;

    if (!etf_tuple(c, &arity) || arity < 3 || arity > 6)
        return false;
    if (arity == 3 && is_pid(etf_peek(c)))
        return read_sent(d, c, ev);
    if (!etf_u64(c, &tier) || tier >= EVENT_TIERS)
        return false;
    ev->tier = (uint16_t)tier;
    if (!read_label(c, &ev->label) || !read_caller(d, c, ev))
        return false;
    if (arity >= 4 && !read_ident(d, c, &ev->ident))
        return false;
    if (arity >= 5 && !etf_skip(c))
        return false;
    if (arity >= 6 && !read_label(c, &ev->prev))
        return false;
    ev->kind = arity >= 5 ? EVENT_ENTRY : EVENT_CALL;
    return true;
}

static bool read_call(struct decoder *d, struct etf *c, struct event *ev)
{
    const uint8_t *from = c->p;
    size_t n;

    /* The function is that of the tier: its name is read once per tier. */
    if (!etf_skip(c))
        return false;
    n = (size_t)(c->p - from);
    if (!read_payload(d, c, ev))
        return false;
    if (ev->kind == EVENT_SENT)
        return true;
    if (!d->tier_fn[ev->tier])
        d->tier_fn[ev->tier] = name_of(d, from, n, TEXT_MFA);
    ev->fn = d->tier_fn[ev->tier];
    return true;
}

static bool read_stamp(const struct decoder *d, struct etf *c, struct event *ev)
{
    int64_t native;

    if (!etf_i64(c, &native))
        return false;
    ev->ts_ns = node_clock_ns(&d->clock, native);
    return true;
}

/* Sets the kind of a message about scheduling; *located: it has a scheduler and a function. */
static bool scheduling_kind(const char *what, size_t n, struct event *ev, bool *located)
{
    static const struct {
        const char *name;
        enum event_kind kind;
        bool located;
    } kinds[] = {{"out", EVENT_OUT, true},
                 {"in", EVENT_IN, true},
                 {"gc_minor_start", EVENT_GC, false},
                 {"gc_minor_end", EVENT_GC_END, false},
                 {"gc_major_start", EVENT_GC, false},
                 {"gc_major_end", EVENT_GC_END, false},
                 {"off", EVENT_UNKNOWN, false},
                 {"queue", EVENT_QUEUE, false},
                 {"receives", EVENT_RECEIVES, true},
                 {"out_exiting", EVENT_OUT, true},
                 {"in_exiting", EVENT_IN, true},
                 {"out_exited", EVENT_OUT, true}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, what, n) == 0) {
            ev->kind = (uint8_t)kinds[i].kind;
            *located = kinds[i].located;
            return true;
        }
    return false;
}

/* {trace_ts, Pid, in | out, MFA | 0, Scheduler, Ts}, {trace_ts, Pid, gc_... | off, 0, Ts},
 * {trace_ts, Pid, receives, MFA, 1 | 0, Ts}, {trace_ts, Pid, queue, Messages, Ts} */
enum decode_result decode_scheduling(struct decoder *d, struct etf *c, struct event *ev)
{
    uint32_t arity;
    const char *what;
    size_t n;
    uint64_t scheduler;
    bool located;
    struct etf start = *c;

    if (!etf_tuple(c, &arity) || !etf_is_atom(c, "trace_ts") || !etf_pid(c, &ev->pid) ||
        !etf_atom(c, &what, &n) || !scheduling_kind(what, n, ev, &located) ||
        arity != (located ? 6u : 5u))
        goto unknown;
    if (located && (!read_fn(d, c, &ev->fn) || !etf_u64(c, &scheduler)))
        goto unknown;
    if (located)
        ev->tier = (uint16_t)(scheduler < UINT16_MAX ? scheduler : UINT16_MAX);
    if (ev->kind == EVENT_QUEUE ? !etf_u64(c, &ev->label) : !located && !etf_skip(c))
        goto unknown;
    if (read_stamp(d, c, ev) && ev->pid)
        return DECODE_EVENT;
unknown:
    *c = start;
    return etf_skip(c) ? DECODE_SKIP : DECODE_BAD;
}

static bool vm_kind(const char *what, size_t n, struct event *ev)
{
    static const struct {
        const char *name;
        enum vm_event_kind kind;
    } kinds[] = {{"long_gc", VM_EVENT_LONG_GC},
                 {"long_schedule", VM_EVENT_LONG_SCHEDULE},
                 {"busy_port", VM_EVENT_BUSY_PORT},
                 {"long_message_queue", VM_EVENT_LONG_QUEUE},
                 {"large_heap", VM_EVENT_LARGE_HEAP}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, what, n) == 0) {
            ev->tier = (uint16_t)kinds[i].kind;
            return true;
        }
    return false;
}

/* A function, a binary, or a number: none. */
static bool read_detail(struct decoder *d, struct etf *c, uint32_t *id)
{
    const uint8_t *text;
    size_t n;
    int tag = etf_peek(c);

    if (tag == 104)
        return read_fn(d, c, id);
    *id = 0;
    if (tag != 109)
        return etf_skip(c);
    if (!etf_binary(c, &text, &n))
        return false;
    *id = intern_add(d->names, (const char *)text, n < VM_DETAIL_BYTES ? n : VM_DETAIL_BYTES);
    return true;
}

/* {Kind, Pid | 0, Ts, Us, Value, MFA | Binary | 0} */
enum decode_result decode_vm_event(struct decoder *d, struct etf *c, struct event *ev)
{
    uint32_t arity;
    const char *what;
    size_t n;
    uint64_t us, none;
    struct etf start = *c;

    ev->kind = EVENT_VM;
    if (!etf_tuple(c, &arity) || arity != 6 || !etf_atom(c, &what, &n) || !vm_kind(what, n, ev))
        goto unknown;
    if (is_pid(etf_peek(c)) ? !etf_pid(c, &ev->pid) : !etf_u64(c, &none))
        goto unknown;
    if (!read_stamp(d, c, ev) || !etf_u64(c, &us) || !etf_u64(c, &ev->label) ||
        !read_detail(d, c, &ev->fn))
        goto unknown;
    ev->prev = us < VM_MOST_US ? us * 1000 : 0;
    return DECODE_EVENT;
unknown:
    *c = start;
    return etf_skip(c) ? DECODE_SKIP : DECODE_BAD;
}

enum decode_result decode_message(struct decoder *d, struct etf *c, struct event *ev)
{
    uint32_t arity;
    const char *what;
    size_t n;
    struct etf start = *c;

    if (!etf_tuple(c, &arity) || arity < 5 || arity > 7 || !etf_is_atom(c, "trace_ts"))
        goto unknown;
    if (!etf_pid(c, &ev->pid) || !etf_atom(c, &what, &n))
        goto unknown;
    ev->kind = 0;
    if (n == 4 && arity == 6 && memcmp(what, "call", 4) == 0) {
        if (!read_call(d, c, ev))
            goto unknown;
    } else if (n == 9 && arity == 5 && memcmp(what, "return_to", 9) == 0) {
        ev->kind = EVENT_RETURN_TO;
        if (!read_fn(d, c, &ev->fn))
            goto unknown;
    } else if (n == 11 && arity == 6 && memcmp(what, "return_from", 11) == 0) {
        ev->kind = EVENT_RETURN;
        if (!read_fn(d, c, &ev->fn) || !etf_skip(c))
            goto unknown;
    } else if (n == 14 && arity == 6 && memcmp(what, "exception_from", 14) == 0) {
        ev->kind = EVENT_EXCEPTION;
        if (!read_fn(d, c, &ev->fn) || !etf_skip(c))
            goto unknown;
    }
    if (ev->kind && read_stamp(d, c, ev) && ev->pid)
        return DECODE_EVENT;
unknown:
    *c = start;
    return etf_skip(c) ? DECODE_SKIP : DECODE_BAD;
}
