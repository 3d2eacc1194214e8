#include "resolve.h"

#include <kprof/base/err.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct resolved {
    struct net_addresses addresses;
    char full_name[RESOLVE_NAME_BYTES];
};

/* Shared by the caller and the thread; the last one to leave frees it. */
struct lookup {
    pthread_mutex_t lock;
    pthread_cond_t done_now;
    bool done, left;
    int flags, code;
    char host[256];
    struct resolved found;
};

static int ask(const char *host, int flags, struct resolved *out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *list = NULL;
    int code = getaddrinfo(host, NULL, &hints, &list);

    if (code != 0)
        return code;
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next)
        net_add(&out->addresses, a->ai_addr);
    if (list->ai_canonname != NULL)
        err_copy(out->full_name, sizeof out->full_name, list->ai_canonname);
    freeaddrinfo(list);
    return out->addresses.n > 0 ? 0 : EAI_NONAME;
}

static void lookup_free(struct lookup *l)
{
    pthread_cond_destroy(&l->done_now);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void *work(void *arg)
{
    struct lookup *l = arg;
    int code = ask(l->host, l->flags, &l->found);

    pthread_mutex_lock(&l->lock);
    l->code = code;
    l->done = true;
    bool left = l->left;
    pthread_cond_signal(&l->done_now);
    pthread_mutex_unlock(&l->lock);
    if (left)
        lookup_free(l);
    return NULL;
}

static struct lookup *lookup_new(const char *host, int flags)
{
    struct lookup *l = calloc(1, sizeof *l);
    pthread_condattr_t monotonic;

    if (l == NULL)
        abort();
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->done_now, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&l->lock, NULL);
    l->flags = flags;
    err_copy(l->host, sizeof l->host, host);
    return l;
}

/* Waits for the thread, or leaves the lookup to it. */
static int await(struct lookup *l, uint64_t deadline_ns, struct resolved *out)
{
    long ns = (long)net_left_ms(deadline_ns) * 1000000;
    struct timespec end; /* a condition cannot wait on the clock of the deadline */
    int rc = 0, code = RESOLVE_TIMEOUT;

    clock_gettime(CLOCK_MONOTONIC, &end);
    ns += end.tv_nsec;
    end.tv_sec += ns / 1000000000;
    end.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&l->lock);
    while (!l->done && rc == 0)
        rc = pthread_cond_timedwait(&l->done_now, &l->lock, &end);
    bool done = l->done;
    l->left = !done;
    pthread_mutex_unlock(&l->lock);
    if (!done)
        return code;
    *out = l->found;
    code = l->code;
    lookup_free(l);
    return code;
}

static int in_thread(const char *host, int flags, uint64_t deadline_ns, struct resolved *out)
{
    struct lookup *l = lookup_new(host, flags);
    pthread_attr_t detached;
    pthread_t thread;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int rc = pthread_create(&thread, &detached, work, l);
    pthread_attr_destroy(&detached);
    if (rc == 0)
        return await(l, deadline_ns, out);
    lookup_free(l);
    return EAI_MEMORY;
}

int resolve_host(const char *host, uint64_t deadline_ns, struct net_addresses *out)
{
    struct resolved r = {.full_name = ""};
    int code = ask(host, AI_NUMERICHOST, &r);

    if (code != 0)
        code = in_thread(host, 0, deadline_ns, &r);
    if (code == 0)
        *out = r.addresses;
    return code;
}

bool resolve_full_name(const char *host, uint64_t deadline_ns, char out[RESOLVE_NAME_BYTES])
{
    struct resolved r = {.full_name = ""};

    if (in_thread(host, AI_CANONNAME, deadline_ns, &r) != 0)
        return false;
    memcpy(out, r.full_name, RESOLVE_NAME_BYTES);
    return true;
}

void resolve_literals(const char *text, struct net_addresses *out)
{
    struct resolved r = {.addresses = *out};

    while (*text != 0) {
        char one[NET_TEXT_BYTES];
        size_t n = strcspn(text, ", ");

        if (n > 0 && n < sizeof one) {
            memcpy(one, text, n);
            one[n] = 0;
            (void)ask(one, AI_NUMERICHOST, &r);
        }
        text += n + (text[n] != 0);
    }
    *out = r.addresses;
}
