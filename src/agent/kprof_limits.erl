%% Keeps what tracing costs, how many events it makes and what waits for the relay within the limits: sets how far is sampled
%% (kprof_sampling says), cuts it at once when a flood comes, and opens the breaker where sampling cannot help. Functions of the
%% controller's process.
-module(kprof_limits).
-export([affordable/1, flood/2, limits/2, nudged/1, adjust/1, begin_at/2, new_relay/1]).

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

-define(NUDGED_MS, 20). % at least, between two evaluations
-define(SAY_MS, 2000). % between two events that say which limit is in force
-define(HEAVY, 3). % over the budget whatever the sampling, in a row
-define(RELAY_PERMILLE, 600). % of one scheduler, at most, for the relay
-define(CUT, 8). % a flood cuts sampling to a part of this
-define(MOST, 1000000).
-define(FLOOD_MS, 60).
-define(MANY_WAIT, 2000). % events

%% max_age_ms, max_queue, max_memory, max_rate, max_cost, max_blocked_ms (0: no limit), cooldown_ms: what is not named stays.
-spec limits(#{atom() => non_neg_integer()}, state()) -> state().
limits(New, #s{limits = #limits{max = Old}, breaker = B} = S) ->
    S1 = kprof_tracing:send_limits(S#s{
        limits = S#s.limits#limits{max = maps:merge(Old, maps:with(maps:keys(Old), New))},
        breaker = kprof_breaker:cooldown(maps:get(cooldown_ms, New, ?COOL_MS), B)
    }),
    case kprof_sampling:in_force(S1) =:= kprof_sampling:in_force(S) of
        true -> S1;
        false -> kprof_tracing:resample(S1)
    end.

%% How far must be sampled, by the rates that the counters tell? -> {ok, N} | {error, Text}: not even calls that are not
%% sampled can be paid for.
-spec affordable(state()) -> {ok, pos_integer()} | {error, binary()}.
affordable(#s{count = none}) ->
    {ok, 1};
affordable(#s{count = Count, cost = Cost, limits = #limits{max = #{max_cost := MaxCost, max_rate := MaxRate}}, tracing = #tracing{trace_config = Config}} = S) ->
    Rates = kprof_call_count:rates(Count),
    Reckoned = kprof_cost:expected(Rates, counted_now(0, S), Config, Cost),
    case kprof_cost:affordable(Reckoned, MaxCost, MaxRate, ?RELAY_PERMILLE) of
        {ok, N} -> {ok, min(?MOST, N)};
        too_much -> {error, too_much(Rates, maps:get(fixed, Reckoned), MaxCost)}
    end.

%% Tracing begins with what affordable/1 says.
-spec begin_at(pos_integer(), state()) -> state().
begin_at(N, #s{limits = Limits} = S) -> S#s{limits = Limits#limits{sample = N, why = if N > 1 -> cost; true -> none end}}.

%% Its counts begin anew.
-spec new_relay(state()) -> state().
new_relay(#s{limits = Limits} = S) -> S#s{limits = Limits#limits{evaluated = undefined}}.

%% The ticket gives the call rate of the entry, or of the only tier if there is none.
known_rates(#s{tier_rates = #tier_rates{rates = Rates}, tracing = #tracing{trace_config = Config}, limits = #limits{ticket_rate = PerS}}) ->
    #{tiers := Tiers, entry := Entry} = Config,
    Tossing = [{M, F, A} || {Ix, M, F, A} <- Tiers, Ix =:= Entry orelse (Entry =:= none andalso length(Tiers) =:= 1)],
    maps:merge(Rates, maps:from_list([{MFA, PerS} || MFA <- Tossing])).

%% Where sampling cannot help, the tier that is called most often is the one to remove.
too_much(Rates, Fixed, Max) ->
    Text = "calls that are not sampled would cost ~ts of the node (limit ~ts); ",
    Remove =
        case lists:reverse(lists:sort([{N, MFA} || {MFA, N} <- maps:to_list(Rates)])) of
            [] -> "remove the tier that is called most often";
            [{N, {M, F, A}} | _] -> io_lib:format("remove the tier ~ts (~b calls/s)", [kprof_text:mfa(M, F, A), N])
        end,
    kprof_text:format(Text ++ "~ts", [percent(Fixed), percent(Max), Remove]).

%% Each 200 ms. The relay tells its counts once a tick: a look soon after one that it asked for would find no events.
-spec adjust(state()) -> state().
adjust(S0) ->
    #s{limits = #limits{evaluated = At}} = S = kprof_tier_rates:step(S0),
    Now = kprof_node:now_ms(),
    %% a call may have put back the word of before the last change
    S#s.tracing#tracing.on andalso not S#s.beside andalso kprof_spec:cut(kprof_sampling:cut(S)),
    case At of
        {Then, _, _} when Now - Then < ?NUDGED_MS -> S;
        _ -> evaluate(Now, S)
    end.

%% Keeps what is counted between two looks within the limits: kprof_sampling.
evaluate(Now, #s{limits = #limits{evaluated = At, sample = Old}} = S0) ->
    Events = events(S0),
    RunNs = kprof_link:counter(?RUN_NS, S0),
    Noted = kprof_link:counter(?NOTED, S0),
    S1 = S0#s{
        limits = S0#s.limits#limits{evaluated = {Now, Events, RunNs}, noted = Noted, ticket_rate = ticket_rate(S0), ticket = {Now, kprof_node:ticket()}},
        cost = kprof_cost:observe(counted_now(Events, S0), S0#s.cost)
    },
    case At of
        {Then, Before, Ran} when S0#s.tracing#tracing.on ->
            Busy = (RunNs - Ran) div max(1, (Now - Then) * 1000), % permille of one scheduler
            {New, Why} = let_out(Noted, next_sample(goals(rate(Then, Before, Now, Events), Busy, S1), S1), S0),
            heavy(tell_why(Now, sample_to(New, S1#s{limits = S1#s.limits#limits{why = Why}})));
        _ ->
            S1#s{limits = S1#s.limits#limits{sample = Old, heavy = 0}}
    end.

%% A relay that had no turn since, or that has much before it, says too little of what comes: sampling is not let out.
let_out(Noted, {New, _} = Next, #s{limits = #limits{sample = Old, why = Why, noted = Before}} = S) when New < Old ->
    case Noted =:= Before orelse kprof_link:counter(?QUEUE, S) > ?MANY_WAIT of
        true -> {Old, Why};
        false -> Next
    end;
let_out(_, Next, _) ->
    Next.

%% Calls a second that tossed since the last look.
ticket_rate(#s{limits = #limits{ticket = none}}) -> 0;
ticket_rate(#s{limits = #limits{ticket = {Then, Before}}}) ->
    kprof_spec:tickets(Before, kprof_node:ticket()) * 1000 div max(1, kprof_node:now_ms() - Then).

events(S) -> kprof_link:counter(?SENT, S) + kprof_link:counter(?DROPPED, S).
rate(Then, Before, Now, Events) -> (Events - Before) * 1000 div max(1, Now - Then).

%% More waits for the relay than it can do soon: sampling is cut at once, and opens again as the limits bear it. What waits is
%% dropped by the relay itself.
-spec flood(non_neg_integer() | {calls, non_neg_integer()}, state()) -> state().
flood({calls, _}, #s{limits = #limits{max = #{max_queue := 0}}} = S) ->
    S;
flood(Waiting, #s{tracing = #tracing{on = true}, limits = #limits{sample = Old, flooded = Last}} = S) ->
    Now = kprof_node:now_ms(),
    case Last =:= none orelse Now - Last >= settled_ms(Waiting) of
        true when Old * ?CUT > ?MOST, is_integer(Waiting), Waiting > 0 ->
            Why = <<"events of single requests come faster than the agent can follow, whatever the sampling">>,
            kprof_tracing:trip(Why, S#s{limits = S#s.limits#limits{flooded = Now}});
        true ->
            New = min(?MOST, max(kprof_sampling:base(S), Old) * cut_by(Waiting)),
            (New > Old andalso (Last =:= none orelse Now - Last > ?SAY_MS)) andalso kprof_link:event(sampling, flood_text(Waiting, New), S),
            S1 = sample_to(New, S#s{limits = S#s.limits#limits{why = flood, flooded = Now, evaluated = {Now, events(S), kprof_link:counter(?RUN_NS, S)}}}),
            atomics:put(S1#s.counters, ?CUT_AT, kprof_node:now_ms()), % by which the relay tells whether it helped
            S1;
        false ->
            S
    end;
flood(_, S) ->
    S.

%% What waited before the last cut is no new flood: where calls are told it is known at once, where messages waited it takes longer.
settled_ms({calls, _}) -> ?FLOOD_MS;
settled_ms(_) -> 4 * ?FLOOD_MS.

%% Calls a second that were sampled are known: so far that it is a fifth of what the relay can take.
cut_by({calls, PerS}) -> max(2, PerS * 5 div ?MOST_SAMPLED);
cut_by(_) -> ?CUT.

flood_text({calls, _}, New) -> kprof_text:format("calls come faster than the agent could follow: sampling is cut to 1/~b", [New]);
flood_text(0, New) -> kprof_text:format("the node's run queue is long: sampling is cut to 1/~b", [New]);
flood_text(Waiting, New) -> kprof_text:format("~b events waited for the agent and were dropped: sampling is cut to 1/~b", [Waiting, New]).

%% The relay drops events beyond the limit. So soon only a look that finds more than the limit is of use.
-spec nudged(state()) -> state().
nudged(#s{limits = #limits{evaluated = {Then, Before, _}, max = #{max_rate := Max}}} = S) when Max > 0 ->
    Now = kprof_node:now_ms(),
    case Now - Then >= ?NUDGED_MS andalso rate(Then, Before, Now, events(S)) > Max of
        true -> evaluate(Now, S);
        false -> S
    end;
nudged(S) ->
    S.

sample_to(New, #s{cost = Cost} = S0) ->
    S = S0#s{limits = S0#s.limits#limits{sample = New}},
    case {kprof_sampling:in_force(S0), kprof_sampling:in_force(S)} of
        {Same, Same} -> S;
        {Old, Now} -> kprof_tracing:recut(S#s{cost = kprof_cost:resampled(Old, Now, Cost)})
    end.

%% While the breaker gives sampling back in steps, the limits do not let it out besides.
next_sample(Goals, #s{tracing = #tracing{trace_config = #{sample := Configured}}, breaker = B, limits = #limits{why = Why}} = S) ->
    Base = kprof_sampling:base(S),
    Step = kprof_breaker:factor(B),
    case kprof_sampling:next(Base, Configured, Goals) of
        {Less, _} when Less < Base, Step > 1 -> {Base, Why};
        Next -> Next
    end.

%% Besides the operator's limits there is the relay's own: ?RELAY_PERMILLE of a scheduler.
goals(Rate, Busy, #s{limits = #limits{max = #{max_rate := MaxRate, max_cost := MaxCost, max_queue := MaxQueue}}, cost = Cost}) ->
    {All, Fixed} = kprof_cost:spent(Cost),
    [{rate, Rate, MaxRate} || MaxRate > 0] ++
        [{cost, All - Fixed, max(1, MaxCost - Fixed)} || MaxCost > 0] ++
        [{flood, Busy, ?RELAY_PERMILLE} || MaxQueue > 0].

counted_now(Events, #s{tracing = #tracing{trace_config = #{entry := Entry, returns := Returns} = Config}} = S) ->
    #{
        now_ns => erlang:monotonic_time(nanosecond),
        events => Events,
        ticket => kprof_node:ticket(),
        relay_ns => kprof_link:counter(?RUN_NS, S),
        tier_calls_s => kprof_tier_rates:per_second(S),
        sample => kprof_sampling:in_force(S),
        entry => Entry =/= none,
        returns => Returns,
        args => maps:get(args, Config),
        schedulers => erlang:system_info(schedulers_online)
    }.

%% Sampling cannot mend what every call pays.
heavy(#s{tracing = #tracing{on = true}, limits = #limits{max = #{max_cost := Max}, heavy = Heavy}, cost = Cost} = S) when Max > 0 ->
    case kprof_cost:spent(Cost) of
        {_, Fixed} when Fixed > Max, Heavy + 1 >= ?HEAVY ->
            kprof_tracing:trip(too_much(known_rates(S), Fixed, Max), S#s{limits = S#s.limits#limits{heavy = 0}});
        {_, Fixed} when Fixed > Max ->
            S#s{limits = S#s.limits#limits{heavy = Heavy + 1}};
        _ ->
            S#s{limits = S#s.limits#limits{heavy = 0}}
    end;
heavy(S) ->
    S#s{limits = S#s.limits#limits{heavy = 0}}.

percent(Millionths) -> io_lib:format("~b.~b %", [Millionths div 10000, Millionths rem 10000 div 1000]).

tell_why(Now, #s{limits = #limits{why = Why, said = {Said, At}, max = Limits}} = S) when Why =/= Said, At =:= none orelse Now - At >= ?SAY_MS ->
    kprof_link:event(
        sampling,
        case Why of
            none -> kprof_text:format("sampling is as asked again: 1/~b", [kprof_sampling:in_force(S)]);
            rate -> kprof_text:format("sampling 1/~b to keep under ~b events/s", [kprof_sampling:in_force(S), maps:get(max_rate, Limits)]);
            cost -> kprof_text:format("sampling 1/~b to keep under ~ts of the node", [kprof_sampling:in_force(S), percent(maps:get(max_cost, Limits))]);
            flood -> kprof_text:format("sampling 1/~b: the agent cannot follow more", [kprof_sampling:in_force(S)])
        end,
        S
    ),
    S#s{limits = S#s.limits#limits{said = {Why, Now}}};
tell_why(_, S) ->
    S.
