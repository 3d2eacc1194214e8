"""Every key on a live node, in each combination of size, terminal and locale."""
import os
import re
import sys

import kp
sys.path.insert(0, os.path.join(kp.ROOT, "tests", "tools"))
from screenshots import Style  # noqa: E402
from common import LARGE, SMALL, VARIANTS, Top, column, heads, last_head, names  # noqa: E402

OPS = {"create", "read", "update", "delete"}
WINDOWS = ["1s", "10s", "1m", "5m", "30m", "60m", "3h", "run"]


def head_lines(top):
    return "\n".join(top.t.screen().split("\n")[:3])


def window(top):
    m = re.search(r"\bwindow (\w+)", head_lines(top))
    return m.group(1) if m else None


def to_window(top, wanted):
    for _ in range(10):
        now = window(top)
        if now == wanted:
            return
        top.keys("w")
        kp.until(5, lambda: window(top) != now, what=lambda: "w changes the window: " + top.t.screen())
    raise AssertionError("no window %s: %s" % (wanted, top.t.screen()))


def back_home(top):
    """Returns to a live table and quits."""
    top.ready()
    top.quit()


@kp.each(*VARIANTS)
def test_toggle(*variant):
    with Top(*variant) as top:
        top.ready()
        for key in ("t", "Space"):
            top.see("TRACING ON")
            kp.until(5, lambda: top.node.ours()["flags"], what="flags are on")
            top.keys(key)
            top.see("TRACING OFF")
            kp.until(5, lambda: not top.node.ours()["flags"], what="flags are off")
            top.keys(key)
            top.see("TRACING ON")
            kp.until(5, lambda: top.node.ours()["flags"], what="flags are on again")
        top.quit()


@kp.each(*VARIANTS)
def test_window(*variant):
    with Top(*variant) as top:
        top.ready()
        seen = []
        for _ in WINDOWS:
            now = window(top)
            seen.append(now)
            top.keys("w")
            kp.until(5, lambda: window(top) != now)
        assert sorted(seen) == sorted(WINDOWS), seen
        assert window(top) == seen[0], "after all windows the first one again"
        back_home(top)


