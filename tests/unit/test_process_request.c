/* trace/process_request: rounds of the process table, complete, cut and invalid. */
#include "agent_processes.h"
#include "agent_terms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <kprof/erl/enc.h>
#include <kprof/trace/process_request.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_bytes(const void *bytes, size_t n, struct process_table *t)
{
    struct etf c;

    etf_init(&c, bytes, n);
    return process_request_read(&c, t);
}

static void a_round_is_read(void **state)
{
    struct buf b;
    struct process_table *t = process_table_new();

    (void)state;
    buf_init(&b, 0);
    agent_processes_round(&b, 7);
    assert_true(read_bytes(b.data, b.len, t));
    assert_int_equal(t->head.seq, 7);
    assert_int_equal(t->head.by, PROCESS_MEMORY);
    assert_int_equal(t->head.processes, 1234);
    assert_int_equal(t->head.unnamed, 7);
    assert_true(t->head.born_per_s == 15 && t->head.died_per_s == 5);
    assert_true(t->head.period_s == 2 && t->head.cost_percent == 0.125);
    assert_int_equal(t->n[PROCESS_UNGROUPED], 2);
    const struct process_row *r = &t->row[PROCESS_UNGROUPED][0];
    assert_int_equal(r->pid, UINT64_C(3) << 32 | 42);
    assert_string_equal(r->name, "the_name");
    assert_string_equal(r->initial_call, "my_server:init/1");
    assert_string_equal(r->application, "my_app");
    assert_string_equal(r->current, "gen_server:loop/7");
    assert_true(r->value[PROCESS_REDUCTIONS] == 3000 && r->value[PROCESS_QUEUE] == 5);
    assert_true(r->value[PROCESS_GROWTH] == -2 && r->value[PROCESS_GCS] == 4);
    assert_true(r->value[PROCESS_MEMORY] == 2400 && r->value[PROCESS_BINARY] == 320);
    assert_int_equal(r->status, STACK_RUNNING);
    assert_int_equal(r->rounds, 3);
    assert_true(fabs(r->share[STACK_WAITING] - 2.0 / 3) < 1e-9);
    r++;
    assert_string_equal(r->name, "");
    assert_string_equal(r->current, "");
    assert_true(r->value[PROCESS_REDUCTIONS] == 0 && r->value[PROCESS_MEMORY] == 1600);
    assert_true(isnan(r->value[PROCESS_QUEUE]) && isnan(r->value[PROCESS_GROWTH]));
    assert_true(isnan(r->value[PROCESS_BINARY]) && isnan(r->value[PROCESS_GCS]));
    assert_true(isnan(process_row_run(r)));
    assert_int_equal(t->n[PROCESS_BY_CALL], 2);
    assert_string_equal(t->row[PROCESS_BY_CALL][0].name, "my_server:init/1");
    assert_int_equal(t->row[PROCESS_BY_CALL][0].processes, 2);
    assert_true(t->row[PROCESS_BY_CALL][1].rest);
    assert_int_equal(t->n[PROCESS_BY_APPLICATION], 1);
    assert_string_equal(t->row[PROCESS_BY_APPLICATION][0].name, "my_app");
    process_table_free(t);
    buf_release(&b);
}

/* In the first round, values per second are not known. */
static void without_a_round_before(void **state)
{
    static const int64_t v[7] = {90000, 6000, 5, 5, 300, 40, 8};
    struct buf b;
    struct process_table *t = process_table_new();

    (void)state;
    buf_init(&b, 0);
    agent_processes_head(&b, 1, "queue", 0);
    enc_list(&b, 1);
    agent_processes_row(&b, 42, "the_name", v, 1);
    enc_nil(&b);
    enc_nil(&b);
    enc_nil(&b);
    assert_true(read_bytes(b.data, b.len, t));
    const struct process_row *r = &t->row[PROCESS_UNGROUPED][0];
    assert_true(isnan(r->value[PROCESS_REDUCTIONS]) && isnan(r->value[PROCESS_GROWTH]));
    assert_true(isnan(r->value[PROCESS_GCS]) && isnan(t->head.born_per_s));
    assert_true(r->value[PROCESS_QUEUE] == 5 && r->value[PROCESS_MEMORY] == 2400);
    process_table_free(t);
    buf_release(&b);
}

