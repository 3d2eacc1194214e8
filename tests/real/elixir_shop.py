"""A shop in Elixir on Cowboy (shopex/): as beams of a development node, and as a mix release."""
import glob
import os
import shutil
import subprocess

from place import HERE
from server import free_port, kp, short_host
from shop import Shop

COOKIE = "kprofreal"
# as mix writes it into a release
APP = """{application, shopex, [{description, "a shop"}, {vsn, "1.0.0"}, {mod, {'Elixir.Shopex', []}}, {registered, ['Elixir.Shopex.Repo']},
 {applications, [kernel, stdlib, elixir, cowboy]}, {modules, [%s]}]}.
"""
LOCAL = "-kernel inet_dist_use_interface {127,0,0,1}"
# Where Debian has Cowboy: among the plugins of RabbitMQ; from sid on as separate packages.
FOLDERS = ("/usr/lib/rabbitmq/lib/rabbitmq_server-*/plugins/%s-*/ebin", "/usr/lib/erlang/lib/%s-*/ebin")
APPS = ("cowboy", "cowlib", "ranch")


class ElixirShop(Shop):
    name, preset, entry = "elixir", "cowboy", "request"
    packages = {25: ["elixir", "rabbitmq-server"], 27: ["elixir", "rabbitmq-server"], 29: ["elixir", "erlang-cowboy", "erlang-ranch", "erlang-cowlib"]}
    tiers = ["request", "routing", "handler", "reply"]
    kinds = ("GET Shopex.HomeHandler", "GET Shopex.ItemHandler", "GET Shopex.CartHandler", "POST Shopex.OrderHandler")
    rates = (400, 2000)

    def start(self):
        self.base, self.port = os.path.join(self.place.dir(), self.name), free_port()
        os.mkdir(self.base)
        self.run("%s@%s" % (self.short(), short_host()), COOKIE, *self.command())

    def short(self):
        return "kprof_%s_%d" % (self.name, os.getpid())

    def cowboy(self):
        """The code paths of Cowboy's applications, as seen by the server."""
        paths = []
        for app in APPS:
            found = [p for folder in FOLDERS for p in self.place.find(folder % app)]
            if not found:
                raise kp.Skip("no %s in this machine's packages" % app)
            paths.append(found[-1])
        return paths

    def command(self):
        """(argv, environment, directory)"""
        ebin = os.path.join(self.base, "ebin")
        os.mkdir(ebin)
        r = subprocess.run(["elixirc", "-o", ebin, os.path.join(HERE, "shopex", "lib", "shopex.ex")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert r.returncode == 0, "elixirc: exit %d: %s" % (r.returncode, r.stdout[-2000:])
        with open(os.path.join(ebin, "shopex.app"), "w") as f:
            f.write(APP % ", ".join("'%s'" % m[:-len(".beam")] for m in sorted(os.listdir(ebin)) if m.endswith(".beam")))
        inside = self.place.inside(self.base)
        paths = [w for p in [self.place.inside(ebin), *self.cowboy()] for w in ("-pa", p)]
        return (["elixir", "--sname", self.short(), "--cookie", COOKIE, "--erl", "-noinput " + LOCAL, *paths, "--no-halt", "-e", "{:ok, _} = Application.ensure_all_started(:shopex)"],
                {"HOME": inside, "SHOPEX_PORT": str(self.port), "ERL_CRASH_DUMP": "/dev/null"}, self.base)

    def logs(self):
        return []  # it logs to its terminal

    def version(self):
        return self.eval("{ok, V} = application:get_key(cowboy, vsn), list_to_atom(V)").strip("'") + " (Cowboy)"


class Release(ElixirShop):
    """The same shop as a mix release: embedded mode, its own ERTS, without runtime_tools. Built with the mix of this
    machine."""
    name = "release"
    packages = {25: ElixirShop.packages[25]}

    def command(self):
        made, out = os.path.join(kp.scratch(), "shopex"), os.path.join(self.base, "shop")
        if not os.path.exists(made):
            shutil.copytree(os.path.join(HERE, "shopex"), made)
        libs = sorted({os.path.dirname(os.path.dirname(p)) for p in self.cowboy()})
        env = dict(os.environ, MIX_ENV="prod", HOME=self.base, ERL_LIBS=":".join(libs))
        r = subprocess.run(["mix", "release", "--overwrite", "--path", out], cwd=made, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert r.returncode == 0, "mix release: exit %d: %s" % (r.returncode, r.stdout[-2000:])
        assert not glob.glob(os.path.join(out, "lib", "runtime_tools-*"))
        return ([os.path.join(out, "bin", "shopex"), "start"],
                {"HOME": self.base, "SHOPEX_PORT": str(self.port), "RELEASE_DISTRIBUTION": "sname", "RELEASE_NODE": self.short(),
                 "RELEASE_COOKIE": COOKIE, "ELIXIR_ERL_OPTIONS": "-noinput " + LOCAL, "ERL_CRASH_DUMP": "/dev/null"}, self.base)

    def version(self):
        mode = self.eval("code:get_mode()")
        assert mode == "embedded", mode
        return super().version()
