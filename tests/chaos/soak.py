#!/usr/bin/env python3
"""soak.py [--minutes M] [--rate N] [--otp V]: the sample node at N requests/s for M minutes, with kprof-top, every request
traced. Prints the results; the exit status is 1 if a call is unaccounted for or the memory grows.

The node counts the calls of each tier itself (call_count); kprof-top must have received exactly these. Memory: the
resident size may grow by at most 5 % and 2 MiB after the first five minutes; a shorter run does not check this."""
import argparse
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "node")]
import kp  # noqa: E402
from common import clean  # noqa: E402

TIERS = {"handle": 1, "parsing": 1, "db": 2, "accounting": 2, "formatter": 1}
SETTLES_S = 300
_failed = []


def claim(text, ok):
    print("%-4s %s" % ("ok" if ok else "FAIL", text), flush=True)
    if not ok:
        _failed.append(text)


def status(pid, key):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(key + r":\s+(\d+) kB", f.read()).group(1)) * 1024


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def each_tier(what):
    return "[begin %s end || {F, A} <- [%s]]" % (what, ", ".join("{%s, %d}" % t for t in TIERS.items()))


def said_trips(breaker, before, at_s):
    if breaker["trips"] > before:
        print("     after %.0f s the breaker opened: %s (%s)" % (at_s, breaker["reason"], time.strftime("%H:%M:%S")), flush=True)
    return breaker["trips"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--rate", type=int, default=20000)
    p.add_argument("--otp", type=int, default=25)
    a = p.parse_args()
    seconds = a.minutes * 60
    agent = os.path.join(kp.ROOT, "build", "agent")
    with kp.Node(a.otp, spin=True) as n:
        n.eval("{module, _} = code:load_abs(\"%s/kprof_sample\"), true" % agent)
        args = [x for name, arity in TIERS.items() for x in ("-t", "kprof_sample:%s/%d" % (name, arity))]
        k = kp.Kp("--batch", "--format", "json", "-d", "1s", *args, "-i", "kprof_sample:db/2 arg(1)", "--max-overhead", "none",
                  "--max-age", "30s", n.name)
        k.tracing(60)
        n.eval(each_tier("1 = erlang:trace_pattern({kprof_sample, F, A}, true, [call_count])"))
        n.eval("spawn(fun() -> kprof_sample:start([\"%d\"]), receive stop -> ok end end), true" % a.rate)
        began, rss, trips, settled = time.monotonic(), [], 0, min(SETTLES_S, seconds / 3)
        while time.monotonic() - began < seconds:
            time.sleep(min(5, seconds / 20))
            rss.append((time.monotonic() - began, status(k.proc.pid, "VmRSS")))
            trips = said_trips(k.rows[-1]["breaker"], trips, rss[-1][0])
            assert k.proc.poll() is None, k.saw()
            k.rows[:-2], k.lines[:-2] = [], []  # the output of a long run is not stored
        lasted, cpu = time.monotonic() - began, cpu_s(k.proc.pid)
        n.eval("kprof_sample:stop(), true", 60)
        counted = dict(zip(TIERS, n.eval(each_tier("element(2, erlang:trace_info({kprof_sample, F, A}, call_count))"))))
        n.eval(each_tier("erlang:trace_pattern({kprof_sample, F, A}, false, [call_count])"))
        claim("ended with 0", k.interrupt(120) == 0)
        final = k.final()
        kp.conserves(final)
        calls, lost, requests = final["calls"], final["lost"], final["requests"]
        print("     %.1f minutes, %.0f requests/s, %d calls counted by the node" % (lasted / 60, counted["handle"] / lasted, sum(counted.values())))
        print("     kprof-top: %.1f %% of a core, lost %s, %d trips %s" % (
            100 * cpu / lasted, lost, final["breaker"]["trips"], final["breaker"]["reason"] or ""))
        claim("requests started: %d, count of the node %d" % (requests["started"], counted["handle"]),
              requests["started"] == counted["handle"])
        claim("calls received: %d, count of the node %d" % (calls["received"], sum(counted.values())),
              calls["received"] == sum(counted.values()))
        claim("received = aggregated %(aggregated)d + open %(open)d + expired %(expired)d + unattributed %(unattributed)d" % calls, True)
        then = next(x for t, x in rss if t >= settled)
        most = max(x for t, x in rss if t >= settled)
        text = "resident memory: %.1f MiB after %.1f minutes, at most %.1f MiB after that" % (then / 2**20, settled / 60, most / 2**20)
        if settled < SETTLES_S:
            print("     %s (the run was too short to check this)" % text)
        else:
            claim(text, most <= then * 1.05 + (2 << 20))
        n.eval("code:purge(kprof_sample), code:delete(kprof_sample), code:purge(kprof_sample), true")
        clean(n)
    print("%d failed" % len(_failed))
    return 1 if _failed else 0


if __name__ == "__main__":
    sys.exit(main())
