"""Errors: an exit status, one sentence on stderr, nothing left on the node."""
import os
import re
import socket

import kp
from common import OTPS, RULE, attach, clean, one_sentence, tiers, workload_node

TIER = ["--batch", "-n", "1", "-d", "200ms", "-t", "workload:request/1"]


@kp.each(*OTPS)
def test_cookie_refused(otp):
    with workload_node(otp) as n:
        k = kp.run(*TIER, n.name, cookie="wrong")
        one_sentence(k, 1, n.name, "cookie")
        clean(n)


def test_host_unknown():
    """One sentence, and one line with the command that forwards a port to the host."""
    k = kp.run(*TIER, "app@no-such-host.invalid:9100")
    lines = k.stderr.splitlines()
    assert k.proc.returncode == 1 and len(lines) == 2, k.saw()
    assert "'no-such-host.invalid' is unknown" in lines[0], k.saw()
    assert lines[1] == ("kprof-top: forward a port to it: ssh -L 9100:no-such-host.invalid:9100 no-such-host.invalid; then: "
                        "kprof-top --connect 127.0.0.1:9100 app@no-such-host.invalid"), k.saw()


def test_port_without_epmd():
    with workload_node(25) as n:
        k = kp.run("--batch", "--format", "json", "-n", "1", "-d", "200ms", "-t", "workload:request/1",
                   "%s:%d" % (n.name, n.port()), env={"ERL_EPMD_PORT": "1"})
        assert k.proc.returncode == 0, k.saw()
        clean(n)


