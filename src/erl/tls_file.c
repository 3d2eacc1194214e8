#include "tls_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tls_file_open(const char *file, const char *from, const char *give, struct err *e)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        (void)err_set(e, "cannot read %.200s (from %s): %s", file, from, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        (void)err_set(e, "cannot read %.200s (from %s): it is not a regular file; give %s", file,
                      from, give);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}
