"""RabbitMQ with its management plugin, as the user rabbitmq: AMQP load, and HTTP load on the management API."""
import base64
import json
import os
import subprocess
import urllib.request

from http_load import http_load
from server import LATER_S, Load, Server, compiled, free_port, kp

PATHS = ("api/overview", "api/queues", "api/channels", "api/connections", "api/nodes")
CONF = """listeners.tcp.default = 127.0.0.1:%d
management.tcp.ip = 127.0.0.1
management.tcp.port = %d
collect_statistics_interval = 1000
log.file = rabbit.log
log.file.level = warning
"""


class RabbitMQ(Server):
    name, preset, entry = "rabbitmq", "rabbitmq", "channel"
    packages = {25: ["rabbitmq-server"], 27: ["rabbitmq-server"], 29: ["rabbitmq-server"]}
    host = ["librabbitmq-dev"]
    tiers = ["channel", "route", "deliver", "queue", "get", "backing", "writer"]
    identities = [r"(basic|channel|queue|exchange|confirm|tx)\.[a-z_-]+", "queue_event|command|ready_for_close|terminate"]
    most = 16
    rates = (200, 1000)

    def start(self):
        self.home = os.path.join(self.place.dir(), "rabbit")
        os.mkdir(self.home)
        self.amqp, self.http = free_port(), free_port()
        cookie = "kprofreal"
        self.write(".erlang.cookie", cookie, 0o400)
        self.write("plugins", "[rabbitmq_management].\n")
        self.write("rabbitmq.conf", CONF % (self.amqp, self.http))
        subprocess.run(["chown", "-R", "%d:%d" % self.place.user("rabbitmq"), self.home], check=True)
        name = "kprof_rabbit_%d@localhost" % os.getpid()
        self.run(name, cookie, ["/usr/lib/rabbitmq/bin/rabbitmq-server"],
                 {"HOME": self.inside(), "RUNNING_UNDER_SYSTEMD": "1", "RABBITMQ_NODENAME": name, "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
                  "RABBITMQ_NODE_PORT": str(self.amqp), "RABBITMQ_DIST_PORT": str(free_port()),
                  "RABBITMQ_ENABLED_PLUGINS_FILE": self.inside("plugins"), "RABBITMQ_CONFIG_FILE": self.inside("rabbitmq"),
                  "RABBITMQ_CONF_ENV_FILE": "/dev/null", "RABBITMQ_MNESIA_BASE": self.inside("mnesia"), "RABBITMQ_LOG_BASE": self.inside("log"),
                  "RABBITMQ_FEATURE_FLAGS_FILE": self.inside("feature_flags"),
                  "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}", "ERL_CRASH_DUMP": self.inside("dump")},
                 self.home, user="rabbitmq")

    def inside(self, *names):
        return os.path.join(self.place.inside(self.home), *names)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.home, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)

    def ready(self):
        if "Starting broker... completed" not in self.said():
            return False
        # if the first two requests are simultaneous, rabbit_mgmt_db_cache crashes (3.10), also without kprof-top
        self.get_all()
        return True

    def headers(self):
        return "Authorization: Basic " + base64.b64encode(b"guest:guest").decode()

    def url(self, path):
        return "http://127.0.0.1:%d/%s" % (self.http, path)

    def get_all(self):
        for path in PATHS:
            request = urllib.request.Request(self.url(path), headers=dict([self.headers().split(": ")]))
            with urllib.request.urlopen(request, timeout=LATER_S) as r:
                assert r.status == 200, "%s: %s" % (path, r.status)

    def load(self, rate, seconds):
        r = subprocess.run([compiled("amqp_load", "-lrabbitmq"), str(self.amqp), str(rate), str(seconds)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=kp.patient(seconds + LATER_S))
        assert r.returncode == 0, "amqp_load: exit %d: %s" % (r.returncode, r.stderr)
        out = json.loads(r.stdout)
        return Load({"basic." + m: out[m] for m in ("publish", "ack", "get")}, out["errors"], out["p50_us"], out["p99_us"], out["slices_us"], r.stderr.strip())

    def logs(self):
        directory = os.path.join(self.home, "log")
        return [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith(".log")]

    def version(self):
        return self.eval("{ok, V} = application:get_key(rabbit, vsn), list_to_atom(V)").strip("'")


class RabbitMQManagement(RabbitMQ):
    """The management API of the same server: Cowboy."""
    name, preset, entry = "rabbitmq-http", "cowboy", "request"
    host = []
    tiers = ["request", "routing", "handler"]
    identities = [r"GET rabbit_mgmt_wm_\w+"]
    rates = (50, 200)

    def load(self, rate, seconds):
        return http_load(self.http, rate, seconds, {"GET /api/overview": "GET rabbit_mgmt_wm_overview", "GET /api/queues": "GET rabbit_mgmt_wm_queues",
                                                    "GET /api/channels": "GET rabbit_mgmt_wm_channels", "GET /api/exchanges": "GET rabbit_mgmt_wm_exchanges"},
                         headers=[self.headers()])
