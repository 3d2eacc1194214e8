#!/usr/bin/env python3
"""chaos.py [--rounds N] [--seed S] [--otp "25 27 29"] [--only WORD] [--stop SECONDS]

Rounds of failures on real nodes under load: N for each OTP, in an order that the seed determines (it is printed).
After each round, nothing of a profiler and no token is on the node (if the node is alive); kprof-top is alive or has
ended with a message; and the memory of both has not grown."""
import argparse
import os
import random
import re
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "node")]
import kp  # noqa: E402
from common import RULE, tiers  # noqa: E402
from proxy import Proxy  # noqa: E402

OUR_RSS_BYTES = 64 << 20
NODE_GROWS_BYTES = 24 << 20
LATER_S = float(os.environ.get("CHAOS_LATER", "60"))  # deadlines, not assertions
WARM_ROUNDS = 3
TIERS = ["request/1", "parse/1", "db/1", "format/1", "account/1", "cache/1"]
PARTS = ["controller", "relay", "guardian"]
HIDDEN_NAMES = 3000  # number of atoms that a burst of identities creates

SITTERS = """persistent_term:put(chaos_sitters, [spawn(fun() -> workload:request(sit), (fun Sit() ->
    catch ets:insert(workload_tokens, {self(), seq_trace:get_token()}),
    self() ! beat, receive beat -> ok end,
    receive stop -> ok after 40 -> Sit() end end)() end) || _ <- [1, 2, 3]]), true"""
SITTERS_END = """[begin exit(P, kill), ets:delete(workload_tokens, P) end || P <- persistent_term:get(chaos_sitters, [])],
    persistent_term:put(chaos_sitters, []), true"""
UNTRACED = """case erlang:function_exported(trace, session_info, 1) of
    true -> [] =:= [N || {N, _} = S <- trace:session_info(all), N =/= legacy, trace:info(S, {workload,request,1}, traced) =/= {traced, false}];
    false -> {traced, false} =:= erlang:trace_info({workload,request,1}, traced) end"""
FIGURES = """[erlang:garbage_collect(P) || P <- processes()],
    #{memory => erlang:memory(total), processes => erlang:system_info(process_count), ports => length(erlang:ports()),
      atoms => erlang:system_info(atom_count)}"""


AGENTS = "[P || P <- processes(), {_, {M, _, _}} <- [process_info(P, initial_call)], lists:prefix(\"kprof_\", atom_to_list(M)), lists:member(M, [kprof_agent_00, kprof_tools_00])]"


def agents(begins):
    """Processes of the agent that started in such a function."""
    return "[P || P <- %s, {_, {_, F, _}} <- [process_info(P, initial_call)], lists:prefix(\"%s\", atom_to_list(F))]" % (AGENTS, begins)


def process(part):
    """Erlang for the pid of this process of the agent, whichever slot it uses."""
    return "hd([whereis(R) || R <- registered(), lists:prefix(\"kprof_%s_\", atom_to_list(R))])" % part


