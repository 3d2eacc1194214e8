"""However kprof-top ends, nothing of it is left on the target, according to the VM."""
import fcntl
import os
import select
import signal
import subprocess
import tempfile
import threading

import kp
from common import OTPS, RULE, attach, clean, one_sentence, tiers, workload_node

ALL = ["request/1", "parse/1", "db/1", "format/1", "account/1", "cache/1"]


def under_load(n, *args):
    n.eval("workload:sitters(20)")
    n.eval("workload:load(8,2)")
    k = attach(n, *tiers(*ALL), "-i", RULE, *args)
    k.tracing()
    k.wait_json(20, lambda r: r["calls"]["aggregated"] > 1000)
    n.eval("workload:sitters(20)")  # processes that now receive a token and keep it
    kp.until(10, lambda: n.eval("workload:tokens()")["carrying"] >= 1, what="idle processes have tokens while tracing is on")
    return k


def no_token(n):
    last = []

    def look():
        last[:] = [n.eval("workload:tokens()")]
        return last[0]["asked"] >= 20 and last[0]["carrying"] == 0
    kp.until(60, look, 0.1, what=lambda: "no process carries a token: %s" % last)


@kp.each(*OTPS)
def test_kill_9_under_load(otp):
    with workload_node(otp) as n:
        k = under_load(n)
        k.proc.send_signal(signal.SIGKILL)
        k.proc.wait()
        clean(n)
        no_token(n)
        assert n.eval("workload:load_done()", 30) > 0


@kp.each(*OTPS)
def test_interrupt_leaves_nothing_and_prints_a_receipt(otp):
    with workload_node(otp) as n:
        k = under_load(n)
        assert k.interrupt() == 0, k.saw()
        receipt = [x for x in k.stderr.splitlines() if "detached" in x]
        assert len(receipt) == 1, k.saw()
        for what in ("0 patterns", "0 flags", "0 processes", "0 modules"):
            assert what in receipt[0], receipt
        assert "trace token" in receipt[0], receipt  # "no trace tokens left", or how many idle processes keep one
        clean(n)
        no_token(n)
        n.eval("workload:load_done()", 30)


@kp.each(*OTPS)
def test_attaching_while_the_code_server_hangs(otp):
    """Each attempt fails after some seconds. What the code server loads when it goes on is unloaded."""
    with workload_node(otp) as n:
        k = attach(n, *tiers("request/1"))  # loads the modules of OTP that attaching needs
        k.tracing()
        k.interrupt()
        clean(n)
        n.eval("begin Me = self(), spawn(fun() -> register(holder, self()), erlang:suspend_process(whereis(code_server)),"
               " Me ! held, receive go -> ok end end), receive held -> ok end end")
        for _ in range(3):
            k = attach(n, *tiers("request/1"))
            k.wait()
            one_sentence(k, 1, n.name, "code server does not answer")
        # each attempt keeps its slot: it must not be loaded into twice
        assert n.eval("length([N || N <- registered(), lists:prefix(\"kprof_slot_\", atom_to_list(N))])") == 3
        n.eval("holder ! go")
        loaded = "[M || M <- erlang:loaded(), lists:prefix(\"kprof_\", atom_to_list(M))] ++ [N || N <- registered(), lists:prefix(\"kprof_\", atom_to_list(N))]"
        kp.until(30, lambda: n.eval("length(%s)" % loaded) == 0, 0.1, what=lambda: "nothing of kprof-top is loaded: %s" % n.eval("lists:flatten(io_lib:format(\"~p\", [%s]))" % loaded))
        clean(n)


@kp.each("SIGTERM", "SIGHUP", "SIGQUIT")
def test_signals(name):
    with workload_node(25) as n:
        k = under_load(n)
        k.proc.send_signal(getattr(signal, name))
        k.wait(15)
        clean(n)
        no_token(n)


def test_node_dies_in_batch():
    with workload_node(25) as n:
        k = under_load(n)
        n.kill()
        k.wait(30)
        assert k.proc.returncode == 1, k.saw()
        kp.conserves(k.final())
        said = [x for x in k.stderr.splitlines() if x.strip() and "precaution on this node" not in x]
        assert said and n.name in said[0], k.saw()


def test_stopped_process_lets_go():
    """SIGSTOP with a load so low that the link buffers everything: only the lease can stop tracing, after 10 s. After
    SIGCONT tracing continues."""
    with workload_node(25) as n:
        n.eval("workload:load(1,20)")
        k = attach(n, *tiers(*ALL), "-i", RULE)
        k.wait_json(20, lambda r: r["calls"]["aggregated"] > 10)
        k.proc.send_signal(signal.SIGSTOP)
        kp.until(20, lambda: n.ours()["flags"] == [], 0.2, what=lambda: "flags off after the lease: %s" % n.ours())
        k.proc.send_signal(signal.SIGCONT)
        k.wait_json(30, lambda r: [g for g in r["gaps"] if g["reason"] == "lease" and g["to_s"] > 0])
        seen = len(k.rows)
        kp.until(30, lambda: any(not r["gaps"] and r["breaker"]["state"] == "closed" and (kp.row(r, "request") or {"count": 0})["count"] > 0
                                 for r in k.rows[seen:]), what=k.saw)
        k.interrupt(30)
        clean(n)
        kp.conserves(k.final())
        assert [g["reason"] for g in k.final()["gaps"] if g["reason"] == "lease"] == ["lease"], k.final()["gaps"]


