%% Processes of the agent are killed in any order: afterwards the node is as before. The next agent waits until this
%% is done.
-module(agent_kill_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    until/2, start_controller/3, reaped/1, ask/2, trace_config/1, trace_config/2, traced/2, finish/2, run/3, messages/1, calls/1,
    token_of/1, run_forever/2, stop_workers/1, nothing_left/1, gone/1, told_gone/0, load_second/1, unload_second/1, drain/0,
    other_owner/2, isolated/1
]).

tests() ->
    [
        {relay_killed, fun relay_killed/1},
        {relay_killed_beside_an_idle_token, fun relay_killed_beside_an_idle_token/1},
        {relay_killed_beside_others, fun relay_killed_beside_others/1},
        {controller_killed, fun controller_killed/1},
        {pacer_killed, fun pacer_killed/1},
        {kprof_top_killed, fun kprof_top_killed/1},
        {two_of_them_killed, fun two_of_them_killed/1},
        {guardian_killed, fun guardian_killed/1},
        {next_one_waits, fun next_one_waits/1},
        {what_another_has_begun_to_load_stays, fun what_another_has_begun_to_load_stays/1},
        {another_of_the_same_name_stays, fun another_of_the_same_name_stays/1},
        {our_own_from_before_gives_way, fun our_own_from_before_gives_way/1},
        {control_word_is_for_all, fun control_word_is_for_all/1},
        {a_limit_is_of_an_agent_that_is_alone, fun a_limit_is_of_an_agent_that_is_alone/1},
        {word_of_an_agent_that_is_ending, fun word_of_an_agent_that_is_ending/1}
    ].

tiers() -> trace_config([{entry, 1}, {tier, 1}]).

whereis(T, controller) -> rpc:call(T, erlang, whereis, [kprof_controller_00]);
whereis(T, relay) -> rpc:call(T, erlang, whereis, [kprof_relay_00]);
whereis(T, guardian) -> rpc:call(T, erlang, whereis, [kprof_guardian_00]);
whereis(T, pacer) ->
    {links, Links} = rpc:call(T, erlang, process_info, [whereis(T, relay), links]),
    hd([P || P <- Links, is_pid(P)]).

tracing(T) ->
    K = traced(T, tiers()),
    ?soon(fun() -> run(T, entries, [[1]]), length(messages(K)) > 0 end),
    K.

%% Each ordered pair: both at once, and the second while the end of the first is being handled.
two_of_them_killed(T) ->
    Workers = run_forever(T, 4),
    All = [controller, relay, guardian, pacer],
    [two_killed(T, A, B, Ms) || A <- All, B <- All, A =/= B, Ms <- [0, 1]],
    stop_workers(Workers).

two_killed(T, A, B, Ms) ->
    K = tracing(T),
    [P1, P2] = [whereis(T, Who) || Who <- [A, B]],
    rpc:call(T, agent_load, kill, [[P1, P2], Ms]),
    %% if the controller is alive, tracing is off or continues; it ends on request
    case lists:member(controller, [A, B]) of
        true -> ok;
        false -> #{patterns := 0, flags := 0} = ask(K, detach)
    end,
    {A, B, Ms, true} = {A, B, Ms, until(?PATIENCE, fun() -> not rpc:call(T, erlang, module_loaded, [kprof_agent_00]) end)},
    reaped(T),
    nothing_left(T),
    drain().

%% A new guardian replaces it and works.
guardian_killed(T) ->
    tracing(T),
    First = whereis(T, guardian),
    exit(First, kill),
    ?soon(fun() -> P = whereis(T, guardian), is_pid(P) andalso P =/= First end),
    rpc:call(T, agent_load, kill, [[whereis(T, relay), whereis(T, controller)], 0]),
    told_gone(),
    reaped(T),
    nothing_left(T).

