%% The VM: its sessions and other tracers, the control word, its load; the agent's own modules and processes there.
-module(kprof_node).
-export([
    isolated/0, busy/2, staying/0, others/1, beside/0, agents/0, tracer_of/1, control_word/0, ticket/0, restore/1, info/3, cpu/0,
    permille/2, local_leader/0, now_ms/0, kill/1, is_agent/1, load/2
]).
-export_type([cpu/0]).

-type cpu() :: {runtime | wall, integer(), integer()}.

-define(SLOTS, 100). % kprof/trace/agent.h: AGENT_SLOTS
-define(REST_MS, 5).
-define(SAMPLED_PROCESSES, 5).
-define(MANY_PROCESSES, 10000).

%% True if the VM has trace sessions. The module `trace` belongs to kernel and has no on_load, so it can be loaded on all VMs
%% that have it.
-spec isolated() -> boolean().
isolated() ->
    list_to_integer(erlang:system_info(otp_release)) >= 27 andalso code:ensure_loaded(trace) =:= {module, trace} andalso
        erlang:function_exported(trace, session_create, 3).

%% Checks whether a controller of Who may start. With sessions (true), there may be several agents: they share only the control
%% word and the trace token. An older
%% controller of the same Who is told to end. -> none | {busy | leaving, Binary}
-spec busy(boolean(), binary()) -> none | {busy | leaving, binary()}.
busy(Isolated, Who) ->
    Controllers = [{R, told(R)} || R <- of_others("controller")],
    [catch R ! {superseded, Who} || {R, #{who := {Same, _}}} <- Controllers, Same =:= Who],
    Others = [Told || {_, #{state := running, who := {Else, _}} = Told} <- Controllers, Else =/= Who],
    case {Isolated, Others, others()} of
        {true, _, _} -> none;
        {false, [Told | _], _} -> {busy, busy_text(Told)};
        {false, [], []} -> none;
        {false, [], _} -> {leaving, <<"another kprof-top is attaching or detaching: try again">>}
    end.

%% Registered processes of agents in other slots.
others() -> of_others("controller") ++ of_others("relay") ++ of_others("guardian").

%% Agents of other slots that stay; agents that end at the same time do not count. One that has just ended has no state, and
%% neither has one that is starting; so the process must also be alive.
-spec staying() -> [atom()].
staying() -> [R || R <- of_others("controller"), maps:get(state, told(R), starting) =/= leaving, lives(whereis(R))].

lives(undefined) -> false;
lives(P) -> is_process_alive(P).

%% registered/0 is not used: a node may have thousands of names, and this is part of each heartbeat.
of_others(What) ->
    Own = kprof_cleanup:slot(),
    Slots = [[$0 + N div 10, $0 + N rem 10] || N <- lists:seq(0, ?SLOTS - 1)],
    Name = "kprof_" ++ What ++ "_",
    [R || Slot <- Slots, Slot =/= Own, R <- existing(Name ++ Slot), whereis(R) =/= undefined].

existing(Name) ->
    try [list_to_existing_atom(Name)]
    catch error:badarg -> []
    end.

%% Values that a controller stores in its process dictionary: who, word, state.
told(Name) ->
    case catch process_info(whereis(Name), dictionary) of
        {dictionary, D} -> maps:from_list([{What, V} || {K, What} <- [{kprof_who, who}, {kprof_word, word}, {kprof_state, state}], {Key, V} <- D, Key =:= K]);
        _ -> #{}
    end.

busy_text(#{who := {Who, {{Y, Mo, D}, {H, Mi, S}}}}) ->
    kprof_text:format("another kprof-top is tracing this node: ~ts, since ~b-~2..0b-~2..0b ~2..0b:~2..0b:~2..0b", [Who, Y, Mo, D, H, Mi, S]).

%% Other tracers. Below OTP 27 there is only one trace. New processes and a few existing ones are checked (each check is a
%% signal, so not all are). Other tracers are found and reported when flags are set.
-spec others(boolean()) -> [binary()].
others(true) ->
    Controllers = of_others("controller"),
    [kprof_text:format("a trace session (~0tP)", [Name, 8]) || Name <- sessions(), not lists:member(Name, Controllers), not is_of_events(Name)] ++
        [following(Who) || R <- Controllers, #{state := running, who := {Who, _}} <- [told(R)]] ++ others(false);
others(false) ->
    New = tracer_of(new_processes),
    Some = lists:usort([tracer_of(P) || P <- some_processes()]),
    [kprof_text:format("~ts", [tracer_text(T)]) || T <- lists:usort([New | Some]), T =/= []].

%% A session of an agent for events of the VM: its controller is reported already.
is_of_events(Name) -> is_atom(Name) andalso lists:prefix("kprof_vm_events_", atom_to_list(Name)).

%% The oldest processes, which include those of the system, and the newest. If there are very many processes, no list of all is
%% made: then some of the system, which live as long as the VM.
some_processes() ->
    case erlang:system_info(process_count) > ?MANY_PROCESSES of
        true -> [P || Name <- [init, application_controller, kernel_sup, code_server, user], P <- [whereis(Name)], is_pid(P)];
        false -> oldest_and_newest()
    end.

%% A list that is garbage at once.
oldest_and_newest() ->
    {P, Ref} = spawn_monitor(fun() -> exit({some, ends(processes())}) end),
    receive
        {'DOWN', Ref, _, P, {some, Some}} -> Some;
        {'DOWN', Ref, _, P, _} -> [] % it was killed
    end.

ends(All) -> lists:usort(lists:sublist(All, ?SAMPLED_PROCESSES) ++ lists:nthtail(max(0, length(All) - ?SAMPLED_PROCESSES), All)).

%% True if agents in other slots, or trace sessions of others, are on this node. (Names of the agent's sessions begin with
%% kprof_.)
-spec beside() -> boolean().
beside() -> agents() orelse [] =/= [Name || Name <- sessions(), not lists:prefix("kprof_", lists:flatten(io_lib:format("~tP", [Name, 4])))].

%% True if agents in other slots are on this node.
-spec agents() -> boolean().
agents() -> of_others("controller") =/= [].

%% Each agent has its own session, but a process has only one trace token.
following(Who) ->
    kprof_text:format("another kprof-top (~ts) is tracing: in requests that both trace, each may miss calls in other processes", [Who]).

%% Names; the session "legacy" always exists: it is the common trace. On a VM without sessions the module is never
%% called: the code server would search all directories of the code path for it each time.
sessions() ->
    case erlang:function_exported(trace, session_info, 1) of
        true -> [Name || {Name, _} <- apply(trace, session_info, [all]), Name =/= legacy];
        false -> []
    end.

-spec tracer_of(pid() | new_processes) -> term().
tracer_of(What) ->
    case erlang:trace_info(What, tracer) of
        {tracer, T} -> T;
        undefined -> []
    end.

tracer_text(P) when is_pid(P) ->
    case process_info(P, [registered_name, initial_call]) of
        [{_, Name}, _] when is_atom(Name) -> io_lib:format("~p (~ts)", [P, Name]);
        [_, {_, {M, F, A}}] -> io_lib:format("~p (~ts)", [P, kprof_text:mfa(M, F, A)]);
        _ -> io_lib:format("~p", [P])
    end;
tracer_text(T) ->
    io_lib:format("~0tP", [T, 6]).

%% The control word exists once per VM, with or without sessions. It is never 0 while the agent runs. The second agent finds it
%% in use; only the last agent to end restores the original value.
-spec control_word() -> {non_neg_integer(), non_neg_integer()}.
control_word() ->
    Before = erlang:system_info(trace_control_word),
    case [Word || R <- of_others("controller"), #{word := Word} <- [told(R)]] of
        [First | _] -> put(kprof_word, First), {First, Before};
        [] -> Value = original(Before), put(kprof_word, Value), {Value, start_word(Before)}
    end.

%% The original value of the control word. If the word is that of an agent that is just ending, the original value is not known:
%% 0, which means unused.
original(Before) ->
    case kprof_spec:ours(Before) of
        true -> 0;
        false -> Before
    end.

%% The first ticket is random: with the same one at each start, a sampling of 1 in a million would always select the same few of
%% the first million calls.
start_word(Before) ->
    Random = erlang:phash2({self(), erlang:monotonic_time(), Before}, kprof_spec:ticket_range()),
    Start = kprof_spec:word(0, Random),
    erlang:system_flag(trace_control_word, Start),
    Start.

%% The present ticket; it increases with every call of the entry or, without an entry, of a tier. 0: every read found it taken.
-spec ticket() -> non_neg_integer().
ticket() -> ticket(16).
ticket(0) -> 0;
ticket(Tries) ->
    case erlang:system_info(trace_control_word) of
        Word -> case kprof_spec:held(Word) of true -> ticket(Tries - 1); false -> Word rem kprof_spec:ticket_range() end
    end.

%% Restores the value from before the agents, unless another agent stays, or another program has changed the word.
-spec restore(#{tcw := {integer(), integer()}, _ => _}) -> term().
restore(#{tcw := {Before, _}}) ->
    case staying() =:= [] andalso kprof_spec:ours(erlang:system_info(trace_control_word)) of
        true -> erlang:system_flag(trace_control_word, Before);
        false -> ok
    end.

%% The data about the node that kprof-top gets at the start.
-spec info(kprof_spec:session(), [binary()], kprof_hazard:vm()) -> map().
info(Session, Others, Vm) ->
    #{
        held => kprof_hazard:held(Vm) ++ tokens_of_others(),
        otp => list_to_binary(erlang:system_info(otp_release)),
        erts => list_to_binary(erlang:system_info(version)),
        start_time => erlang:system_info(start_time),
        time_unit => erlang:convert_time_unit(1, second, native),
        schedulers => erlang:system_info(schedulers_online),
        session => Session =/= none,
        others => Others,
        elixir => code:is_loaded(elixir) =/= false,
        lean => true,
        gc => kprof_hazard:allowed(gc_flags, Vm) andalso kprof_hazard:allowed(detail, Vm),
        node => node()
    }.

tokens_of_others() ->
    case seq_trace:get_system_tracer() of
        false -> [];
        _ -> [<<"the node uses seq_trace: kprof-top replaces the trace tokens of processes that call the entry">>]
    end.

%% Not the group leader of the rpc, which is on kprof-top's node.
-spec local_leader() -> pid() | undefined.
local_leader() ->
    case whereis(user) of
        undefined -> whereis(init);
        User -> User
    end.

%% Scheduler use: scheduler wall time if someone has switched it on, else CPU time of the VM.
-spec cpu() -> cpu().
cpu() ->
    case erlang:statistics(scheduler_wall_time) of
        undefined ->
            {Runtime, _} = erlang:statistics(runtime),
            {runtime, Runtime, now_ms() * erlang:system_info(schedulers_online)};
        Times ->
            Normal = [{A, T} || {Id, A, T} <- Times, Id =< erlang:system_info(schedulers_online)],
            {wall, lists:sum([A || {A, _} <- Normal]), lists:sum([T || {_, T} <- Normal])}
    end.

-spec permille(cpu(), cpu()) -> -1..1000.
permille({Kind, Used0, All0}, {Kind, Used1, All1}) when All1 > All0 -> max(0, min(1000, (Used1 - Used0) * 1000 div (All1 - All0)));
permille(_, _) -> -1.

-spec now_ms() -> integer().
now_ms() -> erlang:monotonic_time(millisecond).

%% Ends a process of the agent. When this returns, it is dead.
-spec kill(none | pid()) -> ok.
kill(none) ->
    ok;
kill(Pid) ->
    Ref = erlang:monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end.

%% A module of an agent in any slot: kprof_WORD_NN.
-spec is_agent(module()) -> boolean().
is_agent(M) ->
    case atom_to_list(M) of
        "kprof_" ++ _ = Name -> ends_with_slot(lists:reverse(Name));
        _ -> false
    end.

ends_with_slot([A, B, $_ | _]) -> A >= $0 andalso A =< $9 andalso B >= $0 andalso B =< $9;
ends_with_slot(_) -> false.

%% Loads a module of the agent through the code server, which may hang: only a process that nobody waits for may do it. The VM
%% blocks a scheduler to make the machine code, and again to add it to its tables; between them this process rests.
-spec load(module(), binary()) -> ok | {error, load, binary()}.
load(M, Beam) ->
    case erlang:module_loaded(M) orelse finish(M, code:prepare_loading([{M, [], Beam}])) of
        true -> ok;
        ok -> ok;
        {error, Why} -> {error, load, kprof_text:format("cannot load ~ts: ~0tP", [M, Why, 8])}
    end.

finish(M, {ok, Prepared}) -> receive after ?REST_MS -> erlang:module_loaded(M) orelse code:finish_loading(Prepared) end;
finish(_, Error) -> Error.
