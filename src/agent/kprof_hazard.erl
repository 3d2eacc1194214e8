%% The hazard table: faults and limits of some VM versions, and what the agent avoids on this node because of them. Code that
%% uses what is in the table asks allowed/2 first.
%%
%% Invariant: pure except vm/0; a use that is not in the table is refused.
-module(kprof_hazard).
-export([vm/0, allowed/2, reason/2, held/1, list/1]).
-export_type([vm/0]).

-type vm() :: #{otp := binary(), erts := [non_neg_integer()], jit := boolean(), word_bytes := pos_integer(), beside := boolean()}.

%% The properties of the VM that the table uses. erts: a list of integers; beside: there are trace sessions of others, or other
%% agents (the state of the controller has a `beside` that means only other agents).
-spec vm() -> vm().
vm() ->
    #{
        otp => list_to_binary(erlang:system_info(otp_release)),
        erts => version(erlang:system_info(version)),
        jit => erlang:system_info(emu_flavor) =:= jit,
        word_bytes => erlang:system_info(wordsize),
        beside => kprof_node:beside()
    }.

version(Text) -> [number(Part) || Part <- string:tokens(Text, ".")].

number(Part) ->
    case string:to_integer(Part) of
        {N, _} when is_integer(N) -> N;
        _ -> 0
    end.

%% True if this use is allowed on this VM.
-spec allowed(atom(), vm()) -> boolean().
allowed(Use, Vm) ->
    case lists:keyfind(Use, 2, rows(Vm)) of
        {_, _, Held} -> not Held;
        false -> false
    end.

%% The reason why a use is refused, as a sentence.
-spec reason(atom(), vm()) -> binary().
reason(Use, Vm) ->
    case lists:keyfind(Use, 2, rows(Vm)) of
        {Id, _, _} ->
            {Text, Where} = text(Id),
            kprof_text:format("~ts (~ts, ~ts)", [Text, upper(Id), Where]);
        false -> kprof_text:format("~ts is not in the table of hazards", [Use])
    end.

