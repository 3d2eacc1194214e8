"""U: the processes of the sample node, on a real terminal: order, groups, one process with its stack, a file."""
import json
import os
import re

import kp


def test_processes_of_the_sample_node():
    out = os.path.join(kp.scratch(), "processes.json")
    with kp.Tmux(110, 32, [kp.PROGRAM, "--demo"]) as t:
        t.wait_for("TRACING ON", 60)
        t.keys("U")
        t.wait_for(re.compile(r"^\d+ processes, \+\d", re.M), 30)
        t.wait_for(re.compile(r"kprof_sample:\w+/\d .*\d+k", re.M), 30)
        t.keys("v")
        t.wait_for(re.compile(r"^INITIAL CALL .*PROCS", re.M))
        t.wait_for(re.compile(r"^kprof_sample:", re.M))
        t.keys("v")
        t.wait_for(re.compile(r"^kernel +\d", re.M), 20)
        t.keys("v", "/", "code_server", "Enter")
        t.wait_for(re.compile(r"^code_server .*code_server:", re.M), 20)
        t.keys("Enter")
        t.wait_for(re.compile(r"^<0\.\d+\.0> code_server stack", re.M), 20)
        t.wait_for(re.compile(r"^  code_server:loop/1", re.M), 20)
        t.keys("Escape", "e")
        t.wait_for("Export processes to file")
        t.keys(out, "Enter")
        t.wait_for("written to")
        with open(out, encoding="utf-8") as f:
            table = json.load(f)
        assert [r["name"] for r in table["rows"]] == ["code_server"], table
        assert table["processes"] > 20 and table["rows"][0]["application"] == "kernel", table
        t.keys("f")
        t.wait_for("FLAME GRAPH", 20)
        t.keys("Escape")
        t.wait_for('with "code_server" of')
        t.keys("q")
        kp.until(60, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())


def test_a_recording_has_none():
    with kp.Tmux(80, 24, [kp.PROGRAM, "--replay", os.path.join(kp.ROOT, "tests", "golden", "demo.rec")]) as t:
        t.wait_for("REPLAY", 30)
        t.keys("U")
        t.wait_for("a recording has no process table")
        t.keys("q")