def test_a_full_link_is_told_though_it_ends_at_once():
    """SIGSTOP under load: the link is full, and breaker or lease stop tracing. This is reported with the first
    message after SIGCONT, even if that is the last one."""
    with workload_node(25) as n:
        k = under_load(n)
        k.proc.send_signal(signal.SIGSTOP)
        kp.until(20, lambda: n.ours()["flags"] == [], 0.2, what=lambda: "flags off: %s" % n.ours())
        k.proc.send_signal(signal.SIGCONT)
        k.interrupt(30)
        clean(n)
        kp.conserves(k.final())
        assert {g["reason"] for g in k.final()["gaps"]} & {"lease", "overload"}, k.final()["gaps"]


def test_silent_node_is_told():
    """SIGSTOP of the node: it sends nothing. This is reported, there is a gap and no rate; after SIGCONT tracing
    continues."""
    with workload_node(25) as n:
        k = under_load(n)
        n.pause()
        try:
            silent = k.wait_json(30, lambda r: r.get("silent_s", 0) > 3)
            dead = k.wait_json(30, lambda r: r.get("silent_s", 0) > 5)
        finally:
            n.resume()
        assert silent["gaps"][0]["reason"] == "silent" and silent["gaps"][0]["to_s"] == 0, silent["gaps"]
        assert kp.row(dead, "request")["rate"] is None, "nothing is known of the last second: " + str(kp.row(dead, "request"))
        seen = len(k.rows)
        kp.until(30, lambda: any("silent_s" not in r and (kp.row(r, "request") or {"count": 0})["count"] > 0 for r in k.rows[seen:]),
                 what=k.saw)
        assert k.interrupt(30) == 0, k.saw()
        gaps = [g for g in k.final()["gaps"] if g["reason"] == "silent"]
        assert len(gaps) >= 1 and gaps[-1]["from_s"] - gaps[-1]["to_s"] > 3, k.final()["gaps"]
        clean(n)


def test_output_that_takes_nothing():
    """A pipe that is not read (`| less`): kprof-top blocks in write, so the lease stops tracing; when the pipe is
    read, tracing continues; a signal ends kprof-top anyway."""
    with workload_node(25) as n:
        n.eval("workload:load(4,2)")
        path = os.path.join(kp.scratch(), "pipe")
        os.mkfifo(path)
        k = kp.Kp("--batch", "--format", "json", "-d", "100ms", "-o", path, *tiers(*ALL), n.name, env={"KPROF_LEASE": "2s"})
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 4096)
        flags = lambda: n.ours()["flags"]  # noqa: E731
        kp.until(20, flags, 0.1, what="it traces")
        kp.until(20, lambda: not flags(), 0.1, what=lambda: "flags off while the output is not read: %s" % flags())
        stop = threading.Event()
        reader = threading.Thread(target=drain, args=(fd, stop))
        reader.start()
        try:
            kp.until(20, flags, 0.1, what="it traces again when the output is read")
        finally:
            stop.set()
            reader.join()
        kp.until(20, lambda: not flags(), 0.1, what=lambda: "flags off again: %s" % flags())
        k.proc.send_signal(signal.SIGTERM)
        k.wait(20)
        assert k.proc.returncode == 1 and "kprof-top: cannot write" in k.stderr, k.saw()
        os.close(fd)
        clean(n)


def drain(fd, stop):
    while not stop.is_set():
        if select.select([fd], [], [], 0.05)[0] and not os.read(fd, 65536):
            stop.wait(0.05)


def test_two_in_a_row_leave_no_atoms_behind():
    """Each run reuses the names of a slot: a hundred runs must not fill the atom table."""
    with workload_node(25) as n:
        counts = []
        for _ in range(4):
            k = attach(n, *tiers("request/1"))
            k.tracing()
            assert k.interrupt() == 0, k.saw()
            clean(n)
            counts.append(n.eval("erlang:system_info(atom_count)"))
        assert counts[-1] - counts[1] < 20, counts


def test_output_closed_early():
    """If the reader exits (| head -1), kprof-top ends, and the target is clean."""
    with workload_node(25) as n:
        n.eval("workload:load(2,5)")
        command = "%s --batch --format json -d 100ms %s -i '%s' %s | head -n 1 >/dev/null" % (
            kp.PROGRAM, " ".join(tiers(*ALL)), RULE, n.name)
        run = subprocess.run(["sh", "-c", command], env=dict(os.environ, KPROF_COOKIE=kp.COOKIE), timeout=30,
                             stderr=subprocess.PIPE, text=True)
        assert run.returncode == 0, run.stderr
        clean(n)
        n.eval("workload:load_done()", 30)


def test_duration_ends_it():
    """--duration: it ends by itself, reports the whole run and leaves nothing; in a replay it limits the replayed
    time."""
    rec = os.path.join(tempfile.mkdtemp(dir=kp.scratch()), "rec")
    with workload_node(25) as n:
        n.eval("workload:load(4,5)")
        k = attach(n, *tiers(*ALL), "--duration", "3s", "--record", rec)
        assert k.wait(60) == 0, k.saw()
        assert k.final()["elapsed_s"] >= 3 and k.final()["calls"]["aggregated"] > 0, k.saw()
        assert "0 patterns" in k.stderr, k.saw()
        clean(n)
        n.eval("workload:load_done()", 30)
    part = kp.run("--replay", rec, "--batch", "--format", "json", "--duration", "1s")
    whole = kp.run("--replay", rec, "--batch", "--format", "json")
    assert part.proc.returncode == 0 and whole.proc.returncode == 0, part.saw() + whole.saw()
    assert 1 <= part.final()["elapsed_s"] < whole.final()["elapsed_s"], (part.final(), whole.final())
    assert 0 < part.final()["calls"]["received"] < whole.final()["calls"]["received"]
