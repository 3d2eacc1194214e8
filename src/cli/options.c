#include "config.h"
#include "help.h"
#include "options_files.h"
#include "options_profile.h"
#include "options_report.h"
#include "options_set.h"
#include <kprof/cli/environment.h>
#include <kprof/cli/options.h>
#include <kprof/cli/optval.h>
#include <kprof/cli/profile.h>

#include <getopt.h>
#include <kprof/base/buf.h>
#include <kprof/base/clock.h>
#include <kprof/export/stacks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_SET        UINT32_MAX
#define LEASE_NS       10000000000u
#define LEASE_LEAST_NS 1000000000u
#define LEASE_MOST_NS  600000000000u
#define OVERHEAD_PPM   50000u
#define DEMO_DETAIL    10u
#define HLOG_MOST_NS   10800000000000u /* the longest time that core can show */

#define GETOPT_BASE 256 /* plus the index of an option in the table: above any letter */

struct parser {
    struct options *o;
    struct err *e;
    bool on_command_line[OPTIONS_DEFS_MAX]; /* by index in the table */
    bool over;                              /* a file over present settings, not over defaults */
};

/* Names the tiers that have no name, after those that have one. */
static void name_tiers(struct options *o)
{
    for (size_t i = 0; i < o->n_tiers; i++)
        if (!o->tier[i].name[0])
            options_tier_name(&o->tier[i], o->tier, o->n_tiers);
}

/* All tiers count as one setting, including those of a preset. */
static size_t place(const struct options_def *d)
{
    return options_set_index(strcmp(d->name, "preset") == 0 ? "tier" : d->name);
}

static bool said(const struct parser *p, const char *name)
{
    return p->on_command_line[options_set_index(name)];
}

/* ---- the config file ---- */

/* The option of a key; NULL: none. */
static const struct options_def *def_of_key(const char *key)
{
    char name[CONFIG_KEY_BYTES];
    const struct options_def *d;
    if (strchr(key, '-'))
        return NULL;
    snprintf(name, sizeof name, "%s", strcmp(key, "identity_f") == 0 ? "identity" : key);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    for (size_t i = 0; (d = options_set_at(i)); i++)
        if (strcmp(d->name, name) == 0)
            return d->where == OPTIONS_ARGV ? NULL : d;
    return NULL;
}

static int apply_tier_item(struct parser *p, const struct config_item *it)
{
    struct tier_spec t;
    if (options_tier_parse(it->text, &t, p->e))
        return -1;
    if (t.name[0])
        return err_set(p->e, "tier %s: the name is given twice; write it only before the function",
                       optval_show(it->text).s);
    if (options_tier_check_name(it->name, p->e))
        return -1;
    snprintf(t.name, sizeof t.name, "%s", it->name);
    return options_tier_add(p->o->tier, &p->o->n_tiers, &t, p->e);
}

static int apply_item(struct parser *p, const struct config_item *it)
{
    const struct options_def *d = def_of_key(it->key);
    if (!d)
        return err_set(p->e, "%s is not a setting of a config file; see FILES in kprof(1)",
                       optval_show(it->key).s);
    if (p->on_command_line[place(d)])
        return 0;
    if (d->where == OPTIONS_FILE && (p->o->mode == OPTIONS_DEMO || p->o->replay))
        return 0; /* the file names a node, but the command line gives another source */
    if (it->kind == CONFIG_TIER)
        return apply_tier_item(p, it);
    if (it->kind == CONFIG_FUN && strcmp(d->name, "identity") != 0)
        return err_set(p->e, "%s does not accept a fun", it->key);
    if (d->kind == OPTIONS_VALUE)
        return options_set_value(d, it->text, p->o, p->e);
    if (strcmp(it->text, "true") == 0)
        return options_set_value(d, NULL, p->o, p->e);
    if (strcmp(it->text, "false") != 0)
        return err_set(p->e, "%s must be true or false", it->key);
    if (p->over) /* else it is the default */
        options_set_off(d, p->o);
    return 0;
}

