#!/usr/bin/env python3
"""rabbit.py [--attaches N] [--seed S] [--without]: does RabbitMQ survive kprof-top?

Installs RabbitMQ, wrk and librabbitmq if they are missing (apt-get, as root; no daemon is started). Runs a private
server with the management plugin, bound to 127.0.0.1, in a private directory, under AMQP and HTTP load, and attaches
N times with the presets rabbitmq and cowboy in turn. After each attach the server is alive, answers on both, and
nothing of kprof-top is left; at the end its log has no error. Only processes started here are stopped, by their pid."""
import argparse
import atexit
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "real")]
import kp  # noqa: E402
from place import Place  # noqa: E402
from rabbitmq import PATHS, RabbitMQ  # noqa: E402
from server import compiled  # noqa: E402

LATER_S = 60  # deadlines, not assertions
LEFT = """{[N || N <- erlang:registered(), lists:prefix("kprof_", atom_to_list(N))], [M || {M, _} <- code:all_loaded(), lists:prefix("kprof_", atom_to_list(M))],
    erlang:trace_info(new_processes, flags), erlang:system_info(trace_control_word)}"""


class Rabbit(RabbitMQ):
    """The server of the benchmark, and its load."""
    host = [*RabbitMQ.host, "wrk"]

    def __init__(self):
        super().__init__(Place(25))
        for packages in (self.packages[25], self.host):
            self.place.provide(packages)
        self.got, self.loads = 0, []
        atexit.register(self.end)
        self.up()

    def load(self, clients):
        amqp = subprocess.Popen([compiled("rabbit_load", "-lrabbitmq", directory=HERE), str(self.amqp), str(clients)], stdout=subprocess.PIPE, text=True)
        self.loads.append(amqp)
        threading.Thread(target=self.read, args=(amqp,), daemon=True).start()
        # To get the memory of a node, each of its processes is queried.
        for path in (PATHS[1], PATHS[2], "api/nodes/%s/memory" % self.node.name):
            with open(os.path.join(self.place.dir(), "wrk.lua"), "w") as f:
                f.write('wrk.headers["%s"] = "%s"\n' % tuple(self.headers().split(": ")))
            self.loads.append(subprocess.Popen(["wrk", "-t1", "-c2", "-d", "100000s", "-s", os.path.join(self.place.dir(), "wrk.lua"), self.url(path)],
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        kp.until(LATER_S, lambda: self.got > 0, what="AMQP load")

    def read(self, amqp):
        for line in amqp.stdout:
            self.got = int(line)

    def answers(self):
        """AMQP and HTTP work, and the load continues."""
        before = self.got
        self.get_all()
        kp.until(LATER_S, lambda: self.got > before or not self.lives(), what="messages continue")
        assert all(p.poll() is None for p in self.loads), "a load has ended: %s" % [p.args[0] for p in self.loads if p.poll() is not None]

    def clean(self):
        last = [""]

        def look():
            last[0] = self.eval(LEFT)
            return last[0] == "{[],[],{flags,[]},0}" or not self.lives()
        kp.until(LATER_S, look, 0.2, what=lambda: "left on RabbitMQ: " + last[0])

    def errors(self):
        return [x for x in self.log_lines() if re.search(r"\[(error|critical|alert|emergency)\]", x)]

    def stop_load(self):
        for p in self.loads:
            if p.poll() is None:
                p.terminate()
                p.wait(10)
        self.loads = []

    def end(self):
        self.stop_load()
        self.stop()


def attach(r, preset, rng):
    k = kp.Kp("--batch", "--format", "json", "-d", "200ms", "--preset", preset, r.node.name, cookie=r.node.cookie)
    kp.until(LATER_S, lambda: k.proc.poll() is not None or any(x["calls"]["received"] for x in k.rows) or not r.lives(), what=k.saw)
    if r.lives():
        assert k.proc.poll() is None, k.saw()
    time.sleep(rng.uniform(0, 1))  # a random time is part of the test; nothing is awaited
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
    print("seed %d" % a.seed, flush=True)
    rng = random.Random(a.seed)
    r = Rabbit()
    r.load(a.clients)
    print("RabbitMQ %s, OTP %s" % (r.version(), r.eval("list_to_integer(erlang:system_info(otp_release))")), flush=True)
    survived = 0
    try:
        for i in range(a.attaches):
            preset = ("rabbitmq", "cowboy")[i % 2]
            how, calls = ("-", 0) if a.without else attach(r, preset, rng)
            for holds in (r.clean, r.answers):
                assert r.lives(), "it has crashed"
                holds()
            assert r.lives(), "it has crashed"
            survived += 1
            print("ok   attach %d, %s, %d calls, %s; %d messages" % (i + 1, preset, calls, how, r.got), flush=True)
        r.stop_load()
        errors = r.errors()
        assert errors == [], "error log:\n%s" % "\n".join(errors[:200])
        failed = 0
    except Exception as e:
        failed = 1
        try:
            r.node.proc.wait(5)  # give a crashing server some time to end
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
