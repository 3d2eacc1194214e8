%% Tracing on and off: sets flags of the VM (kprof_tiers sets patterns), carries out what the breaker decides, and runs the
%% counters while it is open. Functions of the controller's process; each takes its state and returns the next one.
-module(kprof_tracing).
-export([
    all_told/1, begin_tracing/1, breaker/1, count_step/1, counting/1, counting_off/1, counting_told/1, flush/1, go_on_after_capture/1,
    go_on_after_lease/1, let_go/1, new_relay/1, overload/2, pause_for_capture/1, quiet/1, recount/1, relay_died/1, send_limits/1,
    slow_start_over/1, too_much/1, trace_off/1, trace_on/1, tracing/2, trip/2, walked/2, watch_flags/1
]).

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

-define(BREAKER_MS, 100).
-define(SLOW_START_MS, 100).
-define(FLUSH_MS, 3000).
-define(MOST_REFUSED, 4096). % left out; twice as many at most
-define(REFUSED_MS, 60000). % then processes of another tracer are tried again

%% ---- The relay ----

-spec new_relay(state()) -> state().
new_relay(#s{link = #link{pid = Pid}, counters = Counters} = S0) ->
    {Relay, Pacer} = kprof_relay:start(#{controller => self(), pid => Pid, counters => Counters, plan => #{}}),
    Session = kprof_spec:session(S0#s.isolated, kprof_controller, Relay),
    erlang:send_after(?ADJUST_MS, self(), {adjust, Relay}),
    S = S0#s{relay = Relay, pacer = Pacer, relay_ref = erlang:monitor(process, Relay), session = Session},
    kprof_stacks:watch(kprof_cleanup_plan:share(send_limits(kprof_limits:new_relay(S)))).

%% Everything was removed; kprof-top must switch tracing on again.
-spec relay_died(state()) -> state().
relay_died(#s{tracing = Tracing, breaker = B} = S) ->
    Off = Tracing#tracing{set = #{}, on = false, wanted = false, paused = none, walker = none}, % tokens: idle processes may still have one
    S#s{tracing = Off, part_time = #part_time{}, breaker = kprof_breaker:reset(B)}.

-spec send_limits(state()) -> state().
send_limits(#s{relay = none} = S) -> S;
send_limits(#s{relay = Relay, limits = #limits{max = #{max_age_ms := AgeMs, max_queue := Queue, max_memory := Memory, max_rate := Rate} = Limits}} = S) ->
    Relay ! {limits, erlang:convert_time_unit(AgeMs, millisecond, native), Queue, Memory, Rate, maps:get(max_blocked_ms, Limits)},
    S.

%% Sends everything traced so far. -> number of the last batch
-spec flush(state()) -> integer().
flush(#s{relay = none} = S) ->
    kprof_link:counter(?SEQ, S);
flush(S) ->
    delivered(S),
    sent(S).

%% The relay has received it, or is dead.
delivered(#s{session = Session, relay_ref = Down} = S) ->
    Ref = kprof_spec:delivered(Session),
    receive
        {trace_delivered, all, Ref} -> ok;
        {'DOWN', Down, _, _, _} = Died -> put_back(Died, S)
    after ?FLUSH_MS -> ok
    end.

sent(#s{relay = Relay, pacer = Pacer, relay_ref = Down} = S) ->
    Ref = make_ref(),
    Relay ! {flush, self(), Ref},
    Pacer ! kick,
    receive
        {flushed, Ref, Seq} -> Seq;
        {'DOWN', Down, _, _, _} = Died -> put_back(Died, S)
    after ?FLUSH_MS -> kprof_link:counter(?SEQ, S)
    end.

put_back(Message, S) ->
    self() ! Message,
    kprof_link:counter(?SEQ, S).

%% ---- On and off ----

-spec tracing(boolean(), state()) -> state().
tracing(On, #s{tracing = #tracing{wanted = On}} = S) -> S;
tracing(true, #s{tracing = #tracing{reconnected = true}, breaker = B} = S) ->
    %% The connection may have been lost because tracing overloaded the node.
    S1 = begin_tracing(step_later(S#s{tracing = S#s.tracing#tracing{reconnected = false, wanted = true, refused = #{}}, breaker = kprof_breaker:trying(kprof_node:now_ms(), B)})),
    kprof_link:event(half_open, kprof_text:format("after the lost connection, tracing begins with 1 request in ~b", [kprof_sampling:in_force(S1)]), S1),
    S1;
tracing(true, S0) ->
    S = counting_off(S0),
    begin_tracing(S#s{tracing = S#s.tracing#tracing{wanted = true, paused = none, refused = #{}}, breaker = kprof_breaker:reset(S#s.breaker)});
tracing(false, S0) ->
    S = trace_off(counting_off(S0)),
    S#s{tracing = S#s.tracing#tracing{wanted = false, paused = none}, breaker = kprof_breaker:reset(S#s.breaker)}.

%% With limits, the tiers are counted for a short time first, to find the affordable sampling.
-spec begin_tracing(state()) -> state().
begin_tracing(#s{tracing = #tracing{on = false, wanted = true, paused = none, specs = Specs}, limits = #limits{max = Limits}} = S0) when Specs =/= [] ->
    case maps:get(max_cost, Limits) + maps:get(max_rate, Limits) > 0 orelse kprof_limits:are_copies_limited(S0) of
        false ->
            trace_on(kprof_tiers:resample(S0));
        true ->
            kprof_heartbeat:send(slow_start_later(counting(with_relay(S0#s{tracing = S0#s.tracing#tracing{paused = slow_start}}))))
    end;
begin_tracing(S) ->
    trace_on(kprof_tiers:resample(S)).

%% Counting is over. The counts set the sampling and are not reported. If even unsampled calls cost too much, the breaker opens.
-spec slow_start_over(state()) -> state().
slow_start_over(#s{tracing = #tracing{paused = slow_start}, count = Count} = S) when Count =/= none ->
    case kprof_call_count:is_early(erlang:monotonic_time(), Count) of
        true -> slow_start_later(S);
        false -> slow_start_counted(S)
    end;
slow_start_over(#s{tracing = #tracing{paused = slow_start}} = S) ->
    slow_start_later(case kprof_link:is_silent(S) of true -> S; false -> counting(S) end);
slow_start_over(S) ->
    S.

%% When its counters may have counted for long enough; again if a new trace configuration has started them again meanwhile.
slow_start_later(#s{tracing = Tracing} = S) ->
    Timer = make_ref(),
    erlang:send_after(?SLOW_START_MS, self(), {slow_start, Timer}),
    S#s{tracing = Tracing#tracing{slow_start = Timer}}.

slow_start_counted(#s{count = Count0} = S0) ->
    {_, Count} = kprof_call_count:step(erlang:monotonic_time(), Count0),
    Affordable = kprof_limits:affordable(S0#s{count = Count}),
    kprof_call_count:stop(Count),
    S = kprof_cleanup_plan:share(S0#s{count = none, tracing = S0#s.tracing#tracing{count_timer = none, paused = none, slow_start = none}}),
    kprof_heartbeat:send(
        case Affordable of
            {ok, N} -> trace_on(kprof_tiers:resample(kprof_limits:begin_at(N, S)));
            {part, N} -> trace_part_time(N, S);
            {error, Text} -> stays_open(Text, S)
        end
    ).

%% This costs so little that the breaker can close without a try.
trace_part_time(N, #s{breaker = B} = S) ->
    Closed = S#s{breaker = kprof_breaker:closed(kprof_node:now_ms(), B)},
    kprof_part_time:begin_now(trace_on(kprof_tiers:resample(kprof_limits:begin_at(N, Closed)))).

-spec trace_on(state()) -> state().
trace_on(#s{tracing = #tracing{on = false, wanted = true, paused = none, trace_config = Config}} = S0) ->
    S1 = kprof_tiers:set_all(with_relay(S0)),
    kprof_tiers:cut(S1), % also if there are other agents on the node: the word may have the brake or a cut of an agent that paused
    S1#s.relay ! {gate, open},
    kprof_tiers:weigh(S1),
    S1#s.pacer ! kick,
    Tracing = #tracing{tokens = Tokens} = S1#s.tracing,
    walk_on(S1#s{tracing = Tracing#tracing{on = true, tokens = Tokens orelse maps:get(entry, Config) =/= none}});
trace_on(S) ->
    S.

%% For a capture (below OTP 27, where there is one trace) and for a full trace: the tiers pause.
-spec pause_for_capture(state()) -> state().
pause_for_capture(#s{tracing = #tracing{paused = Before}} = S0) ->
    IsPart = kprof_part_time:is_on(S0),
    S = trace_off(counting_off(S0)),
    S#s{tracing = S#s.tracing#tracing{paused = capture, slow_start = if Before =:= slow_start; IsPart -> interrupted; true -> none end}}.

-spec go_on_after_lease(state()) -> state().
go_on_after_lease(#s{tracing = Tracing} = S) -> kprof_heartbeat:send(begin_tracing(S#s{tracing = Tracing#tracing{paused = none}})).

%% With a slow start if there was none before, if tracing was on for a part of the time, or if the full trace ended because it
%% hurt (too_much/1); while kprof-top is silent, nothing begins.
-spec go_on_after_capture(state()) -> state().
go_on_after_capture(#s{tracing = #tracing{paused = capture, wanted = Wanted, slow_start = Interrupted} = Tracing} = S) ->
    case Wanted andalso kprof_link:is_silent(S) of
        true -> kprof_heartbeat:send(S#s{tracing = Tracing#tracing{paused = lease}});
        false when Interrupted =:= interrupted -> go_on_after_lease(S);
        false -> trace_on(kprof_tiers:resample(S#s{tracing = Tracing#tracing{paused = none}}))
    end;
go_on_after_capture(S) ->
    S.

%% What the tiers pause for is ended because of the node's load.
-spec too_much(state()) -> state().
too_much(#s{tracing = #tracing{paused = capture} = Tracing} = S) -> S#s{tracing = Tracing#tracing{slow_start = interrupted}};
too_much(S) -> S.

with_relay(#s{relay = none} = S) -> new_relay(S);
with_relay(S) -> S.

%% Removes the patterns, so that nothing more is traced. Messages that wait are sent; then the flags are removed. If tracing is
%% already off (breaker, lease), kprof-top still gets its {kx,_}.
-spec trace_off(state()) -> state().
trace_off(#s{tracing = #tracing{on = true}} = S) ->
    walk_off(quiet(S));
trace_off(#s{relay = none} = S) ->
    S;
trace_off(S) ->
    S#s.relay ! off,
    S#s.pacer ! kick,
    S.

%% Removes the patterns; what they have caused is sent.
-spec quiet(state()) -> state().
quiet(#s{tracing = #tracing{on = true}} = S0) ->
    S = kprof_tiers:clear_all(kprof_tier_rates:stop(S0)),
    flush(S),
    S#s.relay =/= none andalso (S#s.relay ! off),
    S#s.relay =/= none andalso flush(S),
    S#s{tracing = S#s.tracing#tracing{on = false}};
quiet(S) ->
    S.

%% Before the agent ends: sends what was traced, including what waits for the connection, which can take 2 * ?FLUSH_MS. Patterns
%% stay: kprof_cleanup uses them to clear tokens. Where they are set for a part of the time, because they cost much, they do not.
-spec all_told(state()) -> state().
all_told(#s{tracing = #tracing{on = true}} = S0) ->
    S = kprof_part_time:end_now(kprof_tier_rates:stop(S0)),
    flush(S),
    S;
all_told(S) ->
    flush(S),
    S.

%% The lease has expired. kprof-top may not be reading, so nothing here may block on the connection.
-spec let_go(state()) -> state().
let_go(S0) ->
    S = kprof_tiers:clear_all(kprof_tier_rates:stop(S0)),
    delivered(S),
    S#s.relay ! off,
    walk_off(kprof_heartbeat:send(S#s{tracing = S#s.tracing#tracing{on = false, paused = lease}})).

%% ---- Flags of processes: a separate process sets and clears them, one after the other ----

%% Below OTP 27 the VM logs an error for each process of another tracer, whether flags are set or cleared: the walks leave out those
%% that are known, for a while.
walk_on(#s{tracing = #tracing{trace_config = Config}} = S0) ->
    S = #s{tracing = #tracing{refused = Refused}} = refused_again(S0),
    Flags =
        case maps:get(returns, Config) of
            lean -> {[call, arity, monotonic_timestamp, return_to], []};
            full -> {[call, arity, monotonic_timestamp], [return_to]}
        end,
    walk(fun(Own) -> kprof_flags:start(Own, Flags, S#s.spawn_flags, Refused#{self() => true, S#s.relay => true, S#s.pacer => true, S#s.guardian => true}) end, S).

refused_again(#s{tracing = #tracing{refused = Refused, refused_ms = Since} = T} = S) ->
    Now = kprof_node:now_ms(),
    case map_size(Refused) =:= 0 orelse Now - Since > ?REFUSED_MS of
        true -> S#s{tracing = T#tracing{refused = #{}, refused_ms = Now}};
        false -> S
    end.

walk_off(#s{relay = none} = S) -> kprof_vm_events:gate(S);
walk_off(S0) ->
    S = kprof_vm_events:gate(S0),
    walk(fun(Own) -> kprof_flags:start_off(Own, S#s.spawn_flags, S#s.tracing#tracing.refused) end, S).

%% The walker is in the cleanup plan before it sets anything.
walk(Start, #s{session = Session, relay = Relay, tracing = #tracing{walker = Before}} = S0) ->
    kprof_flags:stop(Before),
    case Start({Session, Relay}) of
        Walker when is_pid(Walker) ->
            S = kprof_cleanup_plan:share(S0#s{tracing = S0#s.tracing#tracing{walker = Walker, flagged = false}}),
            kprof_flags:go(Walker),
            S;
        Work ->
            S = kprof_cleanup_plan:share(S0#s{tracing = S0#s.tracing#tracing{walker = none, flagged = false}}),
            walked(kprof_flags:here(Work), S)
    end.

-spec walked(kprof_flags:refused(), state()) -> state().
walked({0, _}, S) -> S#s{tracing = S#s.tracing#tracing{walker = none}};
walked({N, Pids}, #s{tracing = #tracing{refused = Before} = T} = S) ->
    Text = "processes with another tracer, whose calls are not traced: ~b",
    kprof_link:event(others, kprof_text:format(Text, [N]), S),
    Refused = if map_size(Before) < ?MOST_REFUSED -> maps:merge(Before, Pids); true -> Before end,
    S#s{tracing = T#tracing{walker = none, refused = Refused}}.

%% Before OTP 27, another program can remove the flags of all processes. The process `init`, which always exists, shows this.
-spec watch_flags(state()) -> state().
watch_flags(#s{session = none, relay = Relay, tracing = #tracing{on = true, walker = none, flagged = Flagged} = T} = S) ->
    case kprof_node:tracer_of(whereis(init)) =:= Relay of
        Flagged ->
            S;
        true ->
            S#s{tracing = T#tracing{flagged = true}};
        false ->
            kprof_link:event(others, <<"another program removed the trace flags: they are set again; calls in between are missing">>, S),
            walk_on(S#s{tracing = T#tracing{refused = #{}}})
    end;
watch_flags(S) ->
    S.

%% ---- The breaker ----

%% Opens the breaker, but not because of old events that the relay finds after tracing was switched off.
-spec overload(binary(), state()) -> state().
overload(_, #s{tracing = #tracing{on = false}} = S) ->
    S;
overload(Text, #s{breaker = B0} = S0) ->
    kprof_tiers:brake(S0),
    S1 = kprof_tiers:clear_all(kprof_tier_rates:stop(S0)),
    B = kprof_breaker:trip(kprof_node:now_ms(), B0),
    NextS = (kprof_breaker:next_ms(kprof_node:now_ms(), B) + 999) div 1000,
    S = kprof_link:event_kept(overload, kprof_text:format("breaker open: ~ts; next try in ~b s", [Text, NextS]), S1),
    S#s.relay ! off,
    counting(walk_off(kprof_heartbeat:send(step_later(opened(S#s{tracing = S#s.tracing#tracing{on = false, paused = overload}, breaker = B}))))).

%% A reason of the controller, or of kprof-top.
-spec trip(binary(), state()) -> state().
trip(_, #s{tracing = #tracing{on = false}} = S) -> S;
trip(Text, S) ->
    S#s.relay ! {gate, shut},
    overload(Text, S).

%% Sampling cannot help: the breaker opens and stays open until the counters show that tracing is affordable. Reported once.
stays_open(Text, #s{breaker = B0} = S) ->
    B = kprof_breaker:trip(kprof_node:now_ms(), B0),
    Told = kprof_link:event_kept(overload, kprof_text:format("breaker open: ~ts", [Text]), S),
    counting(kprof_heartbeat:send(step_later(opened(Told#s{tracing = Told#s.tracing#tracing{on = false, paused = overload}, breaker = B})))).

%% What else ends, or pauses.
opened(S) ->
    kprof_stacks:gate(S),
    kprof_full:cancel(breaker, S).

%% While tracing is paused because the lease has ended, or for a capture, the breaker does not advance. It stays open until the
%% counters show what a try costs: they are off while kprof-top is silent, and start again with a new trace configuration.
-spec breaker(state()) -> state().
breaker(#s{breaker = B0, tracing = #tracing{paused = Paused, on = On}} = S) ->
    Now = kprof_node:now_ms(),
    case kprof_link:is_silent(S) orelse not (On orelse Paused =:= overload) of
        true ->
            step_later(S#s{breaker = kprof_breaker:wait(Now, B0)});
        false ->
            case Paused =:= overload andalso is_uncounted(S) of
                true ->
                    step_later(counting(S));
                false ->
                    {What, B} = kprof_breaker:tick(Now, B0),
                    stepped(What, step_later(S#s{breaker = B}), S)
            end
    end.

is_uncounted(#s{count = none}) -> true;
is_uncounted(#s{count = Count}) -> kprof_call_count:is_early(erlang:monotonic_time(), Count).

%% At most one timer is set.
step_later(#s{breaker = B} = S) ->
    case kprof_breaker:state(B) =:= closed andalso kprof_breaker:factor(B) =:= 1 of
        true ->
            S#s{tracing = S#s.tracing#tracing{breaker_timer = none}};
        false ->
            Timer = make_ref(),
            erlang:send_after(?BREAKER_MS, self(), {breaker, Timer}),
            S#s{tracing = S#s.tracing#tracing{breaker_timer = Timer}}
    end.

stepped(none, S, _) -> S;
stepped(trying, #s{tracing = #tracing{paused = overload}} = S0, #s{breaker = Open}) ->
    S = latest_counts(S0),
    %% If the counters show that the try cannot succeed, it is skipped.
    case kprof_limits:affordable(S) of
        {ok, N} ->
            Off = counting_off(S),
            S1 = trace_on(kprof_tiers:resample(kprof_limits:begin_at(N, Off#s{tracing = Off#s.tracing#tracing{paused = none}}))),
            kprof_link:event(half_open, kprof_text:format("breaker half open: tracing 1 request in ~b", [kprof_sampling:in_force(S1)]), S1),
            kprof_heartbeat:send(S1);
        {part, N} ->
            Off = counting_off(S),
            S1 = trace_part_time(N, Off#s{tracing = Off#s.tracing#tracing{paused = none}}),
            kprof_link:event(closed, <<"breaker closed: tracing is on for a part of the time">>, S1),
            kprof_heartbeat:send(S1);
        {error, _} ->
            S0#s{breaker = kprof_breaker:later(kprof_node:now_ms(), Open)}
    end;
stepped(closed, S, _) ->
    kprof_link:event(closed, kprof_text:format("breaker closed: sampling increases in steps", []), S),
    kprof_heartbeat:send(kprof_tiers:resample(S));
stepped(_, S, _) ->
    kprof_tiers:resample(S).

%% ---- While it is open, and before tracing begins: counters ----

-spec counting(state()) -> state().
counting(#s{count = none, tracing = #tracing{paused = Paused, specs = Specs}, session = Session, relay = Relay} = S0) when
    Relay =/= none, Paused =:= overload orelse Paused =:= slow_start
->
    Vm = kprof_hazard:vm(),
    Counted = [{Ix, MFA} || {Ix, MFA, _} <- Specs, kprof_patterns:held(MFA, Vm) =:= none],
    Count = kprof_call_count:new(Session, Counted, kprof_cost:count_ns(S0#s.cost), erlang:monotonic_time()),
    count_step(kprof_cleanup_plan:share(S0#s{count = Count}));
counting(S) ->
    S.

-spec counting_off(state()) -> state().
counting_off(#s{count = none} = S) -> S;
counting_off(#s{count = Count} = S0) ->
    S = counting_told(S0#s{count = kprof_call_count:stop(Count)}),
    kprof_cleanup_plan:share(S#s{count = none, tracing = S#s.tracing#tracing{count_timer = none}}).

%% Starts the counters again after a change of the trace configuration.
-spec recount(state()) -> state().
recount(#s{count = none} = S) -> S;
recount(S) -> counting(counting_off(S)).

-spec count_step(state()) -> state().
count_step(S0) ->
    S = #s{count = Count0} = joined(S0),
    {Ms, Count} = kprof_call_count:step(erlang:monotonic_time(), Count0),
    Timer = make_ref(),
    erlang:send_after(Ms, self(), {count, Timer}),
    S#s{count = Count, tracing = S#s.tracing#tracing{count_timer = Timer}}.

joined(#s{count = Count} = S) ->
    case kprof_call_count:joined(erlang:monotonic_time(), Count) of
        none -> S;
        More -> kprof_cleanup_plan:share(S#s{count = More})
    end.

%% Of the time up to now: rates change quickly, and few calls are made in the counters' first 40 ms if the machine is busy.
latest_counts(#s{count = none} = S) -> S;
latest_counts(#s{count = Count} = S) -> S#s{count = kprof_call_count:latest(erlang:monotonic_time(), Count)}.

-spec counting_told(state()) -> state().
counting_told(#s{count = none} = S) -> S;
counting_told(#s{tracing = #tracing{paused = slow_start}} = S) -> S;
counting_told(#s{count = Count0} = S) ->
    Now = erlang:monotonic_time(),
    {{Since, Due}, Count} = kprof_call_count:due(Now, Count0),
    kprof_link:send({kc, Since, Now, [T || {Ix, _} = T <- Due, is_integer(Ix)]}, S),
    S#s{count = Count}.
