"""Shared by the node tests: a node with the workload, kprof-top on it, and checks of the results."""
import kp

OTPS = (25, 27, 29)
RULE = "workload:request/1 arg(1)"
RULE2 = "workload:request/2 arg(1)"


def workload_node(otp, **kw):
    n = kp.Node(otp, **kw)
    n.eval("workload:start()")
    return n


def tiers(*functions):
    """--tier options NAME=workload:NAME/ARITY; the first is the entry."""
    args = []
    for f in functions:
        args += ["-t", "%s=workload:%s" % (f.split("/")[0], f)]
    return args


def attach(node, *args, delay="200ms", **kw):
    if "--max-overhead" not in args:  # the tests use the whole CPU of the node and count every call
        args += ("--max-overhead", "none")
    return kp.Kp("--batch", "--format", "json", "-d", delay, *args, node.name, **kw)


def profile(node, scenario, functions, *args, rule=RULE2):
    """Runs a scenario under kprof-top; returns the expected values, the final object and the run."""
    k = attach(node, *tiers(*functions), "-i", rule, *args)
    k.tracing()
    want = node.eval("workload:" + scenario, 60)
    # Heartbeats bring the values; the end of the run finalizes open requests.
    status = k.interrupt()
    assert status == 0, k.saw()
    final = k.final()
    kp.conserves(final)
    kp.nothing_lost(final)
    return want, final, k


def check_rows(want, final):
    """The counts of every tier and identity must equal those of the scenario."""
    seen = {}
    for r in final["rows"]:
        if r["identity"] is not None and r["tier"] != "_total" and r["count"]:
            seen.setdefault(r["tier"], {})[r["identity"]] = r["count"]
    wanted = {t: ids for t, ids in want["rows"].items() if ids}
    assert seen == wanted, "rows differ\nseen:   %s\nwanted: %s" % (seen, wanted)
    for tier, ids in wanted.items():
        assert kp.count(final, tier) == sum(ids.values()), \
            "total of %s: %s" % (tier, kp.row(final, tier))
    for r in final["rows"]:
        assert r["est_count"] == r["count"], "not sampled, so: %s" % r
    requests = final["requests"]
    assert requests["started"] == want["requests"], "requests %s, wanted %d" % (requests, want["requests"])
    assert requests["started"] == requests["finished"] + requests["open"] + requests["expired"], requests


def clean(node):
    """Waits until nothing of a profiler is left. `make large` measures how long this takes on a large node."""
    last = [""]

    def look():
        last[0] = node.left_behind()
        return last[0] == ""
    kp.until(60, look, 0.05, what=lambda: "node clean: " + last[0])


def one_sentence(k, status, *words):
    """Checks the exit status, and that stderr is one line that contains the words."""
    lines = [x for x in k.stderr.splitlines() if x.strip()]
    assert k.proc.returncode == status, "exit %s, wanted %s: %s" % (k.proc.returncode, status, k.saw())
    assert len(lines) == 1, "one line on stderr: " + k.saw()
    for w in words:
        assert w.lower() in lines[0].lower(), "stderr lacks %r: %s" % (w, lines[0])
    assert "\x1b" not in k.stderr
