#include <kprof/cli/node_history.h>

#include <fcntl.h>
#include <kprof/cli/output.h>
#include <kprof/cli/xdg_path.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES = NODE_HISTORY_MAX * (2 * NODE_CHOICE_BYTES + 24), LINE_BYTES = 1024 };

/* "TIME NODE" or "TIME NODE ADDR:PORT" */
static bool read_line(const char *s, size_t n, struct node_choice *out)
{
    char line[LINE_BYTES], *word, *rest;

    if (n >= sizeof line || memchr(s, 0, n))
        return false;
    memcpy(line, s, n);
    line[n] = 0;
    memset(out, 0, sizeof *out);
    word = strtok_r(line, " ", &rest);
    if (!word || strlen(word) > 12 || strspn(word, "0123456789") != strlen(word))
        return false;
    out->used_s = strtoull(word, NULL, 10);
    word = strtok_r(NULL, " ", &rest);
    if (!word || !node_choice_name_ok(word))
        return false;
    snprintf(out->node, sizeof out->node, "%s", word);
    word = strtok_r(NULL, " ", &rest);
    if (word && !node_choice_address_ok(word))
        return false;
    snprintf(out->connect, sizeof out->connect, "%s", word ? word : "");
    return out->used_s > 0 && !strtok_r(NULL, " ", &rest);
}

void node_history_read(struct node_choices *out, const char *text, size_t n_bytes)
{
    size_t lines = 0;

    while (n_bytes > 0 && lines < NODE_HISTORY_MAX) {
        const char *end = memchr(text, '\n', n_bytes);
        size_t n = end ? (size_t)(end - text) : n_bytes, used = n + (end != NULL);
        struct node_choice c;
        if (read_line(text, n, &c)) {
            node_choices_add(out, &c);
            lines++;
        }
        text += used;
        n_bytes -= used;
    }
}

static void put(const struct node_choice *c, struct buf *out)
{
    buf_addf(out, "%llu %s%s%s\n", (unsigned long long)c->used_s, c->node, c->connect[0] ? " " : "",
             c->connect);
}

void node_history_write(const struct node_choices *old, const struct node_choice *newest,
                        struct buf *out)
{
    put(newest, out);
    for (size_t i = 0, n = 1; i < old->n && n < NODE_HISTORY_MAX; i++) {
        const struct node_choice *c = &old->at[i];
        if (strcmp(c->node, newest->node) == 0 && strcmp(c->connect, newest->connect) == 0)
            continue;
        put(c, out);
        n++;
    }
}

static bool path_of(char path[XDG_PATH_BYTES])
{
    return xdg_path_of(XDG_STATE, "nodes", path);
}

void node_history_load(struct node_choices *out)
{
    char path[XDG_PATH_BYTES], text[FILE_BYTES];
    int fd = path_of(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;

    if (n > 0)
        node_history_read(out, text, (size_t)n);
    if (fd >= 0)
        close(fd);
}

void node_history_note(const char *node, const char *connect, uint64_t now_s)
{
    struct node_choices *old = calloc(1, sizeof *old);
    struct node_choice c = {.used_s = now_s};
    char path[XDG_PATH_BYTES];
    struct err ignored;
    struct buf text;

    if (!old)
        abort();
    buf_init(&text, 0);
    snprintf(c.node, sizeof c.node, "%s", node);
    snprintf(c.connect, sizeof c.connect, "%s", connect ? connect : "");
    if (node_choice_name_ok(c.node) && node_choice_address_ok(c.connect) && path_of(path)) {
        node_history_load(old);
        node_choices_sort(old);
        node_history_write(old, &c, &text);
        xdg_path_make(path);
        output_replace(path, text.data, text.len, &ignored);
    }
    buf_release(&text);
    free(old);
}
