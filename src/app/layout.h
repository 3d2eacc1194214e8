/* The screen's layout between runs: $XDG_STATE_HOME/kprof-top/layout (else ~/.local/state/...).
 *
 * A layout that cannot be read or written is ignored without a message. One thread. */
#ifndef KPROF_APP_LAYOUT_H
#define KPROF_APP_LAYOUT_H

#include <kprof/ui/ui.h>

void layout_load(struct ui *u, enum window *w);
void layout_save(const struct ui *u, enum window w);

#endif
