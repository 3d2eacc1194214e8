/* The options one by one: how each is written, and how its value gets into struct options. A new
 * one is a field there and a line in this unit's table (and in help.c, kprof.1 and the
 * completions).
 *
 * Invariant: what a setter leaves in struct options is valid by itself; what goes with what is
 * options_parse's. The table is constant. One thread. */
#ifndef KPROF_CLI_OPTIONS_SET_H
#define KPROF_CLI_OPTIONS_SET_H

#include <kprof/cli/options.h>

enum options_kind {
    OPTIONS_VALUE, /* takes one */
    OPTIONS_FLAG,  /* takes none */
    OPTIONS_ASK    /* takes none and sets nothing: --help, --version */
};
enum options_where { OPTIONS_BOTH, OPTIONS_ARGV, OPTIONS_FILE };

struct options_def {
    const char *name; /* --name; in a config file with _ for - */
    char letter;      /* of its short form; 0: none */
    enum options_kind kind;
    enum options_where where; /* may be said; a node is a mere word of argv */
    int (*set)(const struct options_def *d, const char *val, struct options *o, struct err *e);
    size_t at;      /* offset of what it sets; unless that is more than a field */
    uint64_t bound; /* least duration in ns, greatest count */
    bool owns;      /* the field is a char * for options_set_release to free */
};

#define OPTIONS_DEFS_MAX 64

/* The i-th of the table; NULL: that was the last. */
const struct options_def *options_set_at(size_t i);
/* Its place in the table; the option must exist. */
size_t options_set_index(const char *name);
/* val is NULL for a flag. 0, or -1 with err. */
int options_set_value(const struct options_def *d, const char *val, struct options *o,
                      struct err *e);
void options_set_release(struct options *o); /* every field that is owned; a cookie is wiped */

#endif
