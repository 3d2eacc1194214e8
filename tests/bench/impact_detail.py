"""Part "detail" of impact.py: what detailed requests cost (--detail), in pairs without and with them: the CPU time of the
node and the latency of open-loop clients."""
import impact_clients
import kp
from impact_common import median, node, number, ratio, say, table

RATE = 20000
OFF, ON = "detail_off", "detail_on"


def pair(n, kind, turn, o):
    """Without and with, the order of the two in turn."""
    both = {v: impact_clients.one_run(n, kind, RATE, v, o) for v in ((OFF, ON) if turn % 2 == 0 else (ON, OFF))}
    say(f"  {kind}, pair {turn + 1}: " + ", ".join(
        f"{v}: node {number(r['node_cpu'], 1)} %, p50 {number(r['p50'])} p99 {number(r['p99'])} us, reported {number(r['cost'], 2)} %, kprof-top"
        f" {number(r['our_cpu'])} %, others {number(r['others_cpu'])} %, trips {r['trips']}, lost {r['lost']}" for v, r in sorted(both.items())))
    return both[OFF], both[ON]


def of_node(percent, n):
    """From percent of a core to percent of the time of the schedulers."""
    return percent / n.eval("erlang:system_info(schedulers_online)")


def run(otp, o):
    rows = []
    for kind in ("requests", "state"):
        with node(otp, [*kp.NO_SPINNING, *o.erl]) as n:  # idle schedulers that spin hide the difference
            pairs = [pair(n, kind, turn, o) for turn in range(o.reps)]
            added = [of_node(b["node_cpu"] - a["node_cpu"], n) for a, b in pairs]
        reported = [b["cost"] - a["cost"] for a, b in pairs if a["cost"] is not None and b["cost"] is not None]
        rows.append([
            "four traced functions" if kind == "requests" else "server with a large state",
            f"{median(added):.2f} ({min(added):.2f} to {max(added):.2f})", number(median(reported), 2),
            *(number(median(r[i][q] for r in pairs)) for q in ("p50", "p99") for i in (0, 1)),
            *(number(median(ratio(b[q], a[q]) for a, b in pairs), 3) for q in ("p50", "p99")),
            number(median(b["our_cpu"] - a["our_cpu"] for a, b in pairs), 1), number(median(r["others_cpu"] for p in pairs for r in p)),
            str(sum(r["trips"] for p in pairs for r in p))])
    return "\n".join([
        f"### Detailed requests, OTP {otp}", "",
        f"`--detail off` and `--detail 1/100` in turn, {o.reps} pairs of {o.seconds:g} s, every request traced (lean), {RATE:,} requests/s of {o.clients}"
        " open-loop clients; latency from the intended start. Added: CPU time of the node, in percent of the time of its schedulers (which do not spin);"
        " median, minimum and maximum of the pairs. Reported: by how much the overhead that kprof-top shows is higher. Ratios: the median of the"
        " pairs.", "",
        table(["", "added %", "reported %", "p50 us off", "on", "p99 us off", "on", "p50 ratio", "p99 ratio", "kprof-top CPU %", "others' CPU %", "trips"], rows), ""])
