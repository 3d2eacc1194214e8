"""--profile on nodes with known behaviour (tests/agent/agent_burn.erl): four processes use CPU in f, called from g
and h at two to one; one holds many binaries; one has a growing queue; twenty are idle."""
import collections
import math
import os
import re

import kp
from common import OTPS, clean, one_sentence

SECONDS = os.environ.get("KPROF_STACK_SECONDS", "8")  # with 30 s the shares are within 3 points
INTERVAL_MS = 3
BURN = "[agent_burn:start(4, 20)]"


def profile(node, what, path, *args, seconds=SECONDS):
    """Returns the text of the file, and the last messages."""
    path = os.path.join(kp.scratch(), path)
    k = kp.run("--profile", what, "--duration", seconds + "s", "--sample-interval", "%dms" % INTERVAL_MS, "--max-overhead", "none",
               "-o", path, *args, node.name, deadline_s=60)
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
        text, _ = profile(n, "cpu", "shares%s.folded" % otp)
        rows = folded(text)
        of = {who: sum(w for s, w in rows.items() if re.search(r"burn/1;agent_burn:%s/0;agent_burn:f/1$" % who, s)) for who in "gh"}
        each_us = 11 * INTERVAL_MS * 1000  # the weight of a sample
        samples = sum(of.values()) // each_us
        assert samples > 30, (samples, rows)
        share = of["g"] / sum(of.values())
        bound = 0.03 if float(SECONDS) >= 30 else 4 * math.sqrt(2 / 9 / samples)  # the bound for this number of samples
        print("OTP %s: from g %.3f, %d samples, bound %.3f" % (otp, share, samples, bound))
        assert abs(share - 2 / 3) < bound, (share, samples, bound)
        burns, idles = (sum(w for s, w in rows.items() if "agent_burn:" + f in s) for f in ("burn/1", "idle/0"))
        assert idles / 20 < 0.1 * burns / 4, rows  # idle processes do not count, except while they run
        clean(n)


@kp.each(*OTPS)
def test_metrics(otp):
    with kp.Node(otp) as n:
        n.eval("spawn(fun() -> %s, receive never -> ok end end), ok" % BURN)
        for what, who in (("bin_vheap_size", "agent_burn:hoard/2"), ("message_queue_len", "agent_burn:growing/0")):
            rows = folded(profile(n, what, "metric%s.folded" % otp, seconds="4")[0])
            top = max(rows, key=rows.get)
            assert who in top, (what, rows)
        clean(n)


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
                  "lists:prefix(\"kprof_agent_\", atom_to_list(M)), lists:prefix(\"stack_\", atom_to_list(F))]"
        k = kp.Kp("--profile", "cpu", "-o", os.path.join(kp.scratch(), "killed.folded"), n.name)
        kp.until(30, lambda: n.eval("length(%s)" % sampler) > 0, what=k.saw)
        kp.kill_pid(k.proc)
        kp.until(30, lambda: n.eval("length(%s)" % sampler) == 0, what="the sampler is gone")
        clean(n)


def test_wrong_usage():
    for args, words in ((("--top", "5"), ("--top", "--profile")), (("--profile", "cpu"), ("--output",)),
                        (("--profile", "cpu", "-o", "x.txt"), ("ending",)), (("--profile", "speed", "-o", "x.svg"), ("--profile speed: unknown value",)),
                        (("--profile", "cpu", "-o", "x.svg", "-t", "m:f/1"), ("--tier",))):
        one_sentence(kp.run(*args, "nobody@127.0.0.1"), 2, *words)
