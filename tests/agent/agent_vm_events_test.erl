%% Events of the VM: reported from OTP 28 on, in a session of their own, only while tracing is on. Run by agent_test.
-module(agent_vm_events_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [start/1, start/2, ask/2, trace_config/1, traced/2, finish/2, receive_off/0, forget_beats/0, nothing_left/1, gone/1, told_gone/0, token_of/1, drain/0, now_ms/0, vm_event_receivers/1, vm_events_switched/1]).

tests() ->
    [
        {vm_events_are_told, fun vm_events_are_told/1},
        {vm_events_end_with_tracing, fun vm_events_end_with_tracing/1},
        {vm_events_end_with_the_lease, fun vm_events_end_with_the_lease/1},
        {vm_events_do_not_flood, fun vm_events_do_not_flood/1},
        {vm_events_rest_after_a_flood, fun vm_events_rest_after_a_flood/1},
        {vm_events_do_not_stop_the_node, fun vm_events_do_not_stop_the_node/1},
        {vm_events_end_while_there_are_many, fun vm_events_end_while_there_are_many/1},
        {sessions_end_with_the_agent, fun sessions_end_with_the_agent/1},
        {sessions_end_after_the_tokens, fun sessions_end_after_the_tokens/1}
    ].

%% The VM of this version has them.
here() -> list_to_integer(atom_to_list(get(version))) >= 28.

sessions(T) -> [Name || Name <- agents_sessions(T), lists:prefix("kprof_vm_events", atom_to_list(Name))].

agents_sessions(T) ->
    case rpc:call(T, trace, session_info, [all]) of
        {badrpc, _} -> [];
        All -> [Name || {Name, _} <- All, lists:prefix("kprof_", atom_to_list(Name))]
    end.

%% Waits until they are on, or off. A VM before OTP 28 has none.
on(T) ->
    told_state(if_here(1, 2)),
    ?soon(fun() -> length(sessions(T)) =:= if_here(1, 0) end),
    ?soon(fun() -> vm_events_switched(T) end).
off() -> told_state(if_here(0, 2)).
ended(T) -> ?soon(fun() -> sessions(T) =:= [] end).

