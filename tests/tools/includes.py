#!/usr/bin/env python3
"""Fails on an #include that the table of layers forbids, on a circular dependency of headers, on a header that does not
compile alone, on a unit that src/README.md does not list, on a screen that depends on a node, a socket or the tracker, and on a screen
that is not one table and one line in the registry. --self-test makes one violation of each kind in a copy and must
detect each of them."""
import os
import re
import subprocess
import sys
import tempfile

def layers_table(root):
    """The table of src/README.md: {layer: layers and units that it may use}, in its order."""
    with open(os.path.join(root, "src", "README.md"), encoding="utf-8") as f:
        block = re.search(r"^```layers\n(.*?)^```", f.read(), re.M | re.S)
    lines = [line.split() for line in block.group(1).splitlines()] if block else []
    return {words[0]: set(words[1:]) - {"-"} for words in lines}


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAYERS = tuple(layers_table(ROOT))


def check_table(table):
    """A layer uses only lower layers, which are listed before it in the table: so layers have no circular dependencies."""
    bad, above = [], []
    for layer, uses in table.items():
        bad += ["src/README.md: %s may not use %s, which is not listed before it" % (layer, use)
                for use in sorted(uses) if use.split("/")[0] not in above]
        above.append(layer)
    return bad


# What a screen may include, directly or not: values, and nothing that uses a node, a socket or the tracker.
UI_REACHES = {"base", "ui", "core/snapshot", "core/vm_event", "core/tier", "core/event", "core/waterfall", "core/slow_trace", "core/catalog", "core/catalog_filter",
              "core/view_query", "core/time_part", "core/call_parts", "core/stack_profile", "core/flame", "core/sample_map", "core/process_table",
              "core/node_choice", "core/why", "core/call_tree", "core/full_trace"}
