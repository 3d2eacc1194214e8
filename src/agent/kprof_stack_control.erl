%% Stack samples: starts, changes, pauses and ends the sampler; pauses the process table, too. Functions of the controller's
%% process.
-module(kprof_stack_control).
-agent(tools).
-export([beat/1, budget/1, closed_by/1, ended/2, gate/1, off/2, request/2, stopped/1, watch/1]).

-include("kprof_controller.hrl").

-define(INTERVAL_US, 9000).
-define(LEAST_US, 1000).
-define(MOST_US, 10000000).
-define(PERIOD_MS, 5000).
-define(ALL_STATUSES, 127).

%% Ends the sampling. Ref is answered when the last samples have been sent; until then the controller does other work.
-spec off(integer(), state()) -> state().
off(Ref, #s{stacks = #stacks{sampler = Sampler, ending = none} = Stacks} = S) ->
    S#s{stacks = Stacks#stacks{ending = kprof_stack_sampler:last(Sampler), enders = [Ref]}};
off(Ref, #s{stacks = #stacks{enders = Enders} = Stacks} = S) -> S#s{stacks = Stacks#stacks{enders = [Ref | Enders]}}.

%% Its last samples have been sent, or it has ended.
-spec stopped(state()) -> state().
stopped(#s{stacks = #stacks{sampler = Sampler, ref = Ref, enders = Enders}} = S0) ->
    erlang:demonitor(Ref, [flush]),
    kprof_node:kill(Sampler),
    Rest = watch(kprof_cleanup_plan:share(S0#s{stacks = #stacks{}})),
    lists:foldl(fun(Ender, S) -> kprof_link:answer(Ender, ok, S) end, Rest, Enders).

%% #{who, interval_us, period_ms, statuses}: fields that are left out have their defaults. A running sampler continues
%% with the new options.
-spec request(map(), state()) -> {ok | {error, atom(), binary()}, state()}.
request(#{who := Who} = Asked, S) ->
    case kprof_stack_choice:is_who(Who) andalso kprof_stack_choice:refused(Who) of
        none -> sampled(sample(options(Asked), S));
        false -> {{error, who, <<"invalid choice of processes">>}, S};
        Why -> {{error, who, Why}, S}
    end.

sampled(#s{stacks = #stacks{sampler = none}} = S) -> {kprof_link:no_room(), S};
sampled(S) -> {ok, watch(S)}.

options(Asked) ->
    #{
        who => maps:get(who, Asked),
        interval_us => kprof_options:number(interval_us, ?INTERVAL_US, ?LEAST_US, ?MOST_US, Asked),
        period_ms => kprof_options:number(period_ms, ?PERIOD_MS, 500, 3600000, Asked),
        statuses => kprof_options:number(statuses, ?ALL_STATUSES, 1, ?ALL_STATUSES, Asked)
    }.

sample(Options, #s{stacks = #stacks{ending = Ending}} = S) when Ending =/= none -> sample(Options, stopped(S));
sample(Options, #s{stacks = #stacks{sampler = none}, vm = Vm, link = #link{pid = To}} = S) ->
    case kprof_stack_sampler:start(Options#{vm => Vm, to => To}, budget(S)) of
        {Sampler, Ref} -> gate(kprof_cleanup_plan:share(S#s{stacks = #stacks{sampler = Sampler, ref = Ref, inside = is_inside(Options)}}));
        none -> S
    end;
sample(#{who := Who, statuses := Statuses, interval_us := Us, period_ms := Ms} = Options, #s{stacks = #stacks{sampler = Sampler} = Stacks} = S) ->
    Sampler ! {who, Who, Statuses, Us, Ms},
    S#s{stacks = Stacks#stacks{inside = is_inside(Options)}}.

is_inside(#{who := Who}) -> Who =:= inside.

%% Tells the relay who wants to know the processes that it traces: nobody, or the sampler.
-spec watch(state()) -> state().
watch(#s{relay = none} = S) ->
    S;
watch(#s{relay = Relay, stacks = #stacks{sampler = Sampler, inside = Inside}} = S) ->
    Relay ! {seen_by, if Inside -> Sampler; true -> none end},
    S.

%% It has ended by itself.
-spec ended(term(), state()) -> state().
ended(_, #s{stacks = #stacks{ending = Ending}} = S) when Ending =/= none -> stopped(S);
ended(Why, S) ->
    Text =
        case Why of
            killed -> kprof_text:format("sampling of stacks ended: its process was killed, or took too much memory", []);
            _ -> kprof_text:format("sampling of stacks ended: ~0tP", [Why, 12])
        end,
    kprof_link:event_kept(stacks, Text, watch(kprof_cleanup_plan:share(S#s{stacks = #stacks{}}))).

-spec beat(state()) -> state().
beat(#s{stacks = #stacks{busy = Busy} = Stacks} = S) ->
    Long = kprof_node:long_run_queue() =/= none,
    gate(S#s{stacks = Stacks#stacks{busy = busy(Long, Busy)}}).

%% As many heartbeats with a short run queue as stop sampling resume it.
busy(true, Busy) when Busy + 1 >= ?BUSY_BEATS -> 2 * ?BUSY_BEATS - 1;
busy(true, Busy) -> Busy + 1;
busy(false, Busy) when Busy =< ?BUSY_BEATS -> 0;
busy(false, Busy) -> Busy - 1.

%% Tells the sampler and the process table whether they may work, and their budget: at each heartbeat, and when the breaker opens.
-spec gate(state()) -> state().
gate(#s{stacks = #stacks{sampler = Sampler}, processes = #processes{table = Table}} = S) ->
    Sampler =/= none andalso (Sampler ! {gate, closed_by(S), budget(S)}),
    Table =/= none andalso (Table ! {gate, closed_by(S), budget(S)}),
    S.

%% The state of the gate of kprof_stack_sampler.
-spec closed_by(state()) -> 0..3.
closed_by(#s{breaker = B, stacks = #stacks{busy = Busy}} = S) ->
    case {kprof_breaker:state(B), kprof_link:is_silent(S)} of
        {open, _} -> 1;
        {_, true} -> 2;
        _ when Busy >= ?BUSY_BEATS -> 3;
        _ -> 0
    end.

%% The part of max_cost that tracing does not use, but at least a tenth of max_cost. If the sampler and the process table both
%% work, each has half of it.
-spec budget(state()) -> non_neg_integer().
budget(#s{limits = #limits{max = #{max_cost := 0}}}) -> 0;
budget(#s{limits = #limits{max = #{max_cost := Max}}, cost = Cost} = S) ->
    {Spent, _} = kprof_cost:spent(Cost),
    Both = S#s.stacks#stacks.sampler =/= none andalso S#s.processes#processes.table =/= none,
    max(1, max(Max div 10, Max - Spent) div if Both -> 2; true -> 1 end).
