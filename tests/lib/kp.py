"""Common code of the tests on real nodes and terminals: nodes, the program, tmux, waiting with a deadline.

Everything started here is stopped at exit, by its pid. Nodes listen on 127.0.0.1 only. Only Python's standard library.
"""
import atexit
import base64
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("KPROF_TOP", os.path.join(ROOT, "build", "kprof-top"))
OTP_ROOTS = os.environ.get("KPROF_OTP_ROOTS", os.path.join(ROOT, "build", "otp"))
COOKIE = "kpcookie"
# A slow or busy machine must not fail a test. No deadline is an assertion: a test that passes never waits for it. A
# test can only ask for a deadline that is longer than LEAST_S.
PATIENCE = float(os.environ.get("KPROF_TEST_PATIENCE", "1"))
LEAST_S = 60


def patient(deadline_s):
    return max(deadline_s, LEAST_S) * PATIENCE


class Skip(Exception):
    """Raised by a test that cannot run here; counted."""


class Timeout(AssertionError):
    pass


class Harm(AssertionError):
    """A node was hurt. That it is not when the test runs again proves nothing, so check.py does not repeat the test."""


FINAL = "not again: "  # before the name of such a test (tests/tools/check.py; tests/agent/run.sh)


def note_failure(name, harm=False):
    """For check.py, which repeats the test alone, if no node was hurt."""
    path = os.environ.get("KPROF_FAILED")
    if path:
        with open(path, "a") as f:
            f.write((FINAL if harm or crashed() else "") + name + "\n")


def until(deadline_s, fn, every_s=0.02, what=None):
    """Calls fn until it returns a true value, and returns that value. Fails after the deadline."""
    end = time.monotonic() + patient(deadline_s)
    while True:
        value = fn()
        if value:
            return value
        if time.monotonic() > end:
            raise Timeout(f"not within {patient(deadline_s)} s: {what or fn}" if not callable(what) else what())
        time.sleep(every_s)


_cleanup = []
_lock = threading.Lock()


def at_end(fn):
    with _lock:
        _cleanup.append(fn)


def clean_up():
    """Stops everything that was started since the last clean-up, the newest first."""
    with _lock:
        todo = _cleanup[:]
        _cleanup.clear()
    for fn in reversed(todo):
        try:
            fn()
        except Exception as e:  # a failure must not keep the other functions from running
            print("clean-up:", e, file=sys.stderr)


atexit.register(clean_up)
for _sig in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(_sig, lambda n, _f: sys.exit(128 + n))


def kill_pid(popen, sig=signal.SIGKILL):
    if popen.poll() is None:
        try:
            popen.send_signal(signal.SIGCONT)
            popen.send_signal(sig)
            popen.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            popen.kill()
            popen.wait(10)


# ---- one scratch directory per run, with the beams for the nodes ------------------------------------------------

_scratch = None


def _remove_at_exit(path):
    """At the exit of this process, not of a fork."""
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(path, ignore_errors=True))


def scratch():
    global _scratch
    if _scratch is None:
        _scratch = tempfile.mkdtemp(prefix="kprof-test-")
        _remove_at_exit(_scratch)
    return _scratch


def after_fork():
    """In a child: a new scratch directory. The beams of the parent are shared."""
    global _scratch
    _scratch = None
    _root_beams.clear()


_beams = None


def beams():
    """The test modules, compiled by the host's erlc (and elixirc); a beam of OTP 25 runs on all later releases."""
    global _beams
    if _beams is None:
        _beams = os.path.join(scratch(), "beams")
        os.mkdir(_beams)
        src = [os.path.join(ROOT, "tests", "lib", "kp_target.erl"), *(os.path.join(ROOT, "tests", "agent", f) for f in ("agent_burn.erl", "agent_load.erl", "agent_full_work.erl", "agent_full_log.erl"))]
        for d in (os.path.join(ROOT, "tests", "node"), os.path.join(ROOT, "tests", "chaos")):
            src += sorted(os.path.join(d, f) for f in os.listdir(d) if f.endswith(".erl"))
        subprocess.run(["erlc", "+debug_info", "-o", _beams] + src, check=True)
    return _beams


_root_beams = {}


