"""A recording on the screen: how far it is, its pace, held."""
import os
import re

import kp
from common import Top, options


def test_replay_pace_and_progress():
    rec = os.path.join(kp.scratch(), "screen.rec")
    node = kp.Node(25)
    node.eval("workload:start()")
    node.eval("workload:load(4,5)")
    k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "--duration", "4s", "--record", rec, *options(), node.name)
    assert k.wait(60) == 0, k.saw()
    kp.clean_up()
    with Top(node=False, args=["--replay", rec, "--speed", "0.25"]) as top:
        top.see(re.compile(r"REPLAY \d+% 0\.25x"))
        top.ready()
        top.keys("+")
        top.see(re.compile(r"REPLAY \d+% 0\.5x"))
        top.keys("t")
        held = re.search(r"REPLAY (\d+)% held", top.see(re.compile(r"REPLAY \d+% held"))).group(1)
        top.keys("w")  # drawn anew, still there
        assert "REPLAY %s%% held" % held in top.see(re.compile("window 1m"))
        top.keys("t", "-")
        top.see(re.compile(r"REPLAY \d+% 0\.25x"))
        top.keys(*["+"] * 14)
        top.see(re.compile("REPLAY ended"))
        top.quit()