# System headers with functions that open, connect, fork or wait. Only src/ui/term.c may include them, for the terminal.
OUTSIDE = re.compile(r"(sys|netinet|arpa|net)/|(netdb|pthread|threads|unistd|fcntl|poll|signal|dlfcn)\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            m = INCLUDE.match(line)
            if m:
                yield number, m.group(1), m.group(2)


def sources(root):
    """(path, layer, is_header) of every C file of a layer."""
    for base in ("src", os.path.join("include", "kprof")):
        for layer in LAYERS:
            directory = os.path.join(root, base, layer)
            for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
                if name.endswith((".c", ".h")):
                    yield os.path.join(base, layer, name), layer, name.endswith(".h")


def check_directories(root):
    """Each directory with C files is a layer of the table, and each layer is such a directory."""
    found = {path for path in os.listdir(os.path.join(root, "src"))
             if os.path.isdir(os.path.join(root, "src", path)) and
             any(name.endswith((".c", ".h")) for name in os.listdir(os.path.join(root, "src", path)))}
    return ["src/%s: not both a layer of src/README.md and a directory with C files" % layer
            for layer in sorted(found ^ set(layers_table(root)))]


def check_layers(root, allowed):
    bad = []
    for path, layer, header in sources(root):
        for number, kind, what in includes(os.path.join(root, path)):
            where = "%s:%d: <%s>: " % (path, number, what)
            if what.startswith("kprof/"):
                _, to, unit = (what[:-2].split("/") + ["", ""])[:3]
                if to != layer and to not in allowed[layer] and "%s/%s" % (to, unit) not in allowed[layer]:
                    bad.append(where + "%s may not use %s" % (layer, to))
                if to not in LAYERS:
                    bad.append(where + "no such layer")
            elif re.search(r"(^|/)n?curses", what) or what in ("term.h", "panel.h", "menu.h", "form.h"):
                if kind == "<" and path != os.path.join("src", "ui", "term.c"):
                    bad.append(where + "only src/ui/term.c may use curses")
            elif what in ("ei.h", "ei_connect.h", "erl_interface.h"):
                if header and path.startswith("include") or layer not in ("erl", "trace"):
                    bad.append(where + "only src/erl and src/trace may use libei")
            elif kind == '"' and ("/" in what or not os.path.exists(os.path.join(root, os.path.dirname(path), what))):
                bad.append(where + "not in this directory: other layers are included as <kprof/layer/unit.h>")
    return bad


def public_header(what):
    return what[len("kprof/"):-len(".h")] if what.startswith("kprof/") else None


def check_ui(root):
    """No screen depends on a node, a socket or the tracker, not even through a header of a header."""
    bad, headers = [], {}
    for path, _, header in sources(root):
        if header and path.startswith("include"):
            found = (public_header(what) for _, _, what in includes(os.path.join(root, path)))
            headers[public_header(path[len("include/"):])] = [d for d in found if d]
    for path, layer, _ in sources(root):
        if layer != "ui":
            continue
        todo, seen = [], {}
        for number, _, what in includes(os.path.join(root, path)):
            if OUTSIDE.match(what) and path != os.path.join("src", "ui", "term.c"):
                bad.append("%s:%d: <%s>: a screen may only draw values" % (path, number, what))
            if public_header(what):
                todo.append((public_header(what), what))
        while todo:
            unit, by = todo.pop()
            if unit in seen:
                continue
            seen[unit] = by
            todo += [(u, by) for u in headers.get(unit, ())]
        for unit, by in sorted(seen.items()):
            if unit not in UI_REACHES and unit.split("/")[0] not in UI_REACHES:
                bad.append("%s: <%s> includes %s: ui may not use it" % (path, by, unit))
    return bad


def check_screens(root):
    """Every screen is one table of operations and one line in the registry, and only screens.c and state.h include the
    header of a screen."""
    tables, lines, units, bad = [], [], set(), []
    for path, layer, header in sources(root):
        if layer == "ui" and not header:
            with open(os.path.join(root, path), encoding="utf-8") as f:
                text = f.read()
            found = re.findall(r"^const struct screen_ops (screen_\w+) = \{", text, re.M)
            tables += found
            units |= {os.path.basename(path)[:-2]} if found else set()
            registry = re.search(r"\} screens\[SCREEN_COUNT\] = \{(.*?)^\};", text, re.S | re.M)
            lines += re.findall(r"&(screen_\w+)", registry.group(1)) if registry else []
    for path, layer, _ in sources(root):
        unit = os.path.basename(path)[:-2]
        for number, _, what in includes(os.path.join(root, path)) if layer == "ui" else ():
            if what[:-2] in units - {unit} and unit not in ("screens", "state"):
                bad.append("%s:%d: \"%s\": only screens and state may include a screen" % (path, number, what))
    return bad + ["%s: %d tables and %d lines in the registry of screens; must be one of each" % (s, tables.count(s), lines.count(s))
            for s in sorted(set(tables + lines)) if (tables.count(s), lines.count(s)) != (1, 1)]


def circles(uses):
    """Groups of nodes of a graph {node: nodes it uses} that use each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in uses.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1 or v in uses.get(v, ()):
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in sorted(uses):
        if v not in index:
            visit(v)
    return found


def check_circles(root):
    graph = {}
    for path, _, header in sources(root):
        if header:
            graph[path] = [os.path.join("include", what) if what.startswith("kprof/") else
                           os.path.join(os.path.dirname(path), what)
                           for _, kind, what in includes(os.path.join(root, path))
                           if what.startswith("kprof/") or kind == '"']
    return ["circular headers: " + " ".join(c) for c in circles(graph)]


def compiled(root, ei, headers):
    """'' or the first error of the compiler. Each header is included twice, to test its include guard."""
    text = "".join('#include "%s"\n' % h for h in headers for _ in range(2))
    # A private header may use libei.
    command = ["cc", "-std=c11", "-D_GNU_SOURCE", "-D_REENTRANT", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               "-Iinclude"] + ei + ["-fsyntax-only", "-x", "c", "-I.", "-"]
    run = subprocess.run(command, input=text, text=True, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if run.returncode == 0 else run.stdout.strip().split("\n")[0]


def check_alone(root, ei):
    """Each header compiles alone. If a source includes a header first, the build has already tested this. All headers
    are also compiled together, to test their include guards."""
    headers = [path for path, _, header in sources(root) if header]
    first = set()
    for path, _, header in sources(root):
        if not header:
            _, kind, what = next(iter(includes(os.path.join(root, path))), (0, "", ""))
            first.add(os.path.join("include", what) if kind == "<" else os.path.normpath(os.path.join(os.path.dirname(path), what)))
    found = [(h, compiled(root, ei, [h])) for h in headers if h not in first]
    together = compiled(root, ei, headers)
    return (["%s does not compile alone: %s" % (h, error) for h, error in found if error] +
            (["the headers do not compile together: " + together] if together else [])), len(headers)


def check_listed(root):
    """src/README.md lists every unit: its name as a word in the section of its layer."""
    with open(os.path.join(root, "src", "README.md"), encoding="utf-8") as f:
        parts = dict(re.findall(r"^## (\w+)(.*?)(?=^## |\Z)", f.read(), re.M | re.S))
    units = {(layer, os.path.basename(path)[:-2]) for path, layer, _ in sources(root)
             if not path.endswith("_impl.h")}
    return ["src/README.md: %s/%s is not listed" % unit for unit in sorted(units)
            if not re.search(r"\b%s\b" % unit[1], parts.get(unit[0], ""))]


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
        "src/core/d.c": ("#include <ei.h>\n", "may use libei"),
        "include/kprof/erl/e.h": ("#include <ei.h>\n", "may use libei"),
        "src/ui/f.c": ("#  include <ncursesw/curses.h>\n", "may use curses"),
        "src/app/g.c": ('#include "../ui/secret.h"\n', "not in this directory"),
        "src/ui/h.c": ("#include <kprof/core/core.h>\n", "ui may not use core"),
        "src/ui/i.c": ("#include <kprof/trace/session.h>\n", "ui may not use trace"),
        "src/ui/j.c": ("#include <sys/socket.h>\n", "may only draw values"),
        "src/ui/k.c": ("const struct screen_ops screen_k = {\n", "1 tables and 0 lines"),
        "src/ui/screens.c": ("} screens[SCREEN_COUNT] = {\n    [SCREEN_L] = {&screen_l, 0},\n};\n", "0 tables and 1 lines"),
    }
    failed = 0
    allowed = {"base": set(), "erl": {"base"}, "core": {"base"}, "export": {"base", "core/snapshot"},
               "ui": {"base", "core/snapshot", "core/view_query"}, "app": set(LAYERS)}
    for path, (text, want) in planted.items():
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w") as f:
                f.write(text)
            if not any(want in b for b in check_layers(root, allowed) + check_ui(root) + check_screens(root)):
                failed += 1
                print("FAIL self-test: %s with %r was not detected" % (path, text))
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src/ui"))
        for path, text in (("n.c", "const struct screen_ops screen_n = {\n"), ("o.c", '#include "n.h"\n')):
            with open(os.path.join(root, "src/ui", path), "w") as f:
                f.write(text)
        if not any("may include a screen" in b for b in check_screens(root)):
            failed += 1
            print("FAIL self-test: a screen that is included by another was not detected")
    with tempfile.TemporaryDirectory() as root:
        for path, text in (("src/ui/m.c", "#include <kprof/core/view_query.h>\n"),
                           ("include/kprof/core/view_query.h", "#include <kprof/core/state.h>\n")):
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w") as f:
                f.write(text)
        if not any("includes core/state" in b for b in check_ui(root)):
            failed += 1
            print("FAIL self-test: ui: a forbidden header of a header was not detected")
    with tempfile.TemporaryDirectory() as root:
        for layer, text in (("core", "#include <kprof/base/x.h>\nint f(size_t n);\n"),
                           ("base", "#ifndef X\n#define X\n#include <kprof/core/x.h>\n#endif\n")):
            os.makedirs(os.path.join(root, "include/kprof", layer))
            with open(os.path.join(root, "include/kprof", layer, "x.h"), "w") as f:
                f.write(text)
        if not check_circles(root):
            failed += 1
            print("FAIL self-test: a circle was not detected")
        os.makedirs(os.path.join(root, "src/core"))
        for unit, other in (("p", "q"), ("q", "p")):
            with open(os.path.join(root, "src/core", unit + ".h"), "w") as f:
                f.write('#include "%s.h"\n' % other)
        if not any("src/core/p.h" in b for b in check_circles(root)):
            failed += 1
            print("FAIL self-test: a circle of private headers was not detected")
        if not check_alone(root, [])[0]:
            failed += 1
            print("FAIL self-test: a header that does not compile alone was not detected")
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src/core"))
        for name, text in (("core/a.c", ""), ("core/b.c", ""), ("README.md", "## base\n- b: x\n## core: y\n- a: the first\n")):
            with open(os.path.join(root, "src", name), "w") as f:
                f.write(text)
        if check_listed(root) != ["src/README.md: core/b is not listed"]:
            failed += 1
            print("FAIL self-test: a unit that is not listed was not detected")
    if not any("not listed before it" in b for b in check_table({"base": {"core"}, "core": set()})):
        failed += 1
        print("FAIL self-test: a layer that uses a lower line of the table was not detected")
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "src/attic"))
        for name, text in (("attic/a.c", ""), ("README.md", "```layers\nbase -\n```\n")):
            with open(os.path.join(root, "src", name), "w") as f:
                f.write(text)
        if len(check_directories(root)) != 2:
            failed += 1
            print("FAIL self-test: a directory that is not a layer, or a layer without a directory, was not detected")
    return failed, len(planted) + 8


def main():
    if "--self-test" in sys.argv:
        failed, n = self_test()
        print("self-test: %d violations, %d not detected" % (n, failed))
        return 1 if failed else 0
    root, table = ROOT, layers_table(ROOT)
    bad = check_table(table) + check_directories(root) + check_layers(root, table) + check_ui(root) + check_screens(root) + check_circles(root) + check_listed(root)
    alone, n = check_alone(root, ei_flags())
    bad += alone
    for b in bad:
        print("FAIL " + b)
    files = len(list(sources(root)))
    print("%d passed, %d failed" % (files - min(files, len({b.split(':')[0] for b in bad})), len(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
