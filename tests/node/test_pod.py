"""As in Kubernetes: the node is in a network namespace of its own, without epmd and without name resolution. kprof-top,
alone on a read-only root as user nobody in another namespace, reaches it only by a forwarded port."""
import os
import shutil
import subprocess
import sys
import tempfile

import kp
from common import clean, one_sentence, tiers

PROGRAM = os.path.join(kp.ROOT, "build", "kprof-top-static")
PORT = 9100
TIERS = tiers("request/1", "db/1")


def netns(name, only_v6):
    """A network namespace with only a loopback device."""
    name = "kp%d%s" % (os.getpid(), name)
    subprocess.run(["ip", "netns", "add", name], check=True)
    kp.at_end(lambda: subprocess.run(["ip", "netns", "del", name]))
    subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
    if only_v6:
        subprocess.run(["ip", "-n", name, "address", "del", "127.0.0.1/8", "dev", "lo"], check=True)
    return name


class PodNode(kp.Node):
    """A node in a network namespace, without epmd. Its name can be resolved nowhere."""

    def __init__(self, ns, only_v6):
        self.otp, self.cookie, self.dump = 25, kp.COOKIE, None
        self.name = "shop@shop-0.shop.prod.svc.cluster.local"
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}
        self._run(["ip", "netns", "exec", ns, "erl", "-noshell", "-pa", kp.beams(), "-name", self.name, "-setcookie",
                   self.cookie, "-start_epmd", "false", "-erl_epmd_port", str(PORT), "-connect_all", "false",
                   *(["-proto_dist", "inet6_tcp"] if only_v6 else []), "-s", "kp_target"],
                  dict(env, ERL_CRASH_DUMP="/dev/null"))
        self._take(30)

    def registered(self):  # there is no epmd
        return False


def helper(program, *args):
    """Starts a program of tests/lib; returns its first line."""
    p = subprocess.Popen([sys.executable, os.path.join(kp.ROOT, "tests", "lib", program), *args], stdout=subprocess.PIPE,
                         text=True)
    kp.at_end(lambda: kp.kill_pid(p))
    return p.stdout.readline().strip()


class Pod:
    """The node under load, a port forwarded to it, and how kprof-top is run."""

    def __init__(self, only_v6):
        if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
            raise kp.Skip("network namespaces need root, ip and unshare")
        try:
            self.near, self.far = netns("near", only_v6), netns("far", only_v6)
        except subprocess.CalledProcessError as e:
            raise kp.Skip("network namespaces cannot be made here: %s" % e) from None
        self.node = PodNode(self.far, only_v6)
        self.node.eval("workload:start()")
        self.node.eval("workload:load(4,5)")
        here = "::1" if only_v6 else "127.0.0.1"
        port = int(helper("forward.py", self.near, here, self.far, here, str(PORT)))
        self.connect = "[::1]:%d" % port if only_v6 else "127.0.0.1:%d" % port
        self.root = tempfile.mkdtemp(dir=kp.scratch())
        os.chmod(self.root, 0o755)
        shutil.copy(PROGRAM, os.path.join(self.root, "kprof-top"))

    def top(self, *args):
        """kprof-top with nothing in its environment but the cookie, not even HOME."""
        script = ("mount --bind {0} {0} && mount -o remount,bind,ro {0} && exec env -i KPROF_COOKIE=$KPROF_COOKIE "
                  "/usr/sbin/chroot --userspec=65534:65534 {0} /kprof-top {1}").format(self.root, kp.shlex.join(args))
        return kp.Kp("netns", "exec", self.near, "unshare", "-m", "sh", "-c", script, program="ip")


@kp.each(False, True)
def test_a_forwarded_port(only_v6):
    pod = Pod(only_v6)
    k = pod.top("-b", "--format", "json", "-d", "200ms", *TIERS, "--connect", pod.connect, pod.node.name)
    k.tracing()
    k.wait_json(30, lambda r: kp.count(r, "request") > 50)
    assert k.interrupt() == 0, k.saw()
    kp.conserves(k.final())
    assert "detached from %s; left there: 0 patterns, 0 flags, 0 processes, 0 modules" % pod.node.name in k.stderr, k.saw()
    clean(pod.node)
    assert os.listdir(pod.root) == ["kprof-top"], os.listdir(pod.root)
    # A file that cannot be written is an error before anything is attached.
    k = pod.top("-b", *TIERS, "--record", "/run.rec", "--connect", pod.connect, pod.node.name)
    k.wait()
    one_sentence(k, 1, "/run.rec", "Read-only file system")
    # Without --connect there is no way: the sentence says what is missing, and how to forward a port.
    k = pod.top("-b", *TIERS, pod.node.name)
    k.wait()
    assert k.proc.returncode == 1 and "shop-0.shop.prod.svc.cluster.local' is unknown" in k.stderr, k.saw()
    assert "kubectl -n prod port-forward pod/shop-0 PORT:PORT; then: kprof-top --connect 127.0.0.1:PORT " in k.stderr, k.saw()


@kp.each(False, True)
def test_names_from_dns(only_v6):
    """A static program finds hosts (A, AAAA) by the name server of /etc/resolv.conf, without a shared library."""
    pod = Pod(only_v6)
    here = "::1" if only_v6 else "127.0.0.1"
    os.mkdir(os.path.join(pod.root, "etc"))
    with open(os.path.join(pod.root, "etc", "resolv.conf"), "w") as f:
        f.write("nameserver %s\n" % here)
    assert helper("dns.py", pod.near, here, "forward.test", here) == "ready"
    port = pod.connect.rsplit(":", 1)[1]
    k = pod.top("-b", "--format", "json", "-n", "1", "-d", "200ms", *TIERS, "--connect", "forward.test:" + port, pod.node.name)
    assert k.wait() == 0, k.saw()
    clean(pod.node)
    k = pod.top("-b", *TIERS, "--connect", "other.test:" + port, pod.node.name)
    k.wait()
    one_sentence(k, 1, "'other.test' is unknown")
