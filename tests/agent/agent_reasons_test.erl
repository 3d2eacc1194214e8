%% Each reason for which the breaker opens: its text, and the state of the node afterwards; and actions with a time
%% limit, measured in periods of the controller: their duration depends on the machine. Run by agent_test.
-module(agent_reasons_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [payloads/2, 
    load/3, start/1, start/2, ask/2, trace_config/1, trace_config/2, finish/2, run/3, messages/1, batches/1, calls/1, receive_off/0, run_forever/2,
    stop_workers/1, drain/0, set_now/1, beat_now/1
]).

-define(BATCH, 2000). % the relay checks its limits once per batch
-define(EVENTS, 6). % events per entry: three calls and their returns
-define(SKIPPED, 34). % tickets of two such calls
-define(PART_TIME, 5). % sample_why
-define(RUN_QUEUE, 100). % per scheduler
-define(BEAT_MS, 500). % period of the controller

tests() ->
    [
        {old_events_trip, fun old_events_trip/1},
        {many_events_are_dropped, fun many_events_are_dropped/1},
        {dropped_events_weigh_what_they_stood_for, fun dropped_events_weigh_what_they_stood_for/1},
        {a_burst_is_limited_at_once, fun a_burst_is_limited_at_once/1},
        {a_flood_before_part_time_is_no_new_one, fun a_flood_before_part_time_is_no_new_one/1},
        {a_flood_of_unsampled_calls_names_their_cost, fun a_flood_of_unsampled_calls_names_their_cost/1},
        {big_events_trip, fun big_events_trip/1},
        {a_long_queue_is_not_walked, fun a_long_queue_is_not_walked/1},
        {a_long_run_queue_trips, fun a_long_run_queue_trips/1},
        {dirty_jobs_do_not_trip, fun dirty_jobs_do_not_trip/1},
        {asked_to_trip, fun asked_to_trip/1},
        {reloaded_is_traced_at_the_next_look, fun reloaded_is_traced_at_the_next_look/1},
        {silent_for_ten_seconds, fun silent_for_ten_seconds/1}
    ].

%% ---- Reasons that the relay detects ----

old_events_trip(T) ->
    {[Ms], Held} = piled_up(T, #{max_age_ms => 1000}, 1000, "events were ([0-9]+) ms old"),
    ?check(Ms > 1000 andalso Ms =< Held).

%% Too many events at once are dropped and counted, and the sampling rate is reduced, each time: the breaker stays
%% closed.
many_events_are_dropped(T) ->
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}]), #{max_queue => 5000}),
    Relay = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    pile_up(T, K, Relay),
    ?got({ke, sampling, <<_/binary>>}),
    ?soon(fun() -> #{breaker := 0, dropped := Dropped} = beat_now(K), Dropped > 0 end),
    [pile_up(T, K, Relay) || _ <- lists:seq(1, 5)],
    #{breaker := 0} = beat_now(K),
    receive {ke, overload, Text} -> error({tripped, Text}) after 0 -> ok end,
    finish(T, K).

%% Events after a change of the sampling rate have the new weight, even if they are dropped before the relay reads the
%% message about the change. Later events have it, too.
dropped_events_weigh_what_they_stood_for(T) ->
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}]), #{max_queue => 5000}),
    Relay = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    Holders = [rpc:call(T, agent_load, hold, [P]) || P <- [Relay, K]],
    run(T, many, [1, 100]),
    Relay ! {weight, 16, rpc:call(T, erlang, monotonic_time, [])},
    run(T, many, [4, 1000]),
    [rpc:call(T, agent_load, let_go, [Holder]) || Holder <- Holders],
    ?got({ke, sampling, <<_/binary>>}),
    stood(100, 4 * 1000 * ?EVENTS * 16 div 2, T, K),
    finish(T, K).

