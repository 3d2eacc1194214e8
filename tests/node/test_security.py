"""Protection of the cookie, files, sockets and arguments."""
import os
import re
import tempfile

import kp
from common import attach, clean, workload_node

SECRET = "kpVerySecretCookie47"
ARGUMENT = "kp-argument-of-a-call"


def sockets(pid, state):
    """The sockets of a process in this state (hex), from /proc."""
    own = set()
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            m = re.match(r"socket:\[(\d+)\]", os.readlink("/proc/%d/fd/%s" % (pid, fd)))
        except OSError:
            continue
        if m:
            own.add(m.group(1))
    found = []
    for name in ("tcp", "tcp6", "udp", "udp6"):
        with open("/proc/%d/net/%s" % (pid, name)) as f:
            found += [x.split()[1] for x in f.readlines()[1:] if x.split()[9] in own and x.split()[3] == state]
    return found


def test_nothing_tells_the_cookie_or_an_argument():
    where = tempfile.mkdtemp(dir=kp.scratch())
    path = {x: os.path.join(where, x) for x in ("rec", "out", "slow")}
    with open(path["out"], "w") as f:
        f.write("of before")
    os.chmod(path["out"], 0o644)
    with workload_node(25, cookie=SECRET) as n:
        k = attach(n, "-t", "base=string:casefold/1", "--returns", "full", "--slow", "1ns", "--slow-log", path["slow"],
                   "--record", path["rec"], "-o", path["out"], cookie=SECRET)
        seen = kp.until(20, lambda: os.path.getsize(path["out"]) > 200 and b'"tracing":true' in open(path["out"], "rb").read(),
                        what=k.saw)
        assert seen
        n.eval('[string:casefold("%s") || _ <- lists:seq(1, 50)]' % ARGUMENT)
        assert sockets(k.proc.pid, "0A") == [], "nothing listens"
        assert sockets(k.proc.pid, "01") != [], "this method finds sockets"
        with open("/proc/%d/cmdline" % k.proc.pid, "rb") as f:
            shown = f.read()
        assert k.interrupt() == 0, k.saw()
        clean(n)
        wrong = kp.run("--batch", "-n", "1", "-t", "workload:request/1", n.name, cookie="kpNotTheOne")
        assert wrong.proc.returncode == 1 and "cookie" in wrong.stderr, wrong.saw()
    said = {"stdout": k.stdout.encode(), "stderr": k.stderr.encode(), "cmdline": shown,
            "wrong cookie": (wrong.stdout + wrong.stderr).encode()}
    for name, p in path.items():
        assert os.stat(p).st_mode & 0o077 == 0, "%s is for its owner only: %o" % (p, os.stat(p).st_mode)
        with open(p, "rb") as f:
            said[name] = f.read()
    assert b"base" in said["rec"] and b'"count":50' in said["out"], said["out"][-2000:]
    for place, what in said.items():
        for secret in (SECRET, "kpNotTheOne", ARGUMENT):
            assert secret.encode() not in what, "%s in %s: %s" % (secret, place, what[-2000:])
