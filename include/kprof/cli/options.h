/* The command line and the config file as one struct of plain values. kprof.1, DESCRIPTION, is the
 * contract.
 *
 * Invariant: after OPTIONS_RUN every field is valid and the combination is valid: at most one of a
 * node, --demo, --replay and --flame (none: the operator is to choose a node); every tier's M:F/A
 * parses; tier names are unique; the entry names a tier when tiers are known. The command line
 * overrides the file, key by key (all tiers count as one key). The caller owns the struct and frees
 * it with options_release, for every result of options_parse. One thread (getopt has a state).
 * options_parse does not connect and does not translate identity rules. */
#ifndef KPROF_CLI_OPTIONS_H
#define KPROF_CLI_OPTIONS_H

#include <kprof/base/err.h>
#include <kprof/base/theme.h>
#include <kprof/cli/assertion.h>
#include <kprof/cli/options_tier.h>
#include <kprof/core/tier.h>
#include <kprof/export/export.h>
#include <kprof/trace/process_choice.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_NODES_MAX       8
#define OPTIONS_NODES_SUPPORTED 1 /* more nodes are an error */
#define OPTIONS_ASSERTIONS_MAX  16
#define OPTIONS_TRIGGERS_MAX    8
#define OPTIONS_COOKIE_BYTES    256
#define OPTIONS_IDENTITY_BYTES  (16u << 10)

enum options_result {
    OPTIONS_RUN,
    OPTIONS_EXIT_OK, /* --help or --version was printed on stdout: exit 0 */
    OPTIONS_USAGE    /* err has one sentence for stderr: exit 2 */
};

enum options_mode { OPTIONS_NODE, OPTIONS_DEMO, OPTIONS_REPLAY, OPTIONS_FLAME };

struct options {
    enum options_mode mode;
    char *node[OPTIONS_NODES_MAX]; /* name@host or name@host:PORT */
    size_t n_nodes;                /* 0 unless OPTIONS_NODE; there, 0: none was given */
    const char *node_from;         /* the variable that gave the node; NULL: none did */
    char *replay;                  /* file; NULL unless OPTIONS_REPLAY */
    char *flame;                   /* file of folded stacks; NULL unless OPTIONS_FLAME */
    char *config;                  /* file already read; NULL: none */

    /* may be empty: the demo has its own tiers, on the screen they can be added */
    struct tier_spec tier[TIER_MAX];
    size_t n_tiers;
    char *preset;             /* names, separated by commas; NULL: none, or already resolved */
    bool of_preset[TIER_MAX]; /* tier[i] is from the preset: the first choice until the preset is
                                 resolved */
    bool identity_of_preset;
    char *entry;     /* a tier's name; NULL: the first tier */
    bool entry_none; /* --entry none: no requests, every call is counted separately */
    char *identity;  /* the rule as written; NULL: none */

    /* Of the sampled requests, 1 in N is followed in detail: with the scheduling of its processes;
     * default 100, 0: none. */
    uint32_t detail;
    bool detail_given; /* by the operator: if it is not possible, this is reported */
    uint32_t sample;   /* N of the sampling 1/N of requests (entry_none: of calls); default 1 */
    enum returns_mode returns; /* auto is lean */
    uint64_t slow_ns;          /* 0: no slow calls are listed */
    char *slow_log;            /* file; NULL: none */
    bool slow_args;
    bool all_the_time;
    bool why; /* the reports of --batch have the findings */
    bool mailbox;
    bool slow_details;    /* the text of --batch has the tiers of each slow request */
    uint64_t max_age_ns;  /* 1 s */
    uint64_t max_rate;    /* events per second; 0: no limit */
    uint64_t cooldown_ns; /* 5 s */
    /* Limit as a part of the node's scheduler time; default 50000, or 0 if max_rate is given; 0: no
     * limit. */
    uint32_t max_overhead_ppm;
    uint64_t lease_ns; /* the node stops tracing after this time without a message from kprof-top;
                          10 s */
    uint64_t duration_ns;     /* 0: until kprof-top is stopped */
    uint64_t delay_ns;        /* batch interval, 1 s; at least 100 ms */
    uint64_t iterations;      /* 0: no limit */
    uint32_t demo_rate;       /* requests per second of the sample node, 200 */
    const char *demo_trouble; /* what is wrong with the sample node; constant; NULL: nothing */
    enum theme theme;         /* THEME_COUNT: not given */
    bool no_mouse;            /* the terminal keeps the mouse */
    bool batch, no_color, ascii, force;
    char *profile; /* stacks are sampled: cpu, wall or a metric; NULL: they are not */
    uint64_t top;  /* number of processes; 0: 100 */
    struct process_choice
        processes; /* valid if has_processes; else the first `top` by the profiled metric */
    bool has_processes;
    uint32_t statuses;           /* bit 1 << enum stack_status for each; 0: as `profile` says */
    uint64_t sample_interval_ns; /* between two groups of processes, 9 ms */
    char *full_trace;            /* what is traced fully (cli/full_what); NULL: nothing */
    char *full_calls;     /* modules, app:APPLICATIONs, or all; NULL: those of the functions */
    uint64_t full_events; /* maximum; default 100000 */
    bool full_hide_sleep, full_hide_gc;
    uint64_t flush_ns; /* a new file after this time; 0: one file */
    uint64_t files;    /* number of these files to keep; 0: all */
    bool perf_pid_integer;
    struct assertion trigger[OPTIONS_TRIGGERS_MAX]; /* samples are written when one holds */
    size_t n_triggers;                              /* 0: at once */
    uint64_t before_ns; /* also write the samples of this time before the trigger */
    uint64_t rearm_ns;  /* minimum time from one trigger to the next */
    bool hazards;       /* print the node's table of hazards, nothing else */
    bool suggest;       /* print a profile with tiers that are suggested, nothing else */
    enum export_format format;
    char *output;   /* file; NULL: stdout */
    double speed;   /* of a replay on the screen, as a multiple of real time; default 1; 0: all at
                       once */
    char *record;   /* file; NULL: none */
    char *baseline; /* recording (OPTIONS_FLAME: stacks) to compare with; NULL: none */
    struct assertion assertion[OPTIONS_ASSERTIONS_MAX]; /* conditions on the summary of a batch */
    size_t n_assertions;
    char *connect;     /* ADDR:PORT instead of the host of the node and epmd; NULL: not given */
    char *cookie_file; /* NULL: as conn_find_cookie says */
    char *setcookie;   /* blanked in argv; overwritten by options_release; never in an err */
    char *name;        /* name of kprof-top's hidden node, without host; NULL: generated */
    bool tls;          /* the connection uses TLS; also set by each of the following */
    bool tls_insecure;
    char *tls_optfile, *tls_ca, *tls_cert, *tls_key; /* files; NULL: not given */
};

/* Reorders argv (options first) and overwrites a cookie in it with NULs. */
enum options_result options_parse(int argc, char **argv, struct options *o, struct err *e);
/* Sets the options of a run without arguments: every number at its default, no source. */
void options_defaults(struct options *o);
/* Reads the settings of only a config file or profile, over the defaults; -1 with err. The caller
 * frees the struct with options_release in both cases. Nodes in the file are ignored. */
int options_load(const char *path, struct options *o, struct err *e);
/* The same over the present settings in o: a setting that the file does not have keeps its value.
 * If the file has tiers or a preset, the entry and the rule are those of the file, too. o has no
 * config and no preset before; after an error, it is only good for options_release. */
int options_load_over(const char *path, struct options *o, struct err *e);
void options_release(struct options *o);

#endif
