%% Other problems than overload: repeated trips, a late trip, silence while the breaker is open, code loaded in the
%% meantime, calls without events, a lost connection. Run by agent_test.
-module(agent_mishap_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    start/2, load/2, load/3, other_owner/2, options/0, some_load/1, unload/1, set_now/1, gone/1, nothing_left/1, ask/2, trace_config/1, trace_config/2, traced/2, finish/2, run/3, messages/1, calls/1, stop_workers/1,
    sample_told/0, beat_now/1, beat_now/2, drain/0, isolated/1, now_ms/0, numbers/2
]).

tests() ->
    [
        {replaced_patterns_stay, fun replaced_patterns_stay/1},
        {a_blocked_scheduler, fun a_blocked_scheduler/1},
        {a_full_table_of_processes, fun a_full_table_of_processes/1},
        {no_room_for_a_request, fun no_room_for_a_request/1},
        {no_room_for_details, fun no_room_for_details/1},
        {no_room_for_stacks_and_processes, fun no_room_for_stacks_and_processes/1},
        {no_room_for_a_choice, fun no_room_for_a_choice/1},
        {no_room_for_the_guardian, fun no_room_for_the_guardian/1},
        {a_start_that_takes_too_long, fun a_start_that_takes_too_long/1},
        {a_limit_of_heaps_ends_no_answer, fun a_limit_of_heaps_ends_no_answer/1},
        {a_limit_of_heaps_ends_no_process, fun a_limit_of_heaps_ends_no_process/1},
        {processes_of_another_tracer, fun processes_of_another_tracer/1},
        {one_step_is_due, fun one_step_is_due/1},
        {the_code_server_hangs, fun the_code_server_hangs/1},
        {no_trip_while_off, fun no_trip_while_off/1},
        {no_probe_while_silent, fun no_probe_while_silent/1},
        {loaded_while_untraced, fun loaded_while_untraced/1},
        {loaded_and_traced_by_others, fun loaded_and_traced_by_others/1},
        {calls_outside_are_seen, fun calls_outside_are_seen/1},
        {again_with_care, fun again_with_care/1},
        {counts_outlive_the_relay, fun counts_outlive_the_relay/1},
        {a_pause_is_told_over_a_full_link, fun a_pause_is_told_over_a_full_link/1}
    ].

%% Questions about modules are answered.
the_code_server_hangs(T) ->
    Config = trace_config([{entry, 1}]),
    K = traced(T, Config),
    #{tiers := Tiers} = Config,
    Unknown = Config#{tiers := Tiers ++ [{1, agent_loaded, entry, 1}]},
    {ok, _} = ask(K, {config, Unknown}), % loads what it needs of the node's modules
    Holder = rpc:call(T, agent_load, hold, [rpc:call(T, erlang, whereis, [code_server])]),
    try
        {ok, [_, {1, 0, Why}]} = ask(K, {config, Unknown}),
        ?check(binary:match(Why, <<"agent_load">>) =/= nomatch)
    after
        rpc:call(T, agent_load, let_go, [Holder])
    end,
    finish(T, K),
    nothing_left(T).

