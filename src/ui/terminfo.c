#include "terminfo.h"

#include "terminfo_blob.h"
#include <kprof/base/buf.h>
#include <stdlib.h>
#include <string.h>

char *terminfo_offer(const char *name)
{
    const struct terminfo_entry *k = terminfo_entries;
    while (k->name && strcmp(k->name, name) != 0) {
        k++;
    }
    if (!k->name) {
        return NULL;
    }
    const char *now = getenv("TERMINFO");
    char *former = buf_dup(now ? now : "");
    setenv("TERMINFO", k->value, 1);
    return former;
}

void terminfo_withdraw(char *former)
{
    if (former && *former) {
        setenv("TERMINFO", former, 1);
    } else if (former) {
        unsetenv("TERMINFO");
    }
    free(former);
}
