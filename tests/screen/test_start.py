"""A session without tiers: three things to do, and what is known of the node."""
import re

import kp
from common import LARGE, Top

TITLE = "No tiers yet: choose what is timed"


def test_presets_that_fit_are_named():
    """The node is queried after attach; nothing is traced for this."""
    with Top(args=[], load=False) as top:
        top.see(TITLE, 30)
        top.see(re.compile(r"^ *P +Presets found here: none$", re.M), 30)
        assert not top.node.ours()["flags"], "nothing is traced yet: %s" % top.node.ours()
        top.quit()
    n = kp.Node(25)
    n.eval("fakes:load()")
    with Top(LARGE, node=False, args=[n.name]) as top:
        top.see(re.compile(r"^ *P +Presets found here: [^:]*cowboy[^:]*rabbitmq", re.M), 30)
        assert "gen_server" not in top.t.screen(), "that is of any module:\n" + top.t.screen()
        top.quit()


def test_search_and_the_busiest():
    """/ searches for functions; functions with calls are listed afterwards."""
    with Top(args=[]) as top:
        top.see(TITLE, 30)
        top.keys("/")
        top.see(re.compile(r"^\d+ functions of \d+ modules", re.M), 60)
        top.keys("workload:req")
        top.see(re.compile(r"^\[ \] workload:request/1 .*[1-9]", re.M), 60)
        top.keys("Escape")
        # request/1, or functions of the suggestion, whose calls were counted, too
        top.see(re.compile(r"^ *a +Busiest functions: workload:[a-z_]+/\d \S+/s", re.M), 30)
        top.keys("a")
        top.see(re.compile(r"^\d+ functions of \d+ modules", re.M), 60)
        top.keys("workload:req")
        top.see(re.compile(r"FUNCTION.*\n\[ \] workload:request/1"), 60)
        top.keys("Enter")
        top.see(re.compile(r"^\W*request\b.*[1-9]", re.M), 30)
        assert TITLE not in top.t.screen()
        top.quit()
