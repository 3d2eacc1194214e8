#!/usr/bin/env python3
"""real.py [--server "yaws rabbitmq"] [--otp "25 27 29"] [--turns N] [--seconds S] [--write FILE] [--short] [--bare]:
kprof-top on widely used servers.

Each server (servers.py) is installed from its package, started on 127.0.0.1, and loaded by an open client at two
rates, in turn without and with kprof-top at its default limits, while a monitor in the node queries all its processes
every second. Checks: the preset (offered and complete), the identities, the counts (equal to the client's), errors,
the logs of the server, and what is left on the node. Times are printed, but not checked. --short: each server of
SHORT on the OTP of this machine, at its lower rate, once. --bare: also with a tracer process that discards the same
calls: this is what the VM's tracing alone costs. Ends with the counts of checks."""
import argparse
import datetime
import math
import os
import re
import shlex
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "bench")]
from impact_common import Attached, CouldNotRun, Cpu, kp, machine, median, number, ratio, say, table, write  # noqa: E402
from place import Place  # noqa: E402
from servers import SERVERS, packages  # noqa: E402
from suggested import PRESETS, suggested  # noqa: E402

SHORT = ("yaws", "rabbitmq")
BEGIN, END = "<!-- real: made by make real -->", "<!-- real: end -->"
LATER_S = 60  # deadlines, not assertions
TRIES = 3  # this machine may have other load: see disturbed()
TURNS, SECONDS = 5, 5
DEVIATIONS = 5  # for samples: an estimated count with a larger error is wrong
BARE = ["bare p99", "ratio", "of slices"]
HEAD = ["server, version", "OTP", "requests/s", "sent", "counted", "off by", "traced", "p99 without", "p99 with", "ratio", "of slices", "node CPU without", "with", "kprof-top CPU"]


class Wrong(Exception):
    """A check failed."""


def demand(ok, text):
    if not ok:
        raise Wrong(text() if callable(text) else text)


# ---- checks ---------------------------------------------------------------------------------------------------

def offered(s):
    """The list of kprof-top contains the preset, with all its tiers."""
    with kp.Tmux(110, 40, command=[kp.PROGRAM, s.node.name], env={"KPROF_COOKIE": s.node.cookie}) as t:
        t.wait_for("attached to", LATER_S)
        t.keys("P")
        screen = t.wait_for(re.compile("Presets for this node|presets for this node are ready"), LATER_S)
        if "are ready" in screen:
            t.keys("P")
            screen = t.wait_for("Presets for this node", LATER_S)
        menu = screen[screen.index("Presets for this node"):]  # the first screen behind it names presets, too
        lines = [x for x in menu.splitlines() if re.match(r"\s*%s +\S" % re.escape(s.preset), x)]
        demand(lines, lambda: "preset %s is not offered:\n%s" % (s.preset, screen))
        demand(not re.search(r"\d+ of \d+ tiers", lines[0]), lambda: "not complete: " + lines[0].strip())
        t.keys("Escape", "q")
        kp.until(LATER_S, lambda: t.get("pane_dead") == "1", what=lambda: "its end: " + t.screen())
    clean(s)


def clean(s):
    last = [""]

    def look():
        last[0] = s.left() if s.lives() else "dead"
        return last[0] in ("[]", "dead")
    try:
        kp.until(LATER_S, look, 0.2)
    except kp.Timeout:
        raise Wrong("left on the node: %s" % last[0][:1000]) from None
    if not s.lives():
        raise kp.Harm("the server died: " + s.last_words())


def named(final):
    """{identity: row} of whole requests, without calls of the entry inside of another request."""
    return {r["identity"]: r for r in final["rows"] if r["tier"] == "_total" and r["identity"] is not None and r["count"]}


def identities(s, final, _load):
    rows = named(final)
    odd = [i for i in rows if not any(re.fullmatch(p, i) for p in s.identities)]
    demand(not odd, lambda: "unexpected identities: %s, of %s" % (odd[:10], sorted(rows)))
    demand(rows and len(rows) <= s.most, lambda: "%d identities: %s" % (len(rows), sorted(rows)))
    return "%d: %s" % (len(rows), ", ".join(sorted(rows)))


