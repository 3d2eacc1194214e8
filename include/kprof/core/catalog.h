/* The catalog: the functions of a node that could be traced, with their modules, as shown on the
 * screen.
 *
 * Invariant: functions are numbered 0, 1, ... in the order in which they are added and keep their
 * numbers. The catalog holds at most CATALOG_FUNCTIONS_MAX functions and counts further ones as
 * left out. Texts come from the node: they parse as M:F/A, but code that draws them must make them
 * safe. The catalog owns its memory. One thread. It does not use the node: the code that loads it
 * adds functions and sets the status. */
#ifndef KPROF_CORE_CATALOG_H
#define KPROF_CORE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CATALOG_FUNCTIONS_MAX 200000u
#define CATALOG_TEXT_BYTES    1600 /* longest function as shown; a longer one is left out */

struct catalog;

enum catalog_state {
    CATALOG_WAITING, /* the node cannot be asked yet; `note` has the reason */
    CATALOG_LOADING,
    CATALOG_WHOLE, /* `note`: what it has, "": all functions of the node */
    CATALOG_PART   /* loading ended early; `note` has the reason */
};

/* Platform: the application comes with Erlang/OTP or Elixir. Library: another application needs
 * it. */
enum catalog_origin { CATALOG_OWN, CATALOG_PLATFORM, CATALOG_LIBRARY };

struct catalog_status {
    enum catalog_state state;
    uint32_t modules_done, modules;
    char note[200];
};

struct catalog *catalog_new(void);
void catalog_free(struct catalog *c); /* NULL is fine */

/* Begins a module; the functions added next belong to it. shown: the text before the function
 * ("lists:", "MyApp.Repo."); app: "" when not known; origin: that of the application. */
void catalog_module(struct catalog *c, const char *shown, const char *app,
                    enum catalog_origin origin);
/* Sets the behaviours that the module begun last has declared, with blanks between them. */
void catalog_behaviours(struct catalog *c, const char *names);
void catalog_function(struct catalog *c, const char *shown, unsigned arity, bool exported);
void catalog_set_status(struct catalog *c, const struct catalog_status *s);
const struct catalog_status *catalog_status(const struct catalog *c);

uint32_t catalog_count(const struct catalog *c);
uint32_t catalog_left_out(const struct catalog *c);
/* Writes "lists:map/2" and returns its length in bytes. out has CATALOG_TEXT_BYTES bytes. */
size_t catalog_text(const struct catalog *c, uint32_t id, char *out);
/* The parts of that text. Functions of one module have consecutive numbers. */
uint32_t catalog_module_of(const struct catalog *c,
                           uint32_t id); /* number of its module: 0, 1 .. */
const char *catalog_module_text(const struct catalog *c, uint32_t id); /* "lists:" */
const char *catalog_function_text(const struct catalog *c, uint32_t id);
unsigned catalog_arity(const struct catalog *c, uint32_t id);
bool catalog_has_behaviour(const struct catalog *c, uint32_t id, const char *name);
uint64_t catalog_mask(const struct catalog *c, uint32_t id); /* fuzzy_mask of its text */
const char *catalog_app(const struct catalog *c, uint32_t id);
enum catalog_origin catalog_origin(const struct catalog *c, uint32_t id);
bool catalog_is_platform(const struct catalog *c, uint32_t id);
bool catalog_is_local(const struct catalog *c, uint32_t id);
/* Calls per second. Negative: not measured; CATALOG_UNCOUNTED: cannot be measured. */
#define CATALOG_UNCOUNTED (-2.0f)
void catalog_set_rate(struct catalog *c, uint32_t id, float per_s);
float catalog_rate(const struct catalog *c, uint32_t id);

#endif
