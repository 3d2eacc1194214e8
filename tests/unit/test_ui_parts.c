/* The parts of the time on the screens: column, screen, waterfall; and that these and JSON agree.
 */
#include "fake_parts.h"
#include "fake_snapshot.h"
#include "ui_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/base/format.h>
#include <kprof/core/call_parts.h>
#include <kprof/core/tier.h>
#include <kprof/export/export.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ui/columns.h>

static struct ui *u;
static struct canvas c;
static struct fake *f;
static struct fake_parts *parts;

static void begin(int rows, int cols, bool shades, bool with_parts)
{
    u = ui_new(NULL);
    canvas_init(&c, rows, cols, false);
    c.shades = shades;
    f = fake_standard(4);
    parts = with_parts ? fake_parts_give(fake_snap(f)) : NULL;
}

static void end(void)
{
    const char *why = canvas_broken(&c);
    if (why) {
        fail_msg("%s", why);
    }
    fake_parts_free(parts);
    parts = NULL;
    canvas_release(&c);
    ui_free(u);
    fake_free(f);
}

/* ---- golden files ---- */

static const struct golden {
    const char *name;
    int rows, cols;
    bool shades;
    const char *keys;
} goldens[] = {
    {"table_parts_80x24", 24, 80, false, "<Down>"},
    {"table_parts_shades_80x24", 24, 80, true, "<Down>"},
    {"table_parts_120x40", 40, 120, false, ""},
    {"table_parts_40x10", 10, 40, false, ""},
    {"parts_80x24", 24, 80, false, "B<Down><Down>"},
    {"parts_shades_80x24", 24, 80, true, "B<Down><Down>"},
    {"parts_120x40", 40, 120, true, "B<Down><Down>"},
    {"parts_40x10", 10, 40, false, "B<Down><Down>"},
    {"slow_parts_80x24", 24, 80, false, "S<Down>"},
    {"slow_parts_120x40", 40, 120, true, "S>>>>>>"},
    {"fall_parts_80x24", 24, 80, false, "S<Enter>"},
    {"fall_parts_shades_80x24", 24, 80, true, "S<Enter><Down><Down>"},
    {"fall_parts_120x40", 40, 120, true, "S<Enter>"},
    {"fall_parts_40x10", 10, 40, false, "S<Enter>"},
};

static void pictures(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        const struct golden *g = &goldens[i];
        begin(g->rows, g->cols, g->shades, true);
        script_run(u, &c, fake_snap(f), g->keys);
        wrong += !picture_is_golden(&c, g->name);
        end();
    }
    assert_int_equal(wrong, 0);
}

/* ---- the time in mailboxes ---- */

/* The rows of db are those of a server; `all` of the time it runs calls of some tier. */
static void serve(struct snapshot *s, double all)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].tier == 3) {
            struct snap_row *r = (struct snap_row *)(uintptr_t)&s->rows[i];
            fake_waits(r);
            r->busiest_all = all;
        }
    }
}

static const struct mailbox_golden {
    const char *name;
    int rows, cols;
    bool parts;
    const char *keys;
    bool others; /* the server also runs calls of other tiers */
} mailbox_goldens[] = {
    {"table_mailbox_80x24", 24, 80, false, "", false},
    {"table_mailbox_120x40", 40, 120, false, "", false},
    {"table_mailbox_40x10", 10, 40, false, "", false},
    {"mailbox_80x24", 24, 80, false, "B", false},
    {"mailbox_40x10", 10, 40, false, "B", false},
    {"mailbox_parts_80x24", 24, 80, true, "B", false},
    {"mailbox_parts_120x40", 40, 120, true, "B", false},
    {"mailbox_tiers_80x24", 24, 80, false, "B", true},
};

static void pictures_of_mailboxes(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof mailbox_goldens / sizeof *mailbox_goldens; i++) {
        const struct mailbox_golden *g = &mailbox_goldens[i];
        begin(g->rows, g->cols, false, g->parts);
        serve(fake_snap(f), g->others ? 0.985 : 0.97);
        script_run(u, &c, fake_snap(f), "/db<Enter><Home>");
        script_run(u, &c, fake_snap(f), g->keys);
        wrong += !picture_is_golden(&c, g->name);
        end();
    }
    assert_int_equal(wrong, 0);
}

