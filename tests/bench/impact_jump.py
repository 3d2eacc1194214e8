"""Part "jump" of impact.py: from 0 to 100,000 requests/s of four traced functions in a millisecond, for a minute."""
import re
import time

from impact_common import TIERS, Attached, Cpu, kp, node, median, number, quantile_us, ratio, say, slices_us, table

LIMIT = "20"
TIER_NAMES = ("entry", "t1", "t2", "t3")
PATIENCE_MS = 10000
AGE = re.compile(r"^(oldest_)?(event_)?age_(us|ms|s)$")


def ages_ms(objects):
    """The age of the oldest event in each object that has it."""
    scale = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    return [v * scale[k.rsplit("_", 1)[1]] for o in objects for part in (o, o["calls"]) for k, v in part.items()
            if AGE.match(k) and v is not None]


def has_percentiles(o):
    return all((kp.row(o, t) or {"count": 0})["count"] > 0 and kp.row(o, t)["p99_us"] > 0 for t in TIER_NAMES)


def load(n, o, k, seconds):
    """Runs the load for this time. Returns the values of the node, the CPU, and the objects of kprof-top in this
    time."""
    first = len(k.rows()) if k else 0
    cpu = Cpu(n, k)
    n.eval(f"impact_load:start(requests, {o.clients}, {o.jump_rate}, 0)")
    n.eval(f"impact_load:window({int(seconds * 1000)})")
    time.sleep(seconds)
    taken = cpu.taken()
    last = len(k.rows()) if k else 0
    return n.eval(f"impact_load:result({PATIENCE_MS})", PATIENCE_MS / 1000 + 60), taken, (first, last)


def percentiles(*results):
    merged = {}
    for least, width, count in (b for r in results for b in r["hist"]):
        merged[least] = (width, merged.get(least, (0, 0))[1] + count)
    buckets = [[least, *merged[least]] for least in sorted(merged)]
    return [quantile_us(buckets, q) for q in (0.5, 0.99, 0.999)]


def run(otp, o):
    with node(otp, o.erl) as n:
        # Half of the untraced time is before, half after, because the speed of a shared machine varies.
        before = load(n, o, None, o.jump_seconds / 2)
        k = Attached(n, *TIERS["requests"], "--max-overhead", LIMIT, *o.args)
        k.wait_row(lambda r: r["tracing"])
        trips_before = k.rows()[-1]["breaker"]["trips"]
        traced, traced_cpu, (first, last) = load(n, o, k, o.jump_seconds)
        time.sleep(2)  # until events in transit have arrived
        rows = k.end()
        after = load(n, o, None, o.jump_seconds / 2)
    seconds = rows[first:last]
    final = rows[-1]
    lit = sum(map(has_percentiles, seconds))
    dark = [f"{r['elapsed_s'] - seconds[0]['elapsed_s'] + 1:.0f}" for r in seconds if not has_percentiles(r)]
    off = {t: 100 * (ratio((kp.row(final, t) or {"est_count": 0})["est_count"], traced["made"]) - 1) for t in TIER_NAMES}
    worst = max(off.values(), key=abs)
    age = ages_ms(seconds)
    trips = final["breaker"]["trips"] - trips_before
    reasons = sorted({r["breaker"]["reason"] for r in rows if r["breaker"]["reason"]})
    p, q = percentiles(before[0], after[0]), percentiles(traced)
    plain_cpu = [(a + b) / 2 for a, b in zip(before[1], after[1])]
    costs = [r["overhead"]["percent"] for r in seconds if r.get("overhead")]
    out = [f"### Jump, OTP {otp}", "",
           f"From 0 to {o.jump_rate:,} requests/s of four traced functions in a millisecond, for {o.jump_seconds:g} s, `--max-overhead {LIMIT}`;"
           " the same load untraced, half as long before and after.", "",
           table(["", "measured", "goal"], [
               ["seconds with percentiles of all four tiers", f"{lit} of {len(seconds)}", "57 of 60"],
               ["oldest event", f"{max(age):,.0f} ms" if age else "not exported", "1,000 ms"],
               ["scaled counts against the node's own, worst tier", f"{worst:+.1f} %", "5 %"],
               ["clients' p99, traced", f"{number(q[1])} us", "-"],
               ["clients' p99, untraced", f"{number(p[1])} us", "-"],
               ["clients' p99, traced / untraced", f"{number(ratio(q[1], p[1]), 2)} x", "1.5 x"],
               ["the same, median of the p99 of each slice of the time", f"{number(ratio(slices_us(traced, 0.99), median([slices_us(r, 0.99) for r in (before[0], after[0])])), 2)} x", "-"],
               ["clients' p50, traced / untraced", f"{number(ratio(q[0], p[0]), 2)} x", "-"],
               ["clients' p99.9, traced / untraced", f"{number(ratio(q[2], p[2]), 2)} x", "-"],
               ["requests unfinished after 10 s more", str(traced["unfinished"]), "0"],
               ["trips", str(trips), "0"],
               ["events lost on the node, in kprof-top's ring", f"{final['lost']['target']:,}, {final['lost']['ring']:,}", "-"],
               ["overhead that kprof-top reports: mean, maximum of one second", f"{sum(costs) / max(1, len(costs)):.1f} %, {max(costs, default=0):.1f} %",
                f"{LIMIT} %"],
               ["CPU of the node, untraced and traced", f"{plain_cpu[0]:.0f} %, {traced_cpu[0]:.0f} %", "-"],
               ["CPU of kprof-top, and of the other programs on this machine", f"{traced_cpu[1]:.0f} %, {traced_cpu[2]:.0f} %", "-"],
           ]), ""]
    if dark:
        out += [f"Seconds without percentiles: {', '.join(dark)}.", ""]
    if reasons:
        out += [f"The breaker opened: {'; '.join(reasons)}.", ""]
    out += ["One request in this many was traced, by second: " + ", ".join(str(r["sample"]) for r in seconds[:20])
            + (f" ... {seconds[-1]['sample']}" if len(seconds) > 20 else "") + ".", ""]
    say(f"  {lit} of {len(seconds)} s with percentiles, {worst:+.1f} %, p99 {number(ratio(q[1], p[1]), 2)} x, {trips} trips {reasons}")
    return "\n".join(out)
