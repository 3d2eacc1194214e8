#include "receipt.h"

#include <inttypes.h>
#include <string.h>

static void count(struct buf *out, const char *before, uint64_t n, const char *one,
                  const char *many)
{
    buf_addf(out, "%s%" PRIu64 " %s", before, n, n == 1 ? one : many);
}

static void tokens(const struct session_receipt *r, struct buf *out)
{
    static const char *const gone[] = {"none", "drained", "reset"};

    if (strcmp(r->tokens, "kept") == 0) {
        buf_adds(
            out,
            "; trace tokens were not removed: another tracer prevents it, or it took too long");
        return;
    }
    if (r->holders) {
        count(out, "; ", r->holders, "idle process keeps", "idle processes keep");
        buf_adds(out, " an inert trace token until the next message");
        return;
    }
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        if (strcmp(r->tokens, gone[i]) == 0) {
            buf_adds(out, "; no trace tokens left");
            return;
        }
    }
    if (r->tokens[0])
        buf_addf(out, "; trace tokens: %s", r->tokens);
}

void receipt_text(const char *node, const struct session_receipt *r, struct buf *out)
{
    if (!r->asked) {
        buf_addf(out,
                 r->lost ? "there is no connection to %s: if the node runs, its agent has removed "
                           "everything"
                         : "%s did not answer the detach request; its agent removes everything "
                           "within 2 s",
                 node);
        return;
    }
    buf_addf(out, "detached from %s; left there: ", node);
    count(out, "", r->patterns, "pattern", "patterns");
    count(out, ", ", r->flags, "flag", "flags");
    count(out, ", ", r->processes, "process", "processes");
    count(out, ", ", r->modules, "module", "modules");
    tokens(r, out);
    if (r->modules)
        buf_addf(out,
                 "; the node's code server does not answer; the module%s removed when it answers",
                 r->modules == 1 ? " is" : "s are");
}