/* ---- requests that hung ---- */

static const struct snap_place hung[] = {
    {"prim_file:read_nif/2 < \x1b[2Jshop_db:load/1 < shop_db:handle_call/3", "waiting", 0.92},
    {"shop_db:handle_call/3", "running", 0.08}};

/* The requests and the open calls were polled. */
static void poll_all(struct snapshot *s)
{
    for (size_t i = 0; i < s->n_slow; i++) {
        struct snap_slow *w = (struct snap_slow *)(uintptr_t)&s->slow[i];
        w->polls = 50;
        w->places = hung;
        w->n_places = 2;
    }
    for (size_t i = 0; i < s->n_open; i++) {
        ((struct snap_open *)(uintptr_t)&s->open[i])->place = hung[i % 2];
    }
}

static void pictures_of_polls(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int rows, cols;
        const char *keys;
    } all[] = {
        {"fall_polled_80x24", 24, 80, "S<Enter>"}, {"fall_polled_120x40", 40, 120, "S<Enter>"},
        {"fall_polled_40x10", 10, 40, "S<Enter>"}, {"open_polled_80x24", 24, 80, "O"},
        {"open_polled_120x40", 40, 120, "O"},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        begin(all[i].rows, all[i].cols, false, false);
        fake_events(f, 0, 6, 0);
        poll_all(fake_snap(f));
        script_run(u, &c, fake_snap(f), all[i].keys);
        wrong += !picture_is_golden(&c, all[i].name);
        end();
    }
    assert_int_equal(wrong, 0);
}

/* ---- no data ---- */

static void without_parts_the_screen_says_why(void **state)
{
    (void)state;
    static const struct {
        struct snap_detail detail;
        bool replay;
        const char *says;
    } all[] = {
        {{.state = DETAIL_OFF}, false, "--detail off"},
        {{.state = DETAIL_NOT_HERE, .why = "the trace flag running can crash it"},
         false,
         "not recorded on this VM: the trace"},
        {{.state = DETAIL_ON, .every = 100, .every_asked = 100},
         false,
         "1 of 100 sampled requests"},
        {{.state = DETAIL_NO_ENTRY}, false, "there is no entry"},
        {{.state = DETAIL_NOT_KNOWN}, false, "the node has not said"},
        {{.state = DETAIL_NOT_KNOWN}, true, "The recording has no parts"},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[40];
        begin(24, 80, false, false);
        fake_snap(f)->detail = all[i].detail;
        fake_snap(f)->node.replay = all[i].replay;
        script_run(u, &c, fake_snap(f), "B");
        assert_true(picture_has(&c, all[i].says));
        snprintf(name, sizeof name, "parts_none_%zu_80x24", i);
        wrong += i < 3 && !picture_is_golden(&c, name);
        end();
    }
    assert_int_equal(wrong, 0);
    begin(10, 40, false, false); /* nothing at all */
    script_run(u, &c, NULL, "B<Down>");
    end();
}