class Round:
    """The node and programs of a round; stops everything that it started."""

    def __init__(self, world, rng):
        self.world, self.rng, self.node = world, rng, world.node
        self.stop_s = world.stop_s
        self.began, self.kps, self.proxies = time.monotonic(), [], []

    def start(self, *more, proxy=None, lease=None):
        name = "%s:%d" % (self.node.name, proxy.port) if proxy else self.node.name
        env = {"KPROF_LEASE": lease} if lease else {}
        k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "--max-overhead", "none", *tiers(*TIERS), "-i", RULE, *more, name, env=env)
        self.kps.append(k)
        return k

    def attached(self, *more, **kw):
        """A kprof-top that traces, while processes receive tokens and keep them."""
        k = self.start(*more, **kw)
        k.tracing(LATER_S)
        k.wait_json(LATER_S, lambda r: r["calls"]["aggregated"] > 0)
        self.node.eval(SITTERS)
        return k

    def proxy(self, cut_after_bytes=None):
        p = Proxy(self.node.port(), cut_after_bytes)
        self.proxies.append(p)
        return p

    def sometime(self, most_s):
        """Half of the times are within the first tenth, while the agent is loaded."""
        # a random time is part of the test; nothing is awaited
        time.sleep(self.rng.uniform(0, most_s * self.rng.choice([0.1, 1])))

    def kill_part(self, part):
        self.node.eval("exit(%s, kill)" % process(part))

    def goes_on(self, k):
        """Checks that new calls are counted."""
        seen = len(k.rows)
        before = k.rows[-1]["calls"]["received"] if k.rows else 0
        kp.until(LATER_S, lambda: any(r["calls"]["received"] > before for r in k.rows[seen:]), what=k.saw)

    def no_longer_traced(self):
        kp.until(LATER_S, lambda: self.node.eval(UNTRACED), 0.1, what=lambda: "no longer traced: %s" % self.node.ours())

    def agent_gone(self):
        kp.until(LATER_S, lambda: self.node.ours()["modules"] == [], 0.1, what=lambda: "agent gone: %s" % self.node.ours())

    def ends_itself(self, k, *words):
        """It ended with status 1 and a message about the problem."""
        assert k.wait(LATER_S) == 1, k.saw()
        said = [x for x in k.stderr.splitlines() if x.strip() and not x.startswith("kprof-top: precaution on this node: ")]
        assert said and said[0].startswith("kprof-top: "), k.saw()
        assert not words or any(w in said[0] for w in words), "none of %s: %s" % (words, k.saw())

    def ended_by_hand(self, k):
        assert k.interrupt(LATER_S) == 0, k.saw()
        kp.conserves(k.final())

    def rss(self, k):
        try:
            with open("/proc/%d/status" % k.proc.pid) as f:
                m = re.search(r"VmRSS:\s+(\d+) kB", f.read())
        except OSError:
            return 0
        return int(m.group(1)) * 1024 if m else 0

    def small(self):
        for k in self.kps:
            used = self.rss(k)
            assert used < OUR_RSS_BYTES, "kprof-top has %d MiB" % (used >> 20)

    def end(self):
        for p in self.proxies:
            p.close()
        for k in self.kps:
            if k.proc.poll() is None:
                k.proc.send_signal(signal.SIGCONT)
                k.proc.kill()
            k.wait(LATER_S)


# ---- failures --------------------------------------------------------------------------------------------------

def kill_9_at_any_moment(r):
    """Also while the agent is loaded."""
    k = r.start()
    r.sometime(1.0)
    k.proc.kill()


def kill_9_while_tracing(r):
    k = r.attached()
    r.sometime(0.3)
    k.proc.kill()


def interrupt_at_any_moment(r):
    k = r.start()
    r.sometime(1.0)
    k.proc.send_signal(signal.SIGINT)
    assert k.wait(LATER_S) in (0, 1, -signal.SIGINT), k.saw()
    assert k.proc.returncode != 1 or k.stderr.startswith("kprof-top: "), k.saw()


def stopped_and_continued(r):
    lease = None if r.stop_s >= 12 else "1s"
    k = r.attached(lease=lease)
    k.proc.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    r.no_longer_traced()
    time.sleep(max(0, began + r.stop_s - time.monotonic()) if lease is None else 0)
    k.proc.send_signal(signal.SIGCONT)
    r.goes_on(k)
    r.small()
    r.ended_by_hand(k)


def stopped_for_good(r):
    k = r.attached(lease="1s")
    k.proc.send_signal(signal.SIGSTOP)
    r.agent_gone()
    k.proc.send_signal(signal.SIGCONT)
    r.ends_itself(k, "lost the agent")


def target_killed(r):
    k = r.attached()
    r.world.kill_node()
    r.ends_itself(k, "lost")


def network_cut(r):
    p = r.proxy()
    k = r.attached(proxy=p)
    r.sometime(0.3)
    p.cut()
    r.ends_itself(k, "lost")


def network_cut_at_any_moment(r):
    p = r.proxy()
    k = r.start(proxy=p)
    r.sometime(1.0)
    p.cut()
    p.close()
    assert k.wait(LATER_S) == 1 and k.stderr.startswith("kprof-top: "), k.saw()


def network_cut_while_loading(r):
    """After some number of bytes: during the handshake, the transfer of the agent, or the first requests."""
    p = r.proxy(r.rng.choice([r.rng.randint(1, 2000), r.rng.randint(2000, 60000), r.rng.randint(2000, 110000)]))
    k = r.start(proxy=p)
    kp.until(LATER_S, lambda: k.proc.poll() is not None or k.rows, what=k.saw)
    p.cut()  # fewer bytes were sent
    assert k.wait(LATER_S) == 1 and k.stderr.startswith("kprof-top: "), k.saw()


def network_frozen_for_a_while(r):
    p = r.proxy()
    k = r.attached(proxy=p, lease="1s")
    p.freeze()
    r.no_longer_traced()
    p.thaw()
    r.goes_on(k)
    r.small()
    r.ended_by_hand(k)


