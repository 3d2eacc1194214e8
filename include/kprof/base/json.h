/* Writes JSON to a buf. Adds the commas, escapes strings, and checks nesting with assert.
 *
 * Invariant: after the last close, the buf contains one valid JSON value in valid UTF-8, whatever
 * strings were given (invalid bytes become U+FFFD). NaN and infinities become null. One thread. */
#ifndef KPROF_BASE_JSON_H
#define KPROF_BASE_JSON_H

#include <kprof/base/buf.h>
#include <stdbool.h>
#include <stdint.h>

struct json {
    struct buf *out;
    int depth;
    bool first[16], after_key;
    bool obj[16]; /* true: an object is open at this depth; false: an array */
};

void json_init(struct json *j, struct buf *out);
void json_obj(struct json *j);
void json_obj_end(struct json *j);
void json_arr(struct json *j);
void json_arr_end(struct json *j);
void json_key(struct json *j, const char *key);
void json_str(struct json *j, const char *s); /* NULL writes null */
void json_strn(struct json *j, const char *s, size_t n);
void json_u64(struct json *j, uint64_t v);
void json_f(struct json *j, double v, int decimals);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
/* A member of the open object. */
void json_key_str(struct json *j, const char *key, const char *s); /* NULL writes null */
void json_key_u64(struct json *j, const char *key, uint64_t v);
void json_key_f(struct json *j, const char *key, double v, int decimals);
void json_key_bool(struct json *j, const char *key, bool v);

#endif
