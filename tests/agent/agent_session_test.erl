%% A session: changes, requests, silence, other tracers on the node. Run by agent_test.
-module(agent_session_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    load/2, modules/0, start/1, start/2, start_controller/3, unload/1, ask/2, asked/2, beam/1, trace_config/1, trace_config/2, traced/2,
    finish/2, run/3, messages/1, calls/1, numbers/2, receive_off/0, run_forever/2, stop_workers/1, forget_beats/0,
    beat_now/1, beat_now/2, nothing_left/1, gone/1, told_gone/0, load_second/1, unload_second/1, isolated/1, token_of/1
]).

tests() ->
    [
        {no_function_is_noted, fun no_function_is_noted/1},
        {live_changes, fun live_changes/1},
        {reload_is_seen, fun reload_is_seen/1},
        {strangers_are_ignored, fun strangers_are_ignored/1},
        {why_it_is_empty, fun why_it_is_empty/1},
        {questions, fun questions/1},
        {tools_on_demand, fun tools_on_demand/1},
        {tools_are_loaded_on_the_last_scheduler, fun tools_are_loaded_on_the_last_scheduler/1},
        {tools_that_come_late, fun tools_that_come_late/1},
        {tools_under_way_at_the_end, fun tools_under_way_at_the_end/1},
        {no_process_outlives_the_agent, fun no_process_outlives_the_agent/1},
        {stacks_are_bounded, fun stacks_are_bounded/1},
        {the_catalog_is_whole, fun the_catalog_is_whole/1},
        {the_catalog_tells_libraries, fun the_catalog_tells_libraries/1},
        {a_stopped_walk_has_ended, fun a_stopped_walk_has_ended/1},
        {a_long_walk_has_normal_priority, fun a_long_walk_has_normal_priority/1},
        {rates_are_counted, fun rates_are_counted/1},
        {rates_end_with_us, fun rates_end_with_us/1},
        {off_means_off, fun off_means_off/1},
        {the_relay_rests_while_tracing_is_off, fun the_relay_rests_while_tracing_is_off/1},
        {silence_pauses_and_ends, fun silence_pauses_and_ends/1},
        {two_at_once, fun two_at_once/1},
        {receipt_is_all_zero, fun receipt_is_all_zero/1},
        {processes_with_timers_lose_their_tokens, fun processes_with_timers_lose_their_tokens/1},
        {a_busy_process_loses_its_token, fun a_busy_process_loses_its_token/1},
        {idle_tokens_are_reset, fun idle_tokens_are_reset/1},
        {tokens_of_others_stay, fun tokens_of_others_stay/1},
        {dbg_is_left_alone, fun dbg_is_left_alone/1}
    ].

no_function_is_noted(T) ->
    K = start(T),
    Config = trace_config([]),
    {ok, Notes} = ask(K, {config, Config#{tiers => [{0, agent_load, entyr, 1}, {1, agent_laod, entry, 1}, {2, agent_load, entry, 3}, {3, agent_load, entry, 1},
                                                   {4, agent_load, entry, 1}, {5, <<"agent_load">>, <<"leaf">>, 1}, {6, lists, zzzzzzzzzz, 1}, {7, 'Elixir.No.Such', x, 1}]}}),
    [{0, 0, N0}, {1, 0, N1}, {2, 0, N2}, {3, 1, <<>>}, {4, 0, N4}, {5, 1, <<>>}, {6, 0, N6}, {7, 0, N7}] = Notes,
    ?equal(N0, <<"no function agent_load:entyr/1; similar: agent_load:entry/1">>),
    ?equal(N1, <<"no module agent_laod is loaded on the node; similar: agent_load">>),
    ?equal(N2, <<"no function agent_load:entry/3; similar: agent_load:entry/1">>),
    ?equal(N4, <<"this function is already tier 3">>),
    ?equal(N6, <<"no function lists:zzzzzzzzzz/1">>),
    ?check(string:prefix(N7, "no module No.Such") =/= nomatch),
    finish(T, K).

