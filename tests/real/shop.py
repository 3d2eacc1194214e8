"""The shop of the web servers: four kinds of requests, 2,000 ids in the paths."""
import re
import urllib.request

from http_load import http_load
from server import Server, kp

PATHS = ("GET /", "GET /api/item/%", "GET /api/cart/%", "POST /api/order")
IDS = 2000


class Shop(Server):
    """A subclass sets self.port in start(), and the names of the kinds: the identities of PATHS, in this order."""
    kinds = ()
    most = len(PATHS)

    @property
    def identities(self):
        return [re.escape(k) for k in self.kinds]

    def ready(self):
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/api/item/1" % self.port, timeout=kp.LEAST_S) as r:
                return r.status == 200
        except OSError:
            return False

    def load(self, rate, seconds):
        return http_load(self.port, rate, seconds, dict(zip(PATHS, self.kinds)), ids=IDS)
