"""Part "cost" of impact.py: the overhead that kprof-top reports, compared with throughput in pairs: loops at full
speed, in turn with tracing on and off."""
import statistics

from impact_common import Attached, CouldNotRun, Cpu, node, number, say, table

REQUEST_TIERS = [a for f in ("entry", "t1", "t2", "t3") for a in ("-t", f"{f}=impact_hot:{f}/2")]
# Name: what the loops call, the tiers, whether the load of the last sampling rate is used for all: outside of requests
# no call is sampled, so tracing is never too much.
PATHS = {
    "in requests": ("request", REQUEST_TIERS, False),
    "tier outside of requests": ("tier", ["-t", "entry=impact_hot:entry/2", "-t", "tier=impact_hot:tier/2"], True),
    "`--entry none`": ("tier", ["-t", "tier=impact_hot:tier/2", "--entry", "none"], False),
}
CALLS = {"request": 4, "tier": 1}
NEAR_SHARE, NEAR_POINTS = 0.2, 0.5
# The speed of a machine changes: what kprof-top says, and the pairs, are measured in turn.
GROUPS, SETTLE_MS, HOLD_MS, GAP_MS = 6, 5000, 1500, 50


def lost(parts, per):
    """The loss of throughput in percent in each traced part, compared with the mean of the parts before and after.
    per: an index in a part: 1 the time in ns, 2 the CPU time of the node in ns."""
    rate = [p[0] / max(1, p[per]) for p in parts]
    return [100 * (1 - 2 * on / (before + after)) for before, on, after in zip(rate[0::2], rate[1::2], rate[2::2])]


def middle(values):
    """The mean of the middle half: few outliers, as with the median, but less noise."""
    values, cut = sorted(values), len(values) // 4
    return statistics.mean(values[cut:len(values) - cut])


def one(n, path, sample, us, o):
    """The pairs of one path and sampling rate."""
    what, tiers, _ = PATHS[path]
    rounds = n.eval(f"impact_hot:rounds({int(us * 1000)})")
    n.eval(f"impact_hot:start({what}, {rounds}, {o.schedulers})")
    k = Attached(n, *tiers, "--sample", f"1/{sample}", "--max-overhead", "none", *o.args)
    k.tracing()
    said, told, parts = [], [], []
    cpu = Cpu(n, k)
    for pairs in [o.pairs // GROUPS + (i < o.pairs % GROUPS) for i in range(GROUPS)]:
        n.eval(f"impact_hot:hold({SETTLE_MS})")
        first = len(k.rows()) + 1
        _, ns, cpu_ns = n.eval(f"impact_hot:hold({HOLD_MS})")
        now = [r["overhead"]["percent"] for r in k.rows()[first:] if r.get("overhead")]
        said += now
        # If other programs use the same cores, the node does not have all of the time of its schedulers.
        told += [p * ns * o.schedulers / max(1, cpu_ns) for p in now]
        parts.append(n.eval(f"impact_hot:parts({pairs}, {int(1000 * o.cost_seconds)}, {GAP_MS})", 60 + 2 * pairs * (o.cost_seconds + 1)))
    others = cpu.taken()[2]
    rows = k.end()
    n.eval("impact_hot:stop()")
    calibrated = next((r["overhead"] for r in reversed(rows) if r.get("overhead")), {})
    say(f"    {path} 1/{sample}: kprof-top says {', '.join(f'{p:.2f}' for p in said)} %; {calibrated}")
    if rows[-1]["breaker"]["trips"]:
        return {"reason": rows[-1]["breaker"]["reason"]}
    if not said:
        raise CouldNotRun("kprof-top reported no cost")
    told = statistics.mean(told)
    losses = [x for group in parts for x in lost(group, 2)]
    on = [p for group in parts for p in group[1::2]]
    real = middle(losses)
    low, _, high = statistics.quantiles(losses, n=4) if len(losses) > 1 else [real] * 3
    return {"clock": middle([x for group in parts for x in lost(group, 1)]), "real": real, "told": told, "others": others, "low": low, "high": high,
            "calls": CALLS[what] * 1e9 * sum(p[0] for p in on) / sum(p[1] for p in on),
            # CPU time that is lost per call
            "ns": real / 100 * sum(p[2] for p in on) / (CALLS[what] * sum(p[0] for p in on)),
            "agrees": abs(told - real) <= max(NEAR_POINTS, NEAR_SHARE * abs(real))}


def line(name, r):
    if "real" not in r:
        return [name, "-", "-", "-", "-", "-", "breaker opened", "-"]
    return [name, number(r["calls"]), f"{r['told']:.2f}", f"{r['real']:.2f} ({r['low']:.2f} to {r['high']:.2f})", f"{r['clock']:.2f}", number(r["ns"]),
            "yes" if r["agrees"] else "no", number(r["others"])]


def run(otp, o):
    if len(o.cost_us) != len(o.samples):
        raise CouldNotRun("--cost-us has a value for each of --samples")
    rows, notes = [], []
    with node(otp, o.erl) as n:
        o.schedulers = n.eval("erlang:system_info(schedulers_online)")
        for path in PATHS:
            for sample, us in zip(o.samples, o.cost_us):
                name = f"{path}, 1/{sample:,}"
                r = one(n, path, sample, o.cost_us[-1] if PATHS[path][2] else us, o)
                rows.append(line(name, r))
                notes += [f"The breaker opened, {name}: {r['reason']}.", ""] if "reason" in r else []
                say("  " + ", ".join(rows[-1]))
    return "\n".join([
        f"### Cost for the node, OTP {otp}", "",
        f"A loop on each of {o.schedulers} schedulers, at full speed, {', '.join(f'{u:g}' for u in o.cost_us)} us of work per call at the sampling rates 1/1, 1/10, 1/1,000,000. Tracing is alternately on for"
        f" {o.cost_seconds:g} s (the loops call traced functions) and off (they call the same functions of a module that is not traced); {o.pairs} pairs,"
        " means of the middle halves, and quartiles. Paired throughput: what the loops lose per second of the node's CPU time; the CPU time of kprof-top is not included."
        " By the clock: what they lose per second of elapsed time; the CPU time of kprof-top is included."
        f" kprof-top says: the mean overhead that kprof-top showed in {HOLD_MS / 1000:g} s of steady tracing before the pairs ({GROUPS} times, with a part of the pairs each), as a share of the CPU time that the node really had"
        " (on a dedicated machine: the time of all its schedulers). Agrees: within"
        f" {100 * NEAR_SHARE:.0f} % or {NEAR_POINTS} points of the paired throughput. ns: what is lost per call.", "",
        table(["", "calls/s", "kprof-top says %", "paired throughput %", "by the clock %", "ns a call", "agrees", "others' CPU %"], rows), "", *notes])
