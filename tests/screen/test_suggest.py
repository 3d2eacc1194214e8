"""The suggested preset in a terminal: from attach to tracing with three keys, nothing traced before; lines can be
left out."""
import re

import kp
from common import Top, heads

TITLE = "Suggested: Enter traces these"


def test_from_attach_to_tracing_in_three_keys():
    with Top(args=[]) as top:
        top.see(re.compile(r"P +Suggested: request \(workload:request/1\), "), 40)
        top.keys("P")
        screen = top.see("Presets for this node", 20)
        menu = [x.strip() for x in screen.split("\n") if re.match(r"\s*(suggested|gen_server|gen_statem) ", x)]
        assert [x.split()[0] for x in menu] == ["suggested", "gen_server", "gen_statem"], screen
        top.keys("Enter")
        screen = top.see(TITLE)
        assert re.search(r"\[x\] entry request +workload:request/1 +\d+/s", screen), screen
        set_there = top.node.ours()
        assert set_there["flags"] == [] and set_there["patterns"] == [], set_there
        top.keys("Enter")
        screen = top.see(re.compile(r"^\W*request\b.*[1-9]", re.M), 40)
        assert len(heads(screen)) >= 3, screen
        assert top.node.ours()["flags"] != []
        top.quit()
        kp.until(60, lambda: top.node.left_behind() == "", what=top.node.left_behind)


def test_lines_are_left_out_and_the_rest_is_a_profile():
    with Top(args=[]) as top:
        top.see("Suggested: request", 40)
        top.keys("P")
        top.see("Presets for this node", 20)
        top.keys("Enter")
        before = re.findall(r"\[x\] (?:entry|tier) +(\S+)", top.see(TITLE))
        top.keys("Down", "Space")
        top.see(re.compile(r"\[ \] tier +" + re.escape(before[1])))
        top.keys("Enter")
        screen = top.see(re.compile(r"^\W*request\b.*[1-9]", re.M), 40)
        assert before[1] not in heads(screen) and before[2] in heads(screen), (before, screen)
        top.keys("W")
        top.see("Save as profile")
        top.keys("mine", "Enter")
        top.see("saved; load it with L")
        top.quit()


def test_keys_right_after_a_choice():
    """The preset needs a module, so the catalog is loaded again; the next keys are already there."""
    with Top(args=[]) as top:
        top.see(re.compile(r"P +Suggested: request"), 40)
        top.keys("P")
        top.see("Presets for this node", 20)
        top.keys("Down")
        top.t._tmux("send-keys", "-H", *"0d 77 6f 72 6b 6c".split())  # Enter w o r k l, at once
        top.see("gen_server:workl", 20)
        top.keys("a")
        top.see("gen_server:workla", 20)
        top.keys("Escape")
        top.quit()


def test_written_presets_come_first():
    n = kp.Node(25)
    n.eval("fakes:load()")
    with Top(args=[n.name], node=False) as top:
        top.see("attached to ", 40)
        top.keys("P")
        screen = top.see("Presets for this node", 20)
        names = re.findall(r"^\s*(cowboy|plug|phoenix16|phoenix|yaws|rabbitmq|ejabberd|suggested|gen_server|gen_statem) ", screen, re.M)
        assert "cowboy" in names and names[-3:] == ["suggested", "gen_server", "gen_statem"], screen
        # On request it counts again and shows a result.
        top.keys("End", "Up", "Up", "Enter")
        top.see(re.compile(r"counting calls for a second|no suggestion: (none|nothing)"), 20)
        top.see(re.compile("no suggestion: (none of|nothing that was called)"), 40)
        top.quit()


def test_p_waits_for_the_node_and_the_busiest_comes_first():
    """P is not lost while kprof-top connects. The list opens when calls are counted, with the cursor on the first."""
    n = kp.Node(25)
    n.eval("fakes:load()")
    n.eval("spawn(fun F() -> fakes:call(rabbitmq, 3), fakes:call(cowboy, 1), timer:sleep(10), F() end), ok")
    n.pause()
    with Top(args=[n.name], node=False) as top:
        top.keys("P")
        top.see("waiting for the node")
        n.resume()
        screen = top.see("Presets for this node", 40)
        names = re.findall(r"^\s*(\w+) +([1-9][\d.]*)/s ", screen, re.M)
        assert [x[0] for x in names] == ["rabbitmq", "cowboy"] and float(names[0][1]) > 3 * float(names[1][1]), screen
        top.keys("Enter")
        top.see(re.compile(r"^\W*channel\b.*[1-9]", re.M), 40)
        top.quit()
