"""Calls that are not sampled are expensive: tracing for only part of the time."""
import kp
from common import OTPS, attach, clean

TIERS = ["-t", "request=costly:request/1", "-t", "tier=costly:tier/1"]
#: With this load, unsampled calls cost more than 2 % of any machine, but far less than all of it.
LIMITS = ["--sample", "1/8", "--max-overhead", "100", "--max-age", "10s"]


def part_time(r):
    return r["sample_why"] == "part-time"


@kp.each(*OTPS)
def test_part_of_the_time(otp):
    with kp.Node(otp) as n:
        n.eval("code:ensure_loaded(costly)")
        k = attach(n, *TIERS, *LIMITS)
        k.tracing()
        n.eval("costly:start()")
        row = k.wait_json(60, part_time)
        assert row["sample"] > 8, k.saw()
        # percentiles go on, and each request has its tier
        seen = len(k.rows)
        kp.until(60, lambda: any(part_time(r) and (kp.row(r, "tier") or {"p99_us": 0})["p99_us"] > 0 for r in k.rows[seen:]), what=k.saw)
        assert {r["breaker"]["state"] for r in k.rows} == {"closed"}, k.saw()
        n.eval("costly:stop()")
        # all the time again when the load has ended
        kp.until(60, lambda: not part_time(k.rows[-1]), what=k.saw)
        assert k.interrupt() == 0, k.saw()
        clean(n)


@kp.each(*OTPS)
def test_instead_of_the_breaker(otp):
    """Unsampled calls cost more than --max-overhead from the start, and kprof-top does not know yet how long requests
    are."""
    with kp.Node(otp) as n:
        n.eval("code:ensure_loaded(costly)")
        n.eval("costly:start()")
        k = attach(n, *TIERS, "--max-overhead", "0.5", "--max-age", "10s")
        k.wait_json(60, part_time)
        kp.until(60, lambda: any(part_time(r) and (kp.row(r, "tier") or {"p99_us": 0})["p99_us"] > 0 for r in k.rows), what=k.saw)
        assert {r["breaker"]["state"] for r in k.rows} == {"closed"}, k.saw()
        n.eval("costly:stop()")
        assert k.interrupt() == 0, k.saw()
        clean(n)


@kp.each(*OTPS)
def test_all_the_time(otp):
    with kp.Node(otp) as n:
        n.eval("code:ensure_loaded(costly)")
        k = attach(n, *TIERS, *LIMITS, "--all-the-time")
        k.tracing()
        n.eval("costly:start()")
        k.wait_json(60, lambda r: r["overhead"]["percent"] > 5)
        seen = k.rows[-1]["elapsed_s"]
        k.wait_json(60, lambda r: r["elapsed_s"] > seen + 3)
        assert not any(map(part_time, k.rows)), k.saw()
        n.eval("costly:stop()")
        assert k.interrupt() == 0, k.saw()
        clean(n)
