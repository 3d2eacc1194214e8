#!/usr/bin/env python3
"""CPU time of kprof-top per event over TLS, against a plain connection, at about 100,000 events/s. One run has two
nodes, with and without TLS; they are measured in turn, and only one has load at a time. Limit: 1.3; above, the exit status is 1.

Environment: KPROF_TOP (the program), KPROF_BENCH_REPS (5), KPROF_BENCH_SECONDS (4)."""
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "node")]
import kp  # noqa: E402
from test_tls import Pki  # noqa: E402

WORKERS, BURST, EVENTS_A_REQUEST = 9, 18, 8  # four calls and their returns
LIMIT = 1.3
LOAD = ("persistent_term:put(load, [spawn(relay_load, worker, [requests, %d]) || _ <- lists:seq(1, %d)]), ok" % (BURST, WORKERS))
NO_LOAD = "[exit(P, kill) || P <- persistent_term:get(load)], ok"


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(args):
    node = kp.Node(25, args=args, spin=True)
    node.eval('begin code:add_path("%s"), persistent_term:put(relay_load, counters:new(1, [])), ok end' % kp.scratch())
    return node


def top(node, *args):
    argv = ["--batch", "--format", "json", "-d", "500ms", "--max-overhead", "none", "-i", "relay_load:entry/1 arg(1)", *args]
    for t in ("entry/1", "t1/1", "t2/1", "t3/1"):
        argv += ["-t", "relay_load:" + t]
    k = kp.Kp(*argv, node.name)
    k.tracing()
    return k


def measure(node, k, seconds):
    """(us of CPU time of kprof-top per event, events/s)"""
    node.eval(LOAD)
    time.sleep(1)  # the load begins
    seen, begun, cpu = k.rows[-1]["calls"]["received"], time.monotonic(), cpu_s(k.proc.pid)
    time.sleep(seconds)
    events = (k.rows[-1]["calls"]["received"] - seen) * 2
    took, used = time.monotonic() - begun, cpu_s(k.proc.pid) - cpu
    node.eval(NO_LOAD)
    assert k.rows[-1]["lost"]["target"] == 0 and k.rows[-1]["sample"] == 1, k.rows[-1]["lost"]
    return used * 1e6 / events, events / took


def main():
    subprocess.run(["erlc", "-o", kp.scratch(), os.path.join(HERE, "relay_load.erl")], check=True)
    seconds = float(os.environ.get("KPROF_BENCH_SECONDS", "4"))
    pki = Pki()
    runs = {}
    for name, args, options in (("plain", [], []),
                                ("TLS", ["-proto_dist", "inet_tls", "-ssl_dist_optfile", pki.optfile(25)[1]],
                                 ["--tls-ca", pki.path("ca.pem")])):
        node = start(args)
        runs[name] = (node, top(node, *options), [])
    for _ in range(int(os.environ.get("KPROF_BENCH_REPS", "5"))):
        for node, k, results in runs.values():
            results.append(measure(node, k, seconds))
    cost = {name: statistics.median(r[0] for r in results) for name, (_, _, results) in runs.items()}
    rate = {name: statistics.median(r[1] for r in results) for name, (_, _, results) in runs.items()}
    ratio = cost["TLS"] / cost["plain"]
    print("CPU time of kprof-top per event: plain %.2f us (%s events/s), TLS %.2f us (%s events/s): %.2f x (limit: %.1f)" % (
        cost["plain"], format(round(rate["plain"]), ","), cost["TLS"], format(round(rate["TLS"]), ","), ratio, LIMIT))
    return 1 if ratio > LIMIT else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        kp.clean_up()
