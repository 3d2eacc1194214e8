#!/usr/bin/env python3
"""overload.py [--otp V]: three minutes of overload on a real node. Prints the results; the exit status is 1 if one is
outside its limit.

A tier in a tight loop on all schedulers; kprof-top with its defaults. Every 20 ms the node records its calls, its
memory and whether it is traced. The throughput with an open breaker is compared with that of the same node without
kprof-top shortly before and after, in pairs. Needs an idle machine."""
import argparse
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "node")]
import kp  # noqa: E402
from common import attach, clean  # noqa: E402

TIERS = ["-t", "request=tight:request/1", "-t", "tier=tight:tier/1"]
OPENS_MS, GROWS_BYTES, BACK_MS, BACK_SHARE = 1200, 50_000_000, 1000, 0.95
LOADED_S, RATE_S = 150, 30
PAIRS, PAIR_MS = 25, 1000
_failed = []


def claim(text, ok):
    print("%-4s %s" % ("ok" if ok else "FAIL", text), flush=True)
    if not ok:
        _failed.append(text)


def spans(samples, traced):
    """[(from_ms, to_ms)] of the times in which it was traced, or was not."""
    found, since = [], None
    for ms, _, _, on in samples:
        if on is traced and since is None:
            since = ms
        elif on is not traced and since is not None:
            found.append((since, ms))
            since = None
    return found


def breaker(n, idle_bytes):
    k = attach(n, *TIERS, "--max-overhead", "5")  # the default, which attach() would remove
    k.tracing(60)
    n.eval("tight_watch:start(20)")
    n.eval("tight:start()")
    began = time.monotonic()
    samples = []
    while time.monotonic() - began < LOADED_S:
        time.sleep(5)
        samples += n.eval("tight_watch:take()", 60)
    n.eval("tight:stop()")
    n.eval("tight_watch:stop()")
    opened = [a for a, _ in spans(samples, False) if a > 0]
    start = next((s[0] for s in samples if s[1] > 0), 0)
    first = next((a for a in opened if a > start), None)
    claim("the breaker opened %s ms after the load began (at most %d)" % (first and first - start, OPENS_MS), first and first - start <= OPENS_MS)
    if first is None:
        return
    grown = max(s[2] for s in samples) - idle_bytes
    claim("the node's memory grew by %.1f MB (less than %d)" % (grown / 1e6, GROWS_BYTES // 1e6), grown < GROWS_BYTES)
    ended = [(b - a) / 1000 for a, b in spans(samples, False) if a >= first]
    claim("it stayed open during the load, without a try: closed %d times" % len(ended), not ended)
    trips = max(r["breaker"]["trips"] for r in k.rows)
    claim("it opened once: %d trips" % trips, trips == 1)
    why = sorted({r["breaker"]["reason"] for r in k.rows if r["breaker"]["reason"]})
    print("     why: " + "; ".join(why), flush=True)
    seen = len(k.rows)
    try:
        kp.until(120, lambda: any(r["breaker"]["state"] == "closed" and r["sample"] == 1 for r in k.rows[seen:]), 0.2)
        closed = time.monotonic()
        claim("the load ended: closed, sampling as requested", True)
        rows = len(k.rows)
        n.eval("[tight:request(X) || X <- lists:seq(1, 100)]")
        kp.until(20, lambda: any((kp.row(r, "request") or {"p99_us": 0})["p99_us"] > 0 for r in k.rows[rows:]), 0.2)
        claim("percentiles again %.1f s later" % (time.monotonic() - closed), True)
    except kp.Timeout:
        claim("the load ended: closed, and percentiles again: %s" % k.rows[-1]["breaker"], False)
    claim("ended with 0", k.interrupt(60) == 0)
    final = k.final()
    kp.conserves(final)
    # If it opened because of the cost, nothing was dropped; if it opened because of waiting events, these were dropped.
    late = any("waiting" in w or "old" in w for w in why)
    claim("dropped events are reported: %d" % final["lost"]["target"], final["lost"]["target"] > 0 or not late)
    clean(n)


def open_costs(n):
    """The cost while the breaker is open, compared with the same node without kprof-top shortly before and after: the
    speed of a shared machine varies, so values are compared in pairs."""
    shares, ended = [], []
    n.eval("tight:start()")
    before = per_second(n)
    for _ in range(PAIRS):
        k = attach(n, *TIERS, "--max-overhead", "5", "--cooldown", "60s")
        k.tracing(60)
        k.wait_json(60, lambda r: r["breaker"]["state"] == "open")
        time.sleep(BACK_MS / 1000)
        during = per_second(n)
        assert k.rows[-1]["breaker"]["state"] == "open", k.saw()
        ended.append(k.interrupt(60))
        after = per_second(n)
        shares.append(2 * during / (before + after))
        before = after
    n.eval("tight:stop()")
    clean(n)
    claim("all %d ended with 0" % PAIRS, not any(ended))
    share = statistics.median(shares)
    claim("from %d ms after it opens on: %.1f %% of the requests/s untraced (at least %.0f %%; median of %d pairs: %s)"
          % (BACK_MS, 100 * share, 100 * BACK_SHARE, PAIRS, ", ".join("%.1f" % (100 * s) for s in shares)), share >= BACK_SHARE)


def per_second(n):
    """Uses the clock and the counts of the node."""
    calls, ms = n.eval("(fun() -> A = tight:calls(), T = erlang:monotonic_time(millisecond), timer:sleep(%d),"
                       " {tight:calls() - A, erlang:monotonic_time(millisecond) - T} end)()" % PAIR_MS, 60)
    return calls * 1000 / ms


def limited(n):
    k = attach(n, *TIERS, "--max-rate", "20000", "--max-age", "20s")
    k.tracing(60)
    n.eval("tight:start()")
    time.sleep(RATE_S)
    n.eval("tight:stop()")
    truth = n.eval("tight:calls()")
    claim("--max-rate 20000: ended with 0", k.interrupt(60) == 0)
    final = k.final()
    kp.conserves(final)
    request = kp.row(final, "request")
    claim("--max-rate 20000: %d trips (0)" % final["breaker"]["trips"], final["breaker"]["trips"] == 0)
    off = request["est_count"] / truth - 1
    claim("--max-rate 20000: %d requests seen, scaled to %d of the node's %d: %+.1f %% (within 5 %%)"
          % (request["count"], request["est_count"], truth, 100 * off), abs(off) < 0.05)
    clean(n)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--otp", type=int, default=25)
    p.add_argument("--only", default="", help="breaker, pairs or limited")
    a = p.parse_args()
    with kp.Node(a.otp, spin=True) as n:
        print("OTP %d, %d schedulers" % (a.otp, n.eval("erlang:system_info(schedulers_online)")), flush=True)
        if a.only in "breaker":
            breaker(n, n.eval("erlang:memory(total)"))
        if a.only in "pairs":
            open_costs(n)
        if a.only in "limited":
            limited(n)
    print("%d failed" % len(_failed))
    return 1 if _failed else 0


if __name__ == "__main__":
    sys.exit(main())
