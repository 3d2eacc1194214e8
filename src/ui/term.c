#ifndef _XOPEN_SOURCE_EXTENDED
#define _XOPEN_SOURCE_EXTENDED 1 /* the wide functions of ncurses */
#endif

#include "escape.h"
#include "paint.h"
#include "terminfo.h"

#include <kprof/base/clock.h>
#include <kprof/base/text.h>
#include <kprof/ui/term.h>

#include <langinfo.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define ESC          27
#define AMOUNT_PAIRS ((SHADE_CURSOR + 1) * (SHADE_CURSOR + 1))
#define SHADE_PAIRS  (AMOUNT_PAIRS + PART_COUNT * (PART_COUNT + 1))
#define PASTE_ON     "\033[?2004h"
#define PASTE_OFF    "\033[?2004l" /* of the same length */

/* ncurses has one current terminal, and a signal handler gets no argument, so this is the only
 * static variable of the layer. */
static struct {
    bool open;
    volatile sig_atomic_t
        ours; /* the terminal is in the modes of this unit: term_restore must reset them */
    SCREEN *screen;
    struct termios before;
    char leave[256]; /* escape sequences that restore the terminal, for the signal handler */
    size_t leave_bytes;
    bool pastes;       /* the terminal was told to mark pasted text */
    void (*stop)(int); /* handler of curses for SIGTSTP */
    int colors;        /* 0: none are used */
    enum theme theme;
    attr_t attr[STYLE_COUNT];
    short pair[STYLE_COUNT];
    bool shade_known[SHADE_PAIRS]; /* the colors of this pair of shades are set */
    struct escape escape;
    struct mouse mouse; /* of the last KEY_MOUSE_ */
    uint64_t click_ns;  /* time of the last click */
} term;

/* --- opening and closing --- */

/* Adds a capability without its padding ("$<5>"), because a signal handler cannot wait. */
static void leave_with(const char *name)
{
    const char *s = tigetstr(name);
    if (!s || s == (char *)-1) {
        return;
    }
    while (*s && term.leave_bytes + 1 < sizeof term.leave) {
        const char *end = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;
        if (end) {
            s = end + 1;
        } else {
            term.leave[term.leave_bytes++] = *s++;
        }
    }
}

static void prepare_leaving(void)
{
    static const char *const last[] = {"sgr0", "op", "rmkx", "cnorm", "rmcup"};
    term.leave_bytes = 0;
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) {
        leave_with(last[i]);
    }
    static const char no_mouse[] = "\033[?1000l\033[?1006l";
    if (tigetstr("kmous") && tigetstr("kmous") != (char *)-1 &&
        term.leave_bytes + sizeof no_mouse < sizeof term.leave) {
        memcpy(term.leave + term.leave_bytes, no_mouse, sizeof no_mouse - 1);
        term.leave_bytes += sizeof no_mouse - 1;
    }
}

/* Bracketed paste mode: pasted text comes between two sequences, which the unit escape detects.
 * Terminals that are not ANSI might print unknown sequences. */
static void mark_pastes(bool on)
{
    if (term.pastes) {
        ssize_t n = write(STDOUT_FILENO, on ? PASTE_ON : PASTE_OFF, sizeof PASTE_ON - 1);
        (void)n;
    }
}

/* curses restores the terminal on SIGTSTP, but does not end bracketed paste mode. */
static void on_stop(int sig)
{
    mark_pastes(false);
    term.stop(sig); /* returns when the process continues */
    mark_pastes(true);
}

