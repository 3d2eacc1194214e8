"""Shared by the parts of impact.py: the node with the load, kprof-top on it, CPU time from /proc, quantiles, tables."""
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "node")]
import kp  # noqa: E402

TIERS = {
    "requests": ["-t", "entry=impact_load:entry/1", "-t", "t1=impact_load:t1/1", "-t", "t2=impact_load:t2/1", "-t", "t3=impact_load:t3/1",
                 "-i", "impact_load:entry/1 arg(1)"],
    "calls": ["-t", "ask=impact_load:ask/2", "-t", "served=impact_load:served/1", "-i", "impact_load:ask/2 arg(1)"],
    "state": ["-t", "call=impact_load:call/2", "-t", "handle=impact_load:handle/2", "-i", "impact_load:call/2 arg(1)"],
}
ENTRY = {"requests": "entry", "calls": "ask", "state": "call"}
STATE_WORDS = 25000
BEGIN, END = "<!-- impact: made by make impact -->", "<!-- end of impact -->"


class CouldNotRun(Exception):
    """Something could not be run; this sets the exit status. Never raised because of a measured time."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def bound():
    """Arguments of erl that bind each scheduler to a core. Otherwise Linux may put the threads of two schedulers on one
    core while another one is idle: on some virtual machines after each wake-up of one by the other, for 4 to 100 ms.
    Every change of trace patterns wakes all schedulers, so that would be measured, not the tracing."""
    last = len(os.sched_getaffinity(0)) - 1
    return ["+sct", f"L0-{last}c0-{last}p0", "+sbt", "db"] if last > 0 else []


_compiled = False


def node(otp, args=()):
    """A node with the modules of the load; more arguments of erl."""
    global _compiled
    if not _compiled:
        src = sorted(os.path.join(HERE, f) for f in os.listdir(HERE) if f.startswith("impact_") and f.endswith(".erl"))
        twin = os.path.join(kp.scratch(), "impact_twin.erl")
        with open(os.path.join(HERE, "impact_hot.erl")) as f, open(twin, "w") as t:
            t.write(f.read().replace("-module(impact_hot).", "-module(impact_twin)."))
        sample = os.path.join(kp.ROOT, "src", "app", "kprof_sample.erl")
        subprocess.run(["erlc", "-o", kp.beams(), *src, twin, sample], check=True)
        _compiled = True
    n = kp.Node(otp, args=args, spin=True)
    n.eval("[code:ensure_loaded(M) || M <- [impact_load, impact_hot, impact_twin]]")
    return n


# ---- CPU time from /proc -------------------------------------------------------------------------------------

def cpu_s(pid):
    """CPU time of all threads of a process."""
    if not pid:
        return 0.0
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/schedstat") as f:
                total += int(f.read().split()[0])
        except OSError:  # the thread has just ended
            pass
    return total / 1e9


def machine_s():
    """CPU time of everything on this machine, including stolen time."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Cpu:
    """CPU of the node, of kprof-top and of all other programs, in percent of a core, since the object was created."""

    def __init__(self, n, k):
        self._pids = (n.proc.pid, k.pid if k else None)
        self._at = self._now()

    def _now(self):
        return time.monotonic(), machine_s(), *(cpu_s(p) for p in self._pids)

    def taken(self):
        gone, everybody, *ours = (b - a for a, b in zip(self._at, self._now()))
        return [100 * s / gone for s in (*ours, max(0, everybody - sum(ours)))]


def machine():
    """The number and model of its cores; nothing that identifies the machine."""
    kind = "unknown CPU"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                kind = line.split(":", 1)[1].strip()
                break
    return f"{len(os.sched_getaffinity(0))} cores, {kind}"


# ---- kprof-top ------------------------------------------------------------------------------------------------

class Attached:
    """kprof-top in batch mode, writing one object per second to a file."""

    _count = 0

    def __init__(self, n, *args, delay="1s"):
        Attached._count += 1
        self.path = os.path.join(kp.scratch(), f"impact_{Attached._count}.json")
        self._err_path = self.path + ".err"
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL") or (k.startswith("KPROF_") and not k.startswith("KPROF_TEST"))}
        env.update(HOME=kp.scratch(), KPROF_COOKIE=n.cookie)
        self.argv = [kp.PROGRAM, "--batch", "--format", "json", "-d", delay, "-o", self.path, *map(str, args), n.name]
        with open(self._err_path, "wb") as err:
            self.proc = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err, env=env, cwd=kp.scratch())
        self.pid = self.proc.pid
        kp.at_end(lambda: kp.kill_pid(self.proc))

    def rows(self):
        try:
            with open(self.path) as f:
                return [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def said(self):
        with open(self._err_path, errors="replace") as f:
            return f.read()[-2000:]

    def wait_row(self, test, seconds=60):
        """The first object that passes the test."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for r in self.rows():
                if test(r):
                    return r
            if self.proc.poll() is not None:
                break
            time.sleep(0.05)
        raise CouldNotRun(f"kprof-top did not reach this state (exit {self.proc.poll()}): {' '.join(self.argv)}: {self.said()}")

    def tracing(self, seconds=60):
        return self.wait_row(lambda r: r["tracing"] or r["breaker"]["trips"] > 0, seconds)

    def end(self, seconds=60):
        """Ends it with SIGINT; returns all its objects, the last of which covers the whole run."""
        self.proc.send_signal(signal.SIGINT)
        try:
            rc = self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            kp.kill_pid(self.proc)
            raise CouldNotRun(f"kprof-top did not end in {seconds} s: {self.said()}") from None
        rows = self.rows()
        if rc != 0 or not rows or not rows[-1]["final"]:
            raise CouldNotRun(f"kprof-top ended with {rc}: {self.said()}")
        return rows


# ---- values --------------------------------------------------------------------------------------------------

def quantile_us(buckets, q):
    """For [[least_ns, width_ns, count]], ascending: the middle of the bucket with the value of this rank. None if
    empty."""
    total = sum(b[2] for b in buckets)
    if not total:
        return None
    rank, seen = max(1, math.ceil(q * total)), 0
    for least, width, count in buckets:
        seen += count
        if seen >= rank:
            return (least + (width - 1) / 2) / 1000
    return None


def slices_us(result, q):
    """The median of this quantile in the slices (of 250 ms or more) of a window. A stop of the whole machine raises the
    quantile of the slice in which it is, but not this value."""
    return median([quantile_us(s, q) for s in result["slices"]])


def median(values):
    """Median of the values that are not None; None if there are none."""
    there = [v for v in values if v is not None]
    return statistics.median(there) if there else None


def ratio(a, b):
    return a / b if a is not None and b else None


def number(v, digits=0, none="-"):
    return none if v is None else f"{v:,.{digits}f}"


def table(head, rows):
    """Markdown, also aligned for a terminal; the first column is text."""
    width = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    line = lambda r: "| " + " | ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, width))) + " |"  # noqa: E731
    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(width)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


def write(path, text, begin=BEGIN, end=END):
    """Replaces the text between the markers; the rest of the file stays."""
    old = ""
    if os.path.exists(path):
        with open(path) as f:
            old = f.read()
    block = f"{begin}\n{text}\n{end}"
    if begin in old and end in old:
        head, tail = old.split(begin, 1)[0], old.split(end, 1)[1]
    else:
        head, tail = (old.rstrip("\n") + "\n\n" if old else "# Results\n\n"), "\n"
    with open(path, "w") as f:
        f.write(head + block + tail)
