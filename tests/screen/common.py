"""Shared by the screen tests: a node under load, and kprof-top in a terminal of its own."""
import re

import kp

SMALL, LARGE = (80, 24), (132, 43)
TIERS = ["request/1", "parse/1", "db/1", "format/1", "account/1", "cache/1"]


def options():
    args = []
    for f in TIERS:
        args += ["-t", "%s=workload:%s" % (f.split("/")[0], f)]
    return args + ["-i", "workload:request/1 arg(1)"]


class Top:
    """kprof-top in a shell in a window, on a node under load. The end of `with` stops everything."""

    def __init__(self, size=SMALL, term="xterm-256color", locale="C.UTF-8", args=None, node=True, load=True, env=None,
                 directory=None):
        self.node = kp.Node(25) if node else None
        if node:
            self.node.eval("workload:start()")
            if load:
                self.node.eval("workload:load(4,5)")
        self.t = kp.Tmux(size[0], size[1], term=term, locale=locale, env=env)
        self.t.wait_for("sh>")
        self.before = self.stty("before")
        words = [kp.PROGRAM] + (options() if args is None else args) + ([self.node.name] if node else [])
        # A separate line shows the exit status, on the normal screen of the shell.
        there = "cd %s; " % kp.shlex.quote(directory) if directory else ""
        self.t.keys(there + kp.shlex.join(words) + "; echo status=$?", "Enter")

    def stty(self, name):
        path = kp.os.path.join(kp.scratch(), "stty." + name)
        self.t.keys("stty -a > %s; echo done-%s" % (path, name), "Enter")
        self.t.wait_for(re.compile(r"^done-" + name, re.M))
        with open(path) as f:
            text = f.read()
        self.t.keys("clear", "Enter")
        return re.sub(r"rows \d+; columns \d+;", "", text)

    def ready(self):
        """Waits until the table has rows of the load."""
        screen = self.t.wait_for(re.compile(r"^\W*request\b.*[1-9]|^status=\d", re.M), 30)
        assert not re.search(r"^status=\d", screen, re.M), "it has ended:\n" + screen  # not the command line, where it wraps
        return screen

    def keys(self, *keys):
        self.t.keys(*keys)

    def see(self, what, deadline_s=10, gone=False):
        return self.t.wait_for(what, deadline_s, gone)

    def ended(self, deadline_s=20):
        """Waits for the shell; checks that its terminal is as before; returns the exit status."""
        s = self.t.wait_for(re.compile(r"^status=\d+", re.M), deadline_s)
        self.sane()
        return int(re.search(r"^status=(\d+)", s, re.M).group(1))

    def sane(self):
        assert self.t.get("alternate_on") == "0", "still on the alternate screen"
        assert self.t.get("cursor_flag") == "1", "the cursor is hidden"
        assert self.t.get("keypad_flag") == "0", "keypad mode is still on"
        assert self.t.get("mouse_any_flag") == "0", "mouse reporting is still on"
        after = self.stty("after")
        assert after == self.before, "stty differs:\n%s\n%s" % (self.before, after)

    def quit(self):
        self.keys("q")
        assert self.ended() == 0, self.t.screen()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kp.clean_up()


MARK = r"^[^\w\s]?\s*"  # the fold sign in front of a name
# Every key is tested in each of these combinations of size, terminal and locale.
VARIANTS = ((SMALL, "xterm-256color", "C.UTF-8"), (LARGE, "screen", "C"), (SMALL, "vt100", "C.UTF-8"))


def names(screen):
    """The names of the rows of the table, from the top: [(indent, name)]."""
    found, inside = [], False
    for line in screen.split("\n"):
        if re.match(r"(TIER|IDENTITY)\b", line):
            inside = True
        elif inside:
            m = re.match(r"(\W*?)(\((?:no name|other)\)|[\w<>]+(?: requests)?)\s", line + " ")
            if not m or not re.search(r"\d|-", line[m.end():]):
                break
            found.append((len(m.group(1)), m.group(2)))
    return found


def heads(screen):
    return [n for i, n in names(screen) if i <= 2]


def last_head(top):
    """The last tier of the table; '' while a menu covers the table."""
    return (heads(top.t.screen()) or [""])[-1]


def column(screen, title):
    """The cells of a column as text, by tier name."""
    lines = screen.split("\n")
    at = next((i for i, x in enumerate(lines) if re.match(r"(TIER|IDENTITY)\b", x)), None)
    if at is None:
        return {}  # a menu covers it
    end = re.search(r"\b%s[^\w\s]?(?=\s|$)" % re.escape(title), lines[at]).end()
    found = {}
    for line in lines[at + 1:]:
        m = re.match(MARK + r"([\w<>()]+)", line)
        if not m:
            break
        found.setdefault(m.group(1), (line[:end].split() or [""])[-1])
    return found
