#!/usr/bin/env python3
"""survive.py [--rounds N] [--otp "25 27 29"] [--seed S] [--only WORD] [--from N] [--without] [--results FILE]

Does a node survive kprof-top? A node under the load of survive_load.erl, with monitors that query all its processes
all the time. In each of N rounds on each OTP kprof-top attaches, is used, and ends, each in one of several ways.
After each round the node is alive, nothing of kprof-top is on it, its error log is empty and all its requests were
answered. The seed, which is printed, determines each round: --from N begins with that round. --without: kprof-top
does not attach (does the load alone survive?). If a node crashes, its last output is printed, and the next round has
a new node, up to a maximum number of crashes."""
import argparse
import datetime
import os
import random
import re
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "node")]
import kp  # noqa: E402
from proxy import Proxy  # noqa: E402

LATER_S = float(os.environ.get("CHAOS_LATER", "60"))  # deadlines, not assertions
TIERS = ["request/1", "parse/1", "front/1", "work/1", "store/2", "format/1", "number/1", "throwing/1"]
RULES = ["survive_load:request/1 element(1,arg(1))", "fun ({survive_load,request,[{Op,_}]}) -> Op; (_) -> undefined end",
         "survive_load:work/1 element(1,arg(1))", "survive_load:store/2 arg(1)"]
NO_SPINNING = ["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"]  # this machine may have other load
TRIES = 5  # kprof-top found the node too busy to attach, and exited; try again
BEGIN, END = "<!-- survive: made by make survive -->", "<!-- survive: end -->"


class Died(Exception):
    """The node has crashed."""


def tier_options(functions):
    return [x for f in functions for x in ("-t", "%s=survive_load:%s" % (f.split("/")[0], f))]


class Round:
    """One attach, or two, on a node; stops everything that it started."""

    def __init__(self, node, rng, counts):
        self.node, self.rng, self.counts = node, rng, counts
        self.kps, self.proxies, self.screens, self.tight, self.end_word = [], [], [], False, "-"

    def name(self, cut=False):
        if not cut:
            return self.node.name
        p = Proxy(self.node.port())
        self.proxies.append(p)
        return "%s:%d" % (self.node.name, p.port)

    def options(self, *more):
        functions = TIERS[:1] + self.rng.sample(TIERS[1:], self.rng.randint(1, len(TIERS) - 1))
        rule = self.rng.choice(RULES + [None])
        cost = self.rng.choice([["--max-overhead", "none"], []])
        return [*tier_options(functions), *(["-i", rule] if rule else []), *cost, *more]

    def start(self, *options, env=None, **kw):
        self.counts["attaches"] += 1
        k = kp.Kp("--batch", "--format", "json", "-d", "200ms", *options, self.name(**kw), env=env)
        self.kps.append(k)
        return k

    def attached(self, *more, env=None):
        """A kprof-top that traces and has received calls."""
        options, cut = self.options(*more), self.rng.random() < 0.2
        for _ in range(TRIES):
            k = self.start(*options, env=env, cut=cut)
            kp.until(LATER_S, lambda: k.proc.poll() is not None or any(r["tracing"] and r["calls"]["received"] for r in k.rows), what=k.saw)
            if k.proc.poll() is None:
                return k
            assert k.wait() == 1 and "too busy" in k.stderr, k.saw()
            self.counts["refused"] += 1
        raise AssertionError("too busy, %d times: %s" % (TRIES, k.saw()))

    def a_while(self, most_s=1.0):
        time.sleep(self.rng.uniform(0, most_s))  # a random time is part of the test; nothing is awaited

    def tight_loop(self):
        self.tight = True
        self.node.eval("tight:start()")

    def opened(self, k):
        """The breaker has opened, or sampling prevented it (or the run is over)."""
        kp.until(LATER_S, lambda: k.proc.poll() is not None or any(r["breaker"]["trips"] for r in k.rows) or
                 sum(1 for r in k.rows if r["calls"]["received"]) > 15, what=k.saw)
        self.counts["trips"] += any(r["breaker"]["trips"] for r in k.rows)

    def untraced(self):
        kp.until(LATER_S, lambda: not self.traced(), 0.1, what="still traced")

    def traced(self):
        return self.node.eval(
            "[x || F <- [fun() -> erlang:trace_info({survive_load,request,1}, traced) end | [fun() -> catch trace:info(S, {survive_load,request,1}, traced) end "
            "|| erlang:function_exported(trace, info, 3), {_, _} = S <- trace:session_info(all)]], {traced, local} <- [F()]] =/= []")

    def ends(self, k):
        """Ends it in one of several ways."""
        how = self.rng.choice(["INT", "TERM", "KILL", "KILL"] + ["cut"] * (2 if self.proxies else 0))
        self.end_word = how
        if how == "cut":
            k.proc.send_signal(signal.SIGCONT)
            for p in self.proxies:
                p.cut()
                p.close()
            assert k.wait(LATER_S) == 1, k.saw()
        else:
            k.proc.send_signal(signal.SIGCONT)
            k.proc.send_signal(getattr(signal, "SIG" + how))
            self.over(k, how)

    def over(self, k, how):
        status = k.wait(LATER_S)
        wanted = {"KILL": (-signal.SIGKILL, 0, 1)}.get(how, (0, 1, -signal.SIGINT, -signal.SIGTERM))
        assert status in wanted, "ended with %s: %s" % (status, k.saw())

    def close(self):
        for t in self.screens:
            t.close()
        for p in self.proxies:
            p.close()
        for k in self.kps:
            if k.proc.poll() is None:
                kp.kill_pid(k.proc)
            k.rows, k.lines = [], []
        if self.tight and self.node.proc.poll() is None:
            self.node.eval("tight:stop()", LATER_S)


