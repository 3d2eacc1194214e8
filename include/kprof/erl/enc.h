/* Writes external term format to a buf. The caller is responsible for correct nesting and counts;
 * arities come before elements. Pure; one thread per buf. */
#ifndef KPROF_ERL_ENC_H
#define KPROF_ERL_ENC_H

#include <kprof/base/buf.h>
#include <stdint.h>

void enc_version(struct buf *b);
void enc_tuple(struct buf *b, uint32_t arity);
void enc_list(struct buf *b, uint32_t n); /* n > 0; enc_nil follows the elements */
void enc_nil(struct buf *b);
void enc_map(struct buf *b, uint32_t pairs);
void enc_atom(struct buf *b, const char *utf8); /* at most 255 characters */
void enc_fun(struct buf *b, const char *mod, const char *fun, uint8_t arity); /* fun M:F/A */
void enc_i64(struct buf *b, int64_t v);
void enc_u64(struct buf *b, uint64_t v);
void enc_binary(struct buf *b, const void *p, size_t n);
void enc_str(struct buf *b, const char *s); /* writes s as a binary */

#endif
