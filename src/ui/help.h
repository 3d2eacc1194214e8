/* The screen of help: all keys, columns, labels of the header and words, in two columns where they
 * fit, searchable. It opens at the keys of the screen it was opened on.
 * Invariant: the page consists only of constant tables (keys, columns, labels, VM events, words); a
 * position in it is valid for every width of the screen. Core thread only. */
#ifndef UI_HELP_H
#define UI_HELP_H

#include "screen.h"
#include "scroll.h"

struct help_state {
    struct scroll at;    /* sel: the line on top; page: lines in sight */
    enum screen_id from; /* the screen to go back to */
    int cols;            /* of a column of the last draw */
    char find[64];       /* "": no search */
    size_t begin;        /* the entry from which the search began */
    size_t found;        /* the entry that was found, counted from 1; 0: none */
    size_t show;         /* the entry that the next draw must show, counted from 1; 0: any */
    bool on_top;         /* at the top of the screen */
};

extern const struct screen_ops screen_help;

/* Call before the screen is shown: help was opened on this screen, and these are its keys. */
void help_of(struct help_state *t, enum screen_id from, unsigned context);
/* Searches from the position at which `/` was pressed; "": ends the search. */
void help_find(struct help_state *t, const char *text);

#endif