static void begin_pastes(void)
{
    struct sigaction sa;
    term.pastes = strncmp(tigetstr("cup"), "\033[", 2) == 0;
    mark_pastes(true);
    if (sigaction(SIGTSTP, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL &&
        sa.sa_handler != SIG_IGN && sa.sa_handler != on_stop) { /* of an earlier term_open */
        term.stop = sa.sa_handler;
        sa.sa_handler = on_stop;
        sigaction(SIGTSTP, &sa, NULL);
    }
}

static attr_t attributes(const struct paint *k)
{
    attr_t a = A_NORMAL;
    a |= k->attributes & PAINT_BOLD ? A_BOLD : 0;
    a |= k->attributes & PAINT_DIM ? A_DIM : 0;
    a |= k->attributes & PAINT_REVERSE ? A_REVERSE : 0;
    a |= k->attributes & PAINT_UNDERLINE ? A_UNDERLINE : 0;
    return a;
}

static void set_style(enum style st, enum theme t)
{
    struct paint k = paint_style(t, st, term.colors);
    term.attr[st] = attributes(&k);
    term.pair[st] = 0;
    if (k.ink >= 0 || k.paper >= 0) {
        term.pair[st] = (short)st;
        init_extended_pair(st, k.ink, k.paper);
    }
}

/* The number of a pair of shades: of two amounts, or of two parts of a time (the second may be
 * none). Other pairs are never drawn. */
static size_t pair_number(unsigned ink, unsigned paper)
{
    if (ink < SHADE_PART) {
        return (size_t)ink * (SHADE_CURSOR + 1) + paper;
    }
    unsigned second = paper == SHADE_NONE ? 0 : 1 + paper - SHADE_PART;
    return AMOUNT_PAIRS + (size_t)(ink - SHADE_PART) * (PART_COUNT + 1) + second;
}

/* A pair for two shades; made when it is used for the first time. */
static short shade_pair(unsigned ink, unsigned paper)
{
    size_t i = pair_number(ink, paper);
    if (!term.shade_known[i]) {
        init_extended_pair(STYLE_COUNT + (int)i, paint_shade(term.theme, ink, term.colors),
                           paint_shade(term.theme, paper, term.colors));
        term.shade_known[i] = true;
    }
    return (short)(STYLE_COUNT + i);
}

void term_mouse_on(void)
{
    /* Only presses: ncurses would delay each one to detect a click or double click. */
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
}

void term_theme(enum theme t)
{
    if (!term.open || t == term.theme || t >= THEME_COUNT) {
        return;
    }
    for (int st = 0; st < STYLE_COUNT; st++) {
        set_style((enum style)st, t);
    }
    memset(term.shade_known, 0, sizeof term.shade_known);
    term.theme = t;
    clearok(curscr, TRUE); /* the screen has the old colors */
}

static void prepare_styles(bool no_color)
{
    bool color = !no_color && has_colors() && start_color() == OK;
    term.colors = color ? COLORS : 0;
    if (color) {
        use_default_colors();
    }
    term.theme = THEME_COUNT;
    term_theme(THEME_DARK);
}

bool term_has_shades(void)
{
    return term.open && paint_has_shades(term.theme, term.colors) &&
           COLOR_PAIRS >= STYLE_COUNT + SHADE_PAIRS;
}

/* Terminals send more keys than their terminfo entry has (for example a modern one that reports
 * vt100). The usual sequences are added, because their parts would be read as commands. */
static void define_keys(void)
{
    static const struct {
        const char *sent;
        int key;
    } keys[] = {
        {"\033[A", KEY_UP},    {"\033[B", KEY_DOWN},   {"\033[C", KEY_RIGHT},
        {"\033[D", KEY_LEFT},  {"\033OA", KEY_UP},     {"\033OB", KEY_DOWN},
        {"\033OC", KEY_RIGHT}, {"\033OD", KEY_LEFT},   {"\033[H", KEY_HOME},
        {"\033[F", KEY_END},   {"\033OH", KEY_HOME},   {"\033OF", KEY_END},
        {"\033[1~", KEY_HOME}, {"\033[4~", KEY_END},   {"\033[7~", KEY_HOME},
        {"\033[8~", KEY_END},  {"\033[5~", KEY_PPAGE}, {"\033[6~", KEY_NPAGE},
        {"\033[3~", KEY_DC},   {"\033[2~", KEY_IC},    {"\033[Z", KEY_BTAB},
        {"\033OP", KEY_F(1)},  {"\033[11~", KEY_F(1)},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (key_defined(keys[i].sent) == 0) {
            define_key(keys[i].sent, keys[i].key);
        }
    }
}

/* Of this machine, else a built-in entry. */
static bool find_entry(const char *name, char **former)
{
    int known = 0;
    if (setupterm(NULL, STDOUT_FILENO, &known) == OK) {
        return true;
    }
    *former = terminfo_offer(name);
    return *former && setupterm(NULL, STDOUT_FILENO, &known) == OK;
}

static int open_as(const char *name, struct err *e)
{
    const char *move = tigetstr("cup");
    if (!move || move == (char *)-1) {
        return err_set(e,
                       "cannot open the screen: a terminal of type TERM=%.60s cannot move its "
                       "cursor; use --batch",
                       name);
    }
    TERMINAL *probe = cur_term;
    tcgetattr(STDIN_FILENO, &term.before);
    term.screen = newterm(NULL, stdout, stdin);
    if (!term.screen) {
        return err_set(e, "cannot open the screen: ncurses refuses TERM=%.60s; use --batch", name);
    }
    set_term(term.screen);
    if (probe != cur_term) {
        del_curterm(probe);
    }
    return 0;
}

int term_open(bool no_color, struct err *e)
{
    char *former = NULL;
    int rc;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        return err_set(e, "cannot open the screen: standard input or output is not a terminal; "
                          "use --batch");
    }
    const char *name = getenv("TERM");
    if (!name || !*name || !find_entry(name, &former)) {
        rc = err_set(e,
                     "cannot open the screen: TERM=%.60s is not known here; set TERM, e.g. to "
                     "xterm or vt100, or use --batch",
                     name ? name : "");
    } else {
        rc = open_as(name, e);
    }
    terminfo_withdraw(former);
    if (rc < 0) {
        return rc;
    }
    prepare_leaving();
    term.ours = 1;
    term.open = true;
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    intrflush(stdscr, FALSE);
    set_escdelay(25);
    define_keys();
    begin_pastes();
    prepare_styles(no_color);
    return 0;
}

