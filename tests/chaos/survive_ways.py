"""The ways in which survive.py uses kprof-top: each is one round on a node under the load of survive_load.erl."""
import os
import re
import signal
import time

import kp
from proxy import Proxy

LATER_S = float(os.environ.get("CHAOS_LATER", "60"))  # deadlines, not assertions
TIERS = ["request/1", "parse/1", "front/1", "work/1", "store/2", "format/1", "number/1", "throwing/1"]
RULES = ["survive_load:request/1 element(1,arg(1))", "fun ({survive_load,request,[{Op,_}]}) -> Op; (_) -> undefined end",
         "survive_load:work/1 element(1,arg(1))", "survive_load:store/2 arg(1)"]
TRIES = 5  # kprof-top found the node too busy to attach, and exited; try again
COUNTED = ("attaches", "trips", "screens", "refused", "requests", "part_time", "sampled", "full", "mailbox", "polls", "vm_events", "tables")


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

    def run(self, *options, env=None, **kw):
        self.counts["attaches"] += 1
        k = kp.Kp(*options, self.name(**kw), env=env)
        self.kps.append(k)
        return k

    def start(self, *options, **kw):
        return self.run("--batch", "--format", "json", "-d", "200ms", *options, **kw)

    def attached(self, *more, env=None):
        """A kprof-top that traces and has received calls."""
        options, cut = self.options(*more), self.rng.random() < 0.2
        return self.begun(lambda: self.start(*options, env=env, cut=cut),
                          lambda k: any(r["tracing"] and r["calls"]["received"] for r in k.rows))

    def tool(self, process, *options):
        """Without tiers: a process of the agent with this initial function works, or the run is already complete."""
        return self.begun(lambda: self.run(*options), lambda _: self.has(process), complete=True)

    def has(self, process):
        return self.node.eval("[x || P <- processes(), {_, {M, %s, _}} <- [process_info(P, initial_call)], survive_load:ours(M)] =/= []" % process, LATER_S)

    def begun(self, start, has_begun, complete=False):
        for _ in range(TRIES):
            k = start()
            kp.until(LATER_S, lambda: k.proc.poll() is not None or has_begun(k), what=k.saw)
            if k.proc.poll() is None or complete and (k.wait() == 0 or k.wait() == 1 and "too busy" not in k.stderr):
                return k  # 1: complete, but nothing was called
            assert k.wait() == 1 and "too busy" in k.stderr, k.saw()
            self.counts["refused"] += 1
        raise AssertionError("too busy, %d times: %s" % (TRIES, k.saw()))

    def briefly(self, *more, env=None):
        """Traces for a while, and ends."""
        k = self.attached(*more, env=env)
        self.a_while()
        self.ends(k)

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
    r.briefly()


def sampled(r):
    r.briefly("--sample", "1/%d" % r.rng.choice([2, 4, 8]))


def part_of_the_time(r):
    """The patterns are set and removed several times a second, if requests are not too long for it."""
    k = r.attached("--sample", "1/2", "--max-overhead", "5", *r.rng.choice([[], ["-e", "none"], ["--returns", "full"]]), env={"KPROF_TEST_PART_COST": "1"})
    part_time = lambda: any(row["sample_why"] == "part-time" for row in k.rows)  # noqa: E731
    kp.until(LATER_S, lambda: k.proc.poll() is not None or part_time() or k.rows[-1]["elapsed_s"] > 8, what=k.saw)
    r.counts["part_time"] += part_time()
    r.a_while()
    r.ends(k)


def full_returns(r):
    r.briefly("--returns", "full")


def no_entry(r):
    r.briefly("-e", "none")


def slow_arguments(r):
    r.briefly("--slow", "1ms", "--slow-args")


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
    r.node.eval("survive_load:reload()")
    r.a_while(2)
    r.ends(k)


def built_in(r):
    r.briefly("-t", "lookup=ets:lookup/2")


def preset(r):
    k = r.start("--preset", "gen_server:survive_load")
    k.tracing(LATER_S)
    r.a_while()
    r.ends(k)


def stacks(r):
    """Stacks of all processes, of the busiest, of one and its children, or of those in requests."""
    some = r.rng.choice([[], ["--top", "500"], ["--processes", "all"], ["--processes", "children:survive_front"], ["--processes", "inside", *tier_options(TIERS[:3])]])
    path = os.path.join(kp.scratch(), r.rng.choice(["survive.folded", "survive.perf"]))
    k = r.tool("stack_sampler_init", "--profile", r.rng.choice(["cpu", "wall", "memory"]), *some, *r.rng.choice([[], ["--max-overhead", "none"]]),
               "--sample-interval", r.rng.choice(["1ms", "9ms"]), *r.rng.choice([[], ["--duration", "700ms"]]), "-o", path)
    r.counts["sampled"] += 1
    r.a_while()
    r.ends(k)


def full_trace(r):
    """Of a request, of one after the other (each is too fast), or of a process."""
    pid = r.node.eval("list_to_binary(pid_to_list(whereis(%s)))" % r.rng.choice(["survive_front", "survive_worker_1", "code_server"]))
    what = r.rng.choice([["survive_load:request/1"], ["survive_load:request/1", "--slow", "10s"], [pid]])
    k = r.tool("full_tracer_init", "--full-trace", *what, "--full-calls", r.rng.choice(["survive_load", "app:kernel", "all"]),
               *(tier_options(["work/1", "format/1"]) if what[0] != pid else []), "--duration", r.rng.choice(["300ms", "60s"]))
    r.counts["full"] += 1
    r.a_while()
    r.ends(k)


