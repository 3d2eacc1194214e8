"""However the program ends, the terminal is restored."""
import re
import signal

import kp
from common import LARGE, SMALL, Top, options

ENDED = re.compile(r"^status=\d+", re.M)  # not the typed command
TERMS = ("xterm-256color", "screen", "vt100")


@kp.each(*[(t, l, s) for t in TERMS for l, s in (("C.UTF-8", SMALL), ("C", LARGE))])
def test_draws_and_quits(term, locale, size):
    with Top(size, term, locale) as top:
        screen = top.ready()
        assert top.node.name in screen, screen
        lines = screen.split("\n")
        assert len(lines) <= size[1] + 1 and max(map(len, lines)) <= size[0], "%dx%d" % (
            max(map(len, lines)), len(lines))
        if locale == "C":
            assert all(ord(c) < 127 for c in screen), [c for c in screen if ord(c) > 126]
        assert top.t.get("alternate_on") == ("0" if term == "vt100" else "1")
        top.quit()
        kp.until(3, lambda: top.node.left_behind() == "", what=lambda: top.node.left_behind())


@kp.each("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")
def test_signal_leaves_a_sane_terminal(name):
    with Top() as top:
        top.ready()
        kp.os.kill(top.t.pid_of(), getattr(signal, name))
        top.ended()
        kp.until(3, lambda: top.node.left_behind() == "", what=lambda: top.node.left_behind())


@kp.each("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE")
def test_crash_leaves_a_sane_terminal(name):
    with Top() as top:
        top.ready()
        kp.os.kill(top.t.pid_of(), getattr(signal, name))
        assert top.ended() != 0
        kp.until(3, lambda: top.node.left_behind() == "", what=lambda: top.node.left_behind())


def test_unknown_sequences_are_no_keys():
    """Their letters would quit (q) and switch tracing off (t)."""
    with Top() as top:
        top.ready()
        for sent in ("1b 5b 31 3b 35 71", "1b 4f 71", "1b 5d 31 31 3b 74 71 07", "1b 50 71 71 1b 5c", "1b 5b 3f 36 32 3b 32 32 74"):
            top.t._tmux("send-keys", "-H", *sent.split())
        top.keys("?")
        top.see("for each kind of request", 15)  # the help opens: the program still runs
        top.keys("q")
        screen = top.see(re.compile(r"TRACING O"), 15)
        assert "TRACING ON" in screen, screen
        top.quit()


@kp.each("xterm-256color", "screen", "vt100")
def test_a_paste_runs_no_keys(term):
    """Its letters would quit (q), switch tracing off (t), open help (?); its newlines would end the prompt."""
    with Top(term=term) as top:
        def paste(text):
            top.t._tmux("set-buffer", text)
            top.t._tmux("paste-buffer", "-p")
        top.ready()
        paste("t\nz\n?\nq\n")
        top.see("pasted text is ignored here")
        assert "TRACING ON" in top.t.screen(), top.t.screen()
        top.keys("/")
        top.see("Filter:")
        paste("db\nq\n")
        top.see(re.compile(r"Filter: db q$", re.M))
        top.keys("Escape")
        top.see("Filter:", gone=True)
        kp.os.kill(top.t.pid_of(), signal.SIGTSTP)
        top.see("Stopped")
        top.keys("fg", "Enter")
        top.see("TRACING ON")
        paste("q\n")
        top.see("pasted text is ignored here")
        top.keys("q")
        top.see("detached from")
        paste("echo 'it is ours'\n")  # bracketed paste is off again in a shell that does not use it
        top.see(re.compile(r"^it is ours", re.M))


def test_duration_ends_the_screen():
    with Top(args=options() + ["--duration", "2s"]) as top:
        assert top.ended(40) == 0, top.t.screen()
        kp.until(3, lambda: top.node.left_behind() == "", what=lambda: top.node.left_behind())


def test_stop_and_continue():
    """^Z and fg: in between, the shell has its normal terminal. The node is not traced in the meantime, and the gap
    is reported."""
    with Top(env={"KPROF_LEASE": "2s"}) as top:
        top.ready()
        for key, sample in (("-", "1/2"), ("-", "1/4"), ("+", "1/2"), ("+", "1/1")):  # + is more requests
            top.keys(key)
            top.see("sample %s " % sample, 15)
        top.keys("+")
        top.see("every request is already sampled", 15)
        top.keys("C-z")
        top.see("status=148", 15)  # 128 + SIGTSTP
        top.sane()
        kp.until(30, lambda: not top.node.ours()["flags"], 0.2, what=lambda: "flags off after the lease: %s" % top.node.ours())
        top.node.eval("timer:sleep(500)")  # a gap of less than 50 ms is not reported
        top.keys("fg; echo again=$?", "Enter")
        top.see("TRACING ON", 15)
        top.see(re.compile(r"gap .*: nothing received from kprof-top"), 15)
        kp.until(30, lambda: top.node.ours()["flags"], 0.2, what="it is traced again")
        top.keys("q")
        top.see("again=0", 15)
        top.sane()


def test_terminal_that_takes_nothing():
    """^S: kprof-top blocks when it writes to the terminal, so the lease stops tracing; after ^Q it continues."""
    with Top(env={"KPROF_LEASE": "2s"}) as top:
        top.ready()
        top.keys("C-s")
        kp.until(30, lambda: not top.node.ours()["flags"], 0.2, what=lambda: "flags off after the lease: %s" % top.node.ours())
        top.keys("C-q")
        kp.until(30, lambda: top.node.ours()["flags"], 0.2, what="it is traced again")
        top.see("TRACING ON", 15)
        top.quit()


def test_control_c():
    with Top() as top:
        top.ready()
        top.keys("C-c")
        top.ended()


def test_no_color():
    with Top(args=None, env={"NO_COLOR": "1"}) as top:
        top.ready()
        styled = top.t.styled()
        assert "\x1b[3" not in styled.replace("\x1b[39m", ""), "colors despite NO_COLOR"
        top.quit()


def test_resize():
    with Top(SMALL) as top:
        top.ready()
        for cols, rows in ((132, 43), (60, 20), (20, 5), (3, 2), (200, 60), (80, 24)):
            top.t.resize(cols, rows)
            kp.until(5, lambda: top.t.get("pane_width") == str(cols))
        top.ready()
        top.quit()


def test_unknown_term():
    with Top(term="no-such-term") as top:
        screen = top.see(ENDED)
        assert "\nstatus=1" in screen and "cannot open the screen: TERM=no-such-term" in screen, screen
        top.sane()


def test_not_a_terminal():
    with Top() as top:
        top.ready()
        k = kp.run("-t", "workload:cache/1", top.node.name)
        assert k.proc.returncode in (1, 2) and "--batch" in k.stderr, k.saw()
        assert "\x1b" not in k.stdout


def test_cannot_connect():
    """If there is no such node, no screen is opened: one sentence is printed."""
    with Top(node=False, args=["nobody@127.0.0.1"]) as top:
        screen = top.see(ENDED, 30)
        assert "\nstatus=1" in screen and re.search(r"^kprof-top: .*nobody", screen, re.M), screen
        top.sane()
