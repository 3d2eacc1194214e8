#!/usr/bin/env python3
"""runner.py DIR [WORD ...]: runs every test_* function of DIR/test_*.py and prints the number of passed tests.

With words: only tests whose file:function contains one of them. A test with the attribute `each` (kp.each) runs once
for each value, and each run is counted. KPROF_TEST_JOBS: the number of files that run at the same time (default 1), each
in its own process. KPROF_FAILED: a file to which the name of each failed test is appended. KPROF_ONLY: such a file; only
its tests run."""
import contextlib
import importlib.util
import io
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kp  # noqa: E402


def load(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(path))
    spec.loader.exec_module(module)
    return name, module


def cases(path, words):
    name, module = load(path)
    for fn_name, fn in list(vars(module).items()):
        if not fn_name.startswith("test_") or not callable(fn):
            continue
        for args in getattr(fn, "each", [()]):
            label = "%s:%s%s" % (name, fn_name, "(%s)" % ", ".join(map(str, args)) if args else "")
            if not words or any(w in label for w in words):
                yield label, fn, args


def files_of_cases(directory, words):
    """[[(label, function, arguments)]], one list for each file that has tests to run."""
    found = []
    chosen = only()
    for file in sorted(os.listdir(directory)):
        if file.startswith("test_") and file.endswith(".py"):
            of = [c for c in cases(os.path.join(directory, file), words) if chosen is None or c[0] in chosen]
            if of:
                found.append(of)
    return found


def only():
    """The names of the tests to run; None: all."""
    path = os.environ.get("KPROF_ONLY")
    if not path:
        return None
    with open(path) as f:
        return set(f.read().splitlines())


def cpu_s():
    """CPU time of this process and of the children that have ended."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def run_one(label, fn, args):
    """Runs a test and prints its result: "passed", "failed" or "skipped"."""
    began, cpu = time.monotonic(), cpu_s()
    try:
        fn(*args)
        took = time.monotonic() - began
        kp.clean_up()  # its children end: their CPU time is known then
        print("ok   %s (%.1f s, CPU %.1f s)" % (label, took, cpu_s() - cpu))
        return "passed"
    except kp.Skip as e:
        print("skip %s: %s" % (label, e))
        return "skipped"
    except Exception as e:
        kp.note_failure(label, isinstance(e, kp.Harm))
        print("FAIL %s (%.1f s)" % (label, time.monotonic() - began))
        traceback.print_exc(limit=-4, file=sys.stdout)
        return "failed"
    finally:
        kp.clean_up()


def run_file(of, counts, lock):
    for case in of:
        text = io.StringIO()  # printed as one piece, because other processes print, too
        with contextlib.redirect_stdout(text):
            result = run_one(*case)
        with lock:
            sys.stdout.write(text.getvalue())
            sys.stdout.flush()
            counts[("passed", "failed", "skipped").index(result)] += 1


def run_in_child(of, counts, lock):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, lambda n, _f: sys.exit(128 + n))
        kp.after_fork()
        run_file(of, counts, lock)
        sys.exit(0)  # with the clean-up of kp
    return pid


def run_all(files, jobs, counts, lock):
    """Runs files in child processes, the files with the most tests first. Returns the number of crashed processes."""
    waiting = sorted(files, key=len)
    running, crashed, parent = set(), 0, os.getpid()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.add(run_in_child(waiting.pop(), counts, lock))
            pid, status = os.wait()
            running.discard(pid)
            crashed += status != 0
    finally:
        if os.getpid() == parent:  # a forked child executes this, too, when it ends
            for pid in running:
                os.kill(pid, signal.SIGTERM)
            for pid in running:
                os.waitpid(pid, 0)
    return crashed


def main():
    directory, words = sys.argv[1], sys.argv[2:]
    if not os.access(kp.PROGRAM, os.X_OK):
        print("FAIL: no program at %s (make)\n0 passed, 1 failed, 0 skipped" % kp.PROGRAM)
        return 1
    files = files_of_cases(directory, words)
    jobs = int(os.environ.get("KPROF_TEST_JOBS", "1"))
    counts, lock = multiprocessing.Array("i", 3, lock=False), multiprocessing.Lock()
    crashed = 0
    if jobs > 1:
        kp.beams()  # compiled once
        sys.stdout.flush()
        crashed = run_all(files, jobs, counts, lock)
    else:
        for of in files:
            run_file(of, counts, lock)
    passed, failed, skipped = counts
    if crashed:
        print("FAIL: %d test processes ended early" % crashed)
    failed += crashed
    if passed + failed + skipped == 0 and only() is None:
        print("no tests in %s" % directory)
        failed = 1
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