def network_frozen_and_killed(r):
    p = r.proxy()
    k = r.attached(proxy=p, lease="1s")
    p.freeze()
    k.proc.kill()
    r.agent_gone()


def modules_reloaded(r):
    r.node.eval("register(chaos_caller, spawn(fun() -> (fun Go() -> reloaded:work(1), receive stop -> ok after 2 -> Go() end end)() end))")
    k = r.attached("-t", "reloaded:work/1", "-e", "none")
    calls = lambda: kp.count(k.rows[-1], "work")  # noqa: E731
    for _ in range(r.rng.randint(1, 3)):
        r.node.eval("reloaded:reload()")
        seen = len(k.rows)
        kp.until(LATER_S, lambda: len(k.rows) > seen + 1 and calls() > 0 and k.rows[-1]["elapsed_s"] > k.rows[seen]["elapsed_s"] + 1.5, what=k.saw)
    r.ended_by_hand(k)
    r.node.eval("chaos_caller ! stop, true")


def controller_killed(r):
    k = r.attached()
    r.kill_part("controller")
    r.ends_itself(k, "lost the agent")


def relay_killed(r):
    k = r.attached()
    r.kill_part("relay")
    kp.until(LATER_S, lambda: not k.rows[-1]["tracing"], what=k.saw)
    r.ended_by_hand(k)


def two_parts_killed(r):
    """In any order, immediately one after the other."""
    k = r.attached()
    a, b = r.rng.sample(PARTS, 2)
    pause = r.rng.choice([0, 0, 0, 1, 3, 10])
    r.node.eval("(fun(A, B) -> exit(A, kill), receive after %d -> ok end, exit(B, kill) end)(%s, %s)" % (pause, process(a), process(b)))
    if "controller" in (a, b):
        r.ends_itself(k, "lost the agent")
    else:
        kp.until(LATER_S, lambda: not k.rows[-1]["tracing"], what=k.saw)
        r.ended_by_hand(k)


def part_killed_while_leaving(r):
    k = r.attached()
    part = r.rng.choice(PARTS)
    k.proc.send_signal(r.rng.choice([signal.SIGKILL, signal.SIGINT]))
    r.sometime(0.02)
    r.node.eval("[exit(whereis(R), kill) || R <- registered(), lists:prefix(\"kprof_%s_\", atom_to_list(R))], true" % part)
    k.wait(LATER_S)


def ports_exhausted(r):
    k = r.attached()
    r.node.eval("persistent_term:put(chaos_ports, (fun Open(L) -> case gen_udp:open(0) of {ok, S} -> Open([S | L]); _ -> L end end)([])), "
                "length(persistent_term:get(chaos_ports)) > 100", 60)
    other = r.start()  # it may or may not be able to connect
    r.goes_on(k)
    status = other.interrupt(LATER_S) if other.proc.poll() is None else other.wait()
    assert status in (0, 1, -signal.SIGINT), other.saw()
    r.ended_by_hand(k)
    r.node.eval("[gen_udp:close(S) || S <- persistent_term:get(chaos_ports)], persistent_term:erase(chaos_ports), true", 60)


def burst_of_load(r):
    """A loop on all schedulers; the breaker opens, or sampling prevents it. Then kprof-top is killed or stopped
    during the loop."""
    k = r.attached("-t", "tight=tight:request/1", "--cooldown", "1s")
    r.node.eval("tight:start()")
    r.sometime(1.0)
    r.small()
    if r.rng.random() < 0.5:
        k.proc.kill()
    else:
        r.ended_by_hand(k)
    r.node.eval("tight:stop()")


def while_calls_are_counted(r):
    """The breaker is open and calls are counted; then kprof-top is stopped or killed, or a process of the agent is
    killed."""
    k = r.attached("-t", "tight=tight:request/1", "--max-age", "1ms", "--cooldown", "60s")
    r.node.eval("tight:start()")
    k.wait_json(LATER_S, lambda o: o["breaker"]["state"] == "open")
    r.node.eval("tight:stop()")
    if r.world.otp < 27:  # from then on in a separate session
        kp.until(LATER_S, lambda: r.node.ours()["counters"], 0.05, what=lambda: "calls are counted: %s" % r.node.ours())
    end = r.rng.choice(["kill", "interrupt"] + PARTS)
    if end == "kill":
        k.proc.kill()
    elif end == "interrupt":
        r.ended_by_hand(k)
    else:
        r.kill_part(end)
        if end == "controller":
            r.ends_itself(k, "lost the agent")
        else:
            r.ended_by_hand(k)


