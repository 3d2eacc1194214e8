#include "resolve.h"
#include <kprof/erl/this_host.h>

#include <kprof/erl/node_name.h>
#include <string.h>
#include <unistd.h>

static void name(char out[THIS_HOST_BYTES])
{
    out[0] = out[THIS_HOST_BYTES - 1] = 0;
    if (gethostname(out, THIS_HOST_BYTES - 1) < 0)
        out[0] = 0;
}

void this_host_short(char out[THIS_HOST_BYTES])
{
    name(out);
    out[strcspn(out, ".")] = 0;
    if (!node_name_chars(out, ""))
        memcpy(out, "localhost", sizeof "localhost");
}

bool this_host_full(char out[THIS_HOST_BYTES], uint64_t deadline_ns)
{
    char host[THIS_HOST_BYTES];

    name(out);
    memcpy(host, out, sizeof host);
    if (strchr(host, '.') == NULL &&
        (host[0] == 0 || !resolve_full_name(host, deadline_ns, out) || strchr(out, '.') == NULL))
        return false;
    return node_name_chars(out, ".");
}

bool this_host_is(const char *host)
{
    char ours[THIS_HOST_BYTES];

    name(ours);
    if (ours[0] == 0)
        return false;
    if (strcmp(host, ours) == 0)
        return true;
    ours[strcspn(ours, ".")] = 0;
    return strcmp(host, ours) == 0;
}