def test_port_is_not_a_node():
    """A listener that does not speak the protocol."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(4)
        k = kp.Kp(*TIER, "app@127.0.0.1:%d" % s.getsockname()[1])
        c, _ = s.accept()
        with c:
            c.sendall(b"SSH-2.0-nonsense\r\n")
            k.wait(30)
        one_sentence(k, 1, "127.0.0.1")


def test_short_name():
    with workload_node(25, short=True) as n:
        k = attach(n, "-n", "1", "-t", "workload:request/1")
        k.wait(30)
        assert k.proc.returncode == 0, k.saw()
        clean(n)


def test_stopped_node():
    """A stopped node, which does not answer."""
    with workload_node(25) as n:
        n.pause()
        k = kp.run(*TIER, n.name)  # it exits after its own timeout
        n.resume()
        one_sentence(k, 1, n.name)
        clean(n)


def test_no_such_function():
    """The message suggests similar names; the run continues."""
    with workload_node(25) as n:
        k = kp.run("--batch", "--format", "json", "-n", "2", "-d", "300ms", "-t", "workload:requst/1", "-t",
                   "workload:parse/1", n.name)
        said = [x for x in k.stderr.splitlines() if "requst" in x]
        assert said and "request/1" in said[0], k.saw()
        assert k.proc.returncode == 0, k.saw()
        clean(n)


def test_no_such_module():
    with workload_node(25) as n:
        k = kp.run("--batch", "-n", "1", "-d", "200ms", "-t", "worklaod:request/1", n.name)
        assert any("worklaod" in x for x in k.stderr.splitlines()), k.saw()
        clean(n)


@kp.each("fun ({workload,request,[Op]}) -> Op", "fun ({workload,request,[Op]}) -> lists:reverse(Op) end",
         "workload:request/1 arg(", "nonsense", "fun (X) -> Y end")
def test_rule_that_does_not_parse(rule):
    with workload_node(25) as n:
        k = kp.run("--batch", "-n", "1", "-d", "200ms", "-t", "workload:request/1", "-i", rule, n.name)
        said = [x for x in k.stderr.splitlines() if "detached" not in x]
        assert k.proc.returncode == 2, k.saw()
        assert len(said) == 1 and "rule" in said[0], k.saw()
        clean(n)


@kp.each(*OTPS)
def test_two_at_once(otp):
    """Below OTP 27 there is only one tracer: the second kprof-top reports the first and exits. From 27 on both work."""
    with workload_node(otp) as n:
        first = attach(n, *tiers("request/1", "parse/1"), "-i", RULE)
        first.tracing()
        second = attach(n, *tiers("request/1", "cache/1"), "-i", RULE)
        if otp < 27:
            second.wait(20)
            one_sentence(second, 1, n.name)
            assert "kprof-top" in second.stderr.split(":", 1)[1], second.saw()
        else:
            second.tracing()
        n.eval("workload:counts(50,[create,read],1000)")
        if otp >= 27:
            assert second.interrupt() == 0, second.saw()
            assert kp.count(second.final(), "cache", "read") == 150, second.final()
            assert kp.count(second.final(), "request", "create") == 50
            n.eval("workload:counts(50,[create,read],1000)")
        assert first.interrupt() == 0, first.saw()
        final = first.final()
        kp.conserves(final)
        assert kp.count(final, "parse", "create") == (100 if otp >= 27 else 50), final["rows"]
        clean(n)


def test_wrong_usage():
    for args, words in (([], ["node"]), (["--no-such-option", "a@b"], ["no-such-option"]),
                        (["--sample", "7", "a@b"], ["sample"]), (["-d", "fast", "a@b"], ["delay"]),
                        (["--batch", "-t", "nonsense", "a@b"], ["nonsense"]), (["--format", "xml", "-b", "a@b"], ["xml"]),
                        (["--replay", "x", "--demo"], ["--demo"]), (["--hazards", "--replay", "x"], ["--hazards", "--replay"]), (["no-at-sign"], ["no-at-sign"])):
        one_sentence(kp.run(*args), 2, *words)


def test_an_output_is_kept_until_there_is_a_report():
    """An earlier report is kept if the node cannot be reached; a recording that is read is not overwritten."""
    old, rec = os.path.join(kp.scratch(), "old.json"), os.path.join(kp.scratch(), "read.rec")
    for path in (old, rec):
        with open(path, "w") as f:
            f.write("yesterday")
    one_sentence(kp.run("-b", "-n", "1", "-t", "m:f/1", "-o", old, "--format", "json", "nosuch@127.0.0.1", deadline_s=60), 1, "nosuch")
    one_sentence(kp.run("-b", "--replay", rec, "-o", rec), 2, "same file")
    for path in (old, rec):
        with open(path) as f:
            assert f.read() == "yesterday", path


@kp.each(25, 27, 29)
def test_hazards_are_listed(otp):
    """--hazards: the table of the node, avoided functions first; nothing is traced; a receipt."""
    with kp.Node(otp) as n:
        k = kp.run("--hazards", n.name)
        assert k.proc.returncode == 0, k.saw()
        lines = k.stdout.splitlines()
        held = [bool(re.match(r"[A-E][0-9]+[A-Z]? +precaution  \S", x)) for x in lines]
        assert lines and held == sorted(held, reverse=True), k.saw()
        assert all(h or re.match(r"[A-E][0-9]+[A-Z]? +does not apply   \S", x) for h, x in zip(held, lines)), k.saw()
        # seq_trace:reset_trace/0 aborts VMs before OTP 27
        assert any(x.startswith("A1 ") and h for h, x in zip(held, lines)) == (otp == 25), k.saw()
        assert "0 patterns, 0 flags, 0 processes, 0 modules" in k.stderr, k.saw()


def test_help_and_version():
    k = kp.run("--help")
    assert k.proc.returncode == 0 and "--tier" in k.stdout and not k.stderr, k.saw()
    k = kp.run("--version")
    assert k.proc.returncode == 0 and "kprof-top" in k.stdout, k.saw()


def test_cookie_sources():
    with workload_node(25, cookie="kpother") as n:
        good = os.path.join(kp.scratch(), "good.cookie")
        with open(good, "w") as f:
            f.write("kpother\n")
        os.chmod(good, 0o400)
        for args, env in ((["--setcookie", "kpother"], {}), (["--cookie-file", good], {}), ([], {"KPROF_COOKIE": "kpother"})):
            k = kp.run(*TIER, *args, n.name, cookie="wrong", env=env)
            assert k.proc.returncode == 0, k.saw()
        home = os.path.join(kp.scratch(), "home")
        os.makedirs(home, exist_ok=True)
        with open(os.path.join(home, ".erlang.cookie"), "w") as f:
            f.write("kpother")
        os.chmod(os.path.join(home, ".erlang.cookie"), 0o400)
        k = kp.run(*TIER, n.name, cookie=None, env={"HOME": home})
        assert k.proc.returncode == 0, k.saw()
        # The cookie must not be in the process table.
        k = attach(n, "-t", "workload:request/1", "--setcookie", "kpother")
        k.tracing()
        with open("/proc/%d/cmdline" % k.proc.pid, "rb") as f:
            shown = f.read()
        k.interrupt()
        assert b"kpother" not in shown, shown
        clean(n)


@kp.each(*OTPS)
def test_dbg_is_left_as_it_was(otp):
    """Another tracer: below OTP 27 kprof-top reports it and exits; from 27 on both work at the same time."""
    with workload_node(otp) as n:
        n.eval("begin {ok, _} = dbg:tracer(process, {fun(_, X) -> X + 1 end, 0}), {ok, _} = dbg:p(all, c),"
               " {ok, _} = dbg:tpl(workload, cache, '_', []), ok end")
        shape = ("#{pattern => erlang:trace_info({workload, cache, 1}, match_spec),"
                 " traced => erlang:trace_info({workload, cache, 1}, traced), new => erlang:trace_info(new, flags),"
                 " tracer => is_pid(element(2, dbg:get_tracer()))}")
        before = n.eval(shape)
        k = attach(n, *tiers("request/1", "cache/1"), "-i", RULE, "-n", "3")
        kp.until(20, lambda: k.rows or k.proc.poll() is not None, what=lambda: k.saw())
        n.eval("workload:counts(5,[read],1000)")
        k.wait(30)
        if otp < 27:
            one_sentence(k, 1, n.name, "trac")
        else:
            assert k.proc.returncode == 0, k.saw()
            assert kp.count(k.final(), "request", "read") == 5, k.final()
        assert n.eval(shape) == before
        # the other tracer is reported at attach; with --force kprof-top attaches and does not change it
        force = ["--force"] if otp < 27 else []
        k = kp.run("--batch", "--format", "text", "-n", "1", "-d", "200ms", *tiers("request/1"), *force, n.name)
        assert k.proc.returncode == 0 and "other tracers: " in k.stdout, k.saw()
        assert n.eval(shape) == before
        n.eval("dbg:stop()" if otp >= 27 else "dbg:stop_clear()")


def test_tier_that_is_never_called_is_there_with_zero():
    with workload_node(25) as n:
        k = attach(n, *tiers("request/1", "never/1"), "-i", RULE)
        k.tracing()
        n.eval("workload:counts(5,[read],1000)")
        # the reason is shown without a request
        k.wait_json(15, lambda r: "not called" in (kp.row(r, "never") or {}).get("note", ""))
        assert k.interrupt() == 0
        assert kp.row(k.final(), "never")["count"] == 0
        clean(n)


@kp.each(25, 27)
def test_two_operators(otp):
    """Below OTP 27 there is only one tracer: the second is told which one, and since when. From 27 on each has a
    session."""
    with workload_node(otp) as n:
        first = attach(n, *tiers("request/1"), "-i", RULE)
        first.tracing()
        second = attach(n, *tiers("request/1"), "-i", RULE)
        if otp < 27:
            second.wait(30)
            one_sentence(second, 1, n.name, "another kprof-top", "pid %d" % first.proc.pid, "since 20")
        else:
            second.tracing()
        n.eval("workload:counts(5,[read],1000)")
        for k in (first, second)[:1 if otp < 27 else 2]:
            assert k.interrupt() == 0, k.saw()
            assert kp.count(k.final(), "request", "read") == 5, k.final()
        clean(n)
