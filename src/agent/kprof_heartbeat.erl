%% The heartbeat: the state of the node and of tracing, sent twice a second and when the breaker or tracing changes. Functions
%% of the controller's process.
-module(kprof_heartbeat).
-export([send/1]).

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

-define(MEASURE_MS, 50).

%% A heartbeat that reports that tracing was switched on or off must arrive, and in order: kprof-top computes gaps from them.
-spec send(state()) -> state().
send(#s{link = #link{cpu = Before, told_gap = Told}} = S0) ->
    {Now, Memory} = measured(S0),
    S1 = kprof_link:tell_kept(S0),
    S = S1#s{link = S1#s.link#link{cpu = Now}, beats = S1#s.beats#beats{memory = Memory}},
    Gap = gap(S),
    Beat = {kh, erlang:monotonic_time(), health(Before, Now, S)},
    case S#s.link#link.unsent =:= [] andalso kprof_link:send(Beat, S) of
        ok -> S#s{link = S#s.link#link{told_gap = Gap}};
        _ when Gap =:= Told -> S;
        _ -> kprof_link:keep(Beat, S#s{link = S#s.link#link{told_gap = Gap}})
    end.

%% For these, the VM asks all schedulers and waits, without a limit, for one that is in a long native function. Then the last
%% ones are used, also if there is no room for another process.
measured(#s{link = #link{cpu = Cpu}, beats = #beats{memory = Memory}}) ->
    case kprof_node:spawn_if_room(fun() -> exit({got, {kprof_node:cpu(), erlang:memory(total)}}) end, [monitor, {priority, high}]) of
        none -> {Cpu, Memory};
        Asked -> kprof_proc:got(Asked, kprof_node:now_ms() + ?MEASURE_MS, {Cpu, Memory})
    end.

health(Before, Now, S) ->
    {Up, _} = erlang:statistics(wall_clock),
    {Detail, DetailWhy} = kprof_limits:detail_state(S),
    #{
        run_queue => erlang:statistics(run_queue),
        dirty_queue => dirty_queue(),
        schedulers => erlang:system_info(schedulers_online),
        sched => kprof_node:permille(Before, Now),
        memory => S#s.beats#beats.memory,
        processes => erlang:system_info(process_count),
        uptime_ms => Up,
        relay_queue => kprof_link:counter(?QUEUE, S),
        relay_memory => kprof_link:counter(?MEMORY, S),
        dropped => kprof_link:missing(S),
        others => length(S#s.others),
        gap => gap(S),
        breaker => case kprof_breaker:state(S#s.breaker) of closed -> 0; open -> 1; half_open -> 2 end,
        trips => kprof_breaker:trips(S#s.breaker),
        next_ms => kprof_breaker:next_ms(kprof_node:now_ms(), S#s.breaker),
        pause_ms => kprof_breaker:pause_ms(S#s.breaker),
        sample => kprof_sampling:usual(S),
        sample_why => sample_why(S),
        detail => Detail,
        detail_why => DetailWhy,
        cost => element(1, kprof_cost:spent(S#s.cost)),
        call_ns => kprof_cost:call_ns(kprof_limits:with_detail(S#s.tracing#tracing.trace_config, S), S#s.cost),
        cost_assumed => kprof_cost:assumed(S#s.cost),
        vm_events => kprof_vm_events:state(S),
        strangers => S#s.link#link.unauthorized
    }.

%% Jobs that wait for a dirty CPU scheduler: their queue comes after those of the schedulers. Included in run_queue.
dirty_queue() ->
    case lists:nthtail(erlang:system_info(schedulers), erlang:statistics(run_queue_lengths_all)) of
        [Cpu | _] -> Cpu;
        [] -> -1
    end.

sample_why(#s{part_time = #part_time{phase = Phase}}) when Phase =/= off -> 5;
sample_why(#s{limits = #limits{why = Why}, breaker = B}) ->
    case {kprof_breaker:factor(B), Why} of
        {1, none} -> 0;
        {1, rate} -> 1;
        {1, cost} -> 2;
        {1, flood} -> 4;
        {1, copies} -> 6;
        _ -> 3
    end.

%% Why nothing is traced now; 0: tracing is on.
gap(#s{tracing = #tracing{on = true}}) -> 0;
gap(#s{tracing = #tracing{paused = overload}}) -> 2;
gap(#s{tracing = #tracing{paused = lease}}) -> 3;
gap(_) -> 1.
