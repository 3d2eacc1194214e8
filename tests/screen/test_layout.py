"""Choice of columns, colors; the layout of the screen is restored in the next run."""
import os
import re

import kp
from common import Top


def test_layout_is_remembered():
    env = {"XDG_STATE_HOME": os.path.join(kp.scratch(), "kept")}
    with Top(env=env) as top:
        top.ready()
        top.keys("C")
        top.see("Space selects show, hide or auto")
        top.keys("Space", "Space", "Enter")  # COUNT: show, hide
        top.see(re.compile(r"^TIER.*COUNT", re.M), gone=True)
        top.keys("T")
        top.see("colors: light")
        top.keys("w")
        top.see("window 1m")
        top.quit()
        assert "hide COUNT" in open(os.path.join(env["XDG_STATE_HOME"], "kprof-top", "layout")).read()
        top.keys("clear; %s -t workload:request/1 -t workload:db/1 %s; echo status=$?" % (kp.PROGRAM, top.node.name), "Enter")
        screen = top.ready()
        assert not re.search(r"^TIER.*COUNT", screen, re.M) and "window 1m" in screen, screen
        top.quit()