live_changes(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Forms = fun() ->
        messages(K),
        run(T, entries, [[1]]),
        [{F, tuple_size(M)} || {F, M} <- calls(messages(K))]
    end,
    ?equal(Forms(), [{entry, 5}]),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}])}),
    ?equal(Forms(), [{entry, 5}, {tier, 3}, {leaf, 3}]),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}], #{identity => <<"agent_load:tier/1 arg(1)">>})}),
    ?equal(Forms(), [{entry, 5}, {tier, 4}]),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}], #{entry => 1})}),
    ?equal(Forms(), [{tier, 5}]),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}], #{entry => none})}),
    ?equal(Forms(), [{entry, 3}, {tier, 3}]),
    {error, identity, _} = ask(K, {config, trace_config([{entry, 1}], #{identity => <<"nonsense">>})}),
    ?equal(Forms(), [{entry, 3}, {tier, 3}]),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}], #{returns => full})}),
    messages(K),
    run(T, entries, [[1]]),
    ?equal([element(3, M) || M <- messages(K)], [call, call, return_from, return_from]),
    ok = ask(K, {sample, 1000000}),
    ?equal(Forms(), []),
    ok = ask(K, {sample, 1}),
    ?equal(Forms(), [{entry, 5}, {tier, 3}]),
    finish(T, K).

reload_is_seen(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    load(T, agent_load),
    receive
        {ke, reload, Text} -> ?check(string:find(Text, "agent_load:entry/1") =/= nomatch)
    after ?PATIENCE -> error(not_seen)
    end,
    receive {ke, mark, Module} -> ?equal(Module, <<"agent_load">>)
    after ?PATIENCE -> error(no_mark)
    end,
    messages(K),
    run(T, entries, [[1]]),
    ?equal(length(calls(messages(K))), 1),
    finish(T, K),
    rpc:call(T, code, purge, [agent_load]).

why_it_is_empty(T) ->
    K = traced(T, trace_config([{entry, 1}, {leaf, 1}, {none, 0}])),
    ok = asked(K, {tools, beam(kprof_tools_00)}), % counting is in it
    run(T, call, [[{leaf, [X]} || X <- [1, 2]]]),
    ?equal(in_time(fun() ->
        K ! {kp, ?KEY, 4242, {why, 1}},
        {pong, _} = ask(K, ping), % the counter is on
        run(T, call, [[{leaf, [1]}, {leaf, [2]}, {entry, [3]}]])
    end, fun() ->
        receive {kr, 4242, Answer} -> Answer after ?PATIENCE -> error(no_answer) end
    end), {called, 3, 1, 2}),
    ?equal(ask(K, {why, 2}), {called, 0, 0, 0}),
    ?equal(ask(K, {why, 9}), nofunction),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {nosuch, 1}])}),
    ?equal(ask(K, {why, 1}), nofunction),
    messages(K),
    run(T, entries, [[1]]),
    ?equal([F || {F, _} <- calls(messages(K)), F =:= entry], [entry]),
    finish(T, K).

%% Counts for a second; repeated if this machine needed more than 0.9 s for the calls.
in_time(Calls, Result) ->
    Began = erlang:monotonic_time(millisecond),
    Calls(),
    Took = erlang:monotonic_time(millisecond) - Began,
    case {Result(), Took < 900} of
        {Counted, true} -> Counted;
        {_, false} -> in_time(Calls, Result)
    end.

