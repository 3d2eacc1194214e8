%% Tracing on and off: the wish as patterns and flags of the VM, what the breaker does with them, and the counters while it
%% is open. Functions of the keeper's process; each takes its state and gives the next one.
-module(kprof_switch_00).
-export([all_told/1, begin_tracing/1, beside/1, breaker/1, config/2, count_step/1, counting/1, counting_off/1, counting_told/1, flush/1, let_go/1, looked/1, new_relay/1, overload/2, recount/1, resample/1, resteer/1, send_limits/1, trace_off/1, trace_on/1, tracing/2, trip/2, walked/2, watch_reloads/1]).

-include("kprof_keeper.hrl").

-define(BREAKER_MS, 100).
-define(LOOK_MS, 100).
-define(FLUSH_MS, 3000).

%% ---- The relay ----

new_relay(#s{pid = Pid, counters = Counters} = S0) ->
    {Relay, Pacer} = kprof_relay_00:start(#{keeper => self(), pid => Pid, counters => Counters, undo => #{}}),
    Session = kprof_spec_00:session(S0#s.isolated, kprof_keeper_00, Relay),
    erlang:send_after(?STEER_MS, self(), {steer, Relay}),
    S = S0#s{relay = Relay, pacer = Pacer, relay_ref = erlang:monitor(process, Relay), session = Session, steer_at = undefined},
    kprof_state_00:share(send_limits(S)).

send_limits(#s{relay = none} = S) -> S;
send_limits(#s{relay = Relay, limits = #{max_age_ms := AgeMs, max_queue := Queue, max_memory := Memory, max_rate := Rate} = Limits} = S) ->
    Relay ! {limits, erlang:convert_time_unit(AgeMs, millisecond, native), Queue, Memory, Rate, maps:get(max_blocked_ms, Limits)},
    S.

%% Everything traced so far is sent on. -> the last batch's number
flush(#s{relay = none} = S) ->
    kprof_state_00:counter(1, S);
flush(S) ->
    delivered(S),
    sent(S).

%% It is at the relay, or the relay is dead.
delivered(#s{session = Session, relay_ref = Down} = S) ->
    Ref = kprof_spec_00:delivered(Session),
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
    after ?FLUSH_MS -> kprof_state_00:counter(1, S)
    end.

put_back(Message, S) ->
    self() ! Message,
    kprof_state_00:counter(1, S).

%% ---- On and off ----

tracing(On, #s{tracing = On} = S) -> S;
tracing(true, #s{again = true, breaker = B} = S) ->
    %% A connection that broke may have been the node's trouble with us.
    S1 = begin_tracing(step_later(S#s{again = false, tracing = true, breaker = kprof_breaker_00:probe(kprof_state_00:now_ms(), B)})),
    kprof_state_00:event(half_open, kprof_look_00:bin("the connection was lost before: tracing begins with 1 request in ~b", [kprof_state_00:sample_now(S1)]), S1),
    S1;
tracing(true, S0) ->
    S = counting_off(S0),
    begin_tracing(S#s{tracing = true, paused = none, breaker = kprof_breaker_00:reset(S#s.breaker)});
tracing(false, S) -> (trace_off(counting_off(S)))#s{tracing = false, paused = none, breaker = kprof_breaker_00:reset(S#s.breaker)}.

%% With limits, a short look at the counters of the tiers goes before: how much the node can bear is known then.
begin_tracing(#s{on = false, tracing = true, paused = none, limits = Limits, specs = Specs} = S0) when Specs =/= [] ->
    case maps:get(max_cost, Limits) + maps:get(max_rate, Limits) of
        0 ->
            trace_on(resample(S0));
        _ ->
            Timer = make_ref(),
            S = counting(with_relay(S0#s{paused = look})),
            erlang:send_after(?LOOK_MS, self(), {looked, Timer}),
            kprof_state_00:heartbeat(S#s{look = Timer})
    end;
begin_tracing(S) ->
    trace_on(resample(S)).

%% The look is over: what was counted says how far to sample, and is told to nobody. Where even calls that are not sampled cost
%% too much, the breaker opens.
looked(#s{paused = look, count = Count0} = S0) when Count0 =/= none ->
    {_, Count} = kprof_count_00:step(erlang:monotonic_time(), Count0),
    Affordable = kprof_limits_00:affordable(S0#s{count = Count}),
    kprof_count_00:stop(Count),
    S = kprof_state_00:share(S0#s{count = none, count_timer = none, paused = none, look = none}),
    kprof_state_00:heartbeat(case Affordable of {ok, N} -> trace_on(resample(steered(N, S))); {error, Text} -> stays_open(Text, S) end);
looked(#s{paused = look} = S) ->
    kprof_state_00:heartbeat(trace_on(S#s{paused = none, look = none}));
looked(S) ->
    S.

steered(N, S) -> S#s{steered = N, why = if N > 1 -> cost; true -> none end}.

trace_on(#s{on = false, tracing = true, paused = none, wish = Wish} = S0) ->
    S1 = set_all(with_relay(S0)),
    S1#s.beside orelse kprof_spec_00:cut(kprof_state_00:cut(S1)),
    S1#s.relay ! {gate, open},
    weigh(S1),
    S1#s.pacer ! kick,
    walk_on(S1#s{on = true, tokens = S1#s.tokens orelse maps:get(entry, Wish) =/= none});
trace_on(S) ->
    S.

with_relay(#s{relay = none} = S) -> new_relay(S);
with_relay(S) -> S.

%% Patterns off: from then on nothing is traced. What was traced is sent; flags go after. Off already (breaker, lease):
%% kprof-top still gets its {kx,_}.
trace_off(#s{on = true} = S) ->
    walk_off(quiet(S));
trace_off(#s{relay = none} = S) ->
    S;
trace_off(S) ->
    S#s.relay ! off,
    S#s.pacer ! kick,
    S.

quiet(#s{on = true} = S0) ->
    S = clear_all(kprof_rate_00:stop(S0)),
    flush(S),
    S#s.relay =/= none andalso (S#s.relay ! off),
    S#s.relay =/= none andalso flush(S),
    S#s{on = false};
quiet(S) ->
    S.

%% Before we leave: what was traced, and waits for the link, too. Patterns stay: the end has use for them.
all_told(#s{on = true} = S0) ->
    S = kprof_rate_00:stop(S0),
    flush(S),
    S;
all_told(S) ->
    flush(S),
    S.

%% The lease is over. Nobody may be reading: nothing here waits for the link.
let_go(S0) ->
    S = clear_all(kprof_rate_00:stop(S0)),
    delivered(S),
    S#s.relay ! off,
    walk_off(kprof_state_00:heartbeat(S#s{on = false, paused = lease})).

%% ---- Flags of processes: set and taken off by a process of its own, one after the other ----

walk_on(#s{wish = Wish} = S) ->
    Flags =
        case maps:get(returns, Wish) of
            lean -> {[call, arity, monotonic_timestamp, return_to], []};
            full -> {[call, arity, monotonic_timestamp], [return_to]}
        end,
    walk(fun(Own) -> kprof_flags_00:start(Own, Flags, S#s.spawn_flags, [self(), S#s.relay, S#s.pacer, S#s.warden]) end, S).

walk_off(#s{relay = none} = S) -> S;
walk_off(S) -> walk(fun(Own) -> kprof_flags_00:start_off(Own, S#s.spawn_flags) end, S).

%% Known to who undoes things before it sets anything.
walk(Start, #s{session = Session, relay = Relay, walker = Before} = S0) ->
    kprof_flags_00:stop(Before),
    Walker = Start({Session, Relay}),
    S = kprof_state_00:share(S0#s{walker = Walker}),
    kprof_flags_00:go(Walker),
    S.

walked(0, S) -> S#s{walker = none};
walked(Refused, S) ->
    Text = "~b processes have another tracer: their calls are not seen",
    kprof_state_00:event(others, kprof_look_00:bin(Text, [Refused]), S),
    S#s{walker = none}.

%% ---- The breaker ----

%% The relay has taken the patterns off already. What it found old after tracing went off for another reason is no trip.
overload(_, #s{on = false} = S) ->
    S;
overload(Text, #s{breaker = B0} = S0) ->
    brake(S0),
    S1 = clear_all(kprof_rate_00:stop(S0)),
    B = kprof_breaker_00:trip(kprof_state_00:now_ms(), B0),
    S = kprof_state_00:event_kept(overload, kprof_look_00:bin("breaker open: ~ts; next try in ~b s", [Text, (kprof_breaker_00:next_ms(kprof_state_00:now_ms(), B) + 999) div 1000]), S1),
    S#s.relay ! off,
    counting(walk_off(kprof_state_00:heartbeat(step_later(S#s{on = false, paused = overload, breaker = B})))).

%% Our own reasons, or kprof-top's.
trip(_, #s{on = false} = S) -> S;
trip(Text, S) ->
    S#s.relay ! {gate, shut},
    overload(Text, S).

%% Sampling cannot help: the breaker opens and stays so until the counters say that it can. Told once.
stays_open(Text, #s{breaker = B0} = S) ->
    B = kprof_breaker_00:trip(kprof_state_00:now_ms(), B0),
    Told = kprof_state_00:event_kept(overload, kprof_look_00:bin("breaker open: ~ts", [Text]), S),
    counting(kprof_state_00:heartbeat(step_later(Told#s{on = false, paused = overload, breaker = B}))).

%% A time that is traced by nobody's leave (lease, capture) is no probing, and nobody is there to probe for.
breaker(#s{breaker = B0, paused = Paused, on = On} = S) ->
    Now = kprof_state_00:now_ms(),
    case kprof_state_00:is_silent(S) orelse not (On orelse Paused =:= overload) of
        true ->
            step_later(S#s{breaker = kprof_breaker_00:wait(Now, B0)});
        false ->
            {What, B} = kprof_breaker_00:tick(Now, B0),
            stepped(What, step_later(S#s{breaker = B}), S)
    end.

%% At most one step is ever due.
step_later(#s{breaker = B} = S) ->
    case kprof_breaker_00:state(B) =:= closed andalso kprof_breaker_00:factor(B) =:= 1 of
        true ->
            S#s{breaker_timer = none};
        false ->
            Timer = make_ref(),
            erlang:send_after(?BREAKER_MS, self(), {breaker, Timer}),
            S#s{breaker_timer = Timer}
    end.

stepped(none, S, _) -> S;
stepped(probe, #s{paused = overload} = S, #s{breaker = Open}) ->
    %% By the counters' rates: a try that cannot succeed is none.
    case kprof_limits_00:affordable(S) of
        {ok, N} ->
            S1 = trace_on(resample(steered(N, (counting_off(S))#s{paused = none}))),
            kprof_state_00:event(half_open, kprof_look_00:bin("breaker half open: tracing 1 request in ~b", [kprof_state_00:sample_now(S1)]), S1),
            kprof_state_00:heartbeat(S1);
        {error, _} ->
            S#s{breaker = kprof_breaker_00:later(kprof_state_00:now_ms(), Open)}
    end;
stepped(closed, S, _) ->
    kprof_state_00:event(closed, kprof_look_00:bin("breaker closed: sampling comes back in steps", []), S),
    kprof_state_00:heartbeat(resample(S));
stepped(_, S, _) ->
    resample(S).

%% ---- While it is open, and before tracing begins: counters ----

counting(#s{count = none, paused = Paused, session = Session, relay = Relay, specs = Specs} = S0) when Relay =/= none, Paused =:= overload orelse Paused =:= look ->
    Count = kprof_count_00:new(Session, [{Ix, MFA} || {Ix, MFA, _} <- Specs], kprof_cost_00:count_ns(S0#s.cost), erlang:monotonic_time()),
    count_step(kprof_state_00:share(S0#s{count = Count}));
counting(S) ->
    S.

counting_off(#s{count = none} = S) -> S;
counting_off(#s{count = Count} = S) ->
    kprof_state_00:share((counting_told(S#s{count = kprof_count_00:stop(Count)}))#s{count = none, count_timer = none}).

%% The wish has changed.
recount(#s{count = none} = S) -> S;
recount(S) -> counting(counting_off(S)).

count_step(#s{count = Count0} = S) ->
    {Ms, Count} = kprof_count_00:step(erlang:monotonic_time(), Count0),
    Timer = make_ref(),
    erlang:send_after(Ms, self(), {count, Timer}),
    S#s{count = Count, count_timer = Timer}.

counting_told(#s{count = none} = S) -> S;
counting_told(#s{paused = look} = S) -> S;
counting_told(#s{count = Count0} = S) ->
    Now = erlang:monotonic_time(),
    {{Since, Due}, Count} = kprof_count_00:due(Now, Count0),
    kprof_state_00:send({kc, Since, Now, Due}, S),
    S#s{count = Count}.

%% ---- The wish ----

config(Wish0, #s{wish = Old} = S) ->
    Wish1 = maps:merge(Old, maps:with([tiers, entry, identity, returns, sample, args], Wish0)),
    Wish = Wish1#{
        tiers := [{Ix, kprof_look_00:to_atom(M), kprof_look_00:to_atom(F), A} || {Ix, M, F, A} <- maps:get(tiers, Wish1)],
        sample := max(1, min(1000000, maps:get(sample, Wish1)))
    },
    Vm = kprof_hazard_00:vm(),
    case compiled(Wish, Vm, S) of
        {ok, Specs, Notes} ->
            Changed = maps:get(identity, Wish) =/= maps:get(identity, Old),
            [kprof_state_00:event(identity, N, S) || N <- Notes, Changed],
            apply_wish(Wish, Specs, S);
        {held, Why} ->
            {{error, hazard, Why}, S};
        {error, Why} ->
            {{error, identity, Why}, S}
    end.

%% What this VM cannot bear is refused here (kprof_hazard_00).
compiled(#{returns := Returns} = Wish, Vm, S) ->
    case Returns =:= lean andalso not kprof_hazard_00:allowed(lean_beside, Vm) of
        true -> {held, kprof_hazard_00:reason(lean_beside, Vm)};
        false -> kprof_spec_00:compile(Wish#{epoch => S#s.epoch, sample := kprof_state_00:spec_sample(S#s{wish = Wish})})
    end.

apply_wish(Wish, Specs, #s{wish = Old, on = On} = S) ->
    Returns = maps:get(returns, Wish) =/= maps:get(returns, Old),
    S1 =
        case On andalso Returns of
            true -> quiet(S);
            false -> S
        end,
    Taken = kprof_pattern_00:held_back(Specs, kprof_hazard_00:vm()) ++ kprof_pattern_00:taken(S1#s.session, Specs, S1#s.set),
    S2 = S1#s{wish = Wish, specs = [Spec || {Ix, _, _} = Spec <- Specs, not lists:keymember(Ix, 1, Taken)]},
    S3 = if On -> set_all(S2); true -> S2 end,
    S3#s.relay =/= none andalso weigh(S3),
    On andalso not S3#s.beside andalso kprof_spec_00:cut(kprof_state_00:cut(S3)),
    S4 = if On andalso Returns -> trace_on(S3); true -> S3#s{tokens = S3#s.tokens orelse (On andalso maps:get(entry, Wish) =/= none)} end,
    {{ok, [kprof_pattern_00:matched(T, Specs, Taken) || T <- maps:get(tiers, Wish)]}, S4}.

resample(#s{wish = Wish} = S) ->
    case kprof_spec_00:compile(Wish#{epoch => S#s.epoch, sample := kprof_state_00:spec_sample(S)}) of
        {ok, Specs, _} ->
            {_, S1} = apply_wish(Wish, Specs, S),
            S1;
        _ ->
            S
    end.

%% Sampling as steered: at once, by the control word alone where that is ours.
resteer(#s{on = true, beside = false} = S) ->
    kprof_spec_00:cut(kprof_state_00:cut(S)),
    weigh(S),
    S;
resteer(#s{beside = true} = S) ->
    resample(S);
resteer(S) ->
    S.

%% Another agent has come to the node, or the last one has gone: the control word is one for all.
beside(#s{beside = Before} = S0) ->
    case kprof_node_00:agents() of
        Before ->
            S0;
        Now ->
            S = kprof_state_00:share(S0#s{beside = Now}),
            (S#s.on andalso Now) andalso kprof_spec_00:cut(0),
            if S#s.on -> resample(S); true -> S end
    end.

%% What an event stands for from now on.
weigh(#s{relay = Relay, pacer = Pacer} = S) ->
    N = kprof_state_00:sample_now(S),
    Relay ! {weight, N},
    Pacer ! {sample, N}.

%% Nothing is traced from now on, whatever patterns there are.
brake(#s{beside = false}) -> kprof_spec_00:cut(brake);
brake(_) -> false.

%% Sets what differs.
set_all(#s{specs = Specs, set = Set0, session = Session} = S) ->
    {Set, Failed} = kprof_pattern_00:set(Session, Specs, Set0, fun(Coming) -> kprof_state_00:share(S#s{set = Coming}) end),
    [kprof_state_00:event(pattern, kprof_look_00:bin("cannot trace ~ts: ~0tP", [kprof_look_00:mfa(M, F, A), Why, 12]), S) || {{M, F, A}, Why} <- Failed],
    kprof_state_00:share(S#s{set = Set}).

clear_all(#s{set = Set, session = Session} = S) ->
    kprof_pattern_00:clear(Session, Set),
    kprof_state_00:share(S#s{set = #{}}).

%% A reloaded module has lost its patterns. While there are none (the breaker is open, tracing is off), and where a pattern
%% was set anew before this look, its version tells.
watch_reloads(#s{versions = Before} = S0) ->
    Versions = maps:merge(Before, kprof_pattern_00:versions(S0#s.specs)),
    Other = [M || {M, V} <- maps:to_list(Versions), maps:get(M, Before, V) =/= V],
    {Lost, S} = put_again(S0#s{versions = Versions}),
    Marks = lists:usort([M || {M, _, _} <- Lost] ++ Other),
    [kprof_state_00:event(reload, kprof_look_00:bin("~ts was loaded", [shown(M)]), S) || M <- Marks, not lists:keymember(M, 1, Lost)],
    lists:foldl(fun(M, Acc) -> kprof_state_00:event_kept(mark, kprof_look_00:bin("~ts", [shown(M)]), Acc) end, S, Marks).

%% -> {Functions whose pattern was gone, S}
put_again(#s{on = true, set = Set, specs = Specs, session = Session} = S) ->
    Lost = kprof_pattern_00:lost(Session, Set),
    case Lost ++ kprof_pattern_00:missing(Specs, Set) of
        [] ->
            {[], S};
        All ->
            S1 = set_all(S#s{set = maps:without(Lost, Set)}),
            [kprof_state_00:event(reload, kprof_look_00:bin("~ts was loaded: ~ts", [kprof_look_00:mfa(M, F, A), again(maps:is_key(MFA, S1#s.set))]), S) || {M, F, A} = MFA <- All],
            {Lost, S1}
    end;
put_again(S) ->
    {[], S}.

shown(M) -> kprof_look_00:shown(atom_to_list(M)).

again(true) -> "it is traced again";
again(false) -> "this function is no longer in it".
