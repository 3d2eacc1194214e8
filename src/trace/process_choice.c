#include <kprof/trace/process_choice.h>

#include <kprof/core/stack_profile.h>
#include <kprof/erl/term.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int bad(struct err *e, const char *why)
{
    return err_set(e,
                   "%s; write top:100:memory, <0.91.0>, a registered name, m:f/2 (initial call), "
                   "app:NAME, children:PID, inside or all",
                   why);
}

/* ---- the items of a list ---- */

/* Digits at *s, at most max. */
static bool number(const char **s, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;

    if (**s < '0' || **s > '9')
        return false;
    for (; **s >= '0' && **s <= '9'; (*s)++) {
        v = v * 10 + (uint64_t)(**s - '0');
        if (v > max)
            return false;
    }
    *out = v;
    return true;
}

static bool is_pid(const char *s)
{
    return *s == '<' || (*s >= '0' && *s <= '9');
}

/* <0.91.0> or 0.91.0 at *s */
static bool read_pid(const char **s, uint64_t *pid)
{
    uint64_t node, id, serial;
    bool angle = **s == '<';

    *s += angle;
    if (!number(s, 0, &node) || *(*s)++ != '.' || !number(s, UINT32_MAX, &id) || *(*s)++ != '.' ||
        !number(s, UINT32_MAX, &serial) || (angle && *(*s)++ != '>'))
        return false;
    *pid = serial << 32 | id;
    return true;
}

/* Adds a name to those of the choice; *at: its end. */
static bool add_name(struct process_choice *c, size_t *at, const char *name)
{
    size_t n = strlen(name) + 1;

    if (n == 1 || n > sizeof c->name - *at)
        return false;
    memcpy(c->name + *at, name, n);
    *at += n;
    return true;
}

static bool read_name(const char **s, struct process_choice *c, size_t *at)
{
    char name[256];
    size_t used;

    if (!term_parse_atom(*s, name, &used) || !add_name(c, at, name))
        return false;
    *s += used;
    return true;
}

/* Pids or names, separated by commas: all of one kind. */
static int read_list(const char *s, uint32_t most, struct process_choice *c, struct err *e)
{
    size_t at = 0;

    c->kind = is_pid(s) ? PROCESSES_PIDS : PROCESSES_NAMES;
    for (;; s++) {
        if (c->n == most)
            return bad(e, "too many processes in the list");
        if (is_pid(s) != (c->kind == PROCESSES_PIDS))
            return bad(e, "a list contains either pids or names");
        if (c->kind == PROCESSES_PIDS && !read_pid(&s, &c->pid[c->n]))
            return bad(e, "not a pid of the node");
        if (c->kind == PROCESSES_NAMES && !read_name(&s, c, &at))
            return bad(e, "unknown choice of processes");
        c->n++;
        if (*s == '\0')
            return 0;
        if (*s != ',')
            return bad(e, "unknown choice of processes");
    }
}

/* ---- the other forms ---- */

static bool read_by(const char *s, enum stack_top *by)
{
    static const struct {
        const char *name;
        enum stack_top by;
    } names[] = {{"reductions", STACK_TOP_REDUCTIONS}, {"memory", STACK_TOP_MEMORY},
                 {"queue", STACK_TOP_QUEUE},           {"message_queue_len", STACK_TOP_QUEUE},
                 {"binary", STACK_TOP_BINARY},         {"bin_vheap_size", STACK_TOP_BINARY}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, s) == 0) {
            *by = names[i].by;
            return true;
        }
    return false;
}

/* After "top": [:N][:MOST] */
static int read_top(const char *s, struct process_choice *c, struct err *e)
{
    uint64_t n = PROCESS_CHOICE_TOP;

    c->kind = PROCESSES_TOP;
    if (s[0] == ':' && s[1] >= '0' && s[1] <= '9') {
        s++;
        if (!number(&s, PROCESS_CHOICE_MOST, &n) || n == 0)
            return bad(e, "top takes a number from 1 to 1000");
    }
    c->n = (uint32_t)n;
    if (*s == ':' && read_by(s + 1, &c->by))
        return 0;
    return *s ? bad(e, "top takes reductions, memory, queue or binary") : 0;
}

static int read_application(const char *s, struct process_choice *c, struct err *e)
{
    size_t at = 0;

    c->kind = PROCESSES_APPLICATION;
    return read_name(&s, c, &at) && *s == '\0' ? 0 : bad(e, "not the name of an application");
}

static int read_children(const char *s, struct process_choice *c, struct err *e)
{
    if (read_list(s, 1, c, e) < 0)
        return -1;
    c->n = c->kind == PROCESSES_PIDS;
    c->kind = PROCESSES_CHILDREN;
    return 0;
}

static bool read_call(const char *s, struct process_choice *c)
{
    struct mfa f;
    size_t at, end = 0;

    if (!term_parse_mfa(s, &f, &at) || !add_name(c, &end, f.module) ||
        !add_name(c, &end, f.function))
        return false;
    c->kind = PROCESSES_INITIAL_CALL;
    c->n = (uint32_t)f.arity;
    return true;
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static int read_choice(const char *s, struct process_choice *c, struct err *e)
{
    if (read_call(s, c)) /* top:f/1 is a function */
        return 0;
    if (strcmp(s, "all") == 0 || strcmp(s, "inside") == 0) {
        c->kind = *s == 'a' ? PROCESSES_ALL : PROCESSES_INSIDE;
        return 0;
    }
    if (strcmp(s, "top") == 0 || begins(s, "top:"))
        return read_top(s + 3, c, e);
    if (begins(s, "app:"))
        return read_application(s + 4, c, e);
    if (begins(s, "children:"))
        return read_children(s + 9, c, e);
    return read_list(s, PROCESS_CHOICE_LIST, c, e);
}

int process_choice_parse(const char *text, struct process_choice *out, struct err *e)
{
    memset(out, 0, sizeof *out);
    if (strlen(text) >= sizeof out->text)
        return bad(e, "too long");
    snprintf(out->text, sizeof out->text, "%s", text);
    return read_choice(out->text, out, e);
}

void process_choice_default(struct process_choice *out)
{
    *out = (struct process_choice){
        .kind = PROCESSES_TOP, .n = PROCESS_CHOICE_TOP, .text = "top:100:reductions"};
}

int process_choice_statuses(const char *text, uint32_t *out, struct err *e)
{
    uint32_t bits = 0;

    if (strcmp(text, "all") == 0) {
        *out = (1u << STACK_STATUSES) - 1;
        return 0;
    }
    for (const char *s = text;; s++) {
        size_t n = strcspn(s, ",");
        enum stack_status status = stack_status_parse(s, n);
        if (status == STACK_STATUS_NONE)
            return err_set(e, "no such status; write running, runnable, waiting, "
                              "garbage_collecting, suspended or exiting, with commas between");
        bits |= 1u << status;
        s += n;
        if (*s == '\0')
            break;
    }
    *out = bits;
    return 0;
}
