"""Slow requests: one line each, in every output format, however many of their calls were slow."""
import datetime
import json
import os
import re
import time

import kp
from common import OTPS, RULE2, attach, clean, tiers, workload_node

TIERS = tiers("request/2", "sleeper/1")
N = 3  # of each kind, in each of four processes


def one_a_request(slow):
    assert len(slow) == 4 * N and len({s["request"] for s in slow}) == 4 * N, slow
    for s in slow:
        assert s["identity"] == "long" and s["slow_calls"] == 2 and s["tier"] == "request", s
        assert {t["tier"]: t["calls"] for t in s["slow_tiers"]} == {"request": 1, "sleeper": 1}, s
        assert s["most"]["tier"] == "sleeper" and s["most"]["pid"].startswith("<0."), s
        assert s["request_us"] >= s["duration_us"] >= s["most"]["self_us"] > s["request_us"] / 2, s
        assert abs(sum(t["self_us"] for t in s["sums"]) - s["request_us"]) < 1, s


def at(slow):
    return datetime.datetime.fromisoformat(slow["at"].replace("Z", "+00:00")).timestamp()


def test_one_line_a_request():
    """The slowest of three kinds of requests sleeps inside of the entry: both calls are slow and belong to one
    request."""
    with workload_node(25) as n:
        log, rec = (os.path.join(kp.scratch(), x) for x in ("slow.log", "slow.rec"))
        k = attach(n, *TIERS, "-i", RULE2, "--slow", "15ms", "--slow-log", log, "--record", rec)
        k.tracing()
        time.sleep(1)  # the recording begins a second before the first request
        n.eval("workload:sleeping(%d,x)" % N, 30)
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.nothing_lost(final)
        slow = [s for s in final["slow"] if s["identity"] == "long"]
        one_a_request(slow)
        with open(log, encoding="utf-8") as f:
            written = [json.loads(x) for x in f]
        one_a_request([w for w in written if w["identity"] == "long"])
        clean(n)
    again = kp.run("--replay", rec, "--batch", "--format", "json").final()  # with the threshold of the recording
    # the recording began some time before the first request
    assert abs(again["elapsed_s"] - final["elapsed_s"]) < 0.3 * kp.PATIENCE, (final["elapsed_s"], again["elapsed_s"])
    for live, replayed in zip(final["slow"], again["slow"]):
        assert live["request"] == replayed["request"] and abs(at(live) - at(replayed)) < 0.05 * kp.PATIENCE, (live, replayed)
    chosen = kp.run("--replay", rec, "--batch", "--format", "json", "--slow", "60ms").final()
    assert {s["identity"] for s in chosen["slow"]} == {"long"} < {s["identity"] for s in again["slow"]}, (chosen, again)
    listed = len(final["slow"])
    for details, lines in ((), 5), (("--slow-details",), listed):
        text = kp.run("--replay", rec, "--batch", "--slow", "15ms", *details).stdout
        below = re.split(r"^slow requests.*\n", text, flags=re.M)[-1].split("\n\n")[0]
        assert len(re.findall(r"^\S+Z  ", below, re.M)) == lines, text
        assert ("    sum " in below) == bool(details), text
        if not details:
            assert len(re.findall(r"^\S+Z  long  [0-9.]+  sleeper self [0-9.]+ \(\d+ %\)  <0\.", below, re.M)) == lines, text


@kp.each(*OTPS)
def test_processes_that_end_inside_of_a_call(otp):
    """No event reports this. A short call ends at the newest event of its request. A longer call ends about when its
    process is found dead, soon after its death."""
    with kp.Node(otp) as n:
        n.eval("dying:start()")
        k = attach(n, "-t", "request=dying:request/1", "-t", "step=dying:step/1", "-e", "request", "-i", "dying:request/1 arg(1)")
        kp.until(60, lambda: all(sum(kp.count(r, "request", kind) for r in list(k.rows)) > 10 for kind in ("crash", "hang")), what=k.saw)
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        for tier in ("request", "step"):
            crash, hang, good = (kp.row(final, tier, kind) for kind in ("crash", "hang", "good"))
            assert crash["exits"] == crash["count"] and hang["exits"] == hang["count"] and good["errors"] == 0, final
            assert crash["p50_us"] < 20000, crash  # it had been a second
            assert 1.2e6 < hang["p50_us"] < 1.8e6, hang
        clean(n)
