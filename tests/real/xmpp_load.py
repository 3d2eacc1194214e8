#!/usr/bin/env python3
"""xmpp_load.py PORT HOST RATE SECONDS: open XMPP load on 127.0.0.1. Anonymous clients send messages to each other,
ping the server, and send presence to each other: 8, 1 and 1 of 10 stanzas. A stanza is sent when it is due; its
latency is the time from then until its receiver has it, or until its answer arrives. JSON: sent (by kind), errors,
p50_us, p99_us."""
import json
import re
import selectors
import socket
import sys
import time

CLIENTS = 20
DEADLINE_S = 60
OPEN = "<?xml version='1.0'?><stream:stream to='%s' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"


class Client:
    def __init__(self, port, host, n):
        self.host, self.seen = host, b""
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.talk(OPEN % host, b"</stream:features>")
        self.talk("<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='ANONYMOUS'/>", b"<success")
        self.talk(OPEN % host, b"</stream:features>")
        bound = self.talk("<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>r%d</resource></bind></iq>" % n, b"</iq>")
        self.jid = re.search(rb"<jid>([^<]+)</jid>", bound).group(1).decode()

    def talk(self, text, until):
        """Sends and waits for the answer."""
        self.s.settimeout(DEADLINE_S)
        self.s.sendall(text.encode())
        got = b""
        while until not in got:
            more = self.s.recv(65536)
            if not more or b"<failure" in got or b"<stream:error" in got:
                raise SystemExit("refused: %r" % (got + more)[-300:])
            got += more
        return got

    def marks(self):
        """The numbers of new stanzas, each once."""
        data = self.s.recv(262144)
        if not data:
            raise SystemExit("the server closed a connection")
        self.seen += data
        found, end = [], 0
        for m in re.finditer(rb"""\bid=(?:'k(\d+)'|"k(\d+)")""", self.seen):
            found.append(int(m.group(1) or m.group(2)))
            end = m.end()
        self.seen = self.seen[end:][-4096:]
        return found


def stanza(n, to, host):
    kind = n % 10
    if kind == 0:
        return "iq", "<iq type='get' to='%s' id='k%d'><ping xmlns='urn:xmpp:ping'/></iq>" % (host, n)
    if kind == 5:
        return "presence", "<presence to='%s' id='k%d'/>" % (to, n)
    return "message", "<message to='%s' id='k%d' type='chat'><body>a line of text, number %d</body></message>" % (to, n, n)


def quantile_us(took, q):
    return round(1e6 * sorted(took)[min(len(took) - 1, int(q * len(took)))], 1) if took else None


def main():
    port, host, rate, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    clients = [Client(port, host, n) for n in range(CLIENTS)]
    sel = selectors.DefaultSelector()
    for c in clients:
        c.s.settimeout(None)
        sel.register(c.s, selectors.EVENT_READ, c)
    total, sent, took = int(rate * seconds), {}, []
    start, n, waiting = time.monotonic(), 0, set()
    while n < total or waiting:
        now = time.monotonic()
        while n < total and start + n / rate <= now:
            kind, text = stanza(n, clients[(n + 7) % CLIENTS].jid, host)
            clients[n % CLIENTS].s.sendall(text.encode())
            sent[kind] = sent.get(kind, 0) + 1
            waiting.add(n)
            n += 1
        if now > start + seconds + DEADLINE_S:
            break
        for key, _ in sel.select(max(0, start + n / rate - time.monotonic()) if n < total else 1):
            for mark in key.data.marks():
                if mark in waiting:
                    waiting.remove(mark)
                    took.append(time.monotonic() - (start + mark / rate))
    for c in clients:
        c.s.sendall(b"</stream:stream>")
    each = max(100, int(rate / 4))  # as latency_slices_us of latency.h
    slices = [quantile_us(took[i:i + each], 0.99) for i in range(0, len(took) - each + 1, each)]
    print(json.dumps({"sent": sent, "errors": len(waiting), "slices_us": sorted(slices)[len(slices) // 2] if slices else None,
                      "p50_us": quantile_us(took, 0.5), "p99_us": quantile_us(took, 0.99)}))


main()