questions(T) ->
    K = start(T),
    Kernel = rpc:call(T, erlang, whereis, [kernel_sup]),
    Dead = rpc:call(T, erlang, spawn, [erlang, now, []]),
    ?soon(fun() -> not rpc:call(T, erlang, is_process_alive, [Dead]) end),
    [A, B] = [numbers(T, P) || P <- [Kernel, Dead]],
    ?equal(ask(K, {alive, [A, B]}), [B]),
    {Id, Serial} = A,
    ?equal(ask(K, {who, [A]}), [{Id, Serial, <<"kernel_sup">>}]),
    Idle = rpc:call(T, agent_load, suspend, [logger_sup]), % a process that was started with a fun
    {Id2, Serial2} = numbers(T, Idle),
    [{Id2, Serial2, Fun}] = ask(K, {who, [{Id2, Serial2}]}),
    exit(Idle, kill),
    ?check(string:prefix(Fun, "agent_load:") =/= nomatch),
    ?check(lists:member(<<"lists">>, ask(K, {modules, <<"lis">>}))),
    ?check(lists:member({entry, 1, true}, ask(K, {functions, agent_load}))),
    ?check(lists:member({tokens_left, 0, false}, ask(K, {functions, <<"agent_load">>}))),
    {pong, _} = ask(K, ping),
    {error, unknown, _} = ask(K, {what, is_this}),
    ?equal(ask(K, {functions, no_such_module}), []),
    receive
        {kh, Stamp, Health} ->
            ?check(is_integer(Stamp)),
            ?equal(lists:sort(maps:keys(Health)), lists:sort([run_queue, dirty_queue, vm_events, sched, schedulers, memory, processes, uptime_ms, relay_queue, relay_memory, dropped, others, breaker, trips, next_ms, pause_ms, sample, gap, sample_why, detail, detail_why, cost, call_ns, cost_assumed, strangers])),
            ?check(lists:all(fun is_integer/1, maps:values(Health)))
    after ?PATIENCE -> error(no_heartbeat)
    end,
    finish(T, K).

