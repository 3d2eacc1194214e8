"""Known workloads: exact counts, in both return modes, on every OTP; each received call is accounted for; nothing is lost."""
import time

import kp
from common import OTPS, RULE, attach, check_rows, clean, profile, tiers, workload_node

ALL = ["request/1", "parse/1", "db/1", "format/1", "account/1", "cache/1"]
BOTH = [(o, r) for o in OTPS for r in ("lean", "full")]


@kp.each(*BOTH)
def test_exact_counts(otp, returns):
    with workload_node(otp) as n:
        want, final, k = profile(n, "counts(500,[create,read,update,delete],2000)", ALL, "--returns", returns,
                                 rule=RULE)
        check_rows(want, final)
        assert final["returns"] == returns and final["otp"] == str(otp), final
        assert final["final"] is True and final["schema"] == 1
        calls = final["calls"]
        assert calls["received"] == calls["aggregated"], calls
        for op in ("create", "read", "update", "delete"):
            total, request = kp.row(final, "_total", op), kp.row(final, "request", op)
            assert total["count"] == request["count"] == 500, (total, request)
            shares = sum(r["share"] for r in final["rows"] if r["identity"] == op and r["tier"] != "_total")
            assert 0.0 < shares <= 1.01, "shares of %s sum up to %s" % (op, shares)
        for r in final["rows"]:
            if r["count"]:
                q = [r[x] for x in ("min_us", "p25_us", "p50_us", "p75_us", "p90_us", "p95_us", "p99_us",
                                    "p999_us", "max_us")]
                assert q == sorted(q), "quantiles rise: %s" % r
        clean(n)


@kp.each(*((o, s) for o in (25, 29) for s in ("again(200,5)", "tail(200,x)", "exceptions(200,x)", "between(200,x)", "nested(200,x)", "late(10,x)")))
def test_shapes(otp, scenario):
    names = {"again": ["cache/1"], "tail": ["tail_a/1", "tail_b/1"], "exceptions": ["catcher/1", "middle/1", "thrower/1"],
             "between": ["thrower/1"],
             "nested": ["cache/1"], "late": ["late_work/1"]}[scenario.split("(")[0]]
    with workload_node(otp) as n:
        for returns in ("lean", "full"):
            want, final, _ = profile(n, scenario, ["request/2"] + names, "--returns", returns)
            check_rows(want, final)
            for tier, errors in want.get("errors", {}).items():
                assert kp.row(final, tier)["errors"] == errors, (returns, tier, errors, kp.row(final, tier))
            for tier, late in want.get("late", {}).items():
                assert kp.row(final, tier)["late"] == late, (returns, tier, kp.row(final, tier))
                assert kp.count(final, "_total") == want["requests"], kp.row(final, "_total")
            clean(n)


def test_recursion():
    with workload_node(25) as n:
        want, final, _ = profile(n, "recursion(100,7,full)", ["request/2", "recurse/1"], "--returns", "full")
        check_rows(want, final)
        want, final, _ = profile(n, "recursion(100,7,lean)", ["request/2", "recurse/1"], "--returns", "lean")
        assert kp.count(final, "recurse", "x") == want["outermost"], kp.row(final, "recurse", "x")
        assert kp.count(final, "request", "x") == want["requests"]


@kp.each(25, 29)
def test_the_run_ends_just_after_deaths(otp):
    """kprof-top asks for the dead processes once more, so that their calls are not lost."""
    with workload_node(otp) as n:
        want, final, _ = profile(n, "dying(20,x)", ["request/2", "hang/1"])
        check_rows(want, final)
        assert kp.row(final, "hang")["errors"] == want["errors"]["hang"], kp.row(final, "hang")
        clean(n)


@kp.each("lean", "full")
def test_dying_in_a_call(returns):
    with workload_node(25) as n:
        k = attach(n, *tiers("request/2", "hang/1"), "-i", "workload:request/2 arg(1)", "--returns", returns)
        k.tracing()
        want = n.eval("workload:dying(20,x)")
        k.wait_json(20, lambda r: r["calls"]["received"] == 40 and r["calls"]["open"] == 0)
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        kp.nothing_lost(final)
        check_rows(want, final)
        for tier, errors in want["errors"].items():
            assert kp.row(final, tier)["errors"] == errors, kp.row(final, tier)


