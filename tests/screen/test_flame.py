"""--flame: folded stacks in a real terminal, with the keys of flamelens, and converted to other formats."""
import json
import os
import re

import kp

STACKS = """proc_lib:init_p_do_apply/3;burner:loop/1;burner:g/1;burner:f/1 400
proc_lib:init_p_do_apply/3;burner:loop/1;burner:h/1;burner:f/1 200
proc_lib:init_p_do_apply/3;gen_server:loop/7;my_server:handle_call/3;json:encode/1 145
proc_lib:init_p_do_apply/3;gen_server:loop/7 155
MyApp.Walker.walk/2;MyApp.Walker.walk/2;MyApp.Walker.walk/2 100
"""


def folded(text=STACKS, name="stacks.folded"):
    path = os.path.join(kp.scratch(), name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def flame(*args, **kw):
    return kp.run("--flame", *args, **kw)


@kp.each((80, 24, "xterm-256color", "C.UTF-8"), (120, 40, "screen-256color", "C.UTF-8"), (40, 10, "vt100", "C"),
         (80, 24, "linux", "C.UTF-8"))
def test_keys(cols, rows, term, locale):
    with kp.Tmux(cols, rows, [kp.PROGRAM, "--flame", folded()], term=term, locale=locale) as t:
        t.wait_for("1000 samples")
        t.keys("Down", "Down", "Down")
        t.wait_for("400 40.0%")
        t.keys("Enter")
        t.wait_for("burner:h/1", gone=True)
        t.keys("Escape")
        t.wait_for("burner:h/1" if cols > 40 else "400 40.0%")
        t.keys("r", "/", "burner:f", "Enter")
        t.wait_for("matched 60.0%")
        t.keys("n", "s")
        t.wait_for("CALLERS AND")
        t.keys("Escape", "Escape", "o")
        t.wait_for("CALLERS AND", gone=True)
        t.keys("?")
        t.wait_for("q close")
        t.wait_for("sandwich")
        t.keys("q")
        t.wait_for("1000 samples")
        t.keys("q")  # a terminal without an alternate screen keeps the picture
        kp.until(60, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())


def test_compare():
    base = folded(STACKS.replace("burner:f/1 400", "burner:f/1 1400"), "base.folded")
    with kp.Tmux(100, 24, [kp.PROGRAM, "--flame", folded(), "--baseline", base]) as t:
        t.wait_for("compared in % points")
        t.wait_for("-30.0 burner:g/1")
        t.keys("d")
        t.wait_for("compared", gone=True)
        t.keys("q")


def test_samples_through_a_pipe():
    command = ["sh", "-c", 'exec "%s" --flame - < "%s"' % (kp.PROGRAM, folded())]
    with kp.Tmux(100, 24, command) as t:
        t.wait_for("1000 samples")
        t.keys("Down", "q")
        t.wait_for("1000 samples", gone=True)


def test_export_from_the_screen():
    out = os.path.join(kp.scratch(), "screen.speedscope.json")
    with kp.Tmux(100, 24, [kp.PROGRAM, "--flame", folded()]) as t:
        t.wait_for("1000 samples")
        t.keys("e")
        t.wait_for("Export samples to file")
        t.keys("x.doc", "Enter")
        t.wait_for("unknown extension")
        t.keys("Escape", "e")
        t.wait_for("Export samples to file")
        t.keys(out, "Enter")
        t.wait_for("written to")
        with open(out, encoding="utf-8") as f:
            assert json.load(f)["profiles"][0]["endValue"] == 1000
        t.keys("e")
        t.wait_for("Export samples to file")
        t.keys(out, "Enter")
        t.wait_for("Overwrite it?")
        t.keys("n", "q")


def test_batch_converts():
    for ending, wanted in ((".folded", b"burner:f/1 400\n"), (".svg", b"</svg>"), (".html", b"</html>"), (".pb.gz", b"\x1f\x8b"),
                           (".perf", b"cpu-clock:"), (".eflame", b"burner:f/1\n"), (".speedscope.json", b"speedscope"),
                           (".trace.json", b"traceEvents")):
        out = os.path.join(kp.scratch(), "out" + ending)
        k = flame(folded(), "-b", "-o", out)
        assert k.proc.returncode == 0, k.saw()
        assert os.stat(out).st_mode & 0o077 == 0
        with open(out, "rb") as f:
            assert wanted in f.read(), ending
    back = os.path.join(kp.scratch(), "out.folded")
    again = os.path.join(kp.scratch(), "again.folded")
    assert flame(back, "-b", "-o", again).proc.returncode == 0
    with open(back) as one, open(again) as two, open(folded()) as first:
        lines = one.read().splitlines()
        assert lines == two.read().splitlines() and sorted(lines) == sorted(first.read().splitlines())


def test_bad_input():
    k = flame("/nowhere/x.folded", "-b", "-o", os.path.join(kp.scratch(), "x.svg"))
    assert k.proc.returncode == 1 and "cannot read /nowhere/x.folded" in k.stderr, k.saw()
    k = flame(folded("this is\nno stack\n", "none.folded"), "-b", "-o", os.path.join(kp.scratch(), "x.svg"))
    assert k.proc.returncode == 1 and "has no folded stacks" in k.stderr, k.saw()
    out = os.path.join(kp.scratch(), "some.folded")
    k = flame(folded("a;b 3\nrubbish\n\x1b]0;evil\x07;c 4\n", "some.in"), "-b", "-o", out)
    assert k.proc.returncode == 0 and "1 of 3 lines ignored: not a folded stack" in k.stderr, k.saw()
    with open(out, "rb") as f:
        assert b"\x1b" not in f.read()
    k = flame(folded(), "-b", "-o", os.path.join(kp.scratch(), "x.png"))
    assert k.proc.returncode == 2 and ".svg" in k.stderr, k.saw()


def test_no_file_is_written_through_a_link():
    target = folded("mine 1\n", "mine.svg")
    link = os.path.join(kp.scratch(), "link.svg")
    os.symlink(target, link)
    k = flame(folded(), "-b", "-o", link)
    assert k.proc.returncode == 1 and "cannot write" in k.stderr, k.saw()
    with open(target) as f:
        assert f.read() == "mine 1\n"


def test_live_on_the_sample_node():
    """F on the running screen: the sample node's own code is seen, while it is sampled and in the recording."""
    out, recording = os.path.join(kp.scratch(), "live.folded"), os.path.join(kp.scratch(), "live.rec")
    with kp.Tmux(110, 32, [kp.PROGRAM, "--demo", "--record", recording]) as t:
        t.wait_for("TRACING ON", 60)
        t.keys("F")
        t.wait_for("Sample the stacks of", 20)
        t.keys("Enter")
        t.wait_for(re.compile(r"^SAMPLING  overhead \d", re.M), 30)
        t.wait_for("kprof_sample:", 60)
        t.keys("-")
        t.wait_for("198ms", 30)
        t.keys("e")
        t.wait_for("Export samples to file")
        t.keys(out, "Enter")
        t.wait_for("written to")
        with open(out, encoding="utf-8") as f:
            assert "kprof_sample:" in f.read()
        t.keys("K", "F")
        t.wait_for(re.compile(r"stacks \d"), 20)
        t.keys("K")
        t.wait_for("stack sampling has ended")
        t.wait_for(re.compile(r"stacks \d"), 20, gone=True)
        t.keys("F")
        t.wait_for("OFF (t: on)")
        t.keys("t")
        t.wait_for(re.compile(r"^SAMPLING  overhead \d", re.M), 30)
        t.keys("Escape")
        t.wait_for("F resumes it")
        t.keys("q")
        kp.until(60, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())
    with kp.Tmux(110, 32, [kp.PROGRAM, "--replay", recording, "--speed", "max"]) as t:
        t.wait_for("REPLAY ended", 30)
        t.keys("F")
        t.wait_for("kprof_sample:")
        t.keys("w")
        t.wait_for("nothing is sampled: the samples are from a recording")
        t.keys("q")
    # without a screen, and compared with itself
    again = os.path.join(kp.scratch(), "again.folded")
    k = flame(recording, "-b", "-o", again)
    assert k.proc.returncode == 0, k.saw()
    with open(again, encoding="utf-8") as f:
        assert sum(int(line.rsplit(" ", 1)[1]) for line in f if "kprof_sample:" in line) > 0
    with kp.Tmux(110, 32, [kp.PROGRAM, "--flame", recording, "--baseline", recording]) as t:
        t.wait_for("+0.00 points", 20)
        t.keys("q")


def test_triggers():
    """! samples when a condition holds, and records, with names for the stacks from before."""
    where = os.path.join(kp.scratch(), "triggers")
    os.mkdir(where)
    with kp.Tmux(120, 32, ["sh", "-c", "cd %s && exec %s --demo" % (where, kp.PROGRAM)]) as t:
        t.wait_for("TRACING ON", 60)
        t.keys("!")
        t.wait_for("When a condition holds")
        t.keys("Enter", "db.p99>1us", "Enter")
        t.wait_for("trigger db.p99>1us: sampling stacks; F shows them", 30)
        t.wait_for(re.compile(r"trigger sampling \d+s"), 20)
        t.keys("F")
        t.wait_for("kprof_sample:", 60)
        t.keys("w", "Enter")  # from now on, the operator samples
        t.wait_for("kprof_sample:", 60)
        t.keys("K", "Escape", "!", "Down", "Enter", "db.p99>1us", "Enter")
        t.wait_for("trigger db.p99>1us: recording to kprof-top-", 30)
        t.wait_for(re.compile(r"trigger recording 2[0-5]s"), 30)
        t.keys("!", "End", "Enter")
        t.wait_for("the trigger was removed")
        t.keys("q")
        kp.until(60, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())
    recording, = os.listdir(where)
    assert re.fullmatch(r"kprof-top-\d{8}-\d{6}\.rec", recording), recording
    with kp.Tmux(110, 32, [kp.PROGRAM, "--replay", os.path.join(where, recording), "--speed", "max"]) as t:
        t.wait_for("REPLAY ended", 30)
        t.keys("F", "a")
        t.wait_for("kprof_sample:")  # the stacks were named before the recording began
        assert "lost" not in t.screen(), t.screen()
        t.keys("q")


def test_from_the_heat_map_to_what_ran_inside():
    """H, f, y, f: four keys to the samples inside the slow requests, by tier; when they were taken; back."""
    with kp.Tmux(110, 32, [kp.PROGRAM, "--demo"]) as t:
        t.wait_for("TRACING ON", 60)
        t.keys("H")
        t.wait_for(re.compile(r"of \d.* calls"), 30)
        t.keys("f")
        t.wait_for("Sample inside requests from now on?")
        t.keys("y")
        t.wait_for("sampling has started")

        def shown():
            t.keys("f")
            return "in requests of" in t.screen()
        kp.until(60, shown, 1, what=lambda: "samples inside requests: " + t.screen())
        t.keys("c", "tier", "Enter")
        t.wait_for("by tier")
        t.wait_for(re.compile(r"^.db\b", re.M), 30)
        t.keys("H")
        t.wait_for("SUB-SECOND HEAT MAP")
        t.keys("Escape")
        t.wait_for("FLAME GRAPH")
        t.keys("Escape")
        t.wait_for("per column")
        t.keys("q")
        kp.until(60, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())
