#include "rule_check.h"

#include "session_log.h"
#include <stdio.h>
#include <string.h>

/* Most requests that were open when the node took the rule have ended after BEFORE_NS; then the
 * rule has ENOUGH_NS to name one. */
#define BEFORE_NS UINT64_C(500000000)
#define ENOUGH_NS UINT64_C(1000000000)
/* After this time, a rule that has named requests is no longer checked. */
#define UNTIL_NS   UINT64_C(10000000000)
#define EVERY_NS   UINT64_C(100000000)
#define ARG_DIGITS 3

enum {
    SOME = 3,
    MANY = 20
}; /* requests needed for a result; the second if some have been named before */

void rule_check_begin(struct engine *g)
{
    static const struct rule_check none;

    g->rule_check = none;
    g->rule_check.wanted = g->configuration.wanted.identity[0] != 0;
}

/* The argument that the rule uses for names: "arg(2)"; in a fun it has its own name. */
static void argument(const char *rule, char *out, size_t cap)
{
    const char *at = strstr(rule, "arg(");
    size_t n = at ? strspn(at + 4, "0123456789") : 0;

    if (n > 0 && n <= ARG_DIGITS && at[4 + n] == ')')
        snprintf(out, cap, "%.*s", (int)(n + 5), at);
    else
        snprintf(out, cap, "List");
}

/* "": the rule names requests. */
static void judge(const struct core_names *n, const char *rule, char *out, size_t cap)
{
    char arg[16];

    out[0] = 0;
    argument(rule, arg, sizeof arg);
    if (n->compound > 0 && n->compound + n->undefined == n->all)
        snprintf(out, cap,
                 "the identity rule gives a list or a map, which cannot be a name: for a list, use "
                 "nth(1, %s); press I to see the arguments",
                 arg);
    else if (n->all > 0 && n->undefined == n->all)
        snprintf(out, cap,
                 "the identity rule has matched none of %llu calls so far; for a list, use nth(1, "
                 "%s); press I to see the arguments",
                 (unsigned long long)n->all, arg);
}

static uint64_t since(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

/* Later counts are compared with these. */
static void begin_anew(struct rule_check *k, const struct core_names *now)
{
    k->base = *now;
    k->first_ns = 0;
}

static void verdict(struct engine *g, uint64_t now_ns, const struct core_names *now)
{
    struct rule_check *k = &g->rule_check;
    struct core_names new = {.all = now->all - k->base.all,
                             .undefined = since(now->undefined, k->base.undefined),
                             .compound = since(now->compound, k->base.compound)};

    k->first_ns = k->first_ns || new.all == 0 ? k->first_ns : now_ns;
    if (!k->first_ns || now_ns < k->first_ns + ENOUGH_NS || new.all < (k->matched ? MANY : SOME))
        return;
    judge(&new, g->configuration.wanted.identity, k->note, sizeof k->note);
    if (!k->note[0]) { /* the former rule may have named them */
        k->matched = true;
        k->wanted = now_ns < k->begun_ns + UNTIL_NS;
        begin_anew(k, now);
    } else if (!k->warned) {
        k->warned = true;
        session_log_add(g, k->note);
        session_log_say(g, k->note, true);
    }
}

void rule_check_poll(struct engine *g, uint64_t now_ns)
{
    struct rule_check *k = &g->rule_check;
    struct core_names now;

    if (!k->wanted || now_ns < k->next_ns)
        return;
    k->next_ns = now_ns + EVERY_NS;
    k->begun_ns = k->begun_ns ? k->begun_ns : now_ns;
    core_names(g->core, &now);
    if (now_ns < k->begun_ns + BEFORE_NS ||
        now.all < k->base.all) /* fewer: the statistics were reset */
        begin_anew(k, &now);
    else
        verdict(g, now_ns, &now);
}
