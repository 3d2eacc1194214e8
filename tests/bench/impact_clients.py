"""Part "clients" of impact.py: the effect on clients of a traced service, by variant of tracing, at several rates."""
import time

from impact_common import (ENTRY, STATE_WORDS, TIERS, Attached, Cpu, CouldNotRun, kp, median, node, number, quantile_us, ratio, resident_bytes, say,
                           slices_us, table)

VARIANTS = ("untraced", "bare", "call_count", "lean", "full", "default")
LEAN = ["--returns", "lean", "--max-overhead", "none"]
ARGS = {"lean": LEAN, "full": ["--returns", "full", "--max-overhead", "none"], "default": [],
        "detail_off": [*LEAN, "--detail", "off"], "detail_on": [*LEAN, "--detail", "1/100"]}
NAMES = {"untraced": "untraced", "bare": "bare tracer", "call_count": "call_count", "lean": "kprof-top, lean", "full": "kprof-top, full",
         "default": "kprof-top, defaults"}
PATIENCE_MS = 10000
DEFAULT_SETTLE_S = 5  # until the sampling rate is stable


def one_run(n, kind, rate, variant, o):
    """One run of one variant, with its own clients. Returns a dictionary of values."""
    what = f"{{state,{STATE_WORDS}}}" if kind == "state" else "requests"
    n.eval(f"impact_load:start({what}, {o.clients}, {rate}, 0)")
    time.sleep(o.warm)
    k = None
    if variant in ("bare", "call_count"):
        n.eval(f"impact_load:{'bare' if variant == 'bare' else 'count'}_on({kind})")
    elif variant != "untraced":
        k = Attached(n, *TIERS[kind], *ARGS[variant], *o.args)
        k.tracing()
    time.sleep(max(o.settle, DEFAULT_SETTLE_S) if variant == "default" else o.settle)
    first = len(k.rows()) if k else 0
    cpu = Cpu(n, k)
    n.eval(f"impact_load:window({int(o.seconds * 1000)})")
    time.sleep(o.seconds)
    node_cpu, our_cpu, others_cpu = cpu.taken()
    last = len(k.rows()) if k else 0
    memory, ours = n.eval("erlang:memory(total)"), resident_bytes(k.pid) if k else None
    result = n.eval(f"impact_load:result({PATIENCE_MS})", PATIENCE_MS / 1000 + 60)
    if variant in ("bare", "call_count"):
        n.eval(f"impact_load:{'bare' if variant == 'bare' else 'count'}_off({kind})", 60)
    rows = k.end() if k else []
    seen = sum(b[2] for b in result["hist"])
    if not result["due"] <= seen <= result["due"] + o.clients:
        raise CouldNotRun(f"{seen} latencies of {result['due']} requests: the harness lost some")
    window = rows[first:last]
    share = median([kp.count(r, ENTRY[kind]) / r["window_s"] / rate for r in window])
    return {"p50": quantile_us(result["hist"], 0.5), "p99": quantile_us(result["hist"], 0.99), "p999": quantile_us(result["hist"], 0.999), "slices": slices_us(result, 0.99),
            "wake50": quantile_us(result["wakes"], 0.5), "wake99": quantile_us(result["wakes"], 0.99),
            "unfinished": result["unfinished"], "node_cpu": node_cpu, "our_cpu": our_cpu if k else None, "others_cpu": others_cpu, "memory": memory, "ours": ours,
            "traced": share, "trips": rows[-1]["breaker"]["trips"] if k else None, "lost": sum(rows[-1]["lost"].values()) if k else None,
            "cost": median([(r["overhead"] or {}).get("percent") for r in window]) if k else None,
            "sample": window[-1]["sample"] if window else None}


def load(n, kind, rate, o):
    """Runs all variants in turn, several times. {variant: [values of each turn]}"""
    found = {v: [] for v in o.variants}
    for turn in range(o.reps):
        shift = turn % len(o.variants)
        for v in o.variants[shift:] + o.variants[:shift]:
            r = one_run(n, kind, rate, v, o)
            found[v].append(r)
            say(f"  {kind} {rate}/s, turn {turn + 1}, {NAMES[v]}: p50 {number(r['p50'])} p99 {number(r['p99'])} p99.9 {number(r['p999'])} us,"
                f" node {number(r['node_cpu'])} % kprof-top {number(r['our_cpu'])} % others {number(r['others_cpu'])} %"
                + (f", traced {number(100 * (r['traced'] or 0))} %, trips {r['trips']}, lost {r['lost']}" if r["trips"] is not None else "")
                + (f", {r['unfinished']} unfinished" if r["unfinished"] else ""))
    return found


