#include <kprof/trace/agent.h>

#include <assert.h>
#include <kprof/trace/agent_blob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPER "kprof_keeper_00"

/* A module of the agent; the sample node's is none. */
static bool is_part(const struct agent_blob *b)
{
    size_t len = strlen(b->module);
    return len > 3 && strcmp(b->module + len - 3, "_00") == 0;
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The atom chunk of a beam ("FOR1" len "BEAM", then id len bytes, padded to 4); NULL if there is
 * none. */
static uint8_t *atom_chunk(uint8_t *beam, size_t n, size_t *len)
{
    for (size_t at = 12; at + 8 <= n;) {
        size_t size = be32(beam + at + 4);
        if (size > n - at - 8)
            break;
        if (memcmp(beam + at, "AtU8", 4) == 0) {
            *len = size;
            return beam + at + 8;
        }
        at += 8 + (size + 3) / 4 * 4;
    }
    return NULL;
}

static void rename_atoms(uint8_t *atoms, size_t n, const char digits[3])
{
    for (size_t p = 0; p < agent_blob_count; p++) {
        const char *name = agent_blobs[p].module;
        size_t len = strlen(name);
        if (!is_part(&agent_blobs[p]))
            continue;
        for (uint8_t *at = atoms; (size_t)(at - atoms) + len <= n; at++) {
            if (memcmp(at, name, len) == 0)
                memcpy(at + len - 2, digits, 2);
        }
    }
}

static void copy_module(const struct agent_blob *b, const char digits[3], struct agent_module *out)
{
    size_t atoms_len = 0;
    uint8_t *atoms;

    out->len = b->len;
    out->bytes = malloc(b->len);
    if (!out->bytes)
        abort();
    memcpy(out->bytes, b->bytes, b->len);
    atoms = atom_chunk(out->bytes, b->len, &atoms_len);
    assert(atoms); /* our own build made it */
    rename_atoms(atoms, atoms_len, digits);
    snprintf(out->name, sizeof out->name, "%.*s%s", (int)(strlen(b->module) - 2), b->module,
             digits);
}

size_t agent_modules(unsigned slot, struct agent_module out[AGENT_MODULES_MAX])
{
    char digits[3];
    size_t n = 0;
    const struct agent_blob *keeper = NULL;

    assert(slot < AGENT_SLOTS);
    snprintf(digits, sizeof digits, "%02u", slot % AGENT_SLOTS);
    for (size_t i = 0; i < agent_blob_count; i++) {
        const struct agent_blob *b = &agent_blobs[i];
        if (strcmp(b->module, KEEPER) == 0) {
            keeper = b;
        } else if (is_part(b)) {
            assert(n < AGENT_MODULES_MAX - 1);
            copy_module(b, digits, &out[n++]);
        }
    }
    assert(keeper);
    copy_module(keeper, digits, &out[n++]);
    return n;
}

void agent_modules_release(struct agent_module *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(m[i].bytes);
}

const uint8_t *agent_sample(size_t *len)
{
    for (size_t i = 0; i < agent_blob_count; i++) {
        if (strcmp(agent_blobs[i].module, "kprof_sample") == 0) {
            *len = agent_blobs[i].len;
            return agent_blobs[i].bytes;
        }
    }
    return NULL;
}
