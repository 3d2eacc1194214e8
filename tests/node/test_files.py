"""Formats, recordings, outputs, the demo."""
import csv
import io
import json
import os
import signal

import kp
from common import RULE, RULE2, attach, check_rows, clean, tiers, workload_node

ALL = ["request/1", "parse/1", "db/1", "format/1", "account/1", "cache/1"]
KEYS = {"schema", "final", "node", "otp", "elapsed_s", "window_s", "tracing", "transport", "returns", "sample", "breaker",
        "clock", "gap_s", "gaps", "marks", "vm_events", "vm_events_state", "vm_events_lost", "calls", "lost", "requests", "rows", "slow"}
ROW = {"tier", "identity", "count", "est_count", "late", "rate", "errors", "min_us", "mean_us", "sd_us", "p25_us", "p50_us",
       "p75_us", "p90_us", "p95_us", "p99_us", "p999_us", "max_us", "self_us", "share", "oldest_open_us",
       "mbox_count", "mbox_mean_us", "mbox_p50_us", "mbox_p90_us", "mbox_p99_us", "mbox_p999_us",
       "mbox_max_us", "busy"}
DEMO_REC = os.path.join(kp.ROOT, "tests", "golden", "demo.rec")


def test_json_contract():
    with workload_node(25) as n:
        log = os.path.join(kp.scratch(), "slow.log")
        k = attach(n, *tiers(*ALL), "-i", RULE, "-n", "4", "--slow", "1us", "--slow-log", log, "--slow-args")
        k.tracing()
        n.eval("workload:counts(20,[create,read],1000)")
        assert k.wait(30) == 0, k.saw()
        assert len(k.rows) == 5 and [r["final"] for r in k.rows] == [False] * 4 + [True], k.saw()
        assert all(len(x.splitlines()) == 1 for x in k.lines)
        for obj in k.rows:
            assert KEYS <= set(obj), KEYS - set(obj)
            kp.conserves(obj)
            assert obj["node"] == n.name and obj["transport"] == "dist" and obj["breaker"]["state"] == "closed"
            assert {"state", "trips", "reason", "next_s", "pause_s"} <= set(obj["breaker"]), obj["breaker"]
            for r in obj["rows"]:
                assert ROW <= set(r), ROW - set(r)
        slow = k.final()["slow"]
        assert slow and {"at", "tier", "identity", "pid", "duration_us", "request"} <= set(slow[0]), slow[:1]
        assert slow[0]["pid"].startswith("<"), slow[0]
        args = {s["args"] for s in slow if s["tier"] == "request"}
        assert args and args <= {"[create]", "[read]"}, slow[:3]
        sums = [s for s in slow if "sums" in s][0]
        assert {"tier", "calls", "sum_us", "self_us"} <= set(sums["sums"][0]), sums
        assert abs(sum(t["self_us"] for t in sums["sums"]) - sums["request_us"]) < 1, sums
        # the file has the same calls, in order; calls above 1000 per second are only counted
        with open(log, encoding="utf-8") as f:
            lines = [json.loads(x) for x in f]
        assert os.stat(log).st_mode & 0o077 == 0 and all(x["node"] == n.name for x in lines), lines[:2]
        missed = sum(x.get("missed", 0) for x in lines)
        there = {(x["request"], x["tier"], x["duration_us"]) for x in lines if "tier" in x}
        assert there and (missed or there >= {(x["request"], x["tier"], x["duration_us"]) for x in slow}), (missed, len(there))


def test_text_and_csv():
    with workload_node(25) as n:
        n.eval("workload:load(2,5)")
        k = kp.run("--batch", "--format", "text", "-n", "2", "-d", "500ms", *tiers(*ALL), "-i", RULE, n.name)
        assert k.proc.returncode == 0 and "\x1b" not in k.stdout, k.saw()
        for word in ("request", "parse", "create", "delete", "p50", "p99.9", n.name):
            assert word in k.stdout, "no %r in: %s" % (word, k.stdout)
        k = kp.run("--batch", "--format", "csv", "-n", "2", "-d", "500ms", *tiers(*ALL), "-i", RULE, n.name)
        rows = list(csv.reader(io.StringIO(k.stdout)))
        assert k.proc.returncode == 0 and len({len(r) for r in rows}) == 1, k.saw()
        assert sum("tier" in r for r in rows) == 1, "one header: %s" % rows[:3]
        n.eval("workload:load_done()", 30)


