#include "live_impl.h"

#include "run.h"

#include "crash.h"
#include "layout.h"
#include "settings_map.h"
#include <kprof/base/clock.h>
#include <kprof/base/stop.h>
#include <kprof/cli/node_history.h>
#include <kprof/ui/term.h>
#include <kprof/ui/ui.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define RATES_NS                                                                                   \
    300000000u /* between two requests for the call rates of the functions on the screen */
#define COUNTED      400u  /* maximum number of functions counted at once for the picker */
#define PROCESSES_MS 2000u /* between two rounds of the process table */

static void on_message(void *arg, const char *text, bool is_error)
{
    struct live *l = arg;
    ui_message(l->ui, text, is_error);
    l->dirty = true;
}

static void on_exist(void *arg, uint16_t tag, const bool *there, const char *why)
{
    struct live *l = arg;
    live_preset_exist(&l->preset, l->g, l->ui, tag, there, why);
    l->dirty = true;
}

/* The rule may come from any source: the command line, a profile, a preset, an earlier rule. */
static void tell_rule(struct live *l)
{
    const char *rule = engine_rule(l->g);

    if (strcmp(l->rule, rule) == 0)
        return;
    snprintf(l->rule, sizeof l->rule, "%s", rule);
    ui_set_rule(l->ui, rule);
}

static void on_rule_refused(void *arg, const char *rule, const char *why)
{
    struct live *l = arg;
    unsigned line, column;
    size_t at = strlen(rule);

    if (sscanf(why, "line %u, column %u", &line, &column) == 2 && line == 1 && column > 0 &&
        column - 1 < at)
        at = column - 1;
    tell_rule(l); /* the previous rule is in use again */
    ui_reprompt(l->ui, INTENT_IDENTITY, rule, at, why);
    l->dirty = true;
}

static void on_stack(void *arg, uint64_t pid, const char *lines, bool dead)
{
    struct live *l = arg;
    ui_set_stack(l->ui, pid, lines, dead);
    l->dirty = true;
}

static void on_captured(void *arg, struct capture *c)
{
    struct live *l = arg;
    ui_set_capture(l->ui, c);
    l->dirty = true;
}

#define ITEMS 200

static void on_completions(void *arg, const char *typed, const char *lines)
{
    struct live *l = arg;
    char text[16384];
    const char *item[ITEMS];
    size_t n = 0;

    snprintf(text, sizeof text, "%s", lines);
    for (char *at = text, *end; n < ITEMS && (end = strchr(at, '\n')); at = end + 1) {
        *end = 0;
        item[n++] = at;
    }
    ui_set_completions(l->ui, typed, item, n);
    l->dirty = true;
}

/* Before each key: an intent, or the end of a question, may have begun to load another catalog,
 * which frees the one that the ui has. */
static void tell_catalog(struct live *l)
{
    uint32_t version = engine_catalog_version(l->g);

    if (version == l->catalog_version)
        return;
    l->catalog_version = version;
    ui_set_catalog(l->ui, engine_catalog(l->g));
    l->dirty = true;
}

/* Requests the rates of the functions in sight of the picker. */
static void ask_rates(struct live *l, uint64_t now)
{
    uint32_t ids[COUNTED];

    if (now < l->rates_at_ns)
        return;
    l->rates_at_ns = now + RATES_NS;
    engine_catalog_rates(l->g, ids, ui_pick_wanted(l->ui, ids, COUNTED));
}

static void on_processes(void *arg, struct process_table *t, const char *why)
{
    struct live *l = arg;
    ui_set_processes(l->ui, t, why);
    l->dirty = true;
}

/* The node reads its processes only while they are shown. */
static void ask_processes(struct live *l)
{
    struct process_request r = {.period_ms = PROCESSES_MS};

    engine_processes(l->g, ui_wants_processes(l->ui, &r.order) ? &r : NULL);
}

static void tell_detail(struct live *l)
{
    const char *why;

    if (l->detail_refused || !engine_detail_refused(l->g, &why))
        return;
    l->detail_refused = true;
    on_message(l, why, true);
}

static void draw(struct live *l)
{
    int rows, cols;

    term_size(&rows, &cols);
    if (rows != l->canvas.rows || cols != l->canvas.cols)
        canvas_resize(&l->canvas, rows, cols);
    term_theme(ui_theme(l->ui));
    l->canvas.shades = !l->canvas.ascii && term_has_shades();
    ui_draw(l->ui, &l->canvas, l->snap);
    term_show(&l->canvas);
    l->dirty = l->keyed = false;
}

