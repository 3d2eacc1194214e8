/* A bounded cursor over external term format. The input may be hostile.
 *
 * Invariant: never reads outside [p, end). A failed call sets `bad`, and every later call fails.
 * Nesting, lengths and element counts are checked against the bytes that are left before they are
 * used. Allocates nothing. One thread. Format: erts "External Term Format". */
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
bool etf_list(struct etf *c,
              uint32_t *n); /* NIL gives 0; the caller reads the tail of a list with etf_nil */
bool etf_nil(struct etf *c);
bool etf_map(struct etf *c, uint32_t *pairs);
bool etf_atom(struct etf *c, const char **s,
              size_t *n); /* UTF-8 bytes inside the buffer (a Latin-1 atom is not converted) */
bool etf_is_atom(struct etf *c, const char *name); /* moves past it if true */
bool etf_u64(struct etf *c, uint64_t *v);
bool etf_i64(struct etf *c, int64_t *v);
bool etf_double(struct etf *c, double *v); /* also reads integers */
bool etf_binary(struct etf *c, const uint8_t **b, size_t *n);
bool etf_string(struct etf *c, const uint8_t **b,
                size_t *n); /* STRING_EXT, a binary, or NIL (empty) */
/* Reads the same terms and copies the bytes to out, cut to fit; "" when there is no such term. */
void etf_text(struct etf *c, char *out, size_t cap);
bool etf_pid(struct etf *c, uint64_t *pid); /* serial << 32 | id */
bool etf_skip(struct etf *c);               /* skips one whole term */
int etf_peek(const struct etf *c);          /* the tag byte, -1 at the end */

#endif