%% Repeated trips leave only one timer.
one_step_is_due(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {limits, #{cooldown_ms => 100}}),
    [
        begin
            ok = ask(K, {trip, <<"a test">>}),
            ?got({ke, half_open, _})
        end
     || _ <- [1, 2, 3, 4]
    ],
    ok = ask(K, {trip, <<"a test">>}),
    {Steps, Ms} = rpc:call(T, agent_load, received, [K, breaker, 1000]), % one every 100 ms
    ?check(Steps =< Ms div 100 + 2),
    finish(T, K).

%% The relay finds old events after tracing was switched off.
no_trip_while_off(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {tracing, false}),
    K ! {overload, rpc:call(T, erlang, whereis, [kprof_relay_00]), <<"late">>},
    ?check(is_map(beat_now(K))),
    #{breaker := 0, trips := 0, gap := 1} = beat_now(K),
    ok = ask(K, {tracing, true}),
    messages(K),
    run(T, entries, [[1]]),
    ?equal(length(calls(messages(K))), 1),
    finish(T, K).

%% While kprof-top is silent, no try is made; tries continue when it answers again.
no_probe_while_silent(T) ->
    K = start(T, #{pause_ms => 400}),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}])}),
    ok = ask(K, {limits, #{cooldown_ms => 1500}}),
    ok = ask(K, {tracing, true}),
    ok = ask(K, {trip, <<"a test">>}),
    receive {ke, half_open, _} -> error(probed) after 4000 -> ok end,
    K ! {kp_lease, ?KEY},
    ?got({ke, half_open, _}),
    finish(T, K).

%% New code is loaded to end an overload: its time is reported, although nothing is traced then.
loaded_while_untraced(T) ->
    version(T, 1),
    K = traced(T, (trace_config([]))#{tiers := [{0, agent_other, f, 0}]}),
    ?check(is_map(beat_now(K))),
    ok = ask(K, {limits, #{cooldown_ms => 10 * ?PATIENCE}}),
    ok = ask(K, {trip, <<"a test">>}),
    version(T, 2),
    ?got({ke, mark, <<"agent_other">>}),
    ?got({ke, reload, <<"agent_other was loaded">>}),
    ok = ask(K, {tracing, false}),
    version(T, 3),
    ?got({ke, mark, <<"agent_other">>}),
    ok = ask(K, {tracing, true}),
    version(T, 4),
    ?got({ke, mark, <<"agent_other">>}),
    receive {ke, mark, _} -> error(told_twice) after 0 -> ok end,
    finish(T, K),
    [rpc:call(T, code, F, [agent_other]) || F <- [purge, delete, purge]].

%% A module that was loaded after the tiers were chosen, if another tracer set a pattern before the agent has seen it.
loaded_and_traced_by_others(T) ->
    isolated(T) orelse
        begin
            MFA = {agent_other, f, 0},
            Theirs = [{'_', [], [{message, false}]}],
            Spec = fun() -> rpc:call(T, erlang, trace_info, [MFA, match_spec]) end,
            K = traced(T, (trace_config([]))#{tiers := [{0, agent_other, f, 0}]}),
            Holder = rpc:call(T, agent_load, hold, [K]),
            version(T, 1),
            ?equal(rpc:call(T, erlang, trace_pattern, [MFA, Theirs, [local]]), 1),
            rpc:call(T, agent_load, let_go, [Holder]),
            ?got({ke, others, <<"another tracer traces agent_other:f/0 now: it is not traced here">>}),
            ?check(is_map(beat_now(K))),
            ?equal(Spec(), {match_spec, Theirs}),
            finish(T, K),
            ?equal(Spec(), {match_spec, Theirs}),
            [rpc:call(T, code, F, [agent_other]) || F <- [purge, delete, purge]]
        end.

version(T, N) ->
    Text = ["-module(agent_other). ", "-export([f/0]). ", io_lib:format("f() -> ~b.", [N])],
    Forms = [begin {ok, Tokens, _} = erl_scan:string(lists:flatten(X)), {ok, Form} = erl_parse:parse_form(Tokens), Form end || X <- Text],
    {ok, agent_other, Beam} = compile:forms(Forms, [binary]),
    rpc:call(T, code, purge, [agent_other]),
    load(T, agent_other, Beam).

%% A tier that is called outside of requests causes no events; its cost is still measured and limited.
calls_outside_are_seen(T) ->
    K = traced(T, trace_config([{entry, 1}, {leaf, 1}])),
    ok = ask(K, {limits, #{cooldown_ms => 10 * ?PATIENCE}}),
    Idle = beat_now(K, cost),
    Workers = rpc:call(T, agent_load, outside, [2]),
    ?soon(fun() -> beat_now(K, cost) > 4 * Idle + 1000 end),
    {ok, _, #{sent := 0}} = ask(K, flush),
    ok = ask(K, {limits, #{max_cost => max(1, beat_now(K, cost) div 4)}}), % whatever share of this machine that is
    receive {ke, overload, Why} -> ?check(string:find(Why, "unsampled calls would cost") =/= nomatch) after ?PATIENCE -> error(no_trip) end,
    stop_workers(Workers),
    finish(T, K).

%% After a lost connection: first half open, with a tenth of the requests; then all.
again_with_care(T) ->
    K = start(T, #{again => true}),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}])}),
    ok = ask(K, {tracing, true}),
    ?got({ke, half_open, _}),
    ?got({kh, _, #{breaker := 2, sample := 10}}),
    ?got({ke, closed, _}),
    ?soon(fun() -> K ! {kp_lease, ?KEY}, sample_told() =:= 1 end),
    %% only once
    [ok = ask(K, {tracing, On}) || On <- [false, true]],
    drain(),
    #{breaker := 0, sample := 1} = beat_now(K),
    finish(T, K).

counts_outlive_the_relay(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    run(T, entries, [lists:seq(1, 50)]),
    {ok, Seq, #{sent := 100}} = ask(K, flush),
    exit(rpc:call(T, erlang, whereis, [kprof_relay_00]), kill),
    ?got({ke, relay_died, _}),
    ok = ask(K, {tracing, true}),
    run(T, entries, [lists:seq(1, 50)]),
    {ok, Later, #{sent := 200}} = ask(K, flush),
    ?check(Later > Seq),
    finish(T, K).

%% A stopped reader receives nothing: when it continues, it is told since when nothing was traced, although no
%% heartbeat arrived in the meantime.
a_pause_is_told_over_a_full_link(T) ->
    {Peer, Pid, K} = other_owner(T, (trace_config([{entry, 1}, {tier, 1}, {leaf, 1}]))#{start => #{pause_ms => 3000}}),
    Ask = fun(Q) -> Pid ! {self(), {ask, K, Q}} end,
    Ask({limits, ?NO_LIMITS}),
    ?got({Pid, ok}),
    Os = rpc:call(Peer, os, getpid, []),
    Pid ! {self(), events},
    os:cmd("kill -STOP " ++ Os),
    ?soon(fun() -> some_load(T), maps:get(flags, set_now(T)) =:= [] end),
    K ! {kp_lease, ?KEY}, % its messages are not delivered now
    ?soon(fun() -> maps:get(flags, set_now(T)) =/= [] end),
    os:cmd("kill -CONT " ++ Os),
    Off = receive {Pid, {gap, A, 3}} -> A after ?PATIENCE -> error(no_gap) end,
    receive {Pid, {gap, On, 0}} when On > Off -> ok after ?PATIENCE -> error(no_end) end,
    ?got({Pid, {ke, lease, _}}),
    os:cmd("kill -9 " ++ Os),
    gone(T),
    nothing_left(T).

%% Below OTP 27 another tracer can replace a pattern of the agent: the agent does not replace or remove that one.
replaced_patterns_stay(T) -> isolated(T) orelse replaced(T).

replaced(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}])),
    Theirs = [{'_', [], [{message, false}]}],
    Of = fun(F) -> rpc:call(T, erlang, trace_info, [{agent_load, F, 1}, match_spec]) end,
    [1 = rpc:call(T, erlang, trace_pattern, [{agent_load, F, 1}, Theirs, [local]]) || F <- [tier, leaf]],
    %% the sampling changes, and a tier is removed
    ok = ask(K, {sample, 3}),
    ?got({ke, others, <<"another tracer traces agent_load:tier/1", _/binary>>}),
    [?equal(Of(F), {match_spec, Theirs}) || F <- [tier, leaf]],
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}])}),
    [?equal(Of(F), {match_spec, Theirs}) || F <- [tier, leaf]],
    %% its own again when the other one has left
    [1 = rpc:call(T, erlang, trace_pattern, [{agent_load, F, 1}, false, [local]]) || F <- [tier, leaf]],
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}])}),
    ?check(Of(tier) =/= {match_spec, undefined} andalso Of(tier) =/= {match_spec, false}),
    finish(T, K),
    nothing_left(T).

%% A scheduler that is in a long native function does not stop the heartbeats, unless it is the one that has their timer: some
%% tries.
a_blocked_scheduler(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Blocked = fun() ->
        drain(),
        rpc:call(T, agent_load, blocks, [3000, self()]),
        beats(0, now_ms() + ?PATIENCE)
    end,
    ?soon(fun() -> Blocked() > 3 end),
    finish(T, K).

beats(N, End) ->
    receive
        {kh, _, #{memory := Memory}} when Memory > 0 -> beats(N + 1, End);
        ends -> N
    after max(0, End - now_ms()) -> error({no_end, N})
    end.

%% The node has as many processes as it may have: the heartbeats go on, questions are answered, tracing can be switched off and on,
%% and the end leaves nothing.
a_full_table_of_processes(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    [?got({kh, _, _}) || _ <- [1, 2]], % the process for events of the VM has been started
    Filler = rpc:call(T, agent_load, fill, [self()]),
    receive full -> drain() after ?PATIENCE -> error(not_full) end,
    [?got({kh, _, _}) || _ <- lists:seq(1, 4)],
    {error, busy, _} = ask(K, {alive, [{1, 0}]}),
    [begin ok = ask(K, {tracing, On}), ?got({kh, _, #{gap := _}}) end || On <- [false, true]],
    ok = ask(K, {trip, <<"a test">>}),
    [?got({kh, _, _}) || _ <- lists:seq(1, 3)],
    K ! {kp, ?KEY, 1, detach},
    receive {kr, 1, Receipt} -> ?equal(maps:with([patterns, flags], Receipt), #{patterns => 0, flags => 0}) after ?PATIENCE -> error(no_receipt) end,
    Filler ! stop,
    receive ended -> ok after ?PATIENCE -> error(not_ended) end,
    gone(T),
    nothing_left(T).

%% A request for which there is no room for a process is refused, and tracing goes on.
no_room_for_a_request(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    P = numbers(T, rpc:call(T, erlang, whereis, [init])),
    catalog = element(1, ask(K, {catalog, <<>>})), % loads the tools
    Filler = rpc:call(T, agent_load, fill, [self()]),
    receive full -> drain() after ?PATIENCE -> error(not_full) end,
    Entry = {<<"agent_load">>, <<"entry">>, 1},
    [
        refused(K, Request, End)
     || {Request, End} <- [
            {{capture, 0}, {capture, none}},
            {{processes, #{}}, {processes, off}},
            {{stacks, #{who => all}}, {stacks, off}},
            {{full, #{who => {pids, [P]}, modules => {some, [<<"agent_load">>], []}}}, {full, off}},
            {{full, #{who => {call, Entry}, modules => {some, [<<"agent_load">>], []}}}, {full, off}}
        ]
    ],
    Filler ! stop,
    receive ended -> ok after ?PATIENCE -> error(not_ended) end,
    ?soon(fun() -> drain(), run(T, call, [[{entry, [here]}]]), ask(K, flush), calls(messages(K)) =/= [] end),
    finish(T, K),
    nothing_left(T).

%% Requests are followed in detail from then on: what the relay cannot start for them does not end it, and the flags are cleared.
no_room_for_details(T) ->
    K = traced(T, trace_config([{yields, 2}])),
    P = rpc:call(T, agent_load, yielding_later, [20]),
    Relay = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    log_on(T),
    Filler = rpc:call(T, agent_load, fill, [self()]),
    receive full -> drain() after ?PATIENCE -> error(not_full) end,
    {ok, _} = ask(K, {config, trace_config([{yields, 2}], #{detail => 1})}),
    P ! go,
    ?soon(fun() -> {ok, _, #{sent := Sent}} = ask(K, flush), Sent > 0 end),
    Filler ! stop,
    receive ended -> ok after ?PATIENCE -> error(not_ended) end,
    receive {ke, relay_died, _} -> error(relay_died) after 0 -> ok end,
    ?equal(rpc:call(T, erlang, whereis, [kprof_relay_00]), Relay),
    ?soon(fun() -> not lists:member(running, maps:get(flags, rpc:call(T, agent_load, set_of, [P]))) end),
    log_off(T),
    no_report(),
    P ! stop,
    finish(T, K),
    nothing_left(T).

%% Of a process that has crashed. The VM itself logs that there are too many.
no_report() ->
    receive
        {logged, {_, ["Too many processes\n"]}} -> no_report();
        {logged, What} -> error(What)
    after 0 -> ok
    end.

%% They wait until there is room again; so does a new guardian.
no_room_for_stacks_and_processes(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {stacks, #{who => all, interval_us => 5000, period_ms => 500}}),
    {wait, _} = ask(K, {processes, #{period_ms => 500}}),
    Guardian = rpc:call(T, erlang, whereis, [kprof_guardian_00]),
    ?soon(fun() -> receive {ks, _, _, _, _, _, _, _, Samples} -> Samples =/= [] after 0 -> false end end),
    log_on(T),
    Filler = rpc:call(T, agent_load, fill, [self()]),
    receive full -> drain() after ?PATIENCE -> error(not_full) end,
    exit(Guardian, kill),
    [begin ?got({kh, _, _}), ask(K, {processes, #{period_ms => 500}}) end || _ <- lists:seq(1, 6)],
    Filler ! stop,
    receive ended -> ok after ?PATIENCE -> error(not_ended) end,
    receive {ke, What, Text} when What =:= stacks; What =:= processes -> error({What, Text}) after 0 -> ok end,
    log_off(T),
    no_report(),
    ?soon(fun() -> is_pid(rpc:call(T, erlang, whereis, [kprof_guardian_00])) end),
    ?equal(rpc:call(T, erlang, whereis, [kprof_controller_00]), K),
    drain(),
    ?soon(fun() -> receive {ks, _, _, _, _, _, _, _, Samples} -> Samples =/= [] after 0 -> false end end),
    ok = ask(K, {stacks, off}),
    finish(T, K),
    nothing_left(T).

%% The node has room for one process: for a sampler or a chooser, but not for what these start.
no_room_for_a_choice(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Asked = {stacks, #{who => all, interval_us => 5000, period_ms => 500}},
    ok = ask(K, Asked),
    ?soon(fun() -> receive {ks, _, _, #{workers := N}, _, _, _, _, _} -> N >= 4 after 0 -> false end end),
    log_on(T),
    with_one_place(T, fun() -> [?got({kh, _, _}) || _ <- lists:seq(1, 6)] end),
    sampling_goes_on(),
    ok = ask(K, {stacks, off}),
    with_one_place(T, fun() ->
        ?soon(fun() -> ask(K, Asked) =:= ok end),
        [?got({kh, _, _}) || _ <- lists:seq(1, 4)]
    end),
    sampling_goes_on(),
    log_off(T),
    no_report(),
    ok = ask(K, {stacks, off}),
    finish(T, K),
    nothing_left(T).

with_one_place(T, F) ->
    Filler = rpc:call(T, agent_load, fill, [self(), 1]),
    receive full -> drain() after ?PATIENCE -> error(not_full) end,
    F(),
    Filler ! stop,
    receive ended -> ok after ?PATIENCE -> error(not_ended) end.

sampling_goes_on() ->
    receive {ke, stacks, Text} -> error(Text) after 0 -> ok end,
    ?soon(fun() -> receive {ks, _, _, _, _, _, _, _, Samples} -> Samples =/= [] after 0 -> false end end).

%% The controller has set the control word by then.
no_room_for_the_guardian(T) ->
    load(T, kprof_agent_00),
    ?soon(fun() -> is_no_room(rpc:call(T, agent_load, start_alone, [options()])) end),
    ?soon(fun() -> rpc:call(T, erlang, system_info, [trace_control_word]) =:= 0 end),
    unload(T),
    nothing_left(T).

is_no_room({error, crashed, Text}) -> string:find(Text, "system_limit") =/= nomatch;
is_no_room({ok, K, _}) -> ask(K, detach), error(started);
is_no_room(_) -> false.

%% The controller is stopped somewhere in its start: it is ended, and what it has set is removed.
a_start_that_takes_too_long(T) ->
    load(T, kprof_agent_00),
    Catcher = rpc:call(T, agent_load, catch_one, [self(), kprof_agent_00, "controller_init"]),
    Answer = rpc:call(T, kprof_agent_00, controller_start, [options()]),
    K = receive {held, Catcher, P} -> P after ?PATIENCE -> error(not_held) end,
    case Answer of
        {error, timeout, _} ->
            ?equal(rpc:call(T, erlang, is_process_alive, [K]), false),
            ?equal(rpc:call(T, erlang, system_info, [trace_control_word]), 0);
        {ok, K, _} -> % it had started when it was stopped
            rpc:call(T, agent_load, let_go, [Catcher]),
            ask(K, detach)
    end,
    exit(Catcher, kill),
    unload(T),
    nothing_left(T),
    drain().

%% Now and then a process ends, and there is room for a moment.
refused(K, Request, End) ->
    ?soon(fun() ->
        case ask(K, Request) of
            {error, busy, _} -> true;
            _ -> ask(K, End), false
        end
    end).

%% With +hmax the VM kills processes with large heaps. Those that find answers are linked to the controller.
a_limit_of_heaps_ends_no_answer(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Before = rpc:call(T, erlang, system_flag, [max_heap_size, #{size => 10000, kill => true, error_logger => false}]),
    Answer = ask(K, {catalog, <<>>}),
    rpc:call(T, erlang, system_flag, [max_heap_size, Before]),
    ?equal(element(1, Answer), catalog),
    finish(T, K).

%% With a limit that is lower than what any of them needs, also for those that clean up: the guardian, too.
a_limit_of_heaps_ends_no_process(T) ->
    [limited(T, Who) || Who <- [none, [kprof_controller_00], [kprof_controller_00, kprof_relay_00]]],
    nothing_left(T).

limited(T, Killed) ->
    log_on(T),
    [rpc:call(T, code, ensure_loaded, [M]) || M <- [trace, erl_scan, erl_parse, erl_eval]],
    Before = rpc:call(T, erlang, system_flag, [max_heap_size, #{size => 1500, kill => true, error_logger => true}]),
    try
        begun_and_ended(T, Killed)
    after
        rpc:call(T, erlang, system_flag, [max_heap_size, Before]),
        log_off(T)
    end,
    gone(T),
    receive {logged, What} -> error(What) after 0 -> drain() end.

begun_and_ended(T, Killed) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    ok = ask(K, {stacks, #{who => all, interval_us => 5000, period_ms => 500}}),
    ?soon(fun() -> receive {ks, _, _, _, _, _, _, _, Samples} -> Samples =/= [] after 0 -> false end end),
    ?soon(fun() -> beat_now(K, memory) > 0 end),
    [_ | _] = ask(K, {stack, numbers(T, K)}),
    case Killed of
        none -> ?equal(maps:with([patterns, flags], ask(K, detach)), #{patterns => 0, flags => 0});
        _ -> [exit(rpc:call(T, erlang, whereis, [Name]), kill) || Name <- Killed]
    end,
    ?soon(fun() -> not rpc:call(T, erlang, module_loaded, [kprof_agent_00]) end).

%% Before OTP 27 the VM logs each attempt to trace a process of another tracer. So there is one for each, and the walks of the
%% breaker make no more; when tracing is switched on again, there is another one.
processes_of_another_tracer(T) ->
    case isolated(T) of
        true -> skipped;
        false -> another_traces(T, 20)
    end.

another_traces(T, N) ->
    Other = rpc:call(T, agent_load, traces_others, [N]),
    log_on(T),
    K = start(T, #{force => true, pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    ok = ask(K, {limits, (?NO_LIMITS)#{cooldown_ms => 200}}),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}])}),
    ok = ask(K, {tracing, true}),
    ?got({ke, others, <<"processes with another tracer", _/binary>>}),
    ?equal(refusals(0), N),
    ok = ask(K, {trip, <<"a test">>}),
    ?got({ke, half_open, _}),
    ?got({ke, closed, _}),
    ?equal(refusals(0), 0),
    ok = ask(K, {tracing, false}),
    ?equal(refusals(0), 0),
    ok = ask(K, {tracing, true}),
    ?got({ke, others, <<"processes with another tracer", _/binary>>}),
    ?equal(refusals(0), N),
    log_off(T),
    finish(T, K),
    exit(Other, kill).

%% The tester gets what the node logs: {logged, Message}.
log_on(T) ->
    ok = rpc:call(T, logger, set_primary_config, [level, error]),
    ok = rpc:call(T, logger, add_handler, [agent_load, agent_load, #{config => self()}]).

log_off(T) ->
    ok = rpc:call(T, logger, remove_handler, [agent_load]),
    ok = rpc:call(T, logger, set_primary_config, [level, emergency]).

%% Lines of the log, until there are no more.
refusals(N) ->
    receive
        {logged, What} ->
            ?check(string:find(io_lib:format("~0tp", [What]), "one tracer") =/= nomatch),
            refusals(N + 1)
    after 1000 -> N
    end.
