"""A node with very many processes: however kprof-top ends, nothing of it is left. `make large` measures the time."""
import os
import signal
import sys

import kp
sys.path.insert(0, os.path.join(kp.ROOT, "tests", "chaos"))
import large  # noqa: E402

PROCESSES = 20_000


def traced(n):
    """Each idle process has made a request, so it holds a token."""
    k = large.batch(n)
    large.first_row(k)
    n.eval("large_load:keepalive_round()", 60)
    kp.until(60, lambda: n.eval("large_load:tokens()") > 0 or k.rows[-1]["sample"] > 1, what="idle processes hold tokens")
    return k


def test_a_large_node_is_left_clean():
    with large.large_node(25, PROCESSES) as n:
        k = traced(n)
        assert k.interrupt(60) == 0, k.saw()
        large.until_clean(n)
        k = traced(n)
        k.proc.send_signal(signal.SIGKILL)
        k.wait(60)
        large.until_clean(n)
        made = n.eval("large_load:requests()")
        kp.until(60, lambda: n.eval("large_load:requests()") > made, what="it works on")