%% The second module is loaded when it is first needed, and unloaded with the first.
tools_on_demand(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    run(T, entries, [[1]]),
    ?check(length(calls(messages(K))) > 0),
    ?equal(rpc:call(T, erlang, module_loaded, [kprof_tools_00]), false),
    [?equal({Q, asked(K, Q)}, {Q, tools}) || Q <- [{catalog, <<>>}, {calls, {agent_load, entry, 1}}, {rates, []}, {stacks, #{who => all}}, {processes, #{}}, {full, #{}}, {capture, 0}, captured, {why, 0}]],
    ?check(lists:member(<<"lists">>, asked(K, {modules, <<"lis">>}))), % the names for a tier that is added by hand need no tools
    ?check(lists:member({reverse, 1, true}, asked(K, {functions, lists}))),
    [?equal({Q, asked(K, Q)}, {Q, ok}) || Q <- [{stacks, off}, {processes, off}, {full, off}, {capture, none}]],
    %% What others may send, too, calls nothing in it.
    Controller = rpc:call(T, erlang, whereis, [kprof_controller_00]),
    [Controller ! M || M <- [{stacks_end, none}, {full_plan, none, [], []}, {full_off, none}, {survey, none}, {captured, none, x}, {why, none, 1, 0, x}]],
    {pong, _} = asked(K, ping),
    ?equal(rpc:call(T, erlang, whereis, [kprof_controller_00]), Controller),
    ?equal(rpc:call(T, erlang, module_loaded, [kprof_tools_00]), false),
    {error, load, _} = asked(K, {tools, <<"no beam">>}),
    ?equal(asked(K, {tools, beam(kprof_tools_00)}), ok),
    {catalog, _, _, _, _} = asked(K, {catalog, <<>>}),
    ?equal(asked(K, {tools, beam(kprof_tools_00)}), ok),
    ok = asked(K, {stacks, #{who => all}}),
    ask(K, detach),
    gone(T),
    nothing_left(T).

tools_are_loaded_on_the_last_scheduler(T) ->
    K = start(T),
    Controller = rpc:call(T, erlang, whereis, [kprof_controller_00]),
    Loading = rpc:async_call(T, agent_load, loading, [Controller]),
    agent_lib:until(5000, fun() -> rpc:call(T, erlang, trace_info, [Controller, flags]) =/= {flags, []} end),
    ok = asked(K, {tools, beam(kprof_tools_00)}),
    ?equal(lists:usort(rpc:yield(Loading)), [rpc:call(T, erlang, system_info, [schedulers_online])]),
    ask(K, detach),
    gone(T),
    nothing_left(T).

%% kprof-top detaches at any moment of their loading: they do not stay.
tools_under_way_at_the_end(T) ->
    [
        begin
            K = start(T),
            K ! {kp, ?KEY, 1, {tools, beam(kprof_tools_00)}},
            receive after Ms -> ok end,
            ask(K, detach),
            gone(T),
            nothing_left(T)
        end
     || Ms <- lists:seq(0, 9)
    ].

%% One that did could call the module while it is unloaded.
no_process_outlives_the_agent(T) ->
    K = start(T),
    Holder = rpc:call(T, agent_load, suspend, [code_server]),
    [K ! {kp, ?KEY, Ref, {tools, beam(kprof_tools_00)}} || Ref <- [1, 2]],
    Links = fun() -> element(2, rpc:call(T, erlang, process_info, [K, links])) end,
    ?soon(fun() -> rpc:call(T, agent_load, waits, [code_server]) andalso length(Links()) =:= 2 end),
    Loading = Links(),
    ask(K, detach),
    ?soon(fun() -> rpc:call(T, erlang, whereis, [kprof_controller_00]) =:= undefined end),
    Alive = [P || P <- Loading, rpc:call(T, erlang, is_process_alive, [P])],
    exit(Holder, kill),
    ?equal(Alive, []),
    gone(T),
    nothing_left(T).

%% The code server loads the tools after the controller has died.
tools_that_come_late(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Holder = rpc:call(T, agent_load, suspend, [code_server]),
    K ! {kp, ?KEY, 1, {tools, beam(kprof_tools_00)}},
    ?soon(fun() -> rpc:call(T, agent_load, waits, [code_server]) end),
    exit(rpc:call(T, erlang, whereis, [kprof_controller_00]), kill),
    ?soon(fun() -> rpc:call(T, erlang, whereis, [kprof_relay_00]) =:= undefined end),
    ?equal(rpc:call(T, erlang, module_loaded, [kprof_tools_00]), false),
    exit(Holder, kill),
    gone(T),
    nothing_left(T).

the_catalog_is_whole(T) ->
    K = start(T),
    Pages = pages(K, <<>>),
    {catalog, All, All, <<>>, _} = lists:last(Pages),
    Told = lists:append([Ms || {catalog, _, _, _, Ms} <- Pages]),
    ?check(length(Pages) > 1),
    ?check(lists:all(fun({catalog, _, _, _, Ms}) -> length(Ms) =< 200 end, Pages)),
    ?equal(length(Told), All),
    Names = [M || {M, _, _, _, _} <- Told],
    Loaded = [M || {M, _} <- rpc:call(T, code, all_loaded, [])],
    ?equal([M || M <- modules(), lists:member(M, Names)], []),
    ?equal((Loaded -- modules()) -- Names, []),
    {agent_load, _, 0, _, Fs} = lists:keyfind(agent_load, 1, Told),
    Exported = rpc:call(T, agent_load, module_info, [exports]) -- [{module_info, 0}, {module_info, 1}],
    Local = [{F, A} || {F, A} <- rpc:call(T, agent_load, module_info, [functions]), hd(atom_to_list(F)) =/= $-] -- Exported,
    ?check(lists:member({tokens_left, 0}, Local)),
    ?equal(lists:sort([{F, A} || {F, A, 1} <- Fs]), lists:sort(Exported)),
    ?equal(lists:sort([{F, A} || {F, A, 0} <- Fs]), lists:sort(Local -- [{module_info, 0}, {module_info, 1}])),
    {lists, <<"stdlib">>, 1, _, _} = lists:keyfind(lists, 1, Told),
    {erlang, <<"erts">>, 1, _, _} = lists:keyfind(erlang, 1, Told),
    ?equal(ask(K, {exist, [{lists, map, 2}, {lists, map, 9}, {agent_load, tokens_left, 0}, {no_such_module, f, 0}]}), {1, 0, 1, 0}),
    {error, crashed, _} = ask(K, {exist, [what]}),
    finish(T, K).

%% A library is an application that another one needs, unless its name has the same prefix.
the_catalog_tells_libraries(T) ->
    Apps = [{shopex_web, [stdlib, shopex, httplib]}, {shopex, [shopex_db, httplib]}, {shopex_db, []}, {httplib, [kernel, socklib]}, {socklib, []}, {alone, []}],
    [
        begin
            M = list_to_atom(atom_to_list(App) ++ "_main"),
            {ok, M, Beam} = compile:forms([{attribute, 1, module, M}]),
            {module, M} = rpc:call(T, code, load_binary, [M, "nowhere", Beam]),
            ok = rpc:call(T, application, load, [{application, App, [{vsn, "1"}, {modules, [M]}, {applications, Needs}]}])
        end
     || {App, Needs} <- Apps
    ],
    K = start(T),
    Told = lists:append([Ms || {catalog, _, _, _, Ms} <- pages(K, <<>>)]),
    Origin = fun(M) -> element(3, lists:keyfind(M, 1, Told)) end,
    ?equal([Origin(M) || M <- [shopex_web_main, shopex_main, shopex_db_main, alone_main, httplib_main, socklib_main, lists, agent_load]], [0, 0, 0, 0, 2, 2, 1, 0]),
    [ok = rpc:call(T, application, unload, [App]) || {App, _} <- Apps],
    finish(T, K).

pages(K, After) ->
    case ask(K, {catalog, After}) of
        {catalog, _, _, <<>>, _} = Last -> [Last];
        {catalog, _, _, Next, _} = Page when Next > After -> [Page | pages(K, Next)]
    end.

%% It has a process that clears the flags: that one has ended, too. If tracing is switched on again at once, it would clear flags of
%% the new walk.
a_stopped_walk_has_ended(T) ->
    agent_lib:load_parts(T),
    ?equal(rpc:call(T, agent_load, stopped_walks, [200]), []),
    agent_lib:unload_parts(T).

%% A walk that no longer yields by itself must not be preferred to the node's own processes. After it, the process has its priority
%% again.
a_long_walk_has_normal_priority(T) ->
    agent_lib:load_parts(T),
    {Seen, After} = rpc:call(T, agent_load, long_walk, []),
    ?check(lists:member(normal, Seen)),
    ?equal(After, high),
    ?equal([rpc:call(T, agent_load, long_work, [P]) || P <- [high, normal, low]], [normal, normal, low]),
    agent_lib:unload_parts(T).

rates_are_counted(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    Theirs = {agent_load, throws, 1},
    Counter = fun(MFA) -> rpc:call(T, erlang, trace_info, [MFA, call_count]) end,
    1 = rpc:call(T, erlang, trace_pattern, [Theirs, true, [call_count]]),
    %% If a counter is on for longer than the round, its count is scaled down.
    {rates, Ms, {Leaf, 0, -1, -1, _}} = in_time(fun() ->
        put(began, erlang:monotonic_time(millisecond)),
        ok = ask(K, {rates, [{agent_load, leaf, 1}, {agent_load, none, 0}, {agent_load, no_such, 1}, {agent_load, tier, 1}, Theirs]}),
        Waits = [ask(K, {rates, [{agent_load, tail, 1}]}), ask(K, rates)],
        run(T, call, [[{leaf, [1]}, {leaf, [2]}, {entry, [3]}]]),
        put(waits, Waits)
    end, fun() -> taken(K) end),
    Took = erlang:monotonic_time(millisecond) - get(began),
    ?check(Leaf =< 3 andalso Leaf >= (3 * Ms + Took div 2) div Took),
    ?equal(get(waits), [wait, wait]),
    ?check(Ms >= 1000),
    none = ask(K, rates),
    ?equal(Counter({agent_load, leaf, 1}), {call_count, false}),
    ?equal(Counter(Theirs), {call_count, 0}), % neither reset nor removed
    rpc:call(T, erlang, trace_pattern, [Theirs, false, [call_count]]),
    messages(K),
    run(T, entries, [[1]]),
    ?equal([F || {F, _} <- calls(messages(K))], [entry, tier]),
    finish(T, K).

taken(K) ->
    case ask(K, rates) of
        wait -> receive after 20 -> taken(K) end;
        Rates -> Rates
    end.

%% During the count the controller is killed, or told to end.
rates_end_with_us(T) ->
    Counter = fun() -> rpc:call(T, erlang, trace_info, [{agent_load, leaf, 1}, call_count]) end,
    Begin = fun() ->
        K = traced(T, trace_config([{entry, 1}])),
        %% again, if that second has passed
        ?soon(fun() -> ask(K, {rates, [{agent_load, leaf, 1}]}) =:= ok andalso (isolated(T) orelse Counter() =/= {call_count, false}) end),
        K
    end,
    finish(T, Begin()),
    ?equal(Counter(), {call_count, false}),
    exit(Begin(), kill),
    gone(T),
    ?equal(Counter(), {call_count, false}),
    nothing_left(T).

%% The stack of a process: at most 20 functions, and nothing of its data.
stacks_are_bounded(T) ->
    K = start(T),
    Depth = rpc:call(T, erlang, system_flag, [backtrace_depth, 100]),
    Deep = rpc:call(T, agent_load, deep, [200, "the secret"]),
    Inside = fun() -> rpc:call(T, erlang, process_info, [Deep, status]) =:= {status, waiting} end,
    ?soon(Inside),
    Frames = ask(K, {stack, numbers(T, Deep)}),
    rpc:call(T, erlang, system_flag, [backtrace_depth, Depth]),
    ?equal(length(Frames), 20),
    [?check(is_binary(F) andalso byte_size(F) < 600) || F <- Frames],
    ?check(string:prefix(hd(Frames), "agent_load:down/2") =/= nomatch),
    ?equal([F || F <- Frames, string:find(F, "secret") =/= nomatch], []),
    exit(Deep, kill),
    ?soon(fun() -> ask(K, {stack, numbers(T, Deep)}) =:= dead end),
    finish(T, K).

%% While tracing is off it has nothing to do, so it is seldom resumed; when tracing is switched on, at once.
the_relay_rests_while_tracing_is_off(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {tracing, false}),
    receive_off(),
    Turns = rpc:call(T, agent_load, turns, [1000]),
    ?check(Turns < 30),
    ok = ask(K, {tracing, true}),
    ?soon(fun() -> run(T, entries, [[1]]), calls(messages(K)) =/= [] end),
    finish(T, K).

off_means_off(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    ?soon(fun() -> length(messages(K)) > 0 end),
    ok = ask(K, {tracing, false}),
    Last = receive_off(),
    ?equal(rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]), {traced, false}),
    {ok, Last, _} = ask(K, flush),
    receive {kb, Seq, _, _, _} when Seq > Last -> error(more) after 200 -> ok end,
    ok = ask(K, {tracing, true}),
    ?soon(fun() -> length(messages(K)) > 0 end),
    stop_workers(Workers),
    finish(T, K).

silence_pauses_and_ends(T) ->
    K = start(T, #{pause_ms => 1000, end_ms => 10 * ?PATIENCE}),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}])}),
    ok = ask(K, {tracing, true}),
    receive_off(),
    ?soon(fun() -> rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]) =:= {traced, false} end),
    told_gap(3),
    %% if this machine needs longer than that, it is paused again
    ?soon(fun() -> K ! {kp_lease, ?KEY}, forget_beats(), newest_gap() =:= 0 end),
    receive {ke, lease, Text} -> ?check(string:find(Text, "tracing was paused") =/= nomatch)
    after ?PATIENCE -> error(not_said)
    end,
    %% each request renews the lease; if this machine needs longer than that, it is paused again
    ?soon(fun() -> messages(K), run(T, entries, [[1]]), length(calls(messages(K))) =:= 1 end),
    finish(T, K),
    _ = start(T, #{pause_ms => 500, end_ms => 1000}),
    told_gone(),
    gone(T),
    nothing_left(T).

newest_gap() -> receive {kh, _, #{gap := Why}} -> Why after ?PATIENCE -> error(no_heartbeat) end.

%% Heartbeats contain the reason why nothing is traced.
told_gap(Why) ->
    receive {kh, _, #{gap := Why}} -> ok
    after ?PATIENCE -> error({no_gap, Why})
    end.

%% From another node or this one: a message without the key is ignored and counted.
strangers_are_ignored(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Forged = [{kp, 1, detach}, {kp, <<>>, 1, detach}, {kp, none, 2, {tracing, false}}, {kp_lease}, {kp_lease, <<>>}, {kp}],
    {ok, Peer, Other} = peer:start(#{name => peer:random_name(), wait_boot => ?PATIENCE, args => ["-setcookie", atom_to_list(erlang:get_cookie())]}),
    [rpc:call(Other, erlang, send, [K, M]) || M <- Forged],
    rpc:call(Other, erlang, send, [{kprof_controller_00, T}, hd(Forged)]),
    [rpc:call(T, erlang, send, [kprof_controller_00, M]) || M <- Forged],
    receive {ke, stranger, First} -> ?check(string:find(First, "ignored: 1") =/= nomatch) after ?PATIENCE -> error(not_said) end,
    ?soon(fun() -> beat_now(K, strangers) =:= 2 * length(Forged) + 1 end),
    %% Messages that only processes of the agent send: they end nothing.
    Strays = [{why, 1, 2, 3}, {why, none, 1, 2, 3}, {survey, x}, {survey, none}, {stacks_end, x}, {full_off, x}, {full_plan, x, y, z}, {captured, x, y}, {count, x}, x, {}],
    Lives = fun(P) -> is_list(rpc:call(T, erlang, process_info, [P, [status, reductions]])) end,
    [
        begin
            P = rpc:call(T, erlang, whereis, [Name]),
            rpc:call(T, erlang, send, [P, M]),
            ?equal({Name, M, Lives(P)}, {Name, M, true})
        end
     || Name <- [kprof_controller_00, kprof_relay_00], M <- Strays
    ],
    peer:stop(Peer),
    messages(K),
    run(T, entries, [[1]]),
    ?equal(length(calls(messages(K))), 1),
    finish(T, K).

two_at_once(T) ->
    K = start(T),
    load_second(T),
    Second = start_controller(T, kprof_controller_01, #{who => <<"another">>}),
    case isolated(T) of
        true ->
            {ok, K2, #{others := [Told]}} = Second,
            ?check(string:prefix(Told, "another kprof-top (tester) is tracing: ") =/= nomatch),
            ?equal(maps:get(flags, ask(K2, detach)), 0);
        false ->
            {error, busy, Text} = Second,
            ?check(string:find(Text, "tester, since 20") =/= nomatch)
    end,
    {error, leaving, _} = start_controller(T, kprof_controller_00, #{}),
    unload_second(T),
    {pong, _} = ask(K, ping),
    finish(T, K).

receipt_is_all_zero(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    ?soon(fun() -> length(messages(K)) > 0 end),
    Receipt = finish(T, K),
    ?equal(maps:without([tokens], Receipt), #{patterns => 0, flags => 0, holders => 0, session => case isolated(T) of true -> ended; false -> none end}),
    ?check(lists:member(maps:get(tokens, Receipt), [none, drained])),
    nothing_left(T),
    stop_workers(Workers).

%% Processes with a token run only every 200 ms, each at another time.
processes_with_timers_lose_their_tokens(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    Ps = [begin receive after 20 -> ok end, rpc:call(T, agent_load, beating, [200]) end || _ <- lists:seq(1, 10)],
    ?soon(fun() -> [P || P <- Ps, token_of(P) =:= []] =:= [] end),
    Receipt = finish(T, K),
    ?equal([Token || P <- Ps, Token <- [token_of(P)], Token =/= []], []),
    ?equal(maps:get(holders, Receipt), 0),
    [exit(P, kill) || P <- Ps],
    nothing_left(T).

%% A process with a token sends its next message 1.5 s after the detach begins.
a_busy_process_loses_its_token(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    P = rpc:call(T, agent_load, busy_holder, [1500]),
    ?soon(fun() -> token_of(P) =/= [] end),
    ok = rpc:call(T, agent_load, busy_holder_ends, []),
    Receipt = finish(T, K),
    ?equal(maps:get(holders, Receipt), 0),
    ?equal(token_of(P), []),
    exit(P, kill),
    nothing_left(T).

%% What idle processes keep is reset where this is allowed, unless it would block the schedulers: it waits for each garbage
%% collection.
idle_tokens_are_reset(T) ->
    [
        begin
            K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
            P = rpc:call(T, agent_load, idle_holder, []),
            ?soon(fun() -> token_of(P) =/= [] end),
            Others = [rpc:call(T, erlang, spawn_opt, [timer, sleep, [infinity], [{min_heap_size, 3 bsl 20}]]) || Large],
            Receipt = finish(T, K),
            Reset = isolated(T) andalso not Large,
            ?equal(maps:with([tokens, holders], Receipt), if Reset -> #{tokens => reset, holders => 0}; true -> #{tokens => drained, holders => 1} end),
            ?equal(token_of(P) =:= [], Reset),
            [exit(Each, kill) || Each <- [P | Others]],
            nothing_left(T)
        end
     || Large <- [false, true]
    ].

%% A program that began to trace messages after the attach: while the tokens are removed, none of its events is missing, and a
%% token that is not of the agent stays. (From OTP 27 on it is reset with all others.)
tokens_of_others_stay(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    P = rpc:call(T, agent_load, idle_holder, []),
    ?soon(fun() -> token_of(P) =/= [] end),
    ok = ask(K, {tracing, false}),
    Tracer = rpc:call(T, agent_load, sends_traced, []),
    receive after 100 -> ok end,
    finish(T, K),
    {Sent, Traced, Label} = rpc:call(T, agent_load, sends_traced_end, [Tracer]),
    ?check(Sent > 20),
    ?equal(Traced, Sent),
    isolated(T) orelse ?equal(Label, of_another),
    exit(P, kill),
    nothing_left(T).

dbg_is_left_alone(T) ->
    case rpc:call(T, code, ensure_loaded, [dbg]) of
        {module, _} -> dbg_left_alone(T);
        _ -> skipped
    end.

dbg_left_alone(T) ->
    Holder = spawn(T, timer, sleep, [infinity]),
    ok = rpc:call(T, agent_load, dbg_on, []),
    Before = rpc:call(T, agent_load, dbg_state, []),
    [load(T, M) || M <- ?MODULES],
    Isolated = isolated(T),
    case start_controller(T, kprof_controller_00, #{}) of
        {ok, K0, _} when Isolated -> ask(K0, detach);
        {error, tracer, Text} when not Isolated -> ?check(string:find(Text, "another program is tracing") =/= nomatch)
    end,
    unload(T),
    K = start(T, #{force => true}),
    {ok, Matched} = ask(K, {config, trace_config([{entry, 1}, {none, 0}])}),
    ?equal(lists:keyfind(1, 1, Matched), if Isolated -> {1, 1, <<>>}; true -> {1, 0, <<"another tracer traces this function on the node: it is not traced here">>} end),
    ok = ask(K, {tracing, true}),
    ?equal(rpc:call(T, agent_load, dbg_state, []), Before),
    run(T, entries, [[1]]),
    ?equal(length(calls(messages(K))), 1),
    ok = ask(K, {tracing, false}),
    ?equal(rpc:call(T, agent_load, dbg_state, []), Before),
    ok = ask(K, {tracing, true}),
    finish(T, K),
    ?equal(rpc:call(T, agent_load, dbg_state, []), Before),
    ok = rpc:call(T, agent_load, dbg_off, []),
    exit(Holder, kill),
    nothing_left(T).