%% Before the agent has its next turn, only so many requests of a burst are sampled. The others are counted as dropped, and the
%% events of the sampled ones stand for them, too; what comes later does not.
a_burst_is_limited_at_once(T) ->
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}]), #{max_queue => 100000}),
    run(T, many, [1, 100]),
    {ok, _, #{dropped := 0}} = ask(K, flush),
    100 = length(payloads(messages(K), entry)),
    Relay = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    {links, [_ | _] = Links} = rpc:call(T, erlang, process_info, [Relay, links]),
    Holders = [rpc:call(T, agent_load, hold, [P]) || P <- [Relay, K | Links], is_pid(P)],
    Suspended = rpc:call(T, erlang, process_info, [Relay, status]) =:= {status, suspended}, % otherwise it may be faster than the pacer
    run(T, many, [1, 1500]),
    Until = node_ms(T) + 100, % the rate is no flood
    ?soon(fun() -> node_ms(T) > Until end),
    [rpc:call(T, agent_load, let_go, [Holder]) || Holder <- Holders],
    Batches = batches(K),
    Requests = length([x || {_, Ms} <- Batches, _ <- payloads(Ms, entry)]),
    ?check(Requests > 600 andalso Requests =< 900),
    {ok, _, #{dropped := Dropped}} = ask(K, flush),
    Received = lists:sum([length(Ms) || {_, Ms} <- Batches]),
    %% a call that finds the control word changed, by the pacer as it is held, skips up to 16 tickets, which count as calls
    ?check(Received + Dropped >= 1500 * ?EVENTS andalso Received + Dropped =< (1500 + ?SKIPPED) * ?EVENTS),
    Missing = 1500 * ?EVENTS - stood(Batches),
    case Suspended andalso Received =:= Requests * ?EVENTS andalso Dropped =:= (1500 - Requests) * ?EVENTS of
        true ->
            ?check(Missing >= 0 andalso Missing < ?BATCH), % what is less than one for each event of a batch waits
            run(T, many, [1, 500]),
            ?check(stood(batches(K)) =< 500 * ?EVENTS + Missing);
        false ->
            stood(100, Missing - ?BATCH, T, K) % or the connection was blocked on a busy machine, and the relay dropped some
    end,
    finish(T, K).

%% Makes events, few enough that none of them is dropped, until those that were dropped stand for at least this number, too.
stood(0, Missing, _, _) ->
    error({missing, Missing});
stood(_, Missing, _, _) when Missing =< 0 ->
    ok;
stood(Left, Missing, T, K) ->
    run(T, many, [1, 500]),
    stood(Left - 1, Missing - (stood(batches(K)) - 500 * ?EVENTS), T, K).

stood(Batches) -> lists:sum([Weight * length(Ms) || {Weight, Ms} <- Batches]).

%% Too many events although hardly any request is sampled: the agent had no turn. The calls since the last evaluation show what
%% unsampled ones cost, long before the average of a second does.
a_flood_of_unsampled_calls_names_their_cost(T) ->
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}], #{sample => 1000000}), #{max_cost => 10, cooldown_ms => 10 * ?PATIENCE}),
    ?soon(fun() -> #{gap := Gap} = beat_now(K), Gap =:= 0 end),
    Flood = {flood, rpc:call(T, erlang, whereis, [kprof_relay_00]), 5000},
    K ! Flood, % sampling is cut to the least
    [?check(is_map(beat_now(K))) || _ <- [1, 2]],
    Holder = rpc:call(T, agent_load, hold, [K]),
    K ! Flood,
    run(T, many, [4, 25000]),
    rpc:call(T, agent_load, let_go, [Holder]),
    Text = receive {ke, overload, Why} -> Why after ?PATIENCE -> error(no_trip) end,
    ?equal({Text, string:find(Text, "unsampled calls would cost") =:= nomatch}, {Text, false}),
    finish(T, K).

%% Tracing for a part of the time has just begun: the events that wait are from before.
a_flood_before_part_time_is_no_new_one(T) ->
    Limits = #{max_cost => 10, part_ms => 5, part_assumed => 1, cooldown_ms => 10 * ?PATIENCE},
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}], #{sample => 1000000}), Limits),
    ?soon(fun() -> #{gap := Gap} = beat_now(K), Gap =:= 0 end),
    Relay = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    K ! {flood, Relay, 5000}, % sampling is cut to the least
    [?check(is_map(beat_now(K))) || _ <- [1, 2]],
    Holder = rpc:call(T, agent_load, hold, [K]),
    run(T, many, [4, 1000]),
    Until = node_ms(T) + 100, % not too soon after the last evaluation
    ?soon(fun() -> node_ms(T) > Until end),
    K ! {adjust, Relay}, % part time begins
    K ! {flood, Relay, 5000},
    rpc:call(T, agent_load, let_go, [Holder]),
    ?equal(maps:with([sample_why, trips], beat_now(K)), #{sample_why => ?PART_TIME, trips => 0}),
    finish(T, K).

%% The controller is suspended, too: otherwise the pacer notices the rate of calls and has the sampling rate reduced.
pile_up(T, K, Relay) ->
    Holders = [rpc:call(T, agent_load, hold, [P]) || P <- [Relay, K]],
    run(T, many, [4, 1000]),
    [rpc:call(T, agent_load, let_go, [Holder]) || Holder <- Holders].

big_events_trip(T) ->
    {[Mb], _} = piled_up(T, #{max_memory => 2 bsl 20}, 0, "events in the queue took ([0-9]+) MB"),
    ?check(Mb >= 2).

%% A query for the memory of a process reads its whole queue. The relay did this at each tick, which took most of its
%% time with millions of messages.
a_long_queue_is_not_walked(T) ->
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}]), #{max_queue => 0, max_memory => 1 bsl 40}),
    Relay = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    Hearer = rpc:call(T, agent_load, hears_questions, [Relay]),
    pile_up(T, K, Relay),
    messages(K),
    Heard = rpc:call(T, agent_load, questions, [Hearer]),
    Waited = [N || {answered, {message_queue_len, N}} <- Heard],
    ?check(lists:max(Waited) > 10000),
    ?check(lists:member({asked, memory}, Heard)),
    ?equal([N || {{answered, {message_queue_len, N}}, {asked, memory}} <- lists:zip(lists:droplast(Heard), tl(Heard)), N > 2000], []),
    finish(T, K).

