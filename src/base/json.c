#include <kprof/base/json.h>
#include <kprof/base/text.h>

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 16, DECIMALS_MAX = 17 };

void json_init(struct json *j, struct buf *out)
{
    *j = (struct json){.out = out, .first = {true}};
}

/* The text before a value: nothing after a key, a comma between elements. */
static void before_value(struct json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    assert(!j->obj[j->depth]);           /* a value in an object needs its key */
    assert(j->depth > 0 || j->first[0]); /* one value at the top */
    if (!j->first[j->depth])
        buf_addch(j->out, ',');
    j->first[j->depth] = false;
}

static void open_level(struct json *j, bool obj)
{
    before_value(j);
    assert(j->depth + 1 < DEPTH_MAX);
    buf_addch(j->out, obj ? '{' : '[');
    j->depth++;
    j->first[j->depth] = true;
    j->obj[j->depth] = obj;
}

static void close_level(struct json *j, bool obj)
{
    assert(j->depth > 0 && j->obj[j->depth] == obj && !j->after_key);
    buf_addch(j->out, obj ? '}' : ']');
    j->depth--;
}

void json_obj(struct json *j)
{
    open_level(j, true);
}

void json_obj_end(struct json *j)
{
    close_level(j, true);
}

void json_arr(struct json *j)
{
    open_level(j, false);
}

void json_arr_end(struct json *j)
{
    close_level(j, false);
}

static void add_unit(struct buf *out, uint32_t unit)
{
    buf_addf(out, "\\u%04" PRIx32, unit);
}

static void add_escaped(struct buf *out, uint32_t cp)
{
    static const char shorts[] = "\bb\ff\nn\rr\tt";
    for (const char *p = shorts; cp != 0 && *p; p += 2) {
        if ((uint32_t)*p == cp) {
            buf_addch(out, '\\');
            buf_addch(out, p[1]);
            return;
        }
    }
    if (cp < 0x10000) {
        add_unit(out, cp);
        return;
    }
    add_unit(out, 0xd800 + ((cp - 0x10000) >> 10));
    add_unit(out, 0xdc00 + ((cp - 0x10000) & 0x3ff));
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void add_string(struct buf *out, const char *s, size_t n)
{
    buf_addch(out, '"');
    for (size_t i = 0; i < n;) {
        size_t run = i;
        while (run < n && is_plain(s[run]))
            run++;
        buf_add(out, s + i, run - i);
        if ((i = run) == n)
            break;
        uint32_t cp;
        size_t used = text_next(s + i, n - i, &cp);
        if (cp == UINT32_MAX) {
            buf_adds(out, "\xef\xbf\xbd"); /* U+FFFD */
        } else if (cp == '"' || cp == '\\') {
            buf_addch(out, '\\');
            buf_addch(out, (char)cp);
        } else if (text_cp_width(cp) <
                   0) { /* valid JSON as it is, but a terminal may interpret it */
            add_escaped(out, cp);
        } else {
            buf_add(out, s + i, used);
        }
        i += used;
    }
    buf_addch(out, '"');
}

void json_key(struct json *j, const char *key)
{
    assert(j->depth > 0 && j->obj[j->depth] && !j->after_key);
    if (!j->first[j->depth])
        buf_addch(j->out, ',');
    j->first[j->depth] = false;
    add_string(j->out, key, strlen(key));
    buf_addch(j->out, ':');
    j->after_key = true;
}

void json_str(struct json *j, const char *s)
{
    if (s)
        json_strn(j, s, strlen(s));
    else
        json_null(j);
}

void json_strn(struct json *j, const char *s, size_t n)
{
    before_value(j);
    add_string(j->out, s, n);
}

void json_u64(struct json *j, uint64_t v)
{
    before_value(j);
    buf_addf(j->out, "%" PRIu64, v);
}

void json_f(struct json *j, double v, int decimals)
{
    if (!isfinite(v)) {
        json_null(j);
        return;
    }
    before_value(j);
    assert(decimals >= 0 && decimals <= DECIMALS_MAX);
    char text[400]; /* 309 digits, sign, point, DECIMALS_MAX digits */
    snprintf(text, sizeof text, "%.*f", decimals, v);
    bool in_point = false;
    for (const char *p = text; *p; p++) { /* the locale's point, of any bytes, becomes '.' */
        bool point = (*p < '0' || *p > '9') && *p != '-';
        if (!point || !in_point)
            buf_addch(j->out, point ? '.' : *p);
        in_point = point;
    }
}

void json_bool(struct json *j, bool v)
{
    before_value(j);
    buf_adds(j->out, v ? "true" : "false");
}

void json_null(struct json *j)
{
    before_value(j);
    buf_adds(j->out, "null");
}

void json_key_str(struct json *j, const char *key, const char *s)
{
    json_key(j, key);
    json_str(j, s);
}

void json_key_u64(struct json *j, const char *key, uint64_t v)
{
    json_key(j, key);
    json_u64(j, v);
}

void json_key_f(struct json *j, const char *key, double v, int decimals)
{
    json_key(j, key);
    json_f(j, v, decimals);
}

void json_key_bool(struct json *j, const char *key, bool v)
{
    json_key(j, key);
    json_bool(j, v);
}
