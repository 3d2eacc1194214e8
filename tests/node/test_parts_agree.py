"""The parts of the time agree: those of the rows, the pieces of all their calls, a replay, and the screens."""
import os
import re

import kp
from common import attach, clean

TIERS = ("-t", "request=parts_work:request/1", "-t", "step=parts_work:step/2", "-t", "serve=parts_work:serve/1", "-i", "parts_work:request/1 arg(1)")
KINDS = ("run", "wait", "mailbox", "gc")
PARTS = ("run", "run_queue", "gc", "dirty", "port", "wait", "mailbox", "unknown")
LETTERS = dict(zip("rqgdpwm?", PARTS))
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6, "m": 6e7}


def recorded(rec):
    """Every request is kept, and followed in detail."""
    with kp.Node(29) as n:
        n.eval("parts_work:start()", 60)
        k = attach(n, *TIERS, "--detail", "1/1", "--slow", "1us", "--record", rec)
        k.tracing()
        for kind in KINDS:
            n.eval("parts_work:run(%s, 6)" % kind, 60)
        n.eval("parts_work:truth()")
        assert k.interrupt() == 0, k.saw()
        clean(n)
        return k.final()


def rows(obj):
    return {(r["tier"], r["identity"]): r for r in obj["rows"] if r.get("parts") and r["tier"] != "_total"}


def added(obj):
    """{(tier, identity): [calls, {part: us}]} of the calls of all slow requests; identity None: all."""
    sums = {}
    for w in obj["slow"]:
        for c in w.get("call_parts", []):
            assert abs(sum(c[p + "_us"] for p in PARTS) - sum(x["duration_us"] for x in c["pieces"])) < 0.01, c
            for ident in (w["identity"], None):
                one = sums.setdefault((c["tier"], ident), [0, dict.fromkeys(PARTS, 0.0)])
                one[0] += 1
                for p in PARTS:
                    one[1][p] += c[p + "_us"]
    return sums


def agree(obj):
    table, calls = rows(obj), added(obj)
    assert set(table) == set(calls), (sorted(map(str, table)), sorted(map(str, calls)))
    assert {i for _, i in table} >= {*KINDS, None}, sorted(map(str, table))
    whole = 0
    for key, row in table.items():
        n, sums = calls[key]
        parts = row["parts"]
        assert parts["calls"] == n, (key, parts["calls"], n)
        all_us = sum(sums.values())
        for p in PARTS:
            assert abs(parts[p]["mean_us"] * n - sums[p]) <= 0.001 * n + 0.01, (key, p, parts[p], sums[p], n)
            assert abs(parts[p]["share"] - sums[p] / all_us) < 0.0002, (key, p, parts[p], sums[p] / all_us)
        # All calls were followed: the parts add up to the calls' own time.
        if n == row["count"]:
            assert abs(all_us / n - row["mean_us"]) < 0.01, (key, all_us / n, row["mean_us"])
            whole += 1
    assert whole, "no row of which all calls were followed: %s" % {k: (r["count"], r["parts"]["calls"]) for k, r in table.items()}


def us(text):
    m = re.fullmatch(r"([\d.]+)(ns|us|ms|s|m)", text)
    return float(m.group(1)) * UNITS[m.group(2)]


def shown(text, true_us):
    """As drawn, with three digits."""
    return abs(us(text) - true_us) <= max(0.006 * true_us, 0.001)


def legend(screen):
    """The lines of the parts: {part: the words that follow}."""
    found = {}
    for line in screen.split("\n"):
        m = re.match(r" ?([rqgdpwm?]) (run queue|run|gc|dirty|port|wait|mailbox|unknown) +(\S.*)", line)
        if m and m.group(3)[0].isdigit():
            found[LETTERS[m.group(1)]] = m.group(3).split()
    return found


def same_on_screen(rec, obj):
    table = rows(obj)
    with kp.Tmux(120, 40, command=[kp.PROGRAM, "--replay", rec, "--speed", "max", "--slow", "1us"]) as t:
        t.wait_for("REPLAY ended", 30)
        for window in ("1m", "5m"):
            t.keys("w")
            t.wait_for("window " + window)
        # The screen of the parts: the entry over all identities.
        t.keys("/", "request", "Enter", "Home", "B")
        screen = t.wait_for(re.compile(r"^request .* %d calls recorded" % table["request", None]["parts"]["calls"], re.M))
        got = legend(screen)
        for p in PARTS:
            one = table["request", None]["parts"][p]
            for text, key in zip(got[p], ("mean_us", "p50_us", "p99_us")):
                assert shown(text, one[key]), (p, key, text, one[key], screen)
            assert abs(float(got[p][3].rstrip("%")) / 100 - one["share"]) < 0.0006, (p, got[p], one)
        # The waterfall of the newest request: its first call is the request.
        t.keys("Escape", "S")
        t.wait_for("TOOK")
        t.keys("Home", "Enter", "Home")
        got = legend(t.wait_for("START"))
        newest = obj["slow"][0]
        entry = next(c for c in newest["call_parts"] if c["tier"] == "request")
        true = {p: entry[p + "_us"] for p in PARTS if entry[p + "_us"] > 0}
        assert set(got) == set(true), (got, true)
        for p, words in got.items():
            assert shown(words[0], true[p]), (p, words, true)
        t.keys("q")


def test_parts_agree():
    if 29 not in kp.otp_versions():
        raise kp.Skip("no OTP 29 here")
    rec = os.path.join(kp.scratch(), "parts.rec")
    live = recorded(rec)
    agree(live)
    again = kp.run("--replay", rec, "--batch", "--format", "json", "--slow", "1us")
    assert again.proc.returncode == 0, again.saw()
    agree(again.final())
    a, b = rows(live), rows(again.final())
    assert {k: r["parts"] for k, r in a.items()} == {k: r["parts"] for k, r in b.items()}
    same_on_screen(rec, again.final())
