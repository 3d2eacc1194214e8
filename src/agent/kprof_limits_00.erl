%% Keeps what tracing costs, how many events it makes and what waits for the relay within the limits: steers sampling (how far,
%% kprof_steer_00 says), cuts it at once when a flood comes, and opens the breaker where sampling cannot help. Functions of the
%% keeper's process.
-module(kprof_limits_00).
-export([affordable/1, flood/2, limits/2, nudged/1, steer/1]).

-include("kprof_keeper.hrl").

-define(NUDGED_MS, 20). % at least, between two looks
-define(SAY_MS, 2000). % between two words about what steers
-define(HEAVY_LOOKS, 3). % over the budget whatever the sampling, one look after the other
-define(RELAY_PERMILLE, 600). % of one scheduler, at most, for the relay
-define(CUT, 8). % a flood cuts sampling to a part of this
-define(MOST, 1000000).
-define(MOST_SAMPLED, 150000). % as the relay's
-define(FLOOD_MS, 60).

%% max_age_ms, max_queue, max_memory, max_rate, max_cost, max_blocked_ms (0: no limit), cooldown_ms: what is not named stays.
limits(New, #s{limits = Old, breaker = B} = S) ->
    S1 = kprof_switch_00:send_limits(S#s{
        limits = maps:merge(Old, maps:with(maps:keys(Old), New)),
        breaker = kprof_breaker_00:cooldown(maps:get(cooldown_ms, New, ?COOL_MS), B)
    }),
    case kprof_state_00:sample_now(S1) =:= kprof_state_00:sample_now(S) of
        true -> S1;
        false -> kprof_switch_00:resample(S1)
    end.

