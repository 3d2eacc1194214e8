#include <kprof/trace/agent.h>

#include <assert.h>
#include <kprof/trace/agent_blob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "kprof_"

static const struct agent_blob *blob(const char *module)
{
    for (size_t i = 0; i < agent_blob_count; i++) {
        if (strcmp(agent_blobs[i].module, module) == 0)
            return &agent_blobs[i];
    }
    return NULL;
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

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

/* Every kprof_WORD_00: the module, and the names that its processes register. */
static void rename_atoms(uint8_t *atoms, size_t n, const char digits[3])
{
    const size_t prefix = sizeof PREFIX - 1;

    for (size_t at = 0; at + prefix < n; at++) {
        size_t end = at + prefix;
        if (memcmp(atoms + at, PREFIX, prefix) != 0)
            continue;
        while (end < n && is_word(atoms[end]))
            end++;
        if (end + 2 <= n && atoms[end - 1] == '_' && memcmp(atoms + end, "00", 2) == 0)
            memcpy(atoms + end, digits, 2);
    }
}

void agent_module_make(enum agent_part part, unsigned slot, struct agent_module *m)
{
    static const char *const module[] = {
        [AGENT_MAIN] = "kprof_agent_00", [AGENT_TOOLS] = "kprof_tools_00"};
    const struct agent_blob *b = blob(module[part]);
    size_t atoms_len = 0;
    uint8_t *atoms;

    assert(b && slot < AGENT_SLOTS);
    snprintf(m->digits, sizeof m->digits, "%02u", slot % AGENT_SLOTS);
    snprintf(m->name, sizeof m->name, "%s", module[part]);
    rename_atoms((uint8_t *)m->name, strlen(m->name), m->digits);
    m->len = b->len;
    m->bytes = malloc(b->len);
    if (!m->bytes)
        abort();
    memcpy(m->bytes, b->bytes, b->len);
    atoms = atom_chunk(m->bytes, b->len, &atoms_len);
    assert(atoms); /* the module comes from this build */
    rename_atoms(atoms, atoms_len, m->digits);
}

void agent_module_release(struct agent_module *m)
{
    free(m->bytes);
    memset(m, 0, sizeof *m);
}

const uint8_t *agent_sample(size_t *len)
{
    const struct agent_blob *b = blob("kprof_sample");

    if (!b)
        return NULL;
    *len = b->len;
    return b->bytes;
}
