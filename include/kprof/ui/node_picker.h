/* The first screen of `kprof-top` without a node: the nodes that were found, to pick from by
 * typing.
 *
 * Invariant: the selected node stays selected while the list is loaded again. The picker copies the
 * nodes and uses no node, no socket and no file. It draws on any canvas. Core thread only. */
#ifndef KPROF_UI_NODE_PICKER_H
#define KPROF_UI_NODE_PICKER_H

#include <kprof/core/node_choice.h>
#include <kprof/ui/canvas.h>
#include <kprof/ui/input.h>

struct node_picker;

enum node_picker_event {
    NODE_PICKER_NOTHING,
    NODE_PICKER_REDRAW,
    NODE_PICKER_RELOAD, /* the caller finds the nodes again: node_picker_set */
    NODE_PICKER_PICKED, /* a node was picked: node_picker_picked */
    NODE_PICKER_QUIT
};

struct node_picker *node_picker_new(void);
void node_picker_free(struct node_picker *p);
void node_picker_set(struct node_picker *p, const struct node_choices *l, uint64_t now_s);

void node_picker_draw(struct node_picker *p, struct canvas *c);
enum node_picker_event node_picker_key(struct node_picker *p, int key); /* as ui_key */
enum node_picker_event node_picker_mouse(struct node_picker *p, const struct mouse *m);
/* The picked node; if its name was typed, it has no source. Valid until the next key. */
const struct node_choice *node_picker_picked(const struct node_picker *p);

#endif
