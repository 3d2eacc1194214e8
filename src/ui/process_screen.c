#include "process_screen.h"
#include "process_draw.h"
#include "shared.h"

#include <stdio.h>
#include <string.h>

/* --- the table --- */

void process_screen_release(struct process_state *t)
{
    process_table_free(t->table);
    *t = (struct process_state){0};
}

/* A table without a number contains no round, only the state: the table that is shown stays. */
void process_screen_set(struct process_state *t, struct process_table *table, const char *why)
{
    snprintf(t->why, sizeof t->why, "%s", table || !why ? "" : why);
    if (!table) {
        return;
    }
    if (!table->head.seq && t->table && t->table->head.seq) {
        t->table->head.gate = table->head.gate;
        process_table_free(table);
        return;
    }
    process_table_free(t->table);
    t->table = table;
}

void process_screen_set_stack(struct process_state *t, uint64_t pid, const char *lines, bool dead)
{
    if (pid != t->stack) {
        return; /* an answer to an earlier request */
    }
    t->asked = false;
    t->dead = dead;
    snprintf(t->lines, sizeof t->lines, "%s", lines);
}

struct shown {
    uint16_t at[PROCESS_ROWS + 1];
    size_t n;
};

static const struct process_row *row(const struct process_state *t, const struct shown *v, size_t i)
{
    return i < v->n ? &t->table->row[t->query.group][v->at[i]] : NULL;
}

static bool is_selected(const struct process_state *t, const struct process_row *r)
{
    return t->selected && r->pid == t->pid && r->rest == t->rest &&
           (r->pid || strncmp(r->name, t->group, sizeof t->group - 1) == 0);
}

static void find(struct process_state *t, struct shown *v)
{
    v->n = t->table ? process_table_order(t->table, &t->query, v->at) : 0;
    t->lost = false;
    for (size_t i = 0; i < v->n; i++) {
        if (is_selected(t, row(t, v, i))) {
            t->at.sel = i;
            return;
        }
    }
    t->lost = t->selected && v->n > 0;
    t->at.sel = t->at.sel < v->n && t->selected ? t->at.sel : 0;
}

static void select_row(struct process_state *t, const struct process_row *r)
{
    t->selected = r != NULL;
    t->pid = r ? r->pid : 0;
    t->rest = r && r->rest;
    snprintf(t->group, sizeof t->group, "%s", r && !r->pid ? r->name : "");
}

void process_screen_filtered(struct process_state *t)
{
    struct shown v;
    find(t, &v);
    if (t->lost) {
        t->at.sel = 0;
        select_row(t, NULL);
    }
}

static void draw(void *own, struct ui_shared *sh, struct canvas *c, struct rect a,
                 const struct snapshot *s)
{
    struct process_state *t = own;
    struct shown v;
    (void)sh;
    if (!t->table || !t->table->head.seq) {
        t->at.row = 0;
        t->title_row = -1;
        process_draw_none(t, c, a);
        return;
    }
    find(t, &v);
    process_draw(t, c, a, s, v.at, v.n);
}

/* --- order and groups --- */

static void sort_by(struct process_state *t, unsigned sort)
{
    t->query.reverse = t->query.sort == sort && !t->query.reverse;
    t->query.sort = sort;
    if (sort < PROCESS_VALUES) {
        t->by = (enum process_value)sort;
    }
}

void process_screen_sort(struct process_state *t, size_t item)
{
    if (item < PROCESS_SORTS) {
        t->query.sort = (unsigned)item;
        t->query.reverse = false;
        t->by = item < PROCESS_VALUES ? (enum process_value)item : t->by;
    }
}

static void ask_sort(const struct process_state *t, struct dialog *d)
{
    struct menu *m = dialog_menu(d, MENU_PROCESS_SORT, "Sort by");
    for (unsigned i = 0; i < PROCESS_SORTS; i++) {
        char item[120];
        enum process_column c = process_column_of_sort(i);
        snprintf(item, sizeof item, "%-7s %s", c < PC_COLUMNS ? process_column_title(c) : "PROCESS",
                 c < PC_COLUMNS ? process_column_help(c) : "name");
        menu_add(m, item);
    }
    m->at.sel = t->query.sort;
}

