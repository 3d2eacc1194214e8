#include "choose_node.h"

#include "crash.h"
#include "find_nodes.h"
#include "layout.h"
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <kprof/base/stop.h>
#include <kprof/ui/node_picker.h>
#include <kprof/ui/term.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t now_s(void)
{
    return clock_wall_ns() / CLOCK_SEC_NS;
}

/* ---- without a screen ---- */

static int widest(const struct node_choices *l)
{
    int most = 0;

    for (size_t i = 0; i < l->n; i++)
        most = (int)strlen(l->at[i].node) > most ? (int)strlen(l->at[i].node) : most;
    return most;
}

static void print(const struct node_choices *l, struct err *e)
{
    char note[NODE_NOTE_BYTES];

    for (size_t i = 0; i < l->n; i++) {
        node_choice_note(&l->at[i], now_s(), note);
        printf("%-*s  %s\n", widest(l), l->at[i].node, note);
    }
    err_set(e,
            "no node given%s; give %s, --demo, --replay FILE, or --flame FILE (--help lists the "
            "options)",
            l->n      ? ""
            : l->epmd ? ", and the epmd of this machine has none"
                      : ", and no epmd answers on this machine",
            l->n ? "one of these nodes, or another (app@host)" : "a node (app@host)");
}

/* ---- with a screen ---- */

struct chooser {
    const char *release; /* node of the environment; NULL: none */
    struct node_picker *picker;
    struct canvas canvas;
    enum node_picker_event last;
};

static void load(struct chooser *k)
{
    struct node_choices found;

    find_nodes(&found, k->release);
    node_picker_set(k->picker, &found, now_s());
}

static void draw(struct chooser *k)
{
    int rows, cols;

    term_size(&rows, &cols);
    if (rows != k->canvas.rows || cols != k->canvas.cols)
        canvas_resize(&k->canvas, rows, cols);
    node_picker_draw(k->picker, &k->canvas);
    term_show(&k->canvas);
}

static void loop(struct chooser *k)
{
    struct pollfd p = {.fd = term_fd(), .events = POLLIN};
    bool dirty = true;
    int key;

    while (!stop_asked() && !(p.revents & (POLLHUP | POLLERR | POLLNVAL))) {
        while ((key = term_key()) != KEY_NONE_) {
            struct mouse m = term_mouse();
            k->last = key == KEY_MOUSE_ ? node_picker_mouse(k->picker, &m)
                                        : node_picker_key(k->picker, key);
            if (k->last == NODE_PICKER_PICKED || k->last == NODE_PICKER_QUIT)
                return;
            if (k->last == NODE_PICKER_RELOAD)
                load(k);
            dirty |= k->last != NODE_PICKER_NOTHING;
        }
        if (dirty)
            draw(k);
        dirty = false;
        poll(&p, 1, 500);
    }
}

static void take(struct options *o, const struct node_choice *c)
{
    free(o->node[0]);
    o->node[0] = buf_dup(c->node);
    o->n_nodes = 1;
    o->node_from = NULL;
    if (c->tls && !o->tls) { /* as the node itself was started, unless options say otherwise */
        o->tls = true;
        o->tls_optfile = c->tls_optfile[0] ? buf_dup(c->tls_optfile) : NULL;
    }
    if (c->connect[0] && !o->connect)
        o->connect = buf_dup(c->connect);
}

/* The theme of the option, else the one that the operator chose in an earlier run. */
static void use_theme(const struct options *o)
{
    enum window ignored;
    struct ui *u = ui_new(NULL);

    layout_load(u, &ignored);
    term_theme(o->theme < THEME_COUNT ? o->theme : ui_theme(u));
    ui_free(u);
}

static bool show(struct options *o, const struct node_choices *found, int *status, struct err *e)
{
    struct chooser k = {.release = o->node[0], .last = NODE_PICKER_NOTHING};

    *status = 1;
    if (term_open(o->no_color, e) < 0)
        return false;
    crash_restores_terminal();
    if (!o->no_mouse)
        term_mouse_on();
    use_theme(o);
    k.picker = node_picker_new();
    canvas_init(&k.canvas, 24, 80, o->ascii || !term_is_utf8());
    node_picker_set(k.picker, found, now_s());
    loop(&k);
    term_close();
    if (k.last == NODE_PICKER_PICKED)
        take(o, node_picker_picked(k.picker));
    canvas_release(&k.canvas);
    node_picker_free(k.picker);
    *status = 0;
    return k.last == NODE_PICKER_PICKED;
}

static bool has_screen(const struct options *o)
{
    return !o->batch && !o->hazards && !o->suggest && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool choose_node_wanted(const struct options *o)
{
    bool release = o->node_from && strncmp(o->node_from, "RELEASE_", 8) == 0;

    return o->n_nodes == 0 || (release && has_screen(o));
}

bool choose_node(struct options *o, int *status, struct err *e)
{
    struct node_choices found;

    find_nodes(&found, o->node[0]);
    if (!has_screen(o)) {
        print(&found, e);
        *status = 2;
        return false;
    }
    return show(o, &found, status, e);
}
