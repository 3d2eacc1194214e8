"""yaws with a shop of four kinds of requests (real_shop.erl) and 2,000 ids."""
import os
import shutil

from server import beam, free_port, short_host
from shop import Shop

CONF = """logdir = %(dir)s/log
ebin_dir = %(dir)s/ebin
max_connections = nolimit
keepalive_timeout = 60000
trace = false
<server localhost>
    port = %(port)d
    listen = 127.0.0.1
    docroot = %(dir)s/www
    appmods = <api, real_shop>
    access_log = false
</server>
"""


class Yaws(Shop):
    name, preset, entry = "yaws", "yaws", "request"
    packages = {25: ["yaws", "erlang-mnesia"], 27: ["yaws", "erlang-yaws", "erlang-mnesia"], 29: ["yaws", "erlang-yaws", "erlang-mnesia"]}
    tiers = ["request", "dynamic", "file", "send"]
    kinds = ("GET /", "GET /api/item/*", "GET /api/cart/*", "POST /api/order")
    rates = (500, 5000)

    def start(self):
        base = os.path.join(self.place.dir(), "yaws")
        for d in ("log", "ebin", "www"):
            os.makedirs(os.path.join(base, d))
        self.log_dir, self.port = os.path.join(base, "log"), free_port()
        shutil.copy(beam("real_shop"), os.path.join(base, "ebin"))
        with open(os.path.join(base, "www", "index.html"), "w") as f:
            f.write("<html><body>A shop</body></html>\n")
        inside = self.place.inside(base)
        with open(os.path.join(base, "yaws.conf"), "w") as f:
            f.write(CONF % {"dir": inside, "port": self.port})
        name = "kprof_yaws_%d" % os.getpid()
        self.run("%s@%s" % (name, short_host()), "kprofreal",
                 ["yaws", "--conf", inside + "/yaws.conf", "--id", "kprof", "--pa", inside + "/ebin", "--sname", name, "--setcookie", "kprofreal",
                  "--erlarg", "-noinput -kernel inet_dist_use_interface {127,0,0,1}"],
                 {"HOME": inside, "ERL_CRASH_DUMP": "/dev/null"}, base)

    def logs(self):
        return [os.path.join(self.log_dir, f) for f in sorted(os.listdir(self.log_dir)) if not f.endswith((".access", ".auth"))]

    def version(self):
        return self.eval("list_to_atom(yaws_generated:version())").strip("'")
