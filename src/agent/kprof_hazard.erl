%% The hazard table: faults and limits of some VM versions, and what the agent avoids on this node because of them. Code that
%% uses what is in the table asks allowed/2 first. kprof_hazard_text has the sentences.
%%
%% Invariant: pure except vm/0; a use that is not in the table is refused.
-module(kprof_hazard).
-export([vm/0, allowed/2, rows/1]).
-export_type([row/0, vm/0]).

-type vm() :: #{otp := binary(), erts := [non_neg_integer()], jit := boolean(), word_bytes := pos_integer(), beside := boolean(), common := boolean()}.

-type row() :: {atom(), atom(), boolean()}.

%% The properties of the VM that the table uses. erts: a list of integers; beside: there are trace sessions of others, or other
%% agents (the state of the controller has a `beside` that means only other agents); common: another tracer uses the common trace
%% (known from OTP 27 on).
-spec vm() -> vm().
vm() ->
    #{
        otp => list_to_binary(erlang:system_info(otp_release)),
        erts => version(erlang:system_info(version)),
        jit => erlang:system_info(emu_flavor) =:= jit,
        word_bytes => erlang:system_info(wordsize),
        beside => kprof_node:beside(),
        common => kprof_node:common()
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

%% {Id, Use, Avoided on this VM?}. An Id never changes: `--hazards` prints it, and texts refer to it.
-spec rows(vm()) -> [row()].
rows(#{erts := Erts, jit := Jit, word_bytes := Word, beside := Beside, common := Common}) ->
    Otp27 = [15, 0],
    Fixed271 = [15, 1],
    Otp28 = [16, 0],
    OffHeap = Erts < [13, 2, 2, 5] orelse within(Erts, [14, 0], [14, 2]),
    %% B4 to 25.3.2.7 and 26.1, B6 in 25.3.2.8, 26.2 and 26.2.1
    Dirty_gc = Erts < [13, 2, 2, 6] orelse within(Erts, [14, 0], [14, 2, 2]),
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
        {b7, sample_large, Dirty_gc orelse Hibernates},
        {b8, load_on_demand, true},
        {b11, session_timers, true},
        {b13, name_maps, true},
        {b14, beside_no_jit, Beside andalso not Jit andalso within(Erts, Otp27, [15, 2])},
        {b15, attach, Erts < [12, 3] orelse Word =:= 4},
        {c2, sample_memory, true},
        {d1, lean_exceptions, Erts < Fixed271},
        {d2, lean_beside, Beside andalso within(Erts, Otp27, Fixed271)},
        {d3, bif_beside, (Beside orelse Common) andalso (within(Erts, Otp27, Otp28) orelse within(Erts, Otp28, [16, 3]))},
        {d5, full_request, within(Erts, Otp27, Fixed271)},
        {d5b, detail, Erts < Fixed271},
        {d9, vm_events, Erts < Otp28},
        {e1, gc_flags, within(Erts, Otp27, [17, 1, 1])},
        {e2, session_drop, true}
    ].

%% From =< Erts < To
within(Erts, From, To) -> Erts >= From andalso Erts < To.