def summary(found):
    """A row per variant: medians; ratios are medians of the ratios of each turn."""
    def each(v, key):
        return [r[key] for r in found[v]]

    def against(v, key, base):
        if base not in found or v == base:
            return None
        return median([ratio(a, b) for a, b in zip(each(v, key), each(base, key))])

    def total(v):
        return [r["node_cpu"] + (r["our_cpu"] or 0) for r in found[v]]

    def against_total(v):
        return median([ratio(a, b) for a, b in zip(total(v), total("bare"))]) if "bare" in found and v != "bare" else None

    rows = []
    for v in found:
        added = [a - b for a, b in zip(total(v), total("untraced"))] if "untraced" in found and v != "untraced" else [None]
        bare = [a - b for a, b in zip(total("bare"), total("untraced"))] if "untraced" in found and "bare" in found else [None]
        traced, trips, unfinished = median(each(v, "traced")), each(v, "trips"), sum(each(v, "unfinished"))
        notes = []
        if traced is not None and (traced < 0.99 or v == "default"):
            notes.append(f"{number(100 * traced, 1 if traced < 0.1 else 0)} % traced")
        if any(trips):
            notes.append(f"{sum(trips)} trips")
        if unfinished:
            notes.append(f"{unfinished} unfinished")
        rows.append([NAMES[v], *(number(median(each(v, p))) for p in ("p50", "p99", "p999")),
                     number(against(v, "p50", "bare"), 2), number(against(v, "p99", "bare"), 2), number(against(v, "p50", "untraced"), 2),
                     number(against(v, "p99", "untraced"), 2), number(against(v, "slices", "bare"), 2), number(against(v, "slices", "untraced"), 2),
                     number(median(each(v, "node_cpu"))), number(median(each(v, "our_cpu"))),
                     number(against_total(v), 2),
                     number(ratio(median(added), median(bare)) if v not in ("untraced", "bare") else None, 2),
                     number(median(each(v, "memory")) / 1e6), number(ratio(median(each(v, "ours")), 1e6)),
                     ", ".join(notes) or "-"])
    return rows


HEAD = ["us, from the intended start", "p50", "p99", "p99.9", "p50 / bare", "p99 / bare", "p50 / untraced", "p99 / untraced", "p99 of slices / bare", "/ untraced", "node CPU %",
        "kprof-top CPU %", "CPU / bare", "added CPU / bare", "node MB", "kprof-top MB", "notes"]


def run(otp, o):
    """The part, as Markdown."""
    out = [f"### Clients, OTP {otp}", "",
           f"{o.clients} open-loop clients in the node; a request's latency is from its intended start, on ticks of 1 ms (all requests that are due in a"
           f" millisecond begin together). {o.seconds:g} s each after {o.warm:g} s of warm-up and {o.settle:g} s traced; variants in turn, {o.reps} times:"
           " medians, of ratios the median over the turns. CPU is percent of one core, ratios of it are of node and kprof-top together;"
           " added: minus that of the untraced node (whose schedulers spin while idle).",
           "kprof-top with its defaults is given 5 s, in which its sampling becomes stable. Node MB is what the VM has allocated.",
           "p99 of slices: the median of the p99 of each slice (250 ms, or a 64th of a long window), on which a stop of the whole machine has no effect.",
           "An unfinished request is one that took longer than 10 s; it counts with its time so far.", ""]
    with node(otp, o.erl) as n:
        for kind, rate in [("requests", r) for r in o.rates] + [("state", r) for r in o.state_rates]:
            found = load(n, kind, rate, o)
            title = (f"{rate:,} requests/s of four traced functions" if kind == "requests" else
                     f"{rate:,} requests/s of a server with a state of {STATE_WORDS:,} words (entry in the client, tier in the server)")
            out += [f"**{title}**", "", table(HEAD, summary(found)), ""]
            others = [r["others_cpu"] for rs in found.values() for r in rs]
            out += [f"The other programs on this machine took {number(median(others))} % of a core meanwhile ({number(min(others))} to"
                    f" {number(max(others))}).", ""]
            if "untraced" in found:
                out += [f"Untraced, the clients' timers came {number(median([r['wake50'] for r in found['untraced']]))} us late (p50),"
                        f" {number(median([r['wake99'] for r in found['untraced']]))} us (p99): all values include this.", ""]
    return "\n".join(out)
