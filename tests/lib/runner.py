#!/usr/bin/env python3
"""runner.py DIR [WORD ...]: runs every test_* function of DIR/test_*.py and prints the number of passed tests.

With words: only tests whose file:function contains one of them. A test with the attribute `each` (kp.each) runs once
for each value, and each run is counted. KPROF_FAILED: a file to which the name of each failed test is appended.
KPROF_ONLY: such a file; only its tests run."""
import importlib.util
import os
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


def cases(directory, words):
    for file in sorted(os.listdir(directory)):
        if not (file.startswith("test_") and file.endswith(".py")):
            continue
        name, module = load(os.path.join(directory, file))
        for fn_name, fn in list(vars(module).items()):
            if not fn_name.startswith("test_") or not callable(fn):
                continue
            for args in getattr(fn, "each", [()]):
                label = "%s:%s%s" % (name, fn_name, "(%s)" % ", ".join(map(str, args)) if args else "")
                if not words or any(w in label for w in words):
                    yield label, fn, args


def only():
    """The names of the tests to run; None: all."""
    path = os.environ.get("KPROF_ONLY")
    if not path:
        return None
    with open(path) as f:
        return set(f.read().splitlines())


def note_failure(label):
    path = os.environ.get("KPROF_FAILED")
    if path:
        with open(path, "a") as f:
            f.write(label + "\n")


def main():
    directory, words = sys.argv[1], sys.argv[2:]
    chosen = only()
    passed = failed = skipped = 0
    if not os.access(kp.PROGRAM, os.X_OK):
        print("FAIL: no program at %s (make)\n0 passed, 1 failed, 0 skipped" % kp.PROGRAM)
        return 1
    for label, fn, args in cases(directory, words):
        if chosen is not None and label not in chosen:
            continue
        began = time.monotonic()
        try:
            fn(*args)
            passed += 1
            print("ok   %s (%.1f s)" % (label, time.monotonic() - began), flush=True)
        except kp.Skip as e:
            skipped += 1
            print("skip %s: %s" % (label, e), flush=True)
        except Exception:
            failed += 1
            note_failure(label)
            print("FAIL %s (%.1f s)" % (label, time.monotonic() - began), flush=True)
            traceback.print_exc(limit=-4, file=sys.stdout)
            sys.stdout.flush()
        finally:
            kp.clean_up()
    if passed + failed + skipped == 0 and chosen is None:
        print("no tests in %s" % directory)
        failed = 1
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
