#include "help.h"

/* A literal of C has at most 4095 bytes: two of them. */
#define FIRST                                                                                      \
    "Usage: kprof-top [options] NODE           NODE is name@host or name@host:PORT\n"              \
    "       kprof-top [options] --demo         start a sample node under load; attach\n"           \
    "       kprof-top [options] --replay FILE  show a recording\n"                                 \
    "       kprof-top [options] --flame FILE   show folded stacks as a graph\n"                    \
    "       kprof-top --hazards NODE           list known faults of the node's VM\n"               \
    "\n"                                                                                           \
    "Show live how long each tier (a traced function) of an Erlang or Elixir node\n"               \
    "takes, for each kind of request (identity). M:F/A is module:function/arity.\n"                \
    "On exit kprof-top removes what it set on the node and prints what is left.\n"                 \
    "\n"                                                                                           \
    "Tiers:\n"                                                                                     \
    "  -t, --tier [NAME=]M:F/A  time this function; may be repeated\n"                             \
    "                           (Elixir: MyApp.Repo.get/2)\n"                                      \
    "      --preset NAME,...    tiers, entry and identity of: cowboy, plug, sample,\n"             \
    "                           phoenix, phoenix16, liveview, ecto, oban, rabbitmq,\n"             \
    "                           yaws, ejabberd, gen_server:MODULE, gen_statem:MODULE\n"            \
    "  -e, --entry NAME|none    the tier that starts a request (default: the first);\n"            \
    "                           none: no requests\n"                                               \
    "  -i, --identity RULE      name the requests: \"m:f/2 arg(1)\",\n"                            \
    "                           \"m:f/1 element(2,arg(1))\", \"m:f/1 map_get(k,arg(1))\"\n"        \
    "                           or fun ({M,F,[Args]}) -> Name; (_) -> undefined end\n"             \
    "  -f, --config FILE|NAME   read settings from a file of Erlang terms, or from\n"              \
    "                           a profile (W on the screen saves one)\n"                           \
    "\n"                                                                                           \
    "Cost:\n"                                                                                      \
    "      --sample 1/N         trace one request in N (--entry none: one call in N)\n"            \
    "      --duration DURATION  end after this time\n"                                             \
    "      --returns lean|full  lean (default): copy no return values; full: copy all\n"           \
    "      --transport dist     send events over Erlang distribution\n"                            \
    "\n"                                                                                           \
    "Slow requests:\n"                                                                             \
    "      --slow DURATION      list those with a call this long (--demo: 20ms)\n"                 \
    "      --slow-log FILE      write them to a file, one JSON object per line\n"                  \
    "      --slow-args          show small arguments; every traced call costs more\n"              \
    "      --slow-details       --batch: all, with their tiers (default: 5 lines)\n"               \
    "\n"                                                                                           \
    "Limits (kept by sampling less, then by a pause):\n"                                           \
    "      --max-rate N/s       maximum number of events per second\n"                             \
    "      --max-age DURATION   stop tracing when events are older than this (1s)\n"               \
    "      --max-overhead PCT   maximum share of the node's time, or none\n"                       \
    "                           (default 5; none with --max-rate)\n"                               \
    "      --cooldown DURATION  first pause after overload (5s); doubles each time\n"              \
    "\n"

#define REST                                                                                       \
    "Stack samples (no tiers needed):\n"                                                           \
    "      --profile WHAT       sample stacks of a node and write --output FILE.svg;\n"            \
    "                           WHAT: cpu, wall, or a metric, such as memory\n"                    \
    "      --top N              the N processes with the most of it (100)\n"                       \
    "      --sample-interval DURATION  between two groups of processes (9ms)\n"                    \
    "\n"                                                                                           \
    "Without a screen:\n"                                                                          \
    "  -b, --batch              print reports\n"                                                   \
    "  -d, --delay DURATION     report interval (default 1s)\n"                                    \
    "  -n, --iterations N       number of reports, then a summary\n"                               \
    "      --format text|json|csv|prom|hlog  (prom: Prometheus; hlog: HdrHistogram)\n"             \
    "  -o, --output FILE        write to a file; --flame: .svg, .html\n"                           \
    "      --assert CONDITION   check the summary, as in 'db.p99<20ms'; repeat for\n"              \
    "                           more; exit 3 if one fails\n"                                       \
    "      --baseline FILE      compare with a recording (--flame: stacks)\n"                      \
    "\n"                                                                                           \
    "Connection:\n"                                                                                \
    "      --cookie-file FILE   default: KPROF_COOKIE, then ~/.erlang.cookie\n"                    \
    "      --setcookie COOKIE   set the cookie; a file is safer\n"                                 \
    "      --name NAME          name of kprof-top's own hidden node, without host\n"               \
    "      --force              attach although another tracer is active (OTP < 27)\n"             \
    "      --hazards            list known faults of the VM; trace nothing\n"                      \
    "\n"                                                                                           \
    "Other:\n"                                                                                     \
    "      --record FILE        record the events for --replay\n"                                  \
    "      --speed N|max        speed of a replay on the screen (default 1)\n"                     \
    "      --demo-rate N        requests per second of the sample node (default 200)\n"            \
    "      --theme dark|light|8 colours of the screen (8: eight colours only)\n"                   \
    "      --no-mouse           disable the mouse\n"                                               \
    "      --no-color, --ascii  use no colours (also NO_COLOR); use only ASCII\n"                  \
    "  -h, --help   -V, --version\n"                                                               \
    "\n"                                                                                           \
    "Examples:\n"                                                                                  \
    "  kprof-top --demo\n"                                                                         \
    "  kprof-top -t web=my_web:handle/1 -t db=my_db:query/2 \\\n"                                  \
    "            -i \"my_web:handle/1 element(2,arg(1))\" app@host\n"                              \
    "  kprof-top -b -d 10s -n 6 --format json -t MyApp.Repo.get/2 app@host\n"                      \
    "\n"                                                                                           \
    "DURATION: such as 20ms, 1500us, 2s. Exit status: 0 done, 1 failed while running,\n"           \
    "2 wrong usage, 3 an --assert failed. Manual: kprof(1).\n"

const char *help_text(void)
{
    static const struct {
        char first[sizeof FIRST - 1], rest[sizeof REST]; /* one text: no padding between */
    } text = {FIRST, REST};

    return (const char *)&text;
}
