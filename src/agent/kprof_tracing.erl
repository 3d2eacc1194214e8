%% Tracing on and off: sets the trace configuration as patterns and flags of the VM, carries out what the breaker decides, and
%% runs the counters while it is open. Functions of the controller's process; each takes its state and returns the next one.
-module(kprof_tracing).
-export([
    all_the_time/1, all_told/1, begin_tracing/1, beside/1, breaker/1, config/2, count_step/1, counting/1, counting_off/1, counting_told/1, flush/1,
    go_on_after_capture/1, go_on_after_lease/1, let_go/1, new_relay/1, overload/2, pause_for_capture/1, recount/1, recut/1, relay_died/1,
    resample/1, sample/2, send_limits/1, session_ended/1, slow_start_over/1, trace_off/1, trace_on/1, tracing/2, trip/2, walked/2, watch_flags/1, watch_reloads/1, weigh/1
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
    case maps:get(max_cost, Limits) + maps:get(max_rate, Limits) of
        0 ->
            trace_on(resample(S0));
        _ ->
            kprof_heartbeat:send(slow_start_later(counting(with_relay(S0#s{tracing = S0#s.tracing#tracing{paused = slow_start}}))))
    end;
begin_tracing(S) ->
    trace_on(resample(S)).

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
            {ok, N} -> trace_on(resample(kprof_limits:begin_at(N, S)));
            {part, N} -> trace_part_time(N, S);
            {error, Text} -> stays_open(Text, S)
        end
    ).

%% This costs so little that the breaker can close without a try.
trace_part_time(N, #s{breaker = B} = S) ->
    Closed = S#s{breaker = kprof_breaker:closed(kprof_node:now_ms(), B)},
    kprof_part_time:begin_now(trace_on(resample(kprof_limits:begin_at(N, Closed)))).

-spec trace_on(state()) -> state().
trace_on(#s{tracing = #tracing{on = false, wanted = true, paused = none, trace_config = Config}} = S0) ->
    S1 = set_all(with_relay(S0)),
    kprof_spec:cut(kprof_sampling:cut(S1)), % also if there are other agents on the node: the word may have the brake or a cut of an agent that paused
    S1#s.relay ! {gate, open},
    weigh(S1),
    S1#s.pacer ! kick,
    Tracing = #tracing{tokens = Tokens} = S1#s.tracing,
    walk_on(S1#s{tracing = Tracing#tracing{on = true, tokens = Tokens orelse maps:get(entry, Config) =/= none}});
trace_on(S) ->
    S.

%% For a capture (below OTP 27, where there is one trace) and for a full trace: the tiers pause.
-spec pause_for_capture(state()) -> state().
pause_for_capture(#s{tracing = #tracing{paused = Before}} = S0) ->
    S = trace_off(counting_off(S0)),
    S#s{tracing = S#s.tracing#tracing{paused = capture, slow_start = if Before =:= slow_start -> interrupted; true -> none end}}.

-spec go_on_after_lease(state()) -> state().
go_on_after_lease(#s{tracing = Tracing} = S) -> kprof_heartbeat:send(begin_tracing(S#s{tracing = Tracing#tracing{paused = none}})).

-spec go_on_after_capture(state()) -> state().
go_on_after_capture(#s{tracing = #tracing{paused = capture, slow_start = interrupted}} = S) -> go_on_after_lease(S);
go_on_after_capture(#s{tracing = #tracing{paused = capture}} = S) -> trace_on(resample(S#s{tracing = S#s.tracing#tracing{paused = none}}));
go_on_after_capture(S) -> S.

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

quiet(#s{tracing = #tracing{on = true}} = S0) ->
    S = clear_all(kprof_tier_rates:stop(S0)),
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
    S = clear_all(kprof_tier_rates:stop(S0)),
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
    brake(S0),
    S1 = clear_all(kprof_tier_rates:stop(S0)),
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

%% While tracing is paused because the lease has ended, or for a capture, the breaker does not advance.
-spec breaker(state()) -> state().
breaker(#s{breaker = B0, tracing = #tracing{paused = Paused, on = On}} = S) ->
    Now = kprof_node:now_ms(),
    case kprof_link:is_silent(S) orelse not (On orelse Paused =:= overload) of
        true ->
            step_later(S#s{breaker = kprof_breaker:wait(Now, B0)});
        false ->
            {What, B} = kprof_breaker:tick(Now, B0),
            stepped(What, step_later(S#s{breaker = B}), S)
    end.

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
            S1 = trace_on(resample(kprof_limits:begin_at(N, Off#s{tracing = Off#s.tracing#tracing{paused = none}}))),
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
    kprof_heartbeat:send(resample(S));
stepped(_, S, _) ->
    resample(S).

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
count_step(#s{count = Count0} = S) ->
    {Ms, Count} = kprof_call_count:step(erlang:monotonic_time(), Count0),
    Timer = make_ref(),
    erlang:send_after(Ms, self(), {count, Timer}),
    S#s{count = Count, tracing = S#s.tracing#tracing{count_timer = Timer}}.

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

%% ---- The trace configuration ----

-spec config(map(), state()) -> {{ok, [{kprof_spec:ix(), 0 | 1, binary()}]} | {error, hazard | identity, binary()}, state()}.
config(Config0, #s{tracing = #tracing{trace_config = Old}} = S) ->
    Config1 = maps:merge(maps:remove(rules, Old), maps:with([tiers, entry, identity, returns, sample, args, detail, mailbox], Config0)),
    Config2 = Config1#{
        tiers := [{Ix, kprof_code:to_atom(M), kprof_code:to_atom(F), A} || {Ix, M, F, A} <- maps:get(tiers, Config1)],
        sample := max(1, min(1000000, maps:get(sample, Config1))),
        detail := max(0, min(1000000, maps:get(detail, Config1)))
    },
    Config = Config2#{rules => rules(Config2, Old)}, % once: sampling changes often
    Vm = kprof_hazard:vm(),
    case compiled(Config, Vm, S) of
        {ok, Specs, Notes} ->
            Changed = maps:get(identity, Config) =/= maps:get(identity, Old),
            [kprof_link:event(identity, N, S) || N <- Notes, Changed],
            {Taken, S1} = apply_config(Config, Specs, S),
            {{ok, [kprof_patterns:matched(T, Specs, Taken) || T <- maps:get(tiers, Config)]}, S1};
        {held, Why} ->
            {{error, hazard, Why}, S};
        {error, Why} ->
            {{error, identity, Why}, S}
    end.

rules(#{tiers := Tiers, entry := Entry, identity := Rule}, #{tiers := Tiers, entry := Entry, identity := Rule, rules := Rules}) -> Rules;
rules(Config, _) -> kprof_match_spec:rules(Config).

%% A configuration that is not supported on this VM is refused (kprof_hazard).
compiled(#{returns := Returns} = Config, Vm, S) ->
    case Returns =:= lean andalso not kprof_hazard:allowed(lean_beside, Vm) of
        true -> {held, kprof_hazard_text:reason(lean_beside, Vm)};
        false -> patterns(Config, S#s{tracing = S#s.tracing#tracing{trace_config = Config}})
    end.

patterns(Config, S) -> kprof_match_spec:compile((kprof_limits:with_detail(Config, S))#{epoch => S#s.epoch, sample := kprof_sampling:of_patterns(S)}).

%% -> {The functions that are left to other tracers, S}
apply_config(Config, Specs, #s{tracing = #tracing{trace_config = Old, on = On}} = S) ->
    Returns = maps:get(returns, Config) =/= maps:get(returns, Old),
    S1 =
        case On andalso Returns of
            true -> quiet(S);
            false -> S
        end,
    %% What is set already is replaced: to remove it now is what harms others.
    New = [Spec || {_, MFA, _} = Spec <- Specs, not is_map_key(MFA, S1#s.tracing#tracing.set)],
    Taken = kprof_patterns:held_back(New, kprof_hazard:vm()) ++ kprof_patterns:taken(S1#s.session, Specs, S1#s.tracing#tracing.set),
    Ours = [Spec || {Ix, _, _} = Spec <- Specs, not lists:keymember(Ix, 1, Taken)],
    S2 = S1#s{tracing = S1#s.tracing#tracing{trace_config = Config, specs = Ours}},
    On andalso unlimited(S2), % a limit belongs to the patterns
    S3 = if On -> set_all(S2); true -> S2 end,
    S3#s.relay =/= none andalso weigh(S3),
    On andalso not S3#s.beside andalso kprof_spec:cut(kprof_sampling:cut(S3)),
    Tracing = #tracing{tokens = Tokens} = S3#s.tracing,
    S4 = if On andalso Returns -> trace_on(S3); true -> S3#s{tracing = Tracing#tracing{tokens = Tokens orelse (On andalso maps:get(entry, Config) =/= none)}} end,
    {Taken, S4}.

-spec sample(pos_integer(), state()) -> state().
sample(N, #s{tracing = #tracing{trace_config = Config} = Tracing} = S) ->
    resample(S#s{tracing = Tracing#tracing{trace_config = Config#{sample := min(N, 1000000)}}}).

-spec resample(state()) -> state().
resample(#s{tracing = #tracing{trace_config = Config}} = S) ->
    case patterns(Config, S) of
        {ok, Specs, _} ->
            {Taken, S1} = apply_config(Config, Specs, S),
            [kprof_link:event(others, kprof_text:format("another tracer traces ~ts now: it is not traced here", [kprof_text:mfa(M, F, A)]), S1)
             || {_, {M, F, A} = MFA, _} <- Taken, lists:keymember(MFA, 2, S#s.tracing#tracing.specs)],
            S1;
        _ ->
            S
    end.

%% Applies the sampling that the limits require: at once, by the control word alone if no other agent uses it.
-spec recut(state()) -> state().
recut(#s{tracing = #tracing{on = true}, beside = false} = S) ->
    kprof_spec:cut(kprof_sampling:cut(S)),
    weigh(S),
    S;
recut(#s{beside = true} = S) ->
    resample(S);
recut(S) ->
    S.

%% Another agent has attached to the node, or the last other one has ended: they share the control word.
-spec beside(state()) -> state().
beside(#s{beside = Before} = S0) ->
    case kprof_node:agents() of
        Before ->
            S0;
        Now ->
            S = kprof_cleanup_plan:share(S0#s{beside = Now}),
            S#s.relay =/= none andalso weigh(S), % an agent that is not alone has no limit in the control word
            Now andalso kprof_spec:cut(0),
            if S#s.tracing#tracing.on -> resample(S); true -> S end
    end.

%% Tracing was on for a part of the time.
-spec all_the_time(state()) -> state().
all_the_time(S0) ->
    S = set_all(S0),
    weigh(S),
    kprof_spec:cut(kprof_sampling:cut(S)),
    S.

%% Sets the weight of the events from now on.
-spec weigh(state()) -> term().
weigh(#s{relay = Relay} = S) ->
    N = kprof_sampling:in_force(S),
    Relay ! {weight, N, erlang:monotonic_time()},
    sampling(kprof_limits:block(S), S).

%% For the pacer.
sampling(Block, #s{pacer = Pacer} = S) -> Pacer ! {sample, kprof_sampling:momentary(S), kprof_limits:twice_calls_of_request(S), Block}.

unlimited(S) ->
    sampling(none, S),
    Word = erlang:system_info(trace_control_word),
    S#s.beside orelse kprof_spec:held(Word) orelse kprof_spec:allow(none, Word).

%% Stops all tracing by the control word (the brake), whatever patterns are set.
brake(#s{beside = false}) -> kprof_spec:cut(brake);
brake(_) -> false.

%% Sets the patterns that differ.
set_all(S0) ->
    #s{tracing = #tracing{specs = Specs, set = Set0, trace_config = Config}, session = Session, relay = Relay} = S = kprof_part_time:forget(S0),
    Details = kprof_limits:detail_flags(Config, S),
    Details =/= [] andalso (Relay ! {detail, Details}), % before the first event of them
    {Set, Failed} = kprof_patterns:set(Session, Specs, Set0, fun(Coming) -> kprof_cleanup_plan:share(S#s{tracing = S#s.tracing#tracing{set = Coming}}) end),
    Details =:= [] andalso (Relay ! {detail, []}),
    [kprof_link:event(pattern, kprof_text:format("cannot trace ~ts: ~0tP", [kprof_text:mfa(M, F, A), Why, 12]), S) || {{M, F, A}, Why} <- Failed],
    kprof_cleanup_plan:share(S#s{tracing = S#s.tracing#tracing{set = Set}}).

clear_all(#s{session = Session} = S0) ->
    kprof_patterns:clear(Session, kprof_part_time:own(S0)),
    S = kprof_part_time:forget(S0),
    kprof_cleanup_plan:share(S#s{tracing = S#s.tracing#tracing{set = #{}}}).

%% A reloaded module has lost its patterns. If there are none (the breaker is open, tracing is off), or a pattern was set since,
%% the version of the module shows the reload.
-spec watch_reloads(state()) -> state().
watch_reloads(#s{tracing = #tracing{versions = Before}} = S0) ->
    Versions = maps:merge(Before, kprof_patterns:versions(S0#s.tracing#tracing.specs)),
    Other = [M || {M, V} <- maps:to_list(Versions), maps:get(M, Before, V) =/= V],
    {Lost, S} = put_again(S0#s{tracing = S0#s.tracing#tracing{versions = Versions}}),
    Marks = lists:usort([M || {M, _, _} <- Lost] ++ Other),
    [kprof_link:event(reload, kprof_text:format("~ts was loaded", [shown(M)]), S) || M <- Marks, not lists:keymember(M, 1, Lost)],
    lists:foldl(fun(M, Acc) -> kprof_link:event_kept(mark, kprof_text:format("~ts", [shown(M)]), Acc) end, S, Marks).

%% -> {Functions that had lost their pattern, S}
put_again(#s{part_time = #part_time{phase = Phase}} = S) when Phase =/= off ->
    {[], S}; % each cycle sets the patterns
put_again(#s{tracing = #tracing{on = true}} = S0) ->
    #s{tracing = #tracing{set = Set, specs = Specs}, session = Session} = S = sound_again(S0),
    Lost = kprof_patterns:lost(Session, Set),
    case Lost ++ kprof_patterns:missing(Specs, Set) of
        [] ->
            {[], S};
        All ->
            S1 = set_all(S#s{tracing = S#s.tracing#tracing{set = maps:without(Lost, Set)}}),
            [kprof_link:event(reload, kprof_text:format("~ts was loaded: ~ts", [kprof_text:mfa(M, F, A), again(maps:is_key(MFA, S1#s.tracing#tracing.set))]), S) || {M, F, A} = MFA <- All],
            {Lost, S1}
    end;
put_again(S) ->
    {[], S}.

%% A built-in function whose pattern is off is traced again as soon as its pattern is set once more.
sound_again(#s{tracing = #tracing{set = Set, sessions = Before} = Tracing} = S0) ->
    {Sessions, Silent} = kprof_patterns:silent(Set, Before, S0#s.vm),
    S = S0#s{tracing = Tracing#tracing{sessions = Sessions}},
    case Silent of
        [] -> S;
        _ -> set_all(S#s{tracing = S#s.tracing#tracing{set = maps:without(Silent, Set)}})
    end.

%% One of the agent, which may have begun after sessions were last read.
-spec session_ended(state()) -> state().
session_ended(#s{tracing = #tracing{sessions = Sessions} = Tracing} = S) -> S#s{tracing = Tracing#tracing{sessions = [ended | Sessions]}}.

shown(M) -> kprof_text:shown(atom_to_list(M)).

again(true) -> "it is traced again";
again(false) -> "this function no longer exists".
