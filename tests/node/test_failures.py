"""Every way to fail to attach: a table. Each failure is one sentence that says what is wrong and what to do, with exit
status 1, and without a secret. All of them run at the same time: the slowest take as long as an attempt may take."""
import os
import socket
import ssl
import struct

import kp
from common import clean, one_sentence, workload_node
from test_reach import Server, free_port, need_v6
from test_tls import PASSWORD, pki, tls_node

RUN = ["--batch", "-n", "1", "-d", "200ms", "-t", "workload:request/1"]
SECRET = "kp-secret-cookie"
NO_EPMD = {"ERL_EPMD_PORT": "1"}  # nothing listens there


class Case:
    """args after RUN; words of the sentence. hint: a second line tells how to forward a port."""

    def __init__(self, args, words, env=None, cookie=SECRET, hint=False):
        self.args, self.words, self.hint = args, words, hint
        self.k = kp.Kp(*RUN, *args, env=env, cookie=cookie)

    def check(self):
        self.k.wait()
        lines = self.k.stderr.splitlines(keepends=True)
        if self.hint and len(lines) == 2:
            assert lines.pop().startswith("kprof-top: forward a port to it: "), self.k.saw()
            self.k._err = lines
        one_sentence(self.k, 1, *self.words)
        said = self.k.stdout + self.k.stderr
        for secret in (SECRET, kp.COOKIE, PASSWORD, "PRIVATE KEY"):
            assert secret not in said, self.k.saw()


def check_all(cases):
    wrong = []
    for c in cases:
        try:
            c.check()
        except AssertionError as e:
            wrong.append("%s: %s" % (" ".join(c.args), e))
    assert not wrong, "%d of %d:\n%s" % (len(wrong), len(cases), "\n".join(wrong))


def says(bytes_):
    """A server that sends this when a byte has come, and closes."""
    def talk(c):
        c.recv(1)
        c.sendall(bytes_)
        try:
            c.shutdown(socket.SHUT_WR)
            while c.recv(4096):
                pass
        except OSError:  # it has closed already
            pass
    return Server(talk)


def silent():
    return Server(lambda c: c.recv(1))


def resets(c):
    c.recv(1)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.close()


class Epmd(Server):
    """Answers for any name: this port, this highest version of the protocol, these names."""

    def __init__(self, port=None, highest=6, names=()):
        def talk(c):
            asked = c.recv(500)
            if asked[2:3] == b"z" and port:
                c.sendall(b"w\0" + struct.pack(">HBBHHH", port, 77, 0, highest, 5, 1) + b"a\0\0")
            elif asked[2:3] == b"z":
                c.sendall(b"w\1")
            else:
                c.sendall(b"\0\0\x11\x11" + b"".join(b"name %s at port 9\n" % n.encode() for n in names))
            c.shutdown(socket.SHUT_WR)
        super().__init__(talk)

    def env(self):
        return {"ERL_EPMD_PORT": str(self.port)}


class Full:
    """A port that drops each attempt to connect, as a firewall does: its queue is full. None: not possible here."""

    def __init__(self):
        self.held = []
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        for _ in range(20):
            s = socket.socket()
            s.settimeout(0.5)
            self.held.append(s)
            try:
                s.connect(("127.0.0.1", self.port))
            except OSError:
                return
        self.port = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for s in [self.listener, *self.held]:
            s.close()


def at(port, name="app@127.0.0.1"):
    return ["--connect", "127.0.0.1:%d" % port, name]


