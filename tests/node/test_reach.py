"""Every way to a node, and what each failure says: one sentence, no secret."""
import os
import socket
import threading

import kp
from common import attach, clean, one_sentence, tiers, workload_node

TIER = ["--batch", "-n", "1", "-d", "200ms", "-t", "workload:request/1"]
NO_EPMD = {"ERL_EPMD_PORT": "1"}  # nothing listens there


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def works(node, *args, to=None, **kw):
    """Attaches, reports once, and leaves nothing. to: what is given as the node; "": nothing."""
    k = kp.run(*TIER, *args, *([node.name] if to is None else [to] if to else []), **kw)
    assert k.proc.returncode == 0, k.saw()
    assert "0 patterns, 0 flags, 0 processes, 0 modules" in k.stderr, k.saw()
    clean(node)
    return k


SECRET = "kp-secret-cookie"


def begins(*args, **kw):
    return kp.Kp(*TIER, *args, cookie=SECRET, **kw)


def failed(k, *words):
    """Waits for the one sentence, and returns it."""
    k.wait()
    one_sentence(k, 1, *words)
    assert SECRET not in k.stdout + k.stderr, k.saw()
    return k.stderr


def fails(*args, words=(), **kw):
    return failed(begins(*args, **kw), *words)


def need_v6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
    except OSError:
        raise kp.Skip("no IPv6 here") from None


