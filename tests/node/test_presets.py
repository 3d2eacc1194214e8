"""Presets on modules that have the functions of the real servers: the rules compile on the node and name the requests."""
import kp
from common import attach, clean

# preset, tiers that must have calls, identities with their counts for one round of calls
PRESETS = (
    ("cowboy", ("request", "routing", "handler"), {"GET shop_h": 1}),
    ("plug", ("request", "send"), {"GET /items/*": 1}),
    ("phoenix", ("router", "send"), {"GET /items/:id": 1}),
    ("phoenix16", ("router", "send"), {"GET /items/:id": 1}),
    ("yaws", ("request",), {"GET /items/*": 1}),
    ("rabbitmq", ("channel", "route"), {"basic.publish": 1, "queue_event": 1}),
    ("ejabberd", ("stanza", "router"), {"iq": 1}),
    ("gen_server:shop_server", ("call", "cast"), {"get": 1, "stop": 1, "put": 1}),
)


def test_presets_name_requests():
    with kp.Node(25) as n:
        n.eval("fakes:load()")
        for preset, tiers, identities in PRESETS:
            k = attach(n, "--preset", preset, delay="100ms")
            k.tracing()
            n.eval("fakes:call(%s, 10)" % preset.split(":")[0])
            assert k.interrupt() == 0, k.saw()
            final = k.final()
            kp.conserves(final)
            for tier in tiers:
                assert kp.count(final, tier) > 0, (preset, tier, final["rows"])
            seen = {}
            for r in final["rows"]:
                if r["identity"] and r["identity"] != "undefined" and r["tier"] in ("_total", "call", "cast"):
                    seen[r["identity"]] = max(seen.get(r["identity"], 0), r["count"])
            assert seen == {i: 10 * c for i, c in identities.items()}, (preset, seen)
        clean(n)
