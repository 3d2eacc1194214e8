%% The relay: the tracer. Collects trace messages and sends them on in batches; the guards against overload live here,
%% because kprof-top may be seconds away.
%%
%% Waking a process for each message costs more than all that it does with it. So the relay sleeps suspended, where
%% messages only queue, and a pacer wakes it every 1 to 10 ms, so that some 200 messages wait; a `tick` in the queue tells it
%% how far to work. The clients of the node pay for every longer turn: the relay works for at most ?SLICE_US, sends what it
%% has in small batches, and lets others run, whatever waits. It has priority over the node's own processes only while it is
%% behind by more than ?BEHIND_MS: then it must drop, and say so.
%%
%% A turn that does not end, and messages that are older than ?FLOOD_AGE_MS, are a flood: what waits is dropped and counted, and
%% the controller cuts sampling at once.
-module(kprof_relay).
-export([start/1, init/1, name/1, registered/1]).

-include("kprof_counters.hrl").

-type options() :: #{controller := pid(), pid := pid(), counters := atomics:atomics_ref(), plan := kprof_cleanup:plan() | #{}}.

-define(BATCH, 200).
-define(LEAST_TICK_MS, 1).
-define(BLOCKED_TICK_MS, 5). % while the link would block
-define(SLICE_US, 200).
-define(STEP, 16). % messages between two looks at the clock
-define(FLOOD, 2000). % messages in a turn that does not end,
-define(FLOOD_AGE_MS, 25). % and so old,
-define(CATCH_UP_MS, 250). % and no older when so much time has passed: else we are late for good
-define(WALKED, 1000).
-define(AGAIN_MS, 1000).
-define(CUT_MS, 200). % so long it may take until a cut is felt
-define(MESSAGE_WORDS, 12). % around its term
-define(BEHIND_MS, 20).
-define(SKIP, 1000).
-define(HELD, 32000). % messages kept while the link would block
-define(WEIGHTIER, 16). % at most so many times its sampling an event stands for

-define(BIG, 1 bsl 64).
-define(NAMES_MS, 1000). % registered names are looked through at most so often for a pid that has none

-define(NUDGE_MS, 50). % between two words that events beyond the limit come
-define(ARGS_A_CALL, 1024). % bytes
-define(ARGS_A_SECOND, 1048576).

