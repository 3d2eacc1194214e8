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
    {"breaker", "stops tracing when it costs too much: closed, open, half-open"},
    {"sample", "the part of the requests that is traced"},
    {"tracing", "how many of the requests are traced; in parentheses: what limits it"},
    {"overhead", "share of the node's scheduler time that tracing takes"},
    {"lag", "age of the newest event when it arrived"},
    {"clock", "possible error of the node's times"},
    {"ring", "how full the buffer of events is; when it is full, events are lost"},
    {"expired", "calls whose end did not arrive"},
    {"late", "calls that started after their request had ended"},
    {"bad", "events that were not understood; should be 0"},
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
