"""ejabberd: anonymous clients that send each other messages, ping the server, and send presence."""
import json
import os
import socket
import subprocess
import sys

from place import HERE
from server import LATER_S, Load, Server, free_port, kp

HOST = "localhost"
CONF = """hosts: [%(host)s]
loglevel: warning
certfiles: []
auth_method: [anonymous]
anonymous_protocol: sasl_anon
allow_multiple_connections: true
listen:
  - port: %(port)d
    ip: "127.0.0.1"
    module: ejabberd_c2s
    starttls_required: false
modules:
  mod_disco: {}
  mod_offline: {}
  mod_ping: {}
  mod_roster: {}
"""


class Ejabberd(Server):
    name, preset, entry = "ejabberd", "ejabberd", "stanza"
    packages = {25: ["ejabberd"]}
    tiers = ["stanza", "router", "local", "sessions"]
    identities = ["message", "iq", "presence"]
    most = 3
    # a session handles a stanza of its client just after one from another session arrived: 1 of 2,000
    stray_share = 0.005
    rates = (200, 1000)

    def start(self):
        self.base, self.port = os.path.join(self.place.dir(), "ejabberd"), free_port()
        for d in ("", "log", "db"):
            os.mkdir(os.path.join(self.base, d))
        with open(os.path.join(self.base, "ejabberd.yml"), "w") as f:
            f.write(CONF % {"host": HOST, "port": self.port})
        subprocess.run(["chown", "-R", "%d:%d" % self.place.user("ejabberd"), self.base], check=True)
        name, cookie, inside = "kprof_ejabberd_%d@localhost" % os.getpid(), "kprofreal", self.place.inside(self.base)
        self.run(name, cookie, ["erl", "-sname", name, "-setcookie", cookie, "-noinput", "-mnesia", "dir", '"%s/db"' % inside,
                                "-kernel", "inet_dist_use_interface", "{127,0,0,1}", "-s", "ejabberd"],
                 {"HOME": inside, "ERL_LIBS": "/usr/lib/x86_64-linux-gnu", "EJABBERD_CONFIG_PATH": inside + "/ejabberd.yml",
                  "EJABBERD_LOG_PATH": inside + "/log/ejabberd.log", "ERL_INETRC": "/etc/ejabberd/inetrc", "ERL_CRASH_DUMP": "/dev/null"},
                 self.base, user="ejabberd")

    def ready(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), kp.LEAST_S).close()
        except OSError:
            return False
        return True

    def load(self, rate, seconds):
        r = subprocess.run([sys.executable, os.path.join(HERE, "xmpp_load.py"), str(self.port), HOST, str(rate), str(seconds)],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=kp.patient(seconds + 2 * LATER_S))
        assert r.returncode == 0, "xmpp_load: exit %d: %s" % (r.returncode, r.stderr[-2000:])
        out = json.loads(r.stdout)
        return Load(out["sent"], out["errors"], out["p50_us"], out["p99_us"], out["slices_us"], r.stderr.strip())

    def logs(self):
        directory = os.path.join(self.base, "log")
        return [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith(".log")]

    def version(self):
        return self.eval("{ok, V} = application:get_key(ejabberd, vsn), list_to_atom(V)").strip("'")