%% What is avoided on this VM but not on every VM: sentences that are shown at attach.
-spec held(vm()) -> [binary()].
held(#{otp := Otp, erts := Erts} = Vm) ->
    [
        kprof_text:format("OTP ~ts (erts ~ts): ~ts", [Otp, dotted(Erts), sentence(Id)])
     || {Id, Use, true} <- rows(Vm), not always(Use), used(Use)
    ].

%% All rows: [{Id, 1 | 0, Text}], 1: avoided on this VM.
-spec list(vm()) -> [{atom(), 0 | 1, binary()}].
list(Vm) ->
    [{Id, if Held -> 1; true -> 0 end, sentence(Id)} || {Id, _, Held} <- rows(Vm)].

sentence(Id) ->
    {Text, Where} = text(Id),
    kprof_text:format("~ts (~ts)", [Text, Where]).

dotted(Erts) -> lists:join(".", [integer_to_list(N) || N <- Erts]).
upper(Id) -> string:uppercase(atom_to_list(Id)).

%% Avoided on every VM, so not reported for this one.
always(Use) -> lists:member(Use, [existing, call_time, ask_all, module_literals, load_on_demand, name_maps, flags_idle, session_timers, sample_memory, session_drop]).

%% False: not reported at attach: some uses of stack samples, the process table, polls, details and VM events, which count or
%% report what they leave out.
used(Use) -> not lists:member(Use, [detail, gc_flags, sample_queue, sample_large, vm_events]).

%% {Id, Use, Avoided on this VM?}. An Id never changes: `--hazards` prints it, and texts refer to it.
rows(#{erts := Erts, jit := Jit, word_bytes := Word, beside := Beside}) ->
    Otp27 = [15, 0],
    Fixed271 = [15, 1],
    Otp28 = [16, 0],
    OffHeap = Erts < [13, 2, 2, 5] orelse within(Erts, [14, 0], [14, 2]),
    Hibernates = within(Erts, Otp27, [15, 3]) orelse within(Erts, Otp28, [16, 2, 1]),
    [
        {a1, reset_trace, Erts < Otp27},
        {a2, existing, true},
        {a3, call_time, true},
        {a4, running_flags, Erts < [13, 2]},
        {b2, module_literals, true},
        {b3, flags_idle, true},
        {b4, ask_all, true},
        {b5, sample_queue, OffHeap},
        {b7, sample_large, OffHeap orelse Hibernates},
        {b8, load_on_demand, true},
        {b11, session_timers, true},
        {b13, name_maps, true},
        {b14, beside_no_jit, Beside andalso not Jit andalso within(Erts, Otp27, Fixed271)},
        {b15, attach, Erts < [12, 3] orelse Word =:= 4},
        {c2, sample_memory, true},
        {d1, lean_exceptions, Erts < Fixed271},
        {d2, lean_beside, Beside andalso within(Erts, Otp27, Fixed271)},
        {d3, bif_beside, Beside andalso (within(Erts, Otp27, Otp28) orelse within(Erts, Otp28, [16, 3]))},
        {d5, full_request, within(Erts, Otp27, Fixed271)},
        {d5b, detail, Erts < Fixed271},
        {d9, vm_events, Erts < Otp28},
        {e1, gc_flags, within(Erts, Otp27, [17, 1, 1])},
        {e2, session_drop, true}
    ].

%% From =< Erts < To
within(Erts, From, To) -> Erts >= From andalso Erts < To.

%% {What is avoided, Upstream report}. Apart from the rows, because allowed/2 is called often, and a text takes time (kprof_text:stored/1).
text(a1) -> {"trace tokens are removed one by one, not reset", "PR 7651"};
text(a2) -> {"trace flags are set for one process at a time", "otp#6495, GH-5984"};
text(a3) -> {"call_time is never used", "a crash after a purge, all versions"};
text(a4) -> {"full trace: the trace flag 'running' is not used, so waits are not shown", "otp#6495"};
text(b2) -> {"the agent has two modules without literals, each loaded and unloaded at most once", "PR 9724, GH-8119"};
text(b3) -> {"no trace flag is set while tracing is off", "PR 8342"};
text(b4) -> {"the agent never sends a signal (for example by process_info/2) to all processes", "PR 7822, OTP-18838, GH-10651"};
text(b5) -> {"queue lengths of processes with messages off heap are not read", "OTP-18838"};
text(b7) -> {"stack samples, names, polls, process table: processes with large heaps are not asked", "PR 7822, PR 10696"};
text(b8) -> {"modules of the node are never loaded on demand", "PR 8046, GH-7466"};
text(b11) -> {"no timer message is sent to a suspended process", "PR 11196"};
text(b13) -> {"a map cannot be the name of a request", "GH-7683"};
text(b14) -> {"no tracing while there is another trace session, on a VM without JIT", "OTP-19248"};
text(b15) -> {"kprof-top needs a 64-bit VM of OTP 24.3 or later", "PR 6662, PR 5078"};
text(c2) -> {"stack samples: memory and messages of a process are never requested", "this walks its queue"};
text(d1) -> {"lean returns: if an exception passes through the caller, the call is shown as ending with the call around it", "OTP-19122"};
text(d2) -> {"no lean returns while there is another trace session", "OTP-19122"};
text(d3) -> {"no built-in function as a tier while there is another trace session", "PR 10349"};
text(d5) -> {"full trace: of a process only, not of a request", "OTP-19211, OTP-19151"};
text(d5b) -> {"no request is followed in detail: the trace flag 'running' is not set", "OTP-19211, otp#6495"};
text(d9) -> {"long garbage collections, busy ports and other events of the VM are not reported: the node has only one system_monitor", "PR 8660"};
text(e1) -> {"garbage collections are not traced: if any other tracer traces them, too, the node crashes", "PR 11623"};
text(e2) -> {"the trace session for VM events is destroyed by a call, never by garbage collection of its last reference", "a crash on OTP 29"}.