static void keys(struct live *l)
{
    int k;

    while ((k = term_key()) != KEY_NONE_) {
        struct mouse m = term_mouse();
        tell_rule(l);
        tell_catalog(l);
        struct intent in =
            k == KEY_MOUSE_ ? ui_mouse(l->ui, &m, l->snap) : ui_key(l->ui, k, l->snap);
        if (k == KEY_RESIZE_)
            l->dirty = l->keyed = true;
        live_dispatch(l, &in);
    }
}

static void loop(struct live *l)
{
    struct pollfd p[2] = {{.fd = term_fd(), .events = POLLIN},
                          {.fd = engine_wake_fd(l->g), .events = POLLIN}};
    uint64_t end = l->o->duration_ns ? clock_mono_ns() + l->o->duration_ns : UINT64_MAX;

    while (!l->quit && !stop_asked() && engine_state(l->g) != ENGINE_FAILED) {
        bool more = engine_poll(l->g);
        tell_detail(l);
        live_preset_poll(&l->preset, l->g, l->ui);
        if (!preset_take_wanted(&l->preset.take))
            live_suggest_poll(&l->suggest, l->g, l->ui);
        keys(l);
        uint64_t now = clock_mono_ns();
        tell_catalog(l);
        ask_rates(l, now);
        ask_processes(l);
        l->dirty |= live_stacks_poll(&l->stacks, l->g, l->ui, l->snap ? l->snap->node.name : "");
        l->dirty |= live_full_poll(&l->full, l->g, l->ui);
        l->dirty |= live_trigger_poll(&l->trigger, l->g, l->ui, &l->stacks, now);
        if (now >= end)
            break;
        if (now >= l->fresh_at_ns)
            live_refresh(l);
        if (l->dirty && redraw_limit_draw(&l->redraw_limit, now, l->keyed))
            draw(l);
        if (!more)
            poll(p, 2, l->dirty ? 10 : 50);
        if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            break; /* the terminal is closed */
    }
}

/* A node that was attached is offered again when no node is given. */
static void remember(const struct live *l, const struct conn_target *t)
{
    enum engine_state state = engine_state(l->g);

    if (l->o->mode == OPTIONS_NODE && (state == ENGINE_UP || state == ENGINE_LOST))
        node_history_note(t->node, t->connect, clock_wall_ns() / CLOCK_SEC_NS);
}

int run_live(const struct options *o, const struct conn_target *t)
{
    struct live l = {.o = o, .query.window = WINDOW_10S};
    struct engine_hooks hooks = {.arg = &l,
                                 .message = on_message,
                                 .completions = on_completions,
                                 .stack = on_stack,
                                 .exist = on_exist,
                                 .rule_refused = on_rule_refused,
                                 .captured = on_captured,
                                 .processes = on_processes};
    struct settings settings;
    struct err e = {{0}};
    int status = 1;

    l.preset.suggest = &l.suggest;
    live_stacks_init(&l.stacks, o);
    settings_map_from(o, &settings);
    if (t->node)
        preset_take_first(&l.preset.take, o, &settings);
    l.g = engine_new(&settings, &hooks, &e);
    if (!l.g || run_baseline(l.g, o, &e) < 0 || term_open(o->no_color, &e) < 0)
        goto out;
    crash_restores_terminal();
    if (!o->no_mouse)
        term_mouse_on();
    l.ui = ui_new(NULL);
    canvas_init(&l.canvas, 24, 80, o->ascii || !term_is_utf8());
    layout_load(l.ui, &l.query.window);
    if (o->theme < THEME_COUNT)
        ui_set_theme(l.ui, o->theme);
    if (run_begin(l.g, o, t, &e) == 0) {
        loop(&l);
        layout_save(l.ui, l.query.window);
        remember(&l, t);
        status = 0;
        if (engine_state(l.g) == ENGINE_FAILED) {
            err_set(&e, "%s", engine_trouble(l.g));
            status = 1;
        }
    }
    term_close();
out:
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    if (run_end(l.g, t) < 0 && status == 0)
        status = 1;
    if (l.ui) {
        snapshot_free(l.snap);
        canvas_release(&l.canvas);
        ui_free(l.ui);
    }
    preset_take_drop(&l.preset.take);
    return status;
}
