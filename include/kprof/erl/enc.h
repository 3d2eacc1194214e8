/* Builds external term format onto a buf. The caller nests and counts right: arities are given
 * before elements. Pure; one thread per buf. */
#ifndef KPROF_ERL_ENC_H
#define KPROF_ERL_ENC_H

#include <kprof/base/buf.h>
#include <stdint.h>

void enc_version(struct buf *b);
void enc_tuple(struct buf *b, uint32_t arity);
void enc_list(struct buf *b, uint32_t n); /* n > 0; after the elements comes enc_nil */
void enc_nil(struct buf *b);
void enc_map(struct buf *b, uint32_t pairs);
void enc_atom(struct buf *b, const char *utf8); /* at most 255 characters */
void enc_i64(struct buf *b, int64_t v);
void enc_u64(struct buf *b, uint64_t v);
void enc_binary(struct buf *b, const void *p, size_t n);
void enc_str(struct buf *b, const char *s); /* a binary of it */

#endif
