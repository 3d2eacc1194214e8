/* The catalog: modules and functions of a node that could be traced, as they are shown.
 *
 * Invariant: functions are numbered 0, 1, ... in the order they were added and keep their numbers;
 * at most CATALOG_FUNCTIONS_MAX, what is more is counted as left out. Texts are the target's: they
 * parse as M:F/A, but who draws them makes them safe. Owns its memory. One thread. Knows no node:
 * whoever loads it adds to it and says how far it is. */
#ifndef KPROF_CORE_CATALOG_H
#define KPROF_CORE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CATALOG_FUNCTIONS_MAX 200000u
#define CATALOG_TEXT_BYTES    1600 /* of a function as shown; what is longer is left out */

struct catalog;

enum catalog_state {
    CATALOG_WAITING, /* nothing to ask yet: `note` says why */
    CATALOG_LOADING,
    CATALOG_WHOLE,
    CATALOG_PART /* ended early: `note` says why */
};

/* Platform: it comes with Erlang/OTP or Elixir. Library: another application needs it. */
enum catalog_origin { CATALOG_OWN, CATALOG_PLATFORM, CATALOG_LIBRARY };

struct catalog_status {
    enum catalog_state state;
    uint32_t modules_done, modules;
    char note[200];
};

struct catalog *catalog_new(void);
void catalog_free(struct catalog *c); /* NULL is fine */

/* shown: with what stands before the function ("lists:", "MyApp.Repo."); app: "" not known;
 * origin: of the application. The functions added next are its own. */
void catalog_module(struct catalog *c, const char *shown, const char *app,
                    enum catalog_origin origin);
void catalog_function(struct catalog *c, const char *shown, unsigned arity, bool exported);
void catalog_set_status(struct catalog *c, const struct catalog_status *s);
const struct catalog_status *catalog_status(const struct catalog *c);

uint32_t catalog_count(const struct catalog *c);
uint32_t catalog_left_out(const struct catalog *c);
/* "lists:map/2"; its bytes. out has CATALOG_TEXT_BYTES. */
size_t catalog_text(const struct catalog *c, uint32_t id, char *out);
uint64_t catalog_mask(const struct catalog *c, uint32_t id); /* fuzzy_mask of its text */
const char *catalog_app(const struct catalog *c, uint32_t id);
enum catalog_origin catalog_origin(const struct catalog *c, uint32_t id);
bool catalog_is_platform(const struct catalog *c, uint32_t id);
bool catalog_is_local(const struct catalog *c, uint32_t id);
/* Calls a second; negative: not measured, CATALOG_UNCOUNTED: it cannot be. */
#define CATALOG_UNCOUNTED (-2.0f)
void catalog_set_rate(struct catalog *c, uint32_t id, float per_s);
float catalog_rate(const struct catalog *c, uint32_t id);

#endif
