/* The catalog of the live node, page by page, and the call rates of the functions in sight. */
#include "catalog_load.h"
#include "session_log.h"

#include <kprof/base/clock.h>
#include <stdio.h>
#include <string.h>

enum { TAKE_AFTER_MS = 1050, TAKE_AGAIN_MS = 100 };

static void changed(struct engine *g)
{
    g->catalog_load.version++;
}

static void set_status(struct engine *g, enum catalog_state state, const char *note)
{
    struct catalog_status st = *catalog_status(g->catalog_load.catalog);

    st.state = state;
    err_copy(st.note, sizeof st.note, note);
    catalog_set_status(g->catalog_load.catalog, &st);
    changed(g);
}

static bool loading(const struct engine *g)
{
    return g->catalog_load.catalog &&
           catalog_status(g->catalog_load.catalog)->state == CATALOG_LOADING;
}

static void begin(struct engine *g)
{
    const char *of = g->catalog_load.of;

    set_status(g, CATALOG_LOADING, of[0] ? "reading the code of the function" : "");
    control_code_query(g->control, of[0] ? CONTROL_CALLEES : CONTROL_PAGE, g->catalog_load.gen, of);
}

uint32_t engine_catalog_load(const struct engine *g)
{
    return g->catalog_load.loads;
}

bool engine_catalog_of_node(const struct engine *g)
{
    return g->catalog_load.of[0] == 0;
}

static void open_catalog(struct engine *g)
{
    char note[160];

    catalog_free(g->catalog_load.catalog);
    g->catalog_load.catalog = catalog_new();
    g->catalog_load.open = true;
    g->catalog_load.gen++;
    g->catalog_load.loads++;
    g->catalog_load.counted_n = 0;
    if (g->control && g->state == ENGINE_UP) {
        begin(g);
        return;
    }
    snprintf(note, sizeof note, "not connected to %.100s yet; its functions appear afterwards",
             g->connection.node);
    set_status(g, CATALOG_WAITING,
               g->control ? note : "not possible in a replay: there is no node");
}

void engine_catalog_open(struct engine *g)
{
    g->catalog_load.of[0] = 0;
    open_catalog(g);
}

void engine_callees_open(struct engine *g, uint16_t tier)
{
    const struct tierset *t = core_tiers(g->core);

    if (tier >= t->n)
        return;
    snprintf(g->catalog_load.of, sizeof g->catalog_load.of, "%s", t->tier[tier].mfa);
    open_catalog(g);
}

void engine_catalog_stop(struct engine *g)
{
    if (!loading(g))
        return;
    g->catalog_load.gen++;
    if (g->catalog_load.take_at_ns ==
        0) /* the pending answer belongs to another catalog and is dropped */
        g->catalog_load.counted_n = 0;
    set_status(g, CATALOG_PART, "stopped; the list is incomplete, ^R reloads it");
}

void engine_catalog_close(struct engine *g)
{
    engine_catalog_stop(g);
    g->catalog_load.open = false;
}

const struct catalog *engine_catalog(const struct engine *g)
{
    return g->catalog_load.catalog;
}

uint32_t engine_catalog_version(const struct engine *g)
{
    return g->catalog_load.version;
}

static void add_module(void *arg, const char *shown, const char *app, enum code_query_origin origin,
                       const char *behaviours)
{
    static const enum catalog_origin of[] = {[CODE_QUERY_OWN] = CATALOG_OWN,
                                             [CODE_QUERY_PLATFORM] = CATALOG_PLATFORM,
                                             [CODE_QUERY_LIBRARY] = CATALOG_LIBRARY};
    catalog_module(arg, shown, app, of[origin]);
    catalog_behaviours(arg, behaviours);
}

static void add_function(void *arg, const char *shown, unsigned arity, bool exported)
{
    catalog_function(arg, shown, arity, exported);
}

bool catalog_load_read(struct catalog *c, const struct result *r, struct code_query_page *page)
{
    struct code_query_sink sink = {c, add_module, add_function};

    return code_query_read(r->text, r->n, &sink, page);
}

static void take_page(struct engine *g, const struct result *r)
{
    struct catalog_status st;
    struct code_query_page page;

    if (r->ix != g->catalog_load.gen || !loading(g))
        return;
    if (r->failed) {
        set_status(g, CATALOG_PART, r->text);
        return;
    }
    if (!catalog_load_read(g->catalog_load.catalog, r, &page)) {
        set_status(g, CATALOG_PART, "cannot read the node's list of functions");
        return;
    }
    st = *catalog_status(g->catalog_load.catalog);
    st.modules_done = page.at;
    st.modules = page.of;
    st.state = page.next[0] ? CATALOG_LOADING : CATALOG_WHOLE;
    err_copy(st.note, sizeof st.note, r->code.note);
    catalog_set_status(g->catalog_load.catalog, &st);
    changed(g);
    if (page.next[0])
        control_code_query(g->control, CONTROL_PAGE, g->catalog_load.gen, page.next);
}

