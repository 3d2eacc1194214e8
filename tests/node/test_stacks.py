"""--profile on nodes with known behaviour (tests/agent/agent_burn.erl): four processes, or one, use CPU in f, called from g
and h at two to one; one holds many binaries; one has a growing queue; twenty are idle."""
import collections
import math
import os
import re
import time

import kp
from common import OTPS, clean, one_sentence

SECONDS = "8"
SHARES_SECONDS = "30"  # enough samples for a bound of 3 percentage points
INTERVAL_MS = 3
TRIES, TOO_BUSY = 5, "the node may be too busy"  # on a busy machine; then kprof-top did not attach
BURN = "[agent_burn:start(4, 20)]"
BURN_LITTLE = "[agent_burn:start(1, 20)]"  # where the CPU time of the burners does not matter: other tests run, too


def profile(node, what, path, *args, seconds=SECONDS):
    """Returns the text of the file, and the last messages."""
    path = os.path.join(kp.scratch(), path)
    for _ in range(TRIES):
        k = kp.run("--profile", what, "--duration", seconds + "s", "--sample-interval", "%dms" % INTERVAL_MS,
                   "--max-overhead", "none", "-o", path, *args, node.name, deadline_s=60)
        if TOO_BUSY not in k.stderr:
            break
    assert k.proc.returncode == 0, k.saw()
    assert "0 patterns, 0 flags, 0 processes, 0 modules" in k.stderr, k.saw()
    with open(path, encoding="utf-8") as f:
        return f.read(), k.stderr


def folded(text):
    """{stack: width}"""
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()}


@kp.each(*OTPS)
def test_shares(otp):
    with kp.Node(otp) as n:
        n.eval("spawn(fun() -> %s, receive never -> ok end end), ok" % BURN)
        text, _ = profile(n, "cpu", "shares%s.folded" % otp, seconds=SHARES_SECONDS)
        rows = folded(text)
        of = {who: sum(w for s, w in rows.items() if re.search(r"burn/1;agent_burn:%s/0;agent_burn:f/1$" % who, s)) for who in "gh"}
        each_us = 11 * INTERVAL_MS * 1000  # the weight of a sample
        samples = sum(of.values()) // each_us
        assert samples > 30, (samples, rows)
        share = of["g"] / sum(of.values())
        bound = max(0.03, 3.5 * math.sqrt(2 / 9 / samples))  # a busy machine has fewer samples
        print("OTP %s: from g %.3f, %d samples, bound %.3f" % (otp, share, samples, bound))
        assert abs(share - 2 / 3) < bound, (share, samples, bound)
        burns, idles = (sum(w for s, w in rows.items() if "agent_burn:" + f in s) for f in ("burn/1", "idle/0"))
        assert idles / 20 < 0.1 * burns / 4, rows  # idle processes do not count, except while they run
        clean(n)


@kp.each(*OTPS)
def test_metrics(otp):
    with kp.Node(otp) as n:
        n.eval("spawn(fun() -> %s, receive never -> ok end end), ok" % BURN_LITTLE)
        for what, who in (("bin_vheap_size", "agent_burn:hoard/2"), ("message_queue_len", "agent_burn:growing/0")):
            rows = folded(profile(n, what, "metric%s.folded" % otp, seconds="4")[0])
            top = max(rows, key=rows.get)
            assert who in top, (what, rows)
        clean(n)


@kp.each(*OTPS)
def test_statuses(otp):
    """Processes that burn CPU are running or ready to run; the waiting processes and the 50 idle ones are waiting."""
    with kp.Node(otp) as n:
        n.eval("spawn(fun() -> agent_burn:start(4, 50), receive never -> ok end end), ok")
        text, _ = profile(n, "wall", "statuses%s.perf" % otp, seconds="4")
        of = {who: collections.Counter() for who in ("burn/1", "waits/0", "idle/0")}
        for sample in text.split("\n\n"):
            status = sample.lstrip("\n").split("\t", 1)[0]
            for who, seen in of.items():
                seen[status] += "agent_burn:%s" % who in sample
        print("OTP %s: %s" % (otp, of))
        burns, waits, idles = ({s: c for s, c in seen.items() if c} for seen in of.values())
        assert set(burns) <= {"running", "runnable", "garbage_collecting"} and sum(burns.values()) > 20, burns
        # on a busy machine, a process that has just been woken is seen ready to run, or running
        assert waits["waiting"] > 0.9 * sum(waits.values()) and waits["waiting"] > 5, waits
        assert idles["waiting"] > 0.9 * sum(idles.values()) and sum(idles.values()) > 250, idles


