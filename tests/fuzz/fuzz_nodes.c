/* Any bytes as an answer of epmd, as the file of the last nodes, and as the command line of a VM:
 * bounded, and only names of nodes come out. */
#include <kprof/cli/node_history.h>
#include <kprof/erl/local_nodes.h>
#include <kprof/erl/local_vms.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void epmd(const char *text, size_t n)
{
    static struct local_nodes found;

    found.n = 0;
    local_nodes_parse(&found, text, n);
    must(found.n <= LOCAL_NODES_MAX);
    for (size_t i = 0; i < found.n; i++)
        must(found.at[i].name[0] && strlen(found.at[i].name) < sizeof found.at[i].name);
}

/* What was read is written and read again unchanged. */
static void history(const char *text, size_t n)
{
    static struct node_choices once, twice;
    struct node_choice newest = {.node = "newest@host", .used_s = UINT64_C(999999999999)};
    struct buf out;

    memset(&once, 0, sizeof once);
    memset(&twice, 0, sizeof twice);
    node_history_read(&once, text, n);
    must(once.n <= NODE_HISTORY_MAX);
    buf_init(&out, 0);
    node_history_write(&once, &newest, &out);
    node_history_read(&twice, out.data, out.len);
    must(twice.n > 0 && twice.n <= NODE_HISTORY_MAX && strcmp(twice.at[0].node, newest.node) == 0);
    for (size_t i = 0; i < twice.n; i++)
        must(node_choice_name_ok(twice.at[i].node) && node_choice_address_ok(twice.at[i].connect));
    buf_release(&out);
}

static void command(const char *text, size_t n)
{
    struct local_vm vm;
    struct node_name again;

    if (local_vm_parse(text, n, "box", "box.example.org", &vm))
        must(node_name_parse(vm.name.full, &again) && strcmp(again.full, vm.name.full) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *exact = malloc(n ? n : 1);

    must(exact != NULL);
    memcpy(exact, data, n);
    epmd(exact, n);
    history(exact, n);
    command(exact, n);
    free(exact);
    return 0;
}