def burst_of_names(r):
    """Thousands of identities."""
    k = r.attached()
    r.node.eval("spawn(fun() -> [workload:request({N, list_to_atom(\"chaos_\" ++ integer_to_list(N))}, fun(_) -> ok end) "
                "|| N <- lists:seq(1, %d)] end), true" % HIDDEN_NAMES)
    r.goes_on(k)
    r.small()
    r.ended_by_hand(k)


def next_one_at_once(r):
    """One is killed; the other starts before the agent of the first has ended."""
    k = r.attached()
    k.proc.kill()
    other = r.start()
    other.tracing(LATER_S)
    r.goes_on(other)
    r.ended_by_hand(other)


def two_at_the_same_time(r):
    """From OTP 27 on both work; below, at most one works, and the other reports it."""
    both = [r.start(), r.start()]
    r.sometime(2.0)
    for k in both:
        if k.proc.poll() is None and r.rng.random() < 0.7:
            k.proc.send_signal(signal.SIGINT)
            k.wait(LATER_S)
        elif k.proc.poll() is None:
            k.proc.kill()
        else:
            assert k.wait() == 1 and "another kprof-top" in k.stderr, k.saw()


def ended_somehow(r, k, own):
    """kprof-top is killed or interrupted, or a process of the agent is killed; own: the functions in which they start."""
    end = r.rng.choice(["kill", "interrupt", own] + PARTS)
    if end == own:
        r.node.eval("[exit(P, kill) || P <- %s], true" % agents(own))
    elif end in PARTS:
        r.kill_part(end)
    if end == "kill":
        k.proc.kill()
    elif k.proc.poll() is None:
        k.proc.send_signal(signal.SIGINT)
    status = k.wait(LATER_S)
    assert end == "kill" or status in (0, 1), k.saw()
    assert status != 1 or k.stderr.startswith("kprof-top: "), k.saw()


def while_stacks_are_sampled(r):
    who = r.rng.choice([(), ("--processes", "all"), ("--processes", "inside", *tiers(*TIERS))])
    k = kp.Kp("--profile", "wall", *who, "-o", os.path.join(kp.scratch(), "chaos.folded"), r.node.name)
    r.kps.append(k)
    kp.until(LATER_S, lambda: r.node.eval("length(%s)" % agents("stack_")) > 1 or k.proc.poll() is not None, what=k.saw)
    assert k.proc.poll() is None, k.saw()
    r.sometime(0.5)
    ended_somehow(r, k, "stack_")


def while_a_full_trace_runs(r):
    """One request after the other is traced, because none is slow enough; or a process is traced."""
    what = r.rng.choice(["workload:request/2", "workload:request/1", None]) or r.node.eval("list_to_binary(pid_to_list(whereis(kernel_sup)))")
    k = kp.Kp("--full-trace", what, *(() if what.startswith("<") else ("--slow", "60s")), "--duration", "60s", "--full-events", "20000", r.node.name)
    r.kps.append(k)
    kp.until(LATER_S, lambda: r.node.eval("length(%s)" % agents("full_")) > 0 or k.proc.poll() is not None, what=k.saw)
    assert k.proc.poll() is None, k.saw()
    r.sometime(0.5)
    ended_somehow(r, k, "full_")


MISHAPS = [kill_9_at_any_moment, kill_9_while_tracing, interrupt_at_any_moment, stopped_and_continued, stopped_for_good, target_killed,
           network_cut, network_cut_at_any_moment, network_cut_while_loading, network_frozen_for_a_while, network_frozen_and_killed, modules_reloaded, controller_killed,
           relay_killed, two_parts_killed, part_killed_while_leaving, ports_exhausted, burst_of_load, while_calls_are_counted, burst_of_names, next_one_at_once,
           two_at_the_same_time, while_stacks_are_sampled, while_a_full_trace_runs]


# ---- the node, and checks of its state --------------------------------------------------------------------

