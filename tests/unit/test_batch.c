/* A run without a screen that fails, because its node does not take the configuration or because
 * its report is too long: one sentence has the reason. */
#include "fake_peer.h"
#include "stderr_text.h"

#include <kprof/trace/session.h>

/* The real control, but its node is a peer of the test. */
#define session_open peers_open
#include "../../src/engine/control.c"
#undef session_open

/* The real reports, but how long their text is is up to the test. */
#define export_write write_text
#include "../../src/app/batch.c"
#undef export_write

#include <fcntl.h>
#include <kprof/erl/enc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    const char *refused; /* the request that the node refuses; "": none */
    size_t text_mb;      /* the length of a report */
    bool brief;          /* a report is one line */
} net;

void write_text(struct buf *out, const struct snapshot *s, enum export_format f, bool first)
{
    static char mb[1 << 20];

    (void)s;
    (void)f;
    (void)first;
    memset(mb, 'x', sizeof mb);
    if (net.brief)
        buf_adds(out, "report\n");
    for (size_t i = 0; i < net.text_mb; i++)
        buf_add(out, mb, sizeof mb);
}

static bool hear(void *arg, struct peer *p, const struct heard *h, struct buf *out)
{
    (void)arg;
    (void)p;
    if (heard_is(h, net.refused, NULL)) {
        peer_error(out, "hazard", "this VM has a fault");
    } else if (heard_is(h, "config", NULL)) {
        enc_tuple(out, 2);
        enc_atom(out, "ok");
        enc_nil(out);
    } else {
        enc_atom(out, "ok");
    }
    return true;
}

/* Runs it for a report; returns the exit status, and what it wrote to standard error. */
static int run_said(const char *refused, enum export_format f, char *output, char *said, size_t cap)
{
    static struct options o;
    struct conn_target t = {.node = "n@h", .cookie = "cookie"};
    struct stderr_text text;

    net.refused = refused;
    peers_begin(hear, 1);
    options_defaults(&o);
    o.batch = true;
    o.mode = OPTIONS_NODE;
    o.node[0] = "n@h";
    o.n_tiers = 1;
    o.tier[0] = (struct tier_spec){.name = "t", .mfa = "m:f/1"};
    o.format = f;
    o.output = output;
    o.iterations = 1;
    o.delay_ns = 100000000;
    stderr_text_begin(&text);
    int status = run_batch(&o, &t);
    stderr_text_end(&text, said, cap);
    peers_end();
    return status;
}

static void a_refused_configuration_is_told(void **state)
{
    uint64_t begun = clock_mono_ns();
    char said[2000];

    (void)state;
    assert_int_equal(run_said("config", EXPORT_TEXT, "/dev/null", said, sizeof said), 1);
    assert_non_null(strstr(said, "kprof-top: connected to n@h, but its agent did not take the "
                                 "configuration: cannot trace: this VM has a fault\n"));
    assert_null(strstr(said, "20 s"));
    assert_true(clock_mono_ns() - begun < UINT64_C(10000000000));
}

/* The configuration was taken, but tracing is not on: the report is empty, and this says why. */
static void a_failed_switch_is_told(void **state)
{
    char said[2000];

    (void)state;
    assert_int_equal(run_said("tracing", EXPORT_TEXT, "/dev/null", said, sizeof said), 1);
    const char *line =
        "kprof-top: the agent could not do the request 'tracing': this VM has a fault\n";
    const char *first = strstr(said, line);
    assert_non_null(first);
    assert_null(strstr(first + 1, line));
}

/* A text that does not fit is not written: half of it would be invalid. */
static void a_text_too_long_is_an_error(void **state)
{
    static const enum export_format formats[] = {EXPORT_JSON, EXPORT_PROM};
    char said[2000], path[] = "/tmp/kprof-batch-XXXXXX", kept[20] = "";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    net.text_mb = 65;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs("old\n", file);
        fclose(file);
        assert_int_equal(run_said("", formats[i], path, said, sizeof said), 1);
        assert_non_null(strstr(said, "kprof-top: cannot write /tmp/kprof-batch-"));
        assert_non_null(strstr(said, ": its text is longer than 64 MB"));
        file = fopen(path, "r");
        assert_non_null(file);
        kept[fread(kept, 1, sizeof kept - 1, file)] = 0;
        fclose(file);
        assert_string_equal(kept, formats[i] == EXPORT_PROM ? "old\n" : "");
    }
    net.text_mb = 1;
    assert_int_equal(run_said("", EXPORT_PROM, path, said, sizeof said), 0);
    net.text_mb = 0;
    unlink(path);
}

/* A file is replaced by each report of this format, a pipe is not: each report is written to it. */
static void a_pipe_is_written_not_replaced(void **state)
{
    char said[2000], got[20], dir[] = "/tmp/kprof-batch-XXXXXX", path[40];
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/pipe", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    net.brief = true;
    assert_int_equal(run_said("", EXPORT_PROM, path, said, sizeof said), 0);
    net.brief = false;
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(read(reader, got, sizeof got), 14); /* one interval and the summary */
    assert_memory_equal(got, "report\nreport\n", 14);
    close(reader);
    unlink(path);
    rmdir(dir);
}

/* The node could not be asked for the functions of a preset, again and again: the last reason is
 * told, not a guess. */
static void why_a_preset_waited_is_told(void **state)
{
    static struct options o;
    struct batch b = {.o = &o};
    struct settings settings;
    struct err e;

    (void)state;
    options_defaults(&o);
    o.mode = OPTIONS_NODE;
    o.node[0] = "n@h";
    o.preset = "cowboy";
    settings_map_from(&o, &settings);
    preset_take_first(&b.preset, &o, &settings);
    b.g = engine_new(&settings, &(struct engine_hooks){.arg = &b, .exist = on_exist}, &e);
    assert_non_null(b.g);
    assert_int_equal(may_wait(&b, 0, &e), -1);
    assert_non_null(strstr(e.text, "the node may be too busy"));
    b.preset.asked = true;
    on_exist(&b, b.preset.tag, NULL, "the code server did not answer");
    assert_int_equal(may_wait(&b, UINT64_MAX, &e), 0);
    assert_int_equal(may_wait(&b, 0, &e), -1);
    assert_string_equal(e.text, "connected to n@h, but preset cowboy could not be applied within "
                                "20 s: the code server did not answer");
    preset_take_drop(&b.preset);
    engine_free(b.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_configuration_is_told),
        cmocka_unit_test(a_failed_switch_is_told),
        cmocka_unit_test(a_text_too_long_is_an_error),
        cmocka_unit_test(a_pipe_is_written_not_replaced),
        cmocka_unit_test(why_a_preset_waited_is_told),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
