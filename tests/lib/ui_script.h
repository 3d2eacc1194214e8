/* Drives the screens by scripts of keys, draws them on a plain canvas, and compares pictures with
 * goldens.
 *
 * Script: characters are keys; special ones are written <Up> <Down> <Left> <Right> <PgUp> <PgDn>
 * <Home> <End> <Tab> <BTab> <Enter> <Esc> <BS> <Del> <F1> <Resize> <C-a>..<C-z>. A picture is drawn
 * after every key. */
#ifndef KPROF_TESTS_UI_SCRIPT_H
#define KPROF_TESTS_UI_SCRIPT_H

#include <fake_snapshot.h>
#include <kprof/ui/ui.h>

/* The key at *s, which is moved on; 0 at the end. */
int script_key(const char **s);
/* A ui on a canvas of 30 rows and 100 columns, and their end, with that of what was shown. */
void script_begin(struct ui **u, struct canvas *c, bool ascii);
void script_end(struct ui *u, struct canvas *c, struct fake *shown);
/* Runs all keys; returns the last intent that was more than a redraw (or the last one). */
struct intent script_run(struct ui *u, struct canvas *c, const struct snapshot *s,
                         const char *keys);
/* Text and a map of styles: n(ormal) is blank, d b h s g w x k the others; '_' where the cursor is.
 * On a canvas with shades these are capital letters, A for the least, and the lower halves have a
 * map of their own. */
void picture(const struct canvas *c, struct buf *out);
/* true: the picture is tests/golden/ui/NAME.txt (which is written instead under
 * UPDATE_GOLDENS=1); else both are printed where they begin to differ. */
bool picture_is_golden(const struct canvas *c, const char *name);
/* The same of any text and tests/golden/NAME.txt. */
bool text_is_golden(const struct buf *got, const char *name);
/* NULL, or what is wrong with a cell: the invariant of canvas.h. */
const char *canvas_broken(const struct canvas *c);
bool picture_has(const struct canvas *c, const char *text); /* on one row */

#endif
