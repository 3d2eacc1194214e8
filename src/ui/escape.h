/* Escape sequences that nobody knows (a key of another terminal, an answer to a question of someone
 * else): told from typed keys, so that their parts are not taken for commands. Pasted text (xterm's
 * bracketed paste) is told from typed keys as well. Forms: ECMA-48 and xterm's control sequences.
 *
 * Invariant: whatever comes, it is back to typed keys at the end of the sequence, after
 * ESCAPE_BYTES_MAX, or when a byte comes ESCAPE_WAIT_NS after the one before. A paste ends only
 * where the terminal says so, however long its parts take: what is left of it must not run as keys.
 * Pure: is given the time. One thread. */
#ifndef UI_ESCAPE_H
#define UI_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>

#define ESCAPE_WAIT_NS   UINT64_C(200000000)
#define ESCAPE_BYTES_MAX 4096

struct escape {
    enum { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_CSI, ESCAPE_ONE, ESCAPE_TEXT, ESCAPE_TEXT_END } state;
    uint32_t bytes;
    uint32_t number; /* of a CSI that has only one so far; UINT32_MAX: something else */
    uint64_t last_ns;
    bool pasting;
    uint8_t paste_end; /* bytes of the paste's end that are here */
};

/* Does cp right behind an ESC make a sequence of them? Any other was typed after Escape: two keys
 * that a slow line brings in one packet (or Alt and a key, which looks the same). */
bool escape_introduces(uint32_t cp);
void escape_begin(struct escape *e, uint64_t now_ns); /* after an ESC that more follows at once */
/* False: cp was typed, or, while e->pasting, pasted. */
bool escape_eats(struct escape *e, uint32_t cp, uint64_t now_ns);

#endif
