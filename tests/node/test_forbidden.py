"""VM functions that the agent must not call in some phases. A tracer of the test on the node (forbidden.erl) records
the calls."""
import re
import signal
import time

import kp
from common import OTPS, RULE, attach, clean, tiers, workload_node

ALL = ["request/1", "parse/1", "db/1", "format/1", "account/1", "cache/1"]
TIGHT = ["-t", "tight=tight:request/1", "-t", "inner=tight:tier/1"]
LATER_S, ABSENT_S = 60, 2


def phase(n, name):
    n.eval('forbidden:phase(<<"%s">>)' % name)


def quiet(n):
    """Running operations have some time to end: no more calls arrive."""
    last = [n.eval("forbidden:calls()"), time.monotonic()]
    end = last[1] + 10
    while time.monotonic() < min(last[1] + 0.5, end):
        time.sleep(0.05)
        calls = n.eval("forbidden:calls()")
        if calls != last[0]:
            last = [calls, time.monotonic()]


def nothing_is_done(n, name):
    """Tracing is off: after the end of running operations, no call may arrive."""
    quiet(n)
    phase(n, name)
    time.sleep(ABSENT_S)  # time in which nothing forbidden may happen


def limits(n):
    phase(n, "limits")
    k = attach(n, *tiers(*ALL), "-i", RULE, "--max-rate", "100/s")
    k.wait_json(LATER_S, lambda r: r["sample"] > 1 or r["breaker"]["trips"])
    phase(n, "limits, end")
    assert k.interrupt(LATER_S) == 0, k.saw()
    clean(n)


def trip(n):
    phase(n, "trip")
    k = attach(n, *tiers(*ALL), "-i", RULE, *TIGHT, "--max-overhead", "5", "--max-age", "1ms", "--cooldown", "60s")
    k.tracing(LATER_S)
    n.eval("tight:start()")
    k.wait_json(LATER_S, lambda r: r["breaker"]["state"] == "open")
    nothing_is_done(n, "trip, off")
    n.eval("tight:stop()")
    nothing_is_done(n, "after the load of a trip, off")
    phase(n, "trip, end")
    assert k.interrupt(LATER_S) == 0, k.saw()
    clean(n)


def screen(n):
    """Tracing off and on, a capture, another entry, another rule."""
    phase(n, "screen")
    with kp.Tmux(100, 30, command=[kp.PROGRAM, *tiers(*ALL), "--max-overhead", "none", n.name]) as t:
        t.wait_for(re.compile(r"^\W*request\b.*[1-9]", re.M), LATER_S)
        t.keys("t")
        t.wait_for("TRACING OFF", LATER_S)
        nothing_is_done(n, "switched off")
        phase(n, "on again")
        t.keys("t")
        t.wait_for("TRACING ON", LATER_S)
        phase(n, "capture")
        t.keys("Home", "I")
        t.wait_for("NAMES of these", LATER_S)
        phase(n, "configuration")
        t.keys("Enter")
        t.wait_for(re.compile(r"^\W*(create|read)\b", re.M), LATER_S)
        t.keys("E", "Home", "Down", "Enter")
        phase(n, "q, end")
        t.keys("q")
        kp.until(LATER_S, lambda: t.get("pane_dead") == "1", what=t.screen)
    clean(n)


def asks(n, t, name, keys, words):
    """A screen that reads all processes, but asks only as many as PROTOCOL.md documents (documented/3 of forbidden.erl)."""
    before = n.eval("forbidden:seen()").get("question", 0)
    phase(n, name)
    for key, what in zip(keys, words):
        t.keys(key)
        t.wait_for(what, LATER_S)
    time.sleep(ABSENT_S)  # more rounds
    t.keys("Escape", "Escape")
    t.wait_for(re.compile(r"^TIER\b", re.M), LATER_S)
    quiet(n)
    assert n.eval("forbidden:seen()")["question"] > before + 10, "no process was asked in " + name


def tools(n):
    """Stack samples, the process table, why a tier has calls or none, findings, a full trace."""
    phase(n, "before the tools")
    with kp.Tmux(100, 30, command=[kp.PROGRAM, *tiers(*ALL), "--max-overhead", "none", n.name]) as t:
        t.wait_for(re.compile(r"^\W*request\b.*[1-9]", re.M), LATER_S)
        asks(n, t, "stacks", ("F", "Enter"), ("Sample the stacks of", re.compile(r"^SAMPLING .* processes", re.M)))
        asks(n, t, "processes", ("U", ""), (re.compile(r"^\d+ processes", re.M), re.compile(r"^\d+ processes, \+\d", re.M)))
        phase(n, "why")
        t.keys("Home", "Down", "y")
        t.wait_for(re.compile(r"\bcalled \d+/s|not called"), LATER_S)
        t.keys("Y")
        t.wait_for("FINDINGS", LATER_S)
        t.keys("Escape")
        t.wait_for(re.compile(r"^TIER\b", re.M), LATER_S)
        phase(n, "full trace")
        t.keys("Home", "x")
        t.wait_for("the next ", LATER_S)
        t.keys("Enter")
        t.wait_for("CALL TREE of", LATER_S)
        t.keys("Escape", "Escape")
        t.wait_for("TRACING ON", LATER_S)
        phase(n, "q after the tools, end")
        t.keys("q")
        kp.until(LATER_S, lambda: t.get("pane_dead") == "1", what=t.screen)
    clean(n)


