"""The argument picker: choosing the part of a call that names requests."""
import re

import kp
from common import Top, names

OPS = {"create", "read", "update", "delete"}


def test_point_names_requests():
    with Top(args=["-t", "request=workload:request/1", "-t", "db=workload:db/1", "-t", "never=workload:never/1"]) as top:
        top.ready()
        top.keys("I")  # on _total: the entry
        screen = top.see("NAMES of these 20 calls", 30)
        assert "workload:request/1 arg(1)" in screen, screen
        assert re.search(r"20 of \d+ calls captured in [\d.]+ s", screen), screen
        found = set(re.findall(r"\s\d+ (create|read|update|delete)\b", screen))
        assert found, screen
        top.keys("Enter")
        top.see(re.compile(r"^\W*request\b", re.M), 30)
        top.keys("f", "f")  # a fold by hand turns automatic folding off

        def unfolded():
            """If `f` was pressed before the identities arrived, it has folded them; then this presses `f` again."""
            if re.search(r"^▸ request\b", top.t.screen(), re.M):
                top.keys("f")
            return OPS <= {n for _, n in names(top.t.screen())}
        kp.until(30, unfolded, 0.3, what=lambda: "identities: " + top.t.screen())
        # canceled in the middle; nothing stays set, tracing continues
        top.keys("End", "I")
        top.see(re.compile("0 of 20 calls|not called within 5 s"), 30)
        top.keys("Escape")
        top.see("ARGUMENT PICKER", 30, gone=True)
        kp.until(30, lambda: top.node.ours()["flags"], what="tracing continues")
        top.ready()
        top.quit()
