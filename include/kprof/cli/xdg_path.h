/* The directories of kprof-top's files: kprof-top under $XDG_CONFIG_HOME or $XDG_STATE_HOME, else
 * under HOME. Source: XDG Base Directory Specification (a relative base must be ignored).
 *
 * Directories are created with mode 0700. One thread. */
#ifndef KPROF_CLI_XDG_PATH_H
#define KPROF_CLI_XDG_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define XDG_PATH_BYTES 4096

enum xdg_path { XDG_CONFIG, XDG_STATE };

/* Stores the path of a file (name "": path of the directory, with a slash at the end); false: no
 * home, or a home that is too long. */
bool xdg_path_of(enum xdg_path p, const char *name, char path[XDG_PATH_BYTES]);
/* Creates the directories above the path. A failure here is not reported: opening the file fails
 * later. */
void xdg_path_make(const char *path);

#endif
