"""Events of the VM: what OTP 28 and later report to a trace session; before that, nothing of the VM is used for it."""
import os

import kp
from common import attach, clean

RULE = ("-t", "step=vm_work:step/1")


def until_told(k, test, what):
    """Waits until the events of all reports so far fulfil the test."""
    kp.until(30, lambda: test([e for r in list(k.rows) for e in r["vm_events"]]), what=what)


def final(k):
    assert k.interrupt() == 0, k.saw()
    return k.final()


def monitors(n):
    """The owner of system_monitor, and the sessions of agents that have events of the system."""
    return n.eval("erlang:system_monitor()")


def vm_sessions(n):
    return n.eval("[X || {X, _} <- try apply(trace, session_info, [all]) catch _:_ -> [] end, lists:prefix(\"kprof_vm_events_\", atom_to_list(X))]")


@kp.each(29)
def test_each_event_has_its_process(otp):
    """A long garbage collection, a long schedule, a long queue, a busy port: each with the right process, name and length."""
    with kp.Node(otp) as n:
        n.eval("vm_work:start()")
        k = attach(n, *RULE)
        k.tracing()
        k.wait_json(20, lambda r: r["vm_events_state"] == "on")
        want = {
            "long_gc": ("gc_worker", n.eval("vm_work:gc(50)", 60)),
            "long_schedule": ("busy_worker", n.eval("vm_work:schedule(50)", 60)),
            "long_queue": ("queue_worker", n.eval("vm_work:queue(3000)", 60)),
            "busy_port": ("port_worker", n.eval("vm_work:port(1000000)", 60)),
        }

        def has_all(events):
            have = {(e["kind"], e["process"], e["pid"]) for e in events}
            return all((kind, who, pid) in have for kind, (who, pid) in want.items())
        until_told(k, has_all, lambda: "all of %s in %s" % (want, [e for r in k.rows for e in r["vm_events"]]))
        assert vm_sessions(n) == ["kprof_vm_events_00"]
        assert monitors(n) is None
        r = final(k)
        of = {kind: [e for e in r["vm_events"] if e["kind"] == kind and e["process"] == who] for kind, (who, _) in want.items()}
        assert all(e["took_us"] >= 50000 for e in of["long_gc"]), of
        assert any(e["heap_bytes"] > 8000000 for e in of["long_gc"]), of  # on a busy machine small heaps take long, too
        assert all(e["took_us"] >= 50000 for e in of["long_schedule"]), of
        assert any((e["detail"] or "").startswith("vm_work:") for e in of["long_schedule"]), of
        assert all(e["heap_bytes"] >= 64 << 20 for e in r["vm_events"] if e["kind"] == "large_heap"), r["vm_events"]
        assert [e["open"] for e in of["long_queue"]] == [False] and 100000 < of["long_queue"][0]["took_us"] < 30e6, of
        assert of["busy_port"][0]["detail"].startswith("#Port<"), of
        clean(n)
        assert vm_sessions(n) == []


@kp.each(29)
def test_a_recording_has_them(otp):
    rec = os.path.join(kp.scratch(), "vm.rec")
    with kp.Node(otp) as n:
        n.eval("vm_work:start()")
        k = attach(n, *RULE, "--record", rec)
        k.tracing()
        k.wait_json(20, lambda r: r["vm_events_state"] == "on")
        n.eval("vm_work:queue(3000)", 60)
        until_told(k, lambda events: any(e["kind"] == "long_queue" and not e["open"] for e in events), "the end of the queue")
        live = final(k)["vm_events"]
        clean(n)
    live = [e for e in live if e["kind"] == "long_queue"]
    again = kp.Kp("--batch", "--format", "json", "--replay", rec, "-n", "1")
    assert again.wait() == 0, again.saw()
    replayed = [e for e in again.final()["vm_events"] if e["kind"] == "long_queue"]
    assert [e["pid"] for e in live] == [e["pid"] for e in replayed] and len(live) == 1, (live, replayed)
    assert abs(live[0]["took_us"] - replayed[0]["took_us"]) < 1, (live, replayed)


@kp.each(29)
def test_they_end_with_tracing_and_with_the_agent(otp):
    """Off while tracing is off; gone with the controller, the guardian and the relay, however they end."""
    with kp.Node(otp) as n:
        n.eval("vm_work:start()")
        k = attach(n, *RULE)
        k.tracing()
        kp.until(20, lambda: vm_sessions(n) == ["kprof_vm_events_00"], what="a session for events")
        # its process is killed: another one starts
        n.eval("[exit(P, kill) || P <- processes(), {initial_call, {M, vm_events_init, 2}} <- [process_info(P, initial_call)], M =/= none]")
        kp.until(20, lambda: vm_sessions(n) == [], what="the session ends with its process")
        kp.until(20, lambda: vm_sessions(n) == ["kprof_vm_events_00"], what="another session for events")
        n.eval("exit(whereis(kprof_controller_00), kill)")
        kp.until(20, lambda: vm_sessions(n) == [], what="no session is left")
        k.interrupt()
        clean(n)


@kp.each(25, 27)
def test_older_vms_are_left_alone(otp):
    """Before OTP 28: the owner of system_monitor keeps it, no session is made for events; what kprof-top knows is shown."""
    with kp.Node(otp) as n:
        n.eval("vm_work:start()")
        n.eval("begin P = spawn(fun() -> receive never -> ok end end), register(owner, P), erlang:system_monitor(P, [{long_gc, 5000}]), ok end")
        before = monitors(n)
        k = attach(n, *RULE)
        k.tracing()
        k.wait_json(20, lambda r: r["vm_events_state"] == "not on this VM" and kp.count(r, "step") > 5)
        n.eval("vm_work:gc(50)", 60)
        assert monitors(n) == before and before is not None, (before, monitors(n))
        assert vm_sessions(n) == []
        assert n.eval("[X || {X, _} <- try apply(trace, session_info, [all]) catch _:_ -> [] end, X =/= legacy, hd(atom_to_list(X)) =/= $k]") == []
        n.eval("exit(whereis(owner), kill)")
        assert not [e for e in final(k)["vm_events"] if e["kind"] in ("long_gc", "large_heap", "long_schedule")]
        clean(n)
        assert monitors(n) is None