told_state(State) ->
    receive {kh, _, #{vm_events := State}} -> ok
    after ?PATIENCE -> error({no_heartbeat_with, State})
    end.

%% What the VM has reported to the agent's process makes it run.
reductions(T) ->
    [rpc:call(T, erlang, process_info, [P, reductions]) || P <- vm_event_receivers(T)].

if_here(Yes, No) -> case here() of true -> Yes; false -> No end.

%% A process that receives nothing gets N messages.
long_queue(T, N) ->
    P = rpc:call(T, erlang, spawn, [timer, sleep, [infinity]]),
    [P ! I || I <- lists:seq(1, N)],
    P.

next() ->
    receive {kv, _, _, _} = Told -> Told
    after ?PATIENCE -> error(no_vm_event)
    end.

vm_events_are_told(T) ->
    Monitor = rpc:call(T, erlang, system_monitor, []),
    K = traced(T, trace_config([{entry, 1}])),
    on(T),
    forget_beats(),
    receive {kh, _, #{vm_events := State}} -> ?equal(State, if_here(1, 2)) after ?PATIENCE -> error(no_heartbeat) end,
    P = long_queue(T, 2000),
    case here() of
        true ->
            {kv, 1, 0, [{long_message_queue, P, Native, 0, 1000, 0}]} = next(),
            ?check(is_integer(Native)),
            Q = long_queue(T, 2000),
            {kv, 2, 0, [{long_message_queue, Q, _, 0, 1000, 0}]} = next(),
            exit(Q, kill);
        false ->
            receive {kv, _, _, _} = Other -> error(Other) after 500 -> ok end
    end,
    exit(P, kill),
    ?equal(rpc:call(T, erlang, system_monitor, []), Monitor),
    finish(T, K),
    ended(T).

%% Switched off, and while the breaker is open.
vm_events_end_with_tracing(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    on(T),
    forget_beats(),
    ok = ask(K, {tracing, false}),
    off(),
    ?soon(fun() -> vm_events_switched(T) end),
    Before = reductions(T),
    P = long_queue(T, 2000),
    receive {kv, _, _, _} = Late -> error(Late) after 1200 -> ok end,
    exit(P, kill),
    ?equal({length(Before), reductions(T)}, {if_here(1, 0), Before}),
    forget_beats(),
    ok = ask(K, {tracing, true}),
    on(T),
    Q = long_queue(T, 2000),
    here() andalso next(),
    exit(Q, kill),
    forget_beats(),
    ok = ask(K, {trip, <<"a test">>}),
    off(),
    finish(T, K),
    ended(T).

vm_events_end_with_the_lease(T) ->
    K = start(T, #{pause_ms => 1000, end_ms => 10 * ?PATIENCE}),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}])}),
    ok = ask(K, {tracing, true}),
    receive_off(),
    off(),
    forget_beats(),
    ?soon(fun() -> K ! {kp_lease, ?KEY}, receive {kh, _, #{vm_events := State}} -> State =:= if_here(1, 2) after 600 -> false end end),
    finish(T, K),
    _ = start(T, #{pause_ms => 500, end_ms => 1000}),
    told_gone(),
    gone(T),
    nothing_left(T),
    ?equal(sessions(T), []).

%% At most 50 in a second; a later event tells how many there were.
vm_events_do_not_flood(T) ->
    case here() of
        true ->
            K = traced(T, trace_config([{entry, 1}])),
            on(T),
            %% their queues get long at the same time
            Ps = [long_queue(T, 995) || _ <- lists:seq(1, 200)],
            [P ! I || P <- Ps, I <- lists:seq(1, 10)],
            ?soon(fun() -> length(told([])) >= 50 end),
            ?soon(fun() ->
                P = long_queue(T, 1200),
                exit(P, kill),
                receive {kv, _, Lost, _} -> Lost > 0 after 1000 -> false end
            end),
            [exit(P, kill) || P <- Ps],
            finish(T, K);
        false ->
            ok
    end.

%% More than 1000 in a second: none for 10 s, also if tracing is switched off and on meanwhile.
vm_events_rest_after_a_flood(T) ->
    case here() of
        true ->
            K = traced(T, trace_config([{entry, 1}])),
            on(T),
            Told = fun() ->
                P = long_queue(T, 1200),
                exit(P, kill),
                receive {kv, _, _, _} -> true after 500 -> false end
            end,
            ?soon(Told),
            [Receiver] = vm_event_receivers(T),
            %% all of a second, whenever it begins
            Flooded = now_ms(),
            [Receiver ! {monitor, self(), long_gc, []} || _ <- lists:seq(1, 3000)],
            ?soon(fun() -> drain(), not Told() end),
            [begin ok = ask(K, {tracing, On}), forget_beats() end || On <- [false, true]],
            ?soon(fun() -> receive {kh, _, #{vm_events := 1}} -> true after ?PATIENCE -> false end end),
            Again = Told(),
            ?check(not Again orelse now_ms() - Flooded >= 10000),
            ?soon(Told),
            finish(T, K);
        false ->
            ok
    end.

%% For each setting the VM stops all schedulers until none is in a native function: it is not asked to while one is in a long one.
vm_events_do_not_stop_the_node(T) ->
    case here() andalso rpc:call(T, erlang, system_info, [schedulers_online]) > 1 of
        true ->
            K = traced(T, trace_config([{entry, 1}])),
            on(T),
            [Receiver] = vm_event_receivers(T),
            {_, Waker} = rpc:call(T, agent_load, blocked, [self()]),
            try
                Receiver ! {switch, false},
                %% it waits for a process that is linked to it
                ?soon(fun() -> rpc:call(T, erlang, process_info, [Receiver, links]) =/= {links, []} end),
                ?equal(ask(K, {exist, [{lists, seq, 2}]}), {1}),
                ?equal(rpc:call(T, erlang, is_process_alive, [Receiver]), true)
            after
                exit(Waker, kill)
            end,
            ?got(ends),
            ?soon(fun() -> vm_events_switched(T) end),
            finish(T, K);
        false ->
            ok
    end.

%% OTP 29 crashes if the last reference of a session is garbage collected while an event is reported (hazard E2).
vm_events_end_while_there_are_many(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    [begin
        on(T),
        Load = [rpc:call(T, agent_load, queues, []) || _ <- [1, 2]], % at the end only: else they count as a flood
        forget_beats(),
        ok = ask(K, {tracing, false}),
        off(),
        [exit(P, kill) || P <- Load],
        forget_beats(),
        ok = ask(K, {tracing, true})
     end || _ <- lists:seq(1, if_here(30, 2))],
    finish(T, K),
    ended(T).

%% The VM sends a signal to every process when a session is destroyed (kprof_idle_sessions): not before the end.
sessions_end_with_the_agent(T) ->
    Cleaner = fun() -> [{P, R} || P <- rpc:call(T, erlang, processes, []), {_, {erts_trace_cleaner, _, _}} <- [rpc:call(T, erlang, process_info, [P, initial_call])], {_, R} <- [rpc:call(T, erlang, process_info, [P, reductions])]] end,
    Before = settled(Cleaner), % a session of the test before may still be under way
    K = traced(T, trace_config([{entry, 1}])),
    on(T),
    [begin
        ok = ask(K, {tracing, On}),
        forget_beats(),
        if On -> on(T); true -> off() end
    end || On <- [false, true]],
    ok = ask(K, {capture, 0}),
    ?soon(fun() -> rpc:call(T, agent_load, entry, [1]), is_tuple(ask(K, captured)) andalso element(1, ask(K, captured)) =:= captured end),
    %% a round takes at least a reduction for each process
    Rounds = fun() -> [(R1 - R0) div 40 || {{P, R0}, {P, R1}} <- lists:zip(Before, Cleaner())] end,
    %% a session without a reference is destroyed by the next garbage collection of who had it
    [rpc:call(T, erlang, garbage_collect, [rpc:call(T, erlang, whereis, [kprof_controller_00])]) || _ <- [1, 2]],
    settled(Cleaner),
    ?equal([0 || _ <- Before], Rounds()),
    finish(T, K),
    ended(T),
    ?soon(fun() -> Rounds() =:= [] orelse Rounds() > [0] end).

%% A value that has not changed for 0.3 s.
settled(Read) ->
    Before = Read(),
    receive after 300 -> ok end, % a length of time, not a wait
    case Read() of
        Before -> Before;
        _ -> settled(Read)
    end.

%% Then no process runs because of their end while the tokens of all processes are read.
sessions_end_after_the_tokens(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    on(T),
    P = rpc:call(T, agent_load, busy_holder, [1500]),
    ?soon(fun() -> token_of(P) =/= [] end),
    All = agents_sessions(T),
    ok = rpc:call(T, agent_load, busy_holder_ends, []),
    K ! {kp, ?KEY, 1, detach},
    ?soon(fun() ->
        Now = agents_sessions(T),
        case token_of(P) of
            [] -> true;
            _ -> ?equal(Now, All), false
        end
    end),
    ?got({kr, 1, #{holders := 0}}),
    gone(T),
    exit(P, kill),
    nothing_left(T).

told(Before) ->
    receive {kv, _, _, Events} -> told(Events ++ Before)
    after 500 -> Before
    end.
