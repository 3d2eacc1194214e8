"""The suggestion of kprof-top for a server under load must contain the entry of its preset, and at least half of its
tiers."""
import os
import re
import subprocess
import threading

from place import kp

LOAD_S, LATER_S = 6, 60  # the load lasts longer than the count

# The functions of the presets, the entry first, as in src/cli/preset.c, of all versions.
PRESETS = {
    "cowboy": ("cowboy_stream_h:request_process/3", "cowboy_router:execute/2", "cowboy_req:reply/4", "cowboy_handler:execute/2"),
    "rabbitmq": ("rabbit_channel:handle_cast/2", ("rabbit_exchange:route/3", "rabbit_exchange:route/2"),
                 ("rabbit_queue_type:deliver/4", "rabbit_queue_type:deliver/3"), "rabbit_amqqueue_process:handle_cast/2",
                 "rabbit_amqqueue_process:handle_call/3", ("rabbit_variable_queue:publish/5", "rabbit_variable_queue:publish/6"),
                 "rabbit_msg_store:handle_cast/2", "rabbit_writer:handle_message/2"),
    "ejabberd": ("ejabberd_c2s:handle_authenticated_packet/2", "ejabberd_router:route/1", "ejabberd_local:route/1", "ejabberd_sm:route/1",
                 "mod_offline:store_packet/1"),
    "yaws": ("yaws_server:handle_ut/4", "yaws_server:deliver_dyn_part/8", "yaws_server:deliver_file/5", "yaws_server:deliver_accumulated/4"),
}


def ask(s):
    """The functions that `--suggest` prints, the entry first."""
    r = subprocess.run([kp.PROGRAM, "--suggest", s.node.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       env=dict(os.environ, KPROF_COOKIE=s.node.cookie), timeout=kp.patient(LATER_S))
    assert r.returncode == 0, "exit %d: %s" % (r.returncode, r.stderr)
    assert "0 patterns, 0 flags, 0 processes, 0 modules" in r.stderr, r.stderr
    return re.findall(r'"[^"]*", "([^"]*/\d+)"', r.stdout)


def suggested(s, rate):
    loads = []
    load = threading.Thread(target=lambda: loads.append(s.load(rate, LOAD_S)))
    load.start()
    try:
        tiers = ask(s)
    finally:
        load.join()
    written = PRESETS[s.preset]
    assert tiers[0] == written[0], "the entry is %s: %s" % (tiers[0], tiers)
    both = [w for w in written if set(tiers) & ({w} if isinstance(w, str) else set(w))]
    assert 2 * len(both) >= len(written), "%d of %d tiers: %s" % (len(both), len(written), tiers)
    assert loads and not loads[0].errors, "the client had errors: %s" % (loads[0].said if loads else "no answer")
    return "%d of %d written tiers; %s; p99 of the load %d us" % (len(both), len(written), ", ".join(tiers), loads[0].p99_us)
