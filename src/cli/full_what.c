#include <kprof/cli/full_what.h>

#include <ctype.h>
#include <kprof/cli/optval.h>
#include <stdio.h>
#include <string.h>

/* <0.Id.Serial> */
static bool parse_pid(const char *text, uint64_t *pid)
{
    unsigned id, serial;
    int end = 0;

    if (sscanf(text, "<0.%u.%u>%n", &id, &serial, &end) != 2 || end == 0 || text[end])
        return false;
    *pid = (uint64_t)serial << 32 | id;
    return true;
}

/* The length of M:F/A: to the first blank that is not in quotes. */
static size_t function_length(const char *text)
{
    bool quoted = false;
    size_t n = 0;

    for (; text[n] && (quoted || !isspace((unsigned char)text[n])); n++)
        if (text[n] == '\'')
            quoted = !quoted;
    return n;
}

int full_what_parse(const char *text, struct full_what *out, struct err *e)
{
    char function[600];
    size_t at, n;

    *out = (struct full_what){0};
    while (isspace((unsigned char)*text))
        text++;
    if (parse_pid(text, &out->pid)) {
        out->process = true;
        return 0;
    }
    n = function_length(text);
    out->condition = text[n + strspn(text + n, " \t\r\n")] != '\0';
    if (n < sizeof function) {
        memcpy(function, text, n);
        function[n] = '\0';
        if (term_parse_mfa(function, &out->call, &at))
            return 0;
    }
    return err_set(e,
                   "--full-trace %s: write a function, with or without a condition (m:f/2 arg(1) "
                   "=:= get), or a process (<0.123.0>)",
                   optval_show(text).s);
}