def _beams_in_root(root):
    name = "kprof-test-%d" % os.getpid()
    path = os.path.join(root, "tmp", name)
    # each time: a test may have compiled more; erlc renames *.bea# when it is complete
    shutil.copytree(beams(), path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*#"))
    if root not in _root_beams:
        _remove_at_exit(path)
        _root_beams[root] = "/tmp/" + name
    return _root_beams[root]


def epmd():
    """Starts epmd before the first node. It is not stopped, because other nodes may use it."""
    if subprocess.run(["epmd", "-names"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run(["epmd", "-daemon"], check=True, env=dict(os.environ, ERL_EPMD_ADDRESS="127.0.0.1"))
        until(10, lambda: subprocess.run(["epmd", "-names"], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL).returncode == 0, what="epmd answers")


def crashed():
    """The nodes that ended by a signal of a crash."""
    return [n.name for n in Node._started if n.proc.poll() in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL)]


def otp_versions():
    """The OTP releases that can be started here. 25 stands for the host's release, whatever it is."""
    found = [25]
    if os.geteuid() == 0:
        for otp, suite in ((27, "trixie"), (29, "sid")):
            if os.access(os.path.join(OTP_ROOTS, suite, "usr/bin/erl"), os.X_OK):
                found.append(otp)
    return found


NO_SPINNING = ["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"]


class Node:
    """A node on 127.0.0.1. kp_target reads its stdin, so `eval` does not use distribution."""

    _count, _started = 0, []

    def __init__(self, otp=25, cookie=COOKIE, short=False, name=None, args=(), wait=True, dump=False, host=None,
                 v6=False, fixed_port=None, spin=False):
        """spin: idle schedulers spin, as is the default; then other tests get less of the cores. dump: the node may
        write a crash dump, to the path `dump`. v6: it listens only on ::1. fixed_port: it runs without epmd, on this
        port."""
        epmd()
        Node._count += 1
        base = name or "kpt%d_%d" % (os.getpid(), Node._count)
        self.otp, self.cookie = otp, cookie
        self.host = host or (os.uname().nodename.split(".")[0] if short else "127.0.0.1")
        self.fixed_port = fixed_port
        self.name = base + "@" + self.host
        flags = ["-sname" if short else "-name", base if short and not host else self.name, "-setcookie", cookie,
                 "-kernel", "inet_dist_use_interface", "{0,0,0,0,0,0,0,1}" if v6 else "{127,0,0,1}",
                 "-connect_all", "false"]
        if not spin:
            flags += NO_SPINNING
        if v6 and "-proto_dist" not in args:
            flags += ["-proto_dist", "inet6_tcp"]
        if fixed_port:
            flags += ["-start_epmd", "false", "-erl_epmd_port", str(fixed_port)]
        root = {27: "trixie", 29: "sid"}.get(otp)
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "LC_ALL")}
        dump_file = "/tmp/%s.dump" % base if dump else "/dev/null"
        self.dump = dump_file if dump else None
        env["ERL_CRASH_DUMP"] = dump_file
        if fixed_port:
            env["ERL_EPMD_PORT"] = "1"  # where no epmd is
        if root:
            root = os.path.join(OTP_ROOTS, root)
            self.dump = root + dump_file if dump else None
            if otp not in otp_versions():
                raise Skip("OTP %s: no root in %s" % (otp, OTP_ROOTS))
            argv = ["chroot", root, "env", "-i", "HOME=/tmp", "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8",
                    "ERL_CRASH_DUMP=" + dump_file, "erl", "-noshell", "-pa", _beams_in_root(root)]
            argv += flags + list(args) + ["-s", "kp_target"]
        elif otp == "elixir":
            if not shutil.which("elixir"):
                raise Skip("no elixir here")
            argv = ["elixir", "--no-halt", "-pa", elixir_beams(), "-pa", beams(), "--erl",
                    " ".join(shlex.quote(a) if not a.startswith("{") else a for a in flags) + " " + " ".join(args),
                    "-e", ":kp_target.start()"]
        else:
            argv = ["erl", "-noshell", "-pa", beams()] + flags + list(args) + ["-s", "kp_target"]
        self._run(argv, env)
        if wait:
            self._take(30)
            until(20, lambda: self.fixed_port or self.registered(), what=lambda: "node %s in epmd; its output: %s" % (self.name, self.said()))

    def _run(self, argv, env):
        Node._started.append(self)
        self.output = []
        self._answers = []
        self._news = threading.Condition()
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, env=env, cwd=scratch(), start_new_session=True)
        at_end(self.kill)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for raw in self.proc.stdout:
            with self._news:
                if raw.startswith(b"\001KP "):
                    self._answers.append(base64.b64decode(raw[4:].strip()))
                else:
                    self.output.append(raw.decode(errors="replace"))
                self._news.notify_all()
        with self._news:
            self._answers.append(None)
            self._news.notify_all()

    def _take(self, deadline_s):
        with self._news:
            if not self._news.wait_for(lambda: self._answers, patient(deadline_s)):
                raise Timeout("node %s gave no answer in %s s; its output: %s" % (self.name, patient(deadline_s), self.said()))
            answer = self._answers[0]
            if answer is None:
                raise Harm("node %s has ended; its output: %s" % (self.name, self.said()))
            self._answers.pop(0)
        answer = json.loads(answer)
        if "error" in answer:
            raise AssertionError("node %s: %s" % (self.name, answer["error"]))
        return answer["ok"]

    def said(self):
        return "".join(self.output)[-4000:]

    def registered(self):
        out = subprocess.run(["epmd", "-names"], stdout=subprocess.PIPE, text=True).stdout
        return ("name %s at port" % self.name.split("@")[0]) in out

    def port(self):
        if self.fixed_port:
            return self.fixed_port
        out = subprocess.run(["epmd", "-names"], stdout=subprocess.PIPE, text=True).stdout
        return int(re.search(r"name %s at port (\d+)" % re.escape(self.name.split("@")[0]), out).group(1))

    def eval(self, source, deadline_s=30):
        """Evaluates Erlang on the node. The value is transferred as JSON (atoms and binaries as strings, tuples as
        lists)."""
        self.send(source)
        return self._take(deadline_s)

    def send(self, source):
        """Starts an evaluation; `take` waits for its value."""
        self.proc.stdin.write(base64.b64encode(source.encode()) + b"\n")
        self.proc.stdin.flush()

    def take(self, deadline_s=30):
        return self._take(deadline_s)

    def ours(self):
        """What a profiler has left on this node, according to the VM; all values are empty if there is nothing."""
        return self.eval("kp_target:ours()")

    def left_behind(self):
        """The same as text; '' if there is nothing."""
        o = self.ours()
        return ", ".join("%s: %s" % (k, v) for k, v in sorted(o.items())
                         if v not in ([], None, False)) + self._hidden_peers()

    def _hidden_peers(self):
        peers = self.eval("[N || N <- nodes(hidden)]")
        return (", connected: %s" % peers) if peers else ""

    def pause(self):
        self.proc.send_signal(signal.SIGSTOP)

    def resume(self):
        self.proc.send_signal(signal.SIGCONT)

    def stop(self):
        try:
            self.send("init:stop()")
            self.proc.stdin.close()
            self.proc.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()

    def kill(self):
        kill_pid(self.proc)
        until(5, lambda: not self.registered(), what="%s leaves epmd" % self.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


_elixir_beams = None


def elixir_beams():
    global _elixir_beams
    if _elixir_beams is None:
        _elixir_beams = os.path.join(scratch(), "elixir")
        os.mkdir(_elixir_beams)
        src = os.path.join(ROOT, "tests", "node", "sample.ex")
        subprocess.run(["elixirc", "-o", _elixir_beams, src], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, LC_ALL="C.UTF-8"))
    return _elixir_beams


