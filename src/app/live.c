#include <kprof/app/run.h>

#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/export/export.h>
#include <kprof/ui/term.h>
#include <kprof/ui/ui.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FRESH_NS       500000000u /* a new snapshot this often */
#define DRAWS_A_SECOND 10

struct live {
    const struct options *o;
    struct engine *g;
    struct ui *ui;
    struct canvas canvas;
    struct snapshot *snap;
    enum window window;
    uint64_t fresh_at_ns, drawn_ns[DRAWS_A_SECOND]; /* times of the last draws, round robin */
    unsigned draws;
    bool dirty, quit;
};

static void on_message(void *arg, const char *text, bool is_error)
{
    struct live *l = arg;
    ui_message(l->ui, text, is_error);
    l->dirty = true;
}

static void on_rule_refused(void *arg, const char *rule, const char *why)
{
    struct live *l = arg;
    unsigned line, column;
    size_t at = strlen(rule);

    if (sscanf(why, "line %u, column %u", &line, &column) == 2 && line == 1 && column > 0 &&
        column - 1 < at)
        at = column - 1;
    ui_reprompt(l->ui, INTENT_IDENTITY, rule, at, why);
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

/* A crash must leave a sane terminal; then it is a crash as ever. */
static void on_crash(int sig)
{
    term_restore();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void crash_signals(void)
{
    struct sigaction sa = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};

    sigemptyset(&sa.sa_mask);
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    sigaction(SIGFPE, &sa, NULL);
    sigaction(SIGILL, &sa, NULL);
    sigaction(SIGABRT, &sa, NULL);
}

static void refresh(struct live *l)
{
    if (l->snap && ui_is_paused(l->ui))
        return;
    snapshot_free(l->snap);
    l->snap = engine_snapshot(l->g, l->window, false);
    l->fresh_at_ns = clock_mono_ns() + FRESH_NS;
    l->dirty = true;
}

static void export_to(struct live *l, const struct intent *in)
{
    char line[700];
    struct buf text;
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (in->force ? O_TRUNC : O_EXCL);
    int fd = open(in->text, flags, 0600);

    if (fd < 0 && errno == EEXIST && !in->force) {
        ui_ask_overwrite(l->ui, in->text);
        return;
    }
    if (fd < 0) {
        snprintf(line, sizeof line, "cannot write %.300s: %s", in->text, strerror(errno));
        ui_message(l->ui, line, true);
        return;
    }
    buf_init(&text, 0);
    export_write(&text, l->snap, EXPORT_TEXT, true);
    bool ok = write(fd, text.data, text.len) == (ssize_t)text.len;
    ok = close(fd) == 0 && ok;
    snprintf(line, sizeof line, "%s %.300s", ok ? "written to" : "could not write all of",
             in->text);
    ui_message(l->ui, line, !ok);
    buf_release(&text);
}

/* Carries out what a key meant. */
static void carry_out(struct live *l, const struct intent *in)
{
    struct err e = {{0}};
    int rc = 0;

    switch (in->kind) {
    case INTENT_NONE:
        return;
    case INTENT_REDRAW:
        break;
    case INTENT_QUIT:
        l->quit = true;
        break;
    case INTENT_TOGGLE:
        engine_toggle(l->g);
        break;
    case INTENT_WINDOW:
        l->window = in->window;
        refresh(l);
        break;
    case INTENT_ZERO:
        engine_zero(l->g);
        refresh(l);
        break;
    case INTENT_EXPORT:
        export_to(l, in);
        break;
    case INTENT_TIER_ADD:
        rc = engine_tier_add(l->g, in->text, &e);
        if (rc < 0)
            ui_reprompt(l->ui, INTENT_TIER_ADD, in->text, strlen(in->text), e.text);
        e.text[0] = 0;
        rc = 0;
        refresh(l);
        break;
    case INTENT_TIER_REMOVE:
        rc = engine_tier_remove(l->g, in->tier, &e);
        refresh(l);
        break;
    case INTENT_ENTRY:
        rc = engine_entry(l->g, in->text, &e);
        break;
    case INTENT_IDENTITY:
        rc = engine_identity(l->g, in->text, &e);
        break;
    case INTENT_COMPLETE:
        engine_complete(l->g, in->text);
        break;
    case INTENT_WHY:
        engine_why(l->g, in->tier);
        break;
    case INTENT_SAMPLE_UP:
    case INTENT_SAMPLE_DOWN:
        engine_sample(l->g, in->kind == INTENT_SAMPLE_UP);
        break;
    case INTENT_STACK:
        break;
    }
    if (rc < 0)
        ui_message(l->ui, e.text, true);
    l->dirty = true;
}

/* At most DRAWS_A_SECOND in any second; a key's answer is drawn at once as long as that allows. */
static bool may_draw(struct live *l, uint64_t now)
{
    return now - l->drawn_ns[l->draws % DRAWS_A_SECOND] >= 1000000000u || l->draws < DRAWS_A_SECOND;
}

static void draw(struct live *l, uint64_t now)
{
    int rows, cols;

    term_size(&rows, &cols);
    if (rows != l->canvas.rows || cols != l->canvas.cols)
        canvas_resize(&l->canvas, rows, cols);
    ui_draw(l->ui, &l->canvas, l->snap);
    term_show(&l->canvas);
    l->drawn_ns[l->draws++ % DRAWS_A_SECOND] = now;
    l->dirty = false;
}

static void keys(struct live *l)
{
    int k;

    while ((k = term_key()) != KEY_NONE_) {
        struct intent in = ui_key(l->ui, k, l->snap);
        if (k == KEY_RESIZE_)
            l->dirty = true;
        carry_out(l, &in);
    }
}

static void loop(struct live *l)
{
    struct pollfd p[2] = {{.fd = term_fd(), .events = POLLIN},
                          {.fd = engine_wake_fd(l->g), .events = POLLIN}};
    uint64_t end = l->o->duration_ns ? clock_mono_ns() + l->o->duration_ns : UINT64_MAX;

    while (!l->quit && !run_stopping() && engine_state(l->g) != ENGINE_FAILED) {
        bool more = engine_poll(l->g);
        keys(l);
        uint64_t now = clock_mono_ns();
        if (now >= end)
            break;
        if (now >= l->fresh_at_ns)
            refresh(l);
        if (l->dirty && may_draw(l, now))
            draw(l, now);
        if (!more)
            poll(p, 2, l->dirty ? 10 : 50);
        if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            break; /* the terminal is gone */
    }
}

int run_live(const struct options *o, const struct target *t)
{
    struct live l = {.o = o, .window = WINDOW_10S};
    struct engine_hooks hooks = {.arg = &l,
                                 .message = on_message,
                                 .completions = on_completions,
                                 .rule_refused = on_rule_refused};
    struct session_receipt receipt = {0};
    struct ui_opts uo;
    struct err e = {{0}};
    int status = 1;

    l.g = engine_new(o, &hooks, &e);
    if (!l.g || term_open(o->no_color, &e) < 0)
        goto out;
    crash_signals();
    uo = (struct ui_opts){.ascii = o->ascii || !term_is_utf8(), .no_color = o->no_color};
    l.ui = ui_new(&uo);
    canvas_init(&l.canvas, 24, 80, uo.ascii);
    if (run_begin(l.g, o, t, &e) == 0) {
        loop(&l);
        status = 0;
        if (engine_state(l.g) == ENGINE_FAILED) {
            err_set(&e, "%s", engine_trouble(l.g));
            status = 1;
        }
    }
    term_close();
    bool attached = engine_state(l.g) != ENGINE_FAILED && engine_state(l.g) != ENGINE_CONNECTING;
    engine_detach(l.g, &receipt);
    if (attached)
        run_receipt(t, &receipt);
out:
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    if (l.ui) {
        snapshot_free(l.snap);
        canvas_release(&l.canvas);
        ui_free(l.ui);
    }
    engine_free(l.g);
    return status;
}
