#include "header_help.h"
#include "internals.h"

#include <string.h>

static const struct header_label labels[] = {
    {"up", "uptime of the node"},
    {"sched", "share of the node's scheduler time that is used"},
    {"runq", "processes of the node that are ready to run and wait for a scheduler"},
    {"mem", "memory of the node"},
    {"procs", "processes of the node"},
    {"OTP", "OTP release of the node"},
    {"TRACING", "ON or OFF: whether calls are traced now"},
    {"REPLAY", "a recording: how much was played, and how fast"},
    {"TLS", "not verified: --tls-insecure; this may be another node"},
    {"PAUSED", "the display is frozen; tracing continues"},
    {"compared with", "the time range or the recording that the values are compared with"},
    {"filter", "only names that contain this text are shown"},
    {"window", "the time that the table covers; in parentheses: the part covered so far"},
    {"gap", "time in the window in which nothing was traced, and the main reason"},
    {"req/s", "whole requests per second"},
    {"calls/s", "calls per second, if there is no entry"},
    {"sample", "1/N: one request in N is traced, as a whole"},
    {"overhead", "share of the node's scheduler time that tracing takes"},
    {"stacks", "stacks are sampled: share of the node's scheduler time (K ends it)"},
    {"trigger", "the condition of the trigger, and its state (! sets or removes it)"},
    {"breaker",
     "stops tracing when it costs too much: closed, open, half-open; how often it opened"},
    {"lost", "events that were dropped: calls are missing"},
    {"~", "grey values with this mark cover only the traced part of the window"},
};

#define N (sizeof labels / sizeof *labels)

const struct header_label *header_labels(size_t *n)
{
    *n = N;
    return labels;
}

const char *header_help(const char *label)
{
    for (size_t i = 0; i < N; i++) {
        if (strcmp(labels[i].label, label) == 0) {
            return labels[i].help;
        }
    }
    return internals_meaning(label); /* the header shows those that indicate a problem */
}
