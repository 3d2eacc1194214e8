/* A bounded cursor over external term format. Everything under it is hostile.
 *
 * Invariant: never reads outside [p, end); a failed call leaves `bad` set and every later call
 * fails; nesting, lengths and element counts are checked against the bytes that are left before
 * anything is believed. Allocates nothing. One thread. Format: erts "External Term Format". */
#ifndef KPROF_ERL_ETF_H
#define KPROF_ERL_ETF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct etf {
    const uint8_t *p, *end;
    bool bad;
};

void etf_init(struct etf *c, const void *bytes, size_t n);
bool etf_version(struct etf *c); /* the leading 131 */
bool etf_tuple(struct etf *c, uint32_t *arity);
bool etf_list(
    struct etf *c,
    uint32_t *n); /* NIL gives 0; a proper list's tail is the caller's to read with etf_nil */
bool etf_nil(struct etf *c);
bool etf_map(struct etf *c, uint32_t *pairs);
bool etf_atom(struct etf *c, const char **s,
              size_t *n); /* UTF-8 bytes inside the buffer (Latin-1 atoms: as they are) */
bool etf_is_atom(struct etf *c, const char *name); /* true and past it, or false and not moved */
bool etf_u64(struct etf *c, uint64_t *v);
bool etf_i64(struct etf *c, int64_t *v);
bool etf_double(struct etf *c, double *v); /* integers too */
bool etf_binary(struct etf *c, const uint8_t **b, size_t *n);
bool etf_string(struct etf *c, const uint8_t **b,
                size_t *n); /* STRING_EXT, a binary, or NIL (empty) */
/* The same, copied into out: cut to fit, "" when there is none. */
void etf_text(struct etf *c, char *out, size_t cap);
bool etf_pid(struct etf *c, uint64_t *pid); /* serial << 32 | id */
bool etf_skip(struct etf *c);               /* one whole term */
int etf_peek(const struct etf *c);          /* the tag byte, -1 at the end */

#endif
