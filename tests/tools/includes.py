#!/usr/bin/env python3
"""Fails on an #include that the rooms' table forbids, on a circle between headers, and on a
header that does not compile alone. --self-test plants one violation of each kind in a copy and must see every one of them."""
import os
import re
import subprocess
import sys
import tempfile

ROOMS = ("base", "erl", "trace", "core", "export", "ui", "app")
# Who may include whose headers (a room always its own); "room/unit" allows that one header.
ALLOWED = {
    "base": set(),
    "erl": {"base"},
    "trace": {"base", "erl", "core/event"},
    "core": {"base"},
    # A snapshot's rows have the tier numbers of core/tier (TIER_TOTAL).
    "export": {"base", "core/snapshot", "core/tier"},
    "ui": {"base", "core/snapshot", "core/tier"},
    "app": set(ROOMS),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            m = INCLUDE.match(line)
            if m:
                yield number, m.group(1), m.group(2)


def sources(root):
    """(path, room, is_header) of every C file of a room."""
    for base in ("src", os.path.join("include", "kprof")):
        for room in ROOMS:
            directory = os.path.join(root, base, room)
            for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
                if name.endswith((".c", ".h")):
                    yield os.path.join(base, room, name), room, name.endswith(".h")


def check_rooms(root):
    bad = []
    for path, room, header in sources(root):
        for number, kind, what in includes(os.path.join(root, path)):
            where = "%s:%d: <%s>: " % (path, number, what)
            if what.startswith("kprof/"):
                _, to, unit = (what[:-2].split("/") + ["", ""])[:3]
                if to != room and to not in ALLOWED[room] and "%s/%s" % (to, unit) not in ALLOWED[room]:
                    bad.append(where + "%s may not use %s" % (room, to))
                if to not in ROOMS:
                    bad.append(where + "no such room")
            elif re.search(r"(^|/)n?curses", what) or what in ("term.h", "panel.h", "menu.h", "form.h"):
                if kind == "<" and path != os.path.join("src", "ui", "term.c"):
                    bad.append(where + "only src/ui/term.c knows curses")
            elif what in ("ei.h", "ei_connect.h", "erl_interface.h"):
                if header and path.startswith("include") or room not in ("erl", "trace"):
                    bad.append(where + "only src/erl and src/trace know libei")
            elif kind == '"' and ("/" in what or not os.path.exists(os.path.join(root, os.path.dirname(path), what))):
                bad.append(where + "not beside it: rooms are entered by <kprof/room/unit.h>")
    return bad


def check_circles(root):
    graph = {}
    for path, _, header in sources(root):
        if header and path.startswith("include"):
            graph[path] = [os.path.join("include", what) for _, _, what in includes(os.path.join(root, path))
                           if what.startswith("kprof/")]
    bad, state = [], {}

    def visit(node, trail):
        state[node] = 1
        for to in graph.get(node, ()):
            if state.get(to) == 1:
                bad.append("circle: " + " -> ".join(trail[trail.index(to):] + [to]))
            elif to not in state:
                visit(to, trail + [to])
        state[node] = 2

    for node in sorted(graph):
        if node not in state:
            visit(node, [node])
    return bad


def check_alone(root, ei):
    bad, n = [], 0
    for path, _, header in sources(root):
        if not header:
            continue
        n += 1
        text = '#include "%s"\n#include "%s"\n' % (path, path)  # twice: the guard
        # A header of src/ is nobody's door and may know libei.
        command = ["cc", "-std=c11", "-D_GNU_SOURCE", "-D_REENTRANT", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                   "-Iinclude"] + ei + ["-fsyntax-only", "-x", "c", "-I.", "-"]
        run = subprocess.run(command, input=text, text=True, cwd=root, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        if run.returncode != 0:
            bad.append("%s does not compile alone: %s" % (path, run.stdout.strip().split("\n")[0]))
    return bad, n


def ei_flags():
    e = os.environ.get("ERL_EI") or subprocess.run(
        ["erl", "-noinput", "-eval", "io:put_chars(code:lib_dir(erl_interface)), halt()."],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return ["-isystem", e + "/include"] if e else []


def self_test():
    planted = {
        "src/base/a.c": ("#include <kprof/erl/b.h>\n", "base may not use erl"),
        "src/ui/b.c": ("#include <kprof/export/b.h>\n", "ui may not use export"),
        "src/export/c.c": ("#include <kprof/core/core.h>\n", "export may not use core"),
        "src/core/d.c": ("#include <ei.h>\n", "know libei"),
        "include/kprof/erl/e.h": ("#include <ei.h>\n", "know libei"),
        "src/ui/f.c": ("#  include <ncursesw/curses.h>\n", "knows curses"),
        "src/app/g.c": ('#include "../ui/secret.h"\n', "not beside it"),
    }
    failed = 0
    for path, (text, want) in planted.items():
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w") as f:
                f.write(text)
            if not any(want in b for b in check_rooms(root)):
                failed += 1
                print("FAIL self-test: %s with %r was let through" % (path, text))
    with tempfile.TemporaryDirectory() as root:
        for room, text in (("core", "#include <kprof/base/x.h>\nint f(size_t n);\n"),
                           ("base", "#ifndef X\n#define X\n#include <kprof/core/x.h>\n#endif\n")):
            os.makedirs(os.path.join(root, "include/kprof", room))
            with open(os.path.join(root, "include/kprof", room, "x.h"), "w") as f:
                f.write(text)
        if not check_circles(root):
            failed += 1
            print("FAIL self-test: a circle was let through")
        if not check_alone(root, [])[0]:
            failed += 1
            print("FAIL self-test: a header that does not compile alone was let through")
    return failed, len(planted) + 2


def main():
    if "--self-test" in sys.argv:
        failed, n = self_test()
        print("self-test: %d planted, %d let through" % (n, failed))
        return 1 if failed else 0
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not os.path.isdir(os.path.join(root, "src")):
        root = os.getcwd()
    bad = check_rooms(root) + check_circles(root)
    alone, n = check_alone(root, ei_flags())
    bad += alone
    for b in bad:
        print("FAIL " + b)
    files = len(list(sources(root)))
    print("%d passed, %d failed" % (files - min(files, len({b.split(':')[0] for b in bad})), len(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
