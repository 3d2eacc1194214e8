#!/usr/bin/env python3
"""impact.py [PART ...]: the cost of kprof-top for a node and its clients. Prints Markdown; needs an idle machine.

Parts: clients (latency, CPU and memory, by rate and variant), jump (a sudden load), loop (a tier in a tight loop), cost
("overhead" compared with paired throughput); without a part all of these. stacks: the cost of stack sampling. detail: the
cost of detailed requests. mailbox: the cost of --mailbox, and of the polls of requests that hang.
selftest: a test of the measurements. Every load is on a node that is
started here, on 127.0.0.1. The exit status is 1 if something could not be run, never because of a measured time.
KPROF_TOP or --program: the program; KPROF_OTP_ROOTS: roots with OTP 27 and 29."""
import argparse
import datetime
import os
import re
import shlex
import sys

import impact_clients
import impact_cost
import impact_detail
import impact_jump
import impact_loop
import impact_mailbox
import impact_selftest
import impact_stacks
from impact_common import CouldNotRun, bound, kp, machine, say, write

PARTS = {"clients": impact_clients.run, "jump": impact_jump.run, "loop": impact_loop.run, "cost": impact_cost.run,
         "stacks": impact_stacks.run, "detail": impact_detail.run, "mailbox": impact_mailbox.run, "selftest": impact_selftest.run}
ALL = [p for p in PARTS if p not in ("stacks", "detail", "mailbox", "selftest")]


def numbers(text):
    return [int(w) for w in re.split(r"[ ,]+", text.strip()) if w]


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    p.add_argument("--otp", type=numbers, default=[25], help='as "25 27 29"; the default is 25')
    p.add_argument("--program", help="kprof-top; the default is $KPROF_TOP, or build/kprof-top")
    p.add_argument("--args", type=shlex.split, default=[], help="more arguments of kprof-top")
    p.add_argument("--erl", type=shlex.split, default=bound(),
                   help='more arguments of erl, as "+sbwt none" (idle schedulers do not spin); the default binds the schedulers to cores, "" does not')
    p.add_argument("--write", metavar="FILE", help="write the output into a Markdown file, between its two markers")
    g = p.add_argument_group("clients")
    g.add_argument("--rates", type=numbers, default=[5000, 20000, 50000, 100000], help="requests/s of four traced functions")
    g.add_argument("--state-rates", type=numbers, default=[5000], help="requests/s of a server with a large state")
    g.add_argument("--variants", type=lambda s: re.split(r"[ ,]+", s.strip()), default=list(impact_clients.VARIANTS),
                   help=" ".join(impact_clients.VARIANTS))
    g.add_argument("--reps", type=int, default=5)
    g.add_argument("--seconds", type=float, default=5, help="of each run")
    g.add_argument("--warm", type=float, default=1, help="seconds of load before tracing is switched on")
    g.add_argument("--settle", type=float, default=1, help="seconds after that before anything is measured")
    g.add_argument("--clients", type=int, default=20)
    g = p.add_argument_group("jump and loop")
    g.add_argument("--jump-rate", type=int, default=100000)
    g.add_argument("--jump-seconds", type=float, default=60)
    g.add_argument("--loop-seconds", type=float, default=60)
    g = p.add_argument_group("cost")
    g.add_argument("--pairs", type=int, default=600)
    g.add_argument("--cost-seconds", type=float, default=0.03, help="length of each part of a pair")
    g.add_argument("--samples", type=numbers, default=[1, 10, 1000000])
    g.add_argument("--cost-us", type=lambda s: [float(w) for w in re.split(r"[ ,]+", s.strip())], default=[25, 5, 5],
                   help="work of a call in us, by sampling rate, so that tracing is not too much")
    g = p.add_argument_group("stacks")
    g.add_argument("--stack-seconds", type=float, default=3, help="length of each part of a pair")
    g.add_argument("--stack-processes", type=int, default=100000, help="idle processes of the large node")
    g.add_argument("--stack-nodes", type=lambda s: re.split(r"[ ,]+", s.strip()), default=list(impact_stacks.NODES), help=" ".join(impact_stacks.NODES))
    g = p.add_argument_group("mailbox")
    g.add_argument("--mailbox-rate", type=int, default=20000, help="calls of gen_servers per second")
    g.add_argument("--mailbox-hanging", type=int, default=8, help="processes with requests that are open for a second each")
    o = p.parse_args()
    for word, known in ((w, k) for ws, k in ((o.parts, PARTS), (o.variants, impact_clients.VARIANTS), (o.stack_nodes, impact_stacks.NODES)) for w in ws):
        if word not in known:
            p.error(f"{word}: one of {' '.join(known)}")
    return o


def main():
    o = options()
    if o.program:
        kp.PROGRAM = os.path.abspath(o.program)
    shown = ["tests/bench/impact.py"] + [w for w in sys.argv[1:] if not w.startswith(("--write=", "--program="))]
    for flag in ("--write", "--program"):  # do not print paths
        while flag in shown:
            del shown[shown.index(flag):shown.index(flag) + 2]
    erl = f"The nodes run with `erl {shlex.join(o.erl)}`." if o.erl else "The nodes run without arguments of erl."
    text = [f"`{shlex.join(shown)}`, {datetime.date.today()}, {machine()}. {erl}", ""]
    failed = 0
    for otp in o.otp:
        for part in o.parts or ALL:
            say(f"== {part}, OTP {otp}")
            try:
                text.append(PARTS[part](otp, o))
            except (CouldNotRun, kp.Skip, AssertionError, OSError) as e:
                failed += 1
                say(f"could not be run: {e}")
                text.append(f"### {part}, OTP {otp}: could not be run\n")
            finally:
                kp.clean_up()
    text = "\n".join(text).rstrip("\n") + "\n"
    print(text)
    if o.write:
        write(o.write, text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
