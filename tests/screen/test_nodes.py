"""Without a node: a list to pick from, by typing; without a terminal it is printed."""
import os
import re
import stat

import kp
from common import Top


def test_a_node_is_picked_and_remembered():
    node = kp.Node(25)
    state = os.path.join(kp.scratch(), "nodes-state")
    with Top(node=False, args=["--no-mouse"], env={"XDG_STATE_HOME": state}) as top:
        top.see("kprof-top: choose a node")
        top.see(re.compile(r"^%s +runs here" % re.escape(node.name), re.M))
        top.keys("no such node")
        top.see("no node of the list has this in its name")
        top.keys("C-u", node.name.split("@")[0], "Enter")
        top.see("Presets found here: none", 30)
        top.keys("C-z")  # the second screen of this process: the terminal is restored here, too
        top.see("status=148")
        top.sane()
        top.keys("fg; echo again=$?", "Enter")
        top.see("Presets found here: none")
        top.keys("q")
        top.see("again=0")
        top.sane()
    path = os.path.join(state, "kprof-top", "nodes")
    with open(path) as f:
        lines = f.read().splitlines()
    assert len(lines) == 1 and re.fullmatch(r"\d+ " + re.escape(node.name), lines[0]), lines
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode)


def test_the_last_used_and_a_release():
    """The node of a release comes first; Escape leaves; if the chosen node is gone, a clear error is printed and the
    terminal is restored."""
    state = os.path.join(kp.scratch(), "used-state")
    os.makedirs(os.path.join(state, "kprof-top"))
    with open(os.path.join(state, "kprof-top", "nodes"), "w") as f:
        f.write("1700000000 gone@127.0.0.1\n1600000000 bad@host;reboot\n")
    env = {"XDG_STATE_HOME": state, "RELEASE_NODE": "kprel@127.0.0.1"}
    with Top(node=False, args=["--no-mouse"], env=env) as top:
        screen = top.see(re.compile(r"^gone@127.0.0.1 +used \d+ days ago", re.M))
        assert re.search(r"\nkprel@127.0.0.1 +of this release", screen) and "reboot" not in screen, screen
        top.keys("Escape")
        assert top.ended() == 0, top.t.screen()
        top.keys("clear; %s; echo again=$?" % kp.PROGRAM, "Enter")
        top.see("kprof-top: choose a node")
        top.keys("gone", "Enter")
        screen = top.see(re.compile(r"^again=1", re.M), 30)
        assert re.search(r"^kprof-top: .*gone", screen, re.M), screen
        top.sane()


def test_printed_without_a_terminal():
    node = kp.Node(25)
    k = kp.run("-b", "-t", "m:f/1", env={"XDG_STATE_HOME": "/nonexistent"})
    assert re.search(r"^%s +runs here$" % re.escape(node.name), k.stdout, re.M), k.saw()
    assert k.proc.returncode == 2 and k.stderr.count("\n") == 1 and "no node given" in k.stderr, k.saw()
