"""A replay on the screen: progress, speed, pause."""
import os
import re
import time

import kp
from common import Top, options


_recorded = None


def recording():
    """Some seconds of the load, made once."""
    global _recorded
    if _recorded is None:
        rec = os.path.join(kp.scratch(), "screen.rec")
        node = kp.Node(25)
        node.eval("workload:start()")
        node.eval("workload:load(4,5)")
        k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "--duration", "4s", "--record", rec, *options(), node.name)
        assert k.wait(60) == 0, k.saw()
        kp.clean_up()
        _recorded = rec
    return _recorded


def test_replay_pace_and_progress():
    rec = recording()
    with Top(node=False, args=["--replay", rec, "--speed", "0.25"]) as top:
        top.see(re.compile(r"REPLAY \d+% 0\.25x"))
        top.ready()
        top.keys("+")
        top.see(re.compile(r"REPLAY \d+% 0\.5x"))
        top.keys("t")
        held = re.search(r"REPLAY (\d+)% paused", top.see(re.compile(r"REPLAY \d+% paused"))).group(1)
        top.keys("w")  # redrawn, still there
        assert "REPLAY %s%% paused" % held in top.see(re.compile("window 1m"))
        top.keys("t", "-")
        top.see(re.compile(r"REPLAY \d+% 0\.25x"))
        top.keys(*["+"] * 14)
        top.see(re.compile("REPLAY ended"))
        top.quit()


def figures(screen):
    """The rows of the table, from the top."""
    lines = screen.split("\n")
    first = next(i for i, x in enumerate(lines) if x.startswith("TIER"))
    rows = [x for x in lines[first + 1:] if re.match(r"\W*?(?:\((?:no name|other)\)|[\w<>]+) +\S*\d", x)]
    assert any("_total" in x for x in rows) and len(rows) > 6, screen
    return rows


def test_nothing_is_set_on_a_recording():
    refused = "not possible in a replay: there is no node"
    config = os.path.join(kp.scratch(), "xdg-replay")
    with Top(node=False, args=["--replay", recording(), "--speed", "1000"], env={"XDG_CONFIG_HOME": config}) as top:
        top.see(re.compile("REPLAY ended"))
        before = figures(top.ready())
        for key in ("W", "E", "i", "A", "a", "L", "d"):
            if key == "d":
                top.keys("Down")
            top.keys(key)
            top.see(refused)
            top.keys("Escape")
            top.see(refused, gone=True)
        assert figures(top.ready()) == before, "\n".join(before) + "\nthen\n" + top.t.screen()
        assert not os.path.exists(os.path.join(config, "kprof-top")) or not os.listdir(os.path.join(config, "kprof-top"))
        top.quit()


def test_why_is_answered_for_a_recording():
    with Top(node=False, args=["--replay", recording(), "--speed", "0.25"]) as top:
        top.ready()
        top.keys("End", "y")
        top.see("the node cannot be asked: this is a recording")
        top.quit()


def test_a_node_that_was_restarted():
    """Its clock starts again, and its new processes have the same pids as those that had open calls."""
    rec = os.path.join(kp.scratch(), "restarted.rec")
    name = "restarted%d" % os.getpid()
    node = kp.Node(25, name=name)
    node.eval("dying:start()")
    args = ["-t", "request=dying:request/1", "-t", "step=dying:step/1", "-e", "request", "-i", "dying:request/1 arg(1)", "--record", rec, node.name]
    with Top(node=False, args=args) as top:
        top.see(re.compile(r"^\W*good +\d\d", re.M), 30)
        began = time.monotonic()
        for _ in range(2):
            # a node that had run for less than 2 s is not recognized as another one
            kp.until(30, lambda: node.eval("element(1, erlang:statistics(wall_clock))") > 5000)
            node.kill()
            top.see(re.compile("LOST|reconnect|connect", re.I))
            node = kp.Node(25, name=name)
            node.eval("dying:start()")
            top.keys("z", "y")
            top.see(re.compile(r"^\W*good +\d\d", re.M), 60)
        took = time.monotonic() - began
        top.quit()
        k = kp.run("--batch", "--format", "json", "--replay", rec)
    r = k.final()
    kp.conserves(r)
    for kind in ("good", "crash"):
        row = kp.row(r, "request", kind)
        assert row["count"] > 20 and row["p99_us"] < 500000, r
    assert kp.row(r, "request", "hang")["min_us"] > 1e6 and kp.row(r, "request", "good")["errors"] == 0, r
    assert len([g for g in r["gaps"] if g["reason"] == "lost"]) == 2, r["gaps"]
    assert took - 3 < r["elapsed_s"] < took + 20, (took, r["elapsed_s"])
