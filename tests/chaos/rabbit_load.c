/* rabbit_load PORT CLIENTS: AMQP load on 127.0.0.1 until its parent ends or it is killed. Each
 * client is a process with a queue: it publishes some messages, receives them and acknowledges
 * each. Every quarter of a second the total number of received messages is printed. Exits with 1 if
 * a client fails, for example because the server has crashed. */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "amqp_client.h"

enum { BURST = 10, BODY_BYTES = 200, PAUSE_US = 3000, TELL_MS = 250, CLIENTS_MAX = 64 };

static void pause_us(long us)
{
    const struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static void child_of(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
}

static void publish(amqp_connection_state_t c, int client, amqp_bytes_t queue)
{
    static char body[BODY_BYTES];
    const amqp_bytes_t message = {sizeof body, body};
    for (int i = 0; i < BURST; i++) {
        amqp_must(amqp_basic_publish(c, 1, amqp_empty_bytes, queue, 0, 0, NULL, message) ==
                      AMQP_STATUS_OK,
                  client, "basic.publish");
    }
}

static void take(amqp_connection_state_t c, int client)
{
    for (int i = 0; i < BURST; i++) {
        amqp_envelope_t e;
        amqp_maybe_release_buffers(c);
        amqp_must(amqp_consume_message(c, &e, NULL, 0).reply_type == AMQP_RESPONSE_NORMAL, client,
                  "consume");
        amqp_must(amqp_basic_ack(c, 1, e.delivery_tag, 0) == 0, client, "basic.ack");
        amqp_destroy_envelope(&e);
    }
}

static void run(int port, int client, atomic_uint_fast64_t *got)
{
    char name[32];
    snprintf(name, sizeof name, "survive-%d", client);
    const amqp_bytes_t queue = amqp_cstring_bytes(name);
    const amqp_connection_state_t c = amqp_connected(port, client, queue);
    amqp_consumes(c, client, queue);
    for (;;) {
        publish(c, client, queue);
        take(c, client);
        atomic_fetch_add(got, BURST);
        pause_us(PAUSE_US);
    }
}

int main(int argc, char **argv)
{
    const int port = argc == 3 ? atoi(argv[1]) : 0;
    const int clients = argc == 3 ? atoi(argv[2]) : 0;
    if (port <= 0 || port > 65535 || clients <= 0 || clients > CLIENTS_MAX) {
        fprintf(stderr, "Usage: rabbit_load PORT CLIENTS (at most %d)\n", CLIENTS_MAX);
        return 2;
    }
    atomic_uint_fast64_t *got =
        mmap(NULL, sizeof *got, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) {
        perror("rabbit_load: mmap");
        return 1;
    }
    const pid_t self = getpid();
    const pid_t parent = getppid();
    for (int i = 0; i < clients; i++) {
        if (fork() == 0) {
            child_of(self);
            run(port, i, got);
        }
    }
    child_of(parent);
    while (waitpid(-1, NULL, WNOHANG) == 0) {
        printf("%" PRIu64 "\n", (uint64_t)atomic_load(got));
        fflush(stdout);
        pause_us(TELL_MS * 1000L);
    }
    return 1;
}
