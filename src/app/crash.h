/* After this call a crash (SIGSEGV, SIGABRT ...) first restores the terminal. Main thread, once. */
#ifndef KPROF_APP_CRASH_H
#define KPROF_APP_CRASH_H

void crash_restores_terminal(void);

#endif
