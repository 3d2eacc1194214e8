"""Shared by the node tests: a node with the workload, kprof-top on it, and the comparison with what must be seen."""
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
    if "--max-overhead" not in args:  # the tests load nodes as hard as they can and count every call
        args += ("--max-overhead", "none")
    return kp.Kp("--batch", "--format", "json", "-d", delay, *args, node.name, **kw)


def profile(node, scenario, functions, *args, rule=RULE2):
    """Runs a scenario under kprof-top; what must be seen and the final object."""
    k = attach(node, *tiers(*functions), "-i", rule, *args)
    k.tracing()
    want = node.eval("workload:" + scenario, 60)
    # The heartbeats bring the figures; the end of the run settles what is under way.
    status = k.interrupt()
    assert status == 0, k.saw()
    final = k.final()
    kp.conserves(final)
    kp.nothing_lost(final)
    return want, final, k


def check_rows(want, final):
    """Exactly the counts of the scenario, for every tier and identity, no more and no less."""
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
    """Nothing of a profiler is left, or will be in a moment. How long it takes on a large node is in `make large`."""
    last = [""]

    def look():
        last[0] = node.left_behind()
        return last[0] == ""
    kp.until(60, look, 0.05, what=lambda: "node clean: " + last[0])


def one_sentence(k, status, *words):
    """The exit status and one line on stderr that has the words; no picture of it on stdout."""
    lines = [x for x in k.stderr.splitlines() if x.strip()]
    assert k.proc.returncode == status, "exit %s, wanted %s: %s" % (k.proc.returncode, status, k.saw())
    assert len(lines) == 1, "one line on stderr: " + k.saw()
    for w in words:
        assert w.lower() in lines[0].lower(), "stderr lacks %r: %s" % (w, lines[0])
    assert "\x1b" not in k.stderr