static void the_internals_tell_the_state(void **state)
{
    (void)state;
    static const struct {
        struct snap_detail detail;
        const char *says;
    } all[] = {
        {{.state = DETAIL_NOT_KNOWN}, "-"},
        {{.state = DETAIL_OFF}, "off"},
        {{.state = DETAIL_ON, .every = 100, .every_asked = 100}, "1/100"},
        {{.state = DETAIL_ON, .every = 800, .every_asked = 100},
         "1/800, requested 1/100: max-overhead"},
        {{.state = DETAIL_NO_ENTRY}, "none: there is no entry"},
        {{.state = DETAIL_NOT_HERE, .why = "the flag running"}, "not on this VM: the flag running"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[SNAPSHOT_DETAIL_BYTES], line[SNAPSHOT_DETAIL_BYTES + 20];
        begin(40, 120, false, false);
        fake_snap(f)->detail = all[i].detail;
        snapshot_detail(fake_snap(f), text);
        assert_string_equal(text, all[i].says);
        script_run(u, &c, fake_snap(f), "#");
        snprintf(line, sizeof line, "  detail        %s", text);
        assert_true(picture_has(&c, line));
        end();
    }
}

/* If the operator asked for it, the header says that there is none. */
static void the_header_tells_that_there_is_none(void **state)
{
    (void)state;
    static const struct {
        struct snap_detail detail;
        const char *says; /* NULL: nothing */
    } all[] = {
        {{.state = DETAIL_NOT_HERE}, NULL},
        {{.state = DETAIL_NOT_HERE, .given = true}, "no detail: not on this VM"},
        {{.state = DETAIL_NO_ENTRY}, NULL},
        {{.state = DETAIL_NO_ENTRY, .given = true}, "no detail: no entry"},
        {{.state = DETAIL_ON, .every = 100, .every_asked = 100, .given = true}, NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        begin(40, 200, false, false);
        fake_snap(f)->detail = all[i].detail;
        script_run(u, &c, fake_snap(f), "");
        assert_int_equal(picture_has(&c, "no detail:"), all[i].says != NULL);
        assert_true(!all[i].says || picture_has(&c, all[i].says));
        end();
    }
}

/* ---- the column ---- */

static void the_column_is_there_with_parts_only(void **state)
{
    (void)state;
    begin(24, 80, false, false);
    script_run(u, &c, fake_snap(f), "");
    assert_false(picture_has(&c, "SHARE    PARTS"));
    parts = fake_parts_give(fake_snap(f));
    script_run(u, &c, fake_snap(f), "");
    assert_true(picture_has(&c, "SHARE    PARTS"));
    fake_parts_free(parts);
    parts = NULL;
    ui_layout_read(u, "show PARTS\n", strlen("show PARTS\n"), &(enum window){WINDOW_10S});
    script_run(u, &c, fake_snap(f), "");
    assert_true(picture_has(&c, "SHARE    PARTS"));
    parts = fake_parts_give(fake_snap(f));
    ui_layout_read(u, "hide PARTS\n", strlen("hide PARTS\n"), &(enum window){WINDOW_10S});
    script_run(u, &c, fake_snap(f), "");
    assert_false(picture_has(&c, "SHARE    PARTS"));
    end();
}

/* The list of slow requests has the column, and sorts by it, only if there are parts. */
static void slow_requests_have_parts(void **state)
{
    (void)state;
    begin(24, 80, false, false);
    script_run(u, &c, fake_snap(f), "S>>>>>>");
    assert_false(picture_has(&c, "PARTS"));
    assert_true(picture_has(&c, "PROCESS"));
    script_run(u, &c, fake_snap(f), ">"); /* from the process to the time */
    parts = fake_parts_give(fake_snap(f));
    struct slow_trace_request *r = /* the newest: as if not recorded */
        (struct slow_trace_request *)(uintptr_t)fake_snap(f)->slow_traces[0].request;
    uint32_t n = r->n_pieces;
    r->n_pieces = 0;
    script_run(u, &c, fake_snap(f), "");
    assert_true(picture_has(&c, "PARTS"));
    assert_true(
        picture_has(&c, "read             154ms parsing        123ms  80%          <0.123"));
    script_run(u, &c, fake_snap(f), ">>>>>>r<Up><Enter>"); /* reversed: not recorded is first */
    assert_true(picture_has(&c, "waiting for"));
    r->n_pieces = n;
    end();
}

static void keys_move_between_rows(void **state)
{
    (void)state;
    begin(24, 80, false, true);
    script_run(u, &c, fake_snap(f), "B");
    assert_true(picture_has(&c, "_total"));
    script_run(u, &c, fake_snap(f), "<Home><Tab>");
    script_run(u, &c, fake_snap(f), "<End>");
    script_run(u, &c, fake_snap(f), "<Down>");
    assert_true(picture_has(&c, "this is the last row of the table"));
    script_run(u, &c, fake_snap(f), "<Esc>");
    assert_true(picture_has(&c, "COUNT"));
    end();
}

/* ---- agreement ---- */

static double json_number(const char *from, const char *key)
{
    char quoted[60];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(from, quoted);
    if (!at) {
        fail_msg("no %s in %.200s", key, from);
        return 0;
    }
    return strtod(at + strlen(quoted), NULL);
}

/* The row of the entry gets the parts of the newest slow request, as if it were the only one. */
static void one_request(struct snapshot *s, struct time_part_view *v, struct time_parts *sum)
{
    const struct slow_trace_request *r = s->slow_traces[0].request;
    uint64_t whole = r->end_ns - r->start_ns, all = 0;
    call_parts_sum(r, 0, sum);
    *v = (struct time_part_view){.calls = 1, .slow_from_us = (double)whole / 1e3};
    for (int p = 0; p < PART_COUNT; p++) {
        all += sum->ns[p];
        v->mean_us[p] = v->p50_us[p] = v->p99_us[p] = (double)sum->ns[p] / 1e3;
        v->share[p] = v->slow_share[p] = (double)sum->ns[p] / (double)whole;
    }
    assert_int_equal(all, whole); /* to the nanosecond */
}

static struct snap_row *row_of(struct snapshot *s, uint16_t tier)
{
    size_t i = 0;
    while (s->rows[i].tier != tier || s->rows[i].ident) {
        i++;
    }
    return (struct snap_row *)(uintptr_t)&s->rows[i];
}

/* The letters of the column in the line of the tier. */
static void column_letters(const char *tier, size_t count[PART_COUNT])
{
    char bar[16] = "";
    struct buf b;
    buf_init(&b, 0);
    canvas_dump(&c, &b);
    const char *head = strstr(b.data, "PARTS"), *line = strstr(b.data, tier);
    assert_non_null(head);
    assert_non_null(line);
    const char *start = head;
    while (start > b.data && start[-1] != '\n') {
        start--;
    }
    size_t end_col = (size_t)(head - start) + strlen("PARTS");
    memcpy(bar, line - 2 + end_col - 8, 8);
    memset(count, 0, PART_COUNT * sizeof *count);
    for (int i = 0; bar[i]; i++) {
        for (int p = 0; p < PART_COUNT; p++) {
            count[p] += bar[i] == time_part_letter((enum time_part)p);
        }
    }
    buf_release(&b);
}

static void table_waterfall_and_json_agree(void **state)
{
    (void)state;
    struct time_part_view v;
    struct time_parts sum;
    size_t letters[PART_COUNT], all = 0;
    begin(40, 120, false, true);
    c.ascii = true;
    struct snapshot *s = fake_snap(f);
    one_request(s, &v, &sum);
    row_of(s, 1)->parts = &v;
    struct buf json;
    buf_init(&json, 0);
    export_write(&json, s, EXPORT_JSON, true);
    const char *row = strstr(json.data, "\"tier\":\"handle\",\"identity\":null");
    const char *call = strstr(json.data, "\"call_parts\":[");
    assert_non_null(row);
    assert_non_null(call);
    row = strstr(row, "\"parts\":");
    script_run(u, &c, s, "");
    column_letters("handle ", letters);
    script_run(u, &c, s, "S<Enter><Home>");
    for (int p = 0; p < PART_COUNT; p++) {
        const char *name = time_part_name((enum time_part)p);
        char key[32], quoted[40], line[60], took[FORMAT_BYTES];
        snprintf(key, sizeof key, "%s_us", p == PART_RUN_QUEUE ? "run_queue" : name);
        snprintf(quoted, sizeof quoted, "\"%.*s\":{", (int)strlen(key) - 3, key);
        double in_row = json_number(strstr(row, quoted), "mean_us"),
               in_call = json_number(call, key);
        assert_true(fabs(in_row - (double)sum.ns[p] / 1e3) < 0.001);
        assert_true(fabs(in_call - in_row) < 0.001);
        assert_true(fabs((double)letters[p] - 8 * v.share[p]) <= 1.0);
        all += letters[p];
        if (sum.ns[p]) {
            format_us((double)sum.ns[p] / 1e3, took);
            snprintf(line, sizeof line, " %c %-9s%8s", time_part_letter((enum time_part)p), name,
                     took);
            if (!picture_has(&c, line)) {
                fail_msg("the waterfall does not have \"%s\"", line);
            }
        }
    }
    assert_int_equal(all, 8);
    buf_release(&json);
    end();
}

/* ---- lists ---- */

static void the_list_of_a_call_adds_up(void **state)
{
    (void)state;
    begin(24, 80, false, true);
    const struct slow_trace_request *r = fake_snap(f)->slow_traces[0].request;
    for (uint32_t i = 0; i < r->n; i++) {
        for (size_t max = 0; max < 6; max++) {
            struct call_part list[6];
            struct time_parts sum;
            uint64_t rest, shown = 0, whole = 0;
            size_t n = call_parts_list(r, i, list, max, &rest);
            call_parts_sum(r, i, &sum);
            for (size_t k = 0; k < n && k < max; k++) {
                shown += list[k].ns;
                assert_true(k == 0 || list[k].ns <= list[k - 1].ns);
            }
            for (int p = 0; p < PART_COUNT; p++) {
                whole += sum.ns[p];
            }
            assert_int_equal(shown + rest, whole);
            if (r->call[i].end_ns) {
                assert_int_equal(whole, r->call[i].end_ns - r->call[i].start_ns);
            }
        }
    }
    end();
}

static void the_longest_waits_are_first(void **state)
{
    (void)state;
    begin(24, 80, false, true);
    uint64_t pid[3];
    const struct slow_trace_request *r = fake_snap(f)->slow_traces[0].request;
    assert_int_equal(call_parts_others(r, pid, 0), 0);
    assert_int_equal(call_parts_others(r, pid, 3), 1); /* the process of db */
    assert_int_equal(pid[0], r->call[0].pid + 1);
    assert_string_equal(snapshot_slow_who(fake_snap(f), r->id, pid[0]), "kv_db");
    assert_null(snapshot_slow_who(fake_snap(f), r->id, 1));
    r = fake_snap(f)->slow_traces[1].request;
    struct time_part_piece *p = &((struct slow_trace_request *)(uintptr_t)r)->piece[0];
    p->other = 77; /* shorter than those of db */
    assert_int_equal(call_parts_others(r, pid, 3), 2);
    assert_int_equal(pid[1], 77);
    end();
}

/* Numbers of names, parts and calls that the trace does not have. */
static void wrong_numbers_are_survived(void **state)
{
    (void)state;
    begin(24, 80, true, true);
    struct slow_trace_request *r =
        (struct slow_trace_request *)(uintptr_t)fake_snap(f)->slow_traces[0].request;
    for (uint32_t i = 0; i < r->n_pieces; i++) {
        r->piece[i].what = 4000000000u;
        r->piece[i].part = (uint8_t)(200 + i % 50);
        r->piece[i].other = UINT64_MAX - i;
        r->piece[i].queue = UINT32_MAX;
    }
    r->piece[r->n_pieces - 1].call = 1000000;
    script_run(u, &c, fake_snap(f), "S<Enter><Down><Down><Down><Home>");
    assert_true(picture_has(&c, "unknown"));
    struct buf json;
    buf_init(&json, 0);
    export_write(&json, fake_snap(f), EXPORT_JSON, true);
    buf_release(&json);
    end();
}

int main(void)
{
    setenv("TZ", "UTC0", 1); /* clock times are local */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures),
        cmocka_unit_test(pictures_of_mailboxes),
        cmocka_unit_test(pictures_of_polls),
        cmocka_unit_test(without_parts_the_screen_says_why),
        cmocka_unit_test(the_internals_tell_the_state),
        cmocka_unit_test(the_header_tells_that_there_is_none),
        cmocka_unit_test(the_column_is_there_with_parts_only),
        cmocka_unit_test(slow_requests_have_parts),
        cmocka_unit_test(keys_move_between_rows),
        cmocka_unit_test(table_waterfall_and_json_agree),
        cmocka_unit_test(the_list_of_a_call_adds_up),
        cmocka_unit_test(the_longest_waits_are_first),
        cmocka_unit_test(wrong_numbers_are_survived),
    };
    return cmocka_run_group_tests_name("ui_parts", tests, NULL, NULL);
}
