"""Heat map and bars on terminals with many colors, with eight and with none: two durations per row only with Unicode
and 256 colors. A replay, so without a node."""
import os
import re
import subprocess

import kp
from common import Top

DEMO = os.path.join(kp.ROOT, "tests", "golden", "demo.rec")
HALVES = "\u2580\u2584"
ANY_COLOUR = r"\x1b\[[0-9;:]*[34]8[;:]2[;:]"
OF_256 = r"\x1b\[[0-9;:]*[34]8[;:]5[;:]"


def direct_terminal():
    """TERMINFO with a direct-color terminal: not every machine has xterm-direct."""
    directory = os.path.join(kp.scratch(), "terminfo")
    source = os.path.join(kp.scratch(), "direct.ti")
    with open(source, "w") as f:
        f.write("""kprof-direct|any color,
	RGB, colors#0x1000000, pairs#0x7FFF, ccc@, initc@,
	setaf=\\E[%?%p1%{8}%<%t3%p1%d%e38:2::%p1%{65536}%/%d:%p1%{256}%/%{255}%&%d:%p1%{255}%&%d%;m,
	setab=\\E[%?%p1%{8}%<%t4%p1%d%e48:2::%p1%{65536}%/%d:%p1%{256}%/%{255}%&%d:%p1%{255}%&%d%;m,
	use=xterm-256color,
""")
    subprocess.run(["tic", "-x", "-o", directory, source], check=True, stderr=subprocess.PIPE)
    return {"TERMINFO": directory, "TERMINFO_DIRS": directory}


def heat_map(term, locale="C.UTF-8", env=None, args=()):
    """The heat map and the distribution, as text and with their sequences."""
    with Top(size=(100, 30), term=term, locale=locale, env=env, node=False, args=["--replay", DEMO, *args]) as top:
        top.see(re.compile(r"^\W*handle\b.*[1-9]", re.M), 30)
        top.see(re.compile(r"REPLAY ended"), 30)
        top.keys("H")
        top.see(re.compile(r"^_total .*per column", re.M))
        screen = top.see(re.compile(r"^\d+ of \S+-\S+ ", re.M))
        styled = top.t.styled()
        top.keys("D")
        top.see("calls by duration")
        bars = top.t.styled()
        top.quit()
    return screen, styled, bars


@kp.each("tmux-256color", "xterm-256color")
def test_256_colors(term):
    screen, styled, bars = heat_map(term)
    assert any(h in screen for h in HALVES), screen
    assert len(set(re.findall(OF_256 + r"(\d+)", styled))) >= 5, "shades:\n" + styled
    assert not re.search(ANY_COLOUR, styled)
    assert re.search(r"1 %s+ \d+ calls" % HALVES[0], screen), "what the shades mean:\n" + screen
    assert re.search(OF_256, bars), bars


def test_any_color():
    screen, styled, bars = heat_map("kprof-direct", env=direct_terminal())
    assert any(h in screen for h in HALVES), screen
    assert len(set(re.findall(ANY_COLOUR + r":?([\d;:]+)", styled))) >= 5, "shades:\n" + styled
    assert re.search(ANY_COLOUR, bars), bars


@kp.each(("xterm", "C.UTF-8"), ("vt100", "C.UTF-8"), ("xterm-256color", "C"))
def test_few_colors_or_ascii(term, locale):
    screen, styled, bars = heat_map(term, locale)
    assert not any(h in screen for h in HALVES), screen
    assert re.search("[@#*]" if locale == "C" else "[\u2591\u2592\u2593\u2588]", screen), screen
    if term != "xterm-256color":
        assert not re.search(OF_256 + "|" + ANY_COLOUR, styled + bars), styled


def test_theme_of_eight_colors():
    with Top(size=(100, 30), node=False, args=["--replay", DEMO]) as top:
        top.see(re.compile(r"REPLAY ended"), 30)
        top.keys("H")
        top.see(re.compile(r"^\d+ of \S+-\S+ ", re.M))
        assert any(h in top.t.screen() for h in HALVES)
        dark = set(re.findall(OF_256 + r"(\d+)", top.t.styled()))
        top.keys("T")
        top.see("colors: light")
        light = set(re.findall(OF_256 + r"(\d+)", top.t.styled()))
        assert len(dark) >= 5 and len(light) >= 5, (dark, light)
        top.keys("T")
        top.see("colors: 8")
        assert not any(h in top.t.screen() for h in HALVES), top.t.screen()
        top.quit()