def allowed(row, sent, most):
    """The possible error of an estimated count if at times only 1 in `most` was traced; 0 if all were."""
    return DEVIATIONS * math.sqrt(sent * (most - 1)) if row["est_count"] != row["count"] else 0


def counts(s, final, load):
    rows = named(final)
    for identity, sent in load.sent.items():
        row = rows.get(identity)
        demand(row, lambda: "%s: %d sent, none counted; counted: %s" % (identity, sent, sorted(rows)))
        most = allowed(row, sent, final["sample_most"]) + s.stray_share * sum(load.sent.values())
        demand(abs(row["est_count"] - sent) <= most, lambda: "%s: %d sent, %d counted, of which %d were traced (possible error: %.0f)" % (
            identity, sent, row["est_count"], row["count"], most))
    lost = sum(load.sent.values()) - entered(s, final)
    demand(lost <= DEVIATIONS * math.sqrt(sum(load.sent.values()) * (final["sample_most"] - 1)), lambda: "%d calls of %s are missing" % (lost, s.entry))
    kp.conserves(final)
    kp.nothing_lost(final)
    return "%d sent, %d counted" % (sum(load.sent.values()), counted(final, load))


def entered(s, final):
    """Calls of the entry, in any request."""
    row = kp.row(final, s.entry)
    return row["est_count"] if row else 0


def disturbed(s, final, load):
    """'' or why this load could not be counted by name on this machine: the breaker opened; or a thread of the VM was
    stopped in a request, while others with its token ran from start to end (kprof.1, CAVEATS). All of these are
    counted as calls of the entry."""
    if final["breaker"]["trips"]:
        return "the breaker opened: %s" % final["breaker"]["reason"]
    short = sum(load.sent.values()) - counted(final, load)
    if final["sample_most"] == 1 and short > 0 and entered(s, final) >= sum(load.sent.values()):
        return "%d requests ran within others" % short
    return ""


def counted(final, load):
    rows = named(final)
    return sum(rows[i]["est_count"] for i in load.sent if i in rows)


def tiers(s, final, _load):
    demand(kp.count(final, s.entry) >= sum(r["count"] for r in named(final).values()), lambda: "%s is not the entry: %d calls" % (
        s.entry, kp.count(final, s.entry)))
    empty = [t for t in s.tiers if not kp.count(final, t)]
    demand(not empty, lambda: "tiers without calls: %s" % empty)
    return ", ".join("%s %d" % (t, kp.count(final, t)) for t in s.tiers)


def errors(_s, final, load):
    demand(load.errors == 0, lambda: "the client had %d errors: %s" % (load.errors, load.said))
    bad = ["%s %s: %d" % (r["tier"], r["identity"], r["errors"]) for r in final["rows"] if r["errors"]]
    demand(not bad, lambda: "calls that ended in an exception: %s" % bad[:10])
    return "0"


CHECKS = {"identities": identities, "counts": counts, "tiers": tiers, "errors": errors}


# ---- one server -----------------------------------------------------------------------------------------------