%% #{controller, pid, counters, plan}: counters is the atomics array of kprof_counters.hrl.
%% -> {Relay, Pacer}
-spec start(options()) -> {pid(), pid()}.
start(#{controller := Controller} = Opts) ->
    Relay = spawn_opt(?MODULE, init, [Opts], [{message_queue_data, off_heap}, {min_heap_size, 20000}]),
    Ref = erlang:monitor(process, Relay),
    Relay ! {start, Controller, Ref},
    receive
        {Ref, Pacer} ->
            erlang:demonitor(Ref, [flush]),
            {Relay, Pacer};
        {'DOWN', Ref, _, _, Why} ->
            exit(Why)
    end.

-record(s, {
    pid, % kprof-top's
    controller,
    pacer,
    counters,
    plan,
    seq = 0,
    sent = 0,
    dropped = 0,
    weight = 1,
    debt = 0, % what was dropped stood for so many events: those that follow stand for them, too
    gate = open, % open: forward; shut: count and discard (overload); idle: discard (off: returns of calls that are told)
    pending = queue:new(), % {batch, N, Weight, Messages} | off | {answer, Pid, Ref}: in this order, one after the other
    held = 0, % messages in pending
    came = 0, % messages since the last tick
    slice_end = 0, % native
    hurry = false, % we have priority
    message_bytes = 200, % that a message takes
    flooded = none, % when (ms) there were too many, and they were dropped
    lag = none, % {Age, Came, At}: how far behind this turn was at first
    tick = ?TICK_MS,
    run = 0, % native time that we have worked
    clock = 0, % when (native) it was looked at last
    max_age = 0, % native units; 0: no limit
    max_queue = 0,
    max_memory = 0,
    max_blocked = 0,
    blocked = 0, % since when (ms) the link takes nothing; 0: it does
    limit = none, % events a second, of kprof_breaker
    nudged = none, % when (ms) the controller was told last that events beyond it come
    args_left = 0, % bytes of arguments in the second since
    args_at = -1000000000000, % ms
    watch = none, % a tier's number: its calls are counted
    watched = 0
}).

-spec init(options()) -> no_return().
init(#{controller := Controller, pid := Pid, counters := Counters, plan := Plan}) ->
    register(?MODULE, self()),
    erlang:monitor(process, Controller),
    receive
        {start, Controller, Ref} ->
            Pacer = kprof_pacer:start(self(), Controller),
            Controller ! {Ref, Pacer},
            loop([], 0, go_on(#s{pid = Pid, controller = Controller, pacer = Pacer, counters = Counters, plan = Plan}))
    end.

%% Continues the counters of a relay that was killed; what waited for it counts as dropped.
go_on(#s{counters = C} = S) ->
    [Seq, Sent, Dropped, Queue, RunNs] = [atomics:get(C, I) || I <- [?SEQ, ?SENT, ?DROPPED, ?QUEUE, ?RUN_NS]],
    S#s{seq = Seq, sent = Sent, dropped = Dropped + Queue, run = erlang:convert_time_unit(RunNs, nanosecond, native), clock = erlang:monotonic_time()}.

loop(Acc, N, S) ->
    receive
        {trace_ts, _, return_to, _, _} = M ->
            add(M, Acc, N, S);
        {trace_ts, _, call, _, Msg, _} = M when tuple_size(element(3, Msg)) =:= 2 ->
            {Less, S1} = argued(M, S),
            add(Less, Acc, N, S1);
        {trace_ts, _, call, _, {_, _, _}, _} = M ->
            add(M, Acc, N, S);
        {trace_ts, P, call, MFA, Msg, Ts} = M ->
            case clip(Msg) of
                Msg -> add(M, Acc, N, S);
                skip -> loop(Acc, N, S);
                Less -> add({trace_ts, P, call, MFA, Less, Ts}, Acc, N, S)
            end;
        {trace_ts, P, return_from, MFA, _, Ts} ->
            add({trace_ts, P, return_from, MFA, 0, Ts}, Acc, N, S);
        {trace_ts, P, exception_from, MFA, {Class, _}, Ts} ->
            add({trace_ts, P, exception_from, MFA, {Class, 0}, Ts}, Acc, N, S);
        tick ->
            tick(Acc, N, clocked(S));
        {'DOWN', _, process, Controller, _} when Controller =:= S#s.controller ->
            orphaned(batch(Acc, N, S));
        Control ->
            loop([], 0, control(Control, batch(Acc, N, S)))
    end.

add(M, Acc, N, S) when (N + 1) rem ?STEP =/= 0 -> loop([M | Acc], N + 1, S);
add(M, Acc, N, S0) when N + 1 < ?BATCH ->
    S = clocked(S0),
    case S#s.clock > S#s.slice_end of
        true -> loop([], 0, yielded(M, blocked(batch([M | Acc], N + 1, S#s{came = S#s.came + N + 1}))));
        false -> loop([M | Acc], N + 1, S)
    end;
add(M, Acc, N, S) ->
    loop([], 0, yielded(M, clocked(blocked(batch([M | Acc], N + 1, S#s{came = S#s.came + N + 1}))))).

%% The clock is looked at every few messages. These cannot have taken long: where they have, we did not run, and a slice begins.
clocked(#s{clock = Last, run = Run} = S) ->
    Now = erlang:monotonic_time(),
    Most = slice(),
    case Now - Last of
        Took when Took > Most -> S#s{clock = Now, slice_end = Now + Most, run = Run + Most div 20};
        Took -> S#s{clock = Now, run = Run + Took}
    end.

%% A slice is over, or not yet. M: the last message.
yielded(M, #s{slice_end = End, clock = Before} = S0) when Before > End ->
    Age = Before - element(tuple_size(M), M),
    S = clocked(flooded(Age, guard(M, hurried(Age, S0)))),
    counted(S), % a turn may last, and the controller goes by these
    erlang:yield(),
    Now = erlang:monotonic_time(),
    S#s{clock = Now, slice_end = Now + slice()};
yielded(M, S) ->
    guard(M, S).

hurried(Age, #s{hurry = Hurry} = S) ->
    case Age =:= infinity orelse to_ms(Age) > ?BEHIND_MS of
        Hurry ->
            S;
        Now ->
            process_flag(priority, if Now -> high; true -> normal end),
            S#s{hurry = Now}
    end.

slice() -> erlang:convert_time_unit(?SLICE_US, microsecond, native).

%% More comes than this process can take: it has worked for long since the last tick, is far behind, and does not catch up.
flooded(Age, #s{came = Came, gate = open, max_queue = Max, lag = Lag} = S) when Max > 0, Came > ?FLOOD ->
    case to_ms(Age) > ?FLOOD_AGE_MS of
        true when Lag =:= none -> S#s{lag = {Age, Came, S#s.clock}};
        true -> case catches_up(Age, S) of true -> S; false -> flood(to_ms(S#s.clock - Age), S) end;
        false -> S
    end;
flooded(_, S) ->
    S.

catches_up(Age, #s{lag = {First, Before, At}, came = Came, clock = Now}) ->
    Came - Before =< ?FLOOD orelse (Age < First andalso to_ms(Now - At) < ?CATCH_UP_MS).

%% Drops all that waits. Made is when (ms) the oldest of it was made. By that time, not by ours: we may have had no turn for long.
%% What was made before the controller had cut sampling, and a little after, says nothing of how far the cut helps.
flood(Made, #s{dropped = Before, controller = Controller, counters = C} = S0) ->
    S = skip(erlang:monotonic_time(), 0, hurried(infinity, S0#s{came = 0, lag = none})),
    Made >= atomics:get(C, ?CUT_AT) + ?CUT_MS andalso (Controller ! {flood, self(), S#s.dropped - Before}),
    S.

%% What was made before Until, but for what is not a trace message. The order of messages of one process stays.
skip(Until, N, S) ->
    receive
        {trace_ts, _, return_to, _, Ts} -> skip(Until, N, Ts, S);
        {trace_ts, _, _, _, _, Ts} -> skip(Until, N, Ts, S);
        {weight, Weight} -> skip(Until, 0, control({weight, Weight}, skipped(N, S))) % what follows was sampled so
    after 0 -> skipped(N, S)
    end.

skip(Until, N, Ts, S) when Ts < Until, N < ?SKIP -> skip(Until, N + 1, S);
skip(Until, N, Ts, S) when Ts < Until ->
    counted(S),
    erlang:yield(),
    skip(Until, 0, skipped(N + 1, S));
skip(_, N, _, S) -> skipped(N + 1, S). % the first that is younger goes with them

skipped(0, S) -> S;
skipped(N, S) -> dropped(N, S#s.weight, S).

tick(Acc, N, #s{came = Came} = S0) ->
    S1 = clocked(blocked(deliver(batch(Acc, N, S0#s{came = Came + N})))),
    note(S1),
    Ms = next_tick(S1),
    S1#s.pacer ! {done, Ms},
    S2 = hurried(0, S1#s{tick = Ms, came = 0, lag = none}),
    case Acc of
        [] -> loop([], 0, S2);
        [M | _] -> loop([], 0, guard(M, S2))
    end.

%% So often that some 200 messages wait: about a slice.
next_tick(#s{held = Held}) when Held > 0 -> ?BLOCKED_TICK_MS;
next_tick(#s{came = Came, tick = Ms}) when Came > ?BATCH -> max(?LEAST_TICK_MS, Ms * ?BATCH div Came);
next_tick(#s{came = Came, tick = Ms, limit = none}) when Came < ?BATCH div 2 -> min(?TICK_MS, Ms * 2);
next_tick(#s{limit = {_, _, _}, tick = Ms}) -> min(?TICK_MS, Ms * 2); % a burst passes the limit at once
next_tick(#s{tick = Ms}) -> Ms.

note(#s{counters = C} = S) ->
    {_, Queue} = process_info(self(), message_queue_len),
    atomics:put(C, ?QUEUE, Queue),
    atomics:put(C, ?MEMORY, memory(Queue, S)),
    counted(S).

counted(#s{counters = C} = S) ->
    atomics:put(C, ?SENT, S#s.sent),
    atomics:put(C, ?DROPPED, S#s.dropped),
    atomics:put(C, ?RUN_NS, erlang:convert_time_unit(S#s.run, native, nanosecond)),
    atomics:put(C, ?SEQ, S#s.seq),
    atomics:add(C, ?NOTED, 1).

control({weight, N}, S) -> S#s{weight = N};
control({cleanup, Plan}, S) -> S#s{plan = Plan};
control({limits, Age, Queue, Memory, Rate, BlockedMs}, S) ->
    S#s{max_age = Age, max_queue = Queue, max_memory = Memory, max_blocked = BlockedMs, limit = kprof_breaker:limit(Rate, now_ms())};
control({gate, Gate}, S) -> S#s{gate = Gate, debt = 0, blocked = 0, tick = ?LEAST_TICK_MS};
control({watch, Ix, _, _}, S) -> S#s{watch = Ix, watched = 0};
control({watched, From, Ref}, S) ->
    From ! {watched, Ref, S#s.watched},
    S#s{watch = none};
control({flush, From, Ref}, S) -> deliver(later({answer, From, Ref}, S));
control(off, #s{gate = open} = S) -> deliver(later(off, S#s{gate = idle}));
control(off, S) -> deliver(later(off, S));
control(_, S) -> S.

%% ---- Batches ----

batch(_, 0, S) ->
    S;
batch(_, _, #s{gate = idle} = S) ->
    S;
batch(_, N, #s{gate = shut} = S) ->
    S#s{dropped = S#s.dropped + N};
batch(Messages, N, #s{limit = none} = S) ->
    enqueue(Messages, N, S);
batch(Messages, N, #s{limit = Limit0} = S) ->
    Now = now_ms(),
    case kprof_breaker:admit(N, Now, Limit0) of
        {N, Limit} ->
            enqueue(Messages, N, S#s{limit = Limit});
        {Less, Limit} ->
            %% The oldest go on; the list is newest first.
            nudge(Now, dropped(N - Less, S#s.weight, enqueue(lists:nthtail(N - Less, Messages), Less, S#s{limit = Limit})))
    end.

enqueue(_, 0, S) ->
    S;
enqueue(Messages, N, #s{held = Held, weight = Sampled, debt = Debt} = S0) ->
    Weight = min(?WEIGHTIER * Sampled, Sampled + Debt div N),
    S = later({batch, N, Weight, Messages}, watch(Messages, S0#s{held = Held + N, debt = Debt - (Weight - Sampled) * N})),
    case Held of
        0 -> deliver(S);
        _ -> drop_oldest(S)
    end.

later(What, #s{pending = Q} = S) -> S#s{pending = queue:in(What, Q)}.

drop_oldest(#s{held = Held} = S) when Held =< ?HELD ->
    S;
drop_oldest(#s{pending = Q, held = Held} = S) ->
    {Before, [{batch, N, Weight, _} | After]} = lists:splitwith(fun(X) -> not is_tuple(X) orelse element(1, X) =/= batch end, queue:to_list(Q)),
    drop_oldest(dropped(N, Weight, S#s{pending = queue:from_list(Before ++ After), held = Held - N})).

dropped(N, Weight, S) -> S#s{dropped = S#s.dropped + N, debt = S#s.debt + N * Weight}.

%% Sends what the link takes without blocking.
deliver(#s{pending = Q0} = S) ->
    case queue:out(Q0) of
        {empty, _} ->
            S;
        {{value, {batch, N, Weight, Messages}}, Q} ->
            Seq = S#s.seq + 1,
            case send(S, {kb, Seq, S#s.dropped, Weight, Messages}) of
                ok -> deliver(S#s{pending = Q, seq = Seq, sent = S#s.sent + N, held = S#s.held - N});
                _ -> S
            end;
        {{value, off}, Q} ->
            case send(S, {kx, S#s.seq}) of
                ok -> deliver(S#s{pending = Q});
                _ -> S
            end;
        {{value, {answer, From, Ref}}, Q} ->
            note(S),
            From ! {flushed, Ref, S#s.seq},
            deliver(S#s{pending = Q})
    end.

send(#s{pid = Pid}, What) -> erlang:send(Pid, What, [nosuspend, noconnect]).

%% ---- What a message may be ----

%% A name that is big is cut; a message that is no tuple (a process lost its ticket) is none.
clip({_, _, _, Name} = Msg) -> named(Name, Msg);
clip({_, _, _, Name, _} = Msg) -> named(Name, Msg);
clip({_, _, _, Name, _, _} = Msg) -> named(Name, Msg);
clip(_) -> skip.

named(Name, Msg) ->
    case name(Name) of
        Name -> Msg;
        Less -> setelement(4, Msg, Less)
    end.

%% A value as it names a request.
-spec name(term()) -> term().
name(Name) when is_atom(Name); is_integer(Name), Name < ?BIG, Name > -(?BIG) -> Name;
name(Name) ->
    case small(Name, 16) of
        Left when is_integer(Left) -> Name;
        false -> cut(Name, 3)
    end.

%% A pid's registered name. The process is not asked: it may be busy for long. undefined: it has none.
-spec registered(pid()) -> atom().
registered(Pid) when node(Pid) =:= node() ->
    case get(kprof_registered) of
        {#{Pid := Name}, _} ->
            case whereis(Name) of
                Pid -> Name;
                _ -> registered_anew(Pid)
            end;
        {_, At} ->
            case now_ms() - At < ?NAMES_MS of
                true -> undefined;
                false -> registered_anew(Pid)
            end;
        undefined ->
            registered_anew(Pid)
    end;
registered(_) ->
    undefined.

registered_anew(Pid) ->
    Names = maps:from_list([{P, Name} || Name <- registered(), P <- [whereis(Name)], is_pid(P)]),
    put(kprof_registered, {Names, now_ms()}),
    maps:get(Pid, Names, undefined).

%% How much is left of Budget after this term; false: it is too big.
small(B, Budget) when is_binary(B) -> byte_size(B) =< 256 andalso spend(Budget);
small(A, Budget) when is_atom(A); is_float(A); is_pid(A); is_reference(A); is_integer(A), A < ?BIG, A > -(?BIG) -> spend(Budget);
small({'kprof name', _}, _) -> false;
small(T, Budget) when is_tuple(T), tuple_size(T) =< 8 -> small_all(tuple_to_list(T), spend(Budget));
small([H | _] = L, Budget) when is_integer(H) -> text(L, 256) andalso spend(Budget);
small([], Budget) -> spend(Budget);
small(_, _) -> false.

small_all(_, false) -> false;
small_all([X | Rest], Budget) -> small_all(Rest, small(X, Budget));
small_all([], Budget) -> Budget.

spend(0) -> false;
spend(Budget) -> Budget - 1.

text([C | Rest], Left) when is_integer(C), C >= 0, C < 16#110000, Left > 0 -> text(Rest, Left - 1);
text(End, _) -> End =:= [].

cut(B, _) when is_binary(B), byte_size(B) > 256 -> binary:part(B, 0, 256);
cut(X, _) when is_atom(X); is_float(X); is_pid(X); is_binary(X) -> X;
cut(X, _) when is_integer(X), X < ?BIG, X > -(?BIG) -> X;
cut({'kprof name', X}, _) when is_pid(X) -> registered(X);
cut({'kprof name', X}, _) -> name(X);
cut(T, Depth) when is_tuple(T), Depth > 0 -> list_to_tuple([cut(X, Depth - 1) || X <- lists:sublist(elements(T, 1), 8)]);
cut([H | _] = L, _) when is_integer(H), H >= 0, H < 16#110000 -> characters(L, 256);
cut(_, _) -> '...'.

elements(T, I) when I =< tuple_size(T), I =< 8 -> [element(I, T) | elements(T, I + 1)];
elements(_, _) -> [].

characters([C | Rest], Left) when is_integer(C), C >= 0, C < 16#110000, Left > 0 -> [C | characters(Rest, Left - 1)];
characters(_, _) -> [].

%% Arguments: the match spec lets only small ones through, here their sum is bounded, for a call and for a second.
argued({trace_ts, P, call, MFA, Msg, Ts}, S0) ->
    {Caller, Args} = element(3, Msg),
    {Told, S} = bounded(erlang:external_size(Args), Args, S0),
    Msg1 = setelement(3, Msg, {Caller, Told}),
    case clip(Msg1) of
        skip -> {{trace_ts, P, call, MFA, Msg1, Ts}, S};
        Less -> {{trace_ts, P, call, MFA, Less, Ts}, S}
    end.

bounded(Size, _, S) when Size > ?ARGS_A_CALL ->
    {big, S};
bounded(Size, Args, #s{args_left = Left} = S) when Size =< Left ->
    {Args, S#s{args_left = Left - Size}};
bounded(Size, Args, #s{args_at = At} = S) ->
    case now_ms() of
        Now when Now - At >= 1000 -> bounded(Size, Args, S#s{args_left = ?ARGS_A_SECOND, args_at = Now});
        _ -> {over, S}
    end.

%% ---- Guards ----

%% More events came than the limit allows: the controller is to cut sampling now, not when it looks next.
nudge(Now, #s{nudged = Last} = S) when is_integer(Last), Now - Last < ?NUDGE_MS ->
    S;
nudge(Now, #s{controller = Controller} = S) ->
    Controller ! {over, self()},
    S#s{nudged = Now}.

now_ms() -> erlang:monotonic_time(millisecond).
to_ms(Native) -> erlang:convert_time_unit(Native, native, millisecond).

%% Once a batch and a tick (which may be far back in the queue): what is held is held because the link would block.
blocked(#s{held = 0} = S) -> S#s{blocked = 0};
blocked(#s{blocked = 0} = S) -> S#s{blocked = now_ms()};
blocked(#s{blocked = Since, max_blocked = Max, gate = open} = S) when Max > 0 ->
    case now_ms() - Since of
        Ms when Ms > Max -> shut(io_lib:format("the link to kprof-top took nothing for ~b ms", [Ms]), S);
        _ -> S
    end;
blocked(S) -> S.

%% Once a batch, a slice and a tick: are we too late, too full, too big? Then everything is off at once, and the controller is told.
guard(_, #s{gate = shut} = S) ->
    S;
guard(M, S) ->
    Age = erlang:monotonic_time() - element(tuple_size(M), M),
    %% Of the messages that a receive has seen: what came since is seen when these are done.
    {_, Queue} = process_info(self(), message_queue_len),
    atomics:put(S#s.counters, ?QUEUE, Queue),
    if
        S#s.max_age > 0, Age > S#s.max_age ->
            shut(io_lib:format("events were ~b ms old", [to_ms(Age)]), S);
        S#s.max_queue > 0, Queue > S#s.max_queue ->
            overfull(to_ms(element(tuple_size(M), M)), Queue, S);
        S#s.max_memory > 0 ->
            S1 = S#s{message_bytes = (erts_debug:flat_size(M) + ?MESSAGE_WORDS) * erlang:system_info(wordsize)},
            case memory(Queue, S1) of
                Memory when Memory > S#s.max_memory -> shut(io_lib:format("waiting events took ~b MB", [Memory bsr 20]), S1);
                _ -> S1
            end;
        true ->
            S
    end.

%% Each time the controller is told, and cuts sampling further; where no sampling helps it opens the breaker. Here the breaker
%% opens where the controller does nothing about it.
overfull(Made, Queue, #s{flooded = Last, counters = C} = S) ->
    case Last =:= none orelse atomics:get(C, ?CUT_AT) >= Last of
        true -> flood(Made, S#s{flooded = now_ms()});
        false when Made =< Last + ?AGAIN_MS -> flood(Made, S);
        false -> shut(io_lib:format("~b events were waiting", [Queue]), S)
    end.

%% Bytes that we take with what waits. To ask for it walks through the queue, 250 ms for 2.6 million messages: of a long one it is
%% reckoned by one message.
memory(Queue, _) when Queue < ?WALKED -> element(2, process_info(self(), memory));
memory(Queue, #s{message_bytes = Each}) -> Queue * Each.

shut(_, #s{gate = shut} = S) ->
    S;
shut(Why, #s{controller = Controller, plan = Plan} = S) ->
    Controller ! {overload, self(), unicode:characters_to_binary(Why)},
    kprof_cleanup:stop_tracing(Plan),
    S#s{gate = shut}.

watch(_, #s{watch = none} = S) -> S;
watch(Messages, #s{watch = Ix} = S) ->
    S#s{watched = S#s.watched + length([1 || {trace_ts, _, call, _, Msg, _} <- Messages, element(1, Msg) =:= Ix])}.

%% The controller was killed: all that it would do, and tell.
orphaned(#s{plan = Plan} = S) when map_size(Plan) > 0 ->
    kprof_cleanup:leaving(),
    kprof_cleanup:all(Plan),
    kprof_cleanup:reap([S#s.pacer]),
    send(S, {kx, S#s.seq}),
    kprof_cleanup:gone(S#s.pid, <<"its controller on the node was killed: tracing is off, nothing is left behind">>),
    exit(shutdown); % not normal: the pacer is linked
orphaned(_) ->
    exit(nothing_set). % the guardian goes on
