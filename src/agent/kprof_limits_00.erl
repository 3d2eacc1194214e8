%% Keeps what tracing costs, and how many events it makes, within the limits: steers sampling (how far, kprof_steer_00 says),
%% and opens the breaker where sampling cannot help. Functions of the keeper's process.
-module(kprof_limits_00).
-export([limits/2, nudged/1, steer/1]).

-include("kprof_keeper.hrl").

-define(STEER_FIRST, 256).
-define(NUDGED_MS, 20). % at least, between two looks
-define(OVER_MS, 3000). % beyond max_rate at every look of the clock
-define(SAY_MS, 2000). % between two words about what steers
-define(HEAVY_LOOKS, 3). % over the budget whatever the sampling, one look after the other

%% max_age_ms, max_queue, max_memory, max_rate, max_cost, max_blocked_ms (0: no limit), cooldown_ms: what is not named stays.
limits(New, #s{limits = Old, breaker = B} = S) ->
    S1 = steered(maps:get(max_rate, Old), kprof_switch_00:send_limits(S#s{
        limits = maps:merge(Old, maps:with(maps:keys(Old), New)),
        breaker = kprof_breaker_00:cooldown(maps:get(cooldown_ms, New, ?COOL_MS), B)
    })),
    case kprof_state_00:sample_now(S1) =:= kprof_state_00:sample_now(S) of
        true -> S1;
        false -> kprof_switch_00:resample(S1)
    end.

%% With a limit of events, sampling begins sparse and is let out as the node bears it.
steered(Old, #s{limits = #{max_rate := Rate}} = S) when Rate > 0, Old =:= 0 -> S#s{steered = ?STEER_FIRST, why = rate};
steered(_, S) -> S.

%% Each 200 ms. The relay tells its counts once a tick: right after a look that it asked for, another would find no events.
steer(S0) ->
    #s{steer_at = At} = S = kprof_rate_00:step(S0),
    Now = kprof_state_00:now_ms(),
    over(
        Now,
        case At of
            {Then, _} when Now - Then < ?NUDGED_MS -> S;
            _ -> look(Now, S)
        end
    ).

%% Keeps what is counted between two looks within the limits: kprof_steer_00.
look(Now, #s{steer_at = At, steered = Old} = S0) ->
    Events = events(S0),
    S1 = S0#s{steer_at = {Now, Events}, cost = kprof_cost_00:look(counted_now(Events, S0), S0#s.cost)},
    case At of
        {Then, Before} when S0#s.on ->
            {New, Why} = next_sample(goals(rate(Then, Before, Now, Events), S1), S1),
            heavy(tell_why(Now, steered_to(New, S1#s{why = Why})));
        _ ->
            S1#s{steered = Old, heavy = 0}
    end.

events(S) -> kprof_state_00:counter(2, S) + kprof_state_00:counter(3, S).
rate(Then, Before, Now, Events) -> (Events - Before) * 1000 div max(1, Now - Then).

%% The relay drops events beyond the limit. So soon only a look that finds more than the limit is of use.
nudged(#s{steer_at = {Then, Before}, limits = #{max_rate := Max}} = S) when Max > 0 ->
    Now = kprof_state_00:now_ms(),
    case Now - Then >= ?NUDGED_MS andalso rate(Then, Before, Now, events(S)) > Max of
        true -> look(Now, S);
        false -> S
    end;
nudged(S) ->
    S.

%% Sampling is to put that right; where it cannot, the breaker opens. By the looks of the clock alone: those that the relay asks
%% for come in between.
over(Now, #s{on = true, over_at = {Then, Before}, limits = #{max_rate := Max}} = S) when Max > 0 ->
    Events = events(S),
    beyond(Now, rate(Then, Before, Now, Events) * 10 > Max * 12, S#s{over_at = {Now, Events}});
over(Now, S) ->
    S#s{over = none, over_at = {Now, events(S)}}.

beyond(_, false, S) ->
    S#s{over = none};
beyond(Now, true, #s{over = none} = S) ->
    S#s{over = Now};
beyond(Now, true, #s{over = Since} = S) when Now - Since >= ?OVER_MS ->
    Text = kprof_look_00:bin("more events/s than --max-rate allows, whatever the sampling, for ~b s", [?OVER_MS div 1000]),
    kprof_switch_00:trip(Text, S#s{over = none});
beyond(_, true, S) ->
    S.

steered_to(New, #s{cost = Cost} = S0) ->
    S = S0#s{steered = New},
    case {kprof_state_00:sample_now(S0), kprof_state_00:sample_now(S)} of
        {Same, Same} -> S;
        {Old, Now} -> kprof_switch_00:resample(S#s{cost = kprof_cost_00:resampled(Old, Now, Cost)})
    end.

%% While the breaker gives sampling back in steps, the limits do not let it out besides.
next_sample(_, #s{wish = #{entry := none}, steered = Steered}) -> {Steered, none};
next_sample(Goals, #s{wish = #{sample := Wished}, breaker = B, why = Why} = S) ->
    Base = kprof_state_00:sample_base(S),
    Step = kprof_breaker_00:factor(B),
    case kprof_steer_00:next(Base, Wished, Goals) of
        {Less, _} when Less < Base, Step > 1 -> {Base, Why};
        Next -> Next
    end.

goals(Rate, #s{limits = #{max_rate := MaxRate, max_cost := MaxCost}, cost = Cost}) ->
    {All, Fixed} = kprof_cost_00:spent(Cost),
    [{rate, Rate, MaxRate} || MaxRate > 0] ++ [{cost, All - Fixed, max(1, MaxCost - Fixed)} || MaxCost > 0].

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
            Text = kprof_look_00:bin("cost: calls that are not sampled alone take ~ts of the node, and --max-overhead is ~ts", [percent(Fixed), percent(Max)]),
            kprof_switch_00:trip(Text, S#s{heavy = 0});
        {_, Fixed} when Fixed > Max ->
            S#s{heavy = Heavy + 1};
        _ ->
            S#s{heavy = 0}
    end;
heavy(S) ->
    S#s{heavy = 0}.

percent(Millionths) -> io_lib:format("~.1f %", [Millionths / 10000]).

tell_why(Now, #s{why = Why, said = {Said, At}, limits = Limits} = S) when Why =/= Said, At =:= none orelse Now - At >= ?SAY_MS ->
    kprof_state_00:event(
        sampling,
        case Why of
            none -> kprof_look_00:bin("sampling is as asked again: 1/~b", [kprof_state_00:sample_now(S)]);
            rate -> kprof_look_00:bin("sampling 1/~b to keep under ~b events/s", [kprof_state_00:sample_now(S), maps:get(max_rate, Limits)]);
            cost -> kprof_look_00:bin("sampling 1/~b to keep under ~ts of the node", [kprof_state_00:sample_now(S), percent(maps:get(max_cost, Limits))])
        end,
        S
    ),
    S#s{said = {Why, Now}};
tell_why(_, S) ->
    S.
