"""Part "mailbox" of impact.py: what --mailbox costs, and what the polls of requests that hang cost: clients of
gen_servers, in pairs without and with it."""
import statistics
import time

from impact_common import TIERS, Attached, Cpu, CouldNotRun, node, number, quantile_us, ratio, say, table

SERVERS = 8
PATIENCE_MS = 10000
DEFAULT_SETTLE_S = 5  # until the sampling rate is stable
OVERHEADS = {"every request": ["--max-overhead", "none"], "defaults": []}


def one_run(n, mailbox, hanging, args, o):
    """One run, with its own clients. mailbox: None: nothing is traced."""
    n.eval(f"impact_load:start({{calls,{SERVERS}}}, {o.clients}, {o.mailbox_rate}, 0)")
    if hanging:
        n.eval(f"impact_load:hanging({o.mailbox_hanging})")
    time.sleep(o.warm)
    k = None
    if mailbox is not None:
        k = Attached(n, *TIERS["calls"], "--detail", "off", *(["--slow", "500ms"]), *args, *(["--mailbox"] if mailbox else []), *o.args)
        k.tracing()
    time.sleep(DEFAULT_SETTLE_S if k and not args else o.settle)
    cpu = Cpu(n, k)
    n.eval(f"impact_load:window({int(o.seconds * 1000)})")
    time.sleep(o.seconds)
    node_cpu, our_cpu, others_cpu = cpu.taken()
    result = n.eval(f"impact_load:result({PATIENCE_MS})", PATIENCE_MS / 1000 + 60)
    last = k.end()[-1] if k else None
    waits = sum(r["mbox_count"] for r in last["rows"] if r["tier"] == "served" and r["identity"] is None) if k else 0
    if k and bool(waits) != bool(mailbox):
        raise CouldNotRun(f"{waits} times in mailboxes, --mailbox: {mailbox}")
    polls = sum(s.get("polls", 0) for s in last["slow"]) if k else 0
    if k and hanging and not polls:
        raise CouldNotRun("no request that hangs was polled")
    return {"p50": quantile_us(result["hist"], 0.5), "p99": quantile_us(result["hist"], 0.99), "node": node_cpu, "ours": our_cpu if k else None,
            "others": others_cpu, "sample": last["sample"] if k else None, "trips": last["breaker"]["trips"] if k else None, "waits": waits, "polls": polls}


def pairs(n, without, with_it, args, o):
    """[(without, with)], the order of the two in turn."""
    found = []
    for turn in range(o.reps):
        both = {on: one_run(n, *(with_it if on else without), args, o) for on in ((False, True) if turn % 2 == 0 else (True, False))}
        found.append((both[False], both[True]))
    return found


def row(name, found):
    def mid(which, key):
        return statistics.median(p[which][key] for p in found)

    def times(key):
        return statistics.median(ratio(b[key], a[key]) for a, b in found)
    added = [b["node"] - a["node"] for a, b in found]
    return [name, number(mid(0, "node"), 1), number(statistics.median(added), 2), f"{number(min(added), 2)} to {number(max(added), 2)}",
            number(mid(0, "p50")), number(mid(1, "p50")), number(mid(0, "p99")), number(mid(1, "p99")), number(times("p50"), 3), number(times("p99"), 3),
            " ".join(f"1/{mid(i, 'sample'):.0f}" if found[0][i]["sample"] else "-" for i in (0, 1)),
            number(sum(b["trips"] or 0 for _, b in found)), number(mid(1, "waits")), number(mid(1, "polls")), number(mid(0, "others"))]


HEAD = ["without -> with", "node CPU %", "added", "min to max", "p50 us", "with", "p99 us", "with", "p50 ratio", "p99 ratio", "sampling", "trips", "waits",
        "polls", "others' CPU %"]


def run(otp, o):
    rows = []
    with node(otp, o.erl) as n:
        for name, args in OVERHEADS.items():
            for what, without, with_it in ((f"nothing -> nothing ({name})", (None, False), (None, False)),
                                           (f"tiers -> --mailbox ({name})", (False, False), (True, False)),
                                           (f"tiers -> the same, {o.mailbox_hanging} requests hang ({name})", (False, False), (False, True))):
                if without[0] is None and args == []:
                    continue  # measure the noise only once
                rows.append(row(what if without[0] is not None else "nothing -> nothing", pairs(n, without, with_it, args, o)))
                say("  " + ", ".join(rows[-1]))
    return "\n".join([
        f"### Time in mailboxes and polls, OTP {otp}", "",
        f"{o.clients} open-loop clients call {SERVERS} gen_servers, {o.mailbox_rate:,} requests/s in all; two tiers: the request and the callback. In turn"
        f" without and with it, {o.reps} pairs of {o.seconds:g} s; the first row shows the noise. Latency from the intended start; medians, ratios the median of"
        " the pairs. CPU in percent of a core. Requests that hang are open for a second each and are polled; they do no work of their own.", "",
        table(HEAD, rows), ""])
