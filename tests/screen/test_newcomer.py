"""A new user: only --demo on the command line, everything else with a few keys."""
import os
import re

import kp
from common import Top

OPS = {"create", "read", "update", "delete"}
# The text that finds each function in the picker. The first is the entry, the other four are tiers of its requests.
WANTED = (("dbex", "db_exec/2"), ("tak", "takes_us/1"), ("store", "store/3"), ("shar", "shared/0"), ("waus", "wait_us/1"))
KEYS_MAX = 60


class Newcomer:
    """Presses keys, counts them, and checks the screen before the next one."""

    def __init__(self, top):
        self.top, self.pressed = top, 0

    def press(self, *keys):
        for k in keys:
            self.top.keys(k)
            self.pressed += 1

    def type(self, text):
        self.top.keys(text)
        self.pressed += len(text)

    def see(self, what):
        return self.top.see(what, 60)

    def select(self, line):
        """Moves down to a line of a menu; the current choice is selected when it opens."""
        self.press("Home", *["Down"] * self.menu().index(line))

    def menu(self):
        """The lines below the title of the menu."""
        lines = self.top.t.screen().split("\n")
        title = next(i for i, x in enumerate(lines) if "Which tier starts a request?" in x)
        at = lines[title].index("Which tier")
        found = []
        for x in lines[title + 1:]:
            found.append(x[at + 1:].split("  ")[0].strip())
            if found[-1].startswith("none"):
                break
        return found


def pick(me):
    me.press("a")
    me.see(re.compile(r"^\d+ functions of \d+ modules", re.M))
    for typed, function in WANTED:
        if typed != WANTED[0][0]:
            me.press("C-u")
        me.type(typed)
        line = r"kprof_sample:" + re.escape(function)
        me.see(re.compile(r"FUNCTION.*\n\[ \] " + line))  # the best match is selected
        me.press("Tab")
        me.see(re.compile(r"^\[x\] " + line, re.M))
    me.press("Enter")
    me.see(re.compile(r"^\W*db_exec\b.*[1-9]", re.M))


def entry(me):
    me.press("E")
    me.see("Which tier starts a request?")
    me.select("db_exec")
    me.press("Enter")
    me.see(re.compile(r"^ +\(no name\) +[1-9]", re.M))  # the former rule does not match such requests


def identity(me):
    me.press("Home", "I")
    # on a busy machine the capture may be refused or empty: try again
    for _ in range(4):
        screen = me.see(re.compile(r"NAMES of these|^ARGUMENT PICKER *\n+(?!capturing)[^\n]", re.M))
        if "NAMES of these" in screen:
            break
        me.press("r")
    assert "kprof_sample:db_exec/2 arg(1)" in screen, screen
    me.press("Enter")
    me.see("the identity rule is set")
    me.press("z", "y")

    def percentiles():
        """Each operation has a line with at least P50 and P99, and every request has a name."""
        screen = me.top.t.screen()
        return not re.search(r"^ +\(no name\) +[1-9]", screen, re.M) and all(
            re.search(r"^ +%s +[1-9].* \S+[mu]s +\S+[mu]s" % op, screen, re.M) for op in OPS)
    kp.until(60, percentiles, what=lambda: "percentiles of each operation:\n" + me.top.t.screen())


def waterfall(me):
    me.press("S")
    me.see(re.compile(r"^SLOW \(\d+\)", re.M))
    me.press("/")
    me.type("db_e")
    me.press("Enter")
    # its request has ended, so it can be drawn
    me.see(re.compile(r'^SLOW .*with "db_e".*\n[\d:.]+ +\w+ +\d\S+s[ !]\w+ +\S+s +\d+% ', re.M))
    me.press("Enter")
    screen = me.see(re.compile(r"^TIER .*SELF.* self ", re.M))
    for tier in ("db_exec", "takes_us", "wait_us"):
        assert re.search(r"^ *%s\b.*[mu]s" % tier, screen, re.M), screen


def test_a_newcomer_with_few_keys():
    with Top(size=(100, 32), node=False, args=["--demo"], directory=kp.scratch()) as top:
        me = Newcomer(top)
        me.see(re.compile(r"^\W*handle\b.*[1-9]", re.M))
        pick(me)
        entry(me)
        identity(me)
        me.press("H")
        me.see(re.compile(r"^_total .*1s per column", re.M))
        me.see(re.compile(r"^\d+ of \S+-\S+ ", re.M))
        waterfall(me)
        me.press("e")
        path = re.search(r"Export to file: (\S+\.txt)", me.see("Export to file: "))
        me.press("Enter")
        me.see("written to ")
        me.press("q")
        assert top.ended(60) == 0
        assert me.pressed < KEYS_MAX, "%d keys" % me.pressed
        with open(os.path.join(kp.scratch(), path.group(1))) as f:
            text = f.read()
        assert "db_exec" in text and OPS <= set(text.split()), text
