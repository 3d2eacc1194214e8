"""The function picker on a real node: search by typing, call rates, several functions ticked and added."""
import re

from common import Top


def test_pick_tiers_on_a_node_without_any():
    with Top(args=[]) as top:
        top.see("Busiest functions", 30)
        top.keys("a")
        top.see(re.compile(r"^\d+ functions of \d+ modules", re.M), 30)
        top.keys("wkldreq")
        top.see(re.compile(r"^\[ \] workload:request/1 .*[1-9]", re.M), 30)  # the node counts its calls
        top.keys("Tab")
        top.see(re.compile(r"^\[x\] workload:request/1", re.M))
        top.keys("C-u", "workload db/1", "Down", "Up", "Space")
        top.see(re.compile(r"^\[x\] workload:db/1", re.M))
        top.keys("C-u", "leaf=workload:no_such/7")
        top.see("as typed: leaf=workload:no_such/7")
        top.keys("Tab", "Enter")
        top.see(re.compile(r"^\W*request\b.*[1-9]", re.M), 40)
        top.see(re.compile(r"^\W*db\b.*[1-9]", re.M), 40)
        top.see(re.compile(r"^\W*leaf\b", re.M), 40)
        # Presets that fit this node are offered, here the suggested one and the one for a module; it replaces the
        # tiers.
        top.keys("P")
        screen = top.see("Presets for this node", 20)
        assert "cowboy" not in screen and "gen_server" in screen, screen
        top.keys("Home", "Down", "Enter")
        top.see("Preset of a module")
        top.keys("application_controller", "Enter")
        top.see("Replace 3 tiers and their statistics?")
        top.keys("n")
        top.see("Replace 3 tiers", gone=True)
        top.see(re.compile(r"^\W*request\b.*[1-9]", re.M))  # nothing was removed
        top.keys("P")
        top.see("Presets for this node", 20)
        top.keys("Home", "Down", "Enter")
        top.see("Preset of a module")
        top.keys("application_controller", "Enter")
        top.see("Replace 3 tiers and their statistics?")
        top.keys("y")
        screen = top.see(re.compile(r"^\W*call\b", re.M), 20)
        assert not re.search(r"^\W*request\b", screen, re.M), screen
        top.quit()
