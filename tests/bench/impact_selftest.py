"""Part "selftest" of impact.py: a test of the measurements themselves. tests/node/test_impact.py runs it in make
check. Nothing here depends on the speed of the machine: the checks are lower limits, and a slower machine only gives
larger values."""
import math
import os
import random
import time

from impact_common import BEGIN, END, CouldNotRun, kp, node, quantile_us, write
from impact_cost import lost
from impact_loop import openings

RATE, WINDOW_MS, STALL_MS = 2000, 2000, 50
PATIENCE_MS = 60000


def demand(ok, text):
    if not ok:
        raise CouldNotRun("selftest: " + text)


def seen(result):
    return sum(b[2] for b in result["hist"])


def arithmetic_of_known_figures(_):
    parts = [[100, 10, 10], [80, 10, 8], [100, 10, 10], [30, 5, 4], [50, 5, 5]]  # the loops lose 20 and 40 % by the clock, 0 and 25 % by CPU
    demand([round(x, 6) for x in lost(parts, 1)] == [20, 25 + 15], f"lost by the clock: {lost(parts, 1)}")
    demand([round(x, 6) for x in lost(parts, 2)] == [0, 25], f"lost by CPU: {lost(parts, 2)}")
    rows = [{"breaker": {"state": s}} for s in ("closed", "open", "open", "half-open", "open", "closed")]
    demand(openings(rows) == 2 and openings(rows[:3]) == 1 and openings(rows[:1]) == 0, f"openings: {openings(rows)}")
    path = os.path.join(kp.scratch(), "results.md")
    with open(path, "w") as f:
        f.write("# Results\nbefore\n")
    for text in ("one", "two"):
        write(path, text)
    with open(path, "a") as f:
        f.write("behind\n")
    write(path, "three")
    with open(path) as f:
        found = f.read()
    demand(found == f"# Results\nbefore\n\n{BEGIN}\nthree\n{END}\nbehind\n", f"the file: {found!r}")


def quantiles_of_known_latencies(n):
    """Quantiles of the node's histogram are within 1 % of the exact value, from 1 ns to hours."""
    seed = random.randrange(1 << 32)
    r = random.Random(seed)
    for values in ([1], [0], list(range(1, 1001)), [50_000_000] * 3 + [1000] * 97, [10] * 99 + [3_600_000_000_000],
                   [int(10 ** r.uniform(0, 12.5)) for _ in range(5000)]):
        buckets = n.eval(f"impact_load:buckets_of({values})")
        demand(sum(b[2] for b in buckets) == len(values), f"{len(values)} values, {buckets} (seed {seed})")
        demand(all(a[0] + a[1] <= b[0] for a, b in zip(buckets, buckets[1:])), f"buckets overlap: {buckets}")
        exact = sorted(values)
        for q in (0.001, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1):
            want = exact[max(1, math.ceil(q * len(exact))) - 1]
            got = 1000 * quantile_us(buckets, q)
            demand(abs(got - want) <= max(0.5, 0.01 * want), f"quantile {q} of {len(values)} values: {got} ns, not {want} (seed {seed})")
    demand(quantile_us([], 0.5) is None, "a quantile without values")


def every_due_request_is_counted_once(n):
    n.eval(f"impact_load:start(requests, 7, {RATE}, 0)")
    time.sleep(0.2)
    n.eval("impact_load:window(1000)")
    r = n.eval(f"impact_load:result({PATIENCE_MS})", 120)
    demand(r["due"] == RATE, f"{RATE} requests/s for a second: {r['due']} due")
    demand(seen(r) == r["due"] and r["unfinished"] == 0, f"{seen(r)} latencies, {r['unfinished']} unfinished of {r['due']}")
    demand(r["made"] >= r["due"], f"{r['made']} made in all")
    demand(len(r["slices"]) == 4 and sum(b[2] for s in r["slices"] for b in s) == r["due"], f"the slices of a second: {[sum(b[2] for b in s) for s in r['slices']]}")
    demand(all(abs(sum(b[2] for b in s) - RATE / 4) <= 2 for s in r["slices"]), "slices of 250 ms have the same number of requests")


def a_stall_is_seen(n):
    """Nothing runs for 50 ms of 2 s, in which 2.5 % of the requests are due. The slowest 1 % waited for 30 ms or
    more, because they were due in the first 20 ms of the stall. A measurement from the real start of requests finds
    only one slow request per client."""
    n.eval(f"impact_load:start(requests, 20, {RATE}, 0)")
    time.sleep(0.2)
    n.eval(f"impact_load:window({WINDOW_MS}), receive after {WINDOW_MS // 4} -> ok end, impact_load:stall({STALL_MS})", 60)
    r = n.eval(f"impact_load:result({PATIENCE_MS})", 120)
    p99 = quantile_us(r["hist"], 0.99) / 1000
    demand(seen(r) == r["due"] == RATE * WINDOW_MS // 1000, f"{seen(r)} latencies of {r['due']}")
    demand(p99 >= 0.5 * STALL_MS, f"a stall of {STALL_MS} ms shows as a p99 of {p99:.1f} ms")
    return p99


def who_never_ends_is_counted(n):
    """A stopped server does not answer: its clients wait, and each request due in this time counts with its waiting
    time."""
    n.eval("impact_load:start({state,8}, 10, 1000, 0)")
    time.sleep(0.2)
    n.eval("erlang:suspend_process(element(3, get(run))), impact_load:window(500)")
    r = n.eval("impact_load:result(300)", 60)
    demand(r["due"] == 500, f"{r['due']} due")
    demand(r["unfinished"] == 500 and seen(r) == 500, f"{r['unfinished']} unfinished, {seen(r)} latencies of 500")
    p50 = quantile_us(r["hist"], 0.5)
    demand(p50 >= 500_000, f"half of them waited for only {p50} us")


CHECKS = (arithmetic_of_known_figures, quantiles_of_known_latencies, every_due_request_is_counted_once, a_stall_is_seen, who_never_ends_is_counted)


def run(otp, o):
    out = [f"### Selftest, OTP {otp}", ""]
    with node(otp, o.erl) as n:
        for check in CHECKS:
            found = check(n)
            out.append(f"- ok: {check.__name__.replace('_', ' ')}" + (f" (p99 {found:.1f} ms)" if found else ""))
    return "\n".join(out) + "\n"
