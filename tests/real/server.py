"""A real server in the benchmark (real.py). Each server has a file with a subclass of Server, and is listed in
servers.py.

Class attributes of a subclass:
  name      its name: make real SERVER=name
  packages  {otp: [Debian packages]}, of the server and of its load; its keys are the OTPs on which the server is tested
  host      [Debian packages] that this machine needs for the load, on any OTP
  preset    the preset of kprof-top that must be offered, and complete
  entry     the tier whose calls are the requests
  tiers     tiers that must have calls under the load, including the entry
  identities  regular expressions: each identity of the entry matches one of them as a whole
  most      the maximum number of identities of the entry
  stray_share  maximum share of requests that may be part of another request, because the process of the entry still had
            its token (kprof.1, CAVEATS)
  rates     the two rates of the load, requests/s: at the lower one, all requests should be traced at default limits

Methods of a subclass:
  start()   starts the server in self.place and sets self.node, a Node: its name and cookie, proc (whose pid is the VM's).
            Does not wait.
  ready()   true when the server answers. It is polled with a deadline; the caller notices if the server ends.
  load(rate, seconds)  runs an open load from this machine, waits until all of it is answered, and returns a Load. Open:
            a request is sent when it is due, whether earlier ones were answered or not, and its latency is the time
            from then. It must not depend on earlier loads.
  logs()    the logs of the server (paths of this machine), at a level at which it writes nothing without errors
  version() of the server, as text; may call eval()

Server has the rest: directories, queries of the node, the monitor, and the end, by pid. No ctl program is used.

All files of a server are in self.place.dir(). It listens on 127.0.0.1 only, on ports that were free.
"""
import base64
import glob
import os
import random
import re
import signal
import socket
import subprocess

from place import HERE, kp

LATER_S = 60  # deadlines, not assertions


class Load:
    """The result of the client. sent: {expected identity: requests}; p50_us, p99_us: latencies from the intended
    start; slices_us: the median of the p99 of each 250 ms; errors: requests that failed or had a wrong answer; the message is about the first."""

    def __init__(self, sent, errors, p50_us, p99_us, slices_us, said=""):
        self.sent, self.errors, self.said = sent, errors, said
        self.p50_us, self.p99_us, self.slices_us = p50_us, p99_us, slices_us


class Node:
    def __init__(self, name, cookie, proc):
        self.name, self.cookie, self.proc = name, cookie, proc


def free_port():
    """A port below those that the kernel gives to connections; one of these could be taken before the server starts."""
    while True:
        port = random.randrange(20000, 32000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


def short_host():
    return os.uname().nodename.split(".")[0]


_programs = {}


def compiled(name, *libraries, directory=HERE):
    """Compiles name.c (which may include headers from here) in the scratch directory."""
    if name not in _programs:
        _programs[name] = os.path.join(kp.scratch(), name)
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I" + HERE, "-o", _programs[name],
                        os.path.join(directory, name + ".c"), *libraries], check=True)
    return _programs[name]


def beam(name, directory=HERE):
    """Compiles an Erlang module of the tests with the erlc of this machine; the beam runs on later OTPs. Returns its
    path."""
    out = os.path.join(kp.scratch(), "real_beams")
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, name + ".beam")
    if not os.path.exists(path):
        subprocess.run(["erlc", "-Werror", "+deterministic", "-o", out, os.path.join(directory, name + ".erl")], check=True)
    return path


class Server:
    name = preset = entry = None
    packages, host, tiers, identities, most, rates = {}, [], [], [], 16, (100, 1000)
    stray_share = 0

    def __init__(self, place):
        self.place = place
        self.node = self.output = None

    # ---- defined in the subclass ----

    def start(self):
        raise NotImplementedError

    def ready(self):
        raise NotImplementedError

    def load(self, rate, seconds):
        raise NotImplementedError

    def logs(self):
        raise NotImplementedError

    def version(self):
        raise NotImplementedError

    # ---- common ----

    def run(self, name, cookie, argv, env, cwd, user=None):
        """For start(): the process of the server, and its node."""
        kp.epmd()
        self.output = os.path.join(self.place.dir(), self.name + ".out")
        with open(self.output, "w") as out:
            self.node = Node(name, cookie, self.place.start(argv, env, out, cwd, user))

    def up(self):
        """Started, and ready."""
        self.start()
        kp.until(120, lambda: not self.lives() or self.ready(), 0.2, what=lambda: "%s starts: %s" % (self.name, self.said()[-3000:]))
        assert self.lives(), "%s: %s" % (self.name, self.last_words())

    def lives(self):
        return self.node.proc.poll() is None

    def said(self):
        with open(self.output, errors="replace") as f:
            return f.read()

    def last_words(self):
        code = self.node.proc.returncode
        how = "killed by %s" % signal.Signals(-code).name if code < 0 else "exit %d" % code
        return "%s; %s" % (how, " / ".join([x for x in self.said().splitlines() if x.strip()][-4:]))

    def eval(self, source):
        """Evaluates Erlang on the node; returns the value as Erlang prints it, without blanks."""
        call = sorted(glob.glob("/usr/lib/erlang/lib/erl_interface-*/bin/erl_call"))[-1]
        last = [""]

        def answered():
            r = subprocess.run([call, "-sname", self.node.name, "-c", self.node.cookie, "-e"], input=source + ".\n", stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=LATER_S * kp.PATIENCE)
            last[0] = r.stdout or "exit %d" % r.returncode
            # if the node is too busy for the handshake, try again
            return "failed to connect" not in last[0] or not self.lives()
        kp.until(LATER_S, answered, 0.5, what=lambda: "%s: %s" % (self.node.name, last[0]))
        out = re.sub(r"\s+", "", last[0])
        assert out.startswith("{ok,"), "%s: %s: %s%s" % (self.node.name, source[:200], last[0], "" if self.lives() else "; it died: " + self.last_words())
        return out[len("{ok,"):-1]

    def bring(self, path):
        """Loads a beam into the node."""
        name = os.path.basename(path)[:-len(".beam")]
        with open(path, "rb") as f:
            text = base64.b64encode(f.read()).decode()
        assert self.eval('element(1, code:load_binary(%s, "%s", base64:decode("%s")))' % (name, name, text)) == "module"

    def watch(self):
        """Starts a monitor in the node that queries all processes every second, as observer_cli does."""
        self.bring(beam("real_watch"))
        self.bring(beam("kp_target", os.path.join(HERE, "..", "lib")))
        assert self.eval("real_watch:start()") == "ok"

    def watched(self):
        """The number of queries of the monitor so far."""
        return int(self.eval("real_watch:rounds()"))

    def left(self):
        """What of kprof-top is on the node, according to the VM; "[]": nothing."""
        return self.eval("real_watch:left()")

    def log_lines(self):
        """All lines of its logs and of its terminal."""
        lines = self.said().splitlines()
        for path in self.logs():
            with open(path, errors="replace") as f:
                lines += f.read().splitlines()
        return lines

    def stop(self):
        if self.node and self.lives():
            self.node.proc.terminate()
            try:
                self.node.proc.wait(60)
            except subprocess.TimeoutExpired:
                kp.kill_pid(self.node.proc)
