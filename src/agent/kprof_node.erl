%% The VM: its sessions and other tracers, the control word, its load; the agent's own modules and processes there. What is only
%% needed at attach is in kprof_attach.
-module(kprof_node).
-export([
    isolated/0, staying/0, of_others/1, told/1, sessions/0, session_list/0, oldest_and_newest/0, beside/0, common/0, agents/0, tracer_of/1, control_word/0, ticket/0,
    original/1, restore/1, cpu/0, permille/2, long_run_queue/0, local_leader/0, now_ms/0, kill/1, is_agent/1, load/2, spawn_if_room/2, if_room/1, last_scheduler/0
]).
-export_type([cpu/0]).

-type cpu() :: {runtime | wall, integer(), integer()}.

-define(SLOTS, 100). % kprof/trace/agent.h: AGENT_SLOTS
-define(REST_MS, 5).
-define(SAMPLED_PROCESSES, 5).
-define(RUN_QUEUE, 100). % processes per scheduler; a longer run queue counts as long

%% True if the VM has trace sessions. The module `trace` belongs to kernel and has no on_load, so it can be loaded on all VMs
%% that have it.
-spec isolated() -> boolean().
isolated() ->
    list_to_integer(erlang:system_info(otp_release)) >= 27 andalso code:ensure_loaded(trace) =:= {module, trace} andalso
        erlang:function_exported(trace, session_create, 3).

%% Agents of other slots that stay; agents that end at the same time do not count. One that has just ended has no state, and
%% neither has one that is starting; so the process must also be alive.
-spec staying() -> [atom()].
staying() -> [R || R <- of_others("controller"), maps:get(state, told(R), starting) =/= leaving, lives(whereis(R))].

lives(undefined) -> false;
lives(P) -> is_process_alive(P).

%% Registered processes of agents in other slots. registered/0 is not used: a node may have thousands of names, and this is part
%% of each heartbeat.
-spec of_others(string()) -> [atom()].
of_others(What) ->
    Own = kprof_cleanup:slot(),
    Slots = [[$0 + N div 10, $0 + N rem 10] || N <- lists:seq(0, ?SLOTS - 1)],
    Name = "kprof_" ++ What ++ "_",
    [R || Slot <- Slots, Slot =/= Own, R <- existing(Name ++ Slot), whereis(R) =/= undefined].

existing(Name) ->
    try [list_to_existing_atom(Name)]
    catch error:badarg -> []
    end.

%% Values that a controller stores in its process dictionary: who, instance, word, state.
-spec told(atom()) -> map().
told(Name) ->
    case catch process_info(whereis(Name), dictionary) of
        {dictionary, D} -> maps:from_list([{What, V} || {K, What} <- [{kprof_who, who}, {kprof_instance, instance}, {kprof_word, word}, {kprof_state, state}], {Key, V} <- D, Key =:= K]);
        _ -> #{}
    end.

%% Some pids, from a list that is garbage at once.
-spec oldest_and_newest() -> [pid()].
oldest_and_newest() ->
    {P, Ref} = spawn_opt(fun() -> exit({some, ends(processes())}) end, [monitor, {max_heap_size, 0}]),
    receive
        {'DOWN', Ref, _, P, {some, Some}} -> Some;
        {'DOWN', Ref, _, P, _} -> [] % it was killed
    end.

ends(All) -> lists:usort(lists:sublist(All, ?SAMPLED_PROCESSES) ++ lists:nthtail(max(0, length(All) - ?SAMPLED_PROCESSES), All)).

%% True if agents in other slots, or trace sessions of others, are on this node. (Names of the agent's sessions begin with
%% kprof_.)
-spec beside() -> boolean().
beside() -> agents() orelse [] =/= [Name || Name <- sessions(), not lists:prefix("kprof_", lists:flatten(io_lib:format("~tP", [Name, 4])))].

%% True if another program seems to use the common trace, as erlang:trace/3 and dbg do. No process is asked, so a tracer of
%% single processes is not seen here. Only if the agent has a session: otherwise the common trace is its own.
-spec common() -> boolean().
common() -> whereis(dbg) =/= undefined orelse tracer_of(new_processes) =/= [].

%% True if agents in other slots are on this node.
-spec agents() -> boolean().
agents() -> of_others("controller") =/= [].

%% Names; the session "legacy" always exists: it is the common trace. On a VM without sessions the module is never
%% called: the code server would search all directories of the code path for it each time.
-spec sessions() -> [term()].
sessions() -> [Name || {Name, _} <- session_list(), Name =/= legacy].

%% {Name, a term of this session}: the same each time.
-spec session_list() -> [{term(), term()}].
session_list() ->
    case erlang:function_exported(trace, session_info, 1) of
        true -> apply(trace, session_info, [all]);
        false -> []
    end.

%% Option of spawn_opt, for a process that holds its scheduler for milliseconds: the VM puts what there is to do on the first
%% schedulers, so on a node with time left the last one is the least in use. (What the process starts begins there, too.)
-spec last_scheduler() -> {scheduler, pos_integer()}.
last_scheduler() -> {scheduler, erlang:system_info(schedulers_online)}.

%% As spawn_opt/2, without the limit of the VM for heaps (+hmax); none: the node has as many processes as it may have.
-spec spawn_if_room(fun(() -> term()), list()) -> none | pid() | {pid(), reference()}.
spawn_if_room(Fun, Options) -> if_room(fun() -> spawn_opt(Fun, [{max_heap_size, 0} | Options]) end).

%% What Start returns; none: it starts a process, and the node has as many as it may have.
-spec if_room(fun(() -> Started)) -> none | Started.
if_room(Start) ->
    try Start()
    catch error:system_limit -> none
    end.

-spec tracer_of(pid() | new_processes) -> term().
tracer_of(What) ->
    case erlang:trace_info(What, tracer) of
        {tracer, T} -> T;
        undefined -> []
    end.

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
-spec original(non_neg_integer()) -> non_neg_integer().
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

%% -> the length of the run queue if it is long. Jobs that wait for dirty schedulers do not count: tracing does not delay them.
-spec long_run_queue() -> none | pos_integer().
long_run_queue() ->
    Length = lists:sum(lists:sublist(erlang:statistics(run_queue_lengths), erlang:system_info(schedulers))),
    case Length > ?RUN_QUEUE * erlang:system_info(schedulers_online) of
        true -> Length;
        false -> none
    end.

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
