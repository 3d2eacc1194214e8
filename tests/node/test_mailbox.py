"""The time of messages in the mailbox of a server, and how busy it is: as the server and its clients saw them."""
import kp
from common import OTPS, attach, clean, tiers, workload_node

BOTH = [(o, r) for o in OTPS for r in ("lean", "full")]


def near(seen_us, true_us, what):
    """Within 5 % or 100 us."""
    assert seen_us is not None, what
    assert abs(seen_us - true_us) <= max(100, 0.05 * true_us), "%s: %s us, in truth %s us" % (what, seen_us, true_us)


def busy_us(row):
    """Busy time in all: `busy` is a share of the time in which the tier was traced."""
    return row["busy"] * row["est_count"] / row["rate"] * 1e6


def measured(n, scenario, *args):
    k = attach(n, *tiers("request/2", "hold/1"), "-i", "workload:request/2 arg(1)", *args)
    k.tracing()
    want = n.eval("workload:" + scenario, 60)
    assert k.interrupt() == 0, k.saw()
    final = k.final()
    kp.conserves(final)
    kp.nothing_lost(final)
    return want, final, k


@kp.each(*BOTH)
def test_known_queue(otp, returns):
    with workload_node(otp) as n:
        want, final, k = measured(n, "queue(4,40,5,3)", "--returns", returns, "--mailbox")
        hold, request = kp.row(final, "hold"), kp.row(final, "request")
        assert hold["count"] == hold["mbox_count"] == 160, hold
        assert request["count"] == 160 and request["mbox_count"] == 0 and request["mbox_p99_us"] is None, request
        assert final["calls"]["received"] == 320, "a message is no call: %s" % final["calls"]
        for key in ("mean", "p50", "p90", "p99", "max"):
            near(hold["mbox_%s_us" % key], want[key], key)
        assert hold["mbox_p50_us"] > 5000, hold
        # The request that begins the measurement of a server does not count.
        true = want["busy"] * 159 / 160
        assert abs(busy_us(hold) - true) < 0.05 * true, (hold, want)
        assert request["busy"] is None, request
        assert final["calls"]["unattributed"] == 0, final
        assert final.get("anomalies", {}).get("orphan_returns", 0) == 0, final
        clean(n)


def test_not_measured():
    with workload_node(25) as n:
        want, final, k = measured(n, "queue(2,20,5,3)")
        hold = kp.row(final, "hold")
        assert hold["count"] == 40 and hold["mbox_count"] == 0 and hold["mbox_p50_us"] is None, hold
        true = want["busy"] * 39 / 40
        assert abs(busy_us(hold) - true) < 0.05 * true, (hold, want)


@kp.each(25, 27)
def test_sampled(otp):
    """One request in 4: the times are those of the sampled ones, busy is scaled."""
    with workload_node(otp) as n:
        want, final, k = measured(n, "queue(8,150,1,10)", "--mailbox", "--sample", "1/4")
        hold = kp.row(final, "hold")
        assert 150 < hold["count"] < 450 and hold["mbox_count"] == hold["count"], hold
        assert abs(busy_us(hold) - hold["est_count"] * hold["mean_us"]) < 0.01 * busy_us(hold), hold
        # The mean of a sample, on a machine that may delay any call.
        true, error = want["busy"] / 1200, hold["sd_us"] / hold["count"] ** 0.5
        assert abs(hold["mean_us"] - true) < 0.05 * true + 4 * error, (hold, want)


@kp.each(25, 27)
def test_the_queue_that_hurts(otp):
    """The finding names the server; a server that is as busy, but with one client, has no queue."""
    def queue(r):
        return [f for f in r.get("why", []) if f["rule"] == "queue"]

    def named(r):
        return any(pid in f["text"] and "busy with calls of hold" in f["text"] and f["score"] > 0.6 for f in queue(r))
    with workload_node(otp) as n:
        pid = n.eval("list_to_binary(pid_to_list(whereis(workload_db)))")
        k = attach(n, *tiers("request/2", "hold/1"), "-i", "workload:request/2 arg(1)", "--mailbox", "--slow", "1ms", "--why", delay="1s")
        k.tracing()
        n.eval("spawn(fun() -> workload:queue(8,100000,5,0) end)")
        hurts = k.wait_json(30, named)
        assert kp.row(hurts, "hold")["mbox_p50_us"] > 10000, kp.row(hurts, "hold")
        assert k.interrupt() == 0, k.saw()
    with workload_node(otp) as n:
        k = attach(n, *tiers("request/2", "hold/1"), "-i", "workload:request/2 arg(1)", "--mailbox", "--slow", "1ms", "--why", delay="1s")
        k.tracing()
        n.eval("spawn(fun() -> workload:queue(1,100000,5,0) end)")
        for _ in range(3):
            done = k.rows[-1]["requests"]["finished"]
            r = k.wait_json(30, lambda r: r["requests"]["finished"] > done + 60 and "queue" not in r["why_unknown"])
            assert not queue(r), r["why"]
        assert k.interrupt() == 0, k.saw()
