#include <kprof/base/stop.h>

#include <signal.h>

static volatile sig_atomic_t stopping; /* a type that a signal handler may write */

static void on_stop(int sig)
{
    (void)sig;
    stopping = 1;
}

void stop_on_signals(void)
{
    struct sigaction sa = {.sa_handler = on_stop}; /* no SA_RESTART: poll() must wake */

    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
    sigaction(SIGQUIT, &sa, NULL); /* ^\ is on the keyboard, too */
    sa.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &sa, NULL);
}

bool stop_asked(void)
{
    return stopping != 0;
}
