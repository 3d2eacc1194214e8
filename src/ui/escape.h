/* Separates unknown escape sequences (a key of another terminal, an answer to another program's
 * query) from typed keys, so that their parts do not run as commands. Also separates pasted text
 * (xterm's bracketed paste) from typed keys. Source: ECMA-48 and xterm's control sequences.
 *
 * Invariant: for any input, bytes count as typed keys again at the end of the sequence, after
 * ESCAPE_BYTES_MAX, or when a byte comes ESCAPE_WAIT_NS after the byte before it. A paste ends only
 * at the terminal's end mark, without a time limit, because the rest of a paste must not run as
 * keys. Pure: the caller passes the time. One thread. */
#ifndef UI_ESCAPE_H
#define UI_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>

#define ESCAPE_WAIT_NS   UINT64_C(200000000)
#define ESCAPE_BYTES_MAX 4096

struct escape {
    enum { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_CSI, ESCAPE_ONE, ESCAPE_TEXT, ESCAPE_TEXT_END } state;
    uint32_t bytes;      /* after the ESC */
    uint32_t introducer; /* the first of them */
    uint32_t number;     /* number of a CSI that has only one number so far; UINT32_MAX: the CSI has
                            something else */
    uint64_t last_ns;
    bool pasting;
    uint8_t paste_end; /* bytes of the paste's end mark received so far */
};

/* True: cp directly after an ESC begins a sequence. False: cp was typed after Escape: two keys that
 * a slow line brings in one packet (or Alt and a key, which looks the same). */
bool escape_introduces(uint32_t cp);
/* call after an ESC that is followed by more bytes at once */
void escape_begin(struct escape *e, uint64_t now_ns);
/* Call this when no byte is available. True: nothing came for ESCAPE_WAIT_NS after an ESC and *cp,
 * so these were two keys: the caller takes both as typed. A terminal sends a sequence at once. */
bool escape_typed(struct escape *e, uint64_t now_ns, uint32_t *cp);
/* True: cp is part of a sequence. False: cp was typed or, while e->pasting, pasted. */
bool escape_eats(struct escape *e, uint32_t cp, uint64_t now_ns);

#endif
