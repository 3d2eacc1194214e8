#!/usr/bin/env python3
"""Benchmark of the relay: CPU per traced call with kprof-top, and with a minimal tracer, in one run on one node.

Environment: KPROF_TOP (the program), KPROF_BENCH_REPS (5), KPROF_BENCH_SECONDS (3), KPROF_BENCH_ERL (more arguments of erl).
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.abspath(os.environ.get("KPROF_TOP", os.path.join(HERE, "..", "..", "build", "kprof-top")))


def main():
    work = tempfile.mkdtemp(prefix="kprof-bench-")
    try:
        subprocess.run(["erlc", "-o", work, os.path.join(HERE, "relay_load.erl")], check=True)
        subprocess.run(["epmd", "-daemon"], check=True)
        reps, seconds = os.environ.get("KPROF_BENCH_REPS", "5"), os.environ.get("KPROF_BENCH_SECONDS", "3")
        more = shlex.split(os.environ.get("KPROF_BENCH_ERL", ""))
        run = subprocess.run(["erl", *more, "-sname", f"kprof_bench_relay_{os.getpid()}", "-setcookie", "kprof_bench",
                              "-noinput", "-run", "relay_load", "main", PROGRAM, reps, seconds], cwd=work, timeout=600)
        return run.returncode
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