def test_no_process_matches():
    with kp.Node(25) as n:
        k = kp.run("--profile", "wall", "--duration", "1s", "--processes", "supervisor:kernel/1", "-o", os.path.join(kp.scratch(), "none.svg"), n.name)
        assert k.proc.returncode == 1 and "no process was sampled" in k.stderr and "proc_lib:init_p/5" in k.stderr, k.saw()


def test_deltas_add_up():
    """In the perf file, the changes of a process add up to its last value minus its first."""
    with kp.Node(25) as n:
        n.eval("spawn(fun() -> %s, receive never -> ok end end), ok" % BURN)
        text, _ = profile(n, "wall", "deltas.perf", seconds="4")
        values = collections.defaultdict(list)
        for line in text.splitlines():
            head = re.match(r"\w+\t(\S+) \[000\] [\d.]+: cpu-clock:", line)
            for metric, value, delta in re.findall(r"metric_erlang_(\w+): (-?\d+), (-?\d+)", line) if head else ():
                values[head.group(1), metric].append((int(value), int(delta)))
        assert {m for _, m in values} >= {"reductions", "message_queue_len", "memory", "bin_vheap_size", "minor_gcs"}, list(values)[:20]
        assert len({p for p, _ in values}) >= 25, len(values)
        for key, seen in values.items():  # after 4 s the processes were chosen at least once
            assert seen[0][1] == 0 and sum(d for _, d in seen) == seen[-1][0] - seen[0][0], (key, seen)
        clean(n)


def test_killed():
    """After kill -9 of kprof-top nothing of the sampler is left."""
    with kp.Node(25) as n:
        n.eval("spawn(fun() -> %s, receive never -> ok end end), ok" % BURN)
        sampler = "[P || P <- processes(), {_, {M, F, _}} <- [process_info(P, initial_call)], " \
                  "lists:prefix(\"kprof_tools_\", atom_to_list(M)), lists:prefix(\"stack_\", atom_to_list(F))]"
        for _ in range(TRIES):
            k = kp.Kp("--profile", "cpu", "-o", os.path.join(kp.scratch(), "killed.folded"), n.name)
            kp.until(30, lambda: n.eval("length(%s)" % sampler) > 0 or k.proc.poll() is not None, what=k.saw)
            if k.proc.poll() is None or TOO_BUSY not in k.stderr:
                break
        assert k.proc.poll() is None, k.saw()
        kp.kill_pid(k.proc)
        began = time.monotonic()
        kp.until(30, lambda: n.eval("length(%s)" % sampler) == 0, what="the sampler is gone")
        print("the sampler was gone after %.1f s" % (time.monotonic() - began))
        clean(n)


def test_inside():
    """Only the processes of traced requests, though others are busier."""
    with kp.Node(25) as n:
        n.eval("[agent_load:steady(), agent_load:brief()], spawn(fun() -> %s, receive never -> ok end end), ok" % BURN)
        for i in range(TRIES):
            rows = folded(profile(n, "wall", "inside%d.folded" % i, "--processes", "inside", "-t", "entry=agent_load:entry/1", seconds="3")[0])
            assert all("agent_load:" in s for s in rows), rows
            if any("agent_load:one/0" in s for s in rows):  # these live for 20 ms: a busy machine may miss all of them
                break
        else:
            raise AssertionError(rows)
        clean(n)


def test_rotation():
    """A new file each second, of which two are kept; pids as numbers; one process and what it has started."""
    with kp.Node(25) as n:
        n.eval("register(keeper, hd(%s)), ok" % BURN_LITTLE)
        where = os.path.join(kp.scratch(), "rotation")
        os.mkdir(where)
        k = kp.run("--profile", "wall", "--processes", "children:keeper", "--flush", "1s", "--files", "2", "--perf-pid", "integer",
                   "--duration", "8s", "--sample-interval", "%dms" % INTERVAL_MS, "-o", os.path.join(where, "of-%t.perf"), n.name, deadline_s=60)
        assert k.proc.returncode == 0, k.saw()
        names = sorted(os.listdir(where))
        assert len(names) == 2 and all(re.fullmatch(r"of-\d{8}-\d{6}(-\d+)?\.perf", f) for f in names), names
        assert int(re.search(r"(\d+) files were written", k.stderr).group(1)) >= 3, k.saw()
        stamps = []
        for name in names:
            with open(os.path.join(where, name), encoding="utf-8") as f:
                text = f.read()
            heads = re.findall(r"^\w+\t(\S+) \[000\] ([\d.]+): cpu-clock:", text, re.M)
            assert heads and all(pid.isdigit() for pid, _ in heads), text[:500]
            assert "agent_burn:idle/0" in text and "kernel_sup" not in text, text[:500]
            stamps.append({(pid, float(at)) for pid, at in heads})
        assert not stamps[0] & stamps[1], "each sample is in one file"
        first, second = (sorted(at for _, at in s) for s in stamps)
        assert first[0] < second[0] and first[-1] < second[-1], (first, second)
        clean(n)


