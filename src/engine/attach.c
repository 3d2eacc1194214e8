#include <kprof/engine/attach.h>

#include <kprof/base/clock.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#define TIMEOUT_MS 5000

/* The user's name, or number, goes to out: the node shows it to others that attach. */
static void user_name(char *out, size_t cap)
{
    const char *name = getenv("SUDO_USER") ? getenv("SUDO_USER") : getenv("USER");

    if (name && *name)
        snprintf(out, cap, "%s", name);
    else
        snprintf(out, cap, "uid %ld", (long)getuid());
}

/* Without random bytes the session cannot be opened, which says why. */
static uint64_t random_number(void)
{
    uint64_t n;

    return getrandom(&n, sizeof n, 0) == (ssize_t)sizeof n ? n : clock_mono_ns();
}

void attach_opts(const struct settings *s, const struct conn_target *to, struct attach_who *who,
                 struct session_opts *out)
{
    char user[64], host[128] = "";

    user_name(user, sizeof user);
    gethostname(host, sizeof host - 1);
    snprintf(who->text, sizeof who->text, "%.60s@%.100s, pid %ld", user, host, (long)getpid());
    *out = (struct session_opts){.to = *to,
                                 .self_name = s->self_name,
                                 .timeout_ms = TIMEOUT_MS,
                                 .force = s->force,
                                 .who = who->text,
                                 .instance = random_number(),
                                 .pause_ms = (uint32_t)(s->lease_ns / 1000000u)};
}
