#!/usr/bin/env python3
"""check.py FIRST... [-- LANE...]...: runs suites (make check-NAME each) and prints the total counts at the end.

The suites of the first group run one after the other. Then the lanes run at the same time, each with one suite after the
other. A suite prints a last line `N passed, N failed[, N skipped]`; a suite without it counts as one failure.

The lanes share the machine, so a test may fail because of the load. Failed tests run once more at the end, alone. The
report says which tests failed again and which passed only alone. For this, a suite appends the name of each failed test
to the file KPROF_FAILED, and runs only the tests in the file KPROF_ONLY if that is set. A name that begins with FINAL is
of a test that has hurt a node, or whose tester has ended: whether this happens again does not matter, so it counts as
failed.
"""
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kp import FINAL  # noqa: E402

DIR = "build/check"
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
MOST_AGAIN = 8  # more failures than this are not caused by load
_print_lock = threading.Lock()


def say(text):
    with _print_lock:
        print(text, flush=True)


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return ""


class Suite:
    def __init__(self, name):
        self.name = name
        self.passed = self.failed = self.skipped = 0
        self.alone = []  # tests that passed only alone
        self.still = []  # tests that failed, alone too if they ran again
        self.log = "%s/%s.log" % (DIR, name)
        self.failures = "%s/%s.failed" % (DIR, name)

    def make(self, log, failures, only=None):
        """One run: (passed, failed, skipped, seconds, CPU seconds)."""
        env = dict(os.environ, KPROF_FAILED=os.path.abspath(failures))
        env.pop("KPROF_ONLY", None)
        if only:
            env["KPROF_ONLY"] = os.path.abspath(only)
            env["KPROF_TEST_JOBS"] = "1"
        open(failures, "w").close()
        began = time.monotonic()
        with open(log, "w") as out:
            run = subprocess.Popen([os.environ.get("MAKE", "make"), "--no-print-directory", "check-" + self.name],
                                   stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env)
            _, status, used = os.wait4(run.pid, 0)
            rc = run.returncode = os.waitstatus_to_exitcode(status)
        found = CLOSING.findall(read(log))
        p, f, s = (sum(int(x[i] or 0) for x in found) for i in range(3))
        if rc != 0 and f == 0 or not found:
            f += 1
            with open(log, "a") as out:
                out.write("check-%s: exit %d, %s\n" % (self.name, rc, "counts above" if found else "no counts"))
        return p, f, s, time.monotonic() - began, used.ru_utime + used.ru_stime

    def run(self):
        self.passed, self.failed, self.skipped, took, cpu = self.make(self.log, self.failures)
        text = read(self.log)
        if self.failed:
            say("---- check-%s: failed ----\n%s\n---- (whole output in %s)" % (
                self.name, "\n".join(text.splitlines()[-120:]), self.log))
        else:
            for line in re.findall(r"^skip.*", text, re.M | re.I):
                say(line)
        say("check-%-9s %4d passed, %d failed, %d skipped   %d s, CPU %d s" % (
            self.name, self.passed, self.failed, self.skipped, took, cpu))

    def again(self):
        """Runs the failed tests again, alone."""
        self.still = read(self.failures).splitlines()
        final = [n for n in self.still if n.startswith(FINAL)]
        names = [n for n in self.still if n not in final]
        if not names or len(self.still) > MOST_AGAIN:
            return
        with open(self.failures, "w") as f:
            f.writelines(n + "\n" for n in names)
        log, failures = self.log + ".again", self.failures + ".again"
        passed, failed, _, took, _ = self.make(log, failures, only=self.failures)
        still = read(failures).splitlines()
        if failed and not still:
            still = names
        self.alone = [n for n in names if n not in still]
        still = self.still = final + still
        say("check-%s again, alone: %d passed, %d failed   %d s" % (self.name, passed, failed, took))
        if failed:
            say("\n".join(read(log).splitlines()[-120:]))
        mended = self.failed - len(still) if still else self.failed
        self.passed, self.failed = self.passed + mended, self.failed - mended


def groups(args):
    out = [[]]
    for a in args:
        if a == "--":
            out.append([])
        else:
            out[-1].append(Suite(a))
    return out


def main():
    os.makedirs(DIR, exist_ok=True)
    began = time.monotonic()
    first, *lanes = groups(sys.argv[1:])
    for suite in first:
        suite.run()
    threads = [threading.Thread(target=lambda lane=lane: [s.run() for s in lane]) for lane in lanes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    suites = first + [s for lane in lanes for s in lane]
    for suite in suites:
        if suite.failed:
            suite.again()
    for suite in suites:
        for name in suite.alone:
            say("passed only alone: check-%s %s" % (suite.name, name))
    for suite in suites:
        for name in suite.still:
            say("failed: check-%s %s" % (suite.name, name))
    passed, failed, skipped = (sum(getattr(s, k) for s in suites) for k in ("passed", "failed", "skipped"))
    say("%d s in all" % (time.monotonic() - began))
    say("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
