%% The keeper's state, as all its parts use it: what is reckoned from it and told of it, and what of it relay and warden know,
%% so that they can undo it.
-module(kprof_state_00).
-export([answer/3, answer_apart/4, answer_last/3, counter/2, event/3, event_kept/3, heartbeat/1, is_silent/1, now_ms/0, sample_base/1, sample_now/1, spec_sample/1, cut/1, send/2, share/1, silence_ms/1, tell_all/1, tell_kept/1, undo_of/1]).

-include("kprof_keeper.hrl").

-define(KEPT, 20).
-define(LAST_MS, 2000). % the link may take so long for the last words
-define(AGAIN_MS, 10).

%% Relay and warden know what to undo before it is done: kprof_undo_00.
share(#s{relay = Relay, warden = Warden} = S) ->
    Undo = undo_of(S),
    Warden ! {undo, Undo},
    Relay =/= none andalso (Relay ! {undo, Undo}),
    S.

undo_of(#s{session = Session, relay = Relay, set = Set, spawn_flags = New, tcw = Tcw, capture = Capture} = S) ->
    Counters = S#s.counting ++ if S#s.count =:= none -> []; true -> kprof_count_00:held(S#s.count) end,
    #{
        session => Session, relay => Relay, set => Set, new => New, tcw => Tcw, counting => Counters, capture => Capture,
        isolated => S#s.isolated, walker => S#s.walker, epoch => S#s.epoch, tokens => S#s.tokens, beside => S#s.beside
    }.

%% For what takes its time: a process of its own finds it out and answers.
answer_apart(Ref, Find, Opts, #s{pid = Pid}) ->
    spawn_opt(fun() -> erlang:send(Pid, {kr, Ref, found(Find)}, [noconnect]) end, [link | Opts]).

found(Find) ->
    try Find()
    catch _:Why -> {error, crashed, kprof_look_00:bin("~0tP", [Why, 20])}
    end.

%% Who asks waits for it, though the link be full at this moment. A pong only is of now.
answer(Ref, {pong, _} = Pong, S) ->
    send({kr, Ref, Pong}, S),
    S;
answer(Ref, Result, S) ->
    tell_kept(keep({kr, Ref, Result}, S)).

%% Before we end: nobody waits for us but who asked.
answer_last(Ref, Result, S) -> tell_all(keep({kr, Ref, Result}, S)).

tell_all(S) -> tell_all(S, now_ms() + ?LAST_MS).

tell_all(S0, Until) ->
    S = tell_kept(S0),
    case S#s.unsent =:= [] orelse now_ms() > Until of
        true ->
            S;
        false ->
            receive
            after ?AGAIN_MS -> tell_all(S, Until)
            end
    end.

send(What, #s{pid = Pid}) -> erlang:send(Pid, What, [nosuspend, noconnect]).
event(Tag, Text, S) -> send({ke, Tag, Text}, S).

%% One that must arrive, though the link be stopped: -> S
event_kept(Tag, Text, S) -> tell_kept(keep({ke, Tag, Text}, S)).

keep(What, #s{unsent = Unsent} = S) -> S#s{unsent = lists:sublist([What | Unsent], ?KEPT)}.

tell_kept(#s{unsent = Unsent} = S) ->
    S#s{unsent = lists:reverse(lists:dropwhile(fun(E) -> send(E, S) =:= ok end, lists:reverse(Unsent)))}.

counter(I, #s{counters = C}) -> atomics:get(C, I).

%% What shall be sampled now: 1 request in so many; without an entry, 1 call.
sample_now(#s{breaker = B} = S) -> min(1000000, sample_base(S) * kprof_breaker_00:factor(B)).
sample_base(#s{wish = #{sample := Wished}, steered = Steered} = S) ->
    case shares_word(S) of
        true -> max(Wished, Steered);
        false -> Wished bsl cut(S)
    end.

%% What the patterns sample, and how far the control word cuts it besides. Other agents on the node see the same word: beside
%% them it is left alone.
spec_sample(#s{wish = #{sample := Wished}, breaker = B} = S) ->
    case shares_word(S) of
        true -> sample_now(S);
        false -> min(1000000, Wished * kprof_breaker_00:factor(B))
    end.

cut(#s{wish = #{sample := Wished}, steered = Steered} = S) ->
    case shares_word(S) of
        true -> 0;
        false -> doublings(Wished, Steered, 0)
    end.

doublings(N, Steered, K) when N >= Steered; K >= 20 -> K;
doublings(N, Steered, K) -> doublings(2 * N, Steered, K + 1).

shares_word(#s{beside = Beside}) -> Beside.

%% One that tells that tracing went off or on must arrive: gaps are made of them. In order with all that must.
heartbeat(#s{cpu = Before, told_gap = Told} = S0) ->
    Now = kprof_node_00:cpu(),
    S = (tell_kept(S0))#s{cpu = Now},
    Gap = gap(S),
    Beat = {kh, erlang:monotonic_time(), health(Before, Now, S)},
    case S#s.unsent =:= [] andalso send(Beat, S) of
        ok -> S#s{told_gap = Gap};
        _ when Gap =:= Told -> S;
        _ -> keep(Beat, S#s{told_gap = Gap})
    end.

health(Before, Now, S) ->
    {Up, _} = erlang:statistics(wall_clock),
    #{
        run_queue => erlang:statistics(run_queue),
        sched => kprof_node_00:permille(Before, Now),
        memory => erlang:memory(total),
        processes => erlang:system_info(process_count),
        uptime_ms => Up,
        relay_queue => counter(4, S),
        relay_memory => counter(5, S),
        dropped => counter(3, S),
        others => length(S#s.others),
        gap => gap(S),
        breaker => case kprof_breaker_00:state(S#s.breaker) of closed -> 0; open -> 1; half_open -> 2 end,
        trips => kprof_breaker_00:trips(S#s.breaker),
        next_ms => kprof_breaker_00:next_ms(now_ms(), S#s.breaker),
        pause_ms => kprof_breaker_00:pause_ms(S#s.breaker),
        sample => sample_now(S),
        sample_why => sample_why(S),
        cost => element(1, kprof_cost_00:spent(S#s.cost)),
        call_ns => kprof_cost_00:call_ns(S#s.wish, S#s.cost),
        cost_assumed => kprof_cost_00:assumed(S#s.cost),
        strangers => S#s.strangers
    }.

sample_why(#s{why = Why, breaker = B}) ->
    case {kprof_breaker_00:factor(B), Why} of
        {1, none} -> 0;
        {1, rate} -> 1;
        {1, cost} -> 2;
        {1, flood} -> 4;
        _ -> 3
    end.

%% Why nothing is traced now; 0: it is.
gap(#s{on = true}) -> 0;
gap(#s{paused = overload}) -> 2;
gap(#s{paused = lease}) -> 3;
gap(_) -> 1.

%% Since the last word from kprof-top.
silence_ms(#s{heard = Heard}) -> now_ms() - Heard.

%% So long that tracing must pause now: the next beat would be too late.
is_silent(#s{pause_ms = Pause} = S) -> silence_ms(S) > Pause - min(?BEAT_MS, Pause div 10).

now_ms() -> erlang:monotonic_time(millisecond).