class Run:
    """A server on one OTP, with the counts of its checks."""

    def __init__(self, cls, otp, o, count):
        self.s, self.otp, self.o, self.count = cls(Place(otp)), otp, o, count
        self.label = "%s, OTP %d" % (cls.name, otp)
        self.rows, self.harm = [], False

    def check(self, what, fn, *args):
        """Runs a check, prints its result, and returns whether it passed."""
        try:
            said = fn(*args)
        except (Wrong, AssertionError) as e:
            self.count["failed"] += 1
            self.harm |= isinstance(e, kp.Harm)
            print("FAIL %s: %s: %s" % (self.label, what, e), flush=True)
            return False
        self.count["passed"] += 1
        print("ok   %s: %s%s" % (self.label, what, " (%s)" % said if said else ""), flush=True)
        return True

    def all_of_it(self):
        s = self.s
        s.place.provide(s.packages[self.otp], packages(self.otp))
        if s.host:
            Place(25).provide(s.host)
        try:
            s.up()
            self.label = "%s %s, OTP %d" % (s.name, s.version(), self.otp)
            s.watch()
            rates = s.rates[:1] if self.o.short else s.rates
            s.load(rates[0], 1)  # done only once
            self.check("preset %s is offered, and complete" % s.preset, offered, s)
            if s.preset in PRESETS:
                self.check("the suggestion", suggested, s, rates[0])
                self.check("clean after the suggestion", clean, s)
            for rate in rates:
                self.at(rate)
        finally:
            s.stop()

    def at(self, rate):
        without, with_it, bare, kept = [], [], [], None
        for turn in range(self.o.turns):
            for traced in ((False, True) if turn % 2 == 0 else (True, False)):
                if traced:
                    figures, final, load = self.traced(rate, turn)
                    with_it.append(figures)
                    kept = (final, load)
                else:
                    without.append(self.plain(rate))
            if self.o.bare:
                bare.append(self.bare(rate, kept[0]))
        self.rows.append(self.row(rate, without, with_it, bare, *kept))

    def plain(self, rate):
        cpu = Cpu(self.s.node, None)
        load = self.s.load(rate, self.o.seconds)
        if load.errors:
            raise CouldNotRun("without kprof-top the client had %d errors: %s" % (load.errors, load.said))
        return {"p99": load.p99_us, "slices": load.slices_us, "node": cpu.taken()[0]}

    def bare(self, rate, final):
        """With a tracer process that discards the same calls."""
        functions = "[%s]" % ",".join("{%s,%s,%s}" % re.fullmatch(r"(.+):(.+)/(\d+)", r["function"]).groups() for r in final["rows"] if "function" in r)
        demand(self.s.eval("real_watch:bare_on(%s)" % functions) == "ok", "the bare tracer begins")
        try:
            return self.plain(rate)
        finally:
            self.s.eval("real_watch:bare_off(%s)" % functions)

    def session(self, rate):
        """One attach with its load: values, the last object, the load, the messages of kprof-top."""
        k = Attached(self.s.node, "--preset", self.s.preset, delay="200ms")
        k.tracing()
        cpu = Cpu(self.s.node, k)
        load = self.s.load(rate, self.o.seconds)
        node, ours, _ = cpu.taken()
        objects = k.end()
        final = dict(objects[-1], sample_most=max(o["sample"] for o in objects))
        return {"p99": load.p99_us, "slices": load.slices_us, "node": node, "ours": ours}, final, load, k.said()

    def traced(self, rate, turn):
        """A session, and all checks of it."""
        s, at = self.s, "%d/s, turn %d: " % (rate, turn + 1)
        lines, rounds = s.log_lines(), s.watched()
        for left in reversed(range(TRIES)):
            figures, final, load, said = self.session(rate)
            why = disturbed(s, final, load)
            if not why:
                break
            say("  %s: %s%s" % (self.label, why, ", once more" if left else ""))
        self.check(at + "the breaker stays closed", lambda: demand(not final["breaker"]["trips"], "it opened in %d attempts: %s" % (
            TRIES, final["breaker"]["reason"])))
        self.check(at + "all of the preset is set", lambda: demand("left out" not in said, said))
        for what, fn in CHECKS.items():
            self.check(at + what, fn, s, final, load)
        self.check(at + "clean afterwards", clean, s)
        self.check(at + "nothing in its logs", lambda: demand(s.log_lines() == lines, lambda: "\n".join(s.log_lines()[len(lines):][:20])))
        kp.until(LATER_S, lambda: s.watched() > rounds, what="the monitor continues")
        return figures, final, load

    def row(self, rate, without, with_it, bare, final, load):
        sent, seen = sum(load.sent.values()), counted(final, load)
        traced = sum(r["count"] for i, r in named(final).items() if i in load.sent)
        p99 = [median([f["p99"] for f in fs]) for fs in (without, with_it)]
        r, of_slices = (median([ratio(b[p], a[p]) for a, b in zip(without, with_it)]) for p in ("p99", "slices"))
        cpu = [median([f["node"] for f in fs]) for fs in (without, with_it)]
        return [self.label.split(",")[0], str(self.otp), number(rate), number(sent), number(seen), number(100 * (seen - sent) / sent, 1) + " %",
                number(100 * traced / seen if seen else None) + " %", number(p99[0]) + " us", number(p99[1]) + " us", number(r, 2), number(of_slices, 2),
                number(cpu[0]) + " %", number(cpu[1]) + " %", number(median([f["ours"] for f in with_it])) + " %",
                *([number(median([f["p99"] for f in bare])) + " us",
                   *(number(median([ratio(b[p], a[p]) for a, b in zip(without, bare)]), 2) for p in ("p99", "slices"))] if bare else [])]


