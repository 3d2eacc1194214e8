#include <kprof/trace/hazard.h>

#include "agent_call.h"

#include <string.h>

/* {Id, Held, Text} */
static bool read_hazard(struct etf *c, struct hazard *h)
{
    uint32_t arity;
    uint64_t avoided;
    const char *id;
    size_t n;

    memset(h, 0, sizeof *h);
    if (!etf_tuple(c, &arity) || arity != 3 || !etf_atom(c, &id, &n) || !etf_u64(c, &avoided) ||
        avoided > 1)
        return false;
    memcpy(h->id, id, n < sizeof h->id - 1 ? n : sizeof h->id - 1);
    h->avoided = avoided == 1;
    struct etf text = *c;
    etf_text(&text, h->text, sizeof h->text);
    return etf_skip(c);
}

/* {error, Tag, Text} */
static bool read_error(struct etf *c, char *why, size_t cap)
{
    uint32_t arity;

    if (!etf_tuple(c, &arity) || arity != 3 || !etf_is_atom(c, "error") || !etf_skip(c))
        return false;
    etf_text(c, why, cap);
    return true;
}

int hazard_ask(struct session *s, struct hazard hazard[HAZARDS_MAX], size_t *n, struct err *e)
{
    struct agent_call q;
    struct etf error;
    uint32_t rows;
    char why[300];

    *n = 0;
    agent_call_word(&q, "hazards");
    int rc = agent_call_send(&q, s, e);
    error = q.c;
    if (rc == 0 && read_error(&error, why, sizeof why))
        rc = err_set(e, "the agent cannot list the hazards of this node: %s", why);
    else if (rc == 0 && (!etf_list(&q.c, &rows) || rows > HAZARDS_MAX))
        rc = agent_call_unreadable("hazards", e);
    for (uint32_t i = 0; rc == 0 && i < rows; i++) {
        if (!read_hazard(&q.c, &hazard[*n]))
            rc = agent_call_unreadable("hazards", e);
        else
            ++*n;
    }
    agent_call_end(&q);
    return rc;
}
