/* Runs scripts of keys on the screens, draws them on a canvas in memory, and compares the pictures
 * with golden files.
 *
 * Script: characters are keys; special ones are written <Up> <Down> <Left> <Right> <PgUp> <PgDn>
 * <Home> <End> <Tab> <BTab> <Enter> <Esc> <BS> <Del> <F1> <Resize> <C-a>..<C-z>. A picture is drawn
 * after every key. */
#ifndef KPROF_TESTS_UI_SCRIPT_H
#define KPROF_TESTS_UI_SCRIPT_H

#include <fake_snapshot.h>
#include <kprof/ui/ui.h>

/* Returns the key at *s and advances *s; 0 at the end. */
int script_key(const char **s);
/* Creates a ui and a canvas of 30 rows and 100 columns; frees them, and the snapshot that was
 * shown. */
void script_begin(struct ui **u, struct canvas *c, bool ascii);
void script_end(struct ui *u, struct canvas *c, struct fake *shown);
/* Runs all keys; returns the last intent that is not a redraw; if there is none, the last one. */
struct intent script_run(struct ui *u, struct canvas *c, const struct snapshot *s,
                         const char *keys);
/* The text, and a map of styles: a blank is STYLE_NORMAL, d b h s g w x k are the others, 0 to 7
 * the parts of a time, '_' is the cursor. On a canvas with shades, capital letters are the shades,
 * A the weakest, and the lower half cells have a second map. */
void picture(const struct canvas *c, struct buf *out);
/* Returns true if the picture equals tests/golden/ui/NAME.txt (UPDATE_GOLDENS=1 writes the file);
 * else prints both from the first difference on. */
bool picture_is_golden(const struct canvas *c, const char *name);
/* The same for any text and tests/golden/NAME.txt. */
bool text_is_golden(const struct buf *got, const char *name);
/* NULL, or a description of the first cell that violates the invariant of canvas.h. */
const char *canvas_broken(const struct canvas *c);
bool picture_has(const struct canvas *c, const char *text); /* on one row */

#endif
