%% Tracing on and off: the wish as patterns and flags of the VM, what the breaker does with them, and the counters while it
%% is open. Functions of the keeper's process; each takes its state and gives the next one.
-module(kprof_switch_00).
-export([all_told/1, breaker/1, config/2, count_step/1, counting/1, counting_off/1, flush/1, let_go/1, new_relay/1, overload/2, quiet/1, recount/1, resample/1, send_limits/1, told_counts/1, trace_off/1, trace_on/1, tracing/2, trip/2, watch_reloads/1]).

-include("kprof_keeper.hrl").

-define(BREAKER_MS, 100).
-define(FLUSH_MS, 3000).

%% ---- The relay ----

new_relay(#s{pid = Pid, counters = Counters} = S0) ->
    {Relay, Pacer} = kprof_relay_00:start(#{keeper => self(), pid => Pid, counters => Counters, undo => #{}}),
    Session = kprof_spec_00:session(kprof_node_00:isolated(), kprof_keeper_00, Relay),
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

%% ---- Flags ----

tracing(On, #s{tracing = On} = S) -> S;
tracing(true, #s{again = true, breaker = B} = S) ->
    %% A connection that broke may have been the node's trouble with us.
    S1 = trace_on(resample(step_later(S#s{again = false, tracing = true, breaker = kprof_breaker_00:probe(kprof_state_00:now_ms(), B)}))),
    kprof_state_00:event(half_open, kprof_look_00:bin("the connection was lost before: tracing begins with 1 request in ~b", [kprof_state_00:sample_now(S1)]), S1),
    S1;
tracing(true, S0) ->
    S = counting_off(S0),
    trace_on(resample(S#s{tracing = true, paused = none, breaker = kprof_breaker_00:reset(S#s.breaker)}));
tracing(false, S) -> (trace_off(counting_off(S)))#s{tracing = false, paused = none, breaker = kprof_breaker_00:reset(S#s.breaker)}.

trace_on(#s{on = false, tracing = true, paused = none} = S0) ->
    S1 = set_all(with_relay(S0)),
    S1#s.relay ! {gate, open},
    S1#s.relay ! {weight, kprof_state_00:sample_now(S1)},
    switch(true, S1),
    S1#s{on = true};
trace_on(S) ->
    S.

with_relay(#s{relay = none} = S) -> new_relay(S);
with_relay(S) -> S.

%% Flags off, what was traced is sent, patterns off, tokens swept. Off already (breaker, lease): kprof-top still gets its {kx,_}.
trace_off(#s{on = true} = S) ->
    S1 = clear_all(quiet(S)),
    kprof_spec_00:sweep(),
    S1;
trace_off(#s{relay = none} = S) ->
    S;
trace_off(S) ->
    S#s.relay ! off,
    S#s.pacer ! kick,
    S.

quiet(#s{on = true} = S0) ->
    S = kprof_rate_00:stop(S0),
    switch(false, S),
    flush(S),
    S#s.relay =/= none andalso (S#s.relay ! off),
    S#s.relay =/= none andalso flush(S),
    S#s{on = false};
quiet(S) ->
    S.

%% Before we leave: what was traced, and waits for the link, too.
all_told(#s{on = true} = S) ->
    quiet(S);
all_told(S) ->
    flush(S),
    S.

%% The lease is over. Nobody may be reading: nothing here waits for the link.
let_go(S0) ->
    S = kprof_rate_00:stop(S0),
    switch(false, S),
    delivered(S),
    S#s.relay ! off,
    S1 = clear_all(kprof_state_00:heartbeat(S#s{on = false, paused = lease})),
    kprof_spec_00:sweep(),
    S1.

switch(On, #s{wish = Wish} = S) ->
    Flags =
        case maps:get(returns, Wish) of
            lean when On -> [call, arity, monotonic_timestamp, return_to];
            full when On -> [call, arity, monotonic_timestamp];
            _ -> [all]
        end,
    Own = {S#s.session, S#s.relay},
    kprof_spec_00:flags(Own, existing, On, Flags),
    S#s.spawn_flags andalso kprof_spec_00:flags(Own, new, On, Flags),
    On andalso [kprof_spec_00:flags(Own, P, false, [all]) || P <- [self(), S#s.pacer, S#s.warden]],
    ok.

%% ---- The breaker ----

%% The relay has taken the flags off already. What it found old after tracing went off for another reason is no trip.
overload(_, #s{on = false} = S) ->
    S;
overload(Text, #s{breaker = B0} = S0) ->
    S = kprof_rate_00:stop(S0),
    B = kprof_breaker_00:trip(kprof_state_00:now_ms(), B0),
    Told = kprof_state_00:event_kept(overload, kprof_look_00:bin("breaker open: ~ts; next try in ~b s", [Text, (kprof_breaker_00:next_ms(kprof_state_00:now_ms(), B) + 999) div 1000]), S),
    S#s.relay ! off,
    %% A pattern costs a little even where no process has a flag.
    counting(kprof_state_00:heartbeat(clear_all(step_later(Told#s{on = false, paused = overload, breaker = B})))).

%% Our own reasons, or kprof-top's.
trip(_, #s{on = false} = S) -> S;
trip(Text, S) ->
    S#s.relay ! {gate, shut},
    kprof_undo_00:flags_off(kprof_state_00:undo_of(S)),
    overload(Text, S).

%% A time that is traced by nobody's leave (lease, capture) is no probing, and nobody is there to probe for.
breaker(#s{breaker = B0, paused = Paused, on = On} = S) ->
    Now = kprof_state_00:now_ms(),
    case kprof_state_00:is_silent(S) orelse not (On orelse Paused =:= overload) of
        true ->
            step_later(S#s{breaker = kprof_breaker_00:wait(Now, B0)});
        false ->
            {What, B} = kprof_breaker_00:tick(Now, B0),
            stepped(What, step_later(S#s{breaker = B}))
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

stepped(none, S) -> S;
stepped(probe, #s{paused = overload} = S) ->
    S1 = trace_on(resample((counting_off(S))#s{paused = none})),
    kprof_state_00:event(half_open, kprof_look_00:bin("breaker half open: tracing 1 request in ~b", [kprof_state_00:sample_now(S1)]), S1),
    kprof_state_00:heartbeat(S1);
stepped(closed, S) ->
    kprof_state_00:event(closed, kprof_look_00:bin("breaker closed: sampling comes back in steps", []), S),
    kprof_state_00:heartbeat(resample(S));
stepped(_, S) ->
    resample(S).

%% ---- While it is open: counters ----

%% Only processes with the flag `call` have their time taken. Below OTP 27 that flag would send us what others trace.
counting(#s{count = none, paused = overload, session = Session, relay = Relay, specs = Specs} = S0) when Relay =/= none ->
    Timed = Session =/= none orelse kprof_node_00:others(false) =:= [],
    S = kprof_state_00:share(S0#s{count = kprof_count_00:new(Session, [{Ix, MFA} || {Ix, MFA, _} <- Specs], Timed, erlang:monotonic_time())}),
    count_step(S);
counting(S) ->
    S.

%% Only while calls are timed: a process that has it costs each time it is scheduled (2 % of one in a tight loop). To set it
%% stops the node for 0.3 us a process, to take it off for as long: told, so that it is done the seldomer.
call_flag(On, #s{count_flag = On} = S) -> S;
call_flag(On, S) ->
    Began = erlang:monotonic_time(),
    Own = {S#s.session, S#s.relay},
    kprof_spec_00:flags(Own, existing, On, [call]),
    S#s.spawn_flags andalso kprof_spec_00:flags(Own, new, On, [call]),
    On andalso [kprof_spec_00:flags(Own, P, false, [all]) || P <- [self(), S#s.pacer]],
    S#s{count_flag = On, count = if On -> kprof_count_00:stood(2 * (erlang:monotonic_time() - Began), S#s.count); true -> S#s.count end}.

counting_off(#s{count = none} = S) -> S;
counting_off(#s{count = Count} = S) ->
    kprof_undo_00:flags_off(kprof_state_00:undo_of(S)),
    kprof_state_00:share((told_counts(S#s{count = kprof_count_00:stop(Count)}))#s{count = none, count_timer = none, count_flag = false}).

%% The wish has changed.
recount(#s{count = none} = S) -> S;
recount(S) -> counting(counting_off(S)).

count_step(#s{count = Count0} = S) ->
    {Ms, Count} = kprof_count_00:step(erlang:monotonic_time(), Count0),
    Timer = make_ref(),
    erlang:send_after(Ms, self(), {count, Timer}),
    call_flag(kprof_count_00:timing(Count), S#s{count = Count, count_timer = Timer}).

told_counts(#s{count = none} = S) -> S;
told_counts(#s{count = Count0} = S) ->
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
    case kprof_spec_00:compile(Wish#{epoch => S#s.epoch, sample := kprof_state_00:sample_now(S#s{wish = Wish})}) of
        {ok, Specs, Notes} ->
            Changed = maps:get(identity, Wish) =/= maps:get(identity, Old),
            [kprof_state_00:event(identity, N, S) || N <- Notes, Changed],
            apply_wish(Wish, Specs, S);
        {error, Why} ->
            {{error, identity, Why}, S}
    end.

apply_wish(Wish, Specs, #s{wish = Old, on = On} = S) ->
    Returns = maps:get(returns, Wish) =/= maps:get(returns, Old),
    Entry = maps:get(entry, Wish) =/= maps:get(entry, Old),
    S1 =
        case On andalso Returns of
            true -> quiet(S);
            false -> S
        end,
    Taken = kprof_pattern_00:taken(S1#s.session, Specs, S1#s.set),
    S2 = S1#s{wish = Wish, specs = [Spec || {Ix, _, _} = Spec <- Specs, not lists:keymember(Ix, 1, Taken)]},
    S3 = if On -> set_all(S2); true -> S2 end,
    S3#s.relay =/= none andalso (S3#s.relay ! {weight, kprof_state_00:sample_now(S3)}),
    On andalso Entry andalso kprof_spec_00:sweep(),
    S4 = if On andalso Returns -> trace_on(S3); true -> S3 end,
    {{ok, [kprof_pattern_00:matched(T, Specs, Taken) || T <- maps:get(tiers, Wish)]}, S4}.

resample(#s{wish = Wish} = S) ->
    case kprof_spec_00:compile(Wish#{epoch => S#s.epoch, sample := kprof_state_00:sample_now(S)}) of
        {ok, Specs, _} ->
            {_, S1} = apply_wish(Wish, Specs, S),
            S1;
        _ ->
            S
    end.

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
