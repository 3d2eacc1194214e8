"""Files of stack samples, read by other programs: speedscope's importers, pprof-format, protoc, a browser. The samples are made
up (tests/lib/fake_stacks.c): 300, 60 in each of five processes, with names that would break a format."""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess

import kp

TOTAL, EACH = 300, 60
HOARDED = 59 * 4096
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
_made = []


def files():
    """The directory with all formats of one profile."""
    if not _made:
        got = subprocess.run(["make", "-s", "-C", ROOT, "build/plain/stacks_files"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=600)
        assert got.returncode == 0, got.stdout
        directory = os.path.join(kp.scratch(), "stacks")
        os.makedirs(directory, exist_ok=True)
        subprocess.run([os.path.join(ROOT, "build", "plain", "stacks_files"), directory], check=True, timeout=60)
        _made.append(directory)
    return _made[0]


def path(name):
    return os.path.join(files(), name)


def read(name):
    with open(path(name), encoding="utf-8") as f:
        return f.read()


def npm(*packages):
    """The directory of their modules; skips the test without npm or its registry."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise kp.Skip("no npm and node here")
    work = os.path.join(kp.scratch(), "npm-" + packages[0].split("@")[0])
    os.makedirs(work, exist_ok=True)
    got = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", work, *packages], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=300)
    if got.returncode != 0:
        raise kp.Skip("npm could not fetch %s: %s" % (" ".join(packages), got.stdout[-200:]))
    return os.path.join(work, "node_modules")


_read = {}


def in_browser(*names):
    """What read_stacks.mjs read from each file."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        raise kp.Skip("no chromium here")
    modules = npm("speedscope@1", "playwright-core@1")
    missing = [n for n in names if n not in _read]
    if missing:
        got = subprocess.run(["node", os.path.join(HERE, "read_stacks.mjs"), modules, chromium, *map(path, missing)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        assert got.returncode == 0, got.stderr[-2000:]
        _read.update(json.loads(got.stdout))
    return [_read[n] for n in names]


# ---- without other programs ----

def test_folded_totals():
    for name, total in (("all.folded", TOTAL), ("status.folded", TOTAL), ("binaries.folded", HOARDED)):
        lines = read(name).splitlines()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == total, lines
    groups = collections.Counter()
    for line in read("status.folded").splitlines():
        groups[line.split(";")[0].rsplit(" ", 1)[0] if ";" not in line else line.split(";")[0]] += int(line.rsplit(" ", 1)[1])
    assert groups == {s: EACH for s in ("running", "runnable", "waiting", "garbage_collecting", "status not known")}, groups
    burner = [line for line in read("all.folded").splitlines() if "burner:f/1" in line]
    assert sorted(int(line.rsplit(" ", 1)[1]) for line in burner) == [20, 40], burner


def test_eflame_lines():
    """As eflame: the process first, no count, a line for each sample."""
    lines = read("all.eflame").splitlines()
    assert len(lines) == TOTAL
    assert collections.Counter(line.split(";")[0] for line in lines) == {"<0.%d.0>" % p: EACH for p in range(80, 85)}
    assert lines[0] == "<0.80.0>;proc_lib:init_p_do_apply/3;burner:loop/1;burner:g/1;burner:f/1", lines[0]
    assert sum(line.endswith(";sleep") for line in lines) == EACH


HEADER = re.compile(r"^(\S+)\t(\S+) \[000\] (\d+\.\d{6}): cpu-clock:((?:\tmetric_erlang_\w+: -?\d+, -?\d+)*)$")
FRAME = re.compile(r"^\tffffffff (\S.*) \((\S*)\)$")
GC = ("old_heap_block_size heap_block_size mbuf_size recent_size stack_size old_heap_size heap_size bin_vheap_size "
      "bin_vheap_block_size bin_old_vheap_size bin_old_vheap_block_size").split()


def test_perf_is_flame_profs():
    """Every line has the format of flame_prof, and the changes of a metric add up to its growth."""
    grown, last, first = collections.Counter(), {}, {}
    blocks = read("all.perf").split("\n\n")
    assert blocks.pop() == "" and len(blocks) == TOTAL
    for block in blocks:
        lines = block.split("\n")
        status, pid, _, metrics = HEADER.match(lines[0]).groups()
        assert re.fullmatch(r"0\.\d+\.0", pid) and re.fullmatch(r"[a-z_]+", status)
        fields = [m.split(": ") for m in metrics.strip("\t").split("\t")]
        names = [f[0][len("metric_erlang_"):] for f in fields]
        assert names == ["reductions", "message_queue_len", "memory", "total_heap_size"] + GC + ["minor_gcs"], names
        for name, (value, delta) in zip(names, (f[1].split(", ") for f in fields)):
            first.setdefault((pid, name), int(value))
            last[pid, name] = int(value)
            grown[pid, name] += int(delta)
        assert all(FRAME.match(line) for line in lines[1:]), lines
    for key in last:
        assert last[key] - first[key] == grown[key], key
    burner = blocks[0].split("\n")
    assert burner[1:] == ["\tffffffff burner:f/1;33 (src/burner.erl)", "\tffffffff burner:g/1;20 (src/burner.erl)",
                          "\tffffffff burner:loop/1;10 (src/burner.erl)",
                          "\tffffffff proc_lib:init_p_do_apply/3;241 (src/proc_lib.erl)",
                          "\tffffffff (burner:init/0) (burner.erl)"], burner


def test_scripts_are_never_made_of_names():
    for name in ("all.html", "all.svg"):
        text = read(name)
        assert text.count("<script") == 1 and text.count("</script>") == 1 and "<img" not in text
        data = re.search(r"^const D=(.*);$", text, re.M).group(1)
        assert data.isascii() and not set("<>&") & set(data)
        names = json.loads(data)["names"]
        assert any("<script>alert(1)</script>" in n and "\u20ac" in n and "\U0001f525" in n for n in names), names
        assert "http://" not in re.sub(r'http://www\.w3\.org/\d+/\w+', "", text) and "https://" not in text


# ---- speedscope ----

def speedscope(name):
    seen, = in_browser(name)
    assert seen["errors"] == [], seen["errors"]
    return seen


def test_speedscope_reads_totals():
    names = ("all.folded", "all.speedscope.json", "status.speedscope.json", "all.pb.gz", "binaries.speedscope.json",
             "status.perf", "all.trace.json")
    in_browser(*names)
    for name, total in (("all.folded", TOTAL), ("all.speedscope.json", TOTAL), ("all.pb.gz", TOTAL),
                        ("binaries.speedscope.json", HOARDED)):
        profiles = speedscope(name)["profiles"]
        assert [p["total"] for p in profiles] == [total], (name, profiles)
    groups = speedscope("status.speedscope.json")["profiles"]
    assert {p["name"]: p["total"] for p in groups} == {
        s: EACH for s in ("running", "runnable", "waiting", "garbage_collecting", "status not known")}, groups


def test_speedscope_reads_perf_with_integer_pids():
    """It uses the time between the samples of a thread: 59 times 10 ms."""
    seen = speedscope("status.perf")
    assert sorted(p["name"] for p in seen["profiles"]) == sorted(
        "%s tid: %d" % k for k in (("running", 80), ("runnable", 81), ("waiting", 82), ("garbage_collecting", 83), ("unknown", 84)))
    assert all(p["unit"] == "seconds" and abs(p["total"] - 0.59) < 1e-9 for p in seen["profiles"]), seen["profiles"]
    assert "burner:f/1;33" in seen["frames"], seen["frames"]


def test_speedscope_reads_time_lines():
    """Four processes with stacks, 60 samples of 10 ms each."""
    seen = speedscope("all.trace.json")
    assert [p["total"] for p in seen["profiles"]] == [600000] * 4, seen["profiles"]
    assert any("burner" in p["name"] for p in seen["profiles"])


# ---- pprof ----

READ_PPROF = """
const {Profile} = require('pprof-format');
const zlib = require('zlib'), fs = require('fs');
const out = {};
for (const f of process.argv.slice(1)) {
  const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(f)));
  const s = i => p.stringTable.strings[Number(i)];
  const names = new Map(p.function.map(f => [String(f.id), s(f.name)]));
  const at = new Map(p.location.map(l => [String(l.id), names.get(String(l.line[0].functionId))]));
  out[require('path').basename(f)] = {
    type: p.sampleType.map(t => [s(t.type), s(t.unit)]),
    samples: p.sample.map(x => ({stack: x.locationId.map(i => at.get(String(i))), value: Number(x.value[0]),
                                 labels: x.label.map(l => [s(l.key), s(l.str)])}))};
}
console.log(JSON.stringify(out));
"""


def test_pprof_format_reads_it():
    modules = npm("pprof-format@2")
    names = ("all.pb.gz", "status.pb.gz", "binaries.pb.gz")
    got = subprocess.run(["node", "-e", READ_PPROF, *map(path, names)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, timeout=60, env=dict(os.environ, NODE_PATH=modules))
    assert got.returncode == 0, got.stderr
    seen = json.loads(got.stdout)
    assert seen["all.pb.gz"]["type"] == [["samples", "count"]]
    assert seen["binaries.pb.gz"]["type"] == [["growth of bin_vheap_size", "count"]]
    assert sum(s["value"] for s in seen["all.pb.gz"]["samples"]) == TOTAL
    assert sum(s["value"] for s in seen["binaries.pb.gz"]["samples"]) == HOARDED
    burning = {s["stack"][1]: s["value"] for s in seen["all.pb.gz"]["samples"] if s["stack"][0] == "burner:f/1"}
    assert burning == {"burner:g/1": 40, "burner:h/1": 20}, burning
    groups = collections.Counter()
    for s in seen["status.pb.gz"]["samples"]:
        (key, group), = s["labels"]
        assert key == "status"
        groups[group] += s["value"]
    assert set(groups.values()) == {EACH} and len(groups) == 5, groups


PROTO = """syntax = "proto3"; package p;
message Profile { repeated VT sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3; repeated Location location = 4;
 repeated Function function = 5; repeated string string_table = 6; int64 drop_frames = 7; int64 keep_frames = 8; int64 time_nanos = 9;
 int64 duration_nanos = 10; VT period_type = 11; int64 period = 12; repeated int64 comment = 13; int64 default_sample_type = 14; }
message VT { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Mapping { uint64 id = 1; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; bool is_folded = 5; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
"""


def test_protoc_decodes_pprof():
    if not shutil.which("protoc"):
        raise kp.Skip("no protoc here (Debian: protobuf-compiler)")
    with open(path("profile.proto"), "w") as f:
        f.write(PROTO)
    with gzip.open(path("status.pb.gz")) as f:
        plain = f.read()
    got = subprocess.run(["protoc", "--decode", "p.Profile", "-I", files(), "profile.proto"], input=plain, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=60)
    text = got.stdout.decode()
    assert got.returncode == 0, got.stderr
    assert not re.search(r"^\s*\d+[ :]", text, re.M), "a field that the format does not have"
    assert sum(map(int, re.findall(r"^  value: (\d+)", text, re.M))) == TOTAL
    assert "time_nanos: 1700000005000000000" in text and 'string_table: "growth' not in text


# ---- the pages ----

def check_page(name):
    seen, = in_browser(name)
    assert seen["errors"] == [] and seen["requests"] == [], seen
    assert seen["title"] == "app@host <b>&\"'", seen["title"]
    root = seen["first"][0]
    assert root["name"] == "all" and root["total"] == TOTAL
    hostile = [f["name"] for f in seen["first"] if "alert" in f["name"]]
    assert len(hostile) == 1 and "evil'<script>alert(1)</script>:a\"b&c" in hostile[0] and "\u20ac" in hostile[0], hostile
    full = root["width"]
    hit = [f for f in seen["searched"] if f["hit"]]
    assert {f["name"] for f in hit} == {"burner:f/1"} and sum(f["total"] for f in hit) == EACH, hit
    assert "matched 20.00%" in seen["status"], seen["status"]
    before = next(f for f in seen["first"] if f["name"] == "burner:g/1")
    after = next(f for f in seen["zoomed"] if f["name"] == "burner:g/1")
    assert before["width"] < full / 5 and after["width"] > full * 0.95, (before, after, full)
    assert not any(f["name"] == "burner:h/1" for f in seen["zoomed"])
    assert seen["back"] == seen["first"]
    groups = {f["name"]: f["total"] for f in seen["identity"] if f["name"] in ("GET /<b>&\"", "outside requests")}
    assert groups == {"GET /<b>&\"": EACH, "outside requests": TOTAL - EACH}, groups
    assert seen["binaries"][0]["total"] == HOARDED
    assert {seen["theme"], seen["other_theme"]} == {"dark", "light"}
    assert "width: shrinkage of memory" in seen["widths"] and "width: shrinkage of minor_gcs" not in seen["widths"]
    assert "group: identity" in seen["groups"]


def test_page_html():
    check_page("all.html")


def test_page_svg():
    check_page("all.svg")
