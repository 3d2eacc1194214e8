/* Any bytes as a term, and as a typed M:F/A. First byte: the limit of the output. */
#include <kprof/erl/enc.h>
#include <kprof/erl/term.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* Printing and skipping agree about which bytes are a term, where it ends, and the maximum length
 * of its text. */
static void print(bool (*how)(struct etf *, struct buf *, size_t), const uint8_t *p, size_t n,
                  size_t max)
{
    struct etf c, skipped;
    struct buf out;

    buf_init(&out, 0);
    etf_init(&c, p, n);
    skipped = c;
    bool term = etf_skip(&skipped);
    must(how(&c, &out, max) == term && c.bad == !term);
    must(!term || c.p == skipped.p);
    must(out.len <= max && strlen(out.data) <= out.len);
    buf_release(&out);
}

/* A term that is read can be written, and the output is read back as the same term. */
static void mfa(const uint8_t *p, size_t n)
{
    char *text = malloc(n + 1);
    struct mfa first, second;
    struct buf term, out;
    struct etf c;
    size_t at;

    must(text != NULL);
    memcpy(text, p, n);
    text[n] = 0;
    bool ok = term_parse_mfa(text, &first, &at);
    must(at <= strlen(text));
    if (ok) {
        buf_init(&term, 0);
        buf_init(&out, 0);
        enc_tuple(&term, 3);
        enc_atom(&term, first.module);
        enc_atom(&term, first.function);
        enc_i64(&term, first.arity);
        etf_init(&c, term.data, term.len);
        must(term_mfa(&c, &out, 10000));
        must(term_parse_mfa(out.data, &second, &at));
        must(strcmp(first.module, second.module) == 0);
        must(strcmp(first.function, second.function) == 0 && first.arity == second.arity);
        buf_release(&term);
        buf_release(&out);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    size_t max = (size_t)data[0] * data[0];
    print(term_print, data + 1, n - 1, max);
    print(term_identity, data + 1, n - 1, max);
    print(term_mfa, data + 1, n - 1, max);
    mfa(data, n);
    return 0;
}
