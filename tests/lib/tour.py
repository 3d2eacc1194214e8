"""The tour of the screens, on the sample node of --demo: one list for the screen test and for the pictures of README
(make screenshots). A step is a key (or text to type), or a compiled pattern to wait for."""
import re
from collections import namedtuple

Stop = namedtuple("Stop", "name size steps back")
SIZE, WIDE, SMALL = (110, 32), (132, 28), (40, 10)


def see(pattern):
    return re.compile(pattern, re.M)


def gone(text):
    return re.compile(r"\A(?![\s\S]*%s)" % re.escape(text))


TABLE = see(r"^TIER .*\bCOUNT\b")
HOME = ("Escape", TABLE)

STOPS = (
    Stop("tiers", SIZE, (see(r"^\W*handle\b.*[1-9]"), see(r"^SLOW \(\d+\).*\n[\d:.]+ ")), ()),
    Stop("pivot", SIZE, ("v", see(r"^IDENTITY .*\bCOUNT\b")), ("v", TABLE)),
    Stop("heat", SIZE, ("H", see(r"^_total .*per column"), see(r"^\d+ of \S+-\S+ ")), HOME),
    Stop("dist", SIZE, ("D", see(r"calls by duration"), see(r"^p50 .*p99 ")), HOME),
    Stop("slow", SIZE, ("S", see(r"^SLOW \(\d+\).*\n[\d:.]+ "), see(r"^\S.* CALLS +TOTAL +SELF +% ")), ()),
    # Only a request that has ended can be drawn.
    Stop("waterfall", SIZE, ("/", "handle", "Enter", see(r"^SLOW .*\"handle\".*\n[\d:.]+ +\w+ +\d\S+s[ !]\w+ +\S+s +\d+% "), "Enter",
                             see(r"^TIER .*SELF.* self "), see(r"^ *db .*[mu]s")), ("Escape", see(r"^SLOW .*\"handle\""), "Escape", see(r"^SLOW \(\d+\) +IDENTITY"), *HOME)),
    Stop("open", SIZE, ("O", see(r"^OPEN FOR .*\(\d")), HOME),
    Stop("compare", WIDE, ("m", see(r"\+-P99"), see(r"^\W*handle\b.*[+-]\d+%")), ("m", see(r"comparison off"))),
    Stop("picker", SIZE, ("a", see(r"^\d+ functions of \d+ modules"), "kpdb", see(r"^\[ \] kprof_sample:db.*[1-9]$"), "Tab",
                          see(r"^\[x\] ")), HOME),
    Stop("point", SIZE, ("Home", "I", see(r"NAMES of these")), HOME),
    Stop("presets", SIZE, ("P", see(r"Presets for this node"), see(r"\bsample +\w")), ("Escape", gone("Presets for this"))),
    Stop("columns", SIZE, ("C", see(r"Columns: ")), ("Escape", gone("Columns: "))),
    Stop("messages", SIZE, ("M", see(r"^MESSAGES \(\d+\)\n\d\d:")), HOME),
    Stop("help", SIZE, ("?", see(r"tracing on or off|choose the sort column")), HOME),
    Stop("small", SMALL, (TABLE, see(r"^\W*parsing\b.*[1-9]")), ()),
)


def walk(terminal, patience_s=60, arrived=lambda stop: None):
    """Goes to every stop; calls arrived(stop) there."""
    def go(steps):
        for s in steps:
            if isinstance(s, str):
                terminal.keys(s)
            else:
                terminal.wait_for(s, patience_s)
    size = None
    for stop in STOPS:
        if stop.size != size:
            size = stop.size
            terminal.resize(*size)
        go(stop.steps)
        arrived(stop)
        go(stop.back)
