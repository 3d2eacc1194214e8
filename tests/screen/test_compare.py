"""Comparison with an earlier time range, and with a recording."""
import os
import re

import kp
from common import Top, options


def test_mark_and_baseline():
    rec = os.path.join(kp.scratch(), "base.rec")
    with Top(size=(160, 43)) as top:
        top.ready()
        assert "+-P99" not in top.t.screen()
        top.keys("m")
        top.see("m stops comparing")
        top.see(re.compile(r"compared with \d\d:\d\d:\d\d-\d\d:\d\d:\d\d"))
        top.see(re.compile(r"\+-RATE\s+\+-P50\s+\+-P99"))
        top.see(re.compile(r"^\W*request\b.*[+-]\d+%", re.M))
        top.keys("m")
        top.see("comparison off")
        top.see("+-P99", gone=True)
        top.quit()
        k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "--duration", "2s", "--record", rec, *options(), top.node.name)
        assert k.wait(60) == 0, k.saw()
    k = kp.run("--replay", rec, "--baseline", rec, "--batch", "--format", "json")
    final = k.final()
    assert final["compared"] == "base.rec", k.saw()
    assert all(r["d_p99"] == 0 and r["then_count"] == r["count"] for r in final["rows"] if r["count"]), final["rows"]
    k = kp.run("--replay", rec, "--baseline", rec, "--batch")
    assert "compared with base.rec" in k.stdout and "+0.0%" in k.stdout, k.saw()
    with Top(size=(160, 43), node=False, args=["--replay", rec, "--baseline", rec, "--speed", "max"]) as top:
        top.see("compared with base.rec")
        top.see(re.compile(r"^\W*request\b.*[+-]\d+%", re.M))
        top.keys("m")
        top.see("comparison off")
        top.see("REPLAY ended", 30)
        # The reference is the time range that is shown, not the last seconds.
        top.keys("c", "1s", "Enter", "[")
        top.see(re.compile(r"\d\d:\d\d:\d\d-(\d\d:\d\d:\d\d), .* ago"))
        top.keys("m")
        top.see(re.compile(r"comparing with \d\d:\d\d:\d\d-\d\d:\d\d:\d\d; } returns to now"))
        top.see(re.compile(r" (\d\d:\d\d:\d\d-\d\d:\d\d:\d\d), .* ago .*compared with \1"))
        top.see(re.compile(r"^\W*request\b.* \+0%\s+\+0%\s+\+0%", re.M))
        top.quit()