def test_no_entry_counts_every_call():
    with workload_node(25) as n:
        k = attach(n, *tiers("cache/1"), "--entry", "none", "-i", "workload:cache/1 arg(1)")
        k.tracing()
        made = n.eval("workload:no_request(300)")
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        assert kp.count(final, "cache", "x") == made == 300, kp.row(final, "cache")


def test_calls_outside_requests_are_not_counted():
    with workload_node(25) as n:
        k = attach(n, *tiers("request/2", "cache/1"), "-i", "workload:request/2 arg(1)")
        k.tracing()
        n.eval("workload:no_request(300)")
        n.eval("workload:again(10,1)")
        assert k.interrupt() == 0, k.saw()
        assert kp.count(k.final(), "cache") == 10, k.final()


def test_undefined_identity():
    with workload_node(25) as n:
        k = attach(n, *tiers("request/2", "cache/1"), "-i",
                   "fun ({workload,request,[undefined,_]}) -> undefined; ({workload,request,[X,_]}) -> X end")
        k.tracing()
        n.eval("workload:undefined_identity(10)")
        n.eval("workload:again(20,1)")
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        assert kp.count(final, "cache", "x") == 20 and kp.count(final, "cache") == 30, final["rows"]


def test_identity_of_another_tier():
    """The rule may name any tier: the first defined identity names the whole request."""
    with workload_node(25) as n:
        want, final, _ = profile(n, "counts(50,[create,read],1000)", ALL, rule="workload:db/1 arg(1)")
        check_rows(want, final)


def test_fun_rule_with_tuple():
    with workload_node(25) as n:
        k = attach(n, *tiers(*ALL), "-i", 'fun ({workload,request,[Op]}) when Op =:= read -> {"GET", Op};'
                                         ' ({workload,request,[Op]}) -> <<"other">> end')
        k.tracing()
        n.eval("workload:counts(20,[create,read],1000)")
        assert k.interrupt() == 0, k.saw()
        names = sorted({r["identity"] for r in k.final()["rows"] if r["identity"] is not None and r["count"]})
        assert len(names) == 2 and "other" in names, names


def test_sampling():
    """--sample 1/4: requests are traced as a whole or not at all; est_count is near the true count, and count is
    exported, too."""
    with workload_node(25) as n:
        want, final, _ = profile(n, "counts(1000,[create,read,update,delete],4000)", ALL, "--sample", "1/4", rule=RULE)
        assert final["sample"] == 4
        seen = kp.row(final, "request")
        assert 700 < seen["count"] < 1300, seen
        assert seen["est_count"] == 4 * seen["count"], seen
        for op in ("create", "read", "update", "delete"):
            request = kp.row(final, "request", op)["count"]
            for tier in ("parse", "db", "format", "account"):
                assert kp.row(final, tier, op)["count"] == request, (tier, op)


def test_big_state_under_lean():
    """A callback that returns 25,000 words: nothing of it is in the memory of the relay."""
    with workload_node(25) as n:
        before = n.eval("erlang:memory(total)")
        k = attach(n, *tiers("request/2", "handle_call/3"), "-i", "workload:request/2 arg(1)")
        k.tracing()
        n.send("workload:big_state(2000,1000)")
        rows = []
        kp.until(10, lambda: rows.append(None) or any(kp.count(r, "handle_call") > 500 for r in k.rows))
        want = n.take(60)
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        kp.nothing_lost(final)
        check_rows(want, final)
        after = n.eval("begin [garbage_collect(P) || P <- processes()], erlang:memory(total) end")
        assert after < before + 20_000_000, (before, after)


