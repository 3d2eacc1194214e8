#!/usr/bin/env python3
"""Checks dependencies and names. Dependencies of layers and units come from the objects (nm) of build/plain/obj.

Without an option: a layer uses only lower layers, which are listed before it in the table of src/README.md, the units of
a layer have no circular dependencies, and no forbidden word is the name or prefix of a unit, a global function, a type or
a file. --draw prints the graph. --self-test makes one violation of each kind and must detect each of them."""
import os
import re
import subprocess
import sys
import tempfile

from includes import LAYERS, ROOT, circles, layers_table, sources

# Forbidden: standard terms replaced them (src/README.md). A name may not be one of these, nor begin with one and "_".
REPLACED = ("wish", "scrap", "scraps", "sift", "kept", "keep", "settle", "sweep", "nest", "follow", "past", "pack", "fall",
            "moment", "moments", "span", "figure", "place", "pace", "carry", "shape", "ask", "look", "point", "query", "guard_look",
            "engine_word", "engine_who", "engine_wish", "engine_look", "engine_point", "engine_mark")
REPLACED_AGENT = ("keeper", "warden", "undo", "steer", "switch", "strangers")
TYPE = re.compile(r"^\s*(?:typedef\s+)?(?:struct|enum|union)\s+(\w+)\s*\{", re.M)
MODULE = re.compile(r"^-module\((\w+)\)", re.M)


def symbols(objects):
    """{unit: symbols it defines}, {unit: symbols it uses}; a unit is layer/name."""
    defined, wanted = {}, {}
    for layer in LAYERS:
        directory = os.path.join(objects, layer)
        objects_here = sorted(n for n in os.listdir(directory) if n.endswith(".o")) if os.path.isdir(directory) else []
        if not objects_here:
            continue
        out = subprocess.run(["nm", "-A", *objects_here], cwd=directory, stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in out.splitlines():  # FILE.o:[ADDRESS] KIND SYMBOL
            name, _, rest = line.partition(".o:")
            unit, words = "%s/%s" % (layer, name), rest.split()
            if words[-2] in "TDBRV":
                defined.setdefault(unit, set()).add(words[-1])
            elif words[-2] == "U":
                wanted.setdefault(unit, set()).add(words[-1])
    return defined, wanted


def graph(defined, wanted):
    """{unit: {unit that it uses: symbols}}"""
    where = {s: unit for unit, some in defined.items() for s in some}
    uses = {unit: {} for unit in set(defined) | set(wanted)}
    for unit, some in wanted.items():
        for s in some:
            if s in where and where[s] != unit:
                uses[unit].setdefault(where[s], set()).add(s)
    return uses


def check_layers(uses, table):
    bad = []
    for unit in sorted(uses):
        layer = unit.split("/")[0]
        for to, some in sorted(uses[unit].items()):
            if to.split("/")[0] != layer and to.split("/")[0] not in {u.split("/")[0] for u in table[layer]}:
                bad.append("%s: %s is of %s, which %s may not use" % (unit, ", ".join(sorted(some)), to, layer))
    return bad


def check_circles(uses):
    return ["circle of units: %s" % " ".join(c) for c in circles(uses)]


def is_replaced(name, words):
    return any(name == w or name.startswith(w + "_") for w in words)


def check_names(root, defined):
    bad = ["%s: %s: forbidden name" % (unit, s) for unit in sorted(defined) for s in sorted(defined[unit])
           if is_replaced(s, REPLACED)]
    for path, _, _ in sources(root):
        if is_replaced(os.path.basename(path)[:-2], REPLACED):
            bad.append("%s: forbidden file name" % path)
        with open(os.path.join(root, path), encoding="utf-8") as f:
            bad += ["%s: type %s: forbidden name" % (path, t) for t in TYPE.findall(f.read()) if is_replaced(t, REPLACED)]
    agent = os.path.join(root, "src", "agent")
    for name in sorted(os.listdir(agent)) if os.path.isdir(agent) else []:
        if name.endswith(".erl"):
            with open(os.path.join(agent, name), encoding="utf-8") as f:
                bad += ["src/agent/%s: module %s: forbidden name" % (name, m) for m in MODULE.findall(f.read())
                        if is_replaced(m.replace("kprof_", "", 1), REPLACED_AGENT)]
    return bad


def levels(units, uses):
    """Units of a layer from the top (used by none of the layer) down."""
    left, rows = set(units), []
    while left:
        top = {u for u in left if not any(u in uses[v] for v in left if v != u)} or left
        rows.append(sorted(top))
        left -= top
    return rows


def draw(uses, table):
    for layer in reversed(list(table)):
        units = [u for u in uses if u.startswith(layer + "/")]
        below = sorted({to.split("/")[0] for u in units for to in uses[u]} - {layer}, key=list(table).index)
        print("+-- %s (%d units)%s" % (layer, len(units), "  -> " + " ".join(below) if below else ""))
        for row in levels(units, uses):
            line = "|  "
            for u in row:
                if len(line) + len(u) > 116:
                    print(line)
                    line = "|  "
                line += " " + u.split("/")[1]
            print(line)
        print("|")


def self_test():
    failed = 0
    table = {"base": set(), "core": {"base"}, "ui": {"base", "core/snapshot"}}
    planted = [(check_layers({"base/a": {"core/b": {"b_x"}}}, table), "may not use"),
               (check_circles({"core/a": {"core/b": {"b"}}, "core/b": {"core/c": {"c"}}, "core/c": {"core/a": {"a"}}}), "circle"),
               (check_names("/nonexistent", {"core/a": {"settle_due"}}), "settle_due")]
    with tempfile.TemporaryDirectory() as root:
        for path, text in (("src/core/sift.c", ""), ("include/kprof/core/b.h", "struct wish {\n"),
                           ("src/agent/kprof_keeper.erl", "-module(kprof_keeper).\n")):
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as f:
                f.write(text)
        names = check_names(root, {})
        planted += [(names, "sift.c: forbidden file name"), (names, "type wish"), (names, "module kprof_keeper")]
    for bad, want in planted:
        if not any(want in b for b in bad):
            failed += 1
            print("FAIL self-test: %s was not detected" % want)
    if check_layers({"ui/a": {"core/b": {"b_x"}, "ui/c": {"c_x"}}}, table) or circles({"a": {"b": 0}, "b": {}}):
        failed += 1
        print("FAIL self-test: an allowed dependency was reported")
    return failed, len(planted) + 1


def main():
    if "--self-test" in sys.argv:
        failed, n = self_test()
        print("self-test: %d violations, %d not detected" % (n, failed))
        return 1 if failed else 0
    root, table = ROOT, layers_table(ROOT)
    # An old build directory has objects of deleted files.
    defined, wanted = symbols(os.path.join(root, "build", "plain", "obj"))
    now = {"%s/%s" % (layer, os.path.basename(path)[:-2]) for path, layer, header in sources(root) if not header}
    defined, wanted = ({u: s for u, s in d.items() if u in now} for d in (defined, wanted))
    uses = graph(defined, wanted)
    if "--draw" in sys.argv:
        draw(uses, table)
        return 0
    bad = check_layers(uses, table) + check_circles(uses) + check_names(root, defined)
    if now - set(uses):
        bad.append("no objects of %s: build first" % " ".join(sorted(now - set(uses))[:5]))
    for b in bad:
        print("FAIL " + b)
    print("%d passed, %d failed" % (max(0, len(uses) - len(bad)), len(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