class World:
    def __init__(self, otp, stop_s):
        self.otp, self.stop_s = otp, stop_s
        self.node, self.rounds, self.base, self.runs = None, 0, None, 0
        self.fresh()

    def fresh(self):
        self.node = kp.Node(self.otp, args=["+Q", "1024"])
        self.node.eval("workload:start()")
        self.node.eval("workload:load(4,5)")
        self.node.eval("[list_to_atom(\"chaos_\" ++ integer_to_list(N)) || N <- lists:seq(1, %d)], true" % HIDDEN_NAMES)
        self.rounds, self.base, self.runs = 0, None, 0

    def kill_node(self):
        self.node.kill()
        self.node = None

    def nothing_left(self):
        last = [""]

        def look():
            n = self.node
            left = [n.left_behind()]
            word = n.eval("erlang:system_info(trace_control_word)")
            left.append("control word %d" % word if word else "")
            carrying = n.eval("workload:tokens()")["carrying"]
            left.append("%d tokens" % carrying if carrying else "")
            left.append(n.eval(AGENTS + " =/= []") and "a process of the agent" or "")
            left.append(n.eval("[P || P <- processes(), {_, {erl_eval, exprs, 2}} <- [process_info(P, initial_call)]] =/= []") and "a reaper" or "")
            last[0] = ", ".join(x for x in left if x)
            return last[0] == ""
        kp.until(LATER_S, look, 0.05, what=lambda: "left on the node: " + last[0])

    def after(self, r):
        """The checks after each round."""
        if self.node is None:
            self.fresh()
            return
        self.nothing_left()
        self.node.eval(SITTERS_END)
        self.rounds += 1
        self.runs += len(r.kps)
        if self.rounds < WARM_ROUNDS:
            return
        now = self.node.eval(FIGURES)
        if self.base is None:
            self.base, self.runs = now, 0
            return
        assert now["memory"] < self.base["memory"] + NODE_GROWS_BYTES, "the node grew: %s -> %s" % (self.base, now)
        assert now["processes"] < self.base["processes"] + 20, "processes: %s -> %s" % (self.base, now)
        assert now["ports"] < self.base["ports"] + 10, "ports: %s -> %s" % (self.base, now)
        assert now["atoms"] <= self.base["atoms"] + 400 + 6 * self.runs, "atoms: %s -> %s after %d runs" % (self.base, now, self.runs)

    def end(self):
        if self.node is not None:
            assert self.node.eval("workload:load_done()", 60) > 0, "the node's work continues"
            self.node.kill()


def deck(rng, mishaps):
    """All failures in random order, repeatedly."""
    while True:
        cards = list(mishaps)
        rng.shuffle(cards)
        yield from cards


def one(world, mishap, rng):
    r = Round(world, rng)
    try:
        mishap(r)
        r.end()
        world.after(r)
    finally:
        r.end()
    return time.monotonic() - r.began


def again():
    """{otp: [failures]} to repeat, or None."""
    if not os.environ.get("KPROF_ONLY"):
        return None
    todo = {}
    with open(os.environ["KPROF_ONLY"]) as f:
        for otp, name in (x.split() for x in f if x.strip()):
            todo.setdefault(int(otp), []).append(name)
    return todo


def run(otp, a, names):
    rng = random.Random("%d %d" % (a.seed, otp))
    world = World(otp, a.stop)
    passed = failed = 0
    cards = deck(rng, [m for m in MISHAPS if a.only in m.__name__ and (not names or m.__name__ in names)])
    for i in range(len(names) if names else a.rounds):
        mishap = next(cards)
        own = random.Random(rng.random())
        try:
            took = one(world, mishap, own)
            passed += 1
            print("ok   OTP %d round %d %s (%.1f s)" % (otp, i + 1, mishap.__name__, took), flush=True)
        except Exception as e:
            failed += 1
            kp.note_failure("%d %s" % (otp, mishap.__name__), isinstance(e, kp.Harm))
            print("FAIL OTP %d round %d %s: chaos.py --otp %d --seed %d --rounds %d" % (otp, i + 1, mishap.__name__, otp, a.seed, i + 1))
            traceback.print_exc(limit=-4, file=sys.stdout)
            sys.stdout.flush()
            kp.clean_up()
            world = World(otp, a.stop)  # the next round must not find leftovers of this one
    try:
        world.end()
    except Exception:
        failed += 1
        traceback.print_exc(limit=-4, file=sys.stdout)
    kp.clean_up()
    return passed, failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    p.add_argument("--otp", default="25 27 29")
    p.add_argument("--only", default="", help="failures with this word in their name")
    p.add_argument("--stop", type=float, default=15, help="seconds of SIGSTOP; below 12 the lease is 1 s")
    a = p.parse_args()
    print("seed %d" % a.seed, flush=True)
    passed = failed = skipped = 0
    todo = again()
    for otp in map(int, a.otp.split()):
        if todo is not None and otp not in todo:
            continue
        if otp not in kp.otp_versions():
            print("skip OTP %d: not here" % otp)
            skipped += a.rounds
            continue
        p_, f_ = run(otp, a, todo[otp] if todo else None)
        passed, failed = passed + p_, failed + f_
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