/* The argument is neither a file nor a profile: adds the existing profiles to the error. */
static void name_profiles(struct err *e)
{
    profile_name name[PROFILES_MAX];
    char names[160] = "";
    struct err inner = *e;
    size_t n = profile_list(name), used = 0, i = 0;
    for (; i < n && used + PROFILE_NAME_BYTES + 6 < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name[i]);
    if (n)
        err_set(e, "%.300s; existing profiles: %s%s", inner.text, names, i < n ? ", ..." : "");
    else
        err_set(e, "%.300s; there are no profiles yet (W saves one)", inner.text);
}

/* The present entry and rule are about the present tiers. */
static void forget_tiers(struct options *o)
{
    free(o->entry);
    free(o->identity);
    o->entry = o->identity = NULL;
    o->entry_none = false;
    o->n_tiers = 0;
}

static bool has_tiers(const struct config *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->item[i].kind == CONFIG_TIER || strcmp(c->item[i].key, "preset") == 0)
            return true;
    return false;
}

static int apply_config(struct parser *p)
{
    struct config c;
    char path[PROFILE_PATH_BYTES];
    profile_find(p->o->config, path);
    int rc = config_load(path, &c, p->e);
    if (rc && access(path, F_OK) != 0)
        name_profiles(p->e);
    if (rc == 0 && p->over && has_tiers(&c))
        forget_tiers(p->o);
    for (size_t i = 0; rc == 0 && i < c.n; i++) {
        rc = apply_item(p, &c.item[i]);
        if (rc) {
            struct err inner = *p->e;
            err_set(p->e, "%s:%d:%d: %.300s", optval_show(path).s, c.item[i].line, c.item[i].col,
                    inner.text);
        }
    }
    config_release(&c);
    return rc;
}

/* ---- combinations ---- */

/* The node of the environment, if nothing else says what to show. */
static int take_environment(struct options *o, struct err *e)
{
    struct environment_node found;
    int rc = environment_node(&found, e);
    if (rc <= 0)
        return rc;
    o->node[o->n_nodes++] = buf_dup(found.name);
    o->node_from = found.from;
    return 0;
}

static int check_mode(struct parser *p)
{
    struct options *o = p->o;
    if (o->n_nodes == 0 && o->mode == OPTIONS_NODE && !o->replay && !o->flame &&
        take_environment(o, p->e))
        return -1;
    bool demo = o->mode == OPTIONS_DEMO;
    int modes = (o->n_nodes > 0) + demo + (o->replay != NULL) + (o->flame != NULL);
    if (modes == 0 && (o->hazards || o->suggest))
        return err_set(p->e, "no node given; %s needs one, such as app@host",
                       o->hazards ? "--hazards" : "--suggest");
    if (modes > 1)
        return err_set(p->e, "%s and %s cannot be used together; leave one out",
                       o->n_nodes > 0 ? optval_show(o->node[0]).s
                       : demo         ? "--demo"
                                      : "--replay",
                       o->flame    ? "--flame"
                       : o->replay ? "--replay"
                                   : "--demo");
    if (o->replay)
        o->mode = OPTIONS_REPLAY;
    if (o->flame)
        o->mode = OPTIONS_FLAME;
    return 0;
}

static int check_entry(struct parser *p)
{
    struct options *o = p->o;
    if (!o->entry || (o->n_tiers == 0 && o->mode != OPTIONS_NODE))
        return 0;
    for (size_t i = 0; i < o->n_tiers; i++)
        if (strcmp(o->tier[i].name, o->entry) == 0)
            return 0;
    return err_set(
        p->e, "--entry %s: no tier has this name; add --tier %s=M:F/A, or use the name of a tier",
        optval_show(o->entry).s, optval_show(o->entry).s);
}

static int check_tls(struct parser *p)
{
    static const char *const names[] = {"tls",      "tls-optfile", "tls-ca",
                                        "tls-cert", "tls-key",     "tls-insecure"};
    const struct options *o = p->o;
    for (size_t i = 0; o->mode != OPTIONS_NODE && i < sizeof names / sizeof *names; i++)
        if (said(p, names[i]))
            return err_set(p->e, "--%s works only with a node; leave it out", names[i]);
    if (o->tls_key && !o->tls_cert)
        return err_set(p->e, "--tls-key needs the certificate of this key; add --tls-cert FILE");
    return 0;
}

/* --hazards and --suggest end by themselves and record nothing, so these options have no meaning
 * with them. */
