"""Part "loop" of impact.py: a tier that is called in one tight loop. What the breaker does, and whether the counters
are right in the meantime."""
import statistics
import time

from impact_common import Attached, kp, node, number, ratio, say, table

CASES = {
    "alone, `--entry none`": ["-t", "hot=impact_hot:hot/1", "--entry", "none"],
    "outside of requests": ["-t", "entry=impact_load:entry/1", "-t", "hot=impact_hot:hot/1"],
}


def node_rate(n, seconds):
    """The calls/s of the loop, for each second."""
    rates = []
    a, t = n.eval("impact_hot:calls()"), time.monotonic()
    end = t + seconds
    while t < end:
        time.sleep(min(1, max(0.05, end - t)))
        b, u = n.eval("impact_hot:calls()"), time.monotonic()
        rates.append((b - a) / (u - t))
        a, t = b, u
    return rates


def openings(rows):
    """How often the state became open, according to one object per second."""
    states = [r["breaker"]["state"] for r in rows]
    return sum(1 for was, now in zip(["closed", *states], states) if now == "open" != was)


def one(n, args, o):
    n.eval(f"impact_load:start(requests, {o.clients}, 100, 0)")  # some requests, so that the entry is called
    n.eval("impact_hot:start(hot, 0, 1)")
    time.sleep(1)
    before = node_rate(n, 5)
    k = Attached(n, *args, *o.args)
    k.tracing()
    first = len(k.rows())
    during = node_rate(n, o.loop_seconds)
    last = len(k.rows())
    rows = k.end()
    after = node_rate(n, 5)
    n.eval("impact_hot:stop()")
    n.eval("impact_load:stop()")
    plain = statistics.median(before + after)
    # The seconds in which it was open from beginning to end.
    dark = [r for was, r in zip(rows[first:], rows[first + 1:last]) if was["breaker"]["state"] == r["breaker"]["state"] == "open"]
    counted, counted_s = sum((kp.row(r, "hot") or {"counted": 0})["counted"] for r in dark), sum(r["counted_s"] for r in dark)
    rate = statistics.median(during)
    return {"plain": plain, "trips": rows[-1]["breaker"]["trips"], "openings": openings(rows[:-1]),
            "half": sum(r["breaker"]["state"] == "half-open" for r in rows), "rate": rate,
            "slowest": min(during), "open_s": len(dark), "counted_s": counted_s, "counted": ratio(counted, counted_s),
            "reasons": list(dict.fromkeys(r["breaker"]["reason"] for r in rows if r["breaker"]["reason"]))}


def run(otp, o):
    found = {}
    with node(otp, o.erl) as n:
        for name, args in CASES.items():
            found[name] = r = one(n, args, o)
            say(f"  {name}: {r['trips']} trips, {r['open_s']} s open, {number(r['rate'])} calls/s, counted {number(r['counted'])}: {r['reasons']}")
    each = list(found.values())
    percent = lambda r, key, base: "-" if r[key] is None else f"{100 * r[key] / r[base]:.1f} %"  # noqa: E731
    out = [f"### Loop, OTP {otp}", "",
           f"A tier that one tight loop calls, for {o.loop_seconds:g} s, with kprof-top's defaults. Openings and half-open seconds are counted in one object per"
           " second; trips: all of them.", "",
           table(["", *found, "wanted"], [
               ["the loop's calls/s, untraced", *(number(r["plain"]) for r in each), "-"],
               ["trips", *(str(r["trips"]) for r in each), "1"],
               ["openings seen", *(str(r["openings"]) for r in each), "1"],
               ["half-open seconds seen", *(str(r["half"]) for r in each), "0"],
               ["seconds open throughout", *(str(r["open_s"]) for r in each), "-"],
               ["of which calls were counted", *(f"{r['counted_s']:.1f} s" for r in each), "-"],
               ["calls/s counted while open, of the loop's own", *(percent(r, "counted", "rate") for r in each), "90 to 110 %"],
               ["the loop's calls/s while attached, of untraced", *(percent(r, "rate", "plain") for r in each), "-"],
               ["in its slowest second", *(percent(r, "slowest", "plain") for r in each), "-"],
           ]), ""]
    for name, r in found.items():
        out += [f"Reasons, {name}: {'; '.join(r['reasons']) or 'none'}.", ""]
    return "\n".join(out)
