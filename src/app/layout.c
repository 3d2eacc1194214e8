#include "layout.h"

#include <fcntl.h>
#include <kprof/cli/output.h>
#include <kprof/cli/xdg_path.h>
#include <unistd.h>

enum { LAYOUT_BYTES = 8192 };

static bool file(char path[XDG_PATH_BYTES])
{
    return xdg_path_of(XDG_STATE, "layout", path);
}

void layout_load(struct ui *u, enum window *w)
{
    char path[XDG_PATH_BYTES], text[LAYOUT_BYTES];
    int fd = file(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (n > 0)
        ui_layout_read(u, text, (size_t)n, w);
    if (fd >= 0)
        close(fd);
}

void layout_save(const struct ui *u, enum window w)
{
    char path[XDG_PATH_BYTES];
    struct buf text;
    struct err ignored;
    buf_init(&text, 0);
    ui_layout_write(u, w, &text);
    if (file(path)) {
        xdg_path_make(path);
        output_replace(path, text.data, text.len, &ignored);
    }
    buf_release(&text);
}
