"""Exports for other programs, and --assert."""
import base64
import json
import os
import shutil
import struct
import subprocess
import zlib

import kp
from common import RULE, attach, tiers, workload_node

_recording = []


def recording():
    """One recording for all these tests."""
    if not _recording:
        path = os.path.join(kp.scratch(), "formats.rec")
        with workload_node(25) as n:
            k = attach(n, *tiers("request/1", "db/1", "format/1"), "-i", RULE, "--record", path)
            k.tracing()
            n.eval("workload:counts(300,[create,read],2000)")
            assert k.interrupt() == 0, k.saw()
        _recording.append(path)
    return _recording[0]


def replay(*args):
    return kp.run("--replay", recording(), "--batch", *args)


def rows_of(k):
    return {r["tier"] + ("/" + r["identity"] if r["identity"] else ""): r for r in k.final()["rows"] if r["count"]}


# ---- a reader for HdrHistogram's V2 encoding, for machines without npm ----

def number(data, at):
    v = 0
    for i in range(9):
        b = data[at + i]
        v |= (b if i == 8 else b & 0x7f) << (7 * i)
        if i == 8 or b < 0x80:
            return (v >> 1) ^ -(v & 1), at + i + 1
    raise AssertionError("number without an end")


def decode(text):
    """[(highest value of the cell, count)] by ascending value."""
    packed = base64.b64decode(text)
    cookie, n = struct.unpack(">II", packed[:8])
    assert cookie == 0x1c849314 and n == len(packed) - 8
    plain = zlib.decompress(packed[8:])
    cookie, n, offset, digits, low, _high, ratio = struct.unpack(">IIIIQQd", plain[:40])
    assert (cookie, n, offset, digits, low, ratio) == (0x1c849313, len(plain) - 40, 0, 3, 1, 1.0)
    cells, at, index = [], 40, 0
    while at < len(plain):
        count, at = number(plain, at)
        if count < 0:
            index -= count
            continue
        bucket = max(0, (index >> 10) - 1)
        sub = index if index < 2048 else (index & 1023) + 1024
        cells.append((((sub + 1) << bucket) - 1, count))
        index += 1
    return cells


def quantile(cells, q):
    total, seen = sum(n for _, n in cells), 0
    for value, n in cells:
        seen += n
        if seen >= q * total:
            return value / 1e3
    raise AssertionError("empty")


def close(a, b):
    return abs(a - b) <= max(0.01 * b, 0.002)


def test_hlog_is_read_back():
    """The same p50 and p99 as in JSON, count and maximum too."""
    want = rows_of(replay("--format", "json"))
    path = os.path.join(kp.scratch(), "run.hlog")
    k = replay("--format", "hlog", "-o", path)
    assert k.proc.returncode == 0, k.saw()
    with open(path) as f:
        lines = f.read().splitlines()
    assert lines[1] == "#[Histogram log format version 1.3]", lines[:3]
    seen = {}
    for line in lines:
        if line.startswith("Tag="):
            tag, _start, length, top, text = line.split(",")
            seen[tag[4:]] = decode(text)
            assert float(length) > 0 and close(float(top) * 1e3, want[tag[4:]]["max_us"]), line[:80]
    assert seen.keys() == want.keys(), (seen.keys(), want.keys())
    for name, cells in seen.items():
        r = want[name]
        assert sum(n for _, n in cells) == r["count"], name
        for q, key in ((0.5, "p50_us"), (0.99, "p99_us"), (1, "max_us")):
            assert close(quantile(cells, q), r[key]), (name, key, quantile(cells, q), r[key])


def test_each_call_is_in_one_line_of_a_log():
    """A reader adds up the lines. The last interval is not over, and its calls are in a line, too."""
    path = os.path.join(kp.scratch(), "added.hlog")
    total = 0
    with workload_node(25) as n:
        k = kp.Kp("--batch", "-d", "2s", "--format", "hlog", "-o", path, "--max-overhead", "none",
                  *tiers("request/1", "db/1", "format/1"), "-i", RULE, n.name)
        kp.until(30, lambda: os.path.exists(path) and os.path.getsize(path) > 0, 0.05, what=lambda: "header: " + k.saw())
        for _ in range(3):
            want = n.eval("workload:counts(300,[create,read],2000)", 60)
            total += sum(want["rows"]["request"].values())
            size = os.path.getsize(path)
            kp.until(30, lambda: os.path.getsize(path) > size, 0.05, what=lambda: "line: " + k.saw())
        want = n.eval("workload:counts(300,[create,read],2000)", 60)
        total += sum(want["rows"]["request"].values())
        assert k.interrupt() == 0, k.saw()
    with open(path) as f:
        lines = [x.split(",") for x in f.read().splitlines() if x.startswith("Tag=request,")]
    assert sum(n for x in lines for _, n in decode(x[4])) == total, (total, lines)
    for one, next_one in zip(lines, lines[1:]):
        assert float(one[1]) + float(one[2]) <= float(next_one[1]) + 0.1, "overlap: %s %s" % (one[:3], next_one[:3])


