/* Keys and mouse events. Values only; any thread. */
#ifndef KPROF_UI_INPUT_H
#define KPROF_UI_INPUT_H

enum key { /* above any code point */
           KEY_NONE_ = 0x200000,
           KEY_UP_,
           KEY_DOWN_,
           KEY_LEFT_,
           KEY_RIGHT_,
           KEY_PGUP_,
           KEY_PGDN_,
           KEY_HOME_,
           KEY_END_,
           KEY_BACKSPACE_,
           KEY_DELETE_,
           KEY_RESIZE_,
           KEY_BTAB_,
           KEY_F1_,
           KEY_MOUSE_
           /* Enter is '\n', Escape 27, Tab '\t', Space ' ' */
};

#define KEY_PASTED_ 0x400000 /* flag of a code point: it was pasted, it is not a key */

enum mouse_kind { MOUSE_CLICK, MOUSE_DOUBLE, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };
struct mouse {
    int row, col; /* of the canvas */
    enum mouse_kind kind;
};

#endif
