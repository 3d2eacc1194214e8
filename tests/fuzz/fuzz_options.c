/* The command line and the config file from any bytes. The first byte chooses: even, a config file;
 * odd, arguments, each ended by a newline (<file> is the last argument: the rest is the text of the
 * config file). */
#include <cli/config.h>
#include <kprof/cli/options.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX 40

static void check_err(const struct err *e)
{
    if (strnlen(e->text, sizeof e->text) == sizeof e->text)
        abort();
}

static void try_config(const char *text, size_t n)
{
    struct config c;
    struct err e = {{0}};
    if (config_parse(text, n, "fuzz.config", &c, &e) && !e.text[0])
        abort();
    for (size_t i = 0; i < c.n; i++)
        if (!c.item[i].text || (c.item[i].kind == CONFIG_TIER) != (c.item[i].name != NULL) ||
            c.item[i].line < 1 || c.item[i].col < 1)
            abort();
    check_err(&e);
    config_release(&c);
}

/* What options_parse guarantees after OPTIONS_RUN. */
static void check_options(const struct options *o)
{
    if ((o->mode == OPTIONS_NODE) != (o->n_nodes > 0) ||
        (o->mode == OPTIONS_REPLAY) != (o->replay != NULL))
        abort();
    if (o->sample == 0 || o->delay_ns == 0 || o->n_tiers > TIER_MAX || (o->entry && o->entry_none))
        abort();
    if (o->profile && (!o->batch || !o->output || o->n_triggers > OPTIONS_TRIGGERS_MAX))
        abort();
    for (size_t i = 0; i < o->n_tiers; i++) {
        struct tier_spec t;
        struct err e;
        if (options_tier_parse(o->tier[i].mfa, &t, &e) ||
            options_tier_check_name(o->tier[i].name, &e))
            abort();
        for (size_t k = 0; k < i; k++)
            if (strcmp(o->tier[i].name, o->tier[k].name) == 0)
                abort();
    }
}

static void write_file(char *path, const char *text, size_t n)
{
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        abort();
    close(fd);
}

static void try_options(char *text, size_t n)
{
    char *argv[ARGS_MAX + 3] = {(char[]){"kprof-top"}};
    char path[] = "/tmp/kprof_fuzz_options_XXXXXX", dash_f[] = "-f";
    int argc = 1;
    bool file = false;
    for (char *line = text, *end = text + n; line < end && argc < ARGS_MAX;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            break;
        *stop = '\0';
        if (strcmp(line, "<file>") == 0) {
            write_file(path, stop + 1, (size_t)(end - stop - 1));
            argv[argc++] = dash_f;
            argv[argc++] = path;
            file = true;
            break;
        }
        /* Files of this machine are not part of the input. */
        if (strstr(line, "-f") != line && strncmp(line, "--c", 3) != 0 &&
            !(line[0] == '-' && strchr(line, 'f')))
            argv[argc++] = line;
        line = stop + 1;
    }
    struct options o;
    struct err e = {{0}};
    switch (options_parse(argc, argv, &o, &e)) {
    case OPTIONS_RUN:
        check_options(&o);
        break;
    case OPTIONS_USAGE:
        if (!e.text[0])
            abort();
        break;
    case OPTIONS_EXIT_OK:
        break;
    }
    check_err(&e);
    options_release(&o);
    if (file)
        unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return freopen("/dev/null", "w", stdout) ? 0 : 1; /* --help prints */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *copy = malloc(size); /* exact size: a read past the end is detected */
    if (!copy)
        abort();
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 1)
        try_options(copy, size - 1);
    else
        try_config(copy, size - 1);
    free(copy);
    return 0;
}
