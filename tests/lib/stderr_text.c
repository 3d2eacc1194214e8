#include "stderr_text.h"

#include <stdlib.h>
#include <unistd.h>

void stderr_text_begin(struct stderr_text *s)
{
    s->file = tmpfile();
    s->saved = dup(STDERR_FILENO);
    if (!s->file || s->saved < 0 || dup2(fileno(s->file), STDERR_FILENO) < 0)
        abort();
}

void stderr_text_end(struct stderr_text *s, char *text, size_t cap)
{
    fflush(stderr);
    if (dup2(s->saved, STDERR_FILENO) < 0)
        abort();
    close(s->saved);
    rewind(s->file);
    text[fread(text, 1, cap - 1, s->file)] = 0;
    fclose(s->file);
}