static void step(struct process_state *t, int by)
{
    t->query.sort = (t->query.sort + PROCESS_SORTS + (unsigned)by) % PROCESS_SORTS;
    t->query.reverse = false;
    if (t->query.sort < PROCESS_VALUES) {
        t->by = (enum process_value)t->query.sort;
    }
}

/* Esc closes the part below, else removes the filter, else leaves the group. False: none of them.
 */
static bool step_back(struct process_state *t)
{
    if (t->stack) {
        t->stack = 0;
    } else if (t->query.filter[0]) {
        t->query.filter[0] = 0;
    } else if (t->within) {
        t->query.group = t->within;
        select_row(t, &(struct process_row){.name = t->within_name});
        t->within = PROCESS_UNGROUPED;
    } else {
        return false;
    }
    return true;
}

static bool on_order(struct process_state *t, struct ui_shared *sh, enum action act)
{
    switch (act) {
    case ACT_SORT:
        ask_sort(t, &sh->dialog);
        return true;
    case ACT_SORT_LEFT:
        step(t, -1);
        return true;
    case ACT_SORT_RIGHT:
        step(t, 1);
        return true;
    case ACT_REVERSE:
        t->query.reverse = !t->query.reverse;
        return true;
    case ACT_FILTER:
        dialog_propose(&sh->dialog, PROMPT_PROCESS_FILTER, t->query.filter);
        return true;
    case ACT_GROUP:
        t->query.group = (t->query.group + 1) % PROCESS_GROUPS;
        t->within = PROCESS_UNGROUPED;
        t->stack = 0;
        t->at.sel = 0;
        select_row(t, NULL);
        return true;
    case ACT_BACK:
        return step_back(t);
    default:
        return false;
    }
}

/* --- the selected line --- */

static void open_group(struct process_state *t, const struct process_row *r, struct message *m)
{
    if (r->rest || (t->query.group == PROCESS_BY_CALL && !r->name[0])) {
        message_set(m, "the processes of this line cannot be listed", true);
        return;
    }
    t->within = t->query.group;
    snprintf(t->within_name, sizeof t->within_name, "%s", r->name);
    t->query.group = PROCESS_UNGROUPED;
    t->query.filter[0] = 0;
    t->at.sel = 0;
    select_row(t, NULL);
}

static void open_stack(struct process_state *t, const struct process_row *r, struct intent *out)
{
    t->stack = r->pid;
    select_row(t, r);
    t->asked = true;
    t->dead = false;
    t->lines[0] = 0;
    *out = (struct intent){.kind = INTENT_STACK, .pid = r->pid};
}

static void open_call(const struct process_row *r, const struct snapshot *s, struct message *m,
                      struct screen_request *open)
{
    for (size_t i = 0; s && i < s->n_open; i++) {
        if (s->open[i].pid == r->pid) {
            *open = (struct screen_request){
                .to = SCREEN_OPEN_CALLS, .pid = r->pid, .start_ns = s->open[i].start_ns};
            return;
        }
    }
    message_set(m, "none of the oldest open calls is in this process", true);
}

static bool on_line(struct process_state *t, const struct process_row *r, enum action act,
                    const struct snapshot *s, struct ui_shared *sh, struct screen_reply *out)
{
    if (act == ACT_OPEN && r->pid) {
        open_stack(t, r, &out->intent);
    } else if (act == ACT_OPEN) {
        open_group(t, r, &sh->message);
    } else if (!r->pid) {
        message_set(&sh->message, "select a process; Enter on a group shows its processes", true);
    } else if (act == ACT_FLAME_OF) {
        out->intent.kind = INTENT_SAMPLING;
        snapshot_pid(r->pid, out->intent.text);
        out->open.to = SCREEN_FLAME;
    } else if (act == ACT_FULL) {
        out->full = (struct full_offer){.pid = r->pid};
        out->open = (struct screen_request){.to = SCREEN_FULL_ASK, .full = &out->full};
    } else {
        open_call(r, s, &sh->message, &out->open);
    }
    return true;
}

