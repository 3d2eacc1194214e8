"""Profiles: saved and loaded on the screen, and loaded with -f."""
import os
import re
import stat

import kp
from common import TIERS, Top, heads


def test_save_load_and_start_with_a_profile():
    config = os.path.join(kp.scratch(), "xdg")
    env = {"XDG_CONFIG_HOME": config}
    with Top(env=env) as top:
        top.ready()
        top.keys("L")
        top.see("no profiles yet")
        top.keys("W")
        top.see("Save as profile")
        top.keys("../x", "Enter")
        top.see("is not a valid profile name")
        top.keys("C-u")
        top.keys("night", "Enter")
        top.see("saved; load it with L")
        path = os.path.join(config, "kprof-top", "night.config")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        top.keys("W", "Enter")  # the same name again
        top.see("Profile night exists. Overwrite it")
        top.keys("y")
        top.see("saved; load it with L")
        top.keys("End", "d")
        top.see("Remove tier")
        top.keys("y")
        kp.until(10, lambda: len(heads(top.t.screen())) == 6, what=lambda: "a tier is gone:\n" + top.t.screen())
        top.keys("L")
        top.see("Load profile")
        top.keys("Enter")
        top.see("profile night is loaded")
        kp.until(10, lambda: len(heads(top.t.screen())) == 7, what=lambda: "the tier is back:\n" + top.t.screen())
        # A tier that would be removed needs a confirmation.
        top.keys("A", "never=workload:never/1", "Enter")
        kp.until(10, lambda: "never" in heads(top.t.screen()), what=lambda: "one more tier:\n" + top.t.screen())
        for answer in ("n", "y"):
            top.keys("L")
            top.see("Load profile")
            top.keys("Enter")
            top.see("Replace 1 tier and its statistics?")
            assert "never" in heads(top.t.screen()), top.t.screen()
            top.keys(answer)
            top.see("Replace 1 tier", gone=True)
        top.see("profile night is loaded")
        kp.until(10, lambda: "never" not in heads(top.t.screen()), what=lambda: "the tier is removed:\n" + top.t.screen())
        top.quit()
        k = kp.Kp("-f", "night", "--batch", "--format", "json", "-n", "2", "-d", "500ms", top.node.name, env=env)
        assert k.wait(60) == 0, k.saw()
        assert kp.count(k.final(), "db", "create") > 0, k.final()["rows"]


LIMITED = """{max_rate, "%s/s"}.
{max_age, "20s"}.
{entry, "request"}.
{tier_config, [%s]}.
{identity_f, "workload:request/1 arg(1)"}.
"""


def put_profile(config, name, rate):
    os.makedirs(os.path.join(config, "kprof-top"), exist_ok=True)
    tiers = ", ".join('{"%s", "workload:%s"}' % (t.split("/")[0], t) for t in TIERS)
    with open(os.path.join(config, "kprof-top", name + ".config"), "w") as f:
        f.write(LIMITED % (rate, tiers))


def test_limits_of_a_profile_reach_the_node():
    """A profile with the same tiers and rule: only the limits differ."""
    config = os.path.join(kp.scratch(), "xdg-limits")
    put_profile(config, "a-low", 300)
    put_profile(config, "b-high", 900000000)
    with Top(env={"XDG_CONFIG_HOME": config}) as top:
        screen = top.ready()
        assert "max-rate" not in screen, screen
        top.keys("L")
        top.see("b-high")
        top.keys("Enter")
        top.see(re.compile(r"tracing 1 of \d+ requests \(limit --max-rate\)"), 20)
        top.keys("L")
        top.see("b-high")
        top.keys("Down", "Enter")
        top.see(re.compile(r"sample 1/1 "), 30)
        top.quit()