# ---- the ways to use it ------------------------------------------------------------------------------------------

def plain(r):
    k = r.attached()
    r.a_while()
    r.ends(k)


def sampled(r):
    k = r.attached("--sample", "1/%d" % r.rng.choice([2, 4, 8]))
    r.a_while()
    r.ends(k)


def part_of_the_time(r):
    """The patterns are set and removed several times a second, if requests are not too long for it."""
    k = r.attached("--sample", "1/2", "--max-overhead", "5", *r.rng.choice([[], ["-e", "none"], ["--returns", "full"]]), env={"KPROF_TEST_PART_COST": "1"})
    part_time = lambda: any(row["sample_why"] == "part-time" for row in k.rows)  # noqa: E731
    kp.until(LATER_S, lambda: k.proc.poll() is not None or part_time() or k.rows[-1]["elapsed_s"] > 8, what=k.saw)
    r.counts["part_time"] += part_time()
    r.a_while()
    r.ends(k)


def full_returns(r):
    k = r.attached("--returns", "full")
    r.a_while()
    r.ends(k)


def no_entry(r):
    k = r.attached("-e", "none")
    r.a_while()
    r.ends(k)


def slow_arguments(r):
    k = r.attached("--slow", "1ms", "--slow-args")
    r.a_while()
    r.ends(k)


def limited(r):
    """A limit so low that sampling is adjusted."""
    k = r.attached("--max-rate", "%d/s" % r.rng.choice([20, 200]), "--max-overhead", r.rng.choice(["1", "none"]))
    kp.until(LATER_S, lambda: k.proc.poll() is not None or k.rows[-1]["sample"] > 1 or k.rows[-1]["breaker"]["trips"] or k.rows[-1]["elapsed_s"] > 5, what=k.saw)
    r.ends(k)


def overload(r):
    """A loop on all schedulers: the breaker opens, or sampling prevents it; in some rounds the loop ends first, in
    others kprof-top."""
    k = r.attached("-t", "tight=tight:request/1", "-t", "inner=tight:tier/1", "--cooldown", "1s", *r.rng.choice([["--max-age", "1ms"], []]))
    r.tight_loop()
    r.opened(k)
    r.a_while(1.5)
    r.ends(k)


def overload_of_all(r):
    """The same without an entry: there is nothing to sample."""
    k = r.attached("-t", "tight=tight:request/1", "-e", "none", "--cooldown", "1s")
    r.tight_loop()
    r.opened(k)
    r.a_while()
    r.ends(k)


