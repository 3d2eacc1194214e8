#include <kprof/app/config.h>
#include <kprof/app/help.h>
#include <kprof/app/options.h>
#include <kprof/app/optval.h>

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MIN_NS  100000000u
#define SAMPLE_MAX    1000000u
#define DEMO_RATE_MAX 20000u

enum id {
    ID_CONFIG = 256, /* above any letter */
    ID_TIER,
    ID_ENTRY,
    ID_IDENTITY,
    ID_SAMPLE,
    ID_RETURNS,
    ID_TRANSPORT,
    ID_SLOW,
    ID_SLOW_ARGS,
    ID_MAX_AGE,
    ID_MAX_RATE,
    ID_COOLDOWN,
    ID_DURATION,
    ID_BATCH,
    ID_DELAY,
    ID_ITERATIONS,
    ID_FORMAT,
    ID_OUTPUT,
    ID_RECORD,
    ID_COOKIE_FILE,
    ID_SETCOOKIE,
    ID_NAME,
    ID_NO_COLOR,
    ID_ASCII,
    ID_FORCE,
    ID_DEMO,
    ID_DEMO_RATE,
    ID_REPLAY,
    ID_NODE,
    ID_VERSION,
    ID_HELP,
    ID_END
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, ID_CONFIG},
    {"tier", required_argument, NULL, ID_TIER},
    {"entry", required_argument, NULL, ID_ENTRY},
    {"identity", required_argument, NULL, ID_IDENTITY},
    {"sample", required_argument, NULL, ID_SAMPLE},
    {"returns", required_argument, NULL, ID_RETURNS},
    {"transport", required_argument, NULL, ID_TRANSPORT},
    {"slow", required_argument, NULL, ID_SLOW},
    {"slow-args", no_argument, NULL, ID_SLOW_ARGS},
    {"max-age", required_argument, NULL, ID_MAX_AGE},
    {"max-rate", required_argument, NULL, ID_MAX_RATE},
    {"cooldown", required_argument, NULL, ID_COOLDOWN},
    {"duration", required_argument, NULL, ID_DURATION},
    {"batch", no_argument, NULL, ID_BATCH},
    {"delay", required_argument, NULL, ID_DELAY},
    {"iterations", required_argument, NULL, ID_ITERATIONS},
    {"format", required_argument, NULL, ID_FORMAT},
    {"output", required_argument, NULL, ID_OUTPUT},
    {"record", required_argument, NULL, ID_RECORD},
    {"cookie-file", required_argument, NULL, ID_COOKIE_FILE},
    {"setcookie", required_argument, NULL, ID_SETCOOKIE},
    {"name", required_argument, NULL, ID_NAME},
    {"no-color", no_argument, NULL, ID_NO_COLOR},
    {"ascii", no_argument, NULL, ID_ASCII},
    {"force", no_argument, NULL, ID_FORCE},
    {"demo", no_argument, NULL, ID_DEMO},
    {"demo-rate", required_argument, NULL, ID_DEMO_RATE},
    {"replay", required_argument, NULL, ID_REPLAY},
    {"version", no_argument, NULL, ID_VERSION},
    {"help", no_argument, NULL, ID_HELP},
    {NULL, 0, NULL, 0},
};

static const char short_options[] = ":f:t:e:i:bd:n:o:hV";

static int id_of_short(int c)
{
    static const char letters[] = "fteibdnohV";
    static const int ids[] = {ID_CONFIG, ID_TIER,       ID_ENTRY,  ID_IDENTITY, ID_BATCH,
                              ID_DELAY,  ID_ITERATIONS, ID_OUTPUT, ID_HELP,     ID_VERSION};
    const char *at = c > 0 && c < 256 ? strchr(letters, c) : NULL;
    return at && *at ? ids[at - letters] : c;
}

struct parser {
    struct options *o;
    struct err *e;
    bool on_command_line[ID_END - ID_CONFIG];
    bool demo;
};

/* ---- setters ---- */

static char *dup_text(const char *s)
{
    char *copy = strdup(s);
    if (!copy)
        abort();
    return copy;
}

static int set_text(char **field, const char *val)
{
    free(*field);
    *field = dup_text(val);
    return 0;
}

static int set_format(struct parser *p, const char *val)
{
    int f = export_format_parse(val);
    if (f < 0)
        return err_set(p->e, "--format %s: no such format; write text, json or csv",
                       optval_show(val).s);
    p->o->format = (enum export_format)f;
    return 0;
}

static int set_name(struct parser *p, const char *val)
{
    return optval_self_name(val, p->e) ? -1 : set_text(&p->o->name, val);
}

static int set_cookie(struct parser *p, const char *val)
{
    if (!*val || strlen(val) >= OPTIONS_COOKIE_BYTES)
        return err_set(p->e, "--setcookie: a cookie has 1 to %d bytes; give the target's own",
                       OPTIONS_COOKIE_BYTES - 1);
    return set_text(&p->o->setcookie, val);
}

