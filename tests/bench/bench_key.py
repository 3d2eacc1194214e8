#!/usr/bin/env python3
"""Response time of a key while 100,000 events/s arrive: from writing the byte to a pty to reading kprof-top's redraw; and
the longest time without a redraw while a key is held. Limits: 50 ms, 250 ms; above, the exit status is 1.

Environment: KPROF_TOP (the program), KPROF_BENCH_KEYS (50)."""
import fcntl
import os
import pty
import random
import select
import statistics
import struct
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import kp  # noqa: E402

ROWS, COLS = 60, 200
WORKERS, BURST, EVENTS_A_REQUEST = 9, 18, 8  # a burst about every 11 ms; four calls and their returns
TIERS = ("entry/1", "t1/1", "t2/1", "t3/1")
# Each key, and a text that is on the screen only after it.
KEYS = ((b"?", b"how long each layer"), (b"q", b"TRACING ON"))
GIVE_UP_S = 10
ANSWER_MS, STILL_MS = 50, 250
HELD_S, HELD_RATE = 5, 30


class Terminal:
    def __init__(self, argv, env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(argv[0], argv, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLS, 0, 0))

    def read(self, wait_s):
        ready = select.select([self.fd], [], [], wait_s)[0]
        return os.read(self.fd, 65536) if ready else b""

    def until(self, what, deadline_s=GIVE_UP_S):
        """Seconds until these bytes have arrived."""
        begun, got = time.monotonic(), b""
        while what not in got:
            if time.monotonic() - begun > deadline_s:
                raise SystemExit("bench_key: %r did not appear within %d s; the last bytes: %r" % (what, deadline_s, got[-600:]))
            got += self.read(0.5)
        return time.monotonic() - begun

    def answer_ms(self, key, what):
        """First reads all output for a random time, so that the key comes at any time between two redraws."""
        end = time.monotonic() + random.uniform(0.1, 0.4)
        while time.monotonic() < end:
            self.read(max(0, end - time.monotonic()))
        begun = time.monotonic()
        os.write(self.fd, key)
        self.until(what)
        return (time.monotonic() - begun) * 1e3

    def still_ms(self, seconds, rate):
        """Repeats a key in an input line, as a terminal does, so that each changes the screen: returns the longest
        time without output."""
        begun = last = time.monotonic()
        longest, sent = 0, 0
        while last - begun < seconds:
            now = time.monotonic()
            if now - begun >= sent / rate:
                os.write(self.fd, b"abcdefgh"[sent % 8:sent % 8 + 1])
                sent += 1
            if self.read(max(0, begun + sent / rate - time.monotonic())):
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
            elif time.monotonic() - last > GIVE_UP_S:
                raise SystemExit("bench_key: no redraw for %d s while a key is held" % GIVE_UP_S)
        return longest * 1e3

    def cpu_s(self):
        with open("/proc/%d/stat" % self.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loaded_node():
    subprocess.run(["erlc", "-o", kp.scratch(), os.path.join(HERE, "relay_load.erl")], check=True)
    node = kp.Node(25, spin=True)
    node.eval('begin code:add_path("%s"), persistent_term:put(relay_load, counters:new(1, [])), '
              '[spawn(relay_load, worker, [requests, %d]) || _ <- lists:seq(1, %d)], ok end' % (kp.scratch(), BURST, WORKERS))
    return node


def main():
    node = loaded_node()
    argv = [kp.PROGRAM, "--max-overhead", "none", "-i", "relay_load:entry/1 arg(1)"]
    for t in TIERS:
        argv += ["-t", "relay_load:" + t]
    env = {"PATH": os.environ["PATH"], "HOME": kp.scratch(), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "KPROF_COOKIE": kp.COOKIE}
    t = Terminal(argv + [node.name], env)
    kp.at_end(lambda: os.kill(t.pid, 9))
    t.until(b"TRACING ON", 60)
    count = "counters:get(persistent_term:get(relay_load), 1)"
    begun, requests, cpu = time.monotonic(), node.eval(count), t.cpu_s()
    n = int(os.environ.get("KPROF_BENCH_KEYS", "50"))
    waits = [t.answer_ms(*KEYS[i % 2]) for i in range(n)]
    took = time.monotonic() - begun
    rate = (node.eval(count) - requests) * EVENTS_A_REQUEST / took
    print("a key while %s events/s arrive, screen of %dx%d: response after %.1f ms (median of %d), at most %.1f ms (limit: %d ms); "
          "kprof-top used %.0f %% of a core" % (format(round(rate), ","), COLS, ROWS, statistics.median(waits), n, max(waits), ANSWER_MS,
                                              (t.cpu_s() - cpu) / took * 100))
    if n % 2:
        t.answer_ms(*KEYS[1])
    t.answer_ms(b"/", b"Filter")
    still = t.still_ms(HELD_S, HELD_RATE)
    print("a held key, %d times per second: at most %.0f ms without a redraw (limit: %d ms)" % (HELD_RATE, still, STILL_MS))
    os.write(t.fd, b"\nq")
    t.until(b"\x1b[?1049l", 20)
    return 1 if max(waits) > ANSWER_MS or still > STILL_MS else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        kp.clean_up()