def test_host_port_and_epmd():
    """No node is there."""
    kp.epmd()
    nowhere = free_port()
    nothing = "nothing listens on port %d" % nowhere
    names = ["worker%d" % i for i in range(40)] + ["shop"]
    with silent() as quiet, Server(lambda c: c.shutdown(socket.SHUT_RDWR)) as closes, Server(resets) as reset, \
            says(b"HTTP/1.1 400 Bad Request\r\n\r\n") as web, says(b"SSH-2.0-OpenSSH_9.2\r\n") as ssh, Full() as full, \
            Epmd(names=names) as many, Epmd() as none, Epmd(port=nowhere) as stale, Epmd(port=9, highest=5) as old:
        cases = [
            # the name of the host
            Case(["app@no-such-host.invalid"], ["host 'no-such-host.invalid' is unknown", "/etc/hosts", "--connect"], hint=True),
            Case(["app@no-such-host.invalid:9100"], ["host 'no-such-host.invalid' is unknown"], hint=True),
            Case(["--connect", "no-such-host.invalid:9100", "app@vm"], ["host 'no-such-host.invalid' is unknown"]),
            # the name of the node
            Case(["shpo@127.0.0.1"], ["no node 'shpo' on 127.0.0.1", "its epmd has: shop, worker"], env=many.env()),
            Case(["shop@127.0.0.1"], ["no node is registered in its epmd", "-sname or -name", "name@host:PORT"], env=none.env()),
            # epmd
            Case(["app@127.0.0.1"], ["no epmd answers on port 1 of 127.0.0.1", "name@host:PORT or --connect"], env=NO_EPMD),
            Case(["app@127.0.0.1"], ["no epmd answers on port %d" % quiet.port, "timed out"], env={"ERL_EPMD_PORT": str(quiet.port)}),
            Case(["app@127.0.0.1"], ["port %d of 127.0.0.1" % web.port, "is not epmd", "ERL_EPMD_PORT"], env={"ERL_EPMD_PORT": str(web.port)}),
            Case(["app@127.0.0.1"], [nothing, "from epmd", "has just ended", "--connect"], env=stale.env()),
            Case(["app@127.0.0.1"], ["its OTP is older than 23", "OTP 24.3 or later"], env=old.env()),
            # the port
            Case(at(nowhere, "app@vm"), [nothing, "--connect", "port-forward"]),
            Case(["app@127.0.0.1:%d" % nowhere], [nothing, "check the port"]),
            Case(["app@127.0.0.1"], [nothing, "from ERL_DIST_PORT"], env={"ERL_DIST_PORT": str(nowhere)}),
            Case(["app@127.0.0.1"], [nothing, "from ERL_FLAGS"], env={"ERL_FLAGS": "-erl_epmd_port %d" % nowhere}),
            # something else is at the port
            Case(at(quiet.port), ["sent nothing within", "suspended", "not the distribution port"]),
            Case(at(closes.port), ["closed the connection during the handshake", "port-forward"]),
            Case(at(reset.port), ["closed the connection during the handshake"]),
            Case(at(web.port), ["is an HTTP server", "epmd -names"]),
            Case(at(ssh.port), ["is an SSH server"]),
            Case(at(4369), ["is epmd, not a node"]),
            # TLS was given, and something else is at the port
            Case(at(quiet.port) + ["--tls"], ["over TLS", "does not answer the TLS handshake", "without --tls"]),
            Case(at(closes.port) + ["--tls"], ["over TLS", "closed the connection during the TLS handshake"]),
            Case(at(reset.port) + ["--tls"], ["over TLS", "closed the connection during the TLS handshake"]),
            Case(at(web.port) + ["--tls"], ["over TLS", "its answer is not TLS", "without --tls"]),
        ]
        if full.port:
            cases.append(Case(at(full.port), ["did not answer within", "firewall", "port-forward"]))
        check_all(cases)


def test_ipv6_has_nothing():
    need_v6()
    nowhere = free_port()
    check_all([
        Case(["app@::1", "--connect", "[::1]:%d" % nowhere], ["nothing listens on port %d of ::1" % nowhere]),
        Case(["app@[::1]:%d" % nowhere], ["nothing listens on port %d of ::1" % nowhere, "check the port"]),
    ])


def test_a_node_that_refuses():
    """A wrong name, a wrong cookie, and --tls for a node without TLS."""
    with workload_node(25) as n:
        alone, to = n.name.split("@")[0], ["--connect", "127.0.0.1:%d" % n.port()]
        file = os.path.join(kp.scratch(), "wrong-cookie")
        with open(file, "w") as f:
            f.write(SECRET)
        right = "%s; write %s --connect 127.0.0.1:%d" % (n.name, n.name, n.port())
        cases = [
            Case(["kp_no_such_node@127.0.0.1"], ["no node 'kp_no_such_node' on 127.0.0.1", "its epmd has: ", alone]),
            Case([*to, "other@" + n.host], ["is " + right]),
            Case([*to, alone + "@vm"], ["is %s, with long names (-name); write" % n.name]),
            Case([n.name], ["rejected the cookie from KPROF_COOKIE"]),
            Case([n.name, "--setcookie", SECRET], ["rejected the cookie from --setcookie"], cookie=None),
            Case([n.name, "--cookie-file", file], ["rejected the cookie from " + file], cookie=None),
            Case([n.name], ["rejected the cookie from RELEASE_COOKIE"], cookie=None, env={"RELEASE_COOKIE": SECRET}),
            Case([n.name, "--tls"], ["over TLS", "without --tls"]),
        ]
        check_all(cases)
        clean(n)


