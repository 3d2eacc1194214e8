"""x and X: a full trace of the sample node, on a real terminal: from a row, from a process; tree, flame graph, timeline, files."""
import os
import re

import kp


def wait_end(t):
    kp.until(60, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())


def test_full_trace_of_the_sample_node():
    text, line = (os.path.join(kp.scratch(), name) for name in ("trace.txt", "trace.trace.json"))
    with kp.Tmux(110, 32, [kp.PROGRAM, "--demo"]) as t:
        t.wait_for("TRACING ON", 60)
        t.wait_for(re.compile(r"^ +update +\d", re.M), 30)
        t.keys("/", "update", "Enter", "Down", "x")
        t.wait_for("the next request named update")
        t.keys("Down", "Right", "Enter")  # slower than the threshold
        t.wait_for(re.compile(r"CALL TREE of a request named update|Nothing was traced"), 60)
        t.wait_for("kprof_sample:handle/1")
        t.wait_for("kprof_sample:db/2")
        t.keys("a")
        t.wait_for("events, waits are not known on this VM")  # OTP 25
        t.keys("a", "a", "a", "e")
        t.wait_for("Export the trace to file")
        t.keys(text, "Enter")
        t.wait_for("written to")
        with open(text, encoding="utf-8") as f:
            tree = f.read()
        assert re.search(r" 1 +kprof_sample:handle/1$", tree, re.M), tree
        t.keys("f")
        t.wait_for("FLAME GRAPH")
        t.wait_for("kprof_sample:")
        t.keys("Escape", "t")
        t.wait_for("TIMELINE of a request named update")
        t.wait_for(re.compile(r"^\+\S+ for \S+ ", re.M))
        t.keys("+", "Right", "Right", "Down", "e")
        t.wait_for("Export the trace to file")
        t.keys(line, "Enter")
        t.wait_for("written to")
        with open(line, encoding="utf-8") as f:
            assert "kprof_sample:handle/1" in f.read()
        t.keys("Escape", "Escape")
        t.wait_for(re.compile(r"^ +update +\d", re.M))
        t.keys("q")
        wait_end(t)


def test_why_nothing_was_traced():
    with kp.Tmux(80, 24, [kp.PROGRAM, "--demo"]) as t:
        t.wait_for("TRACING ON", 60)
        t.wait_for(re.compile(r"^ +update +\d", re.M), 30)
        t.keys("x", "i")
        t.wait_for("Condition")
        t.keys("arg(1) =:= no_such_argument", "Enter", "Enter")
        t.wait_for("Waiting for", 30)
        t.keys("X")  # it goes on
        t.wait_for(re.compile(r"^ +update +\d", re.M))
        t.keys("X", "Escape")
        t.wait_for("Nothing was traced", 30)
        t.keys("Escape")
        t.wait_for("TRACING ON", 30)
        t.keys("q")
        wait_end(t)
