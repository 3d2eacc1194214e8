%% Call rates of functions that are not tiers: the VM counts the calls of many functions for a second (`call_count`).
%% The picker shows the counts, and tiers are suggested from them. Functions of the controller's process.
%%
%% Invariant: at most ?MOST counters, each in the cleanup plan before it is set, and no flag of any process. Counters
%% of other tracers are only read; below OTP 27, where all tracers share the patterns of a function, functions that
%% others trace are not changed. No counter is set while the breaker is not closed, and all are removed when it opens.
%% Counters are checked, set, read and cleared in slices of ?SLICE_US. Together they cost at most ?BUDGET permille of
%% the schedulers: after ?FIRST_MS, counters of the most frequently called functions are removed until that holds, and
%% their counts are extrapolated.
-module(kprof_survey).
-agent(tools).
-export([count/3, forget/1, step/1, take/1]).
-export_type([phase/0]).

-include("kprof_controller.hrl").

%% In this order. look: finds functions that others count; set: sets counters; first: reads them for the first time;
%% thin: removes those of the most frequent functions; wait: for the rest of the second; last: reads them again;
%% clear: removes the counters; told: the answer is ready.
-type phase() :: none | look | set | first | thin | wait | last | clear | told.

-define(MOST, 400).
-define(SLICE_US, 200).
-define(APART_MS, 1). % between two slices
-define(SET_MS, 1000). % on a busy node, functions without a counter by then are not counted
-define(FIRST_MS, 50).
-define(ROUND_MS, 1000).
-define(LOOK_MS, 100). % time between two checks whether the breaker has opened
-define(BUDGET, 10).

