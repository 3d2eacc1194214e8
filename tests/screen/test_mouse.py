"""The mouse in a real terminal: a click on a title sorts, a click on the key bar quits; --no-mouse disables it."""
import re

from common import Top, options


def click(top, row, col):
    """A press and a release of the left button as xterm reports them (SGR), sent to the pane."""
    top.t._tmux("send-keys", "-l", "\033[<0;%d;%dM\033[<0;%d;%dm" % (col + 1, row + 1, col + 1, row + 1))


def place(screen, text):
    for row, line in enumerate(screen.split("\n")):
        if text in line:
            return row, line.index(text)
    raise AssertionError("no %r in:\n%s" % (text, screen))


def test_clicks():
    with Top() as top:
        top.ready()
        top.see(" P99 ")
        screen = top.t.screen()
        assert top.t.get("mouse_any_flag") == "1"
        click(top, *place(screen, " P99 ")[:1], place(screen, " P99 ")[1] + 2)
        top.see(re.compile("P99\u25bc"))
        click(top, *place(top.t.screen(), "q quit"))
        assert top.ended() == 0
    with Top(args=options() + ["--no-mouse"]) as top:
        top.ready()
        assert top.t.get("mouse_any_flag") == "0"
        top.quit()
