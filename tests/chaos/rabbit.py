#!/usr/bin/env python3
"""rabbit.py [--attaches N] [--seed S] [--without]: does RabbitMQ live through kprof-top?

Installs RabbitMQ, wrk and librabbitmq where they are not there (apt-get, as root; no daemon is started), runs one server of its own
with the management plugin, bound to 127.0.0.1, in a directory of its own, under AMQP and HTTP load, and attaches N times with the
presets rabbitmq and cowboy in turn. After each the server lives, answers on both, and has nothing of ours; at the end its log has no
error. Only what is started here is ended, by its pid."""
import argparse
import atexit
import base64
import glob
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
import kp  # noqa: E402

LATER_S = 60  # deadlines: none is a claim
PACKAGES = {"rabbitmq-server": "/usr/lib/rabbitmq/bin/rabbitmq-server", "wrk": "/usr/bin/wrk", "librabbitmq-dev": "/usr/include/amqp.h"}
POLICY = "/usr/sbin/policy-rc.d"
COOKIE = "kprofsurvive"
PATHS = ("api/overview", "api/queues", "api/channels", "api/connections", "api/nodes")
LEFT = """{[N || N <- erlang:registered(), lists:prefix("kprof_", atom_to_list(N))], [M || {M, _} <- code:all_loaded(), lists:prefix("kprof_", atom_to_list(M))],
    erlang:trace_info(new_processes, flags), erlang:system_info(trace_control_word)}"""


