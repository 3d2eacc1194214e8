#include "notice.h"

#include <kprof/base/buf.h>
#include <kprof/base/text.h>
#include <stdio.h>
#include <string.h>

void notice(const char *text)
{
    struct buf line;

    buf_init(&line, 0);
    text_safe(&line, text, strlen(text), 0, false);
    fprintf(stderr, "kprof-top: %s\n", line.data);
    buf_release(&line);
}

void notice_about(const char *about, const char *text)
{
    struct buf line;

    buf_init(&line, 0);
    buf_addf(&line, "%s: %s", about, text);
    notice(line.data);
    buf_release(&line);
}