/* A rate that cannot be measured is not requested again. If the request failed, it can. */
static void take_rates(struct engine *g, const struct result *r)
{
    const struct code_query_rates *k = &r->code.rates;
    struct catalog_load *l = &g->catalog_load;

    if (r->ix != l->gen || !l->counted_n)
        return;
    if (r->failed) {
        l->counted_n = 0;
        session_log_add_once(g, r->text);
        return;
    }
    if (k->wait) {
        l->take_at_ns = clock_mono_ns() + TAKE_AGAIN_MS * UINT64_C(1000000);
        return;
    }
    for (size_t i = 0; i < l->counted_n; i++) {
        bool known = i < k->n && k->calls[i] >= 0 && k->ms;
        float per_s = known ? (float)k->calls[i] * 1000.0f / (float)k->ms : CATALOG_UNCOUNTED;
        catalog_set_rate(l->catalog, l->counted[i], per_s);
    }
    l->counted_n = 0;
    changed(g);
}

void catalog_load_take(struct engine *g, struct result *r)
{
    struct catalog_load *l = &g->catalog_load;

    switch (r->code.what) {
    case CONTROL_PAGE:
    case CONTROL_CALLEES:
        take_page(g, r);
        break;
    case CONTROL_RATES:
        if (r->ix != l->gen || !l->counted_n)
            break;
        if (r->failed || r->code.rates.wait) /* it failed, or functions of an older catalog are
                                                still counted: asks again later */
            l->counted_n = 0;
        else
            l->take_at_ns = clock_mono_ns() + TAKE_AFTER_MS * UINT64_C(1000000);
        break;
    case CONTROL_RATES_TAKE:
        take_rates(g, r);
        break;
    case CONTROL_EXIST:
        if (g->hooks.exist)
            g->hooks.exist(g->hooks.arg, r->ix, r->code.there, r->failed ? r->text : NULL);
        break;
    default:
        break;
    }
}

void engine_catalog_rates(struct engine *g, const uint32_t *ids, size_t n)
{
    struct catalog_load *l = &g->catalog_load;
    char text[CATALOG_TEXT_BYTES];
    struct buf lines;

    if (!l->catalog || !g->control || g->state != ENGINE_UP || l->counted_n)
        return;
    buf_init(&lines, 0);
    for (size_t i = 0; i < n && l->counted_n < CODE_QUERY_RATES; i++) {
        float known = catalog_rate(l->catalog, ids[i]);
        if (known >= 0 || known == CATALOG_UNCOUNTED)
            continue;
        catalog_text(l->catalog, ids[i], text);
        buf_addf(&lines, "%s\n", text);
        l->counted[l->counted_n++] = ids[i];
    }
    l->take_at_ns = 0;
    if (l->counted_n)
        control_code_query(g->control, CONTROL_RATES, l->gen, lines.data);
    buf_release(&lines);
}

void catalog_load_poll(struct engine *g)
{
    struct catalog_load *l = &g->catalog_load;

    if (!l->catalog || !g->control)
        return;
    if (g->state != ENGINE_UP) {
        l->counted_n = 0;
        if (loading(g)) {
            l->gen++;
            set_status(g, CATALOG_PART, "the connection was lost; ^R reloads the list");
        }
        return;
    }
    if (l->open && catalog_status(l->catalog)->state == CATALOG_WAITING)
        begin(g);
    if (l->counted_n && l->take_at_ns && clock_mono_ns() >= l->take_at_ns) {
        l->take_at_ns = 0;
        control_code_query(g->control, CONTROL_RATES_TAKE, l->gen, "");
    }
}

int engine_can_ask(const struct engine *g, struct err *e)
{
    if (!g->control)
        return err_set(e, "not possible in a replay: there is no node");
    if (g->state != ENGINE_UP)
        return err_set(e, "not connected to %.100s: presets need the node's functions",
                       g->connection.node);
    return 0;
}

int engine_exist(struct engine *g, uint16_t tag, const char *lines, struct err *e)
{
    if (engine_can_ask(g, e) < 0)
        return -1;
    control_code_query(g->control, CONTROL_EXIST, tag, lines);
    return 0;
}