static int check_asks_only(struct parser *p)
{
    const struct options *o = p->o;
    const char *other = o->mode == OPTIONS_REPLAY ? "--replay"
                        : o->record               ? "--record"
                        : o->batch                ? "--batch"
                                                  : NULL;
    const char *asks = o->hazards ? "--hazards" : "--suggest";

    if (o->hazards && o->suggest)
        return err_set(p->e, "--hazards and --suggest cannot be used together; leave one out");
    if (o->suggest && !other)
        other = o->n_tiers ? "the tiers" : o->identity ? "--identity" : NULL;
    if ((o->hazards || o->suggest) && other)
        return err_set(p->e, "%s cannot be used with %s; leave it out", asks, other);
    return 0;
}

/* A file of stacks has no calls, so options about calls have no meaning. */
static int check_flame(struct parser *p)
{
    const struct options *o = p->o;
    const char *other = o->record         ? "--record"
                        : o->hazards      ? "--hazards"
                        : o->slow_log     ? "--slow-log"
                        : o->n_assertions ? "--assert"
                                          : NULL;
    enum stacks_format f = o->output ? stacks_format_of_file(o->output) : STACKS_FORMATS;
    if (o->mode != OPTIONS_FLAME)
        return 0;
    if (other)
        return err_set(p->e, "%s does not work with --flame; leave it out", other);
    if (o->batch && !o->output)
        return err_set(p->e, "--batch with --flame writes a file; add --output FILE.svg");
    if (o->batch && f == STACKS_FORMATS)
        return err_set(p->e, "--output %s: the extension must be one of %s",
                       optval_show(o->output).s, stacks_endings());
    return 0;
}

/* A full trace is written when it has ended; tiers say which calls belong to the request. */
static int check_full(struct parser *p)
{
    const struct options *o = p->o;
    const char *other = o->mode == OPTIONS_REPLAY  ? "--replay"
                        : o->mode == OPTIONS_FLAME ? "--flame"
                        : o->record                ? "--record"
                        : o->baseline              ? "--baseline"
                        : o->hazards               ? "--hazards"
                        : o->suggest               ? "--suggest"
                        : o->profile               ? "--profile"
                        : o->n_triggers            ? "--trigger"
                        : o->slow_log              ? "--slow-log"
                        : o->n_assertions          ? "--assert"
                        : said(p, "format")        ? "--format"
                        : said(p, "iterations")    ? "--iterations"
                                                   : NULL;
    const char *part = said(p, "full-calls")    ? "full-calls"
                       : said(p, "full-events") ? "full-events"
                       : said(p, "full-hide")   ? "full-hide"
                                                : NULL;

    if (!o->full_trace && part)
        return err_set(p->e, "--%s works only with --full-trace; add --full-trace M:F/A", part);
    if (!o->full_trace)
        return 0;
    if (other)
        return err_set(p->e, "%s does not work with --full-trace; leave it out", other);
    if (o->output && stacks_format_of_file(o->output) == STACKS_FORMATS)
        return err_set(
            p->e,
            "--output %s: the extension must be one of %s; without --output the call tree "
            "is printed",
            optval_show(o->output).s, stacks_endings());
    p->o->batch = true;
    return 0;
}

static int check_together(struct parser *p)
{
    struct options *o = p->o;
    bool slow = o->slow_ns || o->mode == OPTIONS_DEMO; /* the demo has its own threshold */
    if (o->slow_args && !slow)
        return err_set(p->e, "--slow-args needs a slow-call threshold; add --slow 20ms");
    if (o->slow_details && !slow)
        return err_set(p->e, "--slow-details needs a slow-call threshold; add --slow 20ms");
    if (o->slow_log && !slow)
        return err_set(p->e, "--slow-log needs a slow-call threshold; add --slow 20ms");
    if (o->record && o->mode == OPTIONS_REPLAY)
        return err_set(p->e, "--record and --replay cannot be used together; leave one out");
    if (said(p, "demo-rate") && o->mode != OPTIONS_DEMO)
        return err_set(p->e, "--demo-rate works only with the sample node; add --demo");
    if (o->demo_trouble && o->mode != OPTIONS_DEMO)
        return err_set(p->e, "--demo-trouble works only with the sample node; add --demo");
    o->detail_given = said(p, "detail") && o->detail > 0;
    if (o->demo_trouble && !said(p, "detail")) /* few requests: follow more of them */
        o->detail = DEMO_DETAIL;
    if (said(p, "speed") && (o->mode != OPTIONS_REPLAY || o->batch))
        return err_set(p->e, "--speed works only for a replay on the screen; %s",
                       o->batch ? "leave it out" : "add --replay FILE");
    if (o->batch && o->format == EXPORT_HLOG && o->delay_ns > HLOG_MOST_NS)
        return err_set(p->e, "--format hlog: the interval can be at most 3h; change --delay");
    if (o->batch && o->mode == OPTIONS_NODE && o->n_tiers == 0 && !o->profile && !o->full_trace)
        return err_set(p->e, "--batch needs a tier; add --tier M:F/A (or a config file)");
    return 0;
}