def install():
    missing = [p for p, file in PACKAGES.items() if not os.path.exists(file)]
    if not missing:
        return
    if os.geteuid() != 0:
        sys.exit("rabbit.py: not root, so install these first: apt-get install %s" % " ".join(missing))
    print("installing: %s" % " ".join(missing), flush=True)
    made = not os.path.exists(POLICY)
    if made:  # no package may start a daemon here
        with open(POLICY, "w") as f:
            f.write("#!/bin/sh\nexit 101\n")
        os.chmod(POLICY, 0o755)
    try:
        with open(POLICY) as f:
            if "exit 101" not in f.read():
                sys.exit("rabbit.py: %s would let packages start daemons" % POLICY)
        env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
        command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing]
        if subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            subprocess.run(["apt-get", "update", "-q"], stdout=subprocess.DEVNULL)
            subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    finally:
        if made:
            os.unlink(POLICY)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Rabbit:
    """One server, and its load."""

    def __init__(self):
        self.dir = kp.scratch()
        os.chmod(self.dir, 0o755)
        self.home = os.path.join(self.dir, "rabbit")
        os.mkdir(self.home)
        self.amqp, self.http = free_port(), free_port()
        self.name = "kprof_rabbit_%d@localhost" % os.getpid()
        self.got, self.loads = 0, []
        self.write("cookie", ".erlang.cookie", COOKIE, 0o400)
        self.write("plugins", "plugins", "[rabbitmq_management].\n")
        self.write("config", "rabbitmq.conf", "listeners.tcp.default = 127.0.0.1:%d\nmanagement.tcp.ip = 127.0.0.1\nmanagement.tcp.port = %d\n"
                   "collect_statistics_interval = 1000\nlog.file = rabbit.log\nlog.file.level = warning\n" % (self.amqp, self.http))
        subprocess.run(["chown", "-R", "rabbitmq:rabbitmq", self.home], check=True)
        kp.epmd()
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.home, "LC_ALL": "C.UTF-8", "RUNNING_UNDER_SYSTEMD": "1",
               "RABBITMQ_NODENAME": self.name, "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.amqp),
               "RABBITMQ_DIST_PORT": str(free_port()), "RABBITMQ_ENABLED_PLUGINS_FILE": self.path("plugins"), "RABBITMQ_CONFIG_FILE": self.path("rabbitmq"),
               "RABBITMQ_CONF_ENV_FILE": "/dev/null", "RABBITMQ_MNESIA_BASE": self.path("mnesia"), "RABBITMQ_LOG_BASE": self.path("log"),
               "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}", "ERL_CRASH_DUMP": self.path("dump")}
        self.output = open(os.path.join(self.dir, "rabbit.out"), "w+", errors="replace")
        self.proc = subprocess.Popen(["setpriv", "--reuid=rabbitmq", "--regid=rabbitmq", "--init-groups", "/usr/lib/rabbitmq/bin/rabbitmq-server"],
                                     env=env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True)
        atexit.register(self.end)
        kp.until(120, lambda: "Starting broker... completed" in self.said() or not self.lives(), 0.2, what=lambda: "RabbitMQ starts: " + self.said()[-3000:])
        assert self.lives(), self.last_words()

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, _what, name, text, mode=0o644):
        with open(self.path(name), "w") as f:
            f.write(text)
        os.chmod(self.path(name), mode)

    def said(self):
        with open(self.output.name, errors="replace") as f:
            return f.read()

    def lives(self):
        return self.proc.poll() is None

    def last_words(self):
        code = self.proc.returncode
        how = "killed by %s" % signal.Signals(-code).name if code < 0 else "exit %d" % code
        return "%s; %s" % (how, " / ".join([x for x in self.said().splitlines() if x.strip()][-4:]))

    def load(self, clients):
        program = os.path.join(self.dir, "rabbit_load")
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, os.path.join(HERE, "rabbit_load.c"), "-lrabbitmq"], check=True)
        amqp = subprocess.Popen([program, str(self.amqp), str(clients)], stdout=subprocess.PIPE, text=True)
        self.loads.append(amqp)
        threading.Thread(target=self.read, args=(amqp,), daemon=True).start()
        self.get_all()  # two that come first at once let rabbit_mgmt_db_cache crash (3.10), whoever is attached
        # The memory of a node is asked of each of its processes.
        for path in (PATHS[1], PATHS[2], "api/nodes/%s/memory" % self.name):
            with open(os.path.join(self.dir, "wrk.lua"), "w") as f:
                f.write('wrk.headers["Authorization"] = "%s"\n' % self.basic())
            self.loads.append(subprocess.Popen(["wrk", "-t1", "-c2", "-d", "100000s", "-s", os.path.join(self.dir, "wrk.lua"), self.url(path)],
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        kp.until(LATER_S, lambda: self.got > 0, what="AMQP load")

    def read(self, amqp):
        for line in amqp.stdout:
            self.got = int(line)

    def basic(self):
        return "Basic " + base64.b64encode(b"guest:guest").decode()

    def url(self, path):
        return "http://127.0.0.1:%d/%s" % (self.http, path)

    def get_all(self):
        for path in PATHS:
            request = urllib.request.Request(self.url(path), headers={"Authorization": self.basic()})
            with urllib.request.urlopen(request, timeout=LATER_S) as r:
                assert r.status == 200, "%s: %s" % (path, r.status)

    def answers(self):
        """Both ways, and the load goes on."""
        before = self.got
        self.get_all()
        kp.until(LATER_S, lambda: self.got > before or not self.lives(), what="messages go on")
        assert all(p.poll() is None for p in self.loads), "load that has ended: %s" % [p.args[0] for p in self.loads if p.poll() is not None]

    def eval(self, source):
        call = sorted(glob.glob("/usr/lib/erlang/lib/erl_interface-*/bin/erl_call"))[-1]
        r = subprocess.run([call, "-sname", self.name, "-c", COOKIE, "-e"], input=source + ".\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           timeout=LATER_S)
        return re.sub(r"\s+", "", r.stdout)

    def clean(self):
        last = [""]

        def look():
            last[0] = self.eval(LEFT)
            return last[0] == "{ok,{[],[],{flags,[]},0}}" or not self.lives()
        kp.until(LATER_S, look, 0.2, what=lambda: "left on RabbitMQ: " + last[0])

    def errors(self):
        text = ""
        for file in glob.glob(self.path("log") + "/*.log"):
            with open(file, errors="replace") as f:
                text += f.read()
        return [x for x in text.splitlines() if re.search(r"\[(error|critical|alert|emergency)\]", x)]

    def stop_load(self):
        for p in self.loads:
            if p.poll() is None:
                p.terminate()
                p.wait(10)
        self.loads = []

    def end(self):
        self.stop_load()
        if self.lives():
            self.proc.terminate()
            try:
                self.proc.wait(60)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait(10)


def attach(r, preset, rng):
    k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "--preset", preset, r.name, cookie=COOKIE)
    kp.until(LATER_S, lambda: k.proc.poll() is not None or any(x["calls"]["received"] for x in k.rows) or not r.lives(), what=k.saw)
    if r.lives():
        assert k.proc.poll() is None, k.saw()
    time.sleep(rng.uniform(0, 1))  # the moment is the test, nothing is waited for
    how = rng.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    k.proc.send_signal(how)
    k.wait(LATER_S)
    return how.name, k.rows[-1]["calls"]["received"] if k.rows else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--attaches", type=int, default=50)
    p.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    p.add_argument("--clients", type=int, default=4)
    p.add_argument("--without", action="store_true", help="nobody attaches")
    a = p.parse_args()
    install()
    print("seed %d" % a.seed, flush=True)
    rng = random.Random(a.seed)
    r = Rabbit()
    r.load(a.clients)
    print("RabbitMQ %s, OTP %s" % (r.eval("{ok, V} = application:get_key(rabbit, vsn), list_to_atom(V)"), r.eval("list_to_atom(erlang:system_info(otp_release))")), flush=True)
    survived = 0
    try:
        for i in range(a.attaches):
            preset = ("rabbitmq", "cowboy")[i % 2]
            how, calls = ("-", 0) if a.without else attach(r, preset, rng)
            for holds in (r.clean, r.answers):
                assert r.lives(), "it has died"
                holds()
            assert r.lives(), "it has died"
            survived += 1
            print("ok   attach %d, %s, %d calls, %s; %d messages" % (i + 1, preset, calls, how, r.got), flush=True)
        r.stop_load()
        errors = r.errors()
        assert errors == [], "error log:\n%s" % "\n".join(errors[:30])
        failed = 0
    except Exception as e:
        failed = 1
        try:
            r.proc.wait(5)  # one that is about to die gets a moment for it
        except subprocess.TimeoutExpired:
            pass
        print("FAIL attach %d: %s" % (survived + 1, "RabbitMQ DIED: " + r.last_words() if not r.lives() else e), flush=True)
    finally:
        r.end()
        kp.clean_up()
    print("RabbitMQ survived %d attaches, %d messages" % (survived, r.got))
    print("%d passed, %d failed" % (survived, failed))
    return failed


if __name__ == "__main__":
    sys.exit(main())
