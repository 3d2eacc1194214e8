"""The parts of the time of calls, against what the workload measured itself (parts_work.erl)."""
import glob
import json
import os
import signal

import kp
from common import attach, clean

TIERS = ("-t", "request=parts_work:request/1", "-t", "step=parts_work:step/2", "-t", "serve=parts_work:serve/1", "-i", "parts_work:request/1 arg(1)")
KINDS = ("run", "wait", "mailbox", "dirty", "gc", "heap", "mixed")
FLAGS = {"running", "scheduler_id", "garbage_collection"}


def mean(parts, *names):
    return sum(parts[n]["mean_us"] for n in names)


def delay_us(node):
    """The time for which threads of the node waited for a processor of this machine."""
    return sum(int(open(f).read().split()[1]) for f in glob.glob("/proc/%d/task/*/schedstat" % node.proc.pid)) / 1000


def parts_of(final, tier="step"):
    return {r["identity"]: r["parts"] for r in final["rows"] if r["tier"] == tier and r["identity"] and "parts" in r}


def ns(us):
    return round(us * 1000)


def pieces_cover(final):
    """Of each call of each slow request, the pieces follow each other, from its start to its end, and the parts are
    their sums, to the nanosecond."""
    seen = set()
    for slow in final["slow"]:
        for c in slow.get("call_parts", []):
            at, sums = ns(c["start_us"]), {}
            for p in c["pieces"]:
                assert ns(p["from_us"]) == at, (p, c)
                at += ns(p["duration_us"])
                sums[p["part"]] = sums.get(p["part"], 0) + ns(p["duration_us"])
            assert {k[:-3]: ns(v) for k, v in c.items() if k.endswith("_us") and k != "start_us" and v} == sums, c
            if c["tier"] == "request" and slow["tier"] == "request":
                assert at - ns(c["start_us"]) == ns(slow["duration_us"]), (c, slow)
                seen.add(slow["identity"])
    return seen


@kp.each(27, 29)
def test_known_parts(otp):
    """Each part is within 5 % of the truth, or within 100 us, and less than 5 % of the time is not known. The parts add
    up to the duration exactly. The length of a mailbox is known. A recording gives the same parts. Before OTP 29 garbage
    collections are not traced (kprof_hazard: gc_flags), and their time is 0 in all outputs."""
    kinds = [k for k in KINDS if otp >= 29 or k not in ("gc", "heap", "mixed")]
    rec = os.path.join(kp.scratch(), "parts%d.rec" % otp)
    with kp.Node(otp) as n:
        n.eval("parts_work:start()", 60)
        k = attach(n, *TIERS, "--detail", "1/1", "--mailbox", "--slow", "1ms", "--record", rec)
        k.tracing()
        for kind in kinds:
            n.eval("parts_work:run({warm,%s}, 1)" % kind, 60)  # the node finds out which functions receive messages
        k.wait_json(30, lambda r: r["requests"]["finished"] >= len(kinds))
        for kind in kinds:
            n.eval("parts_work:run(%s, 5)" % kind, 60)
        before = delay_us(n)
        n.eval("parts_work:hogs(10)", 60)
        taken = (delay_us(n) - before) / 3  # by other programs, from each of the three requests at most
        truth = {kind: dict(parts) for kind, parts in n.eval("parts_work:truth()")}
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        got = parts_of(final)
        heaps = [c["gc_us"] for s in final["slow"] if s["identity"] == "heap" for c in s.get("call_parts", []) if c["tier"] == "step"][:5]
        assert len(heaps) == (5 if "heap" in kinds else 0), final["slow"]
        assert otp >= 29 or all(p["gc"]["mean_us"] == 0 for p in got.values()), got
        for kind in kinds + ["run_queue"]:
            for part, us in truth[kind].items():
                # what the node measured of these includes the time in which the process waited for a scheduler, or a part of it
                with_it = {"run": ("run_queue", "gc"), "gc": ("run_queue",), "dirty": ("run_queue",), "wait": ("run_queue",)}.get(part, ()) if kind != "heap" else ()
                is_us = mean(got[kind], part, *with_it)
                least = mean(got[kind], part) if kind in ("mixed", "gc", "mailbox") else is_us
                if kind == "heap":
                    is_us = least = min(heaps)
                print("%s: %s %.0f us, the node measured %.0f us" % (kind, part, is_us, us))
                short = taken if kind == "run_queue" else 0
                most = max(0.05 * us, 100)
                assert -short - most <= is_us - us and least - us <= most, (kind, part, least, is_us, us, short, got[kind])
                assert got[kind][part]["share"] > (0.3 if kind not in ("mixed", "mailbox", "heap") else 0), got[kind]
            assert got[kind]["unknown"]["share"] < 0.05, got[kind]
            assert abs(sum(v["share"] for v in got[kind].values() if isinstance(v, dict)) - 1) < 0.001, got[kind]
        queues = [p["queue"] for s in final["slow"] if s["identity"] == "mailbox" for c in s.get("call_parts", []) for p in c["pieces"] if "queue" in p]
        # a message of the request waits, with at most four before it; the node is asked up to 10 ms later
        assert queues and all(1 <= q <= 5 for q in queues), queues
        assert pieces_cover(final) >= {"wait", "mailbox", "dirty", "mixed"} & set(kinds), final["slow"]
        clean(n)
    again = json.loads(kp.run("--replay", rec, "--batch", "--format", "json", "--slow", "1ms").stdout.splitlines()[-1])
    for tier in ("request", "step", "serve"):
        assert parts_of(final, tier) and parts_of(again, tier) == parts_of(final, tier), (tier, parts_of(again, tier), parts_of(final, tier))


@kp.each(27, 29)
def test_kill_9(otp):
    """kprof-top is killed while processes of requests have the flags: they lose them."""
    with kp.Node(otp) as n:
        n.eval("parts_work:start()", 60)
        k = attach(n, *TIERS, "--detail", "1/1")
        k.tracing()
        n.eval("[spawn(fun() -> parts_work:run(wait, 1000) end) || _ <- lists:seq(1, 5)], ok")
        k.wait_json(30, lambda r: r["requests"]["finished"] > 20 and parts_of(r))
        k.proc.send_signal(signal.SIGKILL)
        k.proc.wait()
        clean(n)  # this also checks that no session is left; the flags of a session end with it


@kp.each(25)
def test_no_flags_on_old_vms(otp):
    """Where the flags could crash the VM, no process ever has one. The node is asked, and each call that could set one
    is watched. kprof-top says that there is no detail."""
    with kp.Node(otp) as n:
        n.eval("parts_work:start()", 60)
        n.eval("parts_work:watch()")
        k = attach(n, *TIERS, "--detail", "1/1")
        k.tracing()
        n.eval("spawn(fun() -> parts_work:run(wait, 20) end)")
        seen = n.eval("lists:usort([F || _ <- lists:seq(1, 10), P <- processes(), {flags, Fs} <- [receive after 1 -> erlang:trace_info(P, flags) end], F <- Fs])", 60)
        assert "call" in seen, seen
        assert not FLAGS & set(seen), seen
        assert k.interrupt() == 0, k.saw()
        assert not parts_of(k.final())
        assert k.stderr.count("--detail") == 1 and "--detail needs OTP 27.1 or later" in k.stderr, k.saw()
        watched = n.eval("parts_work:watched()")
        assert watched.get("call") == "trace" and watched.get("is_seq_trace") == "trace_pattern", watched
        assert not FLAGS & set(watched), watched
        clean(n)
