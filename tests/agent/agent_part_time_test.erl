%% Tracing for a part of the time (kprof_part_time). Run by agent_test.
-module(agent_part_time_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [load/2, ask/2, trace_config/2, traced/2, finish/2, run/3, batches/1, calls/1, payloads/2, stop_workers/1, beat_now/1, beat_now/2, nothing_left/1, gone/1, told_gone/0, isolated/1, drain/0, now_ms/0, token_of/1]).

tests() ->
    [
        {part_time_begins_and_ends, fun part_time_begins_and_ends/1},
        {part_time_counts_right, fun part_time_counts_right/1},
        {part_time_first_cycles, fun part_time_first_cycles/1},
        {part_time_one_tier, fun part_time_one_tier/1},
        {part_time_all_tiers, fun part_time_all_tiers/1},
        {part_time_requests_are_whole, fun part_time_requests_are_whole/1},
        {part_time_without_entry, fun part_time_without_entry/1},
        {part_time_full_returns, fun part_time_full_returns/1},
        {part_time_ends_at_once, fun part_time_ends_at_once/1},
        {part_time_end_sets_nothing, fun part_time_end_sets_nothing/1},
        {part_time_killed, fun part_time_killed/1},
        {part_time_new_settings, fun part_time_new_settings/1},
        {part_time_survives_a_reload, fun part_time_survives_a_reload/1},
        {part_time_leaves_others, fun part_time_leaves_others/1},
        {part_time_leaves_others_at_any_time, fun part_time_leaves_others_at_any_time/1},
        {part_time_killed_leaves_others, fun part_time_killed_leaves_others/1},
        {part_time_instead_of_breaker, fun part_time_instead_of_breaker/1},
        {part_time_not_allowed, fun part_time_not_allowed/1}
    ].

-define(PART_TIME, 5). % sample_why
-define(TIERS, [{entry, 1}, {tier, 1}, {leaf, 1}]).

%% Limits with which a few unsampled calls are too expensive.
limits(Ms) -> #{max_cost => 1000000, part_cost => 1, part_ms => Ms}.

%% Part time is on, with a load of this many processes.
begun(T, More, Processes) -> begun(T, ?TIERS, More, Processes).

