#include "notes.h"

#include "configuration.h"
#include "full_trace.h"
#include "session_log.h"
#include "stack_sampling.h"

#include <string.h>

/* "breaker open: REASON; next try in N s": the heartbeats have the remaining time. */
static void take_reason(struct engine *g, const char *text)
{
    static const char before[] = "breaker open: ";
    const char *from =
        strncmp(text, before, sizeof before - 1) == 0 ? text + sizeof before - 1 : text;

    err_copy(g->breaker_reason, sizeof g->breaker_reason, from);
    char *next = strstr(g->breaker_reason, "; next try in ");
    if (next)
        *next = 0;
}

/* "MFA was loaded: it is traced again": its tier exists now. */
static void take_reload(struct engine *g, const char *text)
{
    static const char after[] = " was loaded: it is traced again";
    const struct tierset *t = core_tiers(g->core);

    for (uint16_t i = 0; i < t->n; i++) {
        size_t n = strlen(t->tier[i].mfa);
        if (!g->configuration.unmatched[i] || strncmp(text, t->tier[i].mfa, n) != 0 ||
            strcmp(text + n, after) != 0)
            continue;
        g->configuration.unmatched[i] = false;
        g->configuration.absent[i] = 0;
        g->configuration.missing[0] = 0;
        core_tier_note(g->core, i, NULL);
    }
}

void notes_take(struct engine *g)
{
    struct stream_note n;

    while (stream_take_note(g->stream, &n)) {
        session_log_add(g, n.text);
        if (strcmp(n.tag, "relay_died") ==
            0) { /* it stays off until the operator switches it on again */
            g->configuration.wanted.tracing = false;
            configuration_push(g);
        }
        if (strcmp(n.tag, "reload") == 0)
            take_reload(g, n.text);
        if (strcmp(n.tag, "overload") == 0)
            take_reason(g, n.text);
        if (strcmp(n.tag, "stacks") == 0)
            stack_sampling_ended(g, n.text);
        if (strcmp(n.tag, "full") == 0)
            full_trace_aborted(g, n.text);
    }
}