second(T, Who) -> start_controller(T, kprof_controller_01, #{who => Who}).

%% Below OTP 27, with only one tracer: the next agent waits as long as a process of an ending agent is alive.
next_one_waits(T) ->
    load_second(T),
    K = tracing(T),
    case isolated(T) of
        true ->
            finish(T, K);
        false ->
            {error, busy, Busy} = second(T, <<"another">>),
            ?check(string:find(Busy, "tester, since 20") =/= nomatch),
            %% its relay is suspended, so that it does not handle the end of its controller
            Relay = whereis(T, relay),
            Holder = rpc:call(T, agent_load, hold, [Relay]),
            exit(K, kill),
            ?soon(fun() -> whereis(T, controller) =:= undefined end),
            {error, leaving, Text} = second(T, <<"another">>),
            ?check(string:find(Text, "detaching") =/= nomatch),
            rpc:call(T, agent_load, let_go, [Holder]),
            ?soon(fun() -> begun(T, second(T, <<"another">>)) end)
    end,
    unload_second(T),
    reaped(T),
    nothing_left(T).

begun(_, {error, leaving, _}) -> false;
begun(_, {ok, K, _}) ->
    ask(K, detach),
    true.

%% While another process holds the slot, its module is not unloaded; and not at all if a controller has started in it.
what_another_has_begun_to_load_stays(T) ->
    K = tracing(T),
    Holder = rpc:call(T, agent_load, claim, [kprof_slot_00]),
    ask(K, detach),
    ?soon(fun() -> whereis(T, controller) =:= undefined andalso whereis(T, relay) =:= undefined end),
    ?check(rpc:call(T, agent_load, reapers, []) =/= []),
    ?equal(until(500, fun() -> not rpc:call(T, erlang, module_loaded, [kprof_agent_00]) end), false),
    {ok, K2, _} = start_controller(T, kprof_controller_00, #{}),
    exit(Holder, kill),
    reaped(T),
    ?check(rpc:call(T, erlang, module_loaded, [kprof_agent_00])),
    {ok, _} = ask(K2, {config, tiers()}),
    finish(T, K2),
    nothing_left(T).

%% Two containers can have the same user, host name and pid.
another_of_the_same_name_stays(T) ->
    load_second(T),
    K = tracing(T),
    case {isolated(T), start_controller(T, kprof_controller_01, #{who => <<"tester">>, instance => 7})} of
        {true, {ok, K2, #{others := [Told]}}} ->
            ?check(string:prefix(Told, "another kprof-top (tester) is tracing: ") =/= nomatch),
            {pong, _} = ask(K, ping),
            ask(K2, detach);
        {false, {error, busy, Text}} ->
            ?check(string:find(Text, "tester, since 20") =/= nomatch)
    end,
    K ! {superseded, <<"tester">>}, % from an agent without instances
    {pong, _} = ask(K, ping),
    unload_second(T),
    finish(T, K),
    nothing_left(T).

%% The old connection hangs: its agent does not know yet that kprof-top has connected again.
our_own_from_before_gives_way(T) ->
    load_second(T),
    tracing(T),
    case {isolated(T), second(T, <<"tester">>)} of
        {true, {ok, K2, _}} -> ask(K2, detach);
        {false, {error, leaving, _}} -> ?soon(fun() -> begun(T, second(T, <<"tester">>)) end)
    end,
    gone(T),
    unload_second(T),
    reaped(T),
    nothing_left(T).

%% From OTP 27 on each of two agents has a session, but the VM has one control word: the first one to end does not
%% reset it.
control_word_is_for_all(T) ->
    case isolated(T) of
        false ->
            skipped;
        true ->
            Word = fun() -> rpc:call(T, erlang, system_info, [trace_control_word]) end,
            load_second(T),
            K = tracing(T),
            {ok, K2, _} = second(T, <<"another">>),
            {ok, _} = ask(K2, {config, tiers()}),
            ok = ask(K2, {tracing, true}),
            %% each has its own tokens
            #{tokens := Mine} = ask(K, detach),
            ?check(lists:member(Mine, [none, drained])),
            reaped(T),
            drain(),
            run(T, entries, [[1]]),
            [{0, Label, _, _, _} | _] = [M || {entry, M} <- calls(messages(K2))],
            ?check(is_integer(Label) andalso Word() > 0),
            #{tokens := Theirs} = ask(K2, detach),
            ?check(lists:member(Theirs, [none, drained])),
            unload_second(T),
            reaped(T),
            ?equal(Word(), 0),
            nothing_left(T)
    end.

%% The first agent limits bursts, and does not trace at present: the calls of the second one have no limit.
a_limit_is_of_an_agent_that_is_alone(T) ->
    case isolated(T) of
        false ->
            skipped;
        true ->
            load_second(T),
            K = traced(T, tiers()),
            ok = ask(K, {limits, (?NO_LIMITS)#{max_queue => 100000}}),
            ok = ask(K, {tracing, false}),
            {ok, K2, _} = second(T, <<"another">>),
            ok = ask(K2, {limits, ?NO_LIMITS}),
            {ok, _} = ask(K2, {config, tiers()}),
            ok = ask(K2, {tracing, true}),
            drain(),
            [receive {kh, _, _} -> ok after ?PATIENCE -> error(no_heartbeat) end || _ <- lists:seq(1, 6)], % both notice the other one
            messages(K2),
            [
                begin
                    run(T, many, [1, 4000]),
                    ?equal({Round, length([x || {entry, _} <- calls(messages(K2))])}, {Round, 4000})
                end
             || Round <- lists:seq(1, 5)
            ],
            ask(K, detach),
            ask(K2, detach),
            unload_second(T),
            reaped(T),
            nothing_left(T)
    end.

relay_killed(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    ?soon(fun() -> length(messages(K)) > 0 end),
    exit(rpc:call(T, erlang, whereis, [kprof_relay_00]), kill),
    ?got({ke, relay_died, _}),
    Left = fun() -> maps:with([patterns, flags, new, sessions], rpc:call(T, agent_load, left, [[{agent_load, entry, 1}, {agent_load, tier, 1}], ?MODULES])) end,
    ?equal(Left(), #{patterns => [], flags => [], new => [], sessions => 0}),
    {pong, _} = ask(K, ping),
    %% tracing can be switched on again
    drain(),
    ok = ask(K, {tracing, true}),
    ?soon(fun() -> length(messages(K)) > 0 end),
    finish(T, K),
    stop_workers(Workers),
    nothing_left(T).

%% An idle process has a token: the receipt says so, although the tokens were removed when the relay died.
relay_killed_beside_an_idle_token(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    P = rpc:call(T, agent_load, idle_holder, []),
    ?soon(fun() -> token_of(P) =/= [] end),
    exit(rpc:call(T, erlang, whereis, [kprof_relay_00]), kill),
    ?got({ke, relay_died, _}),
    #{holders := Holders} = finish(T, K),
    ?equal(Holders, case token_of(P) of [] -> 0; _ -> 1 end),
    exit(P, kill),
    nothing_left(T).

%% With the relay, the agent's session has ended. What others have set in the common trace is not taken for the agent's, and it
%% keeps no tier from being traced in the next session.
relay_killed_beside_others(T) -> isolated(T) andalso beside_others(T).

beside_others(T) ->
    {Leaf, Tier} = {{agent_load, leaf, 1}, {agent_load, tier, 1}},
    Counter = fun() -> rpc:call(T, erlang, trace_info, [Leaf, call_count]) end,
    K = traced(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}])),
    {called, 0, 0, 0} = ask(K, {why, 2}),
    1 = rpc:call(T, erlang, trace_pattern, [Leaf, true, [call_count]]),
    1 = rpc:call(T, erlang, trace_pattern, [Tier, true, [local]]),
    K ! {kp, ?KEY, 4243, {why, 2}},
    exit(whereis(T, relay), kill),
    ?got({ke, relay_died, _}),
    receive {kr, 4243, Answer} -> ?equal(element(2, Answer), held) after ?PATIENCE -> error(no_answer) end,
    ?equal(Counter(), {call_count, 0}),
    {error, held, _} = ask(K, {why, 2}),
    ok = ask(K, {tracing, true}),
    {called, 0, 0, 0} = ask(K, {why, 2}),
    ?equal(Counter(), {call_count, 0}),
    messages(K),
    run(T, entries, [[1]]),
    ?equal([F || {F, _} <- calls(messages(K))], [entry, tier, leaf]),
    [rpc:call(T, erlang, trace_pattern, [MFA, false, [What]]) || {MFA, What} <- [{Leaf, call_count}, {Tier, local}]],
    finish(T, K),
    nothing_left(T).

pacer_killed(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    {links, Links} = rpc:call(T, erlang, process_info, [rpc:call(T, erlang, whereis, [kprof_relay_00]), links]),
    [Pacer] = [P || P <- Links, is_pid(P)],
    exit(Pacer, kill),
    ?got({ke, relay_died, _}),
    finish(T, K),
    nothing_left(T).

controller_killed(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    ?soon(fun() -> length(messages(K)) > 0 end),
    exit(K, kill),
    told_gone(),
    gone(T),
    nothing_left(T),
    stop_workers(Workers).

kprof_top_killed(T) ->
    Workers = run_forever(T, 4),
    {Peer, Pid, K} = other_owner(T, trace_config([{entry, 1}, {tier, 1}])),
    ?soon(fun() -> rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]) =/= {traced, false} orelse isolated(T) end),
    %% during a request that counts calls for a second; repeated if that second was missed
    Counter = fun() -> rpc:call(T, erlang, trace_info, [{agent_load, tier, 1}, call_count]) end,
    Ask = fun() -> Pid ! {self(), {ask, K, {why, 1}}} end,
    Ask(),
    ?soon(fun() ->
        receive {Pid, {called, _, _, _}} -> Ask() after 0 -> ok end,
        isolated(T) orelse Counter() =/= {call_count, false}
    end),
    Os = rpc:call(Peer, os, getpid, []),
    os:cmd("kill -9 " ++ Os),
    gone(T),
    nothing_left(T),
    ?equal(Counter(), {call_count, false}),
    stop_workers(Workers).

%% If an agent ends while another one starts, the control word stays set; the new agent does not know the original value.
word_of_an_agent_that_is_ending(T) ->
    rpc:call(T, erlang, system_flag, [trace_control_word, 1 bsl 27 + 12345]),
    K = tracing(T),
    #{tokens := none} = ask(K, detach),
    reaped(T),
    ?equal(rpc:call(T, erlang, system_info, [trace_control_word]), 0),
    nothing_left(T).
