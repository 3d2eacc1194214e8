"""An Elixir node: names in Elixir syntax, strings as identities."""
import kp
from common import attach, clean


def loaded(n):
    """kprof-top loads no module, so the node loads these itself."""
    n.eval("[{module, _} = code:ensure_loaded(M) || M <- ['Elixir.Sample.Web', 'Elixir.Sample.Repo']]")


@kp.each("lean", "full")
def test_elixir_names(returns):
    with kp.Node("elixir") as n:
        loaded(n)
        k = attach(n, "-t", "web=Sample.Web.call/1", "-t", "Sample.Repo.get/2", "-t", "Sample.Repo.exists?/1", "-i",
                   "Sample.Web.call/1 map_get(path,arg(1))", "--returns", returns)
        k.tracing()
        made = n.eval('\'Elixir.Sample.Load\':run(100, [<<"/users">>, <<"/\u00fcber"/utf8>>])')
        assert k.interrupt() == 0, k.saw()
        final = k.final()
        kp.conserves(final)
        kp.nothing_lost(final)
        assert final["requests"]["started"] == made == 200, final["requests"]
        tiers = {r["tier"] for r in final["rows"]}
        assert {"web", "get", "exists?"} <= tiers, tiers
        for path in ("/users", "/\u00fcber"):
            for tier in ("web", "get", "exists?", "_total"):
                assert kp.count(final, tier, path) == 100, (tier, path, final["rows"])
        clean(n)


def test_near_names_in_elixir():
    with kp.Node("elixir") as n:
        loaded(n)
        k = kp.run("--batch", "-n", "1", "-d", "200ms", "-t", "Sample.Repo.gett/2", n.name)
        assert "Sample.Repo.get/2" in k.stderr or "get/2" in k.stderr, k.saw()
        clean(n)
