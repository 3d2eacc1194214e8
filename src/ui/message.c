#include "message.h"

#include <stdio.h>

void message_set(struct message *m, const char *text, bool error)
{
    snprintf(m->text, sizeof m->text, "%s", text);
    m->error = error;
    m->since_ns = 0;
}

bool message_draw(const struct message *m, struct canvas *c, int row)
{
    if (!m->text[0]) {
        return false;
    }
    canvas_text(c, row, 0, c->cols, m->error ? STYLE_BAD : STYLE_GOOD, m->text);
    return true;
}
