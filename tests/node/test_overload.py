"""Overload: a tier in a tight loop on all schedulers. The breaker opens on the target by itself, backs off, comes back."""
import time

import kp
from common import OTPS, attach, clean

TIERS = ["-t", "request=tight:request/1", "-t", "tier=tight:tier/1"]
MORE_MEMORY_BYTES = 50_000_000


def rate(node, seconds=0.5):
    """Requests a second, by the node's own count."""
    a, t0 = node.eval("tight:calls()"), time.monotonic()
    time.sleep(seconds)  # the length of the measurement, not a wait for something
    return (node.eval("tight:calls()") - a) / (time.monotonic() - t0)


def state(r):
    return r["breaker"]["state"]


@kp.each(*OTPS)
def test_breaker_opens_backs_off_and_closes(otp):
    with kp.Node(otp) as n:
        k = attach(n, *TIERS, "--cooldown", "1s")
        k.tracing()
        before = n.eval("erlang:memory(total)")
        n.eval("tight:start()")
        k.wait_json(10, lambda r: state(r) == "open")
        assert n.eval("erlang:memory(total)") < before + MORE_MEMORY_BYTES
        # open: nothing is set, the node runs as ever
        kp.until(2, lambda: n.eval("element(2, erlang:trace_info({tight,tier,1}, traced))") is False
                 or n.eval("element(2, erlang:trace_info({tight,tier,1}, traced))") == "false")
        reason = k.rows[-1]["breaker"]["reason"]
        assert "waiting" in reason or "old" in reason, reason
        # it tries again and trips again, and the pause is longer then
        k.wait_json(20, lambda r: state(r) == "half-open")
        again = k.wait_json(60, lambda r: r["breaker"]["trips"] >= 2 and state(r) == "open")
        assert "next try in 2 s" in again["breaker"]["reason"], again["breaker"]
        assert n.eval("erlang:memory(total)") < before + MORE_MEMORY_BYTES
        n.eval("tight:stop()")
        seen = len(k.rows)
        kp.until(60, lambda: any(state(r) == "closed" and r["sample"] == 1 for r in k.rows[seen:]), what=k.saw)
        n.eval("[tight:request(X) || X <- lists:seq(1, 100)]")
        rows = len(k.rows)
        kp.until(10, lambda: any((kp.row(r, "request") or {"count": 0})["count"] == 100 for r in k.rows[rows:]), what=k.saw)
        assert k.interrupt() == 0, k.saw()
        kp.conserves(k.final())
        assert k.final()["lost"]["target"] > 0, "what was dropped is told"
        clean(n)


def test_a_limited_rate_samples_instead():
    """--max-rate: no trip; scaled counts near the node's own."""
    with kp.Node(25) as n:
        k = attach(n, *TIERS, "--max-rate", "20000", "--max-age", "20s")  # a starved machine is not what is tested
        k.tracing()
        n.eval("tight:start()")
        k.wait_json(20, lambda r: r["sample"] > 10 and kp.count(r, "request") > 1000)
        a = (n.eval("tight:calls()"), k.rows[-1])
        kp.until(20, lambda: k.rows[-1]["elapsed_s"] > a[1]["elapsed_s"] + 5)
        n.eval("tight:stop()")
        truth = n.eval("tight:calls()")
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        assert final["breaker"]["trips"] == 0, final["breaker"]
        request = kp.row(final, "request")
        assert request["count"] < truth / 5, "sampled: " + str(request)
        assert 0.8 * truth < request["est_count"] < 1.2 * truth, (request["est_count"], truth)
        events = max(r["calls"]["received"] for r in k.rows) / k.rows[-1]["elapsed_s"]
        assert events < 20000, events
        clean(n)
