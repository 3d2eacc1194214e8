#!/usr/bin/env python3
"""The first minute of a new user on servers that people run: from attach to "which kind of request is slow, in which
layer". Each server runs under its load. kprof-top is started with the name of the node only, in a terminal; then keys are
pressed as its screens suggest, and counted: P Enter (the first preset of the list), S s Enter (slow requests, with the
proposed threshold), Y (findings). The clock runs from the start of kprof-top until five slow requests name their kind and
layer, and the findings are shown. Fails if the preset is not that of the server, if a screen does not answer, if the client
has errors, if the logs of the server have changed, or if something is left on the node. Keys and seconds are printed
and, with --write, written into a Markdown file."""
import argparse
import collections
import datetime
import os
import re
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "bench")]
from impact_common import kp, machine, table, write  # noqa: E402
from place import Place  # noqa: E402
from real import LATER_S, clean, demand  # noqa: E402
from servers import SERVERS, packages  # noqa: E402

BEGIN, END = "<!-- first minute: made by tests/real/first_minute.py -->", "<!-- first minute: end -->"
HEAD = ["server, version", "OTP", "attached after", "keys", "seconds", "slow requests (S): the most frequent kind and layer", "finding (Y)"]
ENOUGH = re.compile(r"^SLOW \((?:[5-9]|\d\d+)\)", re.M)  # slow requests: their most frequent kind and layer are the answer
# TIME IDENTITY TOOK TIER SELF %
SLOW = re.compile(r"^[\d:.]+ +(\S.*?) +(?:\d\S*s)[ !]+(\S+) +\d\S*s +(\d+)%")


class Load(threading.Thread):
    """The lower rate of the server, until stopped."""

    def __init__(self, s):
        super().__init__()
        self.s, self.done, self.errors, self.said = s, threading.Event(), 0, ""

    def run(self):
        while not self.done.is_set():
            load = self.s.load(self.s.rates[0], 2)
            self.errors += load.errors
            self.said = self.said or load.said

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()


class User:
    """Presses keys and counts them."""

    def __init__(self, s):
        self.began, self.pressed = time.monotonic(), []
        self.t = kp.Tmux(100, 32, command=[kp.PROGRAM, s.node.name], env={"KPROF_COOKIE": s.node.cookie})

    def press(self, *keys):
        for k in keys:
            self.pressed.append(k)
            self.t.keys(k)

    def see(self, what):
        return self.t.wait_for(what, LATER_S)

    def seconds(self):
        return time.monotonic() - self.began

    def quit(self):
        self.t.keys("q")
        kp.until(LATER_S, lambda: self.t.get("pane_dead") == "1", what=lambda: "its end: " + self.t.screen())


def first_finding(screen):
    """The first finding as one line; "none"."""
    if "FINDINGS (0)" in screen:
        return "none"
    lines = screen[screen.index("FINDINGS ("):].split("\n")[1:]
    text = []
    for line in lines:
        if text and not line.startswith("       "):
            break
        if not line.strip().startswith("Enter:"):
            text.append(line.strip())
    return " ".join(text)


def slow_lines(screen):
    """[(kind, layer)]"""
    return [(m.group(1), m.group(2)) for m in (SLOW.match(x) for x in screen.split("\n")) if m]


def walk(s):
    me = User(s)
    me.see("attached to")
    attached = me.seconds()
    me.see(re.compile(r"Presets found here: .*\b%s\b" % s.preset))
    me.press("P")
    screen = me.see("Presets for this node")
    first = screen[screen.index("Presets for this node"):].split("\n")[1].split()[0]
    demand(first == s.preset, lambda: "the first preset is not %s:\n%s" % (s.preset, screen))
    me.press("Enter")
    me.see(re.compile(r"^\W*%s +[1-9]" % re.escape(s.entry), re.M))
    me.press("S", "s")
    me.see(re.compile(r"Slow-call threshold \(P99 is"))
    me.press("Enter")
    answers = collections.Counter(slow_lines(me.see(ENOUGH)))
    me.press("Y")
    found = first_finding(me.see("FINDINGS ("))
    seconds = me.seconds()
    demand(answers, lambda: "no slow request names its layer:\n" + me.t.screen())
    (kind, layer), n = answers.most_common(1)[0]
    me.quit()
    return [number(attached) + " s", str(len(me.pressed)), number(seconds), "%s: %s (%d of %d)" % (kind, layer, n, sum(answers.values())), found]


def number(x):
    return "%.1f" % x


def one(cls, otp):
    """A row of the table."""
    s = cls(Place(otp))
    s.place.provide(s.packages[otp], packages(otp))
    if s.host:
        Place(25).provide(s.host)
    try:
        s.up()
        s.watch()
        label = "%s %s" % (s.name, s.version())
        s.load(s.rates[0], 1)
        lines = s.log_lines()
        with Load(s) as load:
            row = walk(s)
        demand(not load.errors, lambda: "the client had %d errors: %s" % (load.errors, load.said))
        clean(s)
        demand(s.log_lines() == lines, lambda: "\n".join(s.log_lines()[len(lines):][:20]))
        return [label, str(otp), *row]
    finally:
        s.stop()
        kp.clean_up()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--server", default="", help=" ".join(SERVERS))
    p.add_argument("--otp", default="25 27 29")
    p.add_argument("--write", metavar="FILE")
    o = p.parse_args()
    rows, failed = [], 0
    for name in o.server.split() or SERVERS:
        for otp in map(int, o.otp.split()):
            if otp not in SERVERS[name].packages:
                continue
            try:
                rows.append(one(SERVERS[name], otp))
                print("ok   %s" % " | ".join(rows[-1]), flush=True)
            except kp.Skip as e:
                print("skip %s %d: %s" % (name, otp, e), flush=True)
            except Exception as e:
                failed += 1
                print("FAIL %s %d: %s" % (name, otp, e), flush=True)
    if rows and o.write:
        said = "`python3 tests/real/first_minute.py`, %s, %s.\n\n" % (datetime.date.today(), machine())
        write(o.write, said + table(HEAD, rows) + "\n", BEGIN, END)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
