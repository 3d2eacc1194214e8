/* Any bytes as an answer with the process table; the table that was read is then ordered, filtered
 * and exported. First byte: the order; second: how long the filter is, which follows. */
#include <kprof/export/export_processes.h>
#include <kprof/trace/process_request.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct process_query q = {0};
    struct etf c;
    struct buf out;

    size_t len = n > 1 ? data[1] % sizeof q.filter : 0;
    if (n < 2 + len)
        return 0;
    q.sort = data[0] % PROCESS_SORTS;
    q.reverse = data[0] & 128;
    memcpy(q.filter, data + 2, len);
    struct process_table *t = process_table_new();
    etf_init(&c, data + 2 + len, n - 2 - len);
    process_request_read(&c, t);
    buf_init(&out, 0);
    for (q.group = 0; q.group < PROCESS_GROUPS; q.group++)
        for (enum export_format f = EXPORT_TEXT; f <= EXPORT_CSV; f++)
            if (!export_processes(&out, t, &q, "app@host", 0, f))
                abort();
    buf_release(&out);
    process_table_free(t);
    return 0;
}
