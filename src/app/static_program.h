/* What a statically linked kprof-top does differently (make static): it finds hosts and users by
 * /etc/hosts, DNS and /etc/passwd alone. Other methods of nsswitch.conf are shared libraries, which
 * may belong to another C library and then crash.
 *
 * To be called once, before any other thread exists. Does nothing in a dynamic program. */
#ifndef KPROF_APP_STATIC_PROGRAM_H
#define KPROF_APP_STATIC_PROGRAM_H

void static_program_begin(void);

#endif
