%% What the agent avoids on this VM (kprof_hazard), in sentences.
-module(kprof_hazard_text).
-agent(interpreted).
-export([reason/2, held/1, list/1]).

%% The reason why a use is refused, as a sentence.
-spec reason(atom(), kprof_hazard:vm()) -> binary().
reason(Use, Vm) ->
    case lists:keyfind(Use, 2, kprof_hazard:rows(Vm)) of
        {Id, _, _} ->
            {Text, Where} = text(Id),
            kprof_text:format("~ts (~ts, ~ts)", [Text, upper(Id), Where]);
        false -> kprof_text:format("~ts is not in the table of hazards", [Use])
    end.

%% What is avoided on this VM but not on every VM: sentences that are shown at attach.
-spec held(kprof_hazard:vm()) -> [binary()].
held(#{otp := Otp, erts := Erts} = Vm) ->
    [
        kprof_text:format("OTP ~ts (erts ~ts): ~ts", [Otp, dotted(Erts), sentence(Id)])
     || {Id, Use, true} <- kprof_hazard:rows(Vm), not always(Use), used(Use)
    ].

%% All rows: [{Id, 1 | 0, Text}], 1: avoided on this VM.
-spec list(kprof_hazard:vm()) -> [{atom(), 0 | 1, binary()}].
list(Vm) ->
    [{Id, if Held -> 1; true -> 0 end, sentence(Id)} || {Id, _, Held} <- kprof_hazard:rows(Vm)].

sentence(Id) ->
    {Text, Where} = text(Id),
    kprof_text:format("~ts (~ts)", [Text, Where]).

dotted(Erts) -> lists:join(".", [integer_to_list(N) || N <- Erts]).
upper(Id) -> string:uppercase(atom_to_list(Id)).

%% Avoided on every VM, so not reported for this one.
always(Use) -> lists:member(Use, [existing, call_time, ask_all, module_literals, load_on_demand, name_maps, flags_idle, session_timers, sample_memory, session_drop]).

%% False: not reported at attach: some uses of stack samples, the process table, polls and VM events, which count or report what
%% they leave out, and garbage collections in detailed requests.
used(Use) -> not lists:member(Use, [gc_flags, sample_queue, sample_large, vm_events]).

%% {What is avoided, Upstream report}.
text(a1) -> {"trace tokens are removed one by one, not reset", "PR 7651"};
text(a2) -> {"trace flags are set for one process at a time", "otp#6495, GH-5984"};
text(a3) -> {"call_time is never used", "a crash after a purge, all versions"};
text(a4) -> {"full trace: the trace flag 'running' is not used, so waits are not shown", "otp#6495"};
text(b2) -> {"the agent has two modules without literals, each loaded and unloaded at most once", "PR 9724, GH-8119"};
text(b3) -> {"while tracing is off, only captures and full traces set trace flags", "PR 8342"};
text(b4) -> {"processes are not asked for their trace flags, a signal to each; before OTP 25.3.2.8, on 26.0 and 26.1 one that is asked for its stack as it begins a dirty NIF can still hang: PR 7822", "OTP-18838, GH-10651"};
text(b5) -> {"queue lengths of processes with messages off heap are not read", "OTP-18838"};
text(b7) -> {"stack samples, names, polls, process table: processes with large heaps are not asked", "GH-8051, PR 10696"};
text(b8) -> {"modules of the node are never loaded on demand", "PR 8046, GH-7466"};
text(b11) -> {"no timer message is sent to a suspended process", "PR 11196"};
text(b13) -> {"a map cannot be the name of a request", "GH-7683"};
text(b14) -> {"no tracing while there is another trace session, on a VM without JIT", "OTP-19248"};
text(b15) -> {"kprof-top needs a 64-bit VM of OTP 24.3 or later", "PR 6662, PR 5078"};
text(c2) -> {"stack samples: memory and messages of a process are never requested", "this walks its queue"};
text(d1) -> {"lean returns: if an exception passes through the caller, the call is shown as ending with the call around it", "OTP-19122"};
text(d2) -> {"no lean returns while there is another trace session", "OTP-19122"};
text(d3) -> {"no built-in function is traced or counted while another tracer is on the node", "PR 10349"};
text(d5) -> {"full trace: of a process only, not of a request", "OTP-19211, OTP-19151"};
text(d5b) -> {"no request is followed in detail: the trace flag 'running' is not set", "OTP-19211, otp#6495"};
text(d9) -> {"long garbage collections, busy ports and other events of the VM are not reported: the node has only one system_monitor", "PR 8660"};
text(e1) -> {"garbage collections are not traced: if any other tracer traces them, too, the node crashes", "PR 11623"};
text(e2) -> {"the trace session for VM events is destroyed by a call, never by garbage collection of its last reference", "a crash on OTP 29"}.
