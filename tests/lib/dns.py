"""dns.py NETNS ADDRESS NAME ANSWER: a name server on port 53 of a network namespace that knows one host, by an IPv4 or
IPv6 address. Prints a line when it answers. Needs root."""
import socket
import struct
import sys

from netns import enter, family

TYPE_A, TYPE_AAAA, NO_SUCH_NAME = 1, 28, 3


def answer(query, known, address):
    name, at = [], 12
    while query[at]:
        name.append(query[at + 1:at + 1 + query[at]].decode("latin1"))
        at += 1 + query[at]
    end = at + 5
    kind = struct.unpack(">H", query[at + 1:at + 3])[0]
    is_known = ".".join(name).lower() == known
    records = b""
    if is_known and kind == (TYPE_AAAA if ":" in address else TYPE_A):
        packed = socket.inet_pton(family(address), address)
        records = b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(packed)) + packed
    flags = 0x8180 if is_known else 0x8180 | NO_SUCH_NAME
    return query[:2] + struct.pack(">HHHHH", flags, 1, bool(records), 0, 0) + query[12:end] + records


def main():
    ns, at, known, address = sys.argv[1:]
    enter(ns)
    server = socket.socket(family(at), socket.SOCK_DGRAM)
    server.bind((at, 53))
    print("ready", flush=True)
    while True:
        query, who = server.recvfrom(4096)
        server.sendto(answer(query, known, address), who)


main()
