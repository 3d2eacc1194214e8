"""A tier that sleeps: its percentiles, compared with those recorded inside the workload."""
import kp
from common import OTPS, RULE2, profile, workload_node


@kp.each(*[(o, r) for o in OTPS for r in ("lean", "full")])
def test_sleeping_tier_agrees_with_recorder(otp, returns):
    with workload_node(otp) as n:
        recorded, final, _ = profile(n, "sleeping(25,x)", ["request/2", "sleeper/1"], "--returns", returns, rule=RULE2)
        for kind, least in (("short", 5000), ("middle", 20000), ("long", 100000)):
            r, inside, around = kp.row(final, "sleeper", kind), recorded[kind]["inside"], recorded[kind]["around"]
            assert r["count"] == inside["count"], (r, inside)
            for q in ("p50", "p90", "p99"):
                # on any machine, the measured time is between the time inside the call and the time that its caller measures
                assert 0.98 * inside[q] <= r[q + "_us"] <= 1.02 * around[q], "%s %s: %s us, inside %s us, around %s us" % (
                    kind, q, r[q + "_us"], inside[q], around[q])
            assert r["min_us"] >= least * 0.99, r
            request = kp.row(final, "request", kind)
            assert request["p50_us"] >= r["p50_us"] * 0.98, (request, r)
            assert request["self_us"] < 0.5 * least, "the request's own time is what is left: %s" % request
