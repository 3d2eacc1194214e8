"""TLS between nodes (-proto_dist inet_tls): with and without a certificate of kprof-top, each failure as one sentence,
a reset in the middle, no secrets anywhere. The certificates are made here with the openssl command."""
import os
import re
import subprocess
import sys

import kp
from common import OTPS, attach, check_rows, clean, one_sentence, profile, tiers, workload_node

sys.path.insert(0, os.path.join(kp.ROOT, "tests", "chaos"))
from proxy import Proxy  # noqa: E402

PASSWORD = "kprof-test-password"
TIERS = ["request/1", "parse/1", "cache/1", "db/1", "account/1", "format/1"]
TIER = ["--batch", "-n", "1", "-d", "200ms", "-t", "workload:request/1"]
IN_VAIN = ["--batch", "-n", "1", "-t", "workload:request/1"]


class Pki:
    """Two authorities (ca, other) and certificates. They are among the beams, so that nodes in a chroot have them."""

    def __init__(self):
        self.name = "tls%d" % os.getpid()  # test files that run at the same time share the beams
        self.dir = os.path.join(kp.beams(), self.name)
        os.makedirs(self.dir, exist_ok=True)
        self.authority("ca")
        self.authority("other")
        self.cert("node", hosts="IP:127.0.0.1,DNS:127.0.0.1")
        self.cert("six", hosts="IP:::1")
        self.cert("elsewhere", hosts="DNS:db7.example.org")
        self.cert("ours", password=PASSWORD)
        self.cert("stranger", by="other")
        self.cert("expired", days=-1)
        self.cert("renewed", hosts="IP:127.0.0.1")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], check=True, cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def key(self, name, password=None):
        locked = ["-aes256", "-pass", "pass:" + password] if password else []
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", name + ".key", *locked)

    def authority(self, name):
        self.key(name)
        self.openssl("req", "-x509", "-new", "-key", name + ".key", "-subj", "/CN=kprof " + name, "-days", "9", "-out",
                     name + ".pem")

    def cert(self, name, hosts=None, by="ca", days=9, password=None):
        self.key(name, password)
        asks = ["-passin", "pass:" + password] if password else []
        self.openssl("req", "-new", "-key", name + ".key", "-subj", "/CN=kprof-" + name, "-out", name + ".csr", *asks)
        with open(self.path(name + ".ext"), "w") as f:
            f.write("basicConstraints=CA:FALSE\n" + ("subjectAltName=%s\n" % hosts if hosts else ""))
        self.sign(name, by, days)

    def sign(self, name, by="ca", days=9):
        """A new certificate for the same key."""
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", by + ".pem", "-CAkey", by + ".key", "-CAcreateserial",
                     "-days", str(days), "-extfile", name + ".ext", "-out", name + ".pem")

    def path(self, file):
        return os.path.join(self.dir, file)

    def optfile(self, otp, cert="node", asks=False, versions=None):
        """A file for -ssl_dist_optfile; returns its path for the node."""
        base = self.dir if otp not in (27, 29) else "/tmp/kprof-test-%d/%s" % (os.getpid(), self.name)
        server = ['{certfile,"%s/%s.pem"}' % (base, cert), '{keyfile,"%s/%s.key"}' % (base, cert),
                  '{cacertfile,"%s/ca.pem"}' % base, "{verify,%s}" % ("verify_peer" if asks else "verify_none"),
                  "{fail_if_no_peer_cert,%s}" % str(asks).lower()]
        client = ['{certfile,"%s/ours.pem"}' % self.dir, '{keyfile,"%s/ours.key"}' % self.dir,
                  '{password,"%s"}' % PASSWORD, '{cacertfile,"%s/ca.pem"}' % self.dir, "{verify,verify_peer}"]
        for options in (server, client):  # TLS 1.3 has no renegotiation, and the node refuses the option
            options.append("{versions,[%s]}" % ",".join("'tlsv1.%s'" % v for v in versions) if versions
                           else "{secure_renegotiate,true}")
        name = "dist_%s_%s_%s_%s.conf" % (otp, cert, asks, "_".join(versions or []))
        with open(self.path(name), "w") as f:
            f.write("[{server,[%s]},\n {client,[%s]}].\n" % (",\n  ".join(server), ",\n  ".join(client)))
        return self.path(name), os.path.join(base, name)


_pki = []


def pki():
    if not _pki:
        _pki.append(Pki())
    return _pki[0]


def tls_node(otp, optfile, proto="inet_tls", **kw):
    """optfile: from Pki.optfile. A node without ssl cannot be started."""
    if otp in (27, 29) and otp in kp.otp_versions():
        lib = os.path.join(kp.OTP_ROOTS, {27: "trixie", 29: "sid"}[otp], "usr/lib/erlang/lib")
        if not any(d.startswith("ssl-") for d in os.listdir(lib)):
            raise kp.Skip("OTP %s: its root has no ssl" % otp)
    return workload_node(otp, args=["-proto_dist", proto, "-ssl_dist_optfile", optfile[1]], **kw)


