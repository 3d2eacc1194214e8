#include "fake_capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct value_tree_text text_of(struct value_tree *s, const char *t)
{
    return value_tree_text(s, t, strlen(t));
}

static void open_(struct value_tree *s, struct value_tree_node n)
{
    if (!value_tree_open(s, &n))
        abort();
}

static void leaf(struct value_tree *s, struct value_tree_node n, const char *shown,
                 const char *name)
{
    n.text = text_of(s, shown);
    n.name = text_of(s, name);
    if (!n.size)
        n.size = strlen(name);
    open_(s, n);
    value_tree_close(s);
}

/* {req, Method, <<Path>>, #{host => "h", user => Pid, <<"q">> => [N]}} */
static void request(struct value_tree *s, const char *method, const char *path, unsigned i)
{
    char shown[64];

    open_(s, (struct value_tree_node){.kind = VALUE_TREE_TUPLE,
                                      .step = VALUE_TREE_ARG,
                                      .nth = 1,
                                      .size = 4,
                                      .name = text_of(s, "req ...")});
    leaf(s, (struct value_tree_node){.step = VALUE_TREE_ELEMENT, .nth = 1}, "req", "req");
    leaf(s, (struct value_tree_node){.step = VALUE_TREE_ELEMENT, .nth = 2}, method, method);
    snprintf(shown, sizeof shown, "<<\"%s\">>", path);
    leaf(s,
         (struct value_tree_node){.kind = VALUE_TREE_BINARY, .step = VALUE_TREE_ELEMENT, .nth = 3},
         shown, path);
    open_(s, (struct value_tree_node){.kind = VALUE_TREE_MAP,
                                      .step = VALUE_TREE_ELEMENT,
                                      .nth = 4,
                                      .size = 3 + (i == 7) * 500,
                                      .name = text_of(s, "...")});
    leaf(s,
         (struct value_tree_node){
             .kind = VALUE_TREE_STRING, .step = VALUE_TREE_KEY, .key = text_of(s, "host")},
         "\"example.org\"", "example.org");
    struct value_tree_node user = {
        .kind = VALUE_TREE_PROCESS, .step = VALUE_TREE_KEY, .key = text_of(s, "user")};
    user.other_name = text_of(s, i % 3 ? "undefined" : "user_server");
    leaf(s, user, "<0.120.0>", "<0.120.0>");
    open_(s, (struct value_tree_node){.kind = VALUE_TREE_LIST,
                                      .step = VALUE_TREE_KEY,
                                      .key = text_of(s, "<<\"q\">>"),
                                      .size = i % 2,
                                      .name = text_of(s, i % 2 ? "..." : "[]")});
    if (i % 2)
        leaf(s, (struct value_tree_node){.step = VALUE_TREE_NTH, .nth = 1}, "4000", "4000");
    value_tree_close(s);
    value_tree_close(s);
    value_tree_close(s);
}

struct capture fake_capture(void)
{
    struct capture c = {.state = CAPTURE_DONE,
                        .kept = 20,
                        .seen = 23,
                        .elapsed_us = 312000,
                        .set = value_tree_new()};

    snprintf(c.function, sizeof c.function, "my_web:handle/2");
    for (unsigned i = 0; i < 20; i++) {
        char path[40];
        value_tree_call(c.set);
        snprintf(path, sizeof path, i % 5 ? "/users/%u" : "/orders/%u", 100 + i);
        if (i < 18)
            request(c.set, i % 3 ? "create" : "read", path, i);
        else
            leaf(c.set, (struct value_tree_node){.step = VALUE_TREE_ARG, .nth = 1}, "ping", "ping");
        leaf(c.set, (struct value_tree_node){.step = VALUE_TREE_ARG, .nth = 2}, "5000", "5000");
    }
    return c;
}

struct capture fake_capture_hostile(void)
{
    struct capture c = {.state = CAPTURE_DONE,
                        .kept = 2,
                        .seen = 90000,
                        .elapsed_us = 5000000,
                        .paused = true,
                        .set = value_tree_new()};
    char wide[300];

    snprintf(c.function, sizeof c.function, "'we\033[2Jird':f/1");
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    for (unsigned call = 0; call < 2; call++) {
        value_tree_call(c.set);
        for (unsigned d = 0; d + 1 < VALUE_TREE_DEPTH; d++)
            open_(c.set, (struct value_tree_node){.kind = VALUE_TREE_MAP,
                                                  .step = d ? VALUE_TREE_KEY : VALUE_TREE_ARG,
                                                  .nth = 1,
                                                  .key = text_of(c.set, "'\033[31m\n\xe2\x80\xae'"),
                                                  .size = 3,
                                                  .name = text_of(c.set, "...")});
        leaf(c.set,
             (struct value_tree_node){.kind = VALUE_TREE_BINARY,
                                      .step = VALUE_TREE_LONG_KEY,
                                      .key = text_of(c.set, wide)},
             "<<\"\033]0;x\007\xff\xe5\xae\x89\">>", "\033]0;x\007\xff\xe5\xae\x89");
        for (unsigned d = 0; d + 1 < VALUE_TREE_DEPTH; d++)
            value_tree_close(c.set);
    }
    return c;
}
