%% Events of the VM: reported from OTP 28 on, in a session of their own, only while tracing is on. Run by agent_test.
-module(agent_vm_events_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [start/1, start/2, ask/2, trace_config/1, traced/2, finish/2, receive_off/0, forget_beats/0, nothing_left/1, gone/1, told_gone/0]).

tests() ->
    [
        {vm_events_are_told, fun vm_events_are_told/1},
        {vm_events_end_with_tracing, fun vm_events_end_with_tracing/1},
        {vm_events_end_with_the_lease, fun vm_events_end_with_the_lease/1},
        {vm_events_do_not_flood, fun vm_events_do_not_flood/1},
        {vm_events_end_while_there_are_many, fun vm_events_end_while_there_are_many/1}
    ].

%% The VM of this version has them.
here() -> list_to_integer(atom_to_list(get(version))) >= 28.

sessions(T) ->
    case rpc:call(T, trace, session_info, [all]) of
        {badrpc, _} -> [];
        All -> [Name || {Name, _} <- All, lists:prefix("kprof_vm_events", atom_to_list(Name))]
    end.

%% Waits for the session. A VM before OTP 28 has none.
on(T) -> ?soon(fun() -> length(sessions(T)) =:= if_here(1, 0) end).
off(T) -> ?soon(fun() -> sessions(T) =:= [] end).

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
    off(T).

%% Switched off, and while the breaker is open.
vm_events_end_with_tracing(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    on(T),
    ok = ask(K, {tracing, false}),
    off(T),
    P = long_queue(T, 2000),
    receive {kv, _, _, _} = Late -> error(Late) after 1200 -> ok end,
    exit(P, kill),
    ?equal(sessions(T), []),
    receive_off(),
    ok = ask(K, {tracing, true}),
    on(T),
    ok = ask(K, {trip, <<"a test">>}),
    off(T),
    finish(T, K).

vm_events_end_with_the_lease(T) ->
    K = start(T, #{pause_ms => 1000, end_ms => 10 * ?PATIENCE}),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}])}),
    ok = ask(K, {tracing, true}),
    receive_off(),
    off(T),
    ?soon(fun() -> K ! {kp_lease, ?KEY}, length(sessions(T)) =:= if_here(1, 0) end),
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

%% OTP 29 crashes if the last reference of a session is garbage collected while an event is reported (hazard E2).
vm_events_end_while_there_are_many(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    [begin
        on(T),
        Load = [rpc:call(T, agent_load, queues, []) || _ <- [1, 2]], % at the end only: else they count as a flood
        ok = ask(K, {tracing, false}),
        off(T),
        [exit(P, kill) || P <- Load],
        ok = ask(K, {tracing, true})
     end || _ <- lists:seq(1, if_here(30, 2))],
    finish(T, K),
    off(T).

told(Before) ->
    receive {kv, _, _, Events} -> told(Events ++ Before)
    after 500 -> Before
    end.