/* ---- the whole command line ---- */

void options_defaults(struct options *o)
{
    *o = (struct options){.sample = 1,
                          .detail = 100,
                          .returns = RETURNS_LEAN,
                          .max_age_ns = 1000000000u,
                          .cooldown_ns = 5000000000u,
                          .max_overhead_ppm = NOT_SET,
                          .delay_ns = 1000000000u,
                          .demo_rate = 200,
                          .sample_interval_ns = 9000000u,
                          .full_events = 100000u,
                          .rearm_ns = 60000000000u,
                          .speed = 1,
                          .theme = THEME_COUNT,
                          .format = EXPORT_TEXT};
    const char *no_color = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    o->no_color = no_color && *no_color;
    const char *lease = getenv("KPROF_LEASE");
    if (!lease || !clock_parse_duration(lease, &o->lease_ns) || o->lease_ns < LEASE_LEAST_NS ||
        o->lease_ns > LEASE_MOST_NS)
        o->lease_ns = LEASE_NS;
}

/* The table for getopt. */
struct getopt_tables {
    char shorts[2 * OPTIONS_DEFS_MAX + 2];
    struct option longs[OPTIONS_DEFS_MAX + 1];
};

static void make_tables(struct getopt_tables *t)
{
    const struct options_def *d;
    char *s = t->shorts;
    size_t n = 0;
    *s++ = ':'; /* getopt reports a missing value separately */
    for (size_t i = 0; (d = options_set_at(i)); i++) {
        bool value = d->kind == OPTIONS_VALUE;
        if (d->where == OPTIONS_FILE)
            continue;
        t->longs[n++] = (struct option){d->name, value ? required_argument : no_argument, NULL,
                                        GETOPT_BASE + (int)i};
        if (d->letter)
            *s++ = d->letter;
        if (d->letter && value)
            *s++ = ':';
    }
    t->longs[n] = (struct option){0};
    *s = '\0';
}

static const struct options_def *def_of_getopt(int c)
{
    const struct options_def *d;
    if (c >= GETOPT_BASE)
        return options_set_at((size_t)(c - GETOPT_BASE));
    for (size_t i = 0; (d = options_set_at(i)); i++)
        if (d->letter == c)
            return d;
    return NULL;
}

/* The error of getopt as a sentence; the text after a '=' may be a cookie and is not shown. */
static void complain(struct parser *p, int c, char **argv)
{
    char word[64];
    const char *arg = optind > 0 ? argv[optind - 1] : "";
    if (optopt > 0 && optopt < GETOPT_BASE)
        snprintf(word, sizeof word, "-%c", optopt);
    else
        snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
    if (c == ':')
        err_set(p->e, "%s needs a value; --help shows which", optval_show(word).s);
    else if (optopt >= GETOPT_BASE)
        err_set(p->e, "%s takes no value; leave it out", optval_show(word).s);
    else
        err_set(p->e, "%s is not an option, or is ambiguous; --help lists them",
                optval_show(word).s);
}

static enum options_result read_option(struct parser *p, const struct options_def *d)
{
    if (d->kind == OPTIONS_ASK) {
        struct buf text;

        buf_init(&text, 0);
        if (d->letter == 'h')
            help_add(&text);
        else
            buf_adds(&text, "kprof-top " KPROF_VERSION "\n");
        fputs(text.data, stdout);
        buf_release(&text);
        return OPTIONS_EXIT_OK;
    }
    p->on_command_line[place(d)] = true;
    int rc = options_set_value(d, optarg, p->o, p->e);
    if (optarg && strcmp(d->name, "setcookie") == 0) /* ps shows argv to everybody */
        memset(optarg, 0, strlen(optarg));
    return rc ? OPTIONS_USAGE : OPTIONS_RUN;
}