/* An action on the line would be about a process that the operator has not selected. */
static void select_neighbour(struct process_state *t, const struct shown *v, struct message *m)
{
    message_set(m,
                t->pid ? "the selected process is not in the list; this line is selected instead"
                       : "the selected group is not in the list; this line is selected instead",
                true);
    select_row(t, row(t, v, t->at.sel));
}

static bool moves(enum action act)
{
    return act == ACT_UP || act == ACT_DOWN || act == ACT_PGUP || act == ACT_PGDN ||
           act == ACT_HOME || act == ACT_END;
}

static bool on_key(void *own, struct ui_shared *sh, int key, enum action act,
                   const struct snapshot *s, struct screen_reply *out)
{
    struct process_state *t = own;
    struct shown v;
    bool line = act == ACT_OPEN || act == ACT_FLAME_OF || act == ACT_OPEN_CALL || act == ACT_FULL;
    (void)key;
    if (on_order(t, sh, act)) {
        return true;
    }
    find(t, &v);
    if (!v.n || !t->table->head.seq) {
        if (moves(act) || line) {
            message_set(&sh->message, "there is no process here", true);
        }
        return moves(act) || line;
    }
    if (line && t->lost) {
        select_neighbour(t, &v, &sh->message);
        return true;
    }
    if (line) {
        return on_line(t, row(t, &v, t->at.sel), act, s, sh, out);
    }
    if (!scroll_key(&t->at, act, v.n)) {
        return false;
    }
    select_row(t, t->at.sel == 0 ? NULL : row(t, &v, t->at.sel));
    return true;
}

static struct scroll *list(void *own, struct ui_shared *sh)
{
    (void)sh;
    return &((struct process_state *)own)->at;
}

/* While no line is marked as selected, a click on the line at the position selects it. */
static bool click_unmarked(struct process_state *t, int at_row)
{
    struct shown v;
    find(t, &v);
    if (!t->lost || scroll_line_at(&t->at, at_row) != t->at.sel) {
        return false;
    }
    select_row(t, row(t, &v, t->at.sel));
    return true;
}

/* A click on a title sorts. */
static bool on_click(void *own, struct ui_shared *sh, int at_row, int col, const struct snapshot *s)
{
    struct process_state *t = own;
    int left = t->columns.name;
    (void)sh;
    (void)s;
    if (at_row != t->title_row || at_row < 0) {
        return click_unmarked(t, at_row);
    }
    if (col < left) {
        sort_by(t, PROCESS_SORT_NAME);
        return true;
    }
    for (enum process_column c = 0; c < PC_COLUMNS; c++) {
        int width = t->columns.width[c] ? t->columns.width[c] + 1 : 0;
        if (col >= left && col < left + width && process_column_sort(c) < PROCESS_SORTS) {
            sort_by(t, process_column_sort(c));
            return true;
        }
        left += width;
    }
    return false;
}

void process_screen_order(const struct process_state *t, struct process_order *o)
{
    *o = (struct process_order){.by = t->by, .within = t->within};
    memcpy(o->name, t->within_name, sizeof o->name);
}

/* The first line is selected: it has the largest value. */
static void open_sorted(void *own, const struct screen_request *r, struct intent *out)
{
    struct process_state *t = own;
    (void)out;
    if (r->process_sort) {
        process_screen_sort(t, r->process_sort - 1);
        select_row(t, NULL);
    }
}

const struct screen_ops screen_processes = {
    .name = "processes",
    .key = 'U',
    .context = CTX_PROCESSES,
    .open = open_sorted,
    .draw = draw,
    .on_key = on_key,
    .list = list,
    .on_click = on_click,
};
