#!/usr/bin/env python3
"""Makes screenshots/*.svg from a real terminal (tmux), drawn as SVG: the choice of a node, the first minute on a node without
tiers, the tour of the screens (tests/lib/tour.py) and a full trace on --demo, findings on a node with a fault, the parts of the
time on OTP 27, and flame graphs of a file.
screenshots.py DIR"""
import os
import re
import subprocess
import sys
import time
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kp  # noqa: E402
import tour  # noqa: E402

PALETTE = ["#1c1c1c", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d0d0d0",
           "#5c6370", "#ff7b86", "#b5e890", "#ffd68a", "#7cc4ff", "#dd8cf5", "#6fd3df", "#ffffff"]
INK, PAPER = "#d0d0d0", "#161616"
W, H = 8.4, 18


def color(codes):
    """256-color number -> hex."""
    n = int(codes)
    if n < 16:
        return PALETTE[n]
    if n >= 232:
        return "#%02x%02x%02x" % ((8 + 10 * (n - 232),) * 3)
    steps = [0, 95, 135, 175, 215, 255]
    n -= 16
    return "#%02x%02x%02x" % (steps[n // 36], steps[n // 6 % 6], steps[n % 6])


class Style:
    def __init__(self):
        self.fg, self.bg, self.bold, self.dim, self.reverse, self.line = None, None, False, False, False, False

    def apply(self, codes):
        codes = [int(c or 0) for c in codes.split(";")]
        while codes:
            c = codes.pop(0)
            if c == 0:
                self.__init__()
            elif c in (1, 2, 4, 7):
                setattr(self, {1: "bold", 2: "dim", 4: "line", 7: "reverse"}[c], True)
            elif c == 22:
                self.bold = self.dim = False
            elif c in (24, 27):
                setattr(self, {24: "line", 27: "reverse"}[c], False)
            elif 30 <= c <= 37 or 90 <= c <= 97:
                self.fg = PALETTE[c - 30 if c < 90 else c - 82]
            elif 40 <= c <= 47 or 100 <= c <= 107:
                self.bg = PALETTE[c - 40 if c < 100 else c - 92]
            elif c in (38, 48) and len(codes) >= 2 and codes[0] == 5:
                setattr(self, "fg" if c == 38 else "bg", color(codes[1]))
                codes = codes[2:]
            elif c == 39:
                self.fg = None
            elif c == 49:
                self.bg = None

    def colors(self):
        fg, bg = self.fg or INK, self.bg or PAPER
        return (bg, fg) if self.reverse else (fg, bg)


def runs(line, style):
    """(column, text, colors and weight) of each part of a line with the same style."""
    x, last = 0, None
    for codes, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)|\x1b[^\x1b]", line):
        if codes or not text:
            style.apply(codes)
            continue
        look = style.colors() + (style.bold, style.dim, style.line)
        if last and last[2] == look:
            last[1] += text
        else:
            if last:
                yield last
            last = [x, text, look]
        x += len(text)
    if last:
        yield last


def svg(styled, cols, rows):
    """Small files: a class per style, a text element per line, no blanks."""
    looks, body = {}, []
    style = Style()  # a style continues on the next line
    for y, line in enumerate(styled.split("\n")[:rows]):
        spans = []
        for x, text, look in runs(line, style):
            if look[1] != PAPER:
                body.append('<path fill="%s" d="M%g %dh%gv%dh-%gz"/>' % (look[1], 8 + x * W, 8 + y * H, len(text) * W, H, len(text) * W))
            name = looks.setdefault((look[0],) + look[2:], "abcdefghijklmnopqrstuvwxyz"[len(looks) % 26] + "x" * (len(looks) // 26))
            for word in re.finditer(r"\S+(?: \S+)*", text):
                # Characters that another font may draw wider are positioned separately, one run at a time.
                spans.append('<tspan class="%s" x="%g"%s>%s</tspan>' % (
                    name, 8 + (x + word.start()) * W, ' textLength="%g"' % (len(word.group()) * W), escape(word.group())))
        if spans:
            body.append('<text y="%d">%s</text>' % (8 + y * H + 14, "".join(spans)))
    css = "".join(".%s{fill:%s%s%s%s}" % (name, fg, ";font-weight:bold" * bold, ";opacity:.65" * dim, ";text-decoration:underline" * line)
                  for (fg, bold, dim, line), name in looks.items())
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" '
        'font-size="14"><style>text{white-space:pre}%s</style>' % (cols * W + 16, rows * H + 16, css),
        '<rect width="100%%" height="100%%" rx="6" fill="%s"/>' % PAPER] + body + ["</svg>", ""])


def shot(t, directory, name, size=tour.SIZE):
    time.sleep(1.5)
    path = os.path.join(directory, name + ".svg")
    with open(path, "w") as f:
        f.write(svg(t.styled(), *size))
    print(path)


def flames(directory):
    """The flame graph needs no node: its samples are in a file."""
    t = kp.Tmux(*tour.SIZE, ["sh", "-c", 'cd "%s" && exec "%s" --flame demo.folded' % (
        # draws colored blanks one by one
        os.path.join(kp.ROOT, "tests", "golden"), kp.PROGRAM)], term="screen-256color")
    for name, keys in (("flame", ("/", "json:", "Enter", "Down", "Down")), ("sandwich", ("r", "/", "shop_json:encode", "Enter", "n", "s"))):
        t.wait_for("FLAME GRAPH")
        t.keys(*keys)
        shot(t, directory, name)
    t.keys("q")


def subsecond(t, directory):
    """The sub-second heat map of the stack samples of the sample node."""
    t.keys("F")
    t.wait_for("Sample the stacks of")
    t.keys("Enter")
    t.wait_for(re.compile(r"^SAMPLING", re.M), 30)
    time.sleep(60)
    t.keys("H", "v", "Left", "Left", "Up", "Up")
    shot(t, directory, "subsecond")
    t.keys("Escape", "Escape", "Escape")  # the mark, the heat map, the flame graph


def full_trace(t, directory):
    """All calls of one request of the sample node: the dialog, the tree, the timeline, and the flame graph."""
    t.wait_for(re.compile(r"^ +update +\d", re.M), 30)
    t.keys("/", "update", "Enter", "Down", "x")
    t.wait_for("the next request named update")
    t.keys("Down", "Right")  # slower than the threshold
    time.sleep(1)
    shot(t, directory, "full_form")
    t.keys("Enter")
    t.wait_for("CALL TREE of a request named update", 60)
    shot(t, directory, "full")
    t.keys("t")
    t.wait_for("TIMELINE of a request named update")
    t.keys("Right", "Right", "Right")
    shot(t, directory, "full_line")
    t.keys("Escape")
    t.wait_for("CALL TREE of a request named update")
    t.keys("f")
    t.wait_for("FLAME GRAPH")
    shot(t, directory, "full_flame")
    t.keys("Escape", "Escape", "Escape")


def findings(directory):
    t = kp.Tmux(*tour.SIZE, [kp.PROGRAM, "--demo", "--demo-trouble", "queue"])
    t.wait_for(re.compile(r"^\W*handle\b.*\d", re.M), 60)
    time.sleep(30)
    t.keys("Y")
    t.wait_for("busy with calls of accounting", 60)
    shot(t, directory, "findings")
    t.keys("q")


def parts(directory):
    """The parts of the time need OTP 27.1."""
    subprocess.run(["erlc", "-o", kp.beams(), os.path.join(kp.ROOT, "src", "app", "kprof_sample.erl")], check=True)
    node = kp.Node(27, name="shop27")
    node.eval("kprof_sample:start([200])")
    t = kp.Tmux(*tour.SIZE, [kp.PROGRAM, "--preset", "sample", "--slow", "20ms", "--detail", "1/10", node.name])
    t.wait_for(re.compile(r"^\W*handle\b.*\d", re.M), 60)
    time.sleep(20)
    t.keys("B")
    t.wait_for(re.compile(r"\bmailbox\b"), 60)
    shot(t, directory, "parts")
    t.keys("q")


def nodes(directory):
    """Without a node: those of this machine, and those used last."""
    used = os.path.join(kp.scratch(), "used", "kprof-top")
    os.makedirs(used)
    with open(os.path.join(used, "nodes"), "w") as f:
        f.write("%d shop@192.0.2.17\n%d billing@10.1.0.4\n" % (time.time() - 7200, time.time() - 3 * 86400))
    with kp.Node(25, name="shop") as node:
        t = kp.Tmux(*tour.SIZE, [kp.PROGRAM], env={"XDG_STATE_HOME": os.path.dirname(used)})
        t.wait_for("choose a node", 30)
        t.wait_for(node.name)
        shot(t, directory, "nodes")
        t.keys("Escape")


def first_minute(directory):
    """From the first screen to the suggested tiers: nothing is traced yet."""
    node = kp.Node(25, name="shop")
    node.eval("workload:start()")
    node.eval("workload:load(4,5)")
    t = kp.Tmux(*tour.SIZE, [kp.PROGRAM, node.name])
    for name, wait, keys in (("start", re.compile(r"^ *P +Suggested: request .*[\s\S]*Busiest functions: \w+:", re.M), ("P",)),
                             ("", "with calls/s of their first tier", ("Enter",)),
                             ("suggested", "Suggested: Enter traces these", ("Escape", "q"))):
        t.wait_for(wait, 60)
        if name:
            shot(t, directory, name)
        t.keys(*keys)


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    nodes(directory)
    first_minute(directory)
    flames(directory)
    findings(directory)
    parts(directory)
    t = kp.Tmux(*tour.SIZE, [kp.PROGRAM, "--demo"])
    t.wait_for(re.compile(r"^\W*handle\b.*\d", re.M), 60)
    time.sleep(60)  # wait until there is some history

    tour.walk(t, arrived=lambda stop: shot(t, directory, stop.name, stop.size))
    t.resize(*tour.SIZE)
    subsecond(t, directory)
    full_trace(t, directory)
    t.keys("q")


if __name__ == "__main__":
    main()
