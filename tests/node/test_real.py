"""Self-test of make real: each check fails when it must, and the client measures a stall."""
import copy
import os
import socketserver
import sys
import threading
import time

import kp

sys.path[:0] = [os.path.join(kp.ROOT, "tests", "real")]
import real  # noqa: E402
from http_load import http_load  # noqa: E402
from server import Load  # noqa: E402
from yaws import Yaws  # noqa: E402

SENT = {"GET /": 100, "GET /api/item/*": 100}
LOAD = Load(SENT, 0, 1, 2, 2)
SERVER = Yaws(None)  # never started


def final(sample=1):
    """A last object in which all is well."""
    def row(tier, identity, n):
        return {"tier": tier, "identity": identity, "count": n // sample, "est_count": n, "errors": 0}
    rows = [row("_total", i, n) for i, n in SENT.items()] + [row("request", None, sum(SENT.values()))]
    rows += [row(t, i, n) for t in Yaws.tiers for i, n in SENT.items()] + [row(t, None, 200) for t in Yaws.tiers[1:]]
    return {"rows": rows, "sample_most": sample, "lost": {"target": 0, "ring": 0},
            "calls": {"received": 800, "aggregated": 800, "open": 0, "expired": 0, "unattributed": 0}}


def fails(check, f, load=LOAD):
    try:
        check(SERVER, f, load)
    except (real.Wrong, AssertionError):
        return True
    return False


def with_row(tier, identity, sample=1, **change):
    f = final(sample)
    for r in f["rows"]:
        if (r["tier"], r["identity"]) == (tier, identity):
            r.update(change)
    return f


def test_each_check_can_fail():
    for check in real.CHECKS.values():
        assert not fails(check, final()), check.__name__
        assert not fails(check, final(10)), check.__name__
    more = final()
    more["rows"].append({"tier": "_total", "identity": "GET /api/item/7", "count": 1, "est_count": 1, "errors": 0})
    assert fails(real.identities, more)
    assert fails(real.identities, {**final(), "rows": []})
    assert fails(real.counts, with_row("_total", "GET /", count=99, est_count=99))
    assert fails(real.counts, with_row("_total", "GET /", count=101, est_count=101))
    assert fails(real.counts, with_row("_total", "GET /", count=0, est_count=0))
    assert not fails(real.counts, with_row("_total", "GET /", 10, est_count=90))  # 1 in 10, of 100
    assert fails(real.counts, with_row("_total", "GET /", 2, est_count=160))
    for part, key in (("lost", "ring"), ("lost", "target"), ("calls", "received")):
        f = copy.deepcopy(final())
        f[part][key] += 1
        assert fails(real.counts, f), (part, key)
    assert fails(real.counts, with_row("request", None, est_count=199))
    assert fails(real.tiers, with_row("file", None, count=0))
    assert fails(real.tiers, with_row("request", None, count=150))
    assert fails(real.errors, with_row("send", "GET /", errors=1))
    assert fails(real.errors, final(), Load(SENT, 1, 1, 2, 2))


def test_what_is_tried_again():
    """A check is tried again only if a busy machine can explain the failure; missing calls are always a failure."""
    def why(**rows):
        f = final(rows.pop("sample", 1))
        f["breaker"] = {"trips": rows.pop("trips", 0), "reason": "age"}
        for r in f["rows"]:
            if (r["tier"], r["identity"]) in (("_total", "GET /"), ("request", None)):
                r["est_count"] -= rows.get(r["tier"], 0)
        return real.disturbed(Yaws, f, LOAD)
    assert why() == ""
    assert "breaker" in why(trips=1)
    assert "2 requests ran within others" in why(_total=2)
    assert why(_total=2, request=1) == ""
    assert why(_total=2, sample=10) == ""
    assert why(_total=-2) == ""


class Shop(socketserver.ThreadingTCPServer):
    """Answers on many connections; all of them stall once. Every tenth answer may be wrong."""
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 64

    def __init__(self, stall_s=0, wrong=False):
        super().__init__(("127.0.0.1", 0), Answers)
        self.gate, self.seen, self.stall_s, self.wrong = threading.Lock(), 0, stall_s, wrong
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answers(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            with self.server.gate:
                self.server.seen += 1
                if self.server.seen == 50:
                    time.sleep(self.server.stall_s)
                status = "500 Wrong" if self.server.wrong and self.server.seen % 10 == 0 else "200 OK"
            self.wfile.write(("HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\nok" % status).encode())


def test_the_client_sees_a_stall():
    """Of 200 requests in a second some 100 are due while the server stands still: a closed loop would see a few."""
    with Shop(stall_s=0.5) as shop:
        load = http_load(shop.server_address[1], 200, 1, {"GET /a/%": "a", "POST /b": "b"}, ids=10)
        shop.shutdown()
    assert load.sent == {"a": 100, "b": 100} and load.errors == 0 and shop.seen == 200, (load.sent, load.errors, shop.seen)
    assert load.p99_us > 400000 and load.p50_us > 0, (load.p50_us, load.p99_us)


def test_the_client_counts_errors():
    with Shop(wrong=True) as shop:
        load = http_load(shop.server_address[1], 200, 0.5, {"GET /": "a"})
        shop.shutdown()
    assert load.sent == {"a": 100} and load.errors == 10 and "500" in load.said, (load.sent, load.errors, load.said)
