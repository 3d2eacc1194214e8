"""Open HTTP load on a port of this machine: runs http_load.c and reads its output."""
import json
import subprocess

from server import Load, compiled, kp

CONNECTIONS = 32
GRACE_S = 60


def http_load(port, rate, seconds, names, ids=1, headers=()):
    """names: {"METHOD /path with % for an id": expected identity}; the kinds in turn, with ids 1 .. ids."""
    argv = [compiled("http_load"), str(port), str(rate), str(seconds), str(CONNECTIONS), str(ids)]
    for h in headers:
        argv += ["-H", h]
    r = subprocess.run(argv + list(names), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=kp.patient(seconds + GRACE_S))
    assert r.returncode == 0, "http_load: exit %d: %s" % (r.returncode, r.stderr)
    out = json.loads(r.stdout)
    sent = {}
    for n, identity in zip(out["sent"], names.values()):
        sent[identity] = sent.get(identity, 0) + n
    return Load(sent, out["errors"], out["p50_us"], out["p99_us"], out["slices_us"], r.stderr.strip())
