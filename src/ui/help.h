/* The screen of help: all keys, columns, labels of the header and words, in two columns where they
 * fit, searchable. It opens at the keys of the screen it was opened on.
 *
 * Invariant: the page is made of the tables of keys, columns and labels alone; a line of it is a
 * place for every width of the screen. Core thread only. */
#ifndef UI_HELP_H
#define UI_HELP_H

#include "screen.h"
#include "scroll.h"

struct help_state {
    struct scroll at;    /* sel: the line on top; page: lines in sight */
    enum screen_id from; /* the screen to go back to */
    int cols;            /* of a column of the last picture */
    char find[64];       /* "": nothing is searched for */
    size_t begin;        /* the entry from which a text that is being typed is searched for */
    size_t found;        /* the entry that was found, counted from 1; 0: none */
    size_t show;         /* the entry that the next picture must show, counted from 1; 0: any */
    bool on_top;         /* ... on top of it */
};

extern const struct screen_ops screen_help;

/* Call before the screen is shown: on it help was asked for, these are its keys. */
void help_of(struct help_state *t, enum screen_id from, unsigned context);
/* Searches from where `/` was pressed; "": no more. */
void help_find(struct help_state *t, const char *text);

#endif
