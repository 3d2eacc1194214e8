"""A TCP proxy in front of a node. It simulates the network: a test can stop it (freeze), resume it (thaw) and cut connections."""
import select
import socket
import struct
import threading


class Proxy:
    def __init__(self, to_port, cut_after_bytes=None):
        """cut_after_bytes: the connection is cut after this many bytes from its client."""
        self.to_port = to_port
        self._left = cut_after_bytes
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._wake_r, self._wake_w = socket.socketpair()
        self._lock = threading.Lock()
        self._pairs = {}  # socket -> its other side
        self._from_us = set()
        self._frozen = self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _poke(self):
        self._wake_w.send(b"x")

    def freeze(self):
        """Stops forwarding, without a notice to either side."""
        self._frozen = True
        self._poke()

    def thaw(self):
        self._frozen = False
        self._poke()

    def cut(self):
        """Resets both sides."""
        with self._lock:
            for s in self._pairs:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._drop_all()

    def close(self):
        self._closed = True
        self._poke()
        self._thread.join(10)
        self._drop_all()
        self._listener.close()

    def _drop_all(self):
        with self._lock:
            for s in self._pairs:
                s.close()
            self._pairs.clear()
        self._poke()

    def _drop(self, s):
        with self._lock:
            other = self._pairs.pop(s, None)
            self._pairs.pop(other, None)
        for x in (s, other):
            if x is not None:
                x.close()

    def _accept(self):
        a, _ = self._listener.accept()
        try:
            b = socket.create_connection(("127.0.0.1", self.to_port), 5)
        except OSError:
            a.close()
            return
        for s in (a, b):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._pairs[a], self._pairs[b] = b, a
            self._from_us.add(a)

    def _carry(self, s):
        other = self._pairs.get(s)
        try:
            data = s.recv(65536)
            if self._left is not None and s in self._from_us:
                data = data[:self._left]
                self._left -= len(data)
            if other is not None and data:
                other.sendall(data)
                if self._left != 0:
                    return
        except OSError:
            pass
        self._drop(s)

    def _run(self):
        while not self._closed:
            with self._lock:
                live = [] if self._frozen else [s for s in self._pairs if s.fileno() >= 0]
            try:
                ready, _, _ = select.select([self._wake_r, self._listener] + live, [], [], 1)
            except (OSError, ValueError):  # a connection was cut in the meantime
                continue
            for s in ready:
                if s is self._wake_r:
                    s.recv(100)
                elif s is self._listener:
                    self._accept()
                else:
                    self._carry(s)
