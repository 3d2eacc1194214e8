%% Calls of many functions, counted for a second: the results, what is not changed, and that nothing is left. Run by
%% agent_test.
-module(agent_survey_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [start/1, ask/2, trace_config/1, traced/2, finish/2, run/3, nothing_left/1, gone/1, isolated/1, drain/0, now_ms/0]).

-define(MOST, 400).

tests() ->
    [
        {survey_counts_many, fun counts_many/1},
        {survey_leaves_others_alone, fun leaves_others_alone/1},
        {survey_ends_with_the_breaker, fun ends_with_the_breaker/1},
        {survey_lets_go_of_what_is_hot, fun lets_go_of_what_is_hot/1},
        {survey_ends_with_us, fun ends_with_us/1},
        {survey_survives_reloads, fun survives_reloads/1}
    ].

%% ---- Modules with many functions, on the target: f1/0 to f300/0, and loop/0, which calls f1/0 for ever ----

load(T, M) ->
    Text = ["-module(", atom_to_list(M), "). -export([loop/0", [[", f", integer_to_list(I), "/0"] || I <- lists:seq(1, 300)], "]). ",
            [["f", integer_to_list(I), "() -> ok. "] || I <- lists:seq(1, 300)], "loop() -> ", atom_to_list(M), ":f1(), loop()."],
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, M, Beam} = compile:forms(forms(Tokens, [])),
    {module, M} = rpc:call(T, code, load_binary, [M, "", Beam]).

forms([], []) -> [];
forms([{dot, _} = Dot | Rest], Form) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse([Dot | Form])),
    [Parsed | forms(Rest, [])];
forms([Token | Rest], Form) -> forms(Rest, [Token | Form]).

unload(T, M) -> [rpc:call(T, code, F, [M]) || F <- [purge, delete, purge]].

functions(M) -> [{M, list_to_atom("f" ++ integer_to_list(I)), 0} || I <- lists:seq(1, 300)].

loaded(T) ->
    [load(T, M) || M <- [survey_a, survey_b]],
    functions(survey_a) ++ functions(survey_b).

done(T) -> [unload(T, M) || M <- [survey_a, survey_b]].

taken(K) ->
    case ask(K, rates) of
        wait -> receive after 20 -> taken(K) end;
        Rates -> Rates
    end.

%% What is set on these functions: sessions; below OTP 27, counters.
set_on(T, MFAs) ->
    case isolated(T) of
        true -> [MFA || MFA <- MFAs, [_ | _] <- [rpc:call(T, trace, session_info, [MFA])]] ++ counted(T, MFAs);
        false -> counted(T, MFAs)
    end.

counted(T, MFAs) -> [MFA || MFA <- MFAs, rpc:call(T, erlang, trace_info, [MFA, call_count]) =/= {call_count, false}].

%% ---- The tests ----

%% Not more than the limit; each with its approximate number of calls: counts over longer times are scaled.
counts_many(T) ->
    All = loaded(T),
    K = start(T),
    ?soon(fun() -> counts_of(All, T, K) > 50 end),
    finish(T, K),
    done(T).

%% On a busy machine only the first counters are set, and each is on for longer than the round: its count is scaled down, by at
%% most the time from the request to the result. That is correct for calls at a constant rate, but not for these. -> the number
%% of counts; 0: not all are right, because the calls took too long or the most frequent ones were counted for a shorter time
counts_of(All, T, K) ->
    Began = now_ms(),
    ok = ask(K, {rates, All}),
    ?equal(set_on(T, lists:sublist(All, 5)), lists:sublist(All, 5)),
    Times = fun(I) -> 20 * (I rem 3) end,
    run(T, call, [[{work, [M, F, []]} || {I, {M, F, _}} <- lists:zip(lists:seq(1, length(All)), All), _ <- lists:seq(1, Times(I))]]),
    {rates, Ms, Counts} = taken(K),
    Took = now_ms() - Began,
    ?equal(tuple_size(Counts), ?MOST),
    ?check(Ms >= 1000),
    {Told, Late} = lists:splitwith(fun(N) -> N =/= -1 end, tuple_to_list(Counts)),
    ?equal(lists:usort(Late) -- [-1], []),
    Each = lists:zip(lists:seq(1, length(Told)), Told),
    ?equal([{I, N} || {I, N} <- Each, (N > 0) =/= (Times(I) > 0)], []),
    ?equal(set_on(T, All), []),
    none = ask(K, rates),
    case [{I, N} || {I, N} <- Each, N > Times(I) orelse N < (Times(I) * Ms + Took div 2) div Took] of
        [] -> length(Told);
        _ -> 0
    end.