class Server:
    """A listener on 127.0.0.1 that runs `talk` for each connection."""

    def __init__(self, talk):
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(8)
        self.port = self.sock.getsockname()[1]
        self.held = []
        threading.Thread(target=self._serve, args=(talk,), daemon=True).start()

    def _serve(self, talk):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            self.held.append(c)
            threading.Thread(target=talk, args=(c,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        for c in self.held:
            c.close()


def forward(port):
    """As `kubectl port-forward` does."""
    def copy(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def talk(c):
        with socket.create_connection(("127.0.0.1", port)) as far:
            back = threading.Thread(target=copy, args=(far, c), daemon=True)
            back.start()
            copy(c, far)
            back.join()
    return Server(talk)


# ---- ways in ----

def test_address_apart_from_the_name():
    """A forwarded port, a name whose host cannot be resolved, no epmd: long and short names, a literal and a name."""
    long_name = kp.Node(25, host="app.no-such-host.invalid")
    short_name = kp.Node(25, short=True, host="no-such-host", name="kpt_reach_%d" % os.getpid())
    for n in (long_name, short_name):
        n.eval("workload:start()")
        with forward(n.port()) as way:
            works(n, "--connect", "127.0.0.1:%d" % way.port, env=NO_EPMD)
            works(n, "--connect", "localhost:%d" % way.port, env=NO_EPMD)
        n.kill()


@kp.each(25, 29)
def test_ipv6(otp):
    """-proto_dist inet6_tcp, only on ::1: with a literal in the name (epmd, port, address), and with short names, whose
    host has an IPv4 address, too."""
    need_v6()
    with workload_node(otp, v6=True, host="::1") as n:
        works(n)
        works(n, to="%s@[::1]:%d" % (n.name.split("@")[0], n.port()), env=NO_EPMD)
        works(n, "--connect", "[::1]:%d" % n.port(), env=NO_EPMD)
    with workload_node(otp, v6=True, short=True) as n:
        works(n)
        fails(n.name, words=["rejected the cookie from KPROF_COOKIE"])


def test_without_epmd():
    """-start_epmd false -erl_epmd_port: the port of ERL_DIST_PORT, of the options of the VM, or after the name."""
    port = free_port()
    with kp.Node(25, fixed_port=port) as n:
        n.eval("workload:start()")
        for args in ({"ERL_DIST_PORT": str(port)}, {"ERL_AFLAGS": "-start_epmd false -erl_epmd_port %d" % port}):
            works(n, env=dict(NO_EPMD, **args))
        works(n, to="%s:%d" % (n.name, port), env=dict(NO_EPMD, ERL_DIST_PORT="1"))


def test_release():
    """As bin/app remote: node, kind of names and cookie from the environment; variables of kprof-top come first."""
    with workload_node(25, short=True, name="kpt_release_%d" % os.getpid(), cookie="release-cookie") as n:
        alone = n.name.split("@")[0]
        release = {"RELEASE_NODE": alone, "RELEASE_COOKIE": "release-cookie", "RELEASE_DISTRIBUTION": "sname"}
        k = works(n, to="", cookie=None, env=release)
        assert "kprof-top: node %s, from RELEASE_NODE\n" % n.name in k.stderr, k.saw()
        root = os.path.join(kp.scratch(), "rel")
        os.makedirs(os.path.join(root, "releases"))
        with open(os.path.join(root, "releases", "COOKIE"), "w") as f:
            f.write("release-cookie")
        k = works(n, to="", cookie=None, env={"RELEASE_NAME": alone, "RELEASE_ROOT": root})
        assert "from RELEASE_NAME" in k.stderr, k.saw()
        k = works(n, to="", cookie="release-cookie",
                  env=dict(release, RELEASE_COOKIE="wrong", RELEASE_NODE="other", KPROF_NODE=n.name))
        assert "from KPROF_NODE" in k.stderr, k.saw()
        k = works(n, cookie=None, env=dict(release, RELEASE_NODE="other"))  # an argument comes first
        assert "from" not in k.stderr.split("detached")[0], k.saw()


# ---- what fails ----

def test_wrong_name_at_the_right_port():
    """The cookie is not used for a node with another name; the error message says what to write."""
    with workload_node(25) as n:
        other = "other@" + n.host
        said = fails(other, "--connect", "127.0.0.1:%d" % n.port(), words=["is %s;" % n.name], env=NO_EPMD)
        to = said.split("write ")[1].split()
        assert to == [n.name, "--connect", "127.0.0.1:%d" % n.port()], said
        works(n, *to[1:])
        fails("%s@vm:%d" % (n.name.split("@")[0], n.port()), words=["with long names (-name)"], env=NO_EPMD)
        fails("%s:%d" % (n.name, n.port()), words=["rejected the cookie from KPROF_COOKIE"], env=NO_EPMD)


def test_not_allowed():
    with workload_node(25) as n:
        n.eval("net_kernel:allow(['kp_allowed@127.0.0.1'])")
        said = fails(n.name, words=["does not allow", "net_kernel:allow/1", "--name"])
        us = said.split("does not allow ")[1].split(":")[0]
        works(n, "--name", "kp_allowed") if us.endswith("@127.0.0.1") else None


def test_name_in_use():
    with workload_node(25) as n:
        first = attach(n, *tiers("request/1"), "--name", "kp_twice")
        first.tracing()
        k = kp.run(*TIER, "--name", "kp_twice", n.name)
        one_sentence(k, 1, "already has a connection from kp_twice@", "--name")
        n.eval("workload:counts(5,[read],1000)")
        assert first.interrupt() == 0, first.saw()
        assert kp.count(first.final(), "request") == 5, first.final()
        clean(n)


def test_tls_is_told_from_plain():
    """A node with TLS closes a plain connection without sending anything; a second connection finds out why."""
    if kp.subprocess.run(["openssl", "version"], stdout=kp.subprocess.DEVNULL).returncode != 0:
        raise kp.Skip("no openssl here")
    pem = os.path.join(kp.scratch(), "reach.pem")
    kp.subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                       "-keyout", pem, "-out", pem + ".crt"], check=True, stderr=kp.subprocess.DEVNULL)
    with open(pem, "a") as both, open(pem + ".crt") as crt:
        both.write(crt.read())
    with kp.Node(25, args=["-proto_dist", "inet_tls", "-ssl_dist_opt", "server_certfile", pem]) as n:
        fails(n.name, words=["TLS"])
        fails("app@x", "--connect", "127.0.0.1:%d" % n.port(), words=["TLS"])


def test_wrong_usage():
    for args in (["--connect", "127.0.0.1", "a@b"], ["--connect", "::1:9100", "a@b"], ["--connect", "h:0", "a@b"],
                 ["--connect", "", "a@b"], ["a@[::1"], ["a@b:c:d"]):
        one_sentence(kp.run(*TIER, *args), 2, args[1] if args[0] == "--connect" else args[0])
    for args in ({"RELEASE_NODE": "a b"}, {"RELEASE_NODE": "a", "RELEASE_DISTRIBUTION": "none"}):
        one_sentence(kp.run(*TIER, env=args), 2, "RELEASE_NODE")
