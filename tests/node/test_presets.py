"""Presets on modules with the functions of real servers: the rules compile on the node and name the requests."""
import kp
from common import attach, clean

# preset, tiers that must have calls, identities with their counts for one round of calls
PRESETS = (
    ("cowboy", ("request", "routing", "handler"), {"GET shop_h": 1}),
    ("plug", ("request", "send"), {"GET /items/*": 1}),
    ("phoenix", ("router", "send"), {"GET /items/:id": 1}),
    ("phoenix16", ("router", "send"), {"GET /items/:id": 1}),
    ("yaws", ("request", "send"), {"GET /items/*": 1}),
    ("rabbitmq", ("channel", "route", "deliver"), {"basic.publish": 1, "queue_event": 1, "terminate": 1}),
    ("ejabberd", ("stanza", "router"), {"iq": 1}),
    ("gen_server:shop_server", ("call", "cast"), {"get": 1, "stop": 1, "put": 1}),
    ("gen_statem:shop_door", ("event",), {"call push": 1, "cast lock": 1, "timeout": 1, "info tcp": 1}),
    ("liveview", ("event", "mount", "render", "diff"),
     {"Shop.CartLive add": 1, "Shop.CartLive live_patch": 1, "Shop.CartLive stock": 1, "Phoenix.Channel": 1}),
    ("ecto", ("query", "change", "sql", "checkout", "prepare", "execute"), {"items": 1, "insert orders": 1}),
    ("oban", ("job", "perform", "report", "complete"), {"Shop.Mailer": 1}),
    ("phoenix,ecto", ("router", "send", "query", "change", "checkout"), {"GET /items/:id": 1}),
)
NAMED = ("_total", "call", "cast", "event", "query", "change")  # tiers whose calls a rule names


def test_presets_name_requests():
    with kp.Node(25) as n:
        n.eval("fakes:load()")
        for preset, tiers, identities in PRESETS:
            k = attach(n, "--preset", preset, delay="100ms")
            k.tracing()
            n.eval("fakes:call('%s', 10)" % preset.split(":")[0])
            assert k.interrupt() == 0, k.saw()
            final = k.final()
            kp.conserves(final)
            for tier in tiers:
                assert kp.count(final, tier) > 0, (preset, tier, final["rows"])
            seen = {}
            for r in final["rows"]:
                if r["identity"] and r["identity"] != "undefined" and r["tier"] in NAMED:
                    seen[r["identity"]] = max(seen.get(r["identity"], 0), r["count"])
            assert seen == {i: 10 * c for i, c in identities.items()}, (preset, seen)
        clean(n)


# Modules that the node does not have: a preset works without some of them.
HALF = (
    ("liveview", ("Elixir.Phoenix.LiveView.Diff",), ("Elixir.Phoenix.LiveView.Diff", "Elixir.Phoenix.LiveView.Utils"),
     "only 2 of its 5 tiers"),
    ("ecto", ("Elixir.DBConnection.Holder",), ("Elixir.Ecto.Adapters.SQL",), "the node has no Ecto.Adapters.SQL.execute/6"),
    ("oban", ("Elixir.Oban.Engine",), ("Elixir.Oban.Queue.Executor",), "the node has no Oban.Queue.Executor.call/1"),
)


def without(n, modules):
    n.eval("[{code:purge(M), code:delete(M), code:purge(M)} || M <- [%s]], ok" % ", ".join("'%s'" % m for m in modules))


def test_half_of_an_elixir_preset_is_enough():
    with kp.Node(25) as n:
        for preset, spare, much, why in HALF:
            n.eval("fakes:load()")
            without(n, spare)
            k = attach(n, "--preset", preset, delay="100ms")
            k.tracing()
            assert k.interrupt() == 0, k.saw()
            assert LEFT_OUT in k.stderr, k.saw()
            without(n, much)
            k = attach(n, "--preset", preset)
            k.wait(60)
            assert k.proc.returncode == 1 and why in k.stderr, k.saw()
        clean(n)


IDS = 2000
PATHS = {"GET /api/item/*": IDS, "GET /user/*/orders": IDS, "POST /cart": IDS, "GET /": IDS}
SHOP = (("cowboy", {"GET item_h": IDS, "GET orders_h": IDS, "POST cart_h": IDS, "GET home_h": IDS}), ("plug", PATHS), ("yaws", PATHS))


def test_a_shop_with_many_ids_has_few_identities():
    """2,000 ids in the path: four identities, and no requests in (other)."""
    with kp.Node(25) as n:
        n.eval("fakes:load()")
        for preset, identities in SHOP:
            k = attach(n, "--preset", preset, "--max-overhead", "none", delay="100ms")
            k.tracing()
            n.eval("fakes:shop(%s, %d)" % (preset, IDS), 60)
            assert k.interrupt() == 0, k.saw()
            final = k.final()
            kp.conserves(final)
            seen = {r["identity"]: r["count"] for r in final["rows"] if r["tier"] == "_total" and r["identity"] and r["count"]}
            assert seen == identities and not final.get("odd", {}).get("identities_folded", 0), (preset, seen)
        clean(n)


LEFT_OUT = "left out, because the node has not loaded them: "


def rabbit(n, *options):
    """One round of calls with the preset; returns the last object and the messages about tiers."""
    k = attach(n, "--preset", "rabbitmq", *options, delay="100ms")
    k.tracing()
    n.eval("fakes:call(rabbitmq, 10)")
    assert k.interrupt() == 0, k.saw()
    return k.final(), k.stderr


def test_a_tier_is_the_function_that_the_node_has():
    with kp.Node(25) as n:
        for which, more in (("old", ()), ("new", ("-t", "own=fakes:call/2"))):
            n.eval("[code:delete(M) andalso code:purge(M) || M <- [rabbit_exchange, rabbit_queue_type]], ok")
            n.eval("fakes:load_rabbit(%s, [rabbit_exchange, rabbit_queue_type, rabbit_amqqueue_process, rabbit_writer])" % which)
            final, said = rabbit(n, *more)
            tiers = {r["tier"] for r in final["rows"]}
            assert tiers >= {"channel", "route", "deliver", "queue", "get", "writer"}, tiers
            assert not tiers & {"backing", "store"}, tiers  # the node does not have these tiers, so they are left out
            for tier in ("channel", "route", "deliver"):
                assert kp.count(final, tier) == 30, (which, tier, final["rows"])
            line = [x for x in said.splitlines() if LEFT_OUT in x]
            assert len(line) == 1 and "backing (rabbit_variable_queue:publish/5 or rabbit_variable_queue:publish/6), store (" in line[0], said
            assert "no module" not in said and "no function" not in said, said
        clean(n)


def test_too_little_of_a_preset_is_refused():
    with kp.Node(25) as n:
        n.eval("fakes:load_rabbit(old, [rabbit_exchange, rabbit_queue_type])")
        k = attach(n, "--preset", "rabbitmq")
        k.wait(60)
        assert k.proc.returncode == 1, k.saw()
        assert "preset rabbitmq: the node has only 3 of its 8 tiers" in k.stderr, k.saw()
        assert n.eval("code:is_loaded(pg)") is False
        k = attach(n, "--preset", "gen_server:pg")  # it is in the node's code path, but kprof-top loads nothing
        k.wait(60)
        assert k.proc.returncode == 1 and "preset gen_server: the node has no pg:handle_call/3" in k.stderr, k.saw()
        assert n.eval("code:is_loaded(pg)") is False
        clean(n)
