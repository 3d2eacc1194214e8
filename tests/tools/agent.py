#!/usr/bin/env python3
"""agent.py [--show] [WORD ...]: runs the tests of the agent, tests/agent/test_*.{sh,py,escript}.

The exit status of a program says if it passed; its last line may have counts. With words: only tests whose name
contains one of them. --show also prints the tests that pass."""
import glob
import os
import re
import subprocess
import sys

MOST_S = 2400  # for three OTP releases, on a slow machine with other load
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
FAILURE = re.compile(r"^FAIL OTP .*\n(?: {5}.*\n)*", re.M)


def command(path):
    ext = os.path.splitext(path)[1]
    return {".py": ["python3", path], ".sh": ["sh", path], ".escript": ["escript", path]}[ext]


def main():
    passed = failed = skipped = 0
    words = sys.argv[1:]
    show = words[:1] == ["--show"]
    if show:
        words.pop(0)
    files = sorted(f for ext in ("sh", "py", "escript") for f in glob.glob("tests/agent/test_*." + ext))
    for path in files:
        try:
            run = subprocess.run(command(path) + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="replace", timeout=MOST_S)
            rc, out = run.returncode, run.stdout
        except subprocess.TimeoutExpired as e:
            rc, out = 1, (e.stdout or b"").decode(errors="replace") + "\ntimed out after %d s" % MOST_S
        m = CLOSING.findall(out)
        p, f, s = (int(x or 0) for x in m[-1]) if m else ((1, 0, 0) if rc == 0 else (0, 1, 0))
        if rc != 0 and f == 0:
            f = 1
        print(("FAIL " if f else "ok   ") + path)
        if f or show:
            print("  " + out[-8000:].replace("\n", "\n  "))
        for failure in FAILURE.findall(out[:-8000]) if f else ():
            print("  " + failure.rstrip())
        passed, failed, skipped = passed + p, failed + f, skipped + s
    if not files:
        print("no tests in tests/agent")
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
