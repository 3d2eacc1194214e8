#!/usr/bin/env python3
"""The cost of counting calls for a suggestion: latencies of clients of the sample node without and during the count,
in turn. An open load of known requests (latency of handle/1), and a closed loop that calls one exported function, the
worst case for counters. Only prints values.

Environment: KPROF_TOP (the program), KPROF_BENCH_TURNS (5)."""
import os
import statistics
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kp  # noqa: E402

RATE, SECONDS = 500, 3
TURNS = int(os.environ.get("KPROF_BENCH_TURNS", "5"))
OPEN = ("lists:sort(lists:append(maps:values(kprof_sample:run_exact(#{create => %d, read => %d, update => %d, delete => %d, rate => %d}))))"
        % (*[RATE * SECONDS // 4] * 4, RATE))
CLOSED = "kprof_sample:big_state(#{rate => max, ms => %d, words => 10})" % (SECONDS * 1000)


def asked(n, source, suggest):
    """Returns the value; in the meantime suggestions are requested repeatedly."""
    stop, runs = threading.Event(), []

    def ask():
        while suggest and not stop.is_set():
            runs.append(kp.run("--suggest", n.name, deadline_s=60).proc.returncode)
    t = threading.Thread(target=ask)
    t.start()
    value = n.eval(source, 120)
    stop.set()
    t.join()
    return value, len(runs)


def main():
    found = {}
    with kp.Node(25, spin=True) as n:
        n.eval("{module, _} = code:load_abs(\"%s/kprof_sample\"), true" % os.path.join(kp.ROOT, "build", "agent"))
        for turn in range(TURNS):
            for suggest in ((False, True) if turn % 2 == 0 else (True, False)):
                us, runs = asked(n, OPEN, suggest)
                calls, more = asked(n, CLOSED, suggest)
                found.setdefault(suggest, []).append((us[len(us) // 2], us[len(us) * 99 // 100], calls / SECONDS, runs + more))
    for suggest in (False, True):
        p50, p99, rate, runs = [statistics.median(x) for x in zip(*found[suggest])]
        print("%-22s requests p50 %.0f us, p99 %.0f us; closed loop %.0f calls/s; %d suggestions per turn" % (
            "during suggestions:" if suggest else "without:", p50, p99, rate, runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
