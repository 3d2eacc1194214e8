"""Too many names, and the key that reduces them; a waterfall, and the functions that its functions call."""
import re

from common import Top

ID = re.compile(r"^ +get /item/\d", re.M)
FULL = "names are in use, the rest is (other); n: path or shape"


def test_one_key_makes_few_names():
    with Top(args=["-t", "request=ids:request/2", "-i", "ids:request/2 {arg(1), arg(2)}"], load=False) as top:
        top.node.eval("ids:start()")
        top.see(FULL, 30)
        top.keys("n")
        top.see(re.compile(r"names by path\(\.\.\.\) \(press n to undo\): 64 names become 1: get /item/\* \d+"), 30)
        top.keys("f")
        top.see(re.compile(r"^ +get /item/\* +\d", re.M), 30)
        top.see(FULL, 30, gone=True)
        top.see(ID, 30, gone=True)  # the names of the former rule are removed
        top.keys("M")
        top.see("the identity rule is now: ids:request/2 {arg(1), path(arg(2))}", 10)
        top.keys("Escape", "n")
        top.see("the former rule is in use again: ids:request/2 {arg(1), arg(2)}", 10)
        top.see(ID, 30)
        top.node.eval("ids:stop()")
        top.quit()


def test_a_waterfall_leads_into_what_is_called():
    with Top(args=["-t", "request=workload:request/1", "-i", "workload:request/1 arg(1)", "--slow", "1us"]) as top:
        top.ready()
        top.keys("S")
        top.see(re.compile(r"SLOW \(\d"), 20)
        top.keys("p", "Enter")
        top.see("a callees", 20)
        loaded = top.node.eval("length(code:all_loaded())")
        top.keys("a")
        screen = top.see("functions that workload:request/1 calls", 30)
        assert "ADD TIERS: called by request" in screen, screen
        found = set(re.findall(r"(\S+:\S+/\d+)", screen.split("FUNCTION")[1]))
        assert found >= {"workload:parse/1", "workload:in_process/1", "workload:cache/1", "workload:format/1", "gen_server:call/2"}, screen
        assert "workload:db/1" not in found and "workload:account/1" not in found, screen  # others call these
        top.see(re.compile(r"workload:parse/1.* \d+\.?\d*k?$", re.M), 30)  # calls/s
        assert top.node.eval("length(code:all_loaded())") - loaded <= 1
        top.keys("Escape")
        top.see("a callees", 20)
        top.keys("a")
        top.see("functions that workload:request/1 calls", 30)
        top.keys("parse", "Tab")
        top.see("[x]", 10)
        top.keys("Enter")
        top.see("1 tier added", 10)
        top.keys("p")
        top.see(re.compile(r"^\W*parse\b.*[1-9]", re.M), 30)
        top.quit()
