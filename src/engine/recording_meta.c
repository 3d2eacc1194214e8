#include "recording_meta.h"

#include <kprof/erl/enc.h>
#include <kprof/erl/etf.h>
#include <stdio.h>
#include <string.h>

static void enc_bool(struct buf *b, bool v)
{
    enc_atom(b, v ? "true" : "false");
}

void recording_meta_write(const struct recording_meta *m, struct buf *out)
{
    enc_version(out);
    enc_tuple(out, 11);
    enc_atom(out, "meta");
    enc_str(out, m->node);
    enc_str(out, m->otp);
    enc_i64(out, m->start_native);
    enc_i64(out, m->units_per_s);
    enc_u64(out, m->wall_ns);
    enc_bool(out, m->tiers.returns == RETURNS_LEAN);
    enc_bool(out, m->tiers.has_identity);
    if (m->tiers.entry == TIER_NONE)
        enc_atom(out, "none");
    else
        enc_u64(out, m->tiers.entry);
    enc_u64(out, m->sample);
    if (m->tiers.n)
        enc_list(out, m->tiers.n);
    for (uint16_t i = 0; i < m->tiers.n; i++) {
        enc_tuple(out, 4);
        enc_u64(out, i);
        enc_str(out, m->tiers.tier[i].name);
        enc_str(out, m->tiers.tier[i].mfa);
        enc_bool(out, m->tiers.tier[i].active);
    }
    enc_nil(out);
}

static bool read_text(struct etf *c, char *out, size_t cap)
{
    const uint8_t *b;
    size_t n;

    if (!etf_string(c, &b, &n) || n >= cap)
        return false;
    memcpy(out, b, n);
    out[n] = 0;
    return true;
}

static bool read_bool(struct etf *c, bool *v)
{
    *v = etf_is_atom(c, "true");
    return *v || etf_is_atom(c, "false");
}

static bool read_tiers(struct etf *c, struct tierset *t)
{
    uint32_t n, arity;
    uint64_t ix;

    if (!etf_list(c, &n) || n > TIER_MAX)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct tier *to = &t->tier[i];
        if (!etf_tuple(c, &arity) || arity != 4 || !etf_u64(c, &ix) || ix != i ||
            !read_text(c, to->name, sizeof to->name) || !read_text(c, to->mfa, sizeof to->mfa) ||
            !read_bool(c, &to->active))
            return false;
    }
    t->n = (uint16_t)n;
    return true;
}

static bool read_entry(struct etf *c, uint16_t *entry)
{
    uint64_t ix;

    *entry = TIER_NONE;
    if (etf_is_atom(c, "none"))
        return true;
    if (!etf_u64(c, &ix) || ix >= TIER_MAX)
        return false;
    *entry = (uint16_t)ix;
    return true;
}

bool recording_meta_read(struct recording_meta *m, const void *bytes, size_t n)
{
    struct etf c;
    uint32_t arity;
    uint64_t sample;
    bool lean, rule;

    memset(m, 0, sizeof *m);
    etf_init(&c, bytes, n);
    if (!etf_version(&c) || !etf_tuple(&c, &arity) || arity != 11 || !etf_is_atom(&c, "meta"))
        return false;
    if (!read_text(&c, m->node, sizeof m->node) || !read_text(&c, m->otp, sizeof m->otp))
        return false;
    if (!etf_i64(&c, &m->start_native) || !etf_i64(&c, &m->units_per_s) ||
        !etf_u64(&c, &m->wall_ns))
        return false;
    if (!read_bool(&c, &lean) || !read_bool(&c, &rule) || !read_entry(&c, &m->tiers.entry) ||
        !etf_u64(&c, &sample))
        return false;
    m->tiers.returns = lean ? RETURNS_LEAN : RETURNS_FULL;
    m->tiers.has_identity = rule;
    m->sample = sample && sample < UINT32_MAX ? (uint32_t)sample : 1;
    return read_tiers(&c, &m->tiers) &&
           (m->tiers.entry == TIER_NONE || m->tiers.entry < m->tiers.n);
}
