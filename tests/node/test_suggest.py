"""`--suggest`: its result on nodes under load; counting calls leaves nothing on the node, however it ends."""
import os
import re
import signal

import kp
from common import OTPS, clean, workload_node

COUNTED = "workload:request/1"


def functions(profile):
    """The tiers' functions of a printed profile, the entry first."""
    return re.findall(r'"[^"]*", "([^"]*/\d+)"', profile)


def suggest(node, *args):
    return kp.run("--suggest", *args, node.name, deadline_s=60)


@kp.each(*OTPS)
def test_the_entry_and_the_layers_of_a_busy_node(otp):
    with workload_node(otp) as n:
        n.eval("workload:load(4,5)")
        k = suggest(n)
        assert k.proc.returncode == 0, k.saw()
        tiers = functions(k.stdout)
        assert tiers and tiers[0] == COUNTED, k.saw()
        assert len(tiers) <= 6 and len(set(tiers) & {"workload:%s/1" % f for f in ("request", "parse", "db", "format", "account", "cache")}) >= 4, k.saw()
        assert "0 patterns, 0 flags, 0 processes, 0 modules" in k.stderr, k.saw()
        clean(n)
        assert n.eval("workload:load_done()", 30) > 0


@kp.each(*OTPS)
def test_the_outermost_function_is_the_entry(otp):
    """Processes of their own call request/1, which calls the other two; a loop starts these processes."""
    with kp.Node(otp) as n:
        n.eval("why_work:start([{work, 100}])")
        k = suggest(n)
        tiers = functions(k.stdout)
        assert tiers and tiers[0] == "why_work:request/1" and set(tiers[1:]) == {"why_work:part/2", "why_work:other/1"}, k.saw()
        clean(n)


def test_what_is_printed_is_a_profile():
    with workload_node(25) as n:
        n.eval("workload:load(4,5)")
        k = suggest(n)
        path = os.path.join(kp.scratch(), "suggested.config")
        with open(path, "w") as f:
            f.write(k.stdout)
        k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "-f", path, n.name)
        k.wait_json(30, lambda r: kp.count(r, "request") > 0)
        assert k.interrupt() == 0, k.saw()
        clean(n)
        n.eval("workload:load_done()", 30)


def test_the_sample_node():
    k = kp.run("--suggest", "--demo", deadline_s=60)
    assert k.proc.returncode == 0, k.saw()
    tiers = functions(k.stdout)
    preset = ["kprof_sample:%s" % f for f in ("handle/1", "parsing/1", "db/2", "accounting/2", "formatter/1")]
    assert tiers and tiers[0] == preset[0] and len(set(tiers) & set(preset)) >= 3, k.saw()


def test_a_node_that_does_nothing_has_none():
    with workload_node(25) as n:
        k = suggest(n)
        assert k.proc.returncode == 1 and k.stdout == "", k.saw()
        assert re.search(r"no suggestion: none of \d+ functions was called in a second", k.stderr), k.saw()
        clean(n)


def counters(n):
    """The number of functions of the workload with a call counter; from OTP 27 on each session has its own counters."""
    return n.eval("length([x || {F, A} <- workload:module_info(exports), case erlang:function_exported(trace, session_info, 1) of "
                  "true -> trace:session_info({workload, F, A}) =/= []; "
                  "false -> erlang:trace_info({workload, F, A}, call_count) =/= {call_count, false} end])")


@kp.each(*OTPS)
def test_killed_while_calls_are_counted(otp):
    with workload_node(otp) as n:
        n.eval("workload:load(4,5)")
        k = kp.Kp("--suggest", n.name)
        kp.until(60, lambda: counters(n) > 0 or k.proc.poll() is not None, 0.01, what="counters are set")
        assert k.proc.poll() is None, k.saw()
        assert n.ours()["flags"] == [], "no process has a flag while calls are counted"
        k.proc.send_signal(signal.SIGKILL)
        k.proc.wait()
        clean(n)
        assert counters(n) == 0
        assert n.eval("workload:load_done()", 30) > 0


def test_others_are_left_alone():
    with workload_node(25) as n:
        n.eval("workload:load(4,5)")
        n.eval("1 = erlang:trace_pattern({workload, parse, 1}, true, [call_count])")
        n.eval("1 = erlang:trace_pattern({workload, db, 1}, [{'_', [], [{message, false}]}], [local])")
        k = suggest(n)
        assert k.proc.returncode == 0, k.saw()
        tiers = functions(k.stdout)
        assert "workload:db/1" not in tiers and tiers[0] == COUNTED, k.saw()  # someone else traces it
        assert n.eval("element(2, erlang:trace_info({workload, parse, 1}, call_count)) > 0")
        assert n.eval("element(2, erlang:trace_info({workload, db, 1}, traced))") == "local"
        n.eval("erlang:trace_pattern({workload, parse, 1}, false, [call_count]), erlang:trace_pattern({workload, db, 1}, false, [local]), true")
        clean(n)
        n.eval("workload:load_done()", 30)
