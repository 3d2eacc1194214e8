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
# Each session of kprof-top measures the costs of a call when it attaches, and the costs differ from one start of the VM to the
# next (by 10 to 20 %: its memory is elsewhere), as the speed of a machine does from one minute to the next. So a row is of
# several nodes, with one session each.
NODES, SETTLE_MS, HOLD_MS, GAP_MS = 6, 3000, 2000, 15


def lost(parts, per):
    """The loss of throughput in percent in each traced part, compared with the mean of the parts before and after.
    per: an index in a part: 1 the time in ns, 2 the CPU time of the node in ns."""
    rate = [p[0] / max(1, p[per]) for p in parts]
    return [100 * (1 - 2 * on / (before + after)) for before, on, after in zip(rate[0::2], rate[1::2], rate[2::2])]


def middle(values):
    """The mean of the middle half: few outliers, as with the median, but less noise."""
    values, cut = sorted(values), len(values) // 4
    return statistics.mean(values[cut:len(values) - cut])


def session(n, path, sample, us, pairs, o):
    """What one session on a new node says, in percent of the schedulers' time, and the pairs; or why its breaker opened."""
    what, tiers, _ = PATHS[path]
    o.schedulers = n.eval("erlang:system_info(schedulers_online)")
    n.eval(f"impact_hot:start({what}, impact_hot:rounds({int(us * 1000)}), {o.schedulers})")
    k = Attached(n, *tiers, "--sample", f"1/{sample}", "--max-overhead", "none", *o.args)
    k.tracing()
    cpu = Cpu(n, k)
    n.eval(f"impact_hot:hold({SETTLE_MS})")
    first = len(k.rows()) + 1
    _, ns, cpu_ns = n.eval(f"impact_hot:hold({HOLD_MS})")
    said = [r["overhead"]["percent"] for r in k.rows()[first:] if r.get("overhead")]
    parts = n.eval(f"impact_hot:parts({pairs}, {int(1000 * o.cost_seconds)}, {GAP_MS})", 60 + 2 * pairs * (o.cost_seconds + 1))
    others = cpu.taken()[2]
    rows = k.end()
    if rows[-1]["breaker"]["trips"]:
        return {"reason": rows[-1]["breaker"]["reason"]}
    if not said:
        raise CouldNotRun("kprof-top reported no cost")
    # If other programs use the same cores, the node does not have all of the time of its schedulers.
    s = {"told": statistics.mean(said) * ns * o.schedulers / max(1, cpu_ns), "parts": parts, "others": others, "losses": lost(parts, 2)}
    s["ratio"] = s["told"] / max(0.01, middle(s["losses"]))
    say(f"    {path} 1/{sample}: kprof-top says {s['told']:.2f} %, measured {middle(s['losses']):.2f} %; {next((r['overhead'] for r in reversed(rows) if r.get('overhead')), {})}")
    return s


def one(otp, path, sample, us, o):
    """A row: the pairs of one path and sampling rate, on several nodes."""
    sessions = []
    for pairs in [max(1, o.pairs // NODES + (i < o.pairs % NODES)) for i in range(NODES)]:
        with node(otp, o.erl) as n:
            sessions.append(session(n, path, sample, us, pairs, o))
        if "reason" in sessions[-1]:
            return sessions[-1]
    told = statistics.mean(s["told"] for s in sessions)
    losses = [x for s in sessions for x in s["losses"]]
    on = [p for s in sessions for p in s["parts"][1::2]]
    calls = CALLS[PATHS[path][0]]
    real = middle(losses)
    low, _, high = statistics.quantiles(losses, n=4) if len(losses) > 1 else [real] * 3
    ratios = [s["ratio"] for s in sessions]
    return {"clock": middle([x for s in sessions for x in lost(s["parts"], 1)]), "real": real, "low": low, "high": high, "told": told,
            "least": min(ratios), "most": max(ratios), "lowest": min(middle(s["losses"]) for s in sessions), "others": statistics.mean(s["others"] for s in sessions),
            "calls": calls * 1e9 * sum(p[0] for p in on) / sum(p[1] for p in on),
            # CPU time that is lost per call
            "ns": real / 100 * sum(p[2] for p in on) / (calls * sum(p[0] for p in on)),
            "agrees": abs(told - real) <= max(NEAR_POINTS, NEAR_SHARE * abs(real))}


def line(name, r):
    if "real" not in r:
        return [name, "-", "-", "-", "-", "-", "-", "breaker opened", "-"]
    return [name, number(r["calls"]), f"{r['told']:.2f}", f"{r['real']:.2f} ({r['low']:.2f} to {r['high']:.2f})",
            f"{r['told'] / r['real']:.2f} ({r['least']:.2f} to {r['most']:.2f})" if min(r["real"], r["lowest"]) > NEAR_POINTS else "-", f"{r['clock']:.2f}", number(r["ns"]), "yes" if r["agrees"] else "no", number(r["others"])]


def run(otp, o):
    if len(o.cost_us) != len(o.samples):
        raise CouldNotRun("--cost-us has a value for each of --samples")
    rows, notes = [], []
    for path in PATHS:
        for sample, us in zip(o.samples, o.cost_us):
            name = f"{path}, 1/{sample:,}"
            r = one(otp, path, sample, o.cost_us[-1] if PATHS[path][2] else us, o)
            rows.append(line(name, r))
            notes += [f"The breaker opened, {name}: {r['reason']}.", ""] if "reason" in r else []
            say("  " + ", ".join(rows[-1]))
    return "\n".join([
        f"### Cost for the node, OTP {otp}", "",
        f"A loop on each of {o.schedulers} schedulers, at full speed, {', '.join(f'{u:g}' for u in o.cost_us)} us of work per call at the sampling rates 1/1, 1/10, 1/1,000,000. Tracing is alternately on for"
        f" {o.cost_seconds:g} s (the loops call traced functions) and off (they call the same functions of a module that is not traced); {o.pairs} pairs,"
        f" {o.pairs // NODES} on each of {NODES} nodes, means of the middle halves, and quartiles. Paired throughput: what the loops lose per second of the node's CPU time; the CPU time of kprof-top is not included."
        " By the clock: what they lose per second of elapsed time; the CPU time of kprof-top is included."
        f" kprof-top says: the mean overhead that kprof-top showed in {HOLD_MS / 1000:g} s of steady tracing before the pairs, as a share of the CPU time that the node really had"
        " (on a dedicated machine: the time of all its schedulers). Ratio: what it says, to the paired throughput; least and greatest of a node (- if nothing is lost on one). Agrees: the means are within"
        f" {100 * NEAR_SHARE:.0f} % or {NEAR_POINTS} points. ns: what is lost per call.", "",
        table(["", "calls/s", "kprof-top says %", "paired throughput %", "ratio", "by the clock %", "ns a call", "agrees", "others' CPU %"], rows), "", *notes])
