/* Writes the made-up profile of tests/lib/fake_stacks.h in every format of stacks.h, for tests that
 * read the files with other tools: stacks_files DIRECTORY. Names are hostile; the name of a grouped
 * file contains the group. */
#include <fake_stacks.h>
#include <kprof/export/stacks.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool to_file(void *arg, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static void write_one(const struct stack_view *v, const char *path, const struct stacks_options *o)
{
    FILE *f = fopen(path, "wb");
    if (!f || !stacks_write(v, stacks_format_of_file(path), o, to_file, f) || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const char *const endings[] = {".folded", ".eflame",     ".perf", ".speedscope.json",
                                          ".pb.gz",  ".trace.json", ".html", ".svg"};
    if (argc != 2)
        return 2;
    struct stack_profile *p = fake_stacks(true);
    struct stack_view *v = stack_profile_view(p);
    struct stacks_options all = {.title = "app@host <b>&\"'"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[1024];
        struct stacks_options o = all;
        snprintf(path, sizeof path, "%s/all%s", argv[1], endings[i]);
        write_one(v, path, &o);
        o.query.group = FLAME_STATUS;
        o.integer_pid = true;
        snprintf(path, sizeof path, "%s/status%s", argv[1], endings[i]);
        write_one(v, path, &o);
        o = all;
        o.query.by = FLAME_GROWTH;
        o.query.metric = STACK_BIN_VHEAP_SIZE;
        snprintf(path, sizeof path, "%s/binaries%s", argv[1], endings[i]);
        write_one(v, path, &o);
    }
    stack_view_release(v);
    stack_profile_free(p);
    return 0;
}
