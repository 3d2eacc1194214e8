#include "crash.h"

#include <kprof/ui/term.h>
#include <signal.h>

/* Restores the terminal, then lets the crash take its normal course. */
static void on_crash(int sig)
{
    term_restore();
    signal(sig, SIG_DFL);
    raise(sig);
}

void crash_restores_terminal(void)
{
    struct sigaction sa = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};

    sigemptyset(&sa.sa_mask);
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    sigaction(SIGFPE, &sa, NULL);
    sigaction(SIGILL, &sa, NULL);
    sigaction(SIGABRT, &sa, NULL);
}