def reset(n):
    """An idle process keeps a token: the agent resets all, once, where it may."""
    phase(n, "before the reset")
    k = attach(n, *tiers(*ALL), "-i", RULE)
    k.wait_json(LATER_S, lambda r: r["calls"]["aggregated"] > 100)
    n.eval("persistent_term:put(idle_holder, spawn(fun() -> workload:request(sit), receive stop -> ok end end))")
    kp.until(LATER_S, lambda: n.eval("process_info(persistent_term:get(idle_holder), sequential_trace_token) =/= {sequential_trace_token, []}"),
             what="an idle process has a token")
    phase(n, "reset, end")
    assert k.interrupt(LATER_S) == 0, k.saw()
    clean(n)
    n.eval("exit(persistent_term:get(idle_holder), kill)")
    found = [x for x in n.eval("forbidden:told()") if x[:2] == ["reset, end", "at_end"]]
    assert len(found) == (1 if n.otp >= 27 else 0), "resets: %s; %s" % (found, k.saw())


def killed(n):
    phase(n, "before kill -9")
    k = attach(n, *tiers(*ALL), "-i", RULE)
    k.wait_json(LATER_S, lambda r: r["calls"]["aggregated"] > 100)
    phase(n, "kill -9, end")
    k.proc.send_signal(signal.SIGKILL)
    k.proc.wait()
    clean(n)


@kp.each(*OTPS)
def test_nothing_forbidden_is_used(otp):
    with workload_node(otp) as n:
        n.eval("workload:load(4,5)")
        n.eval("forbidden:start(%d)" % otp)
        for part in (limits, trip, screen, tools, reset, killed):
            before = n.eval("forbidden:seen()")
            part(n)
            seen = n.eval("forbidden:seen()")
            assert all(seen.get(x, 0) > before.get(x, 0) for x in ("flags", "pattern")), "the test's own tracer sees nothing in %s: %s" % (part.__name__, seen)
        told = [x for x in n.eval("forbidden:told()") if x[1] != "at_end"]
        if told:
            raise kp.Harm("forbidden on OTP %d (in which phase, what, by whom):\n%s" % (
                otp, "\n".join("  %-32s %s, by %s, %d times" % tuple(x) for x in told)))


FORBIDDEN = [("reset", "reset_trace"), ("reset_below", "reset_trace"), ("existing", "existing at once"), ("all", "all at once"), ("call_time", "call_time set"),
             ("trace_info", "trace_info"), ("everything", "everything"), ("in_list", "memory"), ("message_queue_len", "message_queue_len"), ("memory", "memory"),
             ("dictionary", "dictionary"), ("links", "links"), ("messages", "messages"), ("total_heap_size", "total_heap_size"),
             ("current_function", "current_function"), ("current_stacktrace", "current_stacktrace")]
FORBIDDEN_27 = [("{session, existing}", "existing at once"), ("{session, call_time}", "call_time set"), ("{session, info}", "trace_info")]


@kp.each(*OTPS)
def test_what_is_forbidden_is_found(otp):
    """The tracer of the test detects each of these, and reports none of the allowed calls."""
    with workload_node(otp) as n:
        n.eval("forbidden:start(%d)" % otp)
        said = lambda: [x for x in n.eval("forbidden:told()") if x[1] != "at_end"]  # noqa: E731
        phase(n, "allowed")
        assert n.eval("kprof_fake_99:allowed()") and said() == [], said()
        assert n.eval("[process_info(P) || P <- processes()] =/= []") and said() == [], "the test's own questions: %s" % said()
        for i, (what, words) in enumerate(FORBIDDEN + (FORBIDDEN_27 if otp >= 27 else [])):
            phase(n, "number %d" % i)
            n.eval("kprof_fake_99:do(%s)" % what)
            found = [x for x in said() if x[0] == "number %d" % i]
            assert len(found) == 1 and words in found[0][1], "%s: %s" % (what, found)
        for what in ("one_flag", "one_question"):
            phase(n, what)
            n.eval("kprof_fake_99:do(%s)" % what)
            phase(n, what + ", off")
            n.eval("kprof_fake_99:do(%s)" % what)
        found = [x for x in said() if x[0].startswith("one")]
        assert [x[0] for x in found] == ["one_flag, off", "one_question, off"], found
        phase(n, "the end")
        n.eval("kprof_fake_99:at_end()")
        found = [x for x in said() if x[0] == "the end"]
        assert found == [] if otp >= 27 else len(found) == 1, found
        n.eval("kprof_fake_99:at_end()")
        assert [x for x in said() if x[0] == "the end"], "a second reset must be detected"
