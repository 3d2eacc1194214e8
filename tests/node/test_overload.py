"""Overload: a tier in a tight loop on all schedulers. The breaker opens on the target, stays open longer each time,
and closes."""
import fcntl
import json
import os
import re
import subprocess
import time

import kp
from common import OTPS, attach, clean, workload_node

TIERS = ["-t", "request=tight:request/1", "-t", "tier=tight:tier/1"]
MORE_MEMORY_BYTES = 50_000_000


def flags(node):
    """The trace flags of all processes, and those of new processes."""
    return node.eval("lists:usort([F || P <- [new_processes | processes()], {flags, Fs} <- [erlang:trace_info(P, flags)], F <- Fs])")


def state(r):
    return r["breaker"]["state"]


def traced(n):
    """Tracing is on when the functions have patterns; before that, their calls are counted."""
    kp.until(60, lambda: n.eval("element(2, erlang:trace_info({tight,tier,1}, traced))") == "local")


@kp.each(*OTPS)
def test_breaker_opens_and_stays_open(otp):
    """Sampling does not lower the cost of unsampled calls: the breaker opens once, calls are counted, and it closes
    when the load has ended."""
    with kp.Node(otp) as n:
        n.eval("code:ensure_loaded(tight)")
        rec = os.path.join(kp.scratch(), "overload_%s.rec" % otp)
        k = attach(n, *TIERS, "--cooldown", "1s", "--record", rec, "--max-overhead", "0.5")
        k.tracing()
        before = n.eval("erlang:memory(total)")
        n.eval("tight:start()")
        k.wait_json(60, lambda r: state(r) == "open")
        assert n.eval("erlang:memory(total)") < before + MORE_MEMORY_BYTES
        # open: nothing is set on the node
        kp.until(60, lambda: n.ours()["patterns"] == [], what=lambda: n.ours()["patterns"])
        reason = k.rows[-1]["breaker"]["reason"]
        assert re.fullmatch(r"unsampled calls would cost [0-9.]+ % of the node \(limit [0-9.]+ %\); remove the tier tight:\w+/\d \(\d+ calls/s\)", reason), reason
        # calls of the tiers are counted in the meantime, without percentiles
        blind = k.wait_json(120, lambda r: r["counted_s"] > 0 and kp.row(r, "tier")["counted"] > 0 and kp.row(r, "request")["counted"] > 0)
        for tier in ("request", "tier", "_total"):
            row = kp.row(blind, tier)
            assert row["rate"] > 0 and row["counted"] > 0, blind
        # after some pauses it is still open, without another trip
        seen = k.rows[-1]["elapsed_s"]
        k.wait_json(60, lambda r: r["elapsed_s"] > seen + 4)
        assert {(state(r), r["breaker"]["trips"]) for r in k.rows if r["elapsed_s"] >= seen} == {("open", 1)}, k.saw()
        n.eval("tight:stop()")
        seen = len(k.rows)
        kp.until(60, lambda: any(state(r) == "closed" and r["sample"] == 1 for r in k.rows[seen:]), what=k.saw)
        n.eval("[tight:request(X) || X <- lists:seq(1, 100)]")
        rows = len(k.rows)
        # percentiles are shown again (the calls may be in two different seconds)
        kp.until(30, lambda: any((kp.row(r, "request") or {"p99_us": 0})["p99_us"] > 0 for r in k.rows[rows:]), what=k.saw)
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        assert final["breaker"]["reason"], "why it opened last: %s" % final["breaker"]
        gaps = [g for g in final["gaps"] if g["reason"] == "overload"]
        assert len(gaps) >= 1 and final["gap_s"] > 4, final["gaps"]
        request = kp.row(final, "request")
        assert 0 < final["counted_s"] <= final["gap_s"], final
        assert request["counted"] > 0, request
        clean(n)
        # the recording contains all of this
        again = kp.run("--replay", rec, "--batch", "--format", "json").final()
        assert again["counted_s"] == final["counted_s"], (again, final)
        for tier in ("request", "tier", "_total"):
            assert kp.row(again, tier)["counted"] == kp.row(final, tier)["counted"], tier


