#include "header_help.h"

#include <string.h>

static const struct header_label labels[] = {
    {"sched", "share of the schedulers' time of the node that is used"},
    {"runq", "processes of the node that are ready to run and wait for a scheduler"},
    {"mem", "memory of the node"},
    {"OTP", "its OTP release"},
    {"up", "its uptime"},
    {"procs", "its processes"},
    {"TRACING", "ON or OFF: whether calls are traced now"},
    {"REPLAY", "a recording: how much was played, and how fast"},
    {"window", "the time that the table covers; in parentheses: as much as there is so far"},
    {"PAUSED", "the display is frozen; tracing continues"},
    {"compared with", "the time or the recording that the figures are compared with"},
    {"filter", "only names that contain this text are shown"},
    {"gap", "time of the window in which nothing was traced, and the main reason"},
    {"req/s", "whole requests per second"},
    {"calls/s", "calls per second, where there is no entry"},
    {"lost", "events that were dropped; should be 0"},
    {"ev/s", "events per second that arrive"},
    {"open", "open requests; beside calls: open calls"},
    {"breaker", "stops tracing when it costs too much: closed, open, half-open"},
    {"tracing", "how many of the requests are traced; in parentheses: what limits it"},
    {"overhead", "share of the node's scheduler time that tracing takes"},
    {"lag", "age of the newest event when it arrived"},
    {"clock", "possible error of the node's times"},
    {"ring", "how full the buffer of events is; when it is full, events are lost"},
    {"via", "how the events arrive: dist (the distribution connection), replay"},
    {"returns", "lean: return values are not copied; full: they are"},
    {"relay", "messages that wait for the process on the node that sends the events"},
    {"calls", "calls that arrived: aggregated, open, expired and unattributed together"},
    {"aggregated", "calls that are counted in the table"},
    {"expired", "calls whose end did not arrive"},
    {"unattributed", "calls outside any request"},
    {"late", "calls that started after their request had ended"},
    {"orphans", "returns that fit no open call"},
    {"bad", "events that were not understood; should be 0"},
    {"folded", "how often a request was counted under (other), as all names were taken"},
    {"full", "how often a table of processes or requests was full"},
    {"~", "this value covers only the traced part of the window"},
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
    return NULL;
}