def test_a_log_of_intervals_has_no_summary():
    """It would count each call again."""
    path = os.path.join(kp.scratch(), "intervals.hlog")
    with workload_node(25) as n:
        n.eval("workload:load(2,5)")
        k = kp.run("--batch", "-d", "1s", "-n", "3", "--format", "hlog", "-o", path, *tiers("request/1"), "-i", RULE, n.name, deadline_s=60)
        assert k.proc.returncode == 0, k.saw()
    with open(path) as f:
        starts = [float(x.split(",")[1]) for x in f if x.startswith("Tag=request,")]
    assert len(starts) > 1 and all(a < b for a, b in zip(starts, starts[1:])), "starts of the lines: %s" % starts


READER = """
const hdr = require('hdr-histogram-js'), fs = require('fs');
const out = {};
for (const line of fs.readFileSync(process.argv[2], 'utf8').split('\\n')) {
  if (!line.startsWith('Tag=')) continue;
  const part = line.split(',');
  const h = hdr.decodeFromCompressedBase64(part[4]);
  out[part[0].slice(4)] = [h.totalCount, h.getValueAtPercentile(50), h.getValueAtPercentile(99)];
}
console.log(JSON.stringify(out));
"""


def test_hlog_is_read_by_its_own_tools():
    if not shutil.which("npm") or not shutil.which("node"):
        raise kp.Skip("no npm and node here: HdrHistogram's own reader is not asked")
    work = os.path.join(kp.scratch(), "npm")
    os.makedirs(work, exist_ok=True)
    got = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", work, "hdr-histogram-js@3"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180)
    if got.returncode != 0:
        raise kp.Skip("npm could not fetch hdr-histogram-js: %s" % got.stdout[-200:])
    want = rows_of(replay("--format", "json"))
    path = os.path.join(kp.scratch(), "own.hlog")
    assert replay("--format", "hlog", "-o", path).proc.returncode == 0
    script = os.path.join(work, "read.js")
    with open(script, "w") as f:
        f.write(READER)
    read = subprocess.run(["node", script, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    seen = json.loads(read.stdout)
    assert seen.keys() == want.keys(), read.stdout
    for name, (count, p50, p99) in seen.items():
        r = want[name]
        assert count == r["count"] and close(p50 / 1e3, r["p50_us"]) and close(p99 / 1e3, r["p99_us"]), (name, seen[name], r)


def test_prometheus():
    """Valid lines with the values of JSON; a file is replaced as a whole."""
    want = rows_of(replay("--format", "json"))
    path = os.path.join(kp.scratch(), "kprof.prom")
    with open(path, "w") as f:
        f.write("old\n")
    assert replay("--format", "prom", "-o", path).proc.returncode == 0
    assert not os.path.exists(path + ".tmp") and os.stat(path).st_mode & 0o077 == 0
    with open(path) as f:
        lines = f.read().splitlines()
    typed = {x.split()[2] for x in lines if x.startswith("# TYPE")}
    values = {}
    for x in lines:
        if not x.startswith("#"):
            name, value = x.rsplit(" ", 1)
            assert name.split("{")[0] in typed, x
            values[name] = float(value)
    node = values.popitem()[0].split('node="')[1].split('"')[0]
    for name, r in want.items():
        tier, _, ident = name.partition("/")
        labels = '{node="%s",tier="%s",identity="%s"' % (node, tier, ident)
        assert values["kprof_calls" + labels + "}"] == r["count"], name
        assert close(values["kprof_call_seconds" + labels + ',quantile="0.99"}'] * 1e6, r["p99_us"]), name


def test_assertions():
    k = replay("--format", "json", "--assert", "db.p99<1h", "--assert", "db/create.count>=1", "--assert", "db.errors<1")
    assert k.proc.returncode == 0 and "assert" not in k.stderr, k.saw()
    k = replay("--format", "json", "--assert", "db.p99<1ns", "--assert", "db.count>0", "--assert", "nosuch.p50<1s")
    assert k.proc.returncode == 3, k.saw()
    said = [x for x in k.stderr.splitlines() if "--assert" in x]
    assert len(said) == 2 and "db.p99<1ns" in said[0] and "no row" in said[1], k.saw()
    k = replay("--format", "json", "--baseline", recording(), "--assert", "db.p99<+1%", "--assert", "db.p99>-1%")
    assert k.proc.returncode == 0, k.saw()
    k = replay("--format", "json", "--baseline", recording(), "--assert", "db.p99<-1%")
    assert k.proc.returncode == 3 and "the value is" in k.stderr, k.saw()
    k = replay("--baseline", "/nonexistent.rec", "--assert", "db.p99<+1%")
    assert k.proc.returncode == 1 and "/nonexistent.rec" in k.stderr, k.saw()