@kp.each(*OTPS)
def test_without_our_certificate(otp):
    """The defaults of OTP (TLS 1.2): every call is counted, nothing stays on the node."""
    p = pki()
    with tls_node(otp, p.optfile(otp)) as n:
        want, final, _ = profile(n, "counts(60,[create,read],1000)", TIERS, "--tls-ca",
                                 p.path("ca.pem"), rule="workload:request/1 arg(1)")
        check_rows(want, final)
        assert final["tls"] == "verified" and final["transport"] == "dist", final
        clean(n)


@kp.each(*OTPS)
def test_with_our_certificate(otp):
    """TLS 1.3, and the node's own file. No password in a recording or in a text."""
    p = pki()
    conf = p.optfile(otp, asks=True, versions=["3"])
    with tls_node(otp, conf) as n:
        record = os.path.join(kp.scratch(), "tls_%s.rec" % otp)
        want, final, k = profile(n, "counts(60,[create,read],1000)", TIERS, "--tls-optfile",
                                 conf[0], "--record", record, rule="workload:request/1 arg(1)")
        check_rows(want, final)
        clean(n)
        with open(record, "rb") as f:
            said = f.read().decode(errors="replace") + k.stdout + k.stderr
        assert PASSWORD not in said and "PRIVATE KEY" not in said and kp.COOKIE not in said
        # the same by options
        k = kp.Kp(*TIER, "--format", "json", "--tls-ca", p.path("ca.pem"), "--tls-cert", p.path("ours.pem"), "--tls-key",
                  p.path("ours.key"), n.name, env={"KPROF_TLS_PASSWORD": PASSWORD})
        with open("/proc/%d/cmdline" % k.proc.pid, "rb") as f:
            shown = f.read().decode()
        assert k.wait() == 0 and k.final()["tls"] == "verified", k.saw()
        assert PASSWORD not in shown + k.stdout + k.stderr and kp.COOKIE not in shown, shown
        # the failures of the same node
        one_sentence(kp.run(*IN_VAIN, "--tls-ca", p.path("ca.pem"), n.name), 1, n.name, "requires a certificate",
                     "--tls-cert")
        for cert, why in (("stranger", "the node does not know its CA"), ("expired", "it has expired")):
            k = kp.run(*IN_VAIN, "--tls-ca", p.path("ca.pem"), "--tls-cert", p.path(cert + ".pem"), "--tls-key",
                       p.path(cert + ".key"), n.name)
            one_sentence(k, 1, n.name, "rejected the certificate of kprof-top", why)
        one_sentence(kp.run(*IN_VAIN, "--tls-optfile", conf[0], n.name, cookie="wrong"), 1, n.name, "rejected the cookie")
        clean(n)


@kp.each(*OTPS)
def test_refused(otp):
    p = pki()
    with tls_node(otp, p.optfile(otp)) as n:
        def refused(args, *words):
            k = kp.run(*IN_VAIN, *args, n.name)
            one_sentence(k, 1, n.name, *words)
        refused(["--tls-ca", p.path("other.pem")], "not signed by a CA in", "other.pem", "--tls-ca")
        refused(["--tls"], "not signed by a CA that this machine trusts", "--tls-ca")
        refused([], "speaks TLS", "--tls-optfile")
        one_sentence(kp.run(*IN_VAIN, "--tls-ca", p.path("ca.pem"), n.name, cookie="wrong"), 1, "rejected the cookie")
        k = kp.run(*TIER, "--format", "json", "--tls-insecure", n.name)
        assert k.proc.returncode == 0 and k.final()["tls"] == "not verified", k.saw()
        assert "%s is not verified (--tls-insecure)" % n.name in k.stderr, k.saw()
        clean(n)


@kp.each(("elsewhere", "is for db7.example.org, not for 127.0.0.1"), ("expired", "its certificate expired on 20"))
def test_certificate_of_the_node(cert, why):
    p = pki()
    with tls_node(25, p.optfile(25, cert=cert)) as n:
        k = kp.run(*IN_VAIN, "--tls-ca", p.path("ca.pem"), n.name)
        one_sentence(k, 1, n.name, why)


def test_ipv6():
    """inet6_tls, with a literal address in the name."""
    if not os.path.exists("/proc/net/if_inet6"):
        raise kp.Skip("no IPv6 here")
    p = pki()
    with tls_node(25, p.optfile(25, cert="six"), proto="inet6_tls", v6=True, host="::1") as n:
        k = kp.run(*TIER, "--format", "json", "--tls-ca", p.path("ca.pem"), n.name)
        assert k.proc.returncode == 0 and k.final()["tls"] == "verified", k.saw()
        clean(n)