%% How far must be sampled, by the rates that the counters tell? -> {ok, N} | {error, Text}: not even calls that are not
%% sampled can be paid for.
affordable(#s{count = none}) ->
    {ok, 1};
affordable(#s{count = Count, cost = Cost, limits = #{max_cost := MaxCost, max_rate := MaxRate}, wish = Wish} = S) ->
    Rates = kprof_count_00:rates(Count),
    Reckoned = kprof_cost_00:expected(Rates, counted_now(0, S), Wish, Cost),
    case kprof_cost_00:affordable(Reckoned, MaxCost, MaxRate, ?RELAY_PERMILLE) of
        {ok, N} -> {ok, min(?MOST, N)};
        too_much -> {error, too_much(Rates, maps:get(fixed, Reckoned), MaxCost)}
    end.

%% Of the entry, or without one of all that toss, the ticket tells.
known_rates(#s{rates_of = Rates, wish = #{tiers := Tiers, entry := Entry}, ticket_rate = PerS}) ->
    Tossing = [{M, F, A} || {Ix, M, F, A} <- Tiers, Ix =:= Entry orelse (Entry =:= none andalso length(Tiers) =:= 1)],
    maps:merge(Rates, maps:from_list([{MFA, PerS} || MFA <- Tossing])).

%% Where sampling cannot help, the tier that is called most often is the one to remove.
too_much(Rates, Fixed, Max) ->
    Text = "calls that are not sampled alone would cost ~ts of the node, and --max-overhead is ~ts; ",
    Remove =
        case lists:reverse(lists:sort([{N, MFA} || {MFA, N} <- maps:to_list(Rates)])) of
            [] -> "remove the tier that is called most often";
            [{N, {M, F, A}} | _] -> io_lib:format("remove the tier ~ts (~b calls/s)", [kprof_look_00:mfa(M, F, A), N])
        end,
    kprof_look_00:bin(Text ++ "~ts", [percent(Fixed), percent(Max), Remove]).

%% Each 200 ms. The relay tells its counts once a tick: right after a look that it asked for, another would find no events.
steer(S0) ->
    #s{steer_at = At} = S = kprof_rate_00:step(S0),
    Now = kprof_state_00:now_ms(),
    %% a call may have put back the word of before the last change
    S#s.on andalso not S#s.beside andalso kprof_spec_00:cut(kprof_state_00:cut(S)),
    case At of
        {Then, _, _} when Now - Then < ?NUDGED_MS -> S;
        _ -> look(Now, S)
    end.

%% Keeps what is counted between two looks within the limits: kprof_steer_00.
look(Now, #s{steer_at = At, steered = Old} = S0) ->
    Events = events(S0),
    RunNs = kprof_state_00:counter(6, S0),
    S1 = S0#s{steer_at = {Now, Events, RunNs}, ticket_rate = ticket_rate(S0), ticket = {Now, kprof_node_00:ticket()}, cost = kprof_cost_00:look(counted_now(Events, S0), S0#s.cost)},
    case At of
        {Then, Before, Ran} when S0#s.on ->
            Busy = (RunNs - Ran) div max(1, (Now - Then) * 1000), % permille of one scheduler
            {New, Why} = next_sample(goals(rate(Then, Before, Now, Events), Busy, S1), S1),
            heavy(tell_why(Now, steered_to(New, S1#s{why = Why})));
        _ ->
            S1#s{steered = Old, heavy = 0}
    end.

%% Calls a second that tossed since the last look.
ticket_rate(#s{ticket = none}) -> 0;
ticket_rate(#s{ticket = {Then, Before}}) ->
    kprof_spec_00:tickets(Before, kprof_node_00:ticket()) * 1000 div max(1, kprof_state_00:now_ms() - Then).

events(S) -> kprof_state_00:counter(2, S) + kprof_state_00:counter(3, S).
rate(Then, Before, Now, Events) -> (Events - Before) * 1000 div max(1, Now - Then).

%% More waits for the relay than it can do soon: sampling is cut at once, and opens again as the limits bear it. What waits is
%% dropped by the relay itself.
flood({calls, _}, #s{limits = #{max_queue := 0}} = S) ->
    S;
flood(Waiting, #s{on = true, steered = Old, flooded = Last} = S) ->
    Now = kprof_state_00:now_ms(),
    case Last =:= none orelse Now - Last >= settled_ms(Waiting) of
        true when Old * ?CUT > ?MOST, is_integer(Waiting), Waiting > 0 ->
            kprof_switch_00:trip(<<"events of single requests come faster than the agent can follow, whatever the sampling">>, S#s{flooded = Now});
        true ->
            New = min(?MOST, max(kprof_state_00:sample_base(S), Old) * cut_by(Waiting)),
            (New > Old andalso (Last =:= none orelse Now - Last > ?SAY_MS)) andalso kprof_state_00:event(sampling, flood_text(Waiting, New), S),
            S1 = steered_to(New, S#s{why = flood, flooded = Now, steer_at = {Now, events(S), kprof_state_00:counter(6, S)}}),
            atomics:put(S1#s.counters, 7, kprof_state_00:now_ms()), % by which the relay tells whether it helped
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

flood_text({calls, _}, New) -> kprof_look_00:bin("calls come faster than the agent could follow: sampling is cut to 1/~b", [New]);
flood_text(0, New) -> kprof_look_00:bin("the node's run queue is long: sampling is cut to 1/~b", [New]);
flood_text(Waiting, New) -> kprof_look_00:bin("~b events waited for the agent and were dropped: sampling is cut to 1/~b", [Waiting, New]).

%% The relay drops events beyond the limit. So soon only a look that finds more than the limit is of use.
nudged(#s{steer_at = {Then, Before, _}, limits = #{max_rate := Max}} = S) when Max > 0 ->
    Now = kprof_state_00:now_ms(),
    case Now - Then >= ?NUDGED_MS andalso rate(Then, Before, Now, events(S)) > Max of
        true -> look(Now, S);
        false -> S
    end;
nudged(S) ->
    S.

steered_to(New, #s{cost = Cost} = S0) ->
    S = S0#s{steered = New},
    case {kprof_state_00:sample_now(S0), kprof_state_00:sample_now(S)} of
        {Same, Same} -> S;
        {Old, Now} -> kprof_switch_00:resteer(S#s{cost = kprof_cost_00:resampled(Old, Now, Cost)})
    end.

%% While the breaker gives sampling back in steps, the limits do not let it out besides.
next_sample(Goals, #s{wish = #{sample := Wished}, breaker = B, why = Why} = S) ->
    Base = kprof_state_00:sample_base(S),
    Step = kprof_breaker_00:factor(B),
    case kprof_steer_00:next(Base, Wished, Goals) of
        {Less, _} when Less < Base, Step > 1 -> {Base, Why};
        Next -> Next
    end.

%% Millionths of the cost as permille of one scheduler are no goal of the operator's: the relay has its own.
goals(Rate, Busy, #s{limits = #{max_rate := MaxRate, max_cost := MaxCost, max_queue := MaxQueue}, cost = Cost}) ->
    {All, Fixed} = kprof_cost_00:spent(Cost),
    [{rate, Rate, MaxRate} || MaxRate > 0] ++
        [{cost, All - Fixed, max(1, MaxCost - Fixed)} || MaxCost > 0] ++
        [{flood, Busy, ?RELAY_PERMILLE} || MaxQueue > 0].

counted_now(Events, #s{wish = #{entry := Entry, returns := Returns} = Wish} = S) ->
    #{
        now_ns => erlang:monotonic_time(nanosecond),
        events => Events,
        ticket => kprof_node_00:ticket(),
        relay_ns => kprof_state_00:counter(6, S),
        tier_calls_s => kprof_rate_00:per_second(S),
        sample => kprof_state_00:sample_now(S),
        entry => Entry =/= none,
        returns => Returns,
        args => maps:get(args, Wish),
        schedulers => erlang:system_info(schedulers_online)
    }.

%% Sampling cannot mend what every call pays.
heavy(#s{on = true, limits = #{max_cost := Max}, cost = Cost, heavy = Heavy} = S) when Max > 0 ->
    case kprof_cost_00:spent(Cost) of
        {_, Fixed} when Fixed > Max, Heavy + 1 >= ?HEAVY_LOOKS ->
            kprof_switch_00:trip(too_much(known_rates(S), Fixed, Max), S#s{heavy = 0});
        {_, Fixed} when Fixed > Max ->
            S#s{heavy = Heavy + 1};
        _ ->
            S#s{heavy = 0}
    end;
heavy(S) ->
    S#s{heavy = 0}.

percent(Millionths) -> io_lib:format("~b.~b %", [Millionths div 10000, Millionths rem 10000 div 1000]).

tell_why(Now, #s{why = Why, said = {Said, At}, limits = Limits} = S) when Why =/= Said, At =:= none orelse Now - At >= ?SAY_MS ->
    kprof_state_00:event(
        sampling,
        case Why of
            none -> kprof_look_00:bin("sampling is as asked again: 1/~b", [kprof_state_00:sample_now(S)]);
            rate -> kprof_look_00:bin("sampling 1/~b to keep under ~b events/s", [kprof_state_00:sample_now(S), maps:get(max_rate, Limits)]);
            cost -> kprof_look_00:bin("sampling 1/~b to keep under ~ts of the node", [kprof_state_00:sample_now(S), percent(maps:get(max_cost, Limits))]);
            flood -> kprof_look_00:bin("sampling 1/~b: the agent cannot follow more", [kprof_state_00:sample_now(S)])
        end,
        S
    ),
    S#s{said = {Why, Now}};
tell_why(_, S) ->
    S.
