"""Every key, at both sizes, on a live node."""
import os
import re

import kp
from common import LARGE, SMALL, Top

BOTH = (SMALL, LARGE)


@kp.each(*[(s, k) for s in BOTH for k in ("t", "Space")])
def test_toggle(size, key):
    with Top(size) as top:
        top.ready()
        top.see(re.compile(r"\bON\b"))
        kp.until(5, lambda: top.node.ours()["flags"], what="flags are on")
        top.keys(key)
        top.see(re.compile(r"\bOFF\b"))
        kp.until(5, lambda: not top.node.ours()["flags"], what="flags are off")
        top.keys(key)
        top.see(re.compile(r"\bON\b"))
        kp.until(5, lambda: top.node.ours()["flags"], what="flags are on again")
        top.quit()


@kp.each(*BOTH)
def test_window(size):
    with Top(size) as top:
        top.ready()
        seen = []
        for _ in range(8):
            m = re.search(r"window\W*(1s|10s|1m|5m|30m|60m|3h|run)\b", top.t.screen())
            assert m, top.t.screen()
            seen.append(m.group(1))
            top.keys("w")
            top.see(re.compile(r"window\W*(?!%s\b)\w+" % m.group(1)))
        assert sorted(seen) == sorted(["1s", "10s", "1m", "5m", "30m", "60m", "3h", "run"]), seen
        top.quit()


@kp.each(*BOTH)
def test_sort_by_any_column(size):
    with Top(size) as top:
        top.ready()
        seen = set()
        for _ in range(20):
            top.keys("s")
            kp.time.sleep(0.15)  # each press is one more column; nothing is asserted on the time
            seen.add(re.sub(r"\d", "", "\n".join(top.t.styled().split("\n")[:8])))
        assert len(seen) > 5, "sorting marks the columns in turn: %d pictures" % len(seen)
        top.quit()


@kp.each(*BOTH)
def test_filter(size):
    with Top(size) as top:
        top.ready()
        top.keys("/", "account", "Enter")
        top.see(re.compile(r"^\W*parse\b", re.M), gone=True)
        top.see(re.compile(r"^\W*account\b", re.M))
        top.keys("/", "C-u", "Enter")
        top.see(re.compile(r"^\W*parse\b", re.M))
        top.quit()


@kp.each(*BOTH)
def test_pause(size):
    with Top(size) as top:
        top.ready()
        top.keys("p")
        top.see(re.compile("paused", re.I))
        still = top.t.screen()
        kp.time.sleep(1.5)  # that nothing happens takes a moment to see
        assert top.t.screen() == still
        top.keys("p")
        top.see(re.compile("paused", re.I), gone=True)
        kp.until(5, lambda: top.t.screen() != still)
        top.quit()


@kp.each(*BOTH)
def test_zero(size):
    with Top(size) as top:
        top.ready()
        top.node.eval("workload:load_done()")
        while not re.search(r"window\W*run\b", top.t.screen()):
            top.keys("w")
            kp.time.sleep(0.1)

        def total():
            m = re.search(r"^\W*request\s+(\d+)", top.t.screen(), re.M)
            return int(m.group(1)) if m else 0
        kp.until(10, lambda: total() > 0)
        top.keys("z")
        kp.until(10, lambda: total() == 0, what=lambda: "zero: " + top.t.screen())
        top.quit()


@kp.each(*BOTH)
def test_export(size):
    path = os.path.join(kp.scratch(), "export-%d.txt" % size[0])
    with Top(size) as top:
        top.ready()
        top.keys("e", "C-u", path, "Enter")
        kp.until(10, lambda: os.path.exists(path) and os.path.getsize(path) > 0, what=lambda: top.t.screen())
        with open(path) as f:
            first = f.read()
        assert "request" in first and "p99" in first and "\x1b" not in first, first
        assert os.stat(path).st_mode & 0o077 == 0
        # It is there: asked, and on no it stays.
        with open(path, "w") as f:
            f.write("mine")
        top.keys("e", "C-u", path, "Enter")
        top.see(re.compile("overwrite", re.I))
        top.keys("n")
        top.see(re.compile("overwrite", re.I), gone=True)
        assert open(path).read() == "mine"
        top.keys("e", "C-u", path, "Enter")
        top.see(re.compile("overwrite", re.I))
        top.keys("y")
        kp.until(10, lambda: "request" in open(path).read())
        # Where nothing can be written it says so and lives.
        top.keys("e", "C-u", "/nonexistent/dir/x", "Enter")
        top.see("/nonexistent")
        top.quit()


@kp.each(*BOTH)
def test_pivot(size):
    with Top(size) as top:
        top.ready()
        top.keys("v")
        top.see(re.compile(r"^\W*create\b", re.M))
        top.keys("v")
        top.see(re.compile(r"^\W*request\b", re.M))
        top.quit()


@kp.each(*BOTH)
def test_fold(size):
    with Top(size) as top:
        top.ready()
        top.keys("Home")
        has = len(re.findall(r"^\W*(create|read|update|delete)\b", top.t.screen(), re.M))
        top.keys("Enter")
        kp.until(5, lambda: len(re.findall(r"^\W*(create|read|update|delete)\b", top.t.screen(), re.M)) != has,
                 what=lambda: "Enter folds or unfolds:\n" + top.t.screen())
        top.keys("Enter")
        kp.until(5, lambda: len(re.findall(r"^\W*(create|read|update|delete)\b", top.t.screen(), re.M)) == has)
        top.quit()


def selected(top):
    """The line drawn in reverse or in the colours of the selection."""
    lines = top.t.styled().split("\n")
    picked = [re.sub(r"\x1b\[[0-9;]*m", "", x) for x in lines[3:-2] if re.search(r"\x1b\[[0-9;]*\b(7|4[0-7]|48)\b", x)]
    return "\n".join(p.split()[0] for p in picked if p.split())