# ---- the program ----------------------------------------------------------------------------------------------

def environment(cookie=COOKIE, **more):
    """That of a run of kprof-top."""
    e = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "ASAN_OPTIONS", "TSAN_OPTIONS")}
    e["HOME"] = scratch()
    e.setdefault("LC_ALL", "C.UTF-8")
    if cookie is not None:
        e["KPROF_COOKIE"] = cookie
    return {**e, **more}


class Kp:
    """A run of kprof-top. Lines of stdout are read as they arrive (and parsed if they are JSON); stderr is stored."""

    def __init__(self, *args, env=None, cookie=COOKIE, program=None, stdin=None):
        self.argv = [program or PROGRAM] + [str(a) for a in args]
        self.lines, self.rows = [], []
        self._err = []
        self._news = threading.Condition()
        self.proc = subprocess.Popen(self.argv, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=environment(cookie, **(env or {})), cwd=scratch())
        at_end(lambda: kill_pid(self.proc))
        self._threads = [threading.Thread(target=self._read, args=a, daemon=True)
                         for a in ((self.proc.stdout, self._on_out), (self.proc.stderr, self._err.append))]
        for t in self._threads:
            t.start()

    def _read(self, stream, on_line):
        for raw in stream:
            with self._news:
                on_line(raw.decode(errors="replace"))
                self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def _on_out(self, line):
        self.lines.append(line)
        if line.startswith('{"') and line.endswith("\n"):  # a killed program may write half a line
            self.rows.append(json.loads(line))

    @property
    def stderr(self):
        return "".join(self._err)

    @property
    def stdout(self):
        return "".join(self.lines)

    def saw(self):
        shown = self.stdout[-3000:]
        if self.rows:  # the last one, without zero values
            last = dict(self.rows[-1])
            last["rows"] = [" ".join("%s=%s" % kv for kv in r.items() if kv[1]) for r in last["rows"]]
            last["slow"] = last["slow"][:3]
            shown = "%d objects; the last: %s" % (len(self.rows), json.dumps(last, indent=1)[:6000])
        return "%s\nexit: %s\nstdout: %s\nstderr: %s" % (
            shlex.join(self.argv), self.proc.poll(), shown, self.stderr[-4000:])

    def wait_json(self, deadline_s, test=lambda row: True):
        """The first JSON object that passes the test."""
        end = time.monotonic() + patient(deadline_s)
        seen = 0
        with self._news:
            while True:
                while seen < len(self.rows):
                    if test(self.rows[seen]):
                        return self.rows[seen]
                    seen += 1
                left = end - time.monotonic()
                if left <= 0 or (self.proc.poll() is not None and not any(t.is_alive() for t in self._threads)):
                    raise Timeout("no such JSON line in %s s: %s" % (patient(deadline_s), self.saw()))
                self._news.wait(min(left, 0.1))

    def wait(self, deadline_s=30):
        """Waits until it exits; returns the exit status."""
        try:
            self.proc.wait(patient(deadline_s))
        except subprocess.TimeoutExpired:
            raise Timeout("still running after %s s: %s" % (patient(deadline_s), self.saw())) from None
        for t in self._threads:
            t.join(5)
        return self.proc.returncode

    def tracing(self, deadline_s=20):
        """Waits until it reports that it traces."""
        return self.wait_json(deadline_s, lambda r: r["tracing"])

    def interrupt(self, deadline_s=20):
        """Sends SIGINT, as Ctrl-C does; returns the exit status."""
        self.proc.send_signal(signal.SIGINT)
        return self.wait(deadline_s)

    def final(self):
        finals = [r for r in self.rows if r.get("final")]
        assert len(finals) == 1, "one final object, not %d: %s" % (len(finals), self.saw())
        assert self.rows[-1] is finals[0], "the final object is the last: " + self.saw()
        return finals[0]