def test_reloaded_module_goes_on():
    with workload_node(25) as n:
        k = attach(n, *tiers("request/2", "cache/1"), "-i", "workload:request/2 arg(1)")
        k.tracing()
        n.eval("workload:again(10,1)")
        k.wait_json(10, lambda r: kp.count(r, "cache") >= 0 and r["calls"]["received"] >= 20)
        n.eval("workload:reload()")
        # Loading removes the pattern until the agent notices it; then calls are counted again.
        def more():
            n.eval("workload:again(1,1)")
            return k.rows[-1]["calls"]["received"] > 25
        kp.until(15, more, 0.2, what=lambda: "calls count again after a reload: " + k.saw())
        assert k.interrupt() == 0, k.saw()
        kp.conserves(k.final())
        assert [m["reloaded"] for m in k.final()["marks"]] == ["workload"], k.final()["marks"]
        clean(n)


def test_a_module_that_is_loaded_later():
    """Its tier has the note that it is not loaded, until it is."""
    with workload_node(25) as n:
        k = attach(n, "-t", "late=tight:tier/1", "-e", "none")
        k.tracing()
        k.wait_json(10, lambda r: "no module tight is loaded" in ((kp.row(r, "late") or {}).get("note") or ""))
        n.eval("code:ensure_loaded(tight)")

        def counted():
            n.eval("tight:tier(1)")
            return (kp.row(k.rows[-1], "late") or {"count": 0})["count"] > 0
        kp.until(15, counted, 0.2, what=lambda: "calls count when the module is loaded: " + k.saw())
        k.wait_json(10, lambda r: "no module" not in (kp.row(r, "late").get("note") or ""))
        assert k.interrupt() == 0, k.saw()
        clean(n)


def test_a_process_that_dies_inside_a_call():
    """Before, the call is listed as open, with the name of its process; then as an error with its reason."""
    with kp.Node(25) as n:
        n.eval("code:ensure_loaded(timer)")  # kprof-top does not load it
        k = attach(n, "-t", "sleep=timer:sleep/1", "-e", "none", "--slow", "1ms")
        k.tracing()
        n.eval("begin register(sleeper, spawn(fun() -> timer:sleep(1000000), ok end)), ok end")
        k.wait_json(30, lambda r: any(o["tier"] == "sleep" and o.get("who") == "sleeper" and o["age_us"] > 0 for o in r["open_calls"]))
        n.eval("exit(whereis(sleeper), kill)")
        k.wait_json(30, lambda r: any(s.get("reason") == "exit" for s in r["slow"]))
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        sleep = kp.row(final, "sleep")
        assert sleep["errors"] >= sleep["exits"] == 1, sleep
        assert not any(o.get("who") == "sleeper" for o in final["open_calls"]), final["open_calls"]
        kp.conserves(final)
        clean(n)


@kp.each(*OTPS)
def test_built_in_functions_are_tiers(otp):
    """The run is longer than one round of the agent's call counters. Before OTP 28, the VM stops tracing a built-in function
    when its counter is removed."""
    with workload_node(otp) as n:
        k = attach(n, *tiers("request/1", "db/1"), "-t", "erlang:phash2/2", "-i", RULE)
        k.tracing()
        n.eval("workload:counts(1000,[create,update,delete],500)", 60)
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        counts = {r["tier"]: r["count"] for r in final["rows"] if r["identity"] is None}
        assert counts["phash2"] == counts["db"] == counts["request"] == 3000, counts
        clean(n)

def test_another_program_removes_the_flags():
    """Before OTP 27 another program can remove the flags. The agent notices this and sets them again."""
    with workload_node(25) as n:
        k = attach(n, *tiers("request/1", "db/1"))
        k.tracing()

        def flagged():
            return n.eval("case erlang:trace_info(whereis(init), tracer) of {tracer, []} -> 0; {tracer, _} -> 1 end") == 1
        kp.until(30, flagged, what=k.saw)
        time.sleep(1.2)  # two heartbeats, so that the flags were seen
        n.eval("[erlang:trace(P, false, [all]) || P <- processes()], erlang:trace(new, false, [all])")
        kp.until(30, flagged, what=lambda: "the flags are set again: " + k.saw())
        before = k.rows[-1]["calls"]["received"]
        n.eval("workload:counts(10,[create],100)")
        kp.until(30, lambda: k.rows[-1]["calls"]["received"] >= before + 20, what=k.saw)
        assert k.interrupt() == 0, k.saw()
        clean(n)