@kp.each(*VARIANTS)
def test_sort_by_any_column(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("s")
        menu = top.see(re.compile("sort by", re.I))
        for word in ("name", "COUNT", "P50", "P99.9", "SHARE"):
            assert word in menu, menu
        top.keys("Escape")
        top.see(re.compile("sort by", re.I), gone=True)
        top.keys("s", "Down", "Enter")  # by name
        in_order = sorted(["request", "parse", "db", "format", "account", "cache"])
        kp.until(5, lambda: [h for h in heads(top.t.screen()) if h != "_total"] == in_order,
                 what=lambda: "sorted by name: %s\n%s" % (heads(top.t.screen()), top.t.screen()))
        top.keys("s", "Down", "Enter")  # next column: COUNT, where cache has the fewest
        kp.until(5, lambda: last_head(top) == "cache", what=lambda: top.t.screen())
        for _ in range(14):  # each other column can be selected, and has the sort sign
            top.keys("s", "Down", "Enter")
        back_home(top)


@kp.each(*VARIANTS)
def test_filter(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("/", "account", "Enter")
        kp.until(5, lambda: heads(top.t.screen()) == ["account"], what=lambda: top.t.screen())
        top.keys("/", "C-u", "Enter")
        kp.until(5, lambda: "parse" in heads(top.t.screen()), what=lambda: top.t.screen())
        top.keys("/", "nothing like it", "Enter")
        kp.until(5, lambda: "parse" not in heads(top.t.screen()), what=lambda: top.t.screen())
        top.keys("Escape")
        kp.until(5, lambda: "parse" in heads(top.t.screen()), what=lambda: top.t.screen())
        back_home(top)


def table(screen):
    """The lines from the titles of the table on: the header above shows the present state of the node."""
    lines = screen.split("\n")
    return lines[[i for i, x in enumerate(lines) if "COUNT" in x][0]:]


def drawn(top):
    """Waits until the table stays the same."""
    seen = [None, table(top.t.screen())]

    def same():
        seen[:] = [seen[1], table(top.t.screen())]
        return seen[0] == seen[1]
    kp.until(60, same, 0.1)
    return seen[1]


@kp.each(*VARIANTS)
def test_pause(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("p")
        top.see("PAUSED")
        still = drawn(top)
        counts = column(top.t.screen(), "COUNT")
        kp.time.sleep(1.2)  # wait a moment to see that nothing happens
        assert table(top.t.screen()) == still
        top.keys("t")
        top.see("TRACING OFF")
        assert column(top.t.screen(), "COUNT") == counts
        top.keys("t")
        top.see("TRACING ON")
        top.keys("p")
        top.see("PAUSED", gone=True)
        kp.until(5, lambda: column(top.t.screen(), "COUNT") != counts)
        back_home(top)


@kp.each(*VARIANTS)
def test_zero(*variant):
    with Top(*variant) as top:
        top.ready()
        to_window(top, "run")
        assert top.node.eval("workload:load_done()", 30) > 0
        kp.until(10, lambda: column(top.t.screen(), "COUNT").get("request", "0") not in ("0", "-"))
        top.keys("z")
        top.see("y/n")
        top.keys("y")
        kp.until(10, lambda: column(top.t.screen(), "COUNT").get("request", "0") in ("0", "-"),
                 what=lambda: "zero: " + top.t.screen())
        top.quit()


@kp.each(*VARIANTS)
def test_export(*variant):
    path = os.path.join(kp.scratch(), "export-%s.txt" % variant[1])
    with Top(*variant) as top:
        top.ready()
        top.keys("e", "C-u", path, "Enter")
        kp.until(10, lambda: os.path.exists(path) and os.path.getsize(path) > 0, what=lambda: top.t.screen())
        with open(path) as f:
            first = f.read()
        assert "request" in first and "p99" in first.lower() and "\x1b" not in first, first
        assert os.stat(path).st_mode & 0o077 == 0, "for its owner only"
        # It exists: a question; the answer n keeps it.
        with open(path, "w") as f:
            f.write("mine")
        top.keys("e", "C-u", path, "Enter")
        top.see(re.compile(r"exists|overwrite", re.I))
        top.keys("n")
        kp.until(5, lambda: "y/n" not in top.t.screen())
        assert open(path).read() == "mine"
        top.keys("e", "C-u", path, "Enter")
        top.see("y/n")
        top.keys("y")
        kp.until(10, lambda: "request" in open(path).read(), what=lambda: top.t.screen())
        # If nothing can be written, a message says so, and kprof-top continues.
        top.keys("e", "C-u", "/nonexistent/x", "Enter")
        top.see("cannot write /nonexistent/x")
        back_home(top)


def test_an_ending_that_nobody_knows_is_refused():
    """The message lists the known endings, and the name can be edited. In the heat map, the map is exported."""
    path = os.path.join(kp.scratch(), "heat")
    with Top() as top:
        top.ready()
        top.keys("H")
        top.see(re.compile(r"s per column"))
        top.keys("e")
        top.see("Export heat map to file")
        top.keys(path + ".tx", "Enter")
        top.see("unknown extension: use one of .txt .json .csv .prom .hlog")
        top.keys("t", "Enter")
        top.see("written to")
        with open(path + ".txt") as f:
            text = f.read()
        assert "s per column" in text and "errors" in text and "Esc back" not in text, text
        assert os.listdir(os.path.dirname(path)).count("heat.tx") == 0
        top.keys("S", "e", path + ".json", "Enter")
        top.see("slow requests are exported as text: use a name that ends in .txt")
        top.keys("Escape", "q")
        assert top.ended() == 0, top.t.screen()


def test_escape_and_a_key_in_one_packet():
    """Escape and `P` arrive together, as over a slow line: they are two keys, although ESC P begins a control string."""
    with Top() as top:
        top.ready()
        top.keys("?")
        top.see("q close")
        top.t.bytes("1b", "50")
        top.see(re.compile("Presets for this node|presets for this node are ready|no preset"))


def test_escape_and_a_named_key_in_one_packet():
    """Escape and Home arrive together, as over a slow line or on a busy machine: they are two keys."""
    with Top() as top:
        top.ready()
        top.keys("?")
        top.see("q close")
        top.t.bytes("1b", "1b", "4f", "48")
        kp.until(10, lambda: "q close" not in top.t.screen(), what=top.t.screen)


def test_histograms_are_of_the_picture():
    """An export while the screen is paused has the time of the screen, not the present."""
    path = os.path.join(kp.scratch(), "held.hlog")
    with Top() as top:
        top.ready()
        top.see(re.compile(r"window 10s \([3-9]\.\d+s"))  # complete seconds are in the history
        top.keys("p")
        top.see("PAUSED")
        paused = kp.time.time()
        kp.until(10, lambda: kp.time.time() > paused + 4)
        top.keys("e", "C-u", path, "Enter")
        top.see("written to")
        with open(path) as f:
            tags = [line.split(",") for line in f if line.startswith("Tag=")]
        assert any(t[0] == "Tag=request" for t in tags), tags
        for t in tags:
            assert float(t[1]) + float(t[2]) < paused + 1, (paused, t[:4])
        top.quit()


@kp.each(*VARIANTS)
def test_pivot(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("v")
        kp.until(5, lambda: OPS <= set(heads(top.t.screen())), what=lambda: top.t.screen())
        assert "request" not in heads(top.t.screen())
        top.keys("v")
        kp.until(5, lambda: "request" in heads(top.t.screen()), what=lambda: top.t.screen())
        back_home(top)


@kp.each(*VARIANTS)
def test_fold(*variant):
    with Top(*variant) as top:
        top.ready()

        def below():
            return [n for _, n in names(top.t.screen()) if n in OPS]
        had = len(below())
        top.keys("Enter")
        kp.until(5, lambda: len(below()) != had, what=lambda: "Enter folds or unfolds:\n" + top.t.screen())
        top.keys("Enter")
        kp.until(5, lambda: len(below()) == had, what=lambda: top.t.screen())
        back_home(top)


def selected(top):
    """(sign, name) of the row that has another background than the others."""
    style, inside = Style(), False
    for line in top.t.styled().split("\n"):
        picked = None
        for codes, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b\x0e\x0f]+)", line):
            if not text:
                style.apply(codes)
            elif picked is None:
                picked = style.reverse or style.bg is not None
        plain = re.sub(r"\x1b\[[0-9;]*m|[\x0e\x0f]", "", line)
        if inside and picked:
            return re.match(r"(\W*)(\w*)", plain).groups()
        inside = inside or bool(re.match(r"(TIER|IDENTITY)\b", plain))
    return None


@kp.each(*VARIANTS)
def test_moving(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("s", "Down", "Enter", "p")  # sorted by name and paused: only the selection moves
        top.see("PAUSED")
        first = kp.until(5, lambda: selected(top), what=lambda: repr(top.t.styled()))
        pairs = [("Down", "Up"), ("j", "k")]
        if variant[1] != "vt100":  # this terminal does not have these keys
            pairs += [("PageDown", "PageUp"), ("End", "Home")]
        for down, up in pairs:
            top.keys(down)
            kp.until(5, lambda: selected(top) != first, what=lambda: "%s moves:\n%s" % (down, top.t.screen()))
            top.keys(up)
            kp.until(5, lambda: selected(top) == first, what=lambda: "%s moves back:\n%s" % (up, top.t.screen()))
        for key in ("Left", "Right", "h", "l"):
            top.keys(key)
        top.keys("p")
        top.see("PAUSED", gone=True)
        back_home(top)


@kp.each(*VARIANTS)
def test_help(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("?")
        screen = top.see("choose the sort column")
        for word in ("change the window", "only names", "by identity"):
            assert word in screen, screen
        top.keys("End")
        top.see("the slowest tier and the slowest identity of a column")
        top.keys("Escape")
        top.see("the slowest tier and the slowest identity of a column", gone=True)
        back_home(top)


@kp.each(*VARIANTS)
def test_starts_with_no_tier_and_adds_them(*variant):
    """A hint, then tiers typed with completion by the target, then the rule, all while attached."""
    with Top(*variant, args=[]) as top:
        top.see(re.compile(r"\ba\b.*(add|tier)", re.I), 20)
        top.keys("A", "request=workload:request/1", "Enter")
        kp.until(15, lambda: "request" in heads(top.t.screen()), what=lambda: top.t.screen())
        top.keys("A", "workload:pars")
        top.see("parse/1", 15)
        top.keys("Tab")
        top.see("workload:parse/1", 15)
        top.keys("Enter")
        kp.until(15, lambda: "parse" in heads(top.t.screen()), what=lambda: top.t.screen())
        top.ready()
        top.keys("i", "C-u", "workload:request/1 arg(1)", "Enter")
        top.keys("v")
        kp.until(15, lambda: OPS <= set(heads(top.t.screen())), what=lambda: top.t.screen())
        top.quit()
        kp.until(3, lambda: top.node.left_behind() == "", what=lambda: top.node.left_behind())


def test_names_that_clash_are_told_apart():
    """The module is added to equal names, then the arity, as on the command line; the menu shows the functions."""
    with Top(args=["-t", "workload:request/1"]) as top:
        top.ready()
        top.keys("A", "workload:request/2", "Enter")
        top.see(re.compile(r"^\W*workload\.request\b", re.M))
        top.keys("E")
        top.see(re.compile(r"\brequest +workload:request/1"))
        top.see(re.compile(r"\bworkload\.request +workload:request/2"))
        top.keys("Escape")
        top.see("Which tier", gone=True)
        top.keys("End", "d")
        top.see("tier workload.request is removed: it had no calls")
        top.see(re.compile(r"^\W*workload\.request\b", re.M), gone=True)
        top.quit()


@kp.each(*VARIANTS)
def test_remove_a_tier(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("s", "Down", "Enter", "v", "v")
        kp.until(5, lambda: last_head(top) == "request", what=lambda: top.t.screen())
        for _ in range(12):  # moves down to account; how many lines that is depends on the folding
            now = selected(top)
            if now and now[1] == "account":
                break
            top.keys("j")
            kp.until(5, lambda: selected(top) != now, what=lambda: "j moves:\n" + top.t.screen())
        top.keys("d")
        top.see("y/n")
        top.keys("n")
        kp.until(5, lambda: "y/n" not in top.t.screen())
        assert "account" in heads(top.t.screen())
        top.keys("d", "y")
        kp.until(10, lambda: "account" not in heads(top.t.screen()), what=lambda: top.t.screen())
        kp.until(5, lambda: ["workload", "account", 1] not in top.node.ours()["patterns"],
                 what="the pattern is removed with the tier")
        assert ["workload", "parse", 1] in top.node.ours()["patterns"]
        back_home(top)


@kp.each(*VARIANTS)
def test_choose_the_entry(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("E")
        top.see(re.compile("which tier", re.I))
        top.keys("Down", "Enter")  # the second: parse
        to_window(top, "1s")
        # A request is now a call of parse; the other calls come after it.

        def same():
            p50 = column(top.t.screen(), "P50")
            return p50.get("parse", "-") != "-" and p50.get("_total") == p50["parse"]
        kp.until(15, same, what=lambda: top.t.screen())
        top.quit()


@kp.each(*VARIANTS)
def test_wrong_rule_is_shown_and_can_be_mended(*variant):
    with Top(*variant) as top:
        top.ready()
        top.keys("i", "C-u", "fun ({workload,request,[X]}) -> Y end", "Enter")
        top.see(re.compile("unbound"))
        top.keys("C-e", "C-u", "workload:request/1 arg(1)", "Enter")
        top.see("unbound", gone=True)
        top.ready()
        # A wrong rule that was canceled must not affect later actions.
        top.keys("i", "C-u", "fun ({workload,request,[X]}) -> Z end", "Enter")
        top.see(re.compile("variable Z is unbound"))
        top.keys("Escape", "A", "never=workload:never/1", "Enter")
        kp.until(10, lambda: ["workload", "never", 1] in top.node.ours()["patterns"],
                 what=lambda: "the new tier is traced: " + top.t.screen())
        top.see("Identity rule", gone=True)
        back_home(top)


def test_a_rule_that_names_nothing_says_so():
    """For rules without usable names, a message says what is wrong and what to do, until the rule is corrected."""
    with Top(LARGE) as top:
        top.ready()
        top.keys("i", "C-u", "workload:request/1 element(1, arg(1))", "Enter")
        top.see(re.compile(r"has matched none of \d+ calls so far; for a list, use nth\(1, arg\(1\)\); press I"))
        top.keys("i", "C-u", "workload:request/1 [arg(1)]", "Enter")
        top.see(re.compile(r"gives a list or a map, which cannot be a name: for a list, use nth\(1, arg\(1\)\)"))
        top.keys("i", "C-u", "workload:request/1 arg(1)", "Enter")
        top.see("the identity rule is set")
        top.see("which cannot be a name", gone=True)
        top.quit()


def test_a_missing_entry_is_named():
    with Top(args=["-t", "web=workload:nothing/1", "-t", "db=workload:db/1"]) as top:
        top.see(re.compile(r"^\W*db\W+no request begins: entry web does not exist; E", re.M))
        top.keys("E", "Down", "Enter")
        top.see("no request begins", gone=True)
        top.quit()


def test_the_rule_in_force_is_edited():
    """The current rule can be edited, whatever set it; a rule that is too long for a line is not opened."""
    rule = "workload:request/1 arg(1)"
    longer = "fun ({workload,request,[X]}) ->" + " " * 1100 + "X end"
    tiers = ["-t", "request=workload:request/1", "-t", "parse=workload:parse/1"]
    for given, shown in ((rule, rule), ("fun ({workload,request,[X]}) ->\n    X\nend", r"-> X end"), (longer, None)):
        with Top(args=tiers + ["-i", given]) as top:
            top.ready()
            top.see(re.compile(r"^ +create ", re.M))
            for _ in range(2):
                top.keys("i")
                top.see(re.compile("Identity rule: .*" + re.escape(shown)) if shown else
                        "the rule is too long for one line: edit it in a profile")
                top.keys("Enter")
                top.see("Identity rule: ", gone=True)
            top.keys("z", "y", "w")
            top.see(re.compile(r"^ +create +[1-9]", re.M))
            top.quit()


def test_empty_tier_says_why():
    with Top(LARGE, args=["-t", "request=workload:request/1", "-t", "never=workload:never/1", "-t",
                          "typo=workload:reqest/1", "-t", "outside=workload:outside/1"]) as top:
        top.ready()
        top.see(re.compile(r"typo.*no function.*request/1", re.I), 20)
        top.node.eval("workload:outside_load(5)")
        for tier, words in (("never", r"not called"), ("outside", r"only outside of requests")):
            for _ in range(12):
                now = selected(top)
                if now and now[1] == tier:
                    break
                top.keys("j")
                kp.until(5, lambda: selected(top) != now, what=lambda: "j moves:\n" + top.t.screen())
            top.keys("y")
            top.see(re.compile(r"%s.*%s" % (tier, words)), 10)
        top.quit()


def test_slow_calls():
    with Top(LARGE, args=["-t", "request=workload:request/2", "-t", "sleeper=workload:sleeper/1", "-i",
                          "workload:request/2 arg(1)", "--slow", "15ms"], load=False) as top:
        top.see("TRACING ON", 20)
        top.node.eval("workload:sleeping(2,x)")
        top.see(re.compile(r"sleeper.*long|long.*sleeper"), 10)
        top.keys("S")
        top.see(re.compile(r"sleeper.*long|long.*sleeper"), 10)
        top.keys("Enter")
        top.see(re.compile(r"long +[0-9.]+m?s .* of [0-9]+"), 10)
        top.see(re.compile(r"^request .*\n sleeper .*<0\.", re.M), 10)
        top.keys("n", "N", "Escape")
        top.see("SLOW", 10)
        top.keys("s", "C-u", "9s", "Enter") # a threshold that no call exceeds
        top.see("slow-call threshold: 9.00s", 10)
        top.keys("Escape")
        top.see("_total", 10)
        top.quit()


def test_lost_node_comes_back():
    """The loss is reported, kprof-top reconnects with growing delays, and the table stays."""
    with Top(LARGE) as top:
        top.ready()
        name = top.node.name.split("@")[0]
        top.node.kill()
        top.see(re.compile("lost|reconnect", re.I), 20)
        assert "request" in heads(top.t.screen()), top.t.screen()
        again = kp.Node(25, name=name)
        again.eval("workload:start()")
        again.eval("workload:load(4,5)")
        kp.until(40, lambda: again.ours()["flags"], what=lambda: "it traces again: " + top.t.screen())
        top.see("TRACING ON", 20)
        top.ready()
        top.quit()
        kp.until(3, lambda: again.left_behind() == "", what=lambda: again.left_behind())


def test_hostile_names_are_harmless():
    for locale in ("C.UTF-8", "C"):
        with Top(LARGE, locale=locale, args=["-t", "request=workload:request/2", "-t", "cache=workload:cache/1", "-i",
                                             "workload:request/2 arg(1)"], load=False) as top:
            top.see("TRACING ON", 20)
            top.node.eval("workload:hostile(3)", 60)
            top.keys("v")
            screen = top.see(re.compile(r"nnnnnn"), 15)
            assert "mmmmmm" in screen, screen
            assert top.t.get("pane_title") != "owned"
            assert max(map(len, screen.split("\n"))) <= LARGE[0]
            assert "TRACING ON" in screen, "the header is intact:\n" + screen
            top.quit()


def test_demo():
    with Top(SMALL, node=False, args=["--demo"]) as top:
        kp.until(40, lambda: {"handle", "parsing", "db", "accounting", "formatter"} <= set(heads(top.t.screen())),
                 what=lambda: top.t.screen())
        kp.until(20, lambda: column(top.t.screen(), "COUNT").get("db", "0") not in ("0", "-"), what=lambda: top.t.screen())
        top.quit()
