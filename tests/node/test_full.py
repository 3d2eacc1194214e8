"""--full-trace on nodes whose call tree is known, because the traced functions also write a log (tests/agent/agent_full_work.erl)."""
import json
import os
import re
import signal

import kp
from common import OTPS, clean

TREE = """
<pid> 1
  request/2 1
    part/1 1
      deep/1 1
    sum/1 1
      sum/1 1
        sum/1 1
          sum/1 1
    ask/2 1
    over/1 1
      throws/1 1
        deep/1 1
    loop/1 5
      deep/1 1
    last/1 1
      -last/1-fun-0-/1 2
        deep/1 2
<pid> 1
  served/1 1
    slow/1 1
"""


def start(node, *args):
    """Starts the server of agent_full_work and the trace; returns when it waits for a request."""
    node.eval("(fun() -> agent_full_log:start(), S = agent_full_work:start(self()), receive {S, ready} -> register(full_server, S) end, ok end)()")
    k = kp.Kp("--full-trace", "agent_full_work:request/2", "-t", "agent_full_work:served/1", *args, node.name)
    kp.until(30, lambda: "waiting for a request" in k.stderr, what=lambda: k.saw())
    return k


def request(node, kinds):
    node.eval("agent_full_log:requests([%s], whereis(full_server), 0), ok" % kinds)


def tree(text):
    """The lines without their times: the function, indented, and its calls."""
    rows = [re.match(r" *\S+ +\S+ +(\d+)  ( *)(.*)$", line).groups() for line in text.splitlines()[1:]]
    return ["%s%s %s" % (indent, re.sub(r"<[\d.]+>", "<pid>", name.replace("agent_full_work:", "").replace("'", "")), calls) for calls, indent, name in rows]


@kp.each(*OTPS)
def test_tree(otp):
    with kp.Node(otp) as n:
        k = start(n, "--full-hide", "sleep,gc")
        request(n, "slow")
        assert k.wait() == 0, k.saw()
        assert tree(k.stdout) == TREE.strip().splitlines(), k.stdout
        assert "0 patterns, 0 flags, 0 processes, 0 modules" in k.stderr, k.saw()
        clean(n)


def test_time_line():
    """The waits are there, from OTP 25.3 on; and other programs can read the file."""
    with kp.Node(27) as n:
        path = os.path.join(kp.scratch(), "full.trace.json")
        k = start(n, "--slow", "40ms", "-o", path)
        request(n, "a, slow, slow, slow, slow")
        assert k.wait() == 0, k.saw()
        with open(path, encoding="utf-8") as f:
            events = json.load(f)
        names = {e.get("name", "") for e in (events["traceEvents"] if isinstance(events, dict) else events)}
        assert "agent_full_work:request/2" in names and "SLEEP agent_full_work:slow/1" in names, names
        clean(n)


@kp.each(25, 27)
def test_kill_9(otp):
    """While a process is traced: patterns on whole modules, before OTP 27 in the session that all tracers share."""
    with kp.Node(otp) as n:
        pid = n.eval("agent_full_log:start(), S = agent_full_work:start(self()), receive {S, ready} -> list_to_binary(pid_to_list(S)) end")
        k = kp.Kp("--full-trace", pid, "--duration", "60s", n.name)
        kp.until(30, lambda: n.ours()["flags"] or "kprof_full_tracer_00" in n.ours()["sessions"], what=lambda: k.saw())
        k.proc.send_signal(signal.SIGKILL)
        k.proc.wait()
        clean(n)
        assert not n.eval("[P || P <- processes(), {_, {M, _, _}} <- [process_info(P, initial_call)], "
                          "lists:prefix(\"kprof_\", atom_to_list(M))]")


def test_the_tracer_is_killed():
    """kprof-top does not wait for it."""
    with kp.Node(27) as n:
        k = start(n, "--duration", "600s")
        n.eval("[exit(P, kill) || P <- processes(), {_, {_, full_tracer_init, _}} <- [process_info(P, initial_call)]], ok")
        assert k.wait(60) == 1, k.saw()
        assert k.stderr.count("the full trace ended: its process was killed") == 1, k.saw()
        clean(n)


def test_why_nothing_was_caught():
    with kp.Node(25) as n:
        k = start(n, "--duration", "600ms")
        assert k.wait() == 1, k.saw()
        assert "no request came: agent_full_work:request/2 was not called" in k.stderr, k.saw()
        clean(n)


def test_canceled_while_it_waits_for_a_slow_one():
    """The earlier request was not slow enough: kprof-top reports this, and prints no trace."""
    with kp.Node(25) as n:
        k = start(n, "--slow", "10s", "--duration", "60s")
        def word():
            return n.eval("erlang:system_info(trace_control_word)")
        waits = word()
        request(n, "a")
        kp.until(20, lambda: word() == waits + 4, what=lambda: "the next attempt: %d, %d" % (waits, word()))
        k.proc.send_signal(signal.SIGINT)
        assert k.wait() == 1, k.saw()
        assert "the full trace was canceled; no earlier request matched: the slowest took " in k.stderr, k.saw()
        assert k.stdout == "", k.stdout
        clean(n)
