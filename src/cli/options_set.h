/* The options one by one: the syntax of each, and how its value gets into struct options. A new
 * option needs a field in struct options and a line in the table of options_set.c (and in help.c,
 * kprof.1 and the completions).
 *
 * Invariant: each value that a setter stores in struct options is valid by itself; options_parse
 * checks combinations. The table is constant. One thread. */
#ifndef KPROF_CLI_OPTIONS_SET_H
#define KPROF_CLI_OPTIONS_SET_H

#include <kprof/cli/options.h>

enum options_kind {
    OPTIONS_VALUE, /* takes a value */
    OPTIONS_FLAG,  /* takes no value */
    OPTIONS_ASK    /* takes no value and sets nothing: --help, --version */
};
enum options_where { OPTIONS_BOTH, OPTIONS_ARGV, OPTIONS_FILE };

struct options_def {
    const char *name; /* --name; in a config file with _ for - */
    char letter;      /* letter of the short form; 0: none */
    enum options_kind kind;
    enum options_where where; /* where it may be used; a node is a word of argv, not an option */
    int (*set)(const struct options_def *d, const char *val, struct options *o, struct err *e);
    size_t at;      /* offset of the field that it sets, if it sets only one field */
    uint64_t bound; /* minimum duration in ns, maximum count */
    bool owns;      /* the field is a char * for options_set_release to free */
};

#define OPTIONS_DEFS_MAX 80

/* Returns the i-th option of the table; NULL: i is beyond the last. */
const struct options_def *options_set_at(size_t i);
/* Returns the index of the option in the table; the option must exist. */
size_t options_set_index(const char *name);
/* Sets the option to val, which is NULL for a flag. Returns 0, or -1 with err. */
int options_set_value(const struct options_def *d, const char *val, struct options *o,
                      struct err *e);
/* Sets an option that takes no value to false. */
void options_set_off(const struct options_def *d, struct options *o);
void options_set_release(struct options *o); /* frees every owned field; wipes a cookie */

#endif
