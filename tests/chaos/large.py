#!/usr/bin/env python3
"""large.py [--processes N] [--otp "25 27 29"] [--runs N] [--write]: the effect of kprof-top on a node with very many processes, and how
long attach and detach take. With --runs, a new node for each run, the OTP releases in turn; the values are the medians of the runs.

On the node a process of normal priority ticks every millisecond and reports its stalls during each step. core_stalls.c tells when a core of
the machine was stopped from outside; this part of a stall does not come from the node or from kprof-top. The node without kprof-top (the
control) is measured before and after. Each figure is printed beside its goal, with `!` if its median misses the goal; run it on an idle machine. The exit status is 1 only if the node
crashes, is not clean, or a step does not end. --write writes the table into tests/RESULTS.md."""
import argparse
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
import textwrap
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "real")]
import kp  # noqa: E402
from server import compiled  # noqa: E402

RESULTS = os.path.join(HERE, "..", "RESULTS.md")
BEGIN, END = "<!-- large: made by make large -->", "<!-- end of large -->"
TIERS = ["request", "parse", "store"]
ADDED = "format"
RULE = "large_load:request/1 arg(1)"
GOALS = {"attach to first row": 2, "detach until clean": 2, "kill -9 until clean": 3,  # seconds
         "report after detach": "0 modules", "report after detach, screen": "0 modules"}
STALL_MS = 10  # the goal of each stall
FORMS = {"s": ["%.2f"], "ms": ["%.1f", "%.1f", "%.0f", "%.1f"]}  # of the values of a figure, by its unit
CONTROL_S, TRACED_S, SETTLES_S, TIGHT_S, VIEWED_S = 10, 5, 1, 3, 4
TRIP_S = 60  # if the breaker has not opened by then, sampling keeps the limit
LATER_S = 180  # deadlines, not assertions
_beam = None


def load_beam():
    """Adds the load to the modules of every test node; to call before the first node starts."""
    global _beam
    if _beam is None:
        _beam = os.path.join(kp.beams(), "large_load.beam")
        subprocess.run(["erlc", "-o", kp.beams(), os.path.join(HERE, "large_load.erl")], check=True)


def large_node(otp, processes):
    load_beam()
    n = kp.Node(otp, args=["+P", str(max(262144, 2 * processes))], spin=True)
    there = n.eval("large_load:start(%d)" % processes, LATER_S)
    assert there >= processes, there
    return n


def options():
    return [x for t in TIERS for x in ("-t", "%s=large_load:%s/1" % (t, t))] + ["-i", RULE]


def batch(n):
    return kp.Kp("--batch", "--format", "json", "-d", "100ms", *options(), n.name)


def first_row(k):
    k.wait_json(LATER_S, lambda r: kp.count(r, "request") > 0)


def until_clean(n):
    """The node checks itself; raises an error if something is left."""
    left = n.eval("large_load:until_clean(%d000)" % LATER_S, LATER_S + 30)
    assert left == "clean", "not clean after %d s: %s" % (LATER_S, left)


def receipt(text):
    """The receipt of kprof-top, without the name of the node."""
    found = re.search(r"left there: (.*)", text)
    return found.group(1) if found else "none: " + " ".join(text[-500:].split())


# ---- the machine ----

