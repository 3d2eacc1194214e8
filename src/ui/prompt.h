/* A text input line at the bottom of the screen, with completions drawn above it.
 *
 * Invariant: text is NUL-terminated UTF-8, caret is at the start of a code point; len <
 * PROMPT_BYTES. The prompt owns its list of completions and depends on no screen. One thread. */
#ifndef UI_PROMPT_H
#define UI_PROMPT_H

#include <kprof/ui/canvas.h>
#include <stdbool.h>
#include <stddef.h>

#define PROMPT_BYTES 1024

enum prompt_event {
    PROMPT_NOTHING,
    PROMPT_MOVED,
    PROMPT_CHANGED,
    PROMPT_PICKED,
    PROMPT_DONE,
    PROMPT_CANCELLED
};

struct prompt {
    const char *title; /* constant, e.g. "Add tier" */
    const char *hint;  /* constant, drawn dim while nothing is typed; may be NULL */
    char text[PROMPT_BYTES];
    size_t len, caret; /* bytes */
    char error[256];   /* drawn under the line; "": none */
    size_t error_at;   /* byte of the error; SIZE_MAX: no position */
    bool proposed;     /* the text is a proposal: the first typed character replaces it */
    bool pasted_break; /* a line of the pasted text has ended; another may follow */
    char **items; /* each replaces the text after `NAME=`, or the whole text if the item starts with
                     `NAME=` */
    size_t n_items, sel; /* sel == n_items: none chosen */
};

void prompt_open(struct prompt *p, const char *title, const char *hint, const char *text);
/* Makes the text of the open prompt a proposal: typing replaces it, moving or completing edits
 * it. */
void prompt_propose(struct prompt *p);
void prompt_release(struct prompt *p);
void prompt_trim(struct prompt *p); /* removes the blanks at both ends */
void prompt_error(struct prompt *p, size_t at, const char *error);
/* PICKED: a completion was put into the text by Tab or an arrow (the list stays); CHANGED: text was
 * typed. */
enum prompt_event prompt_key(struct prompt *p, int key);
/* cp: code point of a pasted text. An end of line becomes a blank if there is text on both sides;
 * other control characters are left out. Returns CHANGED or NOTHING. */
enum prompt_event prompt_paste(struct prompt *p, int cp);
size_t prompt_name_bytes(const char *text); /* bytes of `NAME=` at the start */
void prompt_completions(struct prompt *p, const char *const *items, size_t n);
/* Draws the line on `row`, or above it if there is an error, which is then on `row`. Completions
 * are above the line. Sets the canvas cursor. */
void prompt_draw(const struct prompt *p, struct canvas *c, int row);

#endif