static int set_identity(struct parser *p, const char *val)
{
    if (val[strspn(val, " \t\r\n")] == '\0')
        return err_set(p->e, "--identity: the rule is empty; write \"m:f/2 arg(1)\" or a fun, or "
                             "leave the option out");
    if (strlen(val) >= OPTIONS_IDENTITY_BYTES)
        return err_set(p->e, "--identity: the rule is longer than %u bytes; shorten it",
                       OPTIONS_IDENTITY_BYTES - 1);
    return set_text(&p->o->identity, val);
}

static int set_file(struct parser *p, const char *opt, const char *val, char **field)
{
    if (!*val)
        return err_set(p->e, "--%s: the file name is empty; give one, or leave the option out",
                       opt);
    return set_text(field, val);
}

static int set_entry(struct parser *p, const char *val)
{
    p->o->entry_none = strcmp(val, "none") == 0;
    free(p->o->entry);
    p->o->entry = p->o->entry_none ? NULL : dup_text(val);
    return 0;
}

static int add_node(struct parser *p, const char *val)
{
    if (optval_node(val, p->e))
        return -1;
    if (p->o->n_nodes == OPTIONS_NODES_BACKED)
        return err_set(p->e,
                       "%s: this version looks at one node at a time; start another kprof-top for "
                       "it",
                       optval_show(val).s);
    p->o->node[p->o->n_nodes++] = dup_text(val);
    return 0;
}

static int add_tier(struct parser *p, const struct option_tier *t)
{
    struct options *o = p->o;
    if (o->n_tiers == TIER_MAX)
        return err_set(p->e, "tier %s: more than %d tiers; leave some out", optval_show(t->mfa).s,
                       TIER_MAX);
    for (size_t i = 0; i < o->n_tiers; i++) {
        if (t->name[0] && strcmp(t->name, o->tier[i].name) == 0)
            return err_set(p->e, "tier %s: the name is given twice; name one of them NAME=M:F/A",
                           optval_show(t->name).s);
        if (strcmp(t->mfa, o->tier[i].mfa) == 0)
            return err_set(p->e, "tier %s: the function is given twice; leave one out",
                           optval_show(t->mfa).s);
    }
    o->tier[o->n_tiers++] = *t;
    return 0;
}

static int set_tier(struct parser *p, const char *val)
{
    struct option_tier t;
    return options_tier_parse(val, &t, p->e) || add_tier(p, &t) ? -1 : 0;
}

/* Names the tiers that have none, around those that were given. */
static void name_tiers(struct options *o)
{
    for (size_t i = 0; i < o->n_tiers; i++)
        if (!o->tier[i].name[0])
            options_tier_name(&o->tier[i], o->tier, o->n_tiers);
}

/* ---- one option ---- */

static int set_more(struct parser *p, int id, const char *val);

/* A limit that is taken but not kept would be worse than none. */
static int check_backed(struct parser *p, int id)
{
    if (id == ID_SLOW_ARGS)
        return err_set(p->e, "--slow-args: not in this version; leave it out (--slow alone lists "
                             "calls without them)");
    return 0;
}

static int set_value(struct parser *p, int id, const char *val)
{
    struct options *o = p->o;
    uint64_t v = 0;
    int rc = check_backed(p, id);
    if (rc)
        return rc;
    switch (id) {
    case ID_TIER:
        return set_tier(p, val);
    case ID_ENTRY:
        return set_entry(p, val);
    case ID_IDENTITY:
        return set_identity(p, val);
    case ID_SAMPLE:
        return optval_sample(val, &o->sample, p->e);
    case ID_RETURNS:
        return optval_returns(val, &o->returns, p->e);
    case ID_TRANSPORT:
        return optval_transport(val, p->e);
    case ID_SLOW:
        return optval_duration("slow", val, 1, &o->slow_ns, p->e);
    case ID_MAX_AGE:
        return optval_duration("max-age", val, 1000000, &o->max_age_ns, p->e);
    case ID_MAX_RATE:
        return optval_rate("max-rate", val, &o->max_rate, p->e);
    case ID_COOLDOWN:
        return optval_duration("cooldown", val, DELAY_MIN_NS, &o->cooldown_ns, p->e);
    case ID_DURATION:
        return optval_duration("duration", val, DELAY_MIN_NS, &o->duration_ns, p->e);
    case ID_DELAY:
        return optval_duration("delay", val, DELAY_MIN_NS, &o->delay_ns, p->e);
    case ID_ITERATIONS:
        return optval_count("iterations", val, 1000000000, &o->iterations, p->e);
    case ID_DEMO_RATE:
        rc = optval_count("demo-rate", val, DEMO_RATE_MAX, &v, p->e);
        o->demo_rate = rc ? o->demo_rate : (uint32_t)v;
        return rc;
    default:
        return set_more(p, id, val);
    }
}

