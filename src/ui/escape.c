#include "escape.h"

#define ESC 27
#define BEL 7

void escape_begin(struct escape *e, uint64_t now_ns)
{
    e->state = ESCAPE_BEGUN;
    e->bytes = 0;
    e->last_ns = now_ns;
}

static int after_esc(uint32_t cp)
{
    switch (cp) {
    case '[':
        return ESCAPE_CSI;
    case 'O':
    case 'N':
        return ESCAPE_ONE;
    case ']':
    case 'P':
    case '^':
    case '_':
    case 'X':
        return ESCAPE_TEXT;
    default:
        return ESCAPE_NONE;
    }
}

bool escape_introduces(uint32_t cp)
{
    return after_esc(cp) != ESCAPE_NONE;
}

bool escape_eats(struct escape *e, uint32_t cp, uint64_t now_ns)
{
    if (e->state == ESCAPE_NONE) {
        return false;
    }
    if (now_ns - e->last_ns > ESCAPE_WAIT_NS || ++e->bytes > ESCAPE_BYTES_MAX) {
        e->state = ESCAPE_NONE;
        return false;
    }
    e->last_ns = now_ns;
    switch (e->state) {
    case ESCAPE_BEGUN:
        e->state = after_esc(cp);
        break;
    case ESCAPE_CSI:
        if (cp >= 0x40 && cp <= 0x7e) {
            e->state = ESCAPE_NONE;
        } else if (cp < 0x20 || cp > 0x7e) { /* cut off: this one was typed */
            e->state = ESCAPE_NONE;
            return false;
        }
        break;
    case ESCAPE_TEXT:
        e->state = cp == BEL ? ESCAPE_NONE : cp == ESC ? ESCAPE_TEXT_END : ESCAPE_TEXT;
        break;
    case ESCAPE_TEXT_END:
        e->state = cp == '\\' ? ESCAPE_NONE : after_esc(cp);
        break;
    case ESCAPE_ONE:
    case ESCAPE_NONE:
        e->state = ESCAPE_NONE;
        break;
    }
    return true;
}
