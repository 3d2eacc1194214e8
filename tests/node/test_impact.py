"""Self-test of make impact: its arithmetic, and a stall that a naive measurement does not detect."""
import os
import sys

import kp
from common import OTPS

sys.path.append(os.path.join(kp.ROOT, "tests", "bench"))
import impact_selftest  # noqa: E402
from impact_common import node  # noqa: E402


@kp.each(*OTPS)
def test_impact_harness(otp):
    with node(otp) as n:
        for check in impact_selftest.CHECKS:
            check(n)
