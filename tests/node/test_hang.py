"""Requests that hang: the node is asked what their processes do, without any trace flag but `call`."""
import os

import kp
from common import attach, clean, tiers, workload_node


def test_the_culprit_is_named():
    rec = os.path.join(kp.scratch(), "hang.rec")
    with workload_node(25) as n:
        k = attach(n, *tiers("request/2", "hold/1"), "-i", "workload:request/2 arg(1)", "--slow", "100ms", "--record", rec)
        k.tracing()
        n.eval("workload:queue(4,60,1,0)", 60)
        k.wait_json(20, lambda r: r["requests"]["finished"] >= 240)
        n.eval("workload:queue(1,10,400,0)", 60)
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        slow = [s for s in final["slow"] if s["duration_us"] > 300000]
        assert len(slow) == 10, len(slow)
        polled = [s for s in slow if s.get("polls")]
        right = [s for s in polled if "workload:hold/1" in s["hung_in"][0]["place"] and s["hung_in"][0]["status"] == "waiting"]
        print("%d of %d: the right culprit" % (len(right), len(slow)))
        assert len(right) >= 9, [(s.get("polls"), s.get("hung_in")) for s in slow]
        flags = n.eval("lists:usort([F || P <- processes(), {flags, Fs} <- [erlang:trace_info(P, flags)], F <- Fs])")
        assert "running" not in str(flags), flags
        clean(n)
    again = kp.run("--replay", rec, "--batch", "--format", "json", "--slow", "100ms")
    assert again.proc.returncode == 0, again.saw()

    def polls(obj):
        return sorted((s["duration_us"], s.get("polls"), str(s.get("hung_in"))) for s in obj["slow"])
    assert polls(again.final()) == polls(final)
