/* Shared by the AMQP loads: a connection with its own channel and queue. A failure ends the process
 * with status 1 and a message, for example if the server crashes. */
#ifndef KPROF_REAL_AMQP_CLIENT_H
#define KPROF_REAL_AMQP_CLIENT_H

#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static inline void amqp_must(bool ok, int client, const char *what)
{
    if (!ok) {
        fprintf(stderr, "AMQP client %d: %s failed\n", client, what);
        _exit(1);
    }
}

static inline bool amqp_answered(amqp_connection_state_t c)
{
    return amqp_get_rpc_reply(c).reply_type == AMQP_RESPONSE_NORMAL;
}

/* As guest, on 127.0.0.1; the queue is removed with its last consumer. */
static inline amqp_connection_state_t amqp_connected(int port, int client, amqp_bytes_t queue)
{
    amqp_connection_state_t c = amqp_new_connection();
    amqp_socket_t *s = amqp_tcp_socket_new(c);
    amqp_must(s && amqp_socket_open(s, "127.0.0.1", port) == AMQP_STATUS_OK, client, "connect");
    const amqp_rpc_reply_t in =
        amqp_login(c, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    amqp_must(in.reply_type == AMQP_RESPONSE_NORMAL, client, "login");
    amqp_channel_open(c, 1);
    amqp_must(amqp_answered(c), client, "channel.open");
    amqp_queue_declare(c, 1, queue, 0, 0, 0, 1, amqp_empty_table);
    amqp_must(amqp_answered(c), client, "queue.declare");
    return c;
}

static inline void amqp_consumes(amqp_connection_state_t c, int client, amqp_bytes_t queue)
{
    amqp_basic_consume(c, 1, queue, amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
    amqp_must(amqp_answered(c), client, "basic.consume");
}

/* When this returns, the server has processed everything that was sent before. */
static inline void amqp_close_channel(amqp_connection_state_t c, int client)
{
    amqp_must(amqp_channel_close(c, 1, AMQP_REPLY_SUCCESS).reply_type == AMQP_RESPONSE_NORMAL,
              client, "channel.close");
}

static inline void amqp_disconnect(amqp_connection_state_t c, int client)
{
    amqp_must(amqp_connection_close(c, AMQP_REPLY_SUCCESS).reply_type == AMQP_RESPONSE_NORMAL,
              client, "connection.close");
    amqp_destroy_connection(c);
}

#endif
