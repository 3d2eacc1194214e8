#include "control_code_query.h"

#include <kprof/base/buf.h>
#include <kprof/core/catalog.h>
#include <stdlib.h>
#include <string.h>

/* Functions as shown, one per line; a text that does not parse counts as a function that does not
 * exist. */
static size_t parse(const char *lines, struct mfa *f, size_t max)
{
    size_t n = 0, at;

    for (; *lines && n < max; n++) {
        char text[CATALOG_TEXT_BYTES];
        size_t len = strcspn(lines, "\n"), cut = len < sizeof text ? len : sizeof text - 1;
        memcpy(text, lines, cut);
        text[cut] = 0;
        if (!term_parse_mfa(text, &f[n], &at))
            memset(&f[n], 0, sizeof f[n]);
        lines += len + (lines[len] == '\n');
    }
    return n;
}

/* of: the function whose callees are asked for; NULL: a page of all, after `after`. */
static int take_page(struct session *s, const char *after, const struct mfa *of, bool itself,
                     struct result *r, struct err *e)
{
    struct buf page;

    buf_init(&page, 0);
    int rc = of ? code_query_callees(s, of, itself, &page, r->code.note, e)
                : code_query_page(s, after, &page, e);
    if (rc == 0) {
        r->text = malloc(page.len + 1);
        if (!r->text)
            abort();
        memcpy(r->text, page.data, page.len + 1);
        r->n = page.len;
    }
    buf_release(&page);
    return rc;
}

static struct mfa *functions(size_t max)
{
    struct mfa *f = calloc(max, sizeof *f);

    if (!f)
        abort();
    return f;
}

static int exist(struct session *s, const char *lines, struct result *r, struct err *e)
{
    struct mfa *f = functions(CODE_QUERY_EXIST);
    int rc = code_query_exist(s, f, parse(lines, f, CODE_QUERY_EXIST), r->code.there, e);

    free(f);
    return rc;
}

static int begin_rates(struct session *s, const char *lines, struct result *r, struct err *e)
{
    struct mfa *f = functions(CODE_QUERY_RATES);
    size_t n = parse(lines, f, CODE_QUERY_RATES);
    int rc = code_query_rates_begin(s, f, n, &r->code.rates.wait, e);

    free(f);
    return rc;
}

static int take_callees(struct session *s, const char *line, bool itself, struct result *r,
                        struct err *e)
{
    struct mfa *f = functions(1);
    int rc = -1;

    if (parse(line, f, 1) == 1)
        rc = take_page(s, "", f, itself, r, e);
    else
        err_set(e, "'%.200s' is not a function", line);
    free(f);
    return rc;
}

int control_code_query_answer(struct session *s, enum control_ask what, const char *lines,
                              struct result *r, struct err *e)
{
    switch (what) {
    case CONTROL_PAGE:
        return take_page(s, lines, NULL, false, r, e);
    case CONTROL_CALLEES:
    case CONTROL_CALLS:
        return take_callees(s, lines, what == CONTROL_CALLS, r, e);
    case CONTROL_EXIST:
        return exist(s, lines, r, e);
    case CONTROL_RATES:
        return begin_rates(s, lines, r, e);
    default:
        return code_query_rates_take(s, &r->code.rates, e);
    }
}
