#include <kprof/app/run.h>

#include <kprof/app/baseline.h>
#include <kprof/app/receipt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t stopping; /* the one thing a signal handler may touch */

static void on_stop(int sig)
{
    (void)sig;
    stopping = 1;
}

void run_signals(void)
{
    struct sigaction sa = {.sa_handler = on_stop}; /* no SA_RESTART: poll() must wake */

    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL);
}

bool run_stopping(void)
{
    return stopping != 0;
}

/* Tiers, entry and rule of the options into the engine. */
static int set_up(struct engine *g, const struct options *o, struct err *e)
{
    char text[TIER_NAME_BYTES + TIER_MFA_BYTES + 2];

    for (size_t i = 0; i < o->n_tiers; i++) {
        snprintf(text, sizeof text, "%s=%s", o->tier[i].name, o->tier[i].mfa);
        if (engine_tier_add(g, text, e) < 0)
            return -1;
    }
    if (o->entry && engine_entry(g, o->entry, e) < 0)
        return -1;
    if (o->entry_none && engine_entry(g, "none", e) < 0)
        return -1;
    if (o->identity && engine_identity(g, o->identity, e) < 0)
        return -1;
    return 0;
}

int run_baseline(struct engine *g, const struct options *o, struct err *e)
{
    const char *slash = o->baseline ? strrchr(o->baseline, '/') : NULL;
    struct snapshot *s = o->baseline ? baseline_load(o->baseline, e) : NULL;

    if (s)
        engine_compare(g, s, slash ? slash + 1 : o->baseline);
    return o->baseline && !s ? -1 : 0;
}

int run_begin(struct engine *g, const struct options *o, const struct target *t, struct err *e)
{
    if (!t->node)
        return engine_replay(g, o->replay, e);
    if (set_up(g, o, e) < 0)
        return -1;
    return engine_attach(g, t->node, t->cookie, e);
}

void run_receipt(const struct target *t, const struct session_receipt *r)
{
    struct buf line;

    if (!t->node)
        return;
    buf_init(&line, 0);
    receipt_text(t->node, r, &line);
    fprintf(stderr, "kprof-top: %s\n", line.data);
    buf_release(&line);
}