def tls_server(cert, version=None):
    """Does the TLS handshake, then closes the connection when the first byte arrives."""
    p = pki()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(p.path(cert + ".pem"), p.path(cert + ".key"))
    if version:
        context.minimum_version = context.maximum_version = version

    def talk(c):
        try:
            with context.wrap_socket(c, server_side=True) as s:
                s.recv(1)
        except OSError:
            pass
    return Server(talk)


def test_tls():
    """Failures of TLS that do not depend on the OTP release; test_tls has the others."""
    p = pki()
    ca = ["--tls-ca", p.path("ca.pem")]
    with open(p.path("text.pem"), "w") as f:
        f.write("no certificate\n")
    with tls_server("node") as closes, tls_server("expired") as expired, tls_server("elsewhere") as elsewhere, \
            tls_server("node", ssl.TLSVersion.TLSv1_3) as new, tls_node(25, p.optfile(25)) as n:
        with open(p.path("only12.conf"), "w") as f:
            f.write("[{client,[{versions,['tlsv1.2']}]}].\n")
        cases = [
            Case([n.name], ["speaks TLS", "--tls-optfile", "-ssl_dist_optfile"]),
            Case([n.name, "--tls"], ["not signed by a CA that this machine trusts", "--tls-ca"]),
            Case([n.name, "--tls-ca", p.path("other.pem")], ["not signed by a CA in " + p.path("other.pem"), "--tls-ca"]),
            Case([n.name, *ca], ["rejected the cookie from KPROF_COOKIE"]),
            Case(["--connect", "127.0.0.1:%d" % n.port(), "app@db7.example.org", *ca],
                 ["its certificate is for 127.0.0.1", "not for db7.example.org"]),
            Case(["--connect", "127.0.0.1:%d" % n.port(), "other@127.0.0.1", *ca], ["is %s; write %s" % (n.name, n.name)]),
            Case(at(expired.port) + ca, ["its certificate expired on 20", "needs a new one"]),
            Case(at(elsewhere.port) + ca, ["its certificate is for db7.example.org, not for 127.0.0.1"]),
            Case(at(closes.port) + ca, ["closed the connection after the TLS handshake"]),
            Case(at(new.port) + ca + ["--tls-optfile", p.path("only12.conf")], ["no version of TLS in common", "--tls-optfile"]),
            # before anything is sent
            Case([n.name, "--tls-ca", p.path("none.pem")], ["none.pem", "No such file"]),
            Case([n.name, "--tls-ca", p.path("text.pem")], ["text.pem has no usable certificate"]),
            Case([n.name, *ca, "--tls-cert", p.path("ours.pem"), "--tls-key", p.path("ours.key")],
                 ["is encrypted, and there is no password", "KPROF_TLS_PASSWORD"]),
            Case([n.name, *ca, "--tls-cert", p.path("ours.pem"), "--tls-key", p.path("ours.key")],
                 ["is encrypted, and the password is wrong"], env={"KPROF_TLS_PASSWORD": SECRET}),
            Case([n.name, *ca, "--tls-cert", p.path("node.pem"), "--tls-key", p.path("expired.key")],
                 ["is not the key of the certificate"]),
        ]
        check_all(cases)
        clean(n)


def test_a_full_table_of_atoms():
    """Attaching needs new atoms; if there is no room, it would end the VM."""
    with workload_node(25, args=("+t", "20000")) as n:
        n.eval("[list_to_atom(\"room_\" ++ integer_to_list(I)) || I <- lists:seq(1, 20000 - erlang:system_info(atom_count) - 500)]")
        k = kp.run("--batch", "-n", "1", "-t", "workload:request/1", n.name)
        assert k.proc.returncode == 1 and "table of atoms is almost full" in k.stderr, k.saw()
        assert int(n.eval("erlang:system_info(atom_count)")) < 19700
        clean(n)
