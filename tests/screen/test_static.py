"""The static program (make static), alone in an empty root, attaches to a node and draws in a real terminal."""
import os
import re
import shutil

import kp
from common import options

PROGRAM = os.path.join(kp.ROOT, "build", "kprof-top-static")
HOSTS = "127.0.0.1 localhost thenode.test\n"
# The services in the nsswitch.conf of a desktop are shared libraries, which must not be loaded.
ROOTS = {
    "empty": {"etc/hosts": HOSTS},
    "desktop": {"etc/hosts": HOSTS,
                "etc/nsswitch.conf": "hosts: mymachines mdns4_minimal [NOTFOUND=return] resolve\npasswd: sss\n"},
    # of Alpine: musl, and no nsswitch.conf
    "musl": {"etc/hosts": HOSTS, "etc/alpine-release": "3.20.0\n", "etc/resolv.conf": "nameserver 127.0.0.1\n",
             "etc/passwd": "nobody:x:65534:65534:nobody:/:/sbin/nologin\n"},
    "distroless": {"etc/hosts": HOSTS, "etc/nsswitch.conf": "hosts: files dns\n", "etc/resolv.conf": "nameserver 127.0.0.1\n",
                   "etc/passwd": "nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n"},
}


def make_root(files):
    """A directory with the program and files, which nobody may write to."""
    if os.geteuid() != 0:
        raise kp.Skip("chroot needs root")
    root = os.path.join(kp.scratch(), "root%d" % len(os.listdir(kp.scratch())))
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w") as f:
            f.write(text)
    shutil.copy(PROGRAM, os.path.join(root, "kprof-top"))
    return root


def everything_in(root):
    return sorted(os.path.relpath(os.path.join(d, f), root) for d, _, files in os.walk(root) for f in files)


@kp.each(("xterm-256color", "empty"), ("screen-256color", "desktop"), ("tmux", "empty"), ("linux", "distroless"),
         ("vt100", "musl"))
def test_draws_in_an_empty_root(term, kind):
    """Without terminfo files, HOME or a shell, as user nobody. The name of the host is only in the root's /etc/hosts."""
    node = kp.Node(25)
    node.eval("workload:start()")
    node.eval("workload:load(4,5)")
    root = make_root(ROOTS[kind])
    t = kp.Tmux(80, 24, term=term)
    t.wait_for("sh>")
    t.keys(kp.shlex.join([
        "env", "-i", "KPROF_COOKIE=" + kp.COOKIE, "TERM=" + term, "/usr/sbin/chroot", "--userspec=65534:65534", root,
        "/kprof-top", *options(), "--connect", "thenode.test:%d" % node.port(), node.name]) + "; echo status=$?", "Enter")
    t.wait_for(re.compile(r"^\W*request\b.*[1-9]", re.M), 30)
    t.keys("q")
    screen = t.wait_for(re.compile(r"^status=\d", re.M))
    assert "\nstatus=0" in screen and "0 modules; no trace tokens left" in screen, screen
    kp.until(3, lambda: node.left_behind() == "", what=lambda: node.left_behind())
    assert everything_in(root) == sorted([*ROOTS[kind], "kprof-top"]), everything_in(root)
