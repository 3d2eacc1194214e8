/* The tiers of a session: names and numbers. A session never uses a number twice, so an event in
 * transit while a tier is removed or added is never counted for another tier.
 *
 * The core thread owns the set; snapshots copy what they need. */
#ifndef KPROF_CORE_TIER_H
#define KPROF_CORE_TIER_H

#include <kprof/core/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIER_MAX        EVENT_TIERS /* tier numbers in a session */
#define TIER_NONE       UINT16_MAX
#define TIER_TOTAL      0xfffeu /* the `_total` rows */
#define TIER_NAME_BYTES 64
#define TIER_MFA_BYTES  300

enum returns_mode { RETURNS_LEAN, RETURNS_FULL };

/* A tier as the operator requests it. */
struct tier_spec {
    char name[TIER_NAME_BYTES]; /* "": none was given */
    char mfa[TIER_MFA_BYTES];   /* as given: "m:f/2", "MyApp.Repo.get/2" */
};

struct tier {
    char name[TIER_NAME_BYTES]; /* UTF-8, as the operator gave it */
    char mfa[TIER_MFA_BYTES];   /* "mod:fun/2", or in Elixir syntax */
    uint32_t fn;                /* interned M:F/A, the id in events; 0: not known yet */
    bool active;                /* false: removed (its number stays taken) */
};

struct tierset {
    struct tier tier[TIER_MAX];
    uint16_t n;     /* numbers in use so far */
    uint16_t entry; /* TIER_NONE: every call is counted separately (--entry none) */
    bool has_identity;
    enum returns_mode returns;
    bool silent_exceptions; /* lean returns: an exception that no direct caller of a call catches
                               causes no event (before OTP 27.1) */
};

#endif
