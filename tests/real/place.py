"""Where a server runs: on this machine, with its packages and its OTP (25), or in a Debian root in build/real
(trixie: OTP 27, sid: OTP 29; KPROF_REAL_ROOTS: another directory). Both need root and the network; otherwise kp.Skip
is raised. No package starts a daemon: policy-rc.d exits with 101 while packages are installed, and in a root packages
are only extracted. A root shares network, epmd and pids with this machine, so a node in a root is queried and stopped
like a node here.
"""
import contextlib
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "lib")]
import kp  # noqa: E402

ROOTS = os.environ.get("KPROF_REAL_ROOTS", os.path.join(kp.ROOT, "build", "real"))
SUITES = {27: "trixie", 29: "sid"}
POLICY = "/usr/sbin/policy-rc.d"
HOST_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# Programs for scripts that start servers. Packages are extracted without the dependencies that only their
# configuration needs.
BASE = ["base-files", "base-passwd", "dash", "coreutils", "sed", "grep", "gawk", "hostname", "procps", "libc6", "libc-bin", "erlang-base"]
ROOT_S = 900
FETCH_S = 120
AGAIN_S = 3600  # after a failure, creating the root is not tried again for this time


@contextlib.contextmanager
def no_daemons():
    """Prevents packages from starting daemons while they are installed."""
    made = not os.path.exists(POLICY)
    if made:
        with open(POLICY, "w") as f:
            f.write("#!/bin/sh\nexit 101\n")
        os.chmod(POLICY, 0o755)
    try:
        with open(POLICY) as f:
            if "exit 101" not in f.read():
                raise kp.Skip("%s would let packages start daemons" % POLICY)
        yield
    finally:
        if made:
            os.unlink(POLICY)


def installed(package):
    r = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return "install ok installed" in r.stdout


def install(packages):
    """Installs missing packages on this machine, with apt-get, as root."""
    missing = [p for p in packages if not installed(p)]
    if not missing:
        return
    if os.geteuid() != 0:
        raise kp.Skip("not root, so install these first: apt-get install %s" % " ".join(missing))
    print("installing: %s" % " ".join(missing), file=sys.stderr, flush=True)
    with no_daemons():
        if not apt_get("install", "--download-only", *missing):  # on a new machine the package lists are missing or old
            apt_get("update")
            if not apt_get("install", "--download-only", *missing):
                raise kp.Skip("apt-get could not fetch %s within %d s" % (" ".join(missing), FETCH_S))
        if not apt_get("install", *missing, deadline_s=None):
            raise kp.Skip("apt-get could not install %s" % " ".join(missing))


