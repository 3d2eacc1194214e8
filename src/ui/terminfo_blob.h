/* The terminfo entries of common terminals, embedded at build time by terminfo.sh: for a machine
 * without them, such as a container. Constant; any thread. */
#ifndef UI_TERMINFO_BLOB_H
#define UI_TERMINFO_BLOB_H

struct terminfo_entry {
    const char *name;  /* as in TERM; NULL: end of the table */
    const char *value; /* for the variable TERMINFO: b64: and the compiled entry (term(5)) */
};

extern const struct terminfo_entry terminfo_entries[];

#endif