%% Suspends controller and relay, for at least this time, while the events of 4000 requests accumulate. Then the relay
%% is released: it removes the patterns while the controller is still suspended, and unsent events are dropped and
%% counted. -> {numbers in the reason, maximum ms of suspension}
piled_up(T, Limits, Ms, Reason) ->
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}]), Limits),
    {ok, _, #{sent := 0, dropped := 0}} = ask(K, flush),
    Began = node_ms(T),
    [Relay, Controller] = [rpc:call(T, agent_load, hold, [P]) || P <- [rpc:call(T, erlang, whereis, [kprof_relay_00]), K]],
    run(T, many, [4, 1000]),
    Made = node_ms(T),
    ?soon(fun() -> node_ms(T) > Made + Ms end),
    Off = off_at(T),
    rpc:call(T, agent_load, let_go, [Relay]),
    went_off(T, Off),
    ?equal(maps:get(patterns, set_now(T)), []),
    rpc:call(T, agent_load, let_go, [Controller]),
    Numbers = opened(T, Reason),
    {Sent, Dropped} = nothing_comes(T, K),
    ?equal(Sent + Dropped, ?EVENTS * 4000),
    ?check(Sent =< ?BATCH),
    finish(T, K),
    {Numbers, node_ms(T) - Began}.

%% ---- Reasons that the controller detects ----

%% They wait for dirty schedulers, which tracing does not use.
dirty_jobs_do_not_trip(T) ->
    K = armed(T, trace_config([{entry, 1}]), #{}),
    Limit = ?RUN_QUEUE * rpc:call(T, erlang, system_info, [schedulers_online]),
    Jobs = rpc:call(T, agent_load, dirty, [Limit * 15 div 10, 500]),
    ?soon(fun() -> receive {kh, _, #{run_queue := Length}} -> Length > Limit after ?PATIENCE -> error(no_heartbeat) end end),
    [receive {kh, _, #{breaker := 0}} -> ok after ?PATIENCE -> error(tripped) end || _ <- lists:seq(1, 6)],
    receive {ke, What, Text} when What =:= sampling; What =:= overload -> error({What, Text}) after 0 -> ok end,
    rpc:call(T, agent_load, stop_spinning, [Jobs]),
    finish(T, K).

%% Above the limit the sampling rate is reduced. If tracing then costs almost nothing, this is all; if unsampled calls
%% contribute, tracing is switched off after two seconds.
a_long_run_queue_trips(T) ->
    Limit = ?RUN_QUEUE * rpc:call(T, erlang, system_info, [schedulers_online]),
    K = armed(T, trace_config([{entry, 1}, {leaf, 1}]), #{}),
    Many = rpc:call(T, agent_load, spinning, [Limit * 15 div 10]),
    ?got({ke, sampling, <<"the node's run queue is long", _/binary>>}),
    Long = fun() -> receive {kh, _, #{run_queue := N, breaker := 0}} -> N > Limit after ?PATIENCE -> error(no_heartbeat) end end,
    [?soon(Long) || _ <- lists:seq(1, 6)],
    rpc:call(T, agent_load, stop_spinning, [Many]),
    Off = off_at(T),
    Began = node_ms(T),
    Callers = rpc:call(T, agent_load, outside, [Limit * 2]),
    Went = went_off(T, Off),
    stop_workers(Callers), % the next questions would wait long behind them
    [N] = opened(T, "the node's run queue is ([0-9]+) long"),
    ?check(N > Limit),
    ?check(Went - Began >= 3 * ?BEAT_MS),
    nothing_comes(T, K),
    finish(T, K).

asked_to_trip(T) ->
    K = armed(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}]), #{}),
    run(T, entries, [lists:seq(1, 100)]),
    ok = ask(K, {trip, <<"kprof-top says so">>}),
    [] = opened(T, "kprof-top says so"),
    ?equal(nothing_comes(T, K), {100 * ?EVENTS, 0}), % sent in time
    finish(T, K).

%% ---- Actions with a time limit ----

%% At any time between two periods of the controller: it reports this within one heartbeat.
reloaded_is_traced_at_the_next_look(T) ->
    M = agent_reloaded,
    {ok, M, Beam} = compile:forms([{attribute, 1, module, M}, {attribute, 1, export, [{work, 1}]},
                                   {function, 1, work, 1, [{clause, 1, [{var, 1, 'X'}], [], [{var, 1, 'X'}]}]}]),
    load(T, M, Beam),
    K = armed(T, (trace_config([]))#{tiers => [{0, M, work, 1}]}, #{}),
    [
        begin
            receive after Ms -> ok end,
            Began = rpc:call(T, agent_load, loaded, [{M, work, 1}, Beam]),
            ?check(beats_until_reload(Began) =< 1)
        end
     || Ms <- [0, 100, 200, 300, 400]
    ],
    messages(K),
    run(T, work, [M, work, [1]]),
    ?equal([F || {F, _} <- calls(messages(K))], [work]),
    finish(T, K),
    [rpc:call(T, code, F, [M]) || F <- [purge, delete, purge]].

%% In the order in which the controller sent them.
beats_until_reload(Began) ->
    receive
        {ke, reload, _} -> 0;
        {kh, Stamp, _} when Stamp > Began -> 1 + beats_until_reload(Began);
        {kh, _, _} -> beats_until_reload(Began)
    after ?PATIENCE -> error(not_told)
    end.

%% With the default time of kprof-top.
silent_for_ten_seconds(T) ->
    K = start(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}])}),
    ok = ask(K, {tracing, true}),
    {pong, Native} = ask(K, ping),
    Heard = rpc:call(T, erlang, convert_time_unit, [Native, native, millisecond]),
    Went = went_off(T, off_at(T)),
    ?check(Went - Heard > 9000),
    ?check(length([x || {Stamp, #{breaker := 0, gap := 0}} <- stamped_beats(), Stamp > Native]) =< 10000 div ?BEAT_MS),
    finish(T, K).

%% ---- Helpers ----

%% Traces with only these limits, and with a breaker that stays open.
armed(T, Config, Limits) ->
    K = start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    ok = ask(K, {limits, maps:merge((?NO_LIMITS)#{cooldown_ms => 10 * ?PATIENCE}, Limits)}),
    {ok, _} = ask(K, {config, Config}),
    ok = ask(K, {tracing, true}),
    K.

node_ms(T) -> rpc:call(T, agent_load, now_ms, []).

%% All that came so far, oldest first.
stamped_beats() -> receive {kh, Stamp, Beat} -> [{Stamp, Beat} | stamped_beats()] after 0 -> [] end.

%% The time when the patterns were removed, after off_at/1.
off_at(T) -> rpc:async_call(T, agent_load, off_at, [[{agent_load, F, 1} || F <- [entry, tier, leaf]]]).
went_off(T, Asked) ->
    case rpc:nb_yield(Asked, ?PATIENCE) of
        {value, At} when is_integer(At) -> At;
        Else -> error({still_on, Else, set_now(T), newest_beat(none)})
    end.

newest_beat(Last) -> receive {kh, _, Beat} -> newest_beat(Beat) after 0 -> Last end.

%% The breaker has opened and reports this reason; no function has a pattern, and soon no process has a flag.
%% -> the numbers in the reason
opened(T, Reason) ->
    Text = receive {ke, overload, Told} -> Told after ?PATIENCE -> error({not_opened, Reason, newest_beat(none)}) end,
    case re:run(Text, ["^breaker open: ", Reason, "; next try in [0-9]+ s$"], [{capture, all_but_first, list}]) of
        {match, Numbers} -> ok;
        match -> Numbers = [];
        nomatch -> Numbers = error({Text, should_be, Reason})
    end,
    ?got({kh, _, #{breaker := 1, gap := 2, trips := 1}}),
    #{patterns := []} = set_now(T),
    ?soon(fun() -> maps:get(flags, set_now(T)) =:= [] end),
    [list_to_integer(N) || N <- Numbers].

%% No more events are sent, and the relay has counted all of them. -> {Sent, Dropped}
nothing_comes(T, K) ->
    Last = receive_off(),
    run(T, entries, [[1, 2, 3]]),
    {ok, Last, #{sent := Sent, dropped := Dropped}} = ask(K, flush),
    ?equal(received(), {Last, Sent}),
    {Sent, Dropped}.

%% -> {batches, events}
received() ->
    receive {kb, Seq, _, _, Ms} -> received(Seq, length(Ms)) after 0 -> {0, 0} end.
received(Seq, N) ->
    receive {kb, Next, _, _, Ms} when Next =:= Seq + 1 -> received(Next, N + length(Ms)) after 0 -> {Seq, N} end.
