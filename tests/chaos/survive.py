#!/usr/bin/env python3
"""survive.py [--rounds N] [--otp "25 27 29"] [--seed S] [--only WORD] [--from N] [--without] [--results FILE]

Does a node survive kprof-top? A node under the load of survive_load.erl, with monitors that query all its processes
all the time. In each of N rounds on each OTP kprof-top attaches, is used, and ends, each in one of several ways.
After each round the node is alive, nothing of kprof-top is on it, its error log is empty and all its requests were
answered. The seed, which is printed, determines each round: --from N begins with that round. --without: kprof-top
does not attach (does the load alone survive?). If a node crashes, its last output is printed, and the next round has
a new node, up to a maximum number of crashes."""
import argparse
import datetime
import os
import random
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib"), os.path.join(HERE, "..", "node")]
import kp  # noqa: E402
from survive_ways import COUNTED, LATER_S, WAYS, Round, without  # noqa: E402

BEGIN, END = "<!-- survive: made by make survive -->", "<!-- survive: end -->"


class Died(kp.Harm):
    """The node has crashed."""


# ---- the node ---------------------------------------------------------------------------------------------------

class World:
    """The rounds of one OTP."""

    def __init__(self, otp, seed):
        self.otp, self.seed, self.node = otp, seed, None
        self.counts = dict.fromkeys(COUNTED, 0)
        self.fresh()

    def fresh(self):
        if self.node:
            self.node.kill()
            self.remove_dump()
        self.node = kp.Node(self.otp, dump=True)
        self.node.eval("survive_load:start()", LATER_S)
        self.asked, self.erts = 0, self.node.eval("survive_load:figures()")["erts"]

    def remove_dump(self):
        if os.path.exists(self.node.dump):
            os.unlink(self.node.dump)

    def dead(self):
        """None, or the last output of a crashed node. A crashing node gets some time to end."""
        try:
            self.node.proc.wait(0 if self.node.proc.poll() is not None else 5)
        except subprocess.TimeoutExpired:
            return None
        kp.until(5, lambda: self.node._answers[-1:] == [None], what="its last output")  # all of stdout is read
        status = self.node.proc.returncode
        how = "killed by %s" % signal.Signals(-status).name if status < 0 else "exit %d" % status
        slogan = ""
        if os.path.exists(self.node.dump):
            with open(self.node.dump, errors="replace") as f:
                slogan = "".join(x for x in (f.readline() for _ in range(4)) if x.startswith("Slogan")).strip()
        last = [x for x in self.node.said().splitlines() if x.strip()][-5:]
        return "%s; %s%s" % (how, " / ".join(last) or "no output", "; " + slogan if slogan else "")

    def after(self):
        """The checks after each round."""
        last = [""]

        def look():
            last[0] = self.node.eval("survive_load:left(quick)", LATER_S)
            return last[0] == []
        kp.until(LATER_S, look, 0.05, what=lambda: "left on the node: %s" % last[0])
        left = self.node.eval("survive_load:left(all)", LATER_S)
        assert left == [], "left on the node: %s" % left[:20]
        answers = self.node.eval("survive_load:settle(%d)" % (LATER_S * 1000), 2 * LATER_S)
        assert answers["missing"] == 0 and answers["wrong"] == 0, "requests: %s" % answers
        assert answers["asked"] > self.asked, "no request since the last round: %s" % answers
        self.counts["requests"] += answers["asked"] - self.asked
        self.asked = answers["asked"]
        errors = self.node.eval("survive_load:errors()")
        assert errors == [], "error log: %s" % errors[:5]
        assert not os.path.exists(self.node.dump), "a crash dump"

    def way(self, number, ways):
        """The ways, in an order that the seed determines; each occurs once before any is repeated."""
        deck = list(ways)
        random.Random("%d %d %d" % (self.seed, self.otp, number // len(deck))).shuffle(deck)
        return deck[number % len(deck)]

    def round(self, number, ways):
        """(what was done, None) or (what was done, the error); raises Died."""
        way = self.way(number, ways)
        r = Round(self.node, random.Random("%d %d %d" % (self.seed, self.otp, number)), self.counts)
        wrong = None
        try:
            try:
                way(r)
            finally:
                r.close()
            self.after()
        except Exception:
            wrong = "".join(traceback.format_exc(limit=-3))
        words = self.dead() if wrong or self.node.proc.poll() is not None else None
        if words:
            raise Died("%s, %s: %s" % (way.__name__, r.end_word, words))
        return "%s, %s" % (way.__name__, r.end_word), wrong


def rounds_of(otp, a):
    if not os.environ.get("KPROF_ONLY"):
        return range(a.first - 1, a.rounds)
    with open(os.environ["KPROF_ONLY"]) as f:
        return [int(n) - 1 for o, n in (x.split() for x in f if x.strip()) if int(o) == otp]


def run(otp, a):
    """-> {passed, failed, deaths, counts}"""
    ways = [without] if a.without else [w for w in WAYS if a.only in w.__name__]
    passed, failed, deaths = 0, 0, []
    world = World(otp, a.seed)
    for i in rounds_of(otp, a):
        began = time.monotonic()
        try:
            what, wrong = world.round(i, ways)
        except Died as e:
            what, wrong = "the node DIED", str(e)
            deaths.append((i + 1, str(e)))
        if wrong is None:
            passed += 1
            print("ok   OTP %d round %d %s (%.1f s)" % (otp, i + 1, what, time.monotonic() - began), flush=True)
            continue
        failed += 1
        kp.note_failure("%d %d" % (otp, i + 1), any(n == i + 1 for n, _ in deaths))
        print("FAIL OTP %d round %d %s: survive.py --otp %d --seed %d --rounds %d --from %d\n%s" % (
            otp, i + 1, what, otp, a.seed, i + 1, i + 1, wrong), flush=True)
        if len(deaths) >= a.deaths or failed >= 10 * a.deaths:
            break
        world.fresh()
    world.node.kill()
    world.remove_dump()
    kp.clean_up()
    return {"otp": otp, "erts": world.erts, "passed": passed, "failed": failed, "deaths": deaths, "counts": world.counts}


def told(results, a):
    """One line per OTP, as text and for the table."""
    rows = []
    for r in results:
        died = "; ".join("round %d: %s" % d for d in r["deaths"][:3]).replace("|", "/").replace("\n", " ")
        rows.append("| %s | %d (erts %s) | %d | %d, %d | %d | %d | %d | %s | %d |" % (
            datetime.date.today(), r["otp"], r["erts"], r["passed"] + r["failed"], r["counts"]["attaches"], r["counts"]["screens"], r["counts"]["trips"],
            r["counts"]["requests"], r["failed"] - len(r["deaths"]), died[:300] or "none", a.seed))
    return rows


HEAD = """## make survive

Each round attaches to nodes under the load of tests/chaos/survive_load.erl. One line per OTP release of a run.

%s
| Date | OTP | Rounds | Attaches, with a screen | Trips | Requests answered | Rounds with a fault other than a crash | Crashed nodes | Seed |
|---|---|---|---|---|---|---|---|---|
%s
""" % (BEGIN, END)


def note(path, rows):
    """Appends the rows between the markers; adds the section if it is missing."""
    text = ""
    if os.path.exists(path):
        with open(path) as f:
            text = f.read()
    if BEGIN not in text:
        text = (text.rstrip("\n") + "\n\n" if text else "# Results of long runs\n\n") + HEAD
    before, after = text.split(END, 1) if END in text else (text + "\n", "")
    with open(path, "w") as f:
        f.write(before + "".join(x + "\n" for x in rows) + END + after)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=100, help="on each OTP")
    p.add_argument("--seed", type=int, default=int(time.time()) % 1000000)
    p.add_argument("--otp", default="25 27 29")
    p.add_argument("--only", default="", help="ways with this word in their name")
    p.add_argument("--from", dest="first", type=int, default=1, help="the first round")
    p.add_argument("--without", action="store_true", help="nobody attaches")
    p.add_argument("--deaths", type=int, default=1, help="number of crashed nodes of an OTP after which its rounds end")
    p.add_argument("--results", help="a file that gets a line for each OTP")
    a = p.parse_args()
    if a.results and a.without:
        p.error("--results is only for runs that attach")
    print("seed %d" % a.seed, flush=True)
    results, skipped = [], 0
    for otp in map(int, a.otp.split()):
        if otp in kp.otp_versions():
            if len(rounds_of(otp, a)):
                results.append(run(otp, a))
        else:
            print("skip OTP %d: not here" % otp)
            skipped += a.rounds
    for r in results:
        print("OTP %(otp)d (erts %(erts)s): %(passed)d rounds survived" % r +
              ", %(attaches)d attaches, %(screens)d screens, %(trips)d trips, %(part_time)d for part of the time, %(requests)d requests answered" % r["counts"] +
              "\n  %(sampled)d with stack samples, %(full)d full traces, %(mailbox)d with mailbox times, %(polls)d with polls of hanging requests, "
              "%(vm_events)d with VM events, %(tables)d process tables" % r["counts"] +
              "".join("\n  died in round %d: %s" % d for d in r["deaths"]))
    if a.results and results:
        note(a.results, told(results, a))
    print("%d passed, %d failed, %d skipped" % (sum(r["passed"] for r in results), sum(r["failed"] for r in results), skipped))
    return 1 if any(r["failed"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
