/* amqp_load PORT RATE SECONDS
 *
 * Open AMQP load on 127.0.0.1 with three clients. One publishes RATE messages/s to a queue from
 * which another consumes and acknowledges each; a third publishes a tenth as many to its own queue
 * and gets each. A message is sent when it is due, whether earlier ones were answered or not; its
 * latency is the time from then until it arrives. Ends when the server has processed all messages,
 * and prints
 * {"publish":N,"ack":N,"get":N,"errors":N,"slices_us":X,"p50_us":X,"p99_us":X}, where errors is the
 * number of messages that were missing or out of order. Exits with 1 if it cannot continue. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "amqp_client.h"
#include "latency.h"

enum { BODY_BYTES = 200, PUBLISHER, CONSUMER, GETTER };
#define GETS_ONE_IN     10
#define SILENT_S        30
#define CHANNELS_END_NS 500000000

struct load {
    int port;
    uint64_t rate, messages, gets, errors; /* errors of the consumer */
    uint64_t get_errors;
    amqp_bytes_t queue, own_queue;
    int64_t start_ns;
    struct latency delivered, got;
    amqp_connection_state_t publisher, consumer, getter;
};

static void wait_until(int64_t at_ns)
{
    const struct timespec t = {at_ns / 1000000000, at_ns % 1000000000};
    while (latency_now() < at_ns)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* The body begins with the number of the message and the time when it was due. */
static void publish(amqp_connection_state_t c, int client, amqp_bytes_t queue, uint64_t i,
                    int64_t due_ns)
{
    char body[BODY_BYTES] = {0};
    memcpy(body, &i, sizeof i);
    memcpy(body + sizeof i, &due_ns, sizeof due_ns);
    const amqp_bytes_t message = {sizeof body, body};
    amqp_must(amqp_basic_publish(c, 1, amqp_empty_bytes, queue, 0, 0, NULL, message) ==
                  AMQP_STATUS_OK,
              client, "basic.publish");
}

static bool came(amqp_bytes_t body, uint64_t i, struct latency *to)
{
    uint64_t number;
    int64_t due_ns;
    if (body.len != BODY_BYTES)
        return false;
    memcpy(&number, body.bytes, sizeof number);
    memcpy(&due_ns, (const char *)body.bytes + sizeof number, sizeof due_ns);
    latency_add(to, latency_now() - due_ns);
    return number == i;
}

static void *publish_all(void *arg)
{
    struct load *l = arg;
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (uint64_t i = 0; i < l->messages; i++) {
        const int64_t due = latency_due(l->start_ns, i, l->rate);
        wait_until(due);
        publish(l->publisher, PUBLISHER, l->queue, i, due);
    }
    return NULL;
}

static void *consume_all(void *arg)
{
    struct load *l = arg;
    const struct timeval patience = {SILENT_S, 0};
    for (uint64_t i = 0; i < l->messages; i++) {
        amqp_envelope_t e;
        amqp_maybe_release_buffers(l->consumer);
        amqp_must(amqp_consume_message(l->consumer, &e, &patience, 0).reply_type ==
                      AMQP_RESPONSE_NORMAL,
                  CONSUMER, "a delivery");
        l->errors += !came(e.message.body, i, &l->delivered);
        amqp_must(amqp_basic_ack(l->consumer, 1, e.delivery_tag, 0) == 0, CONSUMER, "basic.ack");
        amqp_destroy_envelope(&e);
    }
    return NULL;
}

static void *get_all(void *arg)
{
    struct load *l = arg;
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (uint64_t i = 0; i < l->gets; i++) {
        amqp_message_t m;
        const int64_t due = latency_due(l->start_ns, i * GETS_ONE_IN, l->rate);
        wait_until(due);
        amqp_maybe_release_buffers(l->getter);
        publish(l->getter, GETTER, l->own_queue, i, due);
        const amqp_rpc_reply_t r = amqp_basic_get(l->getter, 1, l->own_queue, 1);
        amqp_must(r.reply_type == AMQP_RESPONSE_NORMAL, GETTER, "basic.get");
        if (r.reply.id != AMQP_BASIC_GET_OK_METHOD) {
            l->get_errors++;
            continue;
        }
        amqp_must(amqp_read_message(l->getter, 1, &m, 0).reply_type == AMQP_RESPONSE_NORMAL, GETTER,
                  "the message that it got");
        l->get_errors += !came(m.body, i, &l->got);
        amqp_destroy_message(&m);
    }
    return NULL;
}

static void connect_all(struct load *l)
{
    l->queue = amqp_cstring_bytes("real-consumed");
    l->own_queue = amqp_cstring_bytes("real-got");
    l->consumer = amqp_connected(l->port, CONSUMER, l->queue);
    amqp_consumes(l->consumer, CONSUMER, l->queue);
    l->publisher = amqp_connected(l->port, PUBLISHER, l->queue);
    l->getter = amqp_connected(l->port, GETTER, l->own_queue);
}

static void disconnect_all(struct load *l)
{
    amqp_queue_delete(l->getter, 1, l->own_queue, 0, 0);
    amqp_must(amqp_answered(l->getter), GETTER, "queue.delete");
    amqp_close_channel(l->publisher, PUBLISHER);
    amqp_close_channel(l->consumer, CONSUMER);
    amqp_close_channel(l->getter, GETTER);
    /* If the supervisor of a channel ends together with its connection, RabbitMQ logs an error (in
     * 1 of 10 loads, also without kprof-top). */
    wait_until(latency_now() + CHANNELS_END_NS);
    amqp_disconnect(l->publisher, PUBLISHER);
    amqp_disconnect(l->consumer, CONSUMER);
    amqp_disconnect(l->getter, GETTER);
}

static void run(struct load *l)
{
    void *(*const part[])(void *) = {publish_all, consume_all, get_all};
    pthread_t thread[3];

    l->start_ns = latency_now();
    for (int i = 0; i < 3; i++)
        amqp_must(pthread_create(&thread[i], NULL, part[i], l) == 0, i, "a thread");
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
    static struct load l;

    if (argc == 4) {
        l.port = atoi(argv[1]);
        l.rate = strtoull(argv[2], NULL, 10);
        l.messages = (uint64_t)((double)l.rate * atof(argv[3]));
        l.gets = l.messages / GETS_ONE_IN;
    }
    if (!l.gets) {
        fprintf(stderr, "Usage: amqp_load PORT RATE SECONDS (at least %d messages)\n", GETS_ONE_IN);
        return 2;
    }
    latency_init(&l.delivered, l.messages);
    latency_init(&l.got, l.gets);
    connect_all(&l);
    run(&l);
    disconnect_all(&l);
    const double slices_us = latency_slices_us(&l.delivered, 0.99, l.rate);
    printf("{\"publish\":%" PRIu64 ",\"ack\":%" PRIu64 ",\"get\":%" PRIu64 ",\"errors\":%" PRIu64
           ",\"slices_us\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
           l.messages + l.gets, l.messages, l.gets, l.errors + l.get_errors, slices_us,
           latency_quantile_us(&l.delivered, 0.5), latency_quantile_us(&l.delivered, 0.99));
    return 0;
}