void term_close(void)
{
    if (!term.open) {
        return;
    }
    mark_pastes(false);
    endwin();
    delscreen(term.screen);
    term.screen = NULL;
    term.open = false;
    term.ours = 0;
}

void term_restore(void)
{
    if (!term.ours) {
        return;
    }
    term.ours = 0;
    mark_pastes(false);
    ssize_t n = write(STDOUT_FILENO, term.leave, term.leave_bytes);
    (void)n;
    tcsetattr(STDIN_FILENO, TCSANOW, &term.before);
}

bool term_is_utf8(void)
{
    const char *set = nl_langinfo(CODESET);
    return strcasecmp(set, "UTF-8") == 0 || strcasecmp(set, "UTF8") == 0;
}

void term_size(int *rows, int *cols)
{
    getmaxyx(stdscr, *rows, *cols);
}

int term_fd(void)
{
    return STDIN_FILENO;
}

/* --- showing --- */

/* The characters of the cell for curses; false: curses measures a different width. */
static bool to_wide(const struct cell *k, wchar_t *out, size_t cap, size_t *n)
{
    *n = 0;
    for (size_t i = 0, len = strlen(k->utf8), step; i < len && *n < cap; i += step) {
        uint32_t cp;
        step = text_next(k->utf8 + i, len - i, &cp);
        if (cp == UINT32_MAX || wcwidth((wchar_t)cp) != text_cp_width(cp)) {
            return false;
        }
        out[(*n)++] = (wchar_t)cp;
    }
    return true;
}

static bool same_paint(const struct cell *a, const struct cell *b)
{
    return a->style == b->style && a->ink == b->ink && a->paper == b->paper;
}

/* Cells with the same style are sent in one call, up to one that is not ASCII: that one is
 * positioned separately, so a wrong width cannot shift the rest. */
static int show_run(const struct canvas *c, int row, int col)
{
    const struct cell *k = &c->cells[(size_t)row * (size_t)c->cols + (size_t)col];
    wchar_t run[256];
    size_t n = 0;
    int end = col;
    while (end < c->cols && n < 256 && same_paint(&k[n], k) && k[n].utf8[0] >= ' ' &&
           k[n].utf8[0] <= '~' && !k[n].utf8[1]) {
        run[n] = (wchar_t)k[n].utf8[0];
        n++;
        end++;
    }
    if (k->ink || k->paper) {
        wattr_set(stdscr, A_NORMAL, shade_pair(k->ink, k->paper), NULL);
    } else {
        wattr_set(stdscr, term.attr[k->style], term.pair[k->style], NULL);
    }
    if (n == 0) {
        bool ok = to_wide(k, run, 8, &n);
        bool half = end + 1 < c->cols && !k[1].utf8[0];
        mvaddnwstr(row, col, ok && n ? run : half ? L"??" : L"?", ok && n ? (int)n : half + 1);
        return col + 1 + half;
    }
    mvaddnwstr(row, col, run, (int)n);
    return end;
}

void term_show(const struct canvas *c)
{
    int rows, cols;
    term_size(&rows, &cols);
    werase(stdscr);
    for (int row = 0; row < c->rows && row < rows; row++) {
        for (int col = 0; col < c->cols && col < cols;) {
            col = show_run(c, row, col);
        }
    }
    bool cursor =
        c->cursor_row >= 0 && c->cursor_row < rows && c->cursor_col >= 0 && c->cursor_col < cols;
    curs_set(cursor);
    if (cursor) {
        move(c->cursor_row, c->cursor_col);
    }
    refresh();
}