def test_record_then_replay_gives_the_same_rows():
    rec = os.path.join(kp.scratch(), "run.rec")
    with workload_node(25) as n:
        k = attach(n, *tiers(*ALL), "-i", RULE, "--record", rec)
        k.tracing()
        want = n.eval("workload:counts(200,[create,read,update,delete],2000)")
        assert k.interrupt() == 0, k.saw()
        check_rows(want, k.final())
        clean(n)
    assert os.stat(rec).st_mode & 0o077 == 0, "a recording is for its owner only"
    again = kp.run("--replay", rec, "--batch", "--format", "json")
    assert again.proc.returncode == 0, again.saw()
    a, b = k.final(), again.final()

    def essence(obj):
        return sorted((json.dumps({x: v for x, v in r.items() if x not in ("rate", "busy", "oldest_open_us")}, sort_keys=True)
                       for r in obj["rows"]))
    only = sorted(set(essence(a)) ^ set(essence(b)))
    assert not only, "rows differ:\n%s" % "\n".join(only)
    assert a["calls"] == b["calls"] and a["requests"] == b["requests"], (a["calls"], b["calls"])
    # a recording is never overwritten
    with workload_node(25) as n:
        k = kp.run("--batch", "-n", "1", "-d", "200ms", "-t", "workload:request/1", "--record", rec, n.name)
        assert k.proc.returncode != 0 and rec in k.stderr, k.saw()


def test_recording_to_a_full_disk():
    """The failure is reported at once, not at the end of a run of hours; the exit status shows it, too."""
    rec = os.path.join(kp.scratch(), "full.rec")
    with workload_node(25) as n:
        k = kp.Kp("-c", "trap '' XFSZ; ulimit -f 40; exec \"$@\"", "sh", kp.PROGRAM, "--batch", "--format", "json", "-d", "200ms", *tiers(*ALL), "-i", RULE,
                  "--record", rec, n.name, program="/bin/sh")
        k.tracing()
        n.eval("workload:load(2,5)")
        kp.until(30, lambda: "%s is incomplete" % rec in k.stderr, what=k.saw)
        assert k.proc.poll() is None, k.saw()
        n.eval("workload:load_done()", 30)
        assert k.interrupt() == 1, k.saw()
        assert k.stderr.count("is incomplete") == 1, k.saw()
        kp.conserves(k.final())
        clean(n)