# ---- all ------------------------------------------------------------------------------------------------------

def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--server", default="", help=" ".join(SERVERS))
    p.add_argument("--otp", default="25 27 29")
    p.add_argument("--turns", type=int, default=TURNS)
    p.add_argument("--seconds", type=float, default=SECONDS, help="of each load")
    p.add_argument("--write", metavar="FILE", help="write the table into a Markdown file, between its two markers")
    p.add_argument("--short", action="store_true")
    p.add_argument("--bare", action="store_true")
    o = p.parse_args()
    if o.short:
        o.server, o.otp, o.turns, o.seconds = o.server or " ".join(SHORT), "25", 1, 2
    o.servers = o.server.split() or list(SERVERS)
    o.otps = [int(w) for w in o.otp.split()]
    for word in o.servers:
        if word not in SERVERS:
            p.error("%s: one of %s" % (word, " ".join(SERVERS)))
    return o


def chosen(label):
    """The checks that check.py repeats, or all."""
    only = os.environ.get("KPROF_ONLY")
    if not only:
        return True
    with open(only) as f:
        return label in f.read().splitlines()


def try_one(name, otp, o, count):
    """The rows of its table."""
    label, before = "%s %d" % (name, otp), count["failed"]
    run = Run(SERVERS[name], otp, o, count)
    try:
        run.all_of_it()
    except kp.Skip as e:
        count["skipped"] += 1
        print("skip %s: %s" % (run.label, e), flush=True)
    except Exception as e:
        count["failed"] += 1
        run.harm |= isinstance(e, kp.Harm)
        print("FAIL %s:" % run.label, flush=True)
        traceback.print_exc(limit=-4, file=sys.stdout)
    finally:
        kp.clean_up()
    if count["failed"] > before:
        kp.note_failure(label, run.harm)
    return run.rows


def text_of(rows, o):
    said = (("SERVER", o.server), ("OTP", o.otp if o.otp != "25 27 29" else ""), ("TURNS", str(o.turns) if o.turns != TURNS else ""),
            ("ARGS", " ".join(["--seconds %g" % o.seconds] * (o.seconds != SECONDS) + ["--bare"] * o.bare)))
    command = "make real" + "".join(" %s=%s" % (n, shlex.quote(v)) for n, v in said if v)
    return ("`%s`, %s, %s. Open-loop load of %g s, turns: %d, without and with kprof-top at its default limits. p99: of latencies from the moment a request was"
            " due; medians of the turns; ratio: median of their ratios; column \"of slices\": median p99 of the slices of 250 ms with kprof-top, divided by that without. CPU in percent of one core. Counts are of the last turn.%s\n\n%s" % (
                command, datetime.date.today(), machine(), o.seconds, o.turns, " Bare: a tracer process that discards the same calls." if o.bare else "", table(HEAD + (BARE if o.bare else []), rows)))


def main():
    o, count, rows = options(), {"passed": 0, "failed": 0, "skipped": 0}, []
    began = time.monotonic()
    for name in o.servers:
        for otp in o.otps:
            if otp in SERVERS[name].packages and chosen("%s %d" % (name, otp)):
                rows += try_one(name, otp, o, count)
    if rows:
        text = text_of(rows, o)
        print("\n" + text + "\n")
        if o.write:
            write(o.write, text + "\n", BEGIN, END)
    print("%.0f s" % (time.monotonic() - began))
    print("%d passed, %d failed, %d skipped" % tuple(count[k] for k in ("passed", "failed", "skipped")))
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