def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine_s():
    """The (busy, stolen) seconds of all cores so far."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, soft, steal = (int(x) / os.sysconf("SC_CLK_TCK") for x in f.readline().split()[1:9])
    return user + nice + system + irq + soft, steal


class Cores:
    """When a core of the machine was stopped from outside."""

    def __init__(self):
        self.stops = []  # (begin, end) in microseconds
        self.proc = subprocess.Popen([compiled("core_stalls", directory=HERE)], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.kill()
        self.proc.wait()

    def read(self):
        for line in self.proc.stdout:
            self.stops.append(tuple(int(x) for x in line.split()))

    def check(self):
        assert self.proc.poll() is None, "core_stalls ended: it needs the right to real-time priority"

    def longest(self, since_us):
        return max((end - begin for begin, end in list(self.stops) if end > since_us), default=0)

    def outside(self, begin, end):
        """How much of this time a core was stopped, in microseconds. Any core: nobody knows on which one a scheduler ran."""
        stopped, at = 0, begin
        for a, b in sorted((max(a, begin), min(b, end)) for a, b in list(self.stops) if a < end and b > begin):
            stopped, at = stopped + max(0, b - max(a, at)), max(at, b)
        return stopped


class Phases:
    """The stalls of the ticker during each step: [(name, longest ms, the longest without its part from outside, sum over 5 ms, longest stop
    of a core)]."""

    def __init__(self, node, cores):
        self.node, self.cores, self.all = node, cores, []

    def during(self, name, what, settles_s=SETTLES_S):
        """Returns the time of the step, without the time until the node is quiet."""
        self.node.eval("large_load:phase()", LATER_S)
        began, since_us = time.monotonic(), time.time_ns() // 1000
        what()
        took = time.monotonic() - began
        time.sleep(settles_s)  # the length of the measurement
        longest, gaps = self.node.eval("large_load:phase()", LATER_S)
        self.cores.check()
        own = max((b - a - self.cores.outside(a, b) for a, b in gaps), default=longest)
        self.all.append((name, longest / 1000, own / 1000, sum(b - a for a, b in gaps) / 1000, self.cores.longest(since_us) / 1000))
        print("  %-32s %6.2f s   longest stall %5.1f ms, without stopped cores %5.1f; stalls over 5 ms %5.0f ms in all; longest stop of a core %5.1f ms"
              % ((name, took + settles_s) + self.all[-1][1:]), flush=True)
        return took

    def worst(self):
        """Yields (name, longest without stopped cores, longest, sum, longest stop of a core) of each kind of step: the worst one, and the mean
        of the sums."""
        for name in dict.fromkeys(p[0] for p in self.all):
            seen = [p for p in self.all if p[0] == name]
            _, longest, own, _, stop = max(seen, key=lambda p: p[2])
            yield name, own, longest, sum(p[3] for p in seen) / len(seen), stop


# ---- the steps ----

class Run:
    def __init__(self, otp, processes):
        self.otp, self.processes = otp, processes
        self.figures, self.failed = {}, []  # name of the figure -> (its values, the unit; "" for a text)

    def tell(self, name, value):
        self.figures[name] = ([value], "")
        print("  %-40s %s" % (name, value), flush=True)

    def seconds(self, name, value):
        self.figures[name] = ([value], "s")
        print("  %-40s %.2f s" % (name, value), flush=True)

    def all_of_it(self):
        load_beam()
        with Cores() as cores, large_node(self.otp, self.processes) as n:
            self.node = n
            self.phases = Phases(n, cores)
            print("OTP %s, %d processes, %d schedulers" % (self.otp, n.eval("large_load:population()"), n.eval("erlang:system_info(schedulers_online)")))
            try:
                self.control()
                self.in_batch()
                self.on_the_screen()
                self.killed()
                self.phases.during("control, after", lambda: time.sleep(CONTROL_S))
                assert n.eval("large_load:ours()") == {"patterns": [], "flags": 0, "sessions": 0}, n.eval("large_load:ours()")
            except Exception as e:
                self.failed.append("OTP %s: %s" % (self.otp, e))
                traceback.print_exc()
                if n.proc.poll() is not None:
                    self.failed.append("OTP %s: the node died; it said: %s" % (self.otp, n.said()))
            for name, *values in self.phases.worst():
                self.figures["stall: " + name] = (values, "ms")
        kp.clean_up()

    def memory_mb(self):
        return self.node.eval("erlang:memory(total)", LATER_S) / 1e6

    def control(self):
        n, (busy, stolen), own = self.node, machine_s(), cpu_s(self.node.proc.pid)
        self.phases.during("control", lambda: time.sleep(CONTROL_S))
        after, now_stolen = machine_s()
        used = cpu_s(n.proc.pid) - own
        cores = os.cpu_count() * (CONTROL_S + SETTLES_S)
        self.tell("the machine, while nobody is attached", "others use %.0f %% of it, %.1f %% is stolen; the node uses %.0f %%" % (
            max(0, 100 * (after - busy - used) / cores), 100 * (now_stolen - stolen) / cores, 100 * used / cores))
        n.eval("large_load:tight()")
        self.phases.during("control, tight loop", lambda: time.sleep(TIGHT_S))
        n.eval("large_load:tight_end()")

    def in_batch(self):
        n, before = self.node, self.memory_mb()
        made = {}

        def attach():
            made["k"] = batch(n)
            first_row(made["k"])
        self.seconds("attach to first row", self.phases.during("attach", attach))
        k = made["k"]
        self.phases.during("tracing", lambda: time.sleep(TRACED_S))

        def round_():
            all_, _ = n.eval("large_load:keepalive_round()", LATER_S)
            kp.until(LATER_S, lambda: n.eval("large_load:tokens()", LATER_S) > all_ // 2 or k.rows[-1]["sample"] > 1, 0.5,
                     what="connections hold tokens")
        self.phases.during("each idle process makes a request", round_)
        held = n.eval("large_load:tokens()", LATER_S)
        grown = self.memory_mb() - before

        def detach():
            k.proc.send_signal(kp.signal.SIGINT)
            until_clean(n)
        self.seconds("detach until clean", self.phases.during("detach", detach))
        assert k.wait(LATER_S) == 0, k.saw()
        said = receipt(k.stderr)
        self.tell("report after detach", said)
        self.tell("idle processes with a token", "%d while traced, %d left" % (held, n.eval("large_load:tokens()", LATER_S)))
        self.tell("the node's memory", "%.0f MB, while traced %+.1f MB" % (before, grown))

    def on_the_screen(self):
        n = self.node
        said = os.path.join(kp.scratch(), "receipt")
        command = "exec %s 2>%s" % (shlex.join([kp.PROGRAM] + options() + [n.name]), shlex.quote(said))
        with kp.Tmux(110, 30, command=["sh", "-c", command]) as t:
            see = lambda what, **kw: t.wait_for(re.compile(what, re.M), LATER_S, **kw)  # noqa: E731
            self.phases.during("attach, screen", lambda: see(r"^\W*request\b.*[1-9]"))
            for _ in range(3):
                self.phases.during("tracing off (t)", lambda: t.keys("t") or see("TRACING OFF"))
                self.phases.during("tracing on (t)", lambda: t.keys("t") or see("TRACING ON"))
            t.keys("v", "v", "r", "r")  # a fixed layout: nothing folds or moves automatically
            self.phases.during("a tier more (A)", lambda: t.keys("A", "%s=large_load:%s/1" % (ADDED, ADDED), "Enter") or see(r"^\W*%s\b.*[1-9]" % ADDED))
            self.phases.during("a capture (I)", lambda: t.keys("Home", "I") or see("NAMES of these|not called within"))
            t.keys("Escape")
            see(r"^\W*request\b.*[1-9]")
            self.views(t, see)
            self.tight(t)
            self.phases.during("detach, screen", lambda: t.keys("q") or until_clean(n), 2 * SETTLES_S)
            kp.until(LATER_S, lambda: t.get("pane_dead") == "1", 0.2, what=t.screen)
        with open(said) as f:
            left = receipt(f.read())
        self.tell("report after detach, screen", left)

    def views(self, t, see):
        """What else the operator can ask the node for."""
        def menu(who, choice):
            t.keys("F")
            if "Sample the stacks of" not in see("Sample the stacks of|^SAMPLING +overhead"):
                t.keys("w")  # F has begun again with the last choice
                see("Sample the stacks of")
            t.keys(*choice, "Enter")
            see(r"^SAMPLING +overhead.* %s " % who)

        def back():
            screen = t.screen()
            there = re.search(r"^TIER\b", screen, re.M) and "Esc cancel" not in screen  # of a menu above the table
            return there or t.keys("Escape")

        def table():
            kp.until(LATER_S, back, 0.5, what=t.screen)

        for who, choice in (("top:100:reductions", ("Home",)), ("all", ("End", "Up"))):
            self.phases.during("stack sampling (F), " + who, lambda: menu(who, choice), VIEWED_S)
            self.phases.during("end of stack sampling", table)
        self.phases.during("process table (U)", lambda: t.keys("U") or see(r"^\d+ processes\b"), VIEWED_S)
        table()
        self.phases.during("presets (P)", lambda: t.keys("P") or see("Presets for this node|presets for this node are ready|no preset"))
        table()
        self.phases.during("functions to choose from (a)", lambda: t.keys("a") or see(r"^\d+ functions of \d+ modules"))
        table()

        def full():
            t.keys("Home", "x")
            see("the next ")
            t.keys("Enter")
            see(r"CALL TREE of|Nothing was traced")
        self.phases.during("full trace of a request (x)", full)
        table()

    def tight(self, t):
        """The entry in a tight loop. The breaker opens, or sampling prevents it."""
        n = self.node

        def opens():
            n.eval("large_load:tight()", LATER_S)
            try:
                t.wait_for(re.compile("BREAKER (OPEN|HALF-OPEN)"), TRIP_S)
                self.tell("a tight loop", "the breaker opened")
            except kp.Timeout:
                found = re.search(r"sample 1/\d+", t.screen())
                self.tell("a tight loop", "the breaker stayed closed, %s" % (found.group(0) if found else "?"))
        self.phases.during("a tight loop, a trip", opens, TIGHT_S)
        self.phases.during("end of the loop", lambda: n.eval("large_load:tight_end()", LATER_S), TIGHT_S)

    def killed(self):
        n, k = self.node, batch(self.node)
        first_row(k)
        n.eval("large_load:keepalive_round()", LATER_S)

        def kill():
            k.proc.kill()
            until_clean(n)
        self.seconds("kill -9 until clean", self.phases.during("kill -9", kill))


# ---- the table ----

def goal(name):
    """-> the largest value that is wanted, a text that is wanted, or None."""
    if name.startswith("stall: control"):
        return None
    return STALL_MS if name.startswith("stall: ") else GOALS.get(name)


def cell(name, runs):
    """The medians of the runs, the least and the greatest first value, `!` where the goal is missed; texts: the last one, or one that
    misses the goal."""
    seen = [r.figures[name] for r in runs if name in r.figures]
    wanted = goal(name)
    if not seen:
        return "-"
    if not seen[0][1]:
        bad = [values[0] for values, _ in seen if wanted and wanted not in values[0]]
        return bad[0] + " **!**" if bad else seen[-1][0][0]
    unit = seen[0][1]
    rows = list(zip(FORMS[unit], zip(*(values for values, _ in seen))))  # for each value: its form, and that of each run
    texts = ["%s %s" % (form % statistics.median(of), unit) for form, of in rows]
    form, firsts = rows[0]
    if len(firsts) > 1:
        texts[0] += " (%s to %s)" % (form % min(firsts), form % max(firsts))
    return ", ".join(texts) + ("" if wanted is None or statistics.median(firsts) <= wanted else " **!**")


def table(by_otp):
    """by_otp: {OTP: its runs}"""
    all_ = [r for runs in by_otp.values() for r in runs]
    names = dict.fromkeys(name for r in all_ for name in r.figures)
    units = {name: unit for r in all_ for name, (_, unit) in r.figures.items()}
    lines = ["| | goal | " + " | ".join("OTP %s" % otp for otp in by_otp) + " |", "|---|---|" + "---|" * len(by_otp)]
    for name in names:
        wanted = goal(name)
        lines.append("| %s | %s | %s |" % (name, "" if wanted is None else ("%s %s" % (wanted, units[name])).strip(),
                                           " | ".join(cell(name, runs) for runs in by_otp.values())))
    return "\n".join(lines)


def singles(by_otp):
    """How many single steps had a stall that is too long."""
    steps = [p for runs in by_otp.values() for r in runs for p in r.phases.all]
    said = []
    for what, some in (("with kprof-top", [p for p in steps if goal("stall: " + p[0])]), ("without it (control)", [p for p in steps if not goal("stall: " + p[0])])):
        own, seen, stopped = (sum(p[i] > STALL_MS for p in some) for i in (2, 1, 4))
        said.append("Of %d single steps %s, %d had a stall of more than %d ms without the time of stopped cores, %d with it; in %d a core was stopped for"
                    " longer than that." % (len(some), what, own, STALL_MS, seen, stopped))
    return " ".join(said)


def write(text):
    old = ""
    if os.path.exists(RESULTS):
        with open(RESULTS) as f:
            old = f.read()
    part = "%s\n%s\n%s" % (BEGIN, text, END)
    if BEGIN in old and END in old:
        new = old[:old.index(BEGIN)] + part + old[old.index(END) + len(END):]
    else:
        new = (old.rstrip() + "\n\n" if old else "# Measured\n\n") + part + "\n"
    with open(RESULTS + ".tmp", "w") as f:
        f.write(new)
    os.replace(RESULTS + ".tmp", RESULTS)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--processes", type=int, default=200_000)
    p.add_argument("--otp", default="")
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--write", action="store_true")
    a = p.parse_args()
    by_otp = {otp: [] for otp in ([int(v) for v in a.otp.split()] or kp.otp_versions())}
    for _ in range(a.runs):
        for otp, runs in by_otp.items():
            runs.append(Run(otp, a.processes))
            runs[-1].all_of_it()
    how = "one run" if a.runs == 1 else "%d runs in turn: the medians, and the least and the greatest value" % a.runs
    about = textwrap.fill(
        "%d processes, %d cores (%s), %s. A process of normal priority on the node ticks every 1 ms; a stall is the time between two ticks. Each"
        " cell of a `stall` row has four values: the longest stall of the step without the time during which a core of the machine was stopped"
        " from outside (tests/chaos/core_stalls.c); the longest stall; the sum of the stalls over 5 ms (a mean if the step ran three times); the"
        " longest stop of a core. The goal is that of the first value. The rows `stall: control` are measured while kprof-top is not attached."
        " **!** marks a value that misses its goal."
        % (a.processes, os.cpu_count(), platform.machine(), how), 120)
    text = "## A large node\n\n%s\n\n%s\n\n%s" % (about, table(by_otp), textwrap.fill(singles(by_otp), 120))
    print("\n" + text)
    failed = [x for runs in by_otp.values() for r in runs for x in r.failed]
    if a.write and not failed:
        write(text)
    print("\n".join(["", "%d failed" % len(failed)] + failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