def test_a_limited_rate_samples_instead():
    """--max-rate: no trip; estimated counts are near those of the node."""
    with kp.Node(25) as n:
        n.eval("code:ensure_loaded(tight)")  # kprof-top loads no module
        # so that a busy machine does not open the breaker by the age of events
        k = attach(n, *TIERS, "--max-rate", "20000", "--max-age", "20s")
        k.tracing()
        traced(n)
        n.eval("tight:start()")
        k.wait_json(20, lambda r: r["sample"] > 10 and kp.count(r, "request") > 1000)
        a = (n.eval("tight:calls()"), k.rows[-1])
        kp.until(20, lambda: k.rows[-1]["elapsed_s"] > a[1]["elapsed_s"] + 5)
        n.eval("tight:stop()")
        truth = n.eval("tight:calls()")
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        assert final["breaker"]["trips"] == 0, final["breaker"]
        request = kp.row(final, "request")
        assert request["count"] < truth / 5, "sampled: " + str(request)
        assert 0.9 * truth < request["est_count"] < 1.1 * truth, (request["est_count"], truth)  # 5 % on an idle machine
        events = max(r["calls"]["received"] for r in k.rows) / k.rows[-1]["elapsed_s"]
        assert events < 20000, events
        clean(n)


def test_the_budget_is_kept_by_sampling():
    """--max-overhead: the cost is reported, sampling keeps it below the limit, and the reason is shown."""
    with kp.Node(25) as n:
        n.eval("workload:start()")
        n.eval("workload:load(8,1)")
        k = attach(n, "-t", "workload:request/1", "-t", "workload:parse/1", "--max-overhead", "none")
        cost = k.wait_json(30, lambda r: r["overhead"] and r["elapsed_s"] > 3 and r["overhead"]["percent"] > 0)["overhead"]
        assert cost["limit"] is None and cost["per_call_ns"] > 0 and isinstance(cost["assumed"], bool), cost
        assert k.rows[-1]["sample_why"] is None and k.rows[-1]["sample"] == 1, k.rows[-1]
        assert k.interrupt() == 0, k.saw()
        limit = max(0.01, round(cost["percent"] / 3, 3))
        k = attach(n, "-t", "workload:request/1", "-t", "workload:parse/1", "--max-overhead", str(limit))
        kept = k.wait_json(40, lambda r: r["sample_why"] == "max-overhead" and 0 < r["overhead"]["percent"] < limit)
        assert kept["sample"] > kept["sample_asked"] == 1 and kept["overhead"]["limit"] == round(limit, 2), kept
        n.eval("workload:load_done()", 30)
        assert k.interrupt() == 0, k.saw()
        kp.conserves(k.final())
        clean(n)


def test_who_cannot_follow_has_it_opened():
    """A small ring: the node is fine, but events are lost in kprof-top. kprof-top asks the node once to open the breaker."""
    with workload_node(25) as n:
        n.eval("workload:load(8,2)")
        k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "--cooldown", "60s", "-t", "request=workload:request/1",
                  "-t", "parse=workload:parse/1", "-t", "db=workload:db/1", "--max-overhead", "none", "--max-age", "20s", n.name,
                  env={"KPROF_TEST_RING": "16"})
        opened = k.wait_json(60, lambda r: state(r) == "open")
        assert "kprof-top is too slow" in opened["breaker"]["reason"], opened["breaker"]
        assert opened["lost"]["ring"] > 0, opened["lost"]
        # While it is open no function has a pattern, so nothing is sent; calls are counted. (The flag `call` may
        # still be set.)
        kp.until(30, lambda: n.ours()["patterns"] == [] and flags(n) in ([], ["call"]), 0.2, what=lambda: (n.ours()["patterns"], flags(n)))
        assert state(k.rows[-1]) == "open", k.rows[-1]["breaker"]
        assert k.interrupt() == 0, k.saw()
        kp.conserves(k.final())
        assert k.final()["breaker"]["trips"] == 1, k.final()["breaker"]
        clean(n)
        n.eval("workload:load_done()", 30)


def test_a_reader_that_is_slower_than_the_reports():
    """Each report takes longer to write than --delay: events are still taken, and the lease is renewed."""
    with workload_node(25) as n:
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        proc = subprocess.Popen([kp.PROGRAM, "--batch", "--format", "json", "-d", "100ms", "--max-overhead", "none", "-t", "request=workload:request/1", n.name],
                                stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE, cwd=kp.scratch(), env=kp.environment())
        kp.at_end(lambda: kp.kill_pid(proc))
        os.close(write)
        n.eval("spawn(fun L() -> workload:request(read), receive after 2 -> L() end end)")
        counts = []
        with os.fdopen(read) as out:
            for line in out:
                r = json.loads(line)
                counts.append(r["requests"]["started"])
                if len(counts) == 100:
                    break
                time.sleep(0.17)  # this is what is tested: the reader is slow
        assert len(counts) == 100, proc.stderr.read()
        rises = [b > a for a, b in zip(counts[60:], counts[61:])]
        assert all(rises), "reports without new events: %s" % counts[60:]
        proc.send_signal(2)
        assert proc.wait(30) in (0, 1), proc.stderr.read()
        clean(n)
