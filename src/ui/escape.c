#include "escape.h"

#define ESC 27
#define BEL 7

enum { PASTE_BEGINS = 200 };

static const char paste_ends[] = "\033[201~";

void escape_begin(struct escape *e, uint64_t now_ns)
{
    e->state = ESCAPE_BEGUN;
    e->bytes = e->introducer = e->number = 0;
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

static void csi_number(struct escape *e, uint32_t cp)
{
    bool digit = cp >= '0' && cp <= '9' && e->number < 1000;
    e->number = digit ? e->number * 10 + (cp - '0') : UINT32_MAX;
}

/* False: cp is text of the paste. */
static bool paste_eats(struct escape *e, uint32_t cp)
{
    if (cp == (unsigned char)paste_ends[e->paste_end]) {
        e->paste_end++;
        e->pasting = paste_ends[e->paste_end] != 0;
        return true;
    }
    e->paste_end = cp == ESC;
    return cp == ESC;
}

bool escape_typed(struct escape *e, uint64_t now_ns, uint32_t *cp)
{
    if (e->pasting || e->state == ESCAPE_NONE || e->bytes != 1 ||
        now_ns - e->last_ns <= ESCAPE_WAIT_NS) {
        return false;
    }
    e->state = ESCAPE_NONE;
    *cp = e->introducer;
    return true;
}

bool escape_eats(struct escape *e, uint32_t cp, uint64_t now_ns)
{
    if (e->pasting) {
        return paste_eats(e, cp);
    }
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
        e->introducer = cp;
        break;
    case ESCAPE_CSI:
        if (cp >= 0x40 && cp <= 0x7e) {
            e->state = ESCAPE_NONE;
            e->pasting = cp == '~' && e->number == PASTE_BEGINS;
            e->paste_end = 0;
        } else if (cp < 0x20 || cp > 0x7e) { /* the sequence was cut off: this one was typed */
            e->state = ESCAPE_NONE;
            return false;
        } else {
            csi_number(e, cp);
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
