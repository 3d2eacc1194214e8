#include "hazards.h"

#include "settings_map.h"
#include <ctype.h>
#include <errno.h>
#include <kprof/base/intern.h>
#include <kprof/base/ring.h>
#include <kprof/base/text.h>
#include <kprof/core/event.h>
#include <kprof/engine/attach.h>
#include <stdio.h>
#include <string.h>

static void add_line(struct buf *out, const struct hazard *h)
{
    char id[sizeof h->id];

    for (size_t i = 0; i < sizeof id; i++)
        id[i] = (char)toupper((unsigned char)h->id[i]);
    size_t cols = text_safe(out, id, strlen(id), 0, false);
    buf_addf(out, "%*s%s", cols < 5 ? (int)(5 - cols) : 1, "",
             h->avoided ? "precaution  " : "does not apply   ");
    text_safe(out, h->text, strlen(h->text), 0, false);
    buf_addch(out, '\n');
}

void hazards_text(const struct hazard *h, size_t n, struct buf *out)
{
    for (int avoided = 1; avoided >= 0; avoided--)
        for (size_t i = 0; i < n; i++)
            if (h[i].avoided == (avoided == 1))
                add_line(out, &h[i]);
}

static int print(const struct buf *text, struct err *e)
{
    if (fwrite(text->data, 1, text->len, stdout) != text->len || fflush(stdout) != 0)
        return err_set(e, "cannot write to standard output: %s", strerror(errno));
    return 0;
}

static int ask_and_print(struct session *s, struct err *e)
{
    struct hazard h[HAZARDS_MAX];
    struct buf text;
    size_t n;

    if (hazard_ask(s, h, &n, e) < 0)
        return -1;
    buf_init(&text, 0);
    hazards_text(h, n, &text);
    int rc = print(&text, e);
    buf_release(&text);
    return rc;
}

int run_hazards(const struct options *o, const struct conn_target *t)
{
    /* A session needs a stream; no events will arrive. */
    struct intern *names = intern_new(100, 10000);
    struct ring *ring = ring_new(64, sizeof(struct event));
    struct stream *stream = stream_new(ring, names);
    struct session_receipt receipt;
    struct session_info info;
    struct session_opts so;
    struct settings settings;
    struct attach_who who;
    struct err e = {{0}};
    int status = 1;

    settings_map_from(o, &settings);
    attach_opts(&settings, t, &who, &so);
    so.epoch = 1;
    so.stream = stream;
    struct session *s = session_open(&so, &info, &e);
    if (s) {
        status = ask_and_print(s, &e) < 0;
        session_close(s, &receipt);
        run_receipt(t, &receipt);
    }
    if (e.text[0])
        fprintf(stderr, "kprof-top: %s\n", e.text);
    if (!s && info.unreached)
        run_hint(t, info.port);
    stream_free(stream);
    ring_free(ring);
    intern_free(names);
    return status;
}
