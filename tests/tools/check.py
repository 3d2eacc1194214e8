#!/usr/bin/env python3
"""check.py FIRST... [-- LANE...]...: runs suites (make check-NAME each) and closes with one line of counts.

The first group runs one suite after the other; then the lanes run beside each other. A suite is to print a closing line
`N passed, N failed[, N skipped]`; one that does not counts as one failure. A suite goes on after a failing test.

Real nodes and terminals share the machine with the other lane. What failed there is tried once more when all else is
done, alone, and is told in the end either way: as failed, or as passed only alone. For that a suite appends a line for
each failed test to the file KPROF_FAILED, and when KPROF_ONLY names such a file runs just these.
"""
import os
import re
import subprocess
import sys
import threading
import time

DIR = "build/check"
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
MOST_AGAIN = 8  # more failures than this are no matter of company
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
        self.alone = []  # failed in company, passed alone
        self.log = "%s/%s.log" % (DIR, name)
        self.failures = "%s/%s.failed" % (DIR, name)

    def make(self, log, failures, only=None):
        """One run: (passed, failed, skipped, seconds)."""
        env = dict(os.environ, KPROF_FAILED=os.path.abspath(failures))
        env.pop("KPROF_ONLY", None)
        if only:
            env["KPROF_ONLY"] = os.path.abspath(only)
        open(failures, "w").close()
        began = time.monotonic()
        with open(log, "w") as out:
            rc = subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", "check-" + self.name], stdout=out,
                                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env).returncode
        found = CLOSING.findall(read(log))
        p, f, s = (sum(int(x[i] or 0) for x in found) for i in range(3))
        if rc != 0 and f == 0 or not found:
            f += 1
            with open(log, "a") as out:
                out.write("check-%s: exit %d, %s\n" % (self.name, rc, "counts above" if found else "no counts"))
        return p, f, s, time.monotonic() - began

    def run(self):
        self.passed, self.failed, self.skipped, took = self.make(self.log, self.failures)
        text = read(self.log)
        if self.failed:
            say("---- check-%s: failed ----\n%s\n---- (all of it in %s)" % (
                self.name, "\n".join(text.splitlines()[-120:]), self.log))
        else:
            for line in re.findall(r"^skip.*", text, re.M | re.I):
                say(line)
        say("check-%-9s %4d passed, %d failed, %d skipped   %d s" % (self.name, self.passed, self.failed, self.skipped, took))

    def again(self):
        """What failed, alone."""
        names = read(self.failures).splitlines()
        if not names or len(names) > MOST_AGAIN:
            return
        log, failures = self.log + ".again", self.failures + ".again"
        passed, failed, _, took = self.make(log, failures, only=self.failures)
        still = read(failures).splitlines()
        if failed and not still:
            still = names
        self.alone = [n for n in names if n not in still]
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
            say("passed only alone, at the second try: check-%s %s" % (suite.name, name))
    passed, failed, skipped = (sum(getattr(s, k) for s in suites) for k in ("passed", "failed", "skipped"))
    say("%d s in all" % (time.monotonic() - began))
    say("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