static void no_new_round(void **state)
{
    struct buf b;
    struct process_table *t = process_table_new();

    (void)state;
    buf_init(&b, 0);
    agent_processes_wait(&b, PROCESS_GATE_LEASE);
    assert_true(read_bytes(b.data, b.len, t));
    assert_int_equal(t->head.seq, 0);
    assert_int_equal(t->head.gate, PROCESS_GATE_LEASE);
    process_table_free(t);
    buf_clear(&b);
    t = process_table_new();
    agent_processes_wait(&b, 99); /* of a newer agent: closed */
    assert_true(read_bytes(b.data, b.len, t));
    assert_int_not_equal(t->head.gate, PROCESS_GATE_OPEN);
    process_table_free(t);
    buf_release(&b);
}

/* The part of the table that was read is within its limits, and all its strings are valid. */
static void assert_sound(const struct process_table *t)
{
    for (enum process_group g = 0; g < PROCESS_GROUPS; g++) {
        assert_true(t->n[g] <= PROCESS_ROWS + 1);
        for (size_t i = 0; i < t->n[g]; i++) {
            const struct process_row *r = &t->row[g][i];
            assert_true(strlen(r->name) <= PROCESS_NAME_BYTES);
            assert_true(r->initial_call && r->application && r->current);
            assert_true(r->status < STACK_STATUSES && r->rounds <= PROCESS_ROUNDS);
        }
    }
}

static void each_truncation_is_survived(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 0);
    agent_processes_round(&b, 1);
    for (size_t n = 0; n < b.len; n++) {
        struct process_table *t = process_table_new();
        uint8_t *cut = malloc(n ? n : 1); /* a read beyond it is seen by the sanitizer */
        memcpy(cut, b.data, n);
        assert_false(read_bytes(cut, n, t));
        assert_sound(t);
        free(cut);
        process_table_free(t);
    }
    buf_release(&b);
}

static void each_wrong_byte_is_survived(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 0);
    agent_processes_round(&b, 1);
    for (size_t at = 0; at < b.len; at++)
        for (int x = 1; x < 256; x += 37) {
            struct process_table *t = process_table_new();
            b.data[at] ^= (char)x;
            read_bytes(b.data, b.len, t);
            b.data[at] ^= (char)x;
            assert_sound(t);
            process_table_free(t);
        }
    buf_release(&b);
}

/* More rows than were asked for, numbers that no process has, an order that does not exist. */
static void what_is_out_of_bounds_is_refused(void **state)
{
    static const int64_t fine[7] = {1, 1, 1, 1, 1, 1, 1};
    static const int64_t huge[7] = {1, 1, 1, 1, INT64_MAX / 4, 1, 1};
    const struct {
        uint32_t rows;
        const int64_t *values;
        const char *by;
        bool ok;
    } cases[] = {{PROCESS_ROWS + 1, fine, "gcs", true},
                 {PROCESS_ROWS + 2, fine, "gcs", false},
                 {1, huge, "gcs", false},
                 {1, fine, "messages", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b;
        struct process_table *t = process_table_new();
        buf_init(&b, 0);
        agent_processes_head(&b, 2, cases[i].by, 1000000);
        enc_list(&b, cases[i].rows);
        for (uint32_t k = 0; k < cases[i].rows; k++)
            agent_processes_row(&b, (uint8_t)k, "n", cases[i].values, 1);
        enc_nil(&b);
        enc_nil(&b);
        enc_nil(&b);
        assert_int_equal(read_bytes(b.data, b.len, t), cases[i].ok);
        assert_sound(t);
        process_table_free(t);
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_is_read),
        cmocka_unit_test(without_a_round_before),
        cmocka_unit_test(no_new_round),
        cmocka_unit_test(each_truncation_is_survived),
        cmocka_unit_test(each_wrong_byte_is_survived),
        cmocka_unit_test(what_is_out_of_bounds_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