def stopped(r):
    """Silent for longer than the lease: tracing pauses and continues, or the agent ends."""
    k = r.attached(env={"KPROF_LEASE": "1s"})
    k.proc.send_signal(signal.SIGSTOP)
    r.untraced()
    if r.rng.random() < 0.5:
        k.proc.send_signal(signal.SIGCONT)
        seen = len(k.rows)
        kp.until(LATER_S, lambda: len(k.rows) > seen + 3 or k.proc.poll() is not None, what=k.saw)
    r.ends(k)


def reloaded(r):
    k = r.attached("-t", "reloaded:work/1")
    r.node.eval("reloaded:reload()")
    r.a_while(2)
    r.ends(k)


def built_in(r):
    k = r.attached("-t", "lookup=ets:lookup/2")
    r.a_while()
    r.ends(k)


def preset(r):
    k = r.start("--preset", "gen_server:survive_load")
    k.tracing(LATER_S)
    r.a_while()
    r.ends(k)


def own_end(r):
    k = r.start(*r.options("--duration", "%dms" % r.rng.randint(300, 900)))
    r.end_word = "itself"
    r.over(k, "itself")


def hasty(r):
    """Ended at any time, also while the agent is loaded."""
    k = r.start(*r.options())
    r.a_while(0.6)
    r.ends(k)


def two(r):
    """Both work from OTP 27 on; below, one is refused."""
    both = [r.start(*r.options()), r.start(*r.options())]
    r.a_while(1.5)
    for k in both:
        if k.proc.poll() is None:
            r.ends(k)
        assert k.wait(LATER_S) in (0, 1, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), k.saw()


def press(r, t, key):
    """One typical action. tests/screen checks its result, so this does not wait long for it."""
    if key == "t":
        t.keys("t")
        t.wait_for("TRACING OFF", LATER_S)
        r.a_while(0.4)
        t.keys("t")
        t.wait_for("TRACING ON", LATER_S)
    elif key == "I":
        t.keys("Home", "I")
        t.wait_for(re.compile(r"\d+ calls captured|not called within|NAMES of these|captured|paused"), LATER_S)
        t.keys(r.rng.choice(["Enter", "Escape"]))
        t.keys("Escape")
    elif key == "a":
        t.keys("a")
        t.wait_for(re.compile(r"^\d+ functions of \d+ modules", re.M), LATER_S)
        t.keys("survive_load" + r.rng.choice(["num", "idl", "read", "poll"]))
        r.a_while(1.2)  # calls per second are counted in the meantime
        t.keys("Tab", r.rng.choice(["Enter", "Escape"]))
        t.keys("Escape")
    elif key == "P":
        t.keys("P")  # the menu opens when the node has answered, unless a dialog is open then
        t.wait_for(re.compile(r"Presets for this node|cannot|not connected|presets for this node are ready"), LATER_S)
        t.keys("Escape")
    elif key == "O":
        t.keys("O")
        r.a_while(0.3)
        t.keys("Enter")
        r.a_while(0.3)
        t.keys("Escape", "Escape")
    else:
        t.keys(*{"y": ("y",), "+": ("+",), "-": ("-", "-"), "E": ("E", "Home", "Down", "Enter"), "d": ("End", "d", "y")}[key])
        r.a_while(0.3)


def screen(r):
    """A real screen: tracing off and on, captures, counters of the picker, other entries; ended with q, or killed."""
    r.counts["attaches"] += 1
    r.counts["screens"] += 1
    t = kp.Tmux(100, 30, command=[kp.PROGRAM, *tier_options(TIERS), "-i", RULES[0], r.node.name])
    r.screens.append(t)
    t.wait_for(re.compile(r"^\W*request\b.*[1-9]", re.M), LATER_S)
    pid = t.pid_of()
    for key in ["t"] + r.rng.sample(["t", "I", "I", "a", "O", "P", "y", "+", "-", "E"], r.rng.randint(1, 3)):
        press(r, t, key)
    r.end_word = how = r.rng.choice(["q", "q", "INT", "TERM", "KILL"])
    if how == "q":
        t.keys("Escape", "q")
    else:
        os.kill(pid, getattr(signal, "SIG" + how))
    kp.until(LATER_S, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())


WAYS = [plain, sampled, part_of_the_time, full_returns, no_entry, slow_arguments, limited, overload, overload_of_all, stopped, reloaded, built_in, preset, own_end, hasty, two, screen, screen]


