#include <kprof/trace/agent.h>

#include <assert.h>
#include <kprof/trace/agent_blob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const parts[] = {"kprof_keeper_00", "kprof_relay_00", "kprof_spec_00",
                                    "kprof_breaker_00"};

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
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        size_t len = strlen(parts[p]);
        for (uint8_t *at = atoms; (size_t)(at - atoms) + len <= n; at++) {
            if (memcmp(at, parts[p], len) == 0)
                memcpy(at + len - 2, digits, 2);
        }
    }
}

size_t agent_modules(unsigned slot, struct agent_module out[AGENT_MODULES_MAX])
{
    char digits[3];
    size_t n = 0;

    assert(slot < AGENT_SLOTS);
    snprintf(digits, sizeof digits, "%02u", slot % AGENT_SLOTS);
    for (size_t i = 0; i < agent_blob_count && n < AGENT_MODULES_MAX; i++) {
        const struct agent_blob *b = &agent_blobs[i];
        size_t atoms_len = 0, name_len = strlen(b->module);
        uint8_t *atoms;

        if (name_len < 3 || strcmp(b->module + name_len - 3, "_00") != 0)
            continue;
        out[n].len = b->len;
        out[n].bytes = malloc(b->len);
        if (!out[n].bytes)
            abort();
        memcpy(out[n].bytes, b->bytes, b->len);
        atoms = atom_chunk(out[n].bytes, b->len, &atoms_len);
        assert(atoms); /* our own build made it */
        rename_atoms(atoms, atoms_len, digits);
        snprintf(out[n].name, sizeof out[n].name, "%.*s%s", (int)(name_len - 2), b->module, digits);
        n++;
    }
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