@kp.each(*BOTH)
def test_moving(size):
    with Top(size) as top:
        top.ready()
        top.keys("p", "Home")
        first = kp.until(5, lambda: selected(top), what=lambda: top.t.styled())
        for down, up in (("Down", "Up"), ("j", "k"), ("PageDown", "PageUp"), ("End", "Home")):
            top.keys(down)
            moved = kp.until(5, lambda: selected(top) != first and selected(top),
                             what=lambda: "%s moves:\n%s" % (down, top.t.screen()))
            assert moved != first
            top.keys(up)
            kp.until(5, lambda: selected(top) == first, what=lambda: "%s moves back:\n%s" % (up, top.t.screen()))
        for key in ("Left", "Right", "h", "l"):
            top.keys(key)
        top.keys("Home")
        top.keys("p")
        top.ready()
        top.quit()


@kp.each(*BOTH)
def test_help(size):
    with Top(size) as top:
        top.ready()
        top.keys("?")
        screen = top.see(re.compile("toggle|tracing on", re.I))
        assert re.search("window", screen, re.I), screen
        top.keys("Escape")
        top.ready()
        top.quit()


@kp.each(*BOTH)
def test_starts_with_no_tier_and_adds_them(size):
    with Top(size, args=[]) as top:
        top.see(re.compile(r"\ba\b.*(add|tier)", re.I), 20)
        top.keys("a", "request=workload:request/1", "Enter")
        top.see(re.compile(r"^\W*request\b", re.M), 20)
        top.keys("a", "workload:pars", "Tab")
        top.see("workload:parse/1", 10)
        top.keys("Enter")
        top.see(re.compile(r"^\W*parse\b", re.M))
        top.keys("i", "C-u", "workload:request/1 arg(1)", "Enter")
        top.keys("Home", "Enter")
        kp.until(15, lambda: kp.re.search(r"\bcreate\b", top.t.screen()) or top.keys("Enter") or kp.time.sleep(0.5),
                 what=lambda: top.t.screen())
        top.quit()
        kp.until(3, lambda: top.node.left_behind() == "", what=lambda: top.node.left_behind())


@kp.each(*BOTH)
def test_remove_a_tier(size):
    with Top(size) as top:
        top.ready()
        top.keys("Home", "d")
        if "y/n" in top.t.screen():
            top.keys("y")
        kp.until(10, lambda: not re.search(r"^\W*request\b", top.t.screen(), re.M),
                 what=lambda: top.t.screen())
        top.see(re.compile(r"^\W*parse\b", re.M))
        kp.until(5, lambda: ["workload", "request", 1] not in top.node.ours()["patterns"],
                 what="the pattern goes with the tier")
        top.quit()


@kp.each(*BOTH)
def test_choose_the_entry(size):
    with Top(size) as top:
        top.ready()
        top.keys("E", "C-u", "parse", "Enter")
        kp.time.sleep(0.3)
        top.see(re.compile(r"^\W*parse\b.*[1-9]", re.M))
        top.keys("E", "C-u", "nonsense", "Enter")
        top.see("nonsense")
        top.keys("Escape")
        top.quit()


@kp.each(*BOTH)
def test_wrong_rule_is_shown_and_can_be_mended(size):
    with Top(size) as top:
        top.ready()
        top.keys("i", "C-u", "fun ({workload,request,[X]}) -> Y end", "Enter")
        top.see(re.compile("unbound|syntax|rule", re.I))
        top.keys("C-u", "workload:request/1 arg(1)", "Enter")
        top.ready()
        top.quit()


def test_empty_tier_says_why():
    with Top(LARGE, args=["-t", "request=workload:request/1", "-t", "never=workload:never/1", "-t",
                          "typo=workload:reqest/1"]) as top:
        top.ready()
        top.see(re.compile(r"typo.*\n?.*(no such function|request/1)", re.I), 20)
        top.see(re.compile(r"never called|not called", re.I), 30)
        top.quit()


def test_lost_node_comes_back():
    """Said, tried again with growing delays, and the tables stay."""
    with Top(LARGE) as top:
        top.ready()
        name = top.node.name.split("@")[0]
        top.node.kill()
        top.see(re.compile("lost|reconnect", re.I), 20)
        top.see(re.compile(r"^\W*request\b", re.M))  # the table stays
        again = kp.Node(25, name=name)
        again.eval("workload:start()")
        again.eval("workload:load(4,5)")
        top.see(re.compile("lost|reconnect", re.I), 40, gone=True)
        kp.until(20, lambda: again.ours()["flags"], what="it traces again")
        top.quit()


def test_hostile_names_are_harmless():
    with Top(LARGE, args=["-t", "request=workload:request/2", "-t", "cache=workload:cache/1", "-i",
                          "workload:request/2 arg(1)"], load=False) as top:
        top.see("request", 20)
        top.node.eval("workload:hostile(3)", 60)
        top.keys("Home", "Enter")
        kp.until(15, lambda: kp.re.search(r"nnnnnn|mmmmmm", top.t.screen()) or top.keys("Enter") or kp.time.sleep(0.5),
                 what=lambda: top.t.screen())
        assert top.t.get("pane_title") != "owned"
        lines = top.t.screen().split("\n")
        assert max(map(len, lines)) <= LARGE[0]
        top.quit()


def test_demo():
    with Top(SMALL, node=False, args=["--demo"]) as top:
        top.see(re.compile(r"^\W*handle\b.*\d", re.M), 40)
        screen = top.t.screen()
        for tier in ("parsing", "db", "accounting", "formatter"):
            assert tier in screen, screen
        top.quit()