/* --- keys --- */

#define DOUBLE_NS 400000000u

/* False: not a mouse event of this program. */
static bool take_mouse(void)
{
    MEVENT e;
    uint64_t now = clock_mono_ns();
    if (getmouse(&e) != OK) {
        return false;
    }
    bool again = e.y == term.mouse.row && e.x == term.mouse.col && term.click_ns &&
                 now - term.click_ns < DOUBLE_NS;
    term.mouse = (struct mouse){.row = e.y, .col = e.x};
    if (e.bstate & BUTTON4_PRESSED) {
        term.mouse.kind = MOUSE_WHEEL_UP;
    } else if (e.bstate & BUTTON5_PRESSED) {
        term.mouse.kind = MOUSE_WHEEL_DOWN;
    } else if (e.bstate & BUTTON1_PRESSED) {
        term.mouse.kind = again ? MOUSE_DOUBLE : MOUSE_CLICK;
        term.click_ns = again ? 0 : now;
    } else {
        return false;
    }
    return true;
}

struct mouse term_mouse(void)
{
    return term.mouse;
}

static int function_key(wint_t k)
{
    static const struct {
        int curses, ours;
    } map[] = {
        {KEY_UP, KEY_UP_},      {KEY_DOWN, KEY_DOWN_},
        {KEY_LEFT, KEY_LEFT_},  {KEY_RIGHT, KEY_RIGHT_},
        {KEY_PPAGE, KEY_PGUP_}, {KEY_NPAGE, KEY_PGDN_},
        {KEY_HOME, KEY_HOME_},  {KEY_END, KEY_END_},
        {KEY_A1, KEY_HOME_},    {KEY_C1, KEY_END_},
        {KEY_A3, KEY_PGUP_},    {KEY_C3, KEY_PGDN_},
        {KEY_FIND, KEY_HOME_},  {KEY_SELECT, KEY_END_},
        {KEY_DC, KEY_DELETE_},  {KEY_BACKSPACE, KEY_BACKSPACE_},
        {KEY_BTAB, KEY_BTAB_},  {KEY_F(1), KEY_F1_},
        {KEY_ENTER, '\n'},      {KEY_RESIZE, KEY_RESIZE_},
    };
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        if ((int)k == map[i].curses) {
            return map[i].ours;
        }
    }
    return 0;
}

/* After an ESC that is not part of a known key: either more bytes follow at once, or it was typed.
 * */
static bool escape_alone(void)
{
    wint_t next;
    int kind = get_wch(&next);
    if (kind == ERR) {
        return true;
    }
    if (kind == KEY_CODE_YES) {
        ungetch((int)next); /* or Alt and this key, which looks the same */
        return true;
    }
    if (!escape_introduces(next)) {
        unget_wch((wchar_t)next);
        return true;
    }
    escape_begin(&term.escape, clock_mono_ns());
    escape_eats(&term.escape, next, clock_mono_ns());
    return false;
}

int term_key(void)
{
    for (;;) {
        wint_t k;
        int kind = get_wch(&k);
        if (kind == ERR) {
            uint32_t typed;
            if (!escape_typed(&term.escape, clock_mono_ns(), &typed)) {
                return KEY_NONE_;
            }
            unget_wch((wchar_t)typed);
            return ESC;
        }
        if (kind == KEY_CODE_YES && k == KEY_MOUSE) {
            if (take_mouse() && !term.escape.pasting) {
                return KEY_MOUSE_;
            }
            continue;
        }
        if (kind == KEY_CODE_YES) {
            int ours = function_key(k);
            if (ours && (!term.escape.pasting || ours == KEY_RESIZE_)) {
                return ours;
            }
            continue; /* an unknown key, or its bytes in a pasted text */
        }
        if (escape_eats(&term.escape, k, clock_mono_ns())) {
            continue;
        }
        if (term.escape.pasting) {
            return (int)k | KEY_PASTED_;
        }
        if (k == ESC) {
            if (escape_alone()) {
                return ESC;
            }
            continue;
        }
        if (k == '\r') {
            return '\n';
        }
        return k == 127 || k == 8 ? KEY_BACKSPACE_ : (int)k;
    }
}