def test_trigger():
    """Nothing is sampled until calls get slow; then one file is written, and the run ends."""
    with kp.Node(25) as n:
        where = os.path.join(kp.scratch(), "trigger")
        os.mkdir(where)
        sampler = "length([P || P <- processes(), {_, {_, stack_sampler_init, _}} <- [process_info(P, initial_call)]])"
        n.eval("P = spawn(fun F() -> receive {ms, Ms} -> put(ms, Ms) after 0 -> ok end, "
               "agent_load:work(timer, sleep, [case get(ms) of undefined -> 2; M -> M end]), put(n, case get(n) of undefined -> 1; N -> N + 1 end), F() end), register(worker, P), ok")
        k = kp.Kp("--profile", "wall", "--processes", "inside", "-t", "work=agent_load:work/3", "--trigger", "work.p50>100ms", "-n", "1",
                  "-d", "200ms", "--duration", "1s", "-o", os.path.join(where, "%t.folded"), n.name)
        kp.until(30, lambda: n.eval("kp_target:traced()") != [], what=k.saw)
        calls = "proplists:get_value(n, element(2, process_info(whereis(worker), dictionary)))"
        enough = n.eval(calls) + 500  # of 2 ms: the condition is checked several times
        kp.until(60, lambda: n.eval(calls) > enough, what=k.saw)
        assert n.eval(sampler) == 0 and os.listdir(where) == [] and "trigger work.p50" not in k.stderr, k.saw()
        assert "waiting for a trigger" in k.stderr, k.saw()
        n.eval("worker ! {ms, 300}, ok")
        assert k.wait(60) == 0, k.saw()
        names = os.listdir(where)
        assert len(names) == 1, names
        with open(os.path.join(where, names[0]), encoding="utf-8") as f:
            assert "timer:sleep/1" in f.read()
        assert "trigger work.p50>100ms" in k.stderr and "samples written to" in k.stderr, k.saw()
        # The same with events: those from before the trigger are in the recording, too.
        n.eval("worker ! {ms, 2}, ok")
        k = kp.run("--record", os.path.join(where, "%t.rec"), "-t", "work=agent_load:work/3", "--trigger", "work.count>20", "--before", "1m",
                   "-n", "1", "--duration", "1s", n.name, deadline_s=60)
        assert k.proc.returncode == 0, k.saw()
        record, = (f for f in os.listdir(where) if f.endswith(".rec"))
        assert "recorded to" in k.stderr and record in k.stderr, k.saw()
        k = kp.run("--flame", os.path.join(where, record), "-b", "-o", os.path.join(where, "none.svg"))
        one_sentence(k, 1, "has no stack samples", "key F")
        k = kp.run("--replay", os.path.join(where, record), "-b", "-n", "1", "--format", "json")
        work = kp.row(k.final(), "work")
        assert work["count"] > 40, work
        # The queue of a process, by its name.
        k = kp.Kp("--record", os.path.join(where, "%t-queue.rec"), "-t", "work=agent_load:work/3", "--trigger", "queue(worker)>40",
                  "-n", "1", "--duration", "1s", n.name)
        kp.until(60, lambda: "waiting for a trigger" in k.stderr, what=k.saw)
        assert not [f for f in os.listdir(where) if f.endswith("-queue.rec")]
        n.eval("[worker ! nothing || _ <- lists:seq(1, 50)], ok")
        assert k.wait(60) == 0 and "trigger queue(worker)>40 fired" in k.stderr, k.saw()
        assert [f for f in os.listdir(where) if f.endswith("-queue.rec")]
        clean(n)


def test_wrong_usage():
    for args, words in ((("--top", "5"), ("--top", "--profile")), (("--profile", "cpu"), ("--output",)),
                        (("--profile", "cpu", "-o", "x.txt"), ("extension",)), (("--profile", "speed", "-o", "x.svg"), ("--profile speed: unknown value",)),
                        (("--profile", "cpu", "-o", "x.svg", "--processes", "no one"), ("--processes", "app:NAME"))):
        one_sentence(kp.run(*args, "nobody@127.0.0.1"), 2, *words)
    one_sentence(kp.run("-b", "-t", "a:b/1", "-o", "x.svg", "nobody@127.0.0.1"), 2, "x.svg is a file of stack samples", "--profile")
    one_sentence(kp.run("--replay", "x.rec", "-b", "-o", "x.svg"), 2, "x.svg is a file of stack samples", "--flame")