static int set_more(struct parser *p, int id, const char *val)
{
    struct options *o = p->o;
    switch (id) {
    case ID_FORMAT:
        return set_format(p, val);
    case ID_CONFIG:
        return set_file(p, "config", val, &o->config);
    case ID_OUTPUT:
        return set_file(p, "output", val, &o->output);
    case ID_RECORD:
        return set_file(p, "record", val, &o->record);
    case ID_REPLAY:
        return set_file(p, "replay", val, &o->replay);
    case ID_COOKIE_FILE:
        return set_file(p, "cookie-file", val, &o->cookie_file);
    case ID_SETCOOKIE:
        return set_cookie(p, val);
    case ID_NAME:
        return set_name(p, val);
    case ID_NODE:
        return add_node(p, val);
    case ID_SLOW_ARGS:
        o->slow_args = true;
        return 0;
    case ID_BATCH:
        o->batch = true;
        return 0;
    case ID_NO_COLOR:
        o->no_color = true;
        return 0;
    case ID_ASCII:
        o->ascii = true;
        return 0;
    case ID_FORCE:
        o->force = true;
        return 0;
    default:
        assert(id == ID_DEMO);
        p->demo = true;
        return 0;
    }
}

/* ---- the config file ---- */

static int id_of_key(const char *key, bool *flag)
{
    char name[CONFIG_KEY_BYTES];
    *flag = false;
    if (strcmp(key, "identity_f") == 0)
        return ID_IDENTITY;
    if (strcmp(key, "node") == 0)
        return ID_NODE;
    if (strchr(key, '-'))
        return 0;
    snprintf(name, sizeof name, "%s", key);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    for (const struct option *l = long_options; l->name; l++) {
        if (strcmp(l->name, name) != 0)
            continue;
        bool no = l->val == ID_CONFIG || l->val == ID_HELP || l->val == ID_VERSION ||
                  l->val == ID_DEMO || l->val == ID_REPLAY;
        *flag = l->has_arg == no_argument;
        return no ? 0 : l->val;
    }
    return 0;
}

static int apply_tier_item(struct parser *p, const struct config_item *it)
{
    struct option_tier t;
    if (options_tier_parse(it->text, &t, p->e))
        return -1;
    if (t.name[0])
        return err_set(p->e, "tier %s: write the name once, in front", optval_show(it->text).s);
    if (options_tier_check_name(it->name, p->e))
        return -1;
    snprintf(t.name, sizeof t.name, "%s", it->name);
    return add_tier(p, &t);
}

static int apply_item(struct parser *p, const struct config_item *it)
{
    bool flag;
    int id = id_of_key(it->key, &flag);
    if (id == 0)
        return err_set(p->e, "%s is no setting of a config file; see FILES in kprof(1)",
                       optval_show(it->key).s);
    if (p->on_command_line[id - ID_CONFIG])
        return 0;
    if (id == ID_NODE && (p->demo || p->o->replay))
        return 0;
    if (it->kind == CONFIG_TIER)
        return apply_tier_item(p, it);
    if (it->kind == CONFIG_FUN && id != ID_IDENTITY)
        return err_set(p->e, "%s takes no fun", it->key);
    if (!flag)
        return set_value(p, id, it->text);
    if (strcmp(it->text, "false") == 0) /* as it is */
        return 0;
    if (strcmp(it->text, "true") != 0)
        return err_set(p->e, "%s is true or false", it->key);
    return set_value(p, id, NULL);
}

static int apply_config(struct parser *p)
{
    struct config c;
    int rc = config_load(p->o->config, &c, p->e);
    for (size_t i = 0; rc == 0 && i < c.n; i++) {
        rc = apply_item(p, &c.item[i]);
        if (rc) {
            struct err inner = *p->e;
            err_set(p->e, "%s:%d:%d: %.300s", optval_show(p->o->config).s, c.item[i].line,
                    c.item[i].col, inner.text);
        }
    }
    config_release(&c);
    return rc;
}

/* ---- what goes with what ---- */

static int check_mode(struct parser *p)
{
    struct options *o = p->o;
    int modes = (o->n_nodes > 0) + p->demo + (o->replay != NULL);
    if (modes == 0)
        return err_set(p->e, "nothing to look at; give a node (app@host), --demo, or --replay FILE "
                             "(--help lists the options)");
    if (modes > 1)
        return err_set(p->e, "%s and %s exclude each other; leave one out",
                       o->n_nodes > 0 ? optval_show(o->node[0]).s : "--demo",
                       o->replay ? "--replay" : "--demo");
    o->mode = p->demo ? OPTIONS_DEMO : o->replay ? OPTIONS_REPLAY : OPTIONS_NODE;
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
        p->e, "--entry %s: no tier has that name; add --tier %s=M:F/A, or name one that is there",
        optval_show(o->entry).s, optval_show(o->entry).s);
}