%% Counts calls of functions that are not tiers: tiers are counted elsewhere. Answers Ref when the counters are set.
-spec count(integer(), [mfa()], state()) -> state().
count(Ref, Asked, #s{survey = #survey{phase = Phase}, relay = Relay, breaker = B} = S) when is_list(Asked) ->
    case (Phase =:= none orelse Phase =:= told) andalso Relay =/= none andalso kprof_breaker:state(B) =:= closed of
        true -> look(Ref, lists:sublist(Asked, ?MOST), S);
        false -> kprof_link:answer(Ref, wait, S)
    end.

look(Ref, Asked, #s{tracing = #tracing{trace_config = #{tiers := Tiers}}} = S) ->
    Of = [{M, F, A} || {_, M, F, A} <- Tiers],
    Vm = kprof_hazard:vm(),
    Free = [MFA || {M, F, A} = MFA <- Asked, is_atom(M), is_atom(F), is_integer(A), not lists:member(MFA, Of), kprof_patterns:held(MFA, Vm) =:= none],
    later(0, S#s{survey = #survey{phase = look, ref = Ref, asked = Asked, todo = Free}}).

later(Ms, #s{survey = Survey} = S) ->
    Timer = make_ref(),
    erlang:send_after(Ms, self(), {survey, Timer}),
    S#s{survey = Survey#survey{timer = Timer}}.

%% Its timer has run out.
-spec step(state()) -> state().
step(#s{survey = #survey{phase = Phase}, breaker = B} = S) ->
    case kprof_breaker:state(B) =:= closed orelse Phase =:= clear of
        true -> work(S);
        false -> given_up(S)
    end.

%% The relay was killed: the counters are removed (kprof_cleanup, or with the session).
-spec forget(state()) -> state().
forget(S) -> (answered(wait, S))#s{survey = #survey{}}.

%% The counts are sent once: {rates, Ms, {Calls, ...}} in the order of the request.
-spec take(state()) -> {wait | none | {rates, pos_integer(), tuple()}, state()}.
take(#s{survey = #survey{phase = none}} = S) -> {none, S};
take(#s{survey = #survey{phase = told, asked = Asked, calls = Calls, span = All}} = S) ->
    Told = list_to_tuple([told(MFA, Calls, All) || MFA <- Asked]),
    {{rates, max(1, erlang:convert_time_unit(All, native, millisecond)), Told}, S#s{survey = #survey{}}};
take(S) -> {wait, S}.

%% -1: not counted. If a function was counted for a time that differs by more than a hundredth, its count is scaled.
told(MFA, Calls, All) ->
    case Calls of
        #{MFA := {N, Span}} when abs(Span - All) * 100 =< All -> N;
        #{MFA := {N, Span}} -> (N * All + Span div 2) div max(1, Span);
        _ -> -1
    end.

%% ---- Slices ----

work(#s{survey = #survey{todo = []}} = S) -> next(S);
work(S0) ->
    S = #s{survey = #survey{todo = Todo}} = slice(erlang:monotonic_time() + native(?SLICE_US, microsecond), S0),
    case Todo of
        [] -> next(S);
        _ -> later(?APART_MS, S)
    end.

slice(Until, #s{survey = #survey{phase = Phase, todo = [MFA | Rest]}} = S0) ->
    S = #s{survey = Survey} = one(Phase, MFA, S0),
    Done = S#s{survey = Survey#survey{todo = Rest}},
    case Rest =:= [] orelse erlang:monotonic_time() >= Until of
        true -> Done;
        false -> slice(Until, Done)
    end.

one(look, MFA, #s{session = Session, survey = #survey{on = On} = Survey} = S) ->
    case kprof_spec:pattern({Session, call_count}, MFA) of
        N when is_integer(N) -> S#s{survey = Survey#survey{on = On#{MFA => {theirs, N, erlang:monotonic_time()}}}};
        false -> looked(MFA, Session =/= none orelse kprof_spec:pattern({none, traced}, MFA) =:= false, S);
        _ -> S
    end;
one(set, MFA, #s{session = Session, survey = #survey{on = On, since = Since} = Survey} = S) ->
    In_time = erlang:monotonic_time() - Since < native(?SET_MS, millisecond),
    case In_time andalso kprof_spec:set_pattern(Session, MFA, true, [call_count]) of
        N when is_integer(N), N > 0 -> S#s{survey = Survey#survey{on = On#{MFA => {ours, 0, erlang:monotonic_time()}}}};
        _ -> S#s{survey = Survey#survey{on = maps:remove(MFA, On)}}
    end;
one(Read, MFA, #s{session = Session, survey = #survey{on = On, calls = Calls} = Survey} = S) when Read =:= first; Read =:= last ->
    #{MFA := {_, Before, Since}} = On,
    case kprof_call_count:call_count(Session, MFA) of
        %% the module was loaded again, or another tracer has reset the counter
        N when N =:= none; N < Before -> S#s{survey = Survey#survey{calls = maps:remove(MFA, Calls)}};
        N -> S#s{survey = Survey#survey{calls = Calls#{MFA => {N - Before, erlang:monotonic_time() - Since}}}}
    end;
one(_, MFA, #s{session = Session, survey = #survey{on = On} = Survey} = S) ->
    kprof_call_count:clear(Session, [MFA]),
    S#s{survey = Survey#survey{on = maps:remove(MFA, On)}}.

looked(MFA, true, #s{survey = #survey{on = On} = Survey} = S) -> S#s{survey = Survey#survey{on = On#{MFA => {free, 0, 0}}}};
looked(_, false, S) -> S.

%% ---- From phase to phase ----

%% The counters are in the cleanup plan before they are set.
next(#s{survey = #survey{phase = look} = Survey, counting = Counting} = S) ->
    Free = whose(free, S),
    S1 = kprof_cleanup_plan:share(S#s{counting = Free ++ Counting}),
    later(0, S1#s{survey = Survey#survey{phase = set, todo = Free, held = Free, since = erlang:monotonic_time()}});
next(#s{survey = #survey{phase = set, on = On} = Survey} = S) ->
    First = Survey#survey{phase = first, todo = maps:keys(On), since = erlang:monotonic_time()},
    later(?FIRST_MS, answered(ok, S#s{survey = First}));
next(#s{survey = #survey{phase = first} = Survey} = S) ->
    later(0, S#s{survey = Survey#survey{phase = thin, todo = frequent(S)}});
next(#s{survey = #survey{phase = thin} = Survey} = S) ->
    next(held(S#s{survey = Survey#survey{phase = wait}}));
next(#s{survey = #survey{phase = wait, since = Since, on = On} = Survey} = S) ->
    case ?ROUND_MS - erlang:convert_time_unit(erlang:monotonic_time() - Since, native, millisecond) of
        Left when Left > 0 -> later(min(?LOOK_MS, Left), S);
        _ -> later(0, S#s{survey = Survey#survey{phase = last, todo = maps:keys(On), span = erlang:monotonic_time() - Since}})
    end;
next(#s{survey = #survey{phase = last} = Survey} = S) ->
    later(0, S#s{survey = Survey#survey{phase = clear, todo = whose(ours, S)}});
next(#s{survey = #survey{phase = clear}} = S0) ->
    #s{survey = Survey} = S = held(S0),
    S#s{survey = Survey#survey{phase = told, on = #{}, timer = none}}.

%% In the order of the request: if there is too little time to set all, the last ones are left out.
whose(Whose, #s{survey = #survey{on = On, asked = Asked}}) -> [MFA || MFA <- Asked, element(1, maps:get(MFA, On, {none})) =:= Whose].

%% The cleanup plan has only counters that are still set: below OTP 27, a counter that is set later belongs to another
%% tracer.
held(#s{survey = #survey{held = Before} = Survey, counting = Counting} = S) ->
    Ours = whose(ours, S),
    kprof_cleanup_plan:share(S#s{counting = Ours ++ (Counting -- Before), survey = Survey#survey{held = Ours}}).

%% The breaker is not closed: nothing was counted, and the counters that are set are removed.
given_up(#s{survey = Survey} = S) ->
    later(0, answered(wait, S#s{survey = Survey#survey{phase = clear, todo = whose(ours, S), calls = #{}, span = 0}})).

answered(_, #s{survey = #survey{ref = none}} = S) -> S;
answered(Answer, #s{survey = #survey{ref = Ref}} = S0) ->
    #s{survey = Survey} = S = kprof_link:answer(Ref, Answer, S0),
    S#s{survey = Survey#survey{ref = none}}.

%% The most frequently called functions with counters: without them the others stay within the budget.
frequent(#s{survey = #survey{calls = Calls}, cost = Cost} = S) ->
    Ns = kprof_cost:count_ns(Cost),
    Shares = lists:sort([{share(maps:get(MFA, Calls, {0, 1}), Ns), MFA} || MFA <- whose(ours, S)]),
    dropped(Shares, ?BUDGET * erlang:system_info(schedulers_online)).

%% Permille of one scheduler.
share({Calls, Span}, Ns) -> native(Calls * Ns, nanosecond) * 1000 div max(1, Span).

%% The smallest first.
dropped([{Share, _} | Rest], Left) when Share =< Left -> dropped(Rest, Left - Share);
dropped(Rest, _) -> [MFA || {_, MFA} <- Rest].

native(N, Unit) -> erlang:convert_time_unit(N, Unit, native).
