#include "flame_file.h"

#include "crash.h"
#include "redraw_limit.h"
#include "stack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <kprof/base/clock.h>
#include <kprof/base/stop.h>
#include <kprof/cli/output.h>
#include <kprof/export/stacks.h>
#include <kprof/ui/term.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

struct to_file {
    int fd;
    const char *path;
    struct err *e;
};

static bool write_piece(void *arg, const char *bytes, size_t n)
{
    struct to_file *to = arg;
    return output_write(to->fd, to->path, bytes, n, to->e) == 0;
}

int flame_file_write(const struct stack_view *v, const char *path, enum output_mode mode,
                     const struct stacks_options *how, struct err *e)
{
    enum stacks_format f = stacks_format_of_file(path);
    if (f == STACKS_FORMATS) {
        errno = 0;
        return err_set(e, "unknown extension: use one of %s", stacks_endings());
    }
    struct to_file to = {.fd = output_open(path, mode, e), .path = path, .e = e};
    if (to.fd < 0)
        return -1;
    int rc = output_close(to.fd, path, stacks_write(v, f, how, write_piece, &to) ? 0 : -1, e);
    errno = 0;
    return rc;
}

void flame_file_export(struct ui *u, const struct intent *in, const char *title, const char *note)
{
    struct stacks_options how = {.title = title, .note = note};
    struct err e = {{0}};
    char line[700];
    const struct stack_view *v = ui_stacks(u, &how.query);
    if (!v) {
        ui_message(u, "no stack samples to export", true);
        return;
    }
    if (stacks_format_of_file(in->text) == STACKS_FORMATS) {
        snprintf(line, sizeof line, "unknown extension: use one of %s", stacks_endings());
        ui_reprompt(u, INTENT_EXPORT_STACKS, in->text, SIZE_MAX, line);
        return;
    }
    if (flame_file_write(v, in->text, in->force ? OUTPUT_OVER : OUTPUT_NEW, &how, &e) == 0) {
        snprintf(line, sizeof line, "written to %.300s", in->text);
        ui_message(u, line, false);
    } else if (errno == EEXIST && !in->force) {
        struct intent yes = *in;
        yes.force = true;
        snprintf(line, sizeof line, "%.600s exists. Overwrite it?", in->text);
        ui_ask(u, line, &yes);
    } else {
        ui_message(u, e.text, true);
    }
}

/* ---- the screen ---- */

struct viewer {
    struct ui *ui;
    struct canvas canvas;
    struct redraw_limit redraw_limit;
    const char *file;
    bool dirty, keyed, quit;
};

static void draw(struct viewer *w)
{
    int rows, cols;
    term_size(&rows, &cols);
    if (rows != w->canvas.rows || cols != w->canvas.cols)
        canvas_resize(&w->canvas, rows, cols);
    term_theme(ui_theme(w->ui));
    w->canvas.shades = !w->canvas.ascii && term_has_shades();
    ui_draw(w->ui, &w->canvas, NULL);
    term_show(&w->canvas);
    w->dirty = w->keyed = false;
}

static void keys(struct viewer *w)
{
    int k;
    while ((k = term_key()) != KEY_NONE_) {
        struct mouse m = term_mouse();
        struct intent in = k == KEY_MOUSE_ ? ui_mouse(w->ui, &m, NULL) : ui_key(w->ui, k, NULL);
        w->quit = w->quit || in.kind == INTENT_QUIT;
        if (in.kind == INTENT_EXPORT_STACKS)
            flame_file_export(w->ui, &in, w->file, NULL);
        if (in.kind != INTENT_NONE || k == KEY_RESIZE_)
            w->dirty = w->keyed = true;
    }
}

static void loop(struct viewer *w)
{
    struct pollfd p = {.fd = term_fd(), .events = POLLIN};
    w->dirty = true;
    while (!w->quit && !stop_asked()) {
        keys(w);
        if (w->dirty && redraw_limit_draw(&w->redraw_limit, clock_mono_ns(), w->keyed))
            draw(w);
        poll(&p, 1, w->dirty ? 10 : 500);
        if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
            break; /* the terminal is closed */
    }
}

/* Standard input had the samples, so keys are read from the terminal. */
static int take_terminal(struct err *e)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
        return err_set(e, "there is no terminal: %s", strerror(errno));
    close(fd);
    return 0;
}

static int show(const struct options *o, struct stack_file *now, struct stack_file *base,
                struct err *e)
{
    struct viewer w = {.file = o->flame};
    if (strcmp(o->flame, "-") == 0 && take_terminal(e) < 0)
        return -1;
    if (term_open(o->no_color, e) < 0)
        return -1;
    crash_restores_terminal();
    if (!o->no_mouse)
        term_mouse_on();
    w.ui = ui_new(NULL);
    canvas_init(&w.canvas, 24, 80, o->ascii || !term_is_utf8());
    if (o->theme < THEME_COUNT)
        ui_set_theme(w.ui, o->theme);
    ui_set_stacks(w.ui, stack_file_view(now), o->flame);
    if (base)
        ui_set_stacks_base(w.ui, stack_file_view(base));
    ui_show_stacks(w.ui, true);
    loop(&w);
    term_close();
    canvas_release(&w.canvas);
    ui_free(w.ui);
    return 0;
}

int flame_file_run(const struct options *o)
{
    struct err e = {{0}};
    int rc = -1;
    struct stack_file *base = NULL, *now = stack_file_open(o->flame, &e);
    if (!now)
        goto out;
    if (o->baseline && !(base = stack_file_open(o->baseline, &e)))
        goto out;
    if (o->batch) {
        struct stack_view *v = stack_file_view(now);
        rc = flame_file_write(
            v, o->output, OUTPUT_OVER,
            &(struct stacks_options){.title = o->flame, .integer_pid = o->perf_pid_integer}, &e);
        stack_view_release(v);
    } else {
        rc = show(o, now, base, &e);
    }
out:
    stack_file_close(now);
    stack_file_close(base);
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    return rc == 0 ? 0 : 1;
}