static int check_together(struct parser *p)
{
    struct options *o = p->o;
    if (o->slow_args && !o->slow_ns)
        return err_set(p->e, "--slow-args: there is no slow log to put them in; add --slow 20ms");
    if (o->record && o->mode == OPTIONS_REPLAY)
        return err_set(p->e, "--record with --replay would copy the recording; leave one out");
    if (p->on_command_line[ID_DEMO_RATE - ID_CONFIG] && o->mode != OPTIONS_DEMO)
        return err_set(p->e, "--demo-rate: there is no sample node to drive; add --demo");
    if (!o->batch && p->on_command_line[ID_FORMAT - ID_CONFIG])
        return err_set(p->e, "--format: the screen has no format; add --batch");
    if (!o->batch && p->on_command_line[ID_OUTPUT - ID_CONFIG])
        return err_set(p->e, "--output: the screen cannot go to a file; add --batch");
    if (!o->batch && p->on_command_line[ID_ITERATIONS - ID_CONFIG])
        return err_set(p->e, "--iterations: the screen has none; add --batch, or use --duration");
    if (o->batch && o->mode == OPTIONS_NODE && o->n_tiers == 0)
        return err_set(p->e,
                       "--batch: there is nothing to measure; add --tier M:F/A (or a config file)");
    return 0;
}

/* ---- the whole ---- */

static void defaults(struct options *o)
{
    *o = (struct options){.sample = 1,
                          .returns = RETURNS_LEAN,
                          .max_age_ns = 1000000000u,
                          .cooldown_ns = 5000000000u,
                          .delay_ns = 1000000000u,
                          .demo_rate = 200,
                          .format = EXPORT_TEXT};
    const char *no_color = getenv("NO_COLOR"); /* no-color.org: set and not empty */
    o->no_color = no_color && *no_color;
}

/* getopt's complaint in our words; what stands behind a '=' may be a cookie and is not shown. */
static int complain(struct parser *p, int c, char **argv)
{
    char word[64];
    const char *arg = optind > 0 ? argv[optind - 1] : "";
    if (optopt > 0 && optopt < 256)
        snprintf(word, sizeof word, "-%c", optopt);
    else
        snprintf(word, sizeof word, "%.*s", (int)strcspn(arg, "="), arg);
    if (c == ':')
        return err_set(p->e, "%s needs a value; --help shows which", optval_show(word).s);
    if (optopt >= ID_CONFIG)
        return err_set(p->e, "%s takes no value; leave it out", optval_show(word).s);
    return err_set(p->e, "%s is no option, or short for more than one; --help lists them",
                   optval_show(word).s);
}

static enum options_result read_argv(struct parser *p, int argc, char **argv)
{
    int c;
    optind = 0; /* glibc: begin anew */
    opterr = 0;
    while ((c = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        int id = id_of_short(c);
        if (c == ':' || c == '?') {
            complain(p, c, argv);
            return OPTIONS_USAGE;
        }
        if (id == ID_HELP || id == ID_VERSION) {
            fputs(id == ID_HELP ? help_text() : "kprof-top " KPROF_VERSION "\n", stdout);
            return OPTIONS_EXIT_OK;
        }
        p->on_command_line[id - ID_CONFIG] = true;
        int rc = set_value(p, id, optarg);
        if (id == ID_SETCOOKIE) /* ps shows argv to everybody */
            memset(optarg, 0, strlen(optarg));
        if (rc)
            return OPTIONS_USAGE;
    }
    for (; optind < argc; optind++) {
        p->on_command_line[ID_NODE - ID_CONFIG] = true;
        if (add_node(p, argv[optind]))
            return OPTIONS_USAGE;
    }
    return OPTIONS_RUN;
}

enum options_result options_parse(int argc, char **argv, struct options *o, struct err *e)
{
    struct parser p = {.o = o, .e = e};
    defaults(o);
    enum options_result r = read_argv(&p, argc, argv);
    if (r != OPTIONS_RUN)
        return r;
    if (o->config && apply_config(&p))
        return OPTIONS_USAGE;
    name_tiers(o);
    if (check_mode(&p) || check_entry(&p) || check_together(&p))
        return OPTIONS_USAGE;
    return OPTIONS_RUN;
}

void options_release(struct options *o)
{
    for (size_t i = 0; i < o->n_nodes; i++)
        free(o->node[i]);
    if (o->setcookie)
        explicit_bzero(o->setcookie, strlen(o->setcookie));
    char *owned[] = {o->replay, o->config,      o->entry,     o->identity, o->output,
                     o->record, o->cookie_file, o->setcookie, o->name};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    *o = (struct options){0};
}
