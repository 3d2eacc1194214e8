#include <kprof/base/machine_use.h>

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

double machine_use_of(struct machine_use *u, const char *text)
{
    uint64_t v[8], all = 0;
    struct machine_use was = *u;

    /* user, nice, system, idle, iowait, irq, softirq, steal; the times of guests are in user */
    if (sscanf(text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
        return NAN;
    for (int i = 0; i < 8; i++)
        all += v[i];
    *u = (struct machine_use){.all = all, .idle = v[3] + v[4]};
    /* iowait may decrease */
    if (was.all == 0 || u->all <= was.all || u->idle < was.idle)
        return NAN;
    return fmax(0, 1 - (double)(u->idle - was.idle) / (double)(u->all - was.all));
}

double machine_use_since(struct machine_use *u)
{
    char text[256];
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return NAN;
    text[n] = 0;
    return machine_use_of(u, text);
}