def apt_get(what, *words, deadline_s=FETCH_S):
    """Whether the command succeeded within this time. An installation must not be interrupted, so it has no
    deadline."""
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=%d" % FETCH_S, what, "-y", "-q", *(["--no-install-recommends"] if words else []), *words]
    try:
        return subprocess.run(command, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=deadline_s).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class Place:
    """otp: 25 (the release of this machine), 27 or 29. root: None, or the directory of the root."""

    def __init__(self, otp):
        self.otp = otp
        self.root = os.path.join(ROOTS, SUITES[otp]) if otp in SUITES else None
        self._dir = None

    def provide(self, packages, of_all=()):
        """Makes sure that the packages are installed. of_all: the packages of all servers for this OTP, so that the
        root is created once."""
        if not self.root:
            install(packages)
            return
        if set(packages) <= self._has():
            return
        self._make(sorted({*BASE, *packages, *of_all}))

    def _has(self):
        try:
            with open(self.root + ".packages") as f:
                return set(f.read().split())
        except FileNotFoundError:
            return set()

    def _make(self, packages):
        suite, failed = SUITES[self.otp], self.root + ".failed"
        if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
            raise kp.Skip("a root with %s needs root and mmdebstrap" % suite)
        if os.path.exists(failed) and time.time() - os.path.getmtime(failed) < AGAIN_S:
            raise kp.Skip("the root %s could not be created less than an hour ago (see %s.log)" % (suite, self.root))
        os.makedirs(ROOTS, exist_ok=True)
        print("creating the root %s: %s" % (suite, " ".join(packages)), file=sys.stderr, flush=True)
        tmp = self.root + ".tmp"
        shutil.rmtree(tmp, ignore_errors=True)
        with open(self.root + ".log", "w") as log:
            ok = subprocess.run(["timeout", str(ROOT_S), "mmdebstrap", "--variant=extract", "--mode=root",
                                 "--aptopt=Acquire::Check-Valid-Until \"false\"", "--aptopt=APT::Install-Recommends \"false\"",
                                 "--include=" + ",".join(packages), suite, tmp], stdout=log, stderr=subprocess.STDOUT).returncode == 0
        if not ok:
            open(failed, "w").close()
            shutil.rmtree(tmp, ignore_errors=True)
            raise kp.Skip("the root %s could not be created (see %s.log)" % (suite, self.root))
        shutil.copy("/etc/hosts", os.path.join(tmp, "etc"))
        shutil.rmtree(self.root, ignore_errors=True)
        os.rename(tmp, self.root)
        with open(self.root + ".packages", "w") as f:
            f.write("\n".join(packages) + "\n")

    def dir(self):
        """A directory of this run that every user may enter; removed at exit. Its path on this machine."""
        if self._dir is None:
            if self.root:
                self._dir = tempfile.mkdtemp(prefix="kprof-real-", dir=os.path.join(self.root, "tmp"))
                kp.atexit.register(shutil.rmtree, self._dir, ignore_errors=True)
            else:
                self._dir = tempfile.mkdtemp(prefix="real", dir=kp.scratch())
                os.chmod(kp.scratch(), 0o755)
            os.chmod(self._dir, 0o755)
        return self._dir

    def inside(self, path):
        """A path of this machine, as seen by the server."""
        return path[len(self.root):] if self.root else path

    def find(self, pattern):
        """The files that match a pattern of absolute paths, as seen by the server."""
        return sorted(self.inside(p) for p in glob.glob((self.root or "") + pattern))

    def user(self, name):
        """(uid, gid) of the user. In a root, whose packages are not configured, the user is created."""
        if not self.root:
            r = subprocess.run(["getent", "passwd", name], stdout=subprocess.PIPE, text=True)
            if not r.stdout:
                raise kp.Skip("no user %s here" % name)
            return tuple(int(n) for n in r.stdout.split(":")[2:4])
        number = 900 + sum(name.encode()) % 90
        for file, line in (("passwd", "%s:x:%d:%d::/nonexistent:/bin/sh\n" % (name, number, number)), ("group", "%s:x:%d:\n" % (name, number))):
            path = os.path.join(self.root, "etc", file)
            with open(path, "a+") as f:
                f.seek(0)
                if line not in f.read():
                    f.write(line)
        return number, number

    def start(self, argv, env, output, cwd, user=None):
        """A process with exactly this environment and no stdin; output: a file. cwd: a path of this machine. If it is
        a script that ends with exec, its pid is that of the last program. kp.clean_up stops it if it still runs."""
        env = {"PATH": HOST_PATH, "LC_ALL": "C.UTF-8", **env}
        ids = self.user(user) if user else None
        if self.root:  # /proc is mounted only for this process and its children
            words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t proc proc "$0/proc" && exec "$@"', self.root, "chroot"]
            words += ["--userspec=%d:%d" % ids] if ids else []
            words += [self.root, "env", "-i", "--chdir=" + self.inside(cwd), *("%s=%s" % kv for kv in env.items()), *argv]
            p = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        else:
            words = ["setpriv", "--reuid=%d" % ids[0], "--regid=%d" % ids[1], "--clear-groups", *argv] if ids else argv
            p = subprocess.Popen(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        kp.at_end(lambda: kp.kill_pid(p))
        return p
