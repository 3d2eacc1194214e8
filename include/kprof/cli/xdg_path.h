/* Where files of ours are: under $XDG_CONFIG_HOME or $XDG_STATE_HOME, else under HOME, in a
 * directory kprof-top. Source: XDG Base Directory Specification (a relative base is to be ignored).
 *
 * Directories are made 0700. One thread. */
#ifndef KPROF_CLI_XDG_PATH_H
#define KPROF_CLI_XDG_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define XDG_PATH_BYTES 4096

enum xdg_path { XDG_CONFIG, XDG_STATE };

/* The path of a file there (name "": of the directory, with its slash); false: no home, or too long
 * a one. */
bool xdg_path_of(enum xdg_path p, const char *name, char path[XDG_PATH_BYTES]);
/* Makes the directories above the path; what cannot be made shows when the file is opened. */
void xdg_path_make(const char *path);

#endif
