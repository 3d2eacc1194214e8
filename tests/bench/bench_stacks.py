#!/usr/bin/env python3
"""bench_stacks.py: what stack sampling at its defaults costs the node of --demo, and a node with 100,000 idle processes (impact.py
stacks). Limits: less than 2 % of the throughput of the first, 3 % of the second, and 1.1 times the p99 of the clients of the first.
They are for an idle machine; nothing fails if a value is above its limit."""
import os
import sys

IMPACT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "impact.py")
os.execv(sys.executable, [sys.executable, IMPACT, "stacks", "--stack-nodes", "sample idle", "--stack-seconds", "4", *sys.argv[1:]])