def test_wrong_usage():
    p = pki()
    with open(p.path("bad.conf"), "w") as f:
        f.write('[{client,[{password,"%s}]}].\n' % PASSWORD)
    one_sentence(kp.run(*IN_VAIN, "--tls-optfile", p.path("bad.conf"), "a@127.0.0.1"), 1, "bad.conf:1:21", "has no end")
    one_sentence(kp.run(*IN_VAIN, "--tls-ca", p.path("none.pem"), "a@127.0.0.1"), 1, "none.pem", "No such file")
    one_sentence(kp.run(*IN_VAIN, "--tls-key", p.path("ours.key"), "a@127.0.0.1"), 2, "--tls-cert")
    one_sentence(kp.run("--tls", "--replay", "x.rec"), 2, "--tls works only with a node")
    k = kp.run(*IN_VAIN, "--tls-cert", p.path("ours.pem"), "--tls-key", p.path("ours.key"), "a@127.0.0.1")
    one_sentence(k, 1, "is encrypted", "KPROF_TLS_PASSWORD")


def test_reset_and_reconnect():
    """A reset is a lost node; kprof-top connects again. Then the node can no longer be verified, or its certificate has
    expired: it stays lost, with the reason, until it has a valid one."""
    p = pki()
    ca = os.path.join(kp.scratch(), "changing.pem")

    def trust(name):
        with open(p.path(name)) as f, open(ca + ".new", "w") as out:
            out.write(f.read())
        os.rename(ca + ".new", ca)

    def renew(days):
        p.sign("renewed", days=days)
        n.eval("gen_server:call(ssl_pem_cache_dist, {unconditionally_clear_pem_cache, self()}, infinity)")
    trust("ca.pem")
    with tls_node(25, p.optfile(25, cert="renewed")) as n:
        n.eval("workload:load(2,5)")
        proxy = Proxy(n.port())
        kp.at_end(proxy.close)
        status = os.path.join(kp.scratch(), "status")  # tmux does not always report the exit status of a program that has ended
        t = kp.Tmux(200, 30, command=["sh", "-c", '"$0" "$@"; echo $? >%s' % status, kp.PROGRAM, "--tls-ca", ca, "--connect",
                                      "127.0.0.1:%d" % proxy.port, "-t", "workload:request/1", n.name])
        rows = re.compile(r"^\W*request\b.*[1-9]", re.M)
        t.wait_for(rows, 30)
        proxy.cut()
        t.wait_for("gap")
        t.wait_for(rows, 30)
        t.wait_for("CONNECTION LOST", gone=True)
        trust("other.pem")
        proxy.cut()
        t.wait_for(re.compile("CONNECTION LOST.*not signed by a CA"), 30)
        renew(-1)
        trust("ca.pem")
        t.wait_for(re.compile("CONNECTION LOST.*its certificate expired on 20"), 30)
        renew(9)
        t.wait_for("CONNECTION LOST", 60, gone=True)
        t.wait_for(rows, 30)
        t.keys("q")
        kp.until(20, lambda: os.path.exists(status) and os.path.getsize(status), what=t.screen)
        with open(status) as f:
            assert f.read().strip() == "0", t.screen()
        clean(n)


def test_the_vm_is_killed():
    """While kprof-top is attached: one sentence, exit status 1, and a summary of what was seen."""
    p = pki()
    with tls_node(25, p.optfile(25)) as n:
        k = attach(n, *tiers("request/1"), "--tls-ca", p.path("ca.pem"))
        k.tracing()
        n.eval("workload:counts(5,[read],1000)")
        k.wait_json(30, lambda r: kp.count(r, "request") == 5)
        n.kill()
        k.wait()
        assert k.proc.returncode == 1 and kp.count(k.final(), "request") == 5, k.saw()
        assert "lost %s: it closed the connection; the node has stopped" % n.name in k.stderr, k.saw()


def test_long_stream():
    """Many calls, in large records; none is lost."""
    p = pki()
    conf = p.optfile(25, asks=True, versions=["2", "3"])
    with tls_node(25, conf) as n:
        want, final, _ = profile(n, "counts(1500,[create,read],1000)", TIERS,
                                 "--tls-optfile", conf[0], rule="workload:request/1 arg(1)")
        check_rows(want, final)
        clean(n)


def test_a_local_node_is_picked_from_the_list():
    """Without a node and without options of TLS: the file of the node's own command line is used. No secret stays."""
    conf = pki().optfile(25, asks=True)
    state = os.path.join(kp.scratch(), "tls-state")
    with tls_node(25, conf) as n:
        t = kp.Tmux(100, 24, env={"XDG_STATE_HOME": state})
        t.wait_for("sh>")
        t.keys(kp.PROGRAM + "; echo status=$?", "Enter")
        t.wait_for(re.compile(r"^%s +runs here with TLS" % re.escape(n.name), re.M))
        t.keys(n.name, "Enter")
        t.wait_for("Presets found here: none", 30)
        t.keys("q")
        t.wait_for(re.compile(r"^status=0", re.M))
        clean(n)
    kept = ""
    for d, _, files in os.walk(state):
        for file in files:
            with open(os.path.join(d, file)) as f:
                kept += f.read()
    assert n.name in kept and PASSWORD not in kept and kp.COOKIE not in kept and "PRIVATE KEY" not in kept, kept