def without(r):
    """Nobody attaches."""
    time.sleep(r.rng.uniform(0.5, 2))


# ---- the node ---------------------------------------------------------------------------------------------------

class World:
    """The rounds of one OTP."""

    def __init__(self, otp, seed):
        self.otp, self.seed, self.node = otp, seed, None
        self.counts = {"attaches": 0, "trips": 0, "screens": 0, "refused": 0, "requests": 0, "part_time": 0}
        self.fresh()

    def fresh(self):
        if self.node:
            self.node.kill()
            self.remove_dump()
        self.node = kp.Node(self.otp, args=NO_SPINNING, dump=True)
        self.node.eval("survive_load:start()", LATER_S)
        self.asked, self.erts = 0, self.node.eval("survive_load:figures()")["erts"]

    def remove_dump(self):
        if os.path.exists(self.node.dump):
            os.unlink(self.node.dump)

    def dead(self):
        """None, or the last output of a crashed node. A crashing node gets some time to end."""
        try:
            self.node.proc.wait(0 if self.node.proc.poll() is not None else 5)
        except subprocess.TimeoutExpired:
            return None
        kp.until(5, lambda: self.node._answers[-1:] == [None], what="its last output")  # all of stdout is read
        status = self.node.proc.returncode
        how = "killed by %s" % signal.Signals(-status).name if status < 0 else "exit %d" % status
        slogan = ""
        if os.path.exists(self.node.dump):
            with open(self.node.dump, errors="replace") as f:
                slogan = "".join(x for x in (f.readline() for _ in range(4)) if x.startswith("Slogan")).strip()
        last = [x for x in self.node.said().splitlines() if x.strip()][-5:]
        return "%s; %s%s" % (how, " / ".join(last) or "no output", "; " + slogan if slogan else "")

    def after(self):
        """The checks after each round."""
        last = [""]

        def look():
            last[0] = self.node.eval("survive_load:left(quick)", LATER_S)
            return last[0] == []
        kp.until(LATER_S, look, 0.05, what=lambda: "left on the node: %s" % last[0])
        left = self.node.eval("survive_load:left(all)", LATER_S)
        assert left == [], "left on the node: %s" % left[:20]
        answers = self.node.eval("survive_load:settle(%d)" % (LATER_S * 1000), 2 * LATER_S)
        assert answers["missing"] == 0 and answers["wrong"] == 0, "requests: %s" % answers
        assert answers["asked"] > self.asked, "no request since the last round: %s" % answers
        self.counts["requests"] += answers["asked"] - self.asked
        self.asked = answers["asked"]
        errors = self.node.eval("survive_load:errors()")
        assert errors == [], "error log: %s" % errors[:5]
        assert not os.path.exists(self.node.dump), "a crash dump"

    def way(self, number, ways):
        """The ways, in an order that the seed determines; each occurs once before any is repeated."""
        deck = list(ways)
        random.Random("%d %d %d" % (self.seed, self.otp, number // len(deck))).shuffle(deck)
        return deck[number % len(deck)]

    def round(self, number, ways):
        """(what was done, None) or (what was done, the error); raises Died."""
        way = self.way(number, ways)
        r = Round(self.node, random.Random("%d %d %d" % (self.seed, self.otp, number)), self.counts)
        wrong = None
        try:
            try:
                way(r)
            finally:
                r.close()
            self.after()
        except Exception:
            wrong = "".join(traceback.format_exc(limit=-3))
        words = self.dead() if wrong or self.node.proc.poll() is not None else None
        if words:
            raise Died("%s, %s: %s" % (way.__name__, r.end_word, words))
        return "%s, %s" % (way.__name__, r.end_word), wrong


def noted(otp, number):
    """For check.py, which repeats it alone."""
    if os.environ.get("KPROF_FAILED"):
        with open(os.environ["KPROF_FAILED"], "a") as f:
            f.write("%d %d\n" % (otp, number + 1))


def rounds_of(otp, a):
    if not os.environ.get("KPROF_ONLY"):
        return range(a.first - 1, a.rounds)
    with open(os.environ["KPROF_ONLY"]) as f:
        return [int(n) - 1 for o, n in (x.split() for x in f if x.strip()) if int(o) == otp]


def run(otp, a):
    """-> {passed, failed, deaths, counts}"""
    ways = [without] if a.without else [w for w in WAYS if a.only in w.__name__]
    passed, failed, deaths = 0, 0, []
    world = World(otp, a.seed)
    for i in rounds_of(otp, a):
        began = time.monotonic()
        try:
            what, wrong = world.round(i, ways)
        except Died as e:
            what, wrong = "the node DIED", str(e)
            deaths.append((i + 1, str(e)))
        if wrong is None:
            passed += 1
            print("ok   OTP %d round %d %s (%.1f s)" % (otp, i + 1, what, time.monotonic() - began), flush=True)
            continue
        failed += 1
        noted(otp, i)
        print("FAIL OTP %d round %d %s: survive.py --otp %d --seed %d --rounds %d --from %d\n%s" % (
            otp, i + 1, what, otp, a.seed, i + 1, i + 1, wrong), flush=True)
        if len(deaths) >= a.deaths or failed >= 10 * a.deaths:
            break
        world.fresh()
    world.node.kill()
    world.remove_dump()
    kp.clean_up()
    return {"otp": otp, "erts": world.erts, "passed": passed, "failed": failed, "deaths": deaths, "counts": world.counts}


def told(results, a):
    """One line per OTP, as text and for the table."""
    rows = []
    for r in results:
        died = "; ".join("round %d: %s" % d for d in r["deaths"][:3]).replace("|", "/").replace("\n", " ")
        rows.append("| %s | %d (erts %s) | %d | %d, %d | %d | %d | %d | %s | %d |" % (
            datetime.date.today(), r["otp"], r["erts"], r["passed"] + r["failed"], r["counts"]["attaches"], r["counts"]["screens"], r["counts"]["trips"],
            r["counts"]["requests"], r["failed"] - len(r["deaths"]), died[:300] or "none", a.seed))
    return rows


HEAD = """## make survive

Each round attaches to nodes under the load of tests/chaos/survive_load.erl. One line per OTP release of a run.

%s
| Date | OTP | Rounds | Attaches, with a screen | Trips | Requests answered | Rounds with a fault other than a crash | Crashed nodes | Seed |
|---|---|---|---|---|---|---|---|---|
%s
""" % (BEGIN, END)


def note(path, rows):
    """Appends the rows between the markers; adds the section if it is missing."""
    text = ""
    if os.path.exists(path):
        with open(path) as f:
            text = f.read()
    if BEGIN not in text:
        text = (text.rstrip("\n") + "\n\n" if text else "# Results of long runs\n\n") + HEAD
    before, after = text.split(END, 1) if END in text else (text + "\n", "")
    with open(path, "w") as f:
        f.write(before + "".join(x + "\n" for x in rows) + END + after)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=100, help="on each OTP")
    p.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    p.add_argument("--otp", default="25 27 29")
    p.add_argument("--only", default="", help="ways with this word in their name")
    p.add_argument("--from", dest="first", type=int, default=1, help="the first round")
    p.add_argument("--without", action="store_true", help="nobody attaches")
    p.add_argument("--deaths", type=int, default=1, help="number of crashed nodes of an OTP after which its rounds end")
    p.add_argument("--results", help="a file that gets a line for each OTP")
    a = p.parse_args()
    if a.results and a.without:
        p.error("--results is only for runs that attach")
    print("seed %d" % a.seed, flush=True)
    results, skipped = [], 0
    for otp in map(int, a.otp.split()):
        if otp in kp.otp_versions():
            if len(rounds_of(otp, a)):
                results.append(run(otp, a))
        else:
            print("skip OTP %d: not here" % otp)
            skipped += a.rounds
    for r in results:
        print("OTP %(otp)d (erts %(erts)s): %(passed)d rounds survived" % r +
              ", %(attaches)d attaches, %(screens)d screens, %(trips)d trips, %(part_time)d for part of the time, %(requests)d requests answered" % r["counts"] +
              "".join("\n  died in round %d: %s" % d for d in r["deaths"]))
    if a.results and results:
        note(a.results, told(results, a))
    print("%d passed, %d failed, %d skipped" % (sum(r["passed"] for r in results), sum(r["failed"] for r in results), skipped))
    return 1 if any(r["failed"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
