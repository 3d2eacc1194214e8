"""Part "stacks" of impact.py: what stack sampling costs: the throughput of loops at full speed, and the latency of
open-loop clients, in pairs without and with a sampler at its defaults."""
import os
import re
import signal
import statistics
import subprocess
import time

from impact_common import CouldNotRun, Cpu, kp, node, number, quantile_us, ratio, say, slices_us, table

CLIENTS_RATE = 5000
SAMPLE_RATE, SAMPLE_WORKERS, SAMPLE_CLIENTS = 1000, 32, 200  # one request in 500 takes 100 ms: the others must not wait for its client
IDLE = "F = fun F() -> receive stop -> ok after %s -> F() end end, put(stacks_idle, [spawn(F) || _ <- lists:seq(1, %d)]), ok"
SAMPLERS = "length([P || P <- processes(), {_, {_, stack_sampler_init, _}} <- [process_info(P, initial_call)]])"
PATIENCE_MS, LATER_S = 10000, 60
SUMMARY = re.compile(r"(\d+) samples in ")


class Sampling:
    """A kprof-top that samples the top 100 until it is stopped."""

    def __init__(self, n):
        self.n, self.path = n, os.path.join(kp.scratch(), "stacks.folded")
        env = dict(os.environ, HOME=kp.scratch(), KPROF_COOKIE=n.cookie)
        self.proc = subprocess.Popen([kp.PROGRAM, "--profile", "wall", "--top", "100", "-o", self.path, n.name], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
        self.pid = self.proc.pid
        kp.at_end(lambda: kp.kill_pid(self.proc))
        kp.until(LATER_S, lambda: n.eval(SAMPLERS) > 0 or self.proc.poll() is not None, what=lambda: "no sampler on the node")
        if self.proc.poll() is not None:
            raise CouldNotRun(f"kprof-top: exit {self.proc.returncode}: {self.proc.communicate()[1][-500:]}")

    def end(self):
        """The number of samples in its file."""
        self.proc.send_signal(signal.SIGINT)
        said = self.proc.communicate(timeout=LATER_S)[1]
        if self.proc.returncode != 0:
            raise CouldNotRun(f"kprof-top: exit {self.proc.returncode}: {said[-500:]}")
        os.unlink(self.path)
        return int(SUMMARY.search(said).group(1))


def throughput(n, on, o):
    """Rounds per second of the loops, the CPU time of kprof-top and of others in percent of a core, and the samples per second."""
    k = Sampling(n) if on else None
    time.sleep(o.settle)
    cpu, began = Cpu(n, k), time.monotonic()
    rounds, ns, _ = n.eval(f"impact_hot:hold({int(1000 * o.stack_seconds)})", 60 + o.stack_seconds)
    _, ours, others = cpu.taken()
    gone = time.monotonic() - began
    return {"rate": rounds * 1e9 / ns, "ours": ours, "others": others, "samples": k.end() / (gone + o.settle) if k else 0}


def clients(n, on, o, kind="requests", rate=CLIENTS_RATE, many=0):
    """p50 and p99 of open-loop clients."""
    n.eval(f"impact_load:start({kind}, {many or o.clients}, {rate}, 0)")
    k = Sampling(n) if on else None
    time.sleep(o.settle)
    n.eval(f"impact_load:window({int(o.stack_seconds * 1000)})")
    time.sleep(o.stack_seconds)
    result = n.eval(f"impact_load:result({PATIENCE_MS})", PATIENCE_MS / 1000 + 60)
    if k:
        k.end()
    return {"p50": quantile_us(result["hist"], 0.5), "p99": quantile_us(result["hist"], 0.99), "slices": slices_us(result, 0.99)}


def pairs(measure, n, o):
    """[(without, with)], the order of the two in turn."""
    found = []
    for turn in range(o.reps):
        both = {on: measure(n, on, o) for on in ((False, True) if turn % 2 == 0 else (True, False))}
        found.append((both[False], both[True]))
    return found


def sample_clients(n, on, o):
    return clients(n, on, o, "sample", SAMPLE_RATE, SAMPLE_CLIENTS)


def sample_node(n):
    """The node of --demo, without its own load, but for a request per second."""
    n.eval(f'kprof_sample:start(["1", "{SAMPLE_WORKERS}"])')


NODES = ("sample", "working", "idle")


def nodes(o):
    """{word of --stack-nodes: (name, what makes the node, what measures its clients)}"""
    return {"sample": ("the sample node", sample_node, sample_clients),
            "working": ("200 processes, each works every 20 ms", lambda n: n.eval(IDLE % (20, 200)), clients),
            "idle": (f"{o.stack_processes:,} processes, all idle", lambda n: n.eval(IDLE % ("infinity", o.stack_processes), 120), clients)}


def run(otp, o):
    rows = []
    for name, prepare, measure in [nodes(o)[word] for word in o.stack_nodes]:
        with node(otp, o.erl) as n:
            prepare(n)
            n.eval(f"impact_hot:start(request, impact_hot:rounds(25000), {n.eval('erlang:system_info(schedulers_online)')})")
            loops = pairs(throughput, n, o)
            n.eval("impact_hot:stop()")
            late = pairs(measure, n, o)
        loss = [100 * (1 - b["rate"] / a["rate"]) for a, b in loops]
        rows.append([name, f"{statistics.median(loss):.2f} ({min(loss):.2f} to {max(loss):.2f})", number(statistics.median(b["samples"] for _, b in loops)),
                     number(statistics.median(b["ours"] for _, b in loops), 1), number(statistics.median(a["p99"] for a, _ in late)),
                     number(statistics.median(b["p99"] for _, b in late)), number(statistics.median(ratio(b["p50"], a["p50"]) for a, b in late), 2),
                     number(statistics.median(ratio(b["p99"], a["p99"]) for a, b in late), 2),
                     number(statistics.median(ratio(b["slices"], a["slices"]) for a, b in late), 2), number(statistics.median(a["others"] for a, _ in loops))])
        say("  " + ", ".join(rows[-1]))
    return "\n".join([
        f"### Stack sampling, OTP {otp}", "",
        f"`--profile wall --top 100` at its defaults, without and with it in turn, {o.reps} pairs of {o.stack_seconds:g} s. Throughput: a loop on each scheduler,"
        f" at full speed, percent lost by the clock (median, minimum, maximum). Latency: {o.clients} open-loop clients, {CLIENTS_RATE:,} requests/s (of the sample node {SAMPLE_CLIENTS}, {SAMPLE_RATE:,}),"
        " from the intended start; medians, ratios the median of the pairs; column \"of slices\": the same for the median of the p99 of each slice (250 ms, or a 64th of a long window). CPU in percent of a core.", "",
        table(["", "throughput lost %", "samples/s", "kprof-top CPU %", "p99 us without", "with", "p50 ratio", "p99 ratio", "of slices", "others' CPU %"], rows), ""])