def mailbox(r):
    """The time in mailboxes, and in some rounds the length of those of detailed requests."""
    k = r.attached("--mailbox", "--max-overhead", "none", *r.rng.choice([[], ["--detail", "1/2"]]))
    kp.until(LATER_S, lambda: k.proc.poll() is not None or any(row.get("mbox_count") for row in k.rows[-1]["rows"]) or k.rows[-1]["elapsed_s"] > 2, what=k.saw)
    r.counts["mailbox"] += any(row.get("mbox_count") for row in k.rows[-1]["rows"])
    r.a_while(0.5)
    r.ends(k)


def hanging(r):
    """Requests so slow that their processes are polled; in some rounds kprof-top ends during this."""
    k = r.attached("--slow", "100ms", "--max-overhead", "none")
    r.node.eval("survive_load:hang(3, %d)" % r.rng.choice([300, 600]))
    if r.rng.random() < 0.7:
        polled = lambda: any(s.get("polls") for s in k.rows[-1]["slow"])  # noqa: E731
        kp.until(LATER_S, lambda: k.proc.poll() is not None or polled() or k.rows[-1]["elapsed_s"] > 3, what=k.saw)
        r.counts["polls"] += polled()
    else:
        r.a_while(0.4)
    r.ends(k)


def vm_events(r):
    """From OTP 28 on: it ends while the VM reports events."""
    k = r.attached()
    kp.until(LATER_S, lambda: k.proc.poll() is not None or k.rows[-1]["vm_events"] or k.rows[-1]["vm_events_state"] == "not on this VM" or
             k.rows[-1]["elapsed_s"] > 5, what=k.saw)
    r.counts["vm_events"] += bool(k.rows[-1]["vm_events"])
    r.a_while(0.5)
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
    elif key in TOOL_KEYS:
        press_tool(r, t, key)
    elif key == "O":
        t.keys("O")
        r.a_while(0.3)
        t.keys("Enter")
        r.a_while(0.3)
        t.keys("Escape", "Escape")
    else:
        t.keys(*{"y": ("y",), "+": ("+",), "-": ("-", "-"), "E": ("E", "Home", "Down", "Enter"), "d": ("End", "d", "y")}[key])
        r.a_while(0.3)


def press_tool(r, t, key):
    """Stack samples, process table, full trace, mailboxes, findings. The last one is often still open at the end."""
    if key == "F":
        t.keys("F")
        t.wait_for("Sample the stacks of", LATER_S)
        t.keys(*["Down"] * r.rng.randint(0, 5), "Enter")
        t.wait_for(re.compile(r"^SAMPLING .*processes", re.M), LATER_S)
        r.counts["sampled"] += 1
    elif key == "U":
        t.keys("U")
        t.wait_for(re.compile(r"^\d+ processes, ", re.M), LATER_S)
        r.counts["tables"] += 1
    elif key == "x":
        t.keys("Home", "x")
        t.wait_for("the next ", LATER_S)
        t.keys("Enter")
        t.wait_for(re.compile(r"CALL TREE of|Nothing was traced|^\W*Waiting for|cannot", re.M), LATER_S)
        r.counts["full"] += 1
    else:
        t.keys(key)
    r.a_while(0.5)


def leave_tool(t, key):
    """Back to the table. Escape ends a full trace that is under way, and its tree may appear after the second one."""
    def back():
        if key != "Q":
            t.keys("Escape")
        return re.search(r"^TIER\b", t.screen(), re.M)
    kp.until(LATER_S, back, 0.3, what=t.screen)


TOOL_KEYS = "FUxQY"


def tools(r):
    """The process table, which no other way has, and two others, in any order."""
    on_screen(r, r.rng.sample(["U"] + r.rng.sample(TOOL_KEYS.replace("U", ""), 2), 3))


def screen(r):
    """A screen: tracing off and on, captures, counters of the picker, other entries."""
    on_screen(r, ["t"] + r.rng.sample(["t", "I", "I", "a", "O", "P", "y", "+", "-", "E"], r.rng.randint(1, 3)))


def on_screen(r, keys):
    """A real screen, ended with q, or killed."""
    r.counts["attaches"] += 1
    r.counts["screens"] += 1
    t = kp.Tmux(100, 30, command=[kp.PROGRAM, *tier_options(TIERS), "-i", RULES[0], r.node.name])
    r.screens.append(t)
    t.wait_for(re.compile(r"^\W*request\b.*[1-9]", re.M), LATER_S)
    pid = t.pid_of()
    for i, key in enumerate(keys):
        press(r, t, key)
        if key in TOOL_KEYS and i + 1 < len(keys):
            leave_tool(t, key)
    r.end_word = how = r.rng.choice(["q", "q", "INT", "TERM", "KILL"])
    if how == "q":
        t.keys("Escape", "Escape", "q")
    else:
        os.kill(pid, getattr(signal, "SIG" + how))
    kp.until(LATER_S, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())


WAYS = [plain, sampled, part_of_the_time, full_returns, no_entry, slow_arguments, limited, overload, overload_of_all, stopped, reloaded, built_in, preset, own_end, hasty, two, screen, screen,
        stacks, full_trace, mailbox, hanging, vm_events, tools]


def without(r):
    """Nobody attaches."""
    time.sleep(r.rng.uniform(0.5, 2))