/* The name in argv; getopt has just read it. */
static size_t word_of(char **argv, char word[64])
{
    const char *arg = argv[optind - 1] == optarg ? argv[optind - 2] : argv[optind - 1];
    snprintf(word, 64, "%.*s", (int)strcspn(arg, "="), arg);
    return strlen(word);
}

/* getopt would complete --cookie to --cookie-file, but --setcookie may be meant: if the word is
 * also in the name of another option, it is not completed. */
static bool is_guess(struct parser *p, const struct options_def *d, char **argv)
{
    char word[64], others[200] = "";
    const struct options_def *k;
    size_t n = word_of(argv, word), used = 0;
    if (n < 3 || strncmp(word, "--", 2) != 0 || strcmp(word + 2, d->name) == 0)
        return false;
    for (size_t i = 0; (k = options_set_at(i)); i++)
        if (k != d && k->where != OPTIONS_FILE && strstr(k->name, word + 2) && used < 150)
            used += (size_t)snprintf(others + used, sizeof others - used, " or --%s", k->name);
    if (used)
        err_set(p->e, "%s is not an option; write --%s%s", optval_show(word).s, d->name, others);
    return used > 0;
}

static enum options_result read_argv(struct parser *p, int argc, char **argv)
{
    struct getopt_tables t;
    enum options_result r = OPTIONS_RUN;
    int c;
    make_tables(&t);
    optind = 0; /* glibc: starts again */
    opterr = 0;
    while (r == OPTIONS_RUN && (c = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
        const struct options_def *d = c == ':' || c == '?' ? NULL : def_of_getopt(c);
        if (d && c >= GETOPT_BASE && is_guess(p, d, argv)) {
            r = OPTIONS_USAGE;
        } else if (d) {
            r = read_option(p, d);
        } else {
            complain(p, c, argv);
            r = OPTIONS_USAGE;
        }
    }
    const struct options_def *node = options_set_at(options_set_index("node"));
    for (; r == OPTIONS_RUN && optind < argc; optind++) {
        p->on_command_line[place(node)] = true;
        if (options_set_value(node, argv[optind], p->o, p->e))
            r = OPTIONS_USAGE;
    }
    return r;
}

/* Defaults that depend on other options. */
static void finish(struct options *o)
{
    name_tiers(o);
    o->tls = o->tls || o->tls_insecure || o->tls_optfile || o->tls_ca || o->tls_cert || o->tls_key;
    if (o->max_overhead_ppm == NOT_SET) /* --max-rate replaces the default limit of overhead */
        o->max_overhead_ppm = o->max_rate ? 0 : OVERHEAD_PPM;
}

static int load(const char *path, bool over, struct options *o, struct err *e)
{
    struct parser p = {.o = o, .e = e, .over = over};
    p.on_command_line[options_set_index("node")] = true; /* the node of the command line */
    o->config = buf_dup(path);
    if (apply_config(&p))
        return -1;
    finish(o);
    return check_entry(&p);
}

int options_load(const char *path, struct options *o, struct err *e)
{
    options_defaults(o);
    return load(path, false, o, e);
}

int options_load_over(const char *path, struct options *o, struct err *e)
{
    return load(path, true, o, e);
}

enum options_result options_parse(int argc, char **argv, struct options *o, struct err *e)
{
    struct parser p = {.o = o, .e = e};
    options_defaults(o);
    enum options_result r = read_argv(&p, argc, argv);
    if (r != OPTIONS_RUN)
        return r;
    if (o->config && apply_config(&p))
        return OPTIONS_USAGE;
    finish(o);
    if (check_mode(&p) || check_tls(&p) || check_asks_only(&p) || check_flame(&p) ||
        check_full(&p) || options_profile_check(o, p.on_command_line, e) || check_entry(&p) ||
        check_together(&p) || options_report_check(o, p.on_command_line, e) ||
        options_files_check(o, e))
        return OPTIONS_USAGE;
    return OPTIONS_RUN;
}

void options_release(struct options *o)
{
    options_set_release(o);
    *o = (struct options){0};
}
