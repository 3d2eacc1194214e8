"""The tour of README: the keys reach every stop, and README shows its picture."""
import os

import kp
import tour
from common import Top


def test_the_tour_of_the_screens():
    with open(os.path.join(kp.ROOT, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    seen = []
    with Top(size=tour.SIZE, node=False, args=["--demo"]) as top:
        tour.walk(top.t, arrived=lambda stop: seen.append(stop.name))
        top.quit()
    assert seen == [s.name for s in tour.STOPS]
    for name in seen:
        path = "screenshots/%s.svg" % name
        assert "](%s)" % path in readme, "README does not show " + path
        assert os.path.exists(os.path.join(kp.ROOT, path)), "no " + path + ": make screenshots"
    kept = {f[:-len(".svg")] for f in os.listdir(os.path.join(kp.ROOT, "screenshots")) if f.endswith(".svg")}
    others = {"flame", "sandwich", "subsecond", "start", "suggested", "nodes", "findings", "parts", "full", "full_line", "full_form", "full_flame"}  # make screenshots
    assert kept == set(seen) | others, "pictures that no stop makes: %s" % sorted(kept ^ (set(seen) | others))
    for name in others:
        assert "](screenshots/%s.svg)" % name in readme, "README does not link " + name