%% A counter of another tracer is read; below OTP 27 a function that others trace is not counted.
leaves_others_alone(T) ->
    [Counted, Traced, Free | _] = All = loaded(T),
    1 = rpc:call(T, erlang, trace_pattern, [Counted, true, [call_count]]),
    1 = rpc:call(T, erlang, trace_pattern, [Traced, [{'_', [], [{message, false}]}], [local]]),
    K = start(T),
    ok = ask(K, {rates, All}),
    run(T, call, [[{work, [survey_a, F, []]} || F <- [f1, f2, f3], _ <- lists:seq(1, 10)]]),
    {rates, _, Counts} = taken(K),
    [N1, N2, N3 | _] = tuple_to_list(Counts),
    %% on a busy node they are scaled, because the counters are not set at the same time
    ?check(N1 > 0 andalso N3 > 0),
    ?equal(N2 > 0, isolated(T)),
    ?equal(N2 =:= -1, not isolated(T)),
    ?equal(rpc:call(T, erlang, trace_info, [Counted, call_count]), {call_count, 10}),
    ?equal(rpc:call(T, erlang, trace_info, [Traced, match_spec]), {match_spec, [{'_', [], [{message, false}]}]}),
    ?equal(rpc:call(T, erlang, trace_info, [Free, call_count]), {call_count, false}),
    finish(T, K),
    ?equal(rpc:call(T, erlang, trace_info, [Counted, call_count]), {call_count, 10}),
    ?equal(rpc:call(T, erlang, trace_info, [Traced, traced]), {traced, local}),
    [rpc:call(T, erlang, trace_pattern, [MFA, false, [Flag]]) || {MFA, Flag} <- [{Counted, call_count}, {Traced, local}]],
    done(T).

%% While it is open nothing is counted; when it opens during the count, all counters are removed.
ends_with_the_breaker(T) ->
    All = loaded(T),
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {limits, #{cooldown_ms => ?PATIENCE}}),
    ok = ask(K, {rates, All}),
    ok = ask(K, {trip, <<"a test">>}),
    {rates, _, Counts} = taken(K),
    ?equal([N || N <- tuple_to_list(Counts), N =/= -1], []),
    ?equal(set_on(T, All), []),
    wait = ask(K, {rates, All}),
    none = ask(K, rates),
    ?equal(set_on(T, All), []),
    finish(T, K),
    done(T).

%% A function that is called in a loop has its counter only for a short time; its calls are still reported.
lets_go_of_what_is_hot(T) ->
    [Hot, _, Cold | _] = All = loaded(T),
    Loops = [rpc:call(T, erlang, spawn, [survey_a, loop, []]) || _ <- lists:seq(1, 2)],
    K = start(T),
    {N1, N3} = hot_and_cold(T, K, All, [Hot, Cold]),
    ?equal(N3, 0),
    ?check(N1 > 10000),
    finish(T, K),
    [exit(P, kill) || P <- Loops],
    done(T).

%% Counts again if this machine was too busy to set the counter of the third function.
hot_and_cold(T, K, All, [Hot, Cold]) ->
    ok = ask(K, {rates, All}),
    isolated(T) orelse ?soon(fun() -> counted(T, [Hot, Cold]) =/= [Hot, Cold] end),
    case taken(K) of
        {rates, _, Counts} when element(3, Counts) =:= -1 -> hot_and_cold(T, K, All, [Hot, Cold]);
        {rates, _, Counts} -> {element(1, Counts), element(3, Counts)}
    end.

%% Killed while counters are being set, and after all are set.
ends_with_us(T) ->
    All = loaded(T),
    [killed(T, All, Who, Set) || Who <- [[controller], [controller, guardian], [relay, controller]], Set <- [true, false]],
    done(T).

killed(T, All, Who, Set) ->
    K = start(T),
    case Set of
        true -> ok = ask(K, {rates, All});
        false -> K ! {kp, ?KEY, 1, {rates, All}}
    end,
    Pids = [rpc:call(T, erlang, whereis, [list_to_atom("kprof_" ++ atom_to_list(W) ++ "_00")]) || W <- Who],
    [exit(P, kill) || P <- Pids],
    gone(T),
    ?equal({Who, Set, set_on(T, All)}, {Who, Set, []}),
    nothing_left(T),
    drain().

%% Counters are removed with the old code; the node survives, and the other counts are reported.
survives_reloads(T) ->
    All = loaded(T),
    K = start(T),
    ok = ask(K, {rates, lists:sublist(functions(survey_a), 150) ++ lists:sublist(functions(survey_b), 2)}),
    Loop = rpc:call(T, erlang, spawn, [survey_b, loop, []]),
    [begin load(T, survey_a), rpc:call(T, code, purge, [survey_a]) end || _ <- lists:seq(1, 3)],
    {rates, _, Counts} = taken(K),
    {OfA, OfB} = lists:split(150, tuple_to_list(Counts)),
    ?equal(lists:usort(OfA), [-1]),
    ?check(hd(OfB) =/= 0), % -1 on a busy machine
    exit(Loop, kill),
    ?equal(set_on(T, All), []),
    finish(T, K),
    done(T).
