#include "live_full.h"

#include <errno.h>
#include <kprof/base/clock.h>
#include <kprof/cli/output.h>
#include <kprof/export/call_text.h>
#include <stdio.h>
#include <string.h>

#define FRESH_NS 250000000u
#define TEXT     ".txt"

void live_full(struct live_full *p, struct engine *g, struct ui *u, const struct intent *in)
{
    struct err e = {{0}};

    if (in->kind == INTENT_FULL_END)
        engine_full_end(g);
    else if (engine_full_begin(g, &in->full, &e) < 0)
        ui_message(u, e.text, true);
    p->next_ns = 0;
}

static void give_result(struct engine *g, struct ui *u)
{
    struct stack_profile *profile;
    struct call_tree *tree;

    if (engine_full_take(g, &tree, &profile))
        ui_set_full_result(u, tree, profile);
}

bool live_full_poll(struct live_full *p, struct engine *g, struct ui *u)
{
    uint64_t at = clock_mono_ns();
    struct full_now now;
    char line[1000];

    engine_full(g, &now);
    bool changed = now.state != p->state;
    bool moves = now.state >= FULL_ASKED && now.state <= FULL_RECEIVES;
    if (!changed && (!moves || at < p->next_ns))
        return false;
    p->state = now.state;
    p->next_ns = at + FRESH_NS;
    ui_set_full(u, &now);
    if (now.state == FULL_ENDED)
        give_result(g, u);
    if (changed && !moves && now.state != FULL_IDLE && !ui_shows_full(u)) {
        snprintf(line, sizeof line, "full trace: %.800s; X shows it", now.says);
        ui_message(u, line, now.state == FULL_NOT_CAUGHT);
    }
    return true;
}

/* ---- export ---- */

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

static bool is_text(const char *path)
{
    size_t n = strlen(path), e = sizeof TEXT - 1;
    return n > e && strcmp(path + n - e, TEXT) == 0;
}

bool live_full_export(struct ui *u, const struct intent *in)
{
    struct call_tree_hide hide;
    const struct call_tree *t = ui_call_tree(u, &hide);
    struct err e = {{0}};
    char line[700];

    if (!t || !is_text(in->text))
        return false;
    struct to_file to = {.path = in->text, .e = &e};
    to.fd = output_open(in->text, in->force ? OUTPUT_OVER : OUTPUT_NEW, &e);
    if (to.fd < 0 && errno == EEXIST && !in->force) {
        struct intent yes = *in;
        yes.force = true;
        snprintf(line, sizeof line, "%.600s exists. Overwrite it?", in->text);
        ui_ask(u, line, &yes);
        return true;
    }
    bool ok = to.fd >= 0 && call_text_write(t, &hide, write_piece, &to);
    if (to.fd >= 0)
        ok = output_close(to.fd, in->text, ok ? 0 : -1, &e) == 0;
    snprintf(line, sizeof line, "written to %.300s", in->text);
    ui_message(u, ok ? line : e.text, !ok);
    return true;
}