def test_broken_recordings():
    good = os.path.join(kp.scratch(), "small.rec")
    with workload_node(25) as n:
        k = attach(n, *tiers(*ALL), "-i", RULE, "--record", good)
        k.tracing()
        n.eval("workload:counts(20,[create,read],1000)")
        assert k.interrupt() == 0, k.saw()
    with open(good, "rb") as f:
        data = f.read()
    for name, bytes_ in (("cut", data[:len(data) // 2]), ("empty", b""), ("noise", b"\xff" * 4096),
                         ("flip", data[:200] + bytes(b ^ 0x55 for b in data[200:260]) + data[260:])):
        path = os.path.join(kp.scratch(), name + ".rec")
        with open(path, "wb") as f:
            f.write(bytes_)
        k = kp.run("--replay", path, "--batch", "--format", "json")
        assert k.proc.returncode in (0, 1), k.saw()
        if k.proc.returncode == 1 or name == "cut":
            assert path in k.stderr, k.saw()
        if name == "cut":
            message = "%s is incomplete: only its readable part is shown" % path
            assert k.stderr.count(message) == 1, k.saw()
            assert k.rows, k.saw()
            compared = kp.run("--replay", good, "--baseline", path, "--batch", "-n", "1")
            assert compared.stderr.count(message) == 1, compared.saw()
        for obj in k.rows:
            kp.conserves(obj)


def test_stopped_while_it_reads_a_recording():
    """A part of a recording is not reported, and --assert does not judge it."""
    pipe = os.path.join(kp.scratch(), "part.rec")
    os.mkfifo(pipe)
    with open(DEMO_REC, "rb") as f:
        data = f.read()
    report = os.path.join(kp.scratch(), "part.json")
    with open(report, "w", encoding="utf-8") as f:
        f.write("earlier")
    k = kp.Kp("--replay", pipe, "--batch", "--format", "json", "--assert", "request.count>1000000000", "-o", report)
    with open(pipe, "wb") as f:  # waits for the reader
        f.write(data[:len(data) // 2])
        f.flush()
        k.proc.send_signal(signal.SIGTERM)
    assert k.wait(30) == 1, k.saw()
    assert "stopped while reading %s" % pipe in k.stderr, k.saw()
    assert "--assert" not in k.stderr, k.saw()
    with open(report, encoding="utf-8") as f:
        assert f.read() == "earlier"


def test_closed_descriptors():
    """A file that gets the number of a closed descriptor does not get its text."""
    want = None
    for i, how in enumerate(("", "<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-")):
        log, report = (os.path.join(kp.scratch(), "closed%d.%s" % (i, x)) for x in ("log", "json"))
        k = kp.run("-c", 'exec "$@" ' + how, "sh", kp.PROGRAM, "--replay", DEMO_REC, "--batch", "--format", "json", "--slow", "1us",
                   "--slow-log", log, "--assert", "request.count>1000000000", "-o", report, program="/bin/sh")
        assert k.proc.returncode == 3 and k.stdout == "", k.saw()
        with open(log, encoding="utf-8") as f, open(report, encoding="utf-8") as g:
            got = f.read(), g.read()
        want = want or got
        assert want[0] and want[1] and got == want, (how, k.saw())
        k = kp.run("-c", 'exec "$@" ' + how, "sh", kp.PROGRAM, "--replay", DEMO_REC, "--batch", program="/bin/sh")
        assert k.proc.returncode == 0 and (k.stdout != "") == (">&-" not in how.split()), (how, k.saw())


def test_output_file():
    path = os.path.join(kp.scratch(), "out.json")
    with workload_node(25) as n:
        k = kp.run("--batch", "--format", "json", "-n", "2", "-d", "200ms", "-o", path, "-t", "workload:request/1", n.name)
        assert k.proc.returncode == 0 and k.stdout == "", k.saw()
        with open(path) as f:
            objects = [json.loads(x) for x in f]
        assert [o["final"] for o in objects] == [False, False, True]
        functions = {r["tier"]: r.get("function") for r in objects[-1]["rows"] if r["identity"] is None}
        assert set(functions.values()) - {None} == {"workload:request/1"} and functions["_total"] is None, functions


def test_config_file():
    path = os.path.join(kp.scratch(), "kprof.config")
    with open(path, "w") as f:
        f.write("%% as kprof writes it\n{tier_config, [{entry, {workload,request,1}}, {store, {workload,db,1}}]}.\n"
                "{identity_f, fun ({workload,request,[Op]}) -> Op; (_) -> undefined end}.\n")
    with workload_node(25) as n:
        k = attach(n, "-f", path)
        k.tracing()
        n.eval("workload:counts(30,[create,read],1000)")
        assert k.interrupt() == 0, k.saw()
        assert kp.count(k.final(), "store", "create") == 30, k.final()["rows"]
        assert kp.count(k.final(), "entry", "read") == 30


def test_demo_in_batch():
    """Five tiers, four operations; afterwards the sample node has ended."""
    k = kp.run("--demo", "--batch", "--format", "json", "-n", "3", "-d", "1s", deadline_s=60)
    assert k.proc.returncode == 0, k.saw()
    final = k.final()
    kp.conserves(final)
    kp.nothing_lost(final)
    tiers_seen = {r["tier"] for r in final["rows"] if r["count"]}
    assert {"handle", "parsing", "db", "accounting", "formatter", "_total"} <= tiers_seen, tiers_seen
    for op in ("create", "read", "update", "delete"):
        assert kp.count(final, "db", op) > 0, final["rows"]
    node = final["node"].split("@")[0]
    names = kp.subprocess.run(["epmd", "-names"], stdout=kp.subprocess.PIPE, text=True).stdout
    assert node not in names, names


def command_line_with(word):
    """The pid of the process with this text in its command line."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                said = f.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if word in said:
            return said
    return None


def test_killed_demo_takes_its_node_along():
    k = kp.Kp("--demo", "--batch", "--format", "json", "-d", "200ms")
    name = k.wait_json(30)["node"]
    said = command_line_with(name)
    where = said[said.index("-pa") + 1]
    with open(os.path.join(where, ".erlang.cookie")) as f:
        cookie = f.read()
    assert len(cookie) == 32 and not any(cookie in x or "setcookie" in x for x in said), said
    k.proc.kill()
    k.proc.wait()
    kp.until(30, lambda: name.split("@")[0] not in kp.subprocess.run(["epmd", "-names"], stdout=kp.subprocess.PIPE, text=True).stdout,
             what="the sample node ends when kprof-top was killed")
    assert not os.path.exists(where), os.listdir(where)


def fake_erl(name, script):
    """A directory in which erl is this script; it is the PATH of a run."""
    where = os.path.join(kp.scratch(), name)
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "erl"), "w") as f:
        f.write("#!/bin/sh\nPATH=/usr/bin:/bin\n" + script)
    os.chmod(os.path.join(where, "erl"), 0o755)
    return {"PATH": where}


def test_demo_that_is_stopped_early():
    k = kp.Kp("--demo", env=fake_erl("late", "echo $$ > %s\nexec sleep 60\n" % os.path.join(kp.scratch(), "erl.pid")))
    kp.until(20, lambda: os.path.exists(os.path.join(kp.scratch(), "erl.pid")), what="erl runs")
    k.proc.terminate()
    k.wait(20)
    assert k.proc.returncode == 1 and "stopped before the sample node was ready" in k.stderr, k.saw()
    assert "20 s" not in k.stderr, k.saw()


def test_demo_whose_node_ends_early():
    """Its output ends before its process."""
    k = kp.run("--demo", env=fake_erl("early", "exec 1>&-\nsleep 0.5\nexit 1\n"))
    assert k.proc.returncode == 1 and "the sample node did not start" in k.stderr, k.saw()


def test_demo_without_the_flags_of_other_nodes():
    k = kp.run("--demo", "--batch", "--format", "json", "-n", "1", "-d", "1s", deadline_s=60,
               env={"ERL_AFLAGS": "-sname foo", "ERL_FLAGS": "-setcookie abc", "ERL_ZFLAGS": "-erl_epmd_port 1 -sname foo"})
    assert k.proc.returncode == 0 and k.final()["rows"], k.saw()


def test_hostile_identities():
    """Escape sequences, 255-byte atoms, a megabyte, invalid UTF-8: harmless names in every format."""
    with workload_node(25) as n:
        out = {}
        for fmt in ("json", "text", "csv"):
            k = kp.Kp("--batch", "--format", fmt, "-d", "300ms", "--max-overhead", "none",
                      *tiers("request/2", "cache/1"),
                      "-t", "weird=workload:'we\\e[2Jird'/1", "-i", RULE2, n.name)
            if fmt == "json":
                k.tracing()
            else:
                kp.until(20, lambda: k.lines)
            want = n.eval("workload:hostile(3)", 60)
            assert k.interrupt() == 0, k.saw()
            out[fmt] = k
            bad = [c for c in k.stdout if (ord(c) < 32 and c not in "\n\r\t") or 0x7f <= ord(c) < 0xa0]
            assert not bad, "control characters in %s: %r" % (fmt, bad[:5])
            assert "\x1b" not in k.stderr
        final = out["json"].final()
        kp.conserves(final)
        kp.nothing_lost(final)
        assert final["requests"]["started"] == want["requests"], final["requests"]
        assert max(len(r["identity"] or "") for r in final["rows"]) < 2000
        assert kp.count(final, "cache") == want["requests"]
        cells = list(csv.reader(io.StringIO(out["csv"].stdout)))
        assert len(cells) > 1, out["csv"].saw()
        for r in cells:
            assert not any(f[:1] in "=@" and f for f in r), "a spreadsheet would take it for a formula: %s" % r
        clean(n)


def test_many_identities_are_folded():
    with workload_node(25) as n:
        k = attach(n, *tiers("request/2", "cache/1"), "-i", RULE2)
        k.tracing()
        n.eval("[workload:request(I, fun(Op) -> workload:cache(Op) end) || I <- lists:seq(1, 500)]")
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        names = {r["identity"] for r in final["rows"] if r["tier"] == "cache" and r["identity"] is not None}
        assert len(names) <= 65 and "<other>" in names, sorted(names)
        assert kp.count(final, "cache") == 500


def test_shapes_are_few_names_live_and_replayed():
    rec = os.path.join(kp.scratch(), "shapes.rec")
    with workload_node(25) as n:
        k = attach(n, *tiers("request/2", "cache/1"), "-i", "workload:request/2 {get, path(arg(1))}", "--record", rec)
        k.tracing()
        n.eval("[workload:request(P, fun(Op) -> workload:cache(Op) end) || I <- lists:seq(1, 500), "
               "T <- [\"/item/\" ++ integer_to_list(I) ++ \"?x=1\"], P <- [T, list_to_binary(T)]]")
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        clean(n)
    again = kp.run("--replay", rec, "--batch", "--format", "json")
    assert again.proc.returncode == 0, again.saw()
    for what in final, again.final():
        kp.conserves(what)
        names = {r["identity"]: r["count"] for r in what["rows"] if r["tier"] == "cache" and r["identity"] is not None}
        assert names == {"get /item/*": 1000}, names