begun(T, Tiers, More, Processes) ->
    K = traced(T, trace_config(Tiers, maps:merge(#{sample => 2}, More))),
    Workers = rpc:call(T, agent_load, counting, [Processes, 1]),
    ok = ask(K, {limits, limits(5)}),
    ?soon(fun() -> is_on(K) end),
    {K, Workers}.

is_on(K) -> beat_now(K, sample_why) =:= ?PART_TIME.

is_traced(T, F) -> rpc:call(T, agent_load, is_traced, [{agent_load, F, 1}]).

%% The patterns are set, and not set, this many times in turn.
alternates(_, 0) -> ok;
alternates(T, Times) ->
    ?soon(fun() -> is_traced(T, leaf) end),
    ?soon(fun() -> not is_traced(T, leaf) end),
    alternates(T, Times - 1).

ended(T, K, Workers) ->
    stop_workers(Workers),
    finish(T, K),
    nothing_left(T).

part_time_begins_and_ends(T) ->
    {K, Workers} = begun(T, #{}, 2),
    alternates(T, 3),
    ?check(beat_now(K, sample) > 2),
    %% kprof-top says that the requests have become too long
    ok = ask(K, {limits, #{part_ms => 0}}),
    ?soon(fun() -> not is_on(K) end),
    [?check(is_traced(T, F)) || _ <- lists:seq(1, 50), F <- [entry, tier, leaf]],
    ?soon(fun() -> drain(), calls_of(batches(K)) =/= [] end),
    %% it begins again, and ends when the load is low
    ok = ask(K, {limits, limits(5)}),
    ?soon(fun() -> is_on(K) end),
    ok = ask(K, {limits, #{part_cost => 1000000}}),
    ?soon(fun() -> not is_on(K) end),
    ended(T, K, Workers).

calls_of(Batches) -> [Call || {_, Ms} <- Batches, Call <- calls(Ms)].

%% The weights of the events of the entry add up to the number of calls. Errors of a cycle are made up for by the next ones,
%% whatever the load and the speed of the machine: the sums agree within a fifth some time, and for ten cycles from then on.
part_time_counts_right(T) -> counts_right(T, begun(T, #{}, 2), [entry]).

%% Without an entry, the calls of all tiers are counted. Each call of agent_load:entry/1 calls the other two.
part_time_all_tiers(T) -> counts_right(T, begun(T, #{entry => none}, 2), [entry, tier, leaf]).

counts_right(T, {K, Workers}, Fs) ->
    batches(K),
    agree(T, K, Fs, rpc:call(T, agent_load, made, []), 0, 0, now_ms() + 3 * ?PATIENCE),
    ended(T, K, Workers).

agree(_, _, _, _, _, 10, _) -> ok;
agree(T, K, Fs, Before, Earlier, Times, End) ->
    Sum = Earlier + counted(K, Fs, 1, 0),
    Made = (rpc:call(T, agent_load, made, []) - Before) * length(Fs),
    case abs(Sum - Made) * 5 < Made of
        true ->
            agree(T, K, Fs, Before, Sum, Times + 1, End);
        false ->
            now_ms() < End orelse error({made, Made, counted, Sum}),
            agree(T, K, Fs, Before, Sum, 0, End)
    end.

%% In about this many cycles: those with events.
counted(_, _, 0, Sum) -> Sum;
counted(K, Fs, Cycles, Sum) ->
    receive after 100 -> ok end,
    case lists:sum([W || {W, Ms} <- batches(K), {F, _} <- calls(Ms), lists:member(F, Fs)]) of
        0 -> counted(K, Fs, Cycles, Sum);
        N -> counted(K, Fs, Cycles - 1, Sum + N)
    end.

%% The first cycles already stand for the calls since the one before: under a steady load, the weights of each cycle but the first
%% are as many calls as are made between the last events of the two. (The load is not always steady: some tries.)
part_time_first_cycles(T) ->
    {K, Workers} = begun(T, #{}, 2),
    tried(T, K, 8, []),
    ended(T, K, Workers).

%% The same without an entry, with one tier.
part_time_one_tier(T) ->
    {K, Workers} = begun(T, [{entry, 1}], #{entry => none}, 2),
    tried(T, K, 8, []),
    ended(T, K, Workers).

tried(_, _, 0, Seen) -> error({weights_through_calls, Seen});
tried(T, K, Times, Seen) ->
    batches(K),
    Before = made_at(T),
    Calls = lists:append([[{element(6, M), W} || {trace_ts, _, call, {_, entry, _}, _, _} = M <- Ms] || _ <- waits(50), {W, Ms} <- batches(K)]),
    {Made, Time} = lists:foldl(fun({A, At}, {B, Bt}) -> {A - B, At - Bt} end, Before, [made_at(T)]),
    [{First, _} | Cycles] = cycles(lists:sort(Calls)),
    {Last, _} = lists:last(Cycles),
    Ratio = lists:sum([Weights || {_, Weights} <- Cycles]) * Time / (Made * (Last - First)),
    case abs(Ratio - 1) < 0.2 of
        true -> ok;
        false ->
            ok = ask(K, {limits, limits(0)}),
            ?soon(fun() -> not is_on(K) end),
            ok = ask(K, {limits, limits(5)}),
            ?soon(fun() -> is_on(K) end),
            tried(T, K, Times - 1, [Ratio | Seen])
    end.

made_at(T) -> {rpc:call(T, agent_load, made, []), rpc:call(T, erlang, monotonic_time, [])}.

%% -> [{time of the last call, sum of the weights}]; between two cycles there are at least 200 ms
cycles([{At, W} | Rest]) -> cycles(Rest, At, W).

cycles([{At, W} | Rest], Last, Sum) when At - Last < 200000000 -> cycles(Rest, At, Sum + W);
cycles([{At, W} | Rest], Last, Sum) -> [{Last, Sum} | cycles(Rest, At, W)];
cycles([], Last, Sum) -> [{Last, Sum}].

%% Inner calls belong to a sampled request of the same cycle, and are not missing. (A process that does not run for longer than
%% part_ms while it is in a request loses some.)
part_time_requests_are_whole(T) ->
    {K, Steady} = begun(T, #{}, 2),
    Workers = [rpc:call(T, agent_load, stale, [1]) | Steady],
    ok = ask(K, {limits, limits(50)}),
    ?soon(fun() -> drain(), token_of(hd(Workers)) =/= [] end),
    batches(K),
    counted(K, [entry], 10, 0),
    All = lists:append([calls_of(batches(K)) || _ <- waits(20)]),
    Labels = fun(F) -> lists:usort([element(2, Msg) || {G, Msg} <- All, G =:= F]) end,
    [Entries, Tiers, Leaves] = [Labels(F) || F <- [entry, tier, leaf]],
    ?check(length(Entries) > 20),
    ?equal(lists:usort(Tiers ++ Leaves) -- Entries, []),
    ?check(length(Entries -- Leaves) * 20 =< length(Entries)),
    ended(T, K, Workers).

waits(N) -> [receive after 100 -> ok end || _ <- lists:seq(1, N)].

part_time_without_entry(T) ->
    {K, Workers} = begun(T, #{entry => none}, 2),
    alternates(T, 3),
    ?soon(fun() -> Fs = [F || {F, _} <- calls_of(batches(K))], lists:usort(Fs) =:= [entry, leaf, tier] end),
    ended(T, K, Workers).

%% Each call that is traced has its end, although the pattern is gone by then.
part_time_full_returns(T) ->
    {K, Workers} = begun(T, #{returns => full}, 2),
    batches(K),
    Ms = lists:append([M || _ <- waits(20), {_, M} <- batches(K)]),
    Calls = length([x || {trace_ts, _, call, _, _, _} <- Ms]),
    Ends = length([x || {trace_ts, _, return_from, _, _, _} <- Ms]),
    ?check(Calls > 0),
    ?check(abs(Calls - Ends) =< 2 * 3), % those of a request that was open at the first or last batch
    ended(T, K, Workers).

%% The relay does not answer, so what was traced cannot be sent for 3 s: the patterns are removed before, and are not set again
%% meanwhile. (At the end they clear tokens.)
part_time_ends_at_once(T) ->
    {K, Workers} = begun(T, #{}, 2),
    Holder = rpc:call(T, agent_load, hold, [rpc:call(T, erlang, whereis, [kprof_relay_00])]),
    Began = now_ms(),
    K ! {kp, ?KEY, 1, detach},
    Seen = seen_until(T, Began + 2500, []),
    ?check(length(Seen) > 20),
    ?equal([At - Began || {At, true} <- Seen, At - Began > 1500], []),
    rpc:call(T, agent_load, let_go, [Holder]),
    detached(T, Workers).

detached(T, Workers) ->
    receive {kr, 1, Receipt} -> ?equal(maps:with([patterns, flags], Receipt), #{patterns => 0, flags => 0}) after ?PATIENCE -> error(no_receipt) end,
    stop_workers(Workers),
    gone(T),
    nothing_left(T).

%% The patterns cost too much to be set all the time, also for the calls that would clear the tokens of open requests.
part_time_end_sets_nothing(T) -> [end_sets_nothing(T) || _ <- lists:seq(1, 3)].

end_sets_nothing(T) ->
    {K, Workers} = begun(T, #{}, 2),
    ?soon(fun() -> not is_traced(T, leaf) end),
    K ! {kp, ?KEY, 1, detach},
    ?equal(clearing(T, now_ms() + 1000, []), []),
    detached(T, Workers).

%% -> the functions with the match spec that clears tokens
clearing(T, End, Seen) ->
    Found = [F || F <- [entry, tier, leaf], rpc:call(T, agent_load, is_clearing, [{agent_load, F, 1}])],
    case now_ms() < End of
        true -> clearing(T, End, lists:usort(Found ++ Seen));
        false -> Seen
    end.

%% -> [{ms, whether there is a pattern}]
seen_until(T, End, Seen) ->
    Is = is_traced(T, leaf) orelse is_traced(T, entry),
    receive after 5 -> ok end,
    case now_ms() of
        At when At < End -> seen_until(T, End, [{At, Is} | Seen]);
        _ -> Seen
    end.

%% The controller is killed between two cycles, and within one.
part_time_killed(T) ->
    [killed(T, Is) || Is <- [true, false]].

killed(T, Is) ->
    {K, Workers} = begun(T, #{}, 2),
    ?soon(fun() -> is_traced(T, leaf) =:= Is end),
    exit(K, kill),
    told_gone(),
    gone(T),
    stop_workers(Workers),
    nothing_left(T),
    [load(T, M) || M <- ?MODULES],
    agent_lib:unload(T).

%% Another configuration, a capture, tracing off and on: each while it is on.
part_time_new_settings(T) ->
    {K, Workers} = begun(T, #{}, 2),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {leaf, 1}], #{sample => 2})}),
    ?check(not is_traced(T, tier)),
    ?soon(fun() -> is_on(K) end),
    alternates(T, 2),
    ok = ask(K, {tracing, false}),
    [?check(not is_traced(T, F)) || _ <- lists:seq(1, 50), F <- [entry, leaf]],
    ok = ask(K, {tracing, true}),
    ?soon(fun() -> is_on(K) end),
    ok = ask(K, {trip, <<"a test">>}),
    ?check(not is_traced(T, leaf)),
    ?soon(fun() -> is_on(K) end),
    ended(T, K, Workers).

%% The new code has no pattern and no counter; the next cycles set them.
part_time_survives_a_reload(T) ->
    {K, Workers} = begun(T, #{}, 2),
    load(T, agent_load),
    rpc:call(T, code, soft_purge, [agent_load]),
    alternates(T, 2),
    ?soon(fun() -> calls_of(batches(K)) =/= [] end),
    ended(T, K, Workers).

%% Below OTP 27 a function has one pattern: that of another tracer, set between two cycles, stays.
part_time_leaves_others(T) -> isolated(T) orelse others_stay(T).

-define(THEIRS, [{'_', [], [{message, false}]}]).

spec_of(T, F) -> rpc:call(T, erlang, trace_info, [{agent_load, F, 1}, match_spec]).

%% Between two cycles.
theirs_on(T, F) ->
    ?equal(rpc:call(T, agent_load, set_when_free, [{agent_load, F, 1}, ?THEIRS]), 1),
    ?equal({F, spec_of(T, F)}, {F, {match_spec, ?THEIRS}}).

others_stay(T) ->
    {K, Workers} = begun(T, #{}, 2),
    Spec = fun() -> spec_of(T, leaf) end,
    Theirs = ?THEIRS,
    theirs_on(T, leaf),
    alternates_of(T, entry, 3),
    ?equal(Spec(), {match_spec, Theirs}),
    %% also when the configuration changes, or the sampling
    {ok, Told} = ask(K, {config, trace_config(?TIERS, #{sample => 3})}),
    ?check([Ix || {Ix, 0, <<"another tracer", _/binary>>} <- Told] =:= [2]),
    ok = ask(K, {sample, 2}),
    ?equal(Spec(), {match_spec, Theirs}),
    ?soon(fun() -> is_on(K) end),
    alternates_of(T, entry, 1),
    %% also when it ends, and when kprof-top leaves
    ok = ask(K, {limits, #{part_ms => 0}}),
    ?soon(fun() -> not is_on(K) end),
    ?equal(Spec(), {match_spec, Theirs}),
    ok = ask(K, {limits, limits(5)}),
    ?soon(fun() -> is_on(K) end),
    stop_workers(Workers),
    finish(T, K),
    ?equal(Spec(), {match_spec, Theirs}),
    rpc:call(T, erlang, trace_pattern, [{agent_load, leaf, 1}, false, [local]]),
    nothing_left(T).

%% A pattern that another tracer sets in the middle of a cycle, in place of the agent's.
part_time_leaves_others_at_any_time(T) ->
    isolated(T) orelse
        begin
            {K, Workers} = begun(T, #{}, 2),
            [set_in_a_cycle(T, F, Other) || {F, Other} <- [{entry, leaf}, {leaf, tier}]],
            stop_workers(Workers),
            finish(T, K),
            [?equal({F, spec_of(T, F)}, {F, {match_spec, ?THEIRS}}) || F <- [entry, leaf]],
            [rpc:call(T, erlang, trace_pattern, [{agent_load, F, 1}, false, [local]]) || F <- [entry, leaf]],
            nothing_left(T)
        end.

%% Waits on the node: sampling is on for a few ms only.
set_in_a_cycle(T, F, Other) ->
    ?equal(rpc:call(T, agent_load, replace_when_traced, [{agent_load, F, 1}, ?THEIRS]), 1),
    alternates_of(T, Other, 3),
    ?equal({F, spec_of(T, F)}, {F, {match_spec, ?THEIRS}}).

%% Also the relay, which cleans up if the controller was killed, and the guardian, if both were.
part_time_killed_leaves_others(T) -> isolated(T) orelse [killed_leaves(T, Who) || Who <- [controller, both]].

killed_leaves(T, Who) ->
    {K, Workers} = begun(T, #{}, 2),
    [theirs_on(T, F) || F <- [entry, leaf]],
    Relay = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    [exit(P, kill) || P <- [K | [Relay || Who =:= both]]],
    told_gone(),
    gone(T),
    ?equal({Who, [{F, spec_of(T, F)} || F <- [entry, leaf]]}, {Who, [{F, {match_spec, ?THEIRS}} || F <- [entry, leaf]]}),
    [rpc:call(T, erlang, trace_pattern, [{agent_load, F, 1}, false, [local]]) || F <- [entry, leaf]],
    stop_workers(Workers),
    nothing_left(T),
    [load(T, M) || M <- ?MODULES],
    agent_lib:unload(T).

alternates_of(_, _, 0) -> ok;
alternates_of(T, F, Times) ->
    ?soon(fun() -> is_traced(T, F) end),
    ?soon(fun() -> not is_traced(T, F) end),
    alternates_of(T, F, Times - 1).

%% Unsampled calls cost more than the limit: while tracing is on, when it begins, and after the breaker has opened for another reason.
part_time_instead_of_breaker(T) ->
    K = traced(T, trace_config(?TIERS, #{sample => 1})),
    Workers = rpc:call(T, agent_load, counting, [2, 1]),
    ok = ask(K, {limits, #{max_cost => 1, part_ms => 5, part_assumed => 1, cooldown_ms => 500}}),
    ?soon(fun() -> is_on(K) end),
    alternates(T, 3),
    %% the tiers pause for a full trace; after it they are not traced all the time first
    ok = ask(K, {full, #{who => {call, {<<"agent_load">>, <<"let_go">>, 1}}, modules => {some, [<<"agent_load">>], []}}}),
    receive {kf, _, _, #{phase := 2}, _, _, _} -> ok after ?PATIENCE -> error(no_full_trace) end,
    ok = ask(K, {full, off}),
    ?equal(first_beat(K), ?PART_TIME),
    ok = ask(K, {tracing, false}),
    ok = ask(K, {tracing, true}),
    ?soon(fun() -> is_on(K) end),
    receive {ke, overload, Why} -> error(Why) after 0 -> ok end,
    ok = ask(K, {trip, <<"a test">>}),
    ?got({ke, overload, _}),
    ?got({ke, closed, <<"breaker closed: tracing is on for a part of the time">>}),
    receive {ke, half_open, Try} -> error(Try) after 0 -> ok end,
    ?soon(fun() -> is_on(K) end),
    ?soon(fun() -> calls_of(batches(K)) =/= [] end),
    %% not allowed any more: the breaker opens
    ok = ask(K, {limits, #{max_cost => 1, part_ms => 0, cooldown_ms => 10 * ?PATIENCE}}),
    ?got({ke, overload, _}),
    ended(T, K, Workers).

%% Why sampling is what it is, as soon as tracing is on.
first_beat(K) ->
    case beat_now(K) of
        #{gap := 0, sample_why := Why} -> Why;
        #{} -> first_beat(K)
    end.

%% Not without a limit of cost, not if every request is sampled, not if kprof-top does not allow it or only assumes that requests are
%% short (all this below max_cost).
part_time_not_allowed(T) ->
    Workers = rpc:call(T, agent_load, counting, [2, 1]),
    [never(T, Sample, Limits) || {Sample, Limits} <- [{1, limits(5)}, {2, (limits(5))#{max_cost => 0}}, {2, limits(0)}, {2, (limits(5))#{part_assumed => 1}}]],
    stop_workers(Workers).

never(T, Sample, Limits) ->
    K = traced(T, trace_config(?TIERS, #{sample => Sample})),
    ok = ask(K, {limits, Limits}),
    [?check(not is_on(K)) || _ <- lists:seq(1, 4)],
    finish(T, K).