def run(*args, deadline_s=30, **kw):
    """Runs it until it exits."""
    k = Kp(*args, **kw)
    k.wait(deadline_s)
    return k


def row(obj, tier, identity=None):
    """The row of a tier and identity, or None."""
    for r in obj["rows"]:
        if r["tier"] == tier and r["identity"] == identity:
            return r
    return None


def count(obj, tier, identity=None):
    r = row(obj, tier, identity)
    return r["count"] if r else 0


def conserves(obj):
    c = obj["calls"]
    assert c["received"] == c["aggregated"] + c["open"] + c["expired"] + c["unattributed"], \
        "conservation: %s" % c


def nothing_lost(obj):
    assert obj["lost"] == {"target": 0, "ring": 0}, "lost: %s" % obj["lost"]


# ---- terminals ------------------------------------------------------------------------------------------------

class Tmux:
    """A private tmux server with one window; by default a bare sh, or the program given."""

    _count = 0

    def __init__(self, cols=80, rows=24, command=None, term="xterm-256color", locale="C.UTF-8", env=None):
        if not shutil.which("tmux"):
            raise Skip("no tmux here")
        Tmux._count += 1
        self.term = term
        self.socket = "kpt%d_%d" % (os.getpid(), Tmux._count)
        e = {"PATH": os.environ["PATH"], "HOME": scratch(), "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh",
             "TERM": "xterm-256color"}
        inner = {"TERM": term, "LC_ALL": locale, "HOME": scratch(), "PS1": "sh> ", "KPROF_COOKIE": COOKIE,
                 "PATH": os.environ["PATH"]}
        # A separate layout: one test must not change the sort order of the next.
        inner["XDG_STATE_HOME"] = os.path.join(scratch(), "state%d" % Tmux._count)
        inner.update(env or {})
        words = ["env", "-i"] + ["%s=%s" % kv for kv in inner.items()] + (list(command) if command else ["sh"])
        self._env = e
        conf = os.path.join(scratch(), "tmux.conf")
        with open(conf, "w") as f:
            f.write("set -g remain-on-exit on\nset -g status off\nset -s escape-time 0\nset -g history-limit 2000\n")
        subprocess.run(["tmux", "-u", "-L", self.socket, "-f", conf, "new-session", "-d", "-x", str(cols),
                        "-y", str(rows), shlex.join(words)], check=True, env=e, cwd=ROOT)
        at_end(self.close)

    def _tmux(self, *args):
        return subprocess.run(["tmux", "-L", self.socket] + list(args), env=self._env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT).stdout.decode(errors="replace")

    def bytes(self, *hexadecimal):
        """Sends bytes at once."""
        self._tmux("send-keys", "-H", *hexadecimal)

    def keys(self, *keys):
        """Names as in tmux: Enter, Up, PageUp, C-c, ...; any other text is typed."""
        # tmux sends its own sequences, whatever TERM is in the window; so send those of an xterm.
        own = {"Home": "1b 4f 48", "End": "1b 4f 46"} if self.term.startswith("xterm") else {}
        for k in keys:
            if k in own:
                self._tmux("send-keys", "-H", *own[k].split())
                continue
            named = re.fullmatch(r"(Enter|Escape|Space|Tab|BTab|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|"
                                 r"NPage|PPage|DC|F\d+|C-.)", k)
            self._tmux("send-keys", *([] if named else ["-l"]), k)

    def screen(self):
        return self._tmux("capture-pane", "-p")

    def styled(self):
        """With the color and attribute sequences."""
        return self._tmux("capture-pane", "-p", "-e", "-N")

    def get(self, format_):
        """A tmux format: cursor_flag, alternate_on, pane_dead, pane_pid, pane_dead_status, ..."""
        return self._tmux("display-message", "-p", "#{%s}" % format_).strip()

    def resize(self, cols, rows):
        self._tmux("resize-window", "-x", str(cols), "-y", str(rows))

    def wait_for(self, what, deadline_s=15, gone=False):
        """Waits until the screen shows the text or matches the compiled pattern (gone: no longer does). Returns the
        screen."""
        test = what.search if hasattr(what, "search") else lambda s: what in s
        last = [""]

        def look():
            last[0] = self.screen()
            return bool(test(last[0])) != gone
        until(deadline_s, look, 0.03, what=lambda: "%s %r within %s s; the screen:\n%s" % (
            "no more" if gone else "screen shows", getattr(what, "pattern", what), patient(deadline_s), re.sub(r"\n\n+$", "\n", last[0])))
        return last[0]

    def pid_of(self, program="kprof-top"):
        """The pid of the program in the window (the pane's process itself, or a child of its shell)."""
        def find():
            todo = [int(self.get("pane_pid") or 0)]
            while todo:
                p = todo.pop()
                try:
                    with open("/proc/%d/comm" % p) as f:
                        if f.read().strip() == program[:15]:
                            return p
                    with open("/proc/%d/task/%d/children" % (p, p)) as f:
                        todo += [int(c) for c in f.read().split()]
                except OSError:
                    pass
            return None
        return until(10, find, what="%s runs in the window" % program)

    def close(self):
        self._tmux("kill-server")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def each(*values):
    """Decorator: the test runs once for each value (tuples are spread over its arguments)."""
    def mark(fn):
        fn.each = [v if isinstance(v, tuple) else (v,) for v in values]
        return fn
    return mark
