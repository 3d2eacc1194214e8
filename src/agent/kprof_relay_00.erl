%% The relay: the tracer. Collects trace messages and sends them on in batches; the guards against overload live here,
%% because kprof-top may be seconds away.
%%
%% Waking a process for each message costs more than all that it does with it. So the relay sleeps suspended, where
%% messages only queue, and a pacer wakes it every 40 ms, more often when much comes; a `tick` in the queue tells it how
%% far to work. Sending a batch costs as much as some 50 messages in it, so batches are large.
-module(kprof_relay_00).
-export([start/1, init/1, pace/1]).

-define(BATCH, 2000).
-define(TICK_MS, 40).
-define(LEAST_TICK_MS, 5). % also while the link would block
-define(HELD, 32000). % messages kept while the link would block

-define(OVER_MS, 3000). % beyond the rate's limit without a pause

-define(SEQ, 1).
-define(SENT, 2).
-define(DROPPED, 3).
-define(QUEUE, 4).
-define(MEMORY, 5).

%% #{keeper, pid, counters, undo}: counters is an atomics array of 5 (seq, sent, dropped, queue, memory) that the keeper reads.
%% -> {Relay, Pacer}
start(#{keeper := Keeper} = Opts) ->
    Relay = spawn_opt(?MODULE, init, [Opts], [{message_queue_data, off_heap}, {priority, high}, {min_heap_size, 20000}]),
    Ref = erlang:monitor(process, Relay),
    Relay ! {start, Keeper, Ref},
    receive
        {Ref, Pacer} ->
            erlang:demonitor(Ref, [flush]),
            {Relay, Pacer};
        {'DOWN', Ref, _, _, Why} ->
            exit(Why)
    end.

-record(s, {
    pid, % kprof-top's
    keeper,
    pacer,
    counters,
    undo,
    seq = 0,
    sent = 0,
    dropped = 0,
    weight = 1,
    gate = open, % open: forward; shut: count and discard (overload)
    pending = queue:new(), % {batch, N, Messages} | off | {answer, Pid, Ref}: in this order, one after the other
    held = 0, % messages in pending
    came = 0, % messages since the last tick
    tick = ?TICK_MS,
    max_age = 0, % native units; 0: no limit
    max_queue = 0,
    max_memory = 0,
    limit = none, % events a second, of kprof_breaker_00
    over = 0, % since when (ms) events beyond it come without a pause; 0: none do
    last_over = 0,
    watch = none, % a tier's number: its calls are counted
    watched = 0
}).

init(#{keeper := Keeper, pid := Pid, counters := Counters, undo := Undo}) ->
    register(?MODULE, self()),
    erlang:monitor(process, Keeper),
    receive
        {start, Keeper, Ref} ->
            Pacer = spawn_opt(?MODULE, pace, [self()], [link, {priority, high}]),
            Keeper ! {Ref, Pacer},
            loop([], 0, #s{pid = Pid, keeper = Keeper, pacer = Pacer, counters = Counters, undo = Undo})
    end.

loop(Acc, N, S) ->
    receive
        {trace_ts, _, return_to, _, _} = M ->
            add(M, Acc, N, S);
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
            tick(Acc, N, S);
        {'DOWN', _, process, Keeper, _} when Keeper =:= S#s.keeper ->
            orphaned(batch(Acc, N, S));
        Control ->
            loop([], 0, control(Control, batch(Acc, N, S)))
    end.

add(M, Acc, N, S) when N < ?BATCH - 1 -> loop([M | Acc], N + 1, S);
add(M, Acc, N, S) -> loop([], 0, guard(M, batch([M | Acc], N + 1, S#s{came = S#s.came + N + 1}))).

tick(Acc, N, #s{came = Came} = S0) ->
    S1 = deliver(batch(Acc, N, S0#s{came = Came + N})),
    note(S1),
    Ms = next_tick(S1),
    S1#s.pacer ! {done, Ms},
    S2 = S1#s{tick = Ms, came = 0},
    case Acc of
        [] -> loop([], 0, S2);
        [M | _] -> loop([], 0, guard(M, S2))
    end.

%% So often that the messages of a tick are still in the processor's cache, and not more often.
next_tick(#s{held = Held}) when Held > 0 -> ?LEAST_TICK_MS;
next_tick(#s{came = Came, tick = Ms}) when Came > 2 * ?BATCH -> max(?LEAST_TICK_MS, Ms div 2);
next_tick(#s{came = Came, tick = Ms}) when Came < ?BATCH div 2 -> min(?TICK_MS, Ms * 2);
next_tick(#s{tick = Ms}) -> Ms.

note(#s{counters = C} = S) ->
    {_, Queue} = process_info(self(), message_queue_len),
    {_, Memory} = process_info(self(), memory),
    atomics:put(C, ?QUEUE, Queue),
    atomics:put(C, ?MEMORY, Memory),
    atomics:put(C, ?SENT, S#s.sent),
    atomics:put(C, ?DROPPED, S#s.dropped),
    atomics:put(C, ?SEQ, S#s.seq).

control({weight, N}, S) -> S#s{weight = N};
control({undo, Undo}, S) -> S#s{undo = Undo};
control({limits, Age, Queue, Memory, Rate}, S) ->
    S#s{max_age = Age, max_queue = Queue, max_memory = Memory, limit = kprof_breaker_00:limit(Rate, now_ms()), over = 0};
control({gate, Gate}, S) -> S#s{gate = Gate, over = 0, last_over = 0};
control({watch, Ix, _, _}, S) -> S#s{watch = Ix, watched = 0};
control({watched, From, Ref}, S) ->
    From ! {watched, Ref, S#s.watched},
    S#s{watch = none};
control({flush, From, Ref}, S) -> deliver(later({answer, From, Ref}, S));
control(off, S) -> deliver(later(off, S));
control(_, S) -> S.

%% ---- Batches ----

batch(_, 0, S) ->
    S;
batch(_, N, #s{gate = shut} = S) ->
    S#s{dropped = S#s.dropped + N};
batch(Messages, N, #s{limit = none} = S) ->
    enqueue(Messages, N, S);
batch(Messages, N, #s{limit = Limit0} = S) ->
    Now = now_ms(),
    case kprof_breaker_00:admit(N, Now, Limit0) of
        {N, Limit} ->
            enqueue(Messages, N, S#s{limit = Limit});
        {Less, Limit} ->
            %% The oldest go on; the list is newest first.
            over(Now, enqueue(lists:nthtail(N - Less, Messages), Less, S#s{limit = Limit, dropped = S#s.dropped + N - Less}))
    end.

enqueue(_, 0, S) ->
    S;
enqueue(Messages, N, #s{held = Held} = S0) ->
    S = later({batch, N, Messages}, watch(Messages, S0#s{held = Held + N})),
    case Held of
        0 -> deliver(S);
        _ -> drop_oldest(S)
    end.

later(What, #s{pending = Q} = S) -> S#s{pending = queue:in(What, Q)}.

drop_oldest(#s{held = Held} = S) when Held =< ?HELD ->
    S;
drop_oldest(#s{pending = Q, held = Held} = S) ->
    {Before, [{batch, N, _} | After]} = lists:splitwith(fun(X) -> not is_tuple(X) orelse element(1, X) =/= batch end, queue:to_list(Q)),
    drop_oldest(S#s{pending = queue:from_list(Before ++ After), held = Held - N, dropped = S#s.dropped + N}).

%% Sends what the link takes without blocking.
deliver(#s{pending = Q0} = S) ->
    case queue:out(Q0) of
        {empty, _} ->
            S;
        {{value, {batch, N, Messages}}, Q} ->
            Seq = S#s.seq + 1,
            case send(S, {kb, Seq, S#s.dropped, S#s.weight, Messages}) of
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

named(Name, Msg) when is_atom(Name); is_integer(Name) -> Msg;
named(Name, Msg) ->
    case small(Name, 16) of
        Left when is_integer(Left) -> Msg;
        false -> setelement(4, Msg, cut(Name, 3))
    end.

%% How much is left of Budget after this term; false: it is too big.
small(B, Budget) when is_binary(B) -> byte_size(B) =< 256 andalso spend(Budget, 1);
small(A, Budget) when is_atom(A); is_number(A); is_pid(A); is_reference(A) -> spend(Budget, 1);
small(T, Budget) when is_tuple(T), tuple_size(T) =< 8 -> small_all(tuple_to_list(T), spend(Budget, 1));
small([H | _] = L, Budget) when is_integer(H) -> text(L, 256) andalso spend(Budget, 1);
small([], Budget) -> spend(Budget, 1);
small(_, _) -> false.

small_all(_, false) -> false;
small_all([X | Rest], Budget) -> small_all(Rest, small(X, Budget));
small_all([], Budget) -> Budget.

spend(false, _) -> false;
spend(Budget, N) when Budget >= N -> Budget - N;
spend(_, _) -> false.

text([C | Rest], Left) when is_integer(C), C >= 0, C < 16#110000, Left > 0 -> text(Rest, Left - 1);
text(End, _) -> End =:= [].

cut(B, _) when is_binary(B), byte_size(B) > 256 -> binary:part(B, 0, 256);
cut(X, _) when is_atom(X); is_float(X); is_pid(X); is_binary(X) -> X;
cut(X, _) when is_integer(X), X < 1 bsl 64, X > -(1 bsl 64) -> X;
cut(T, Depth) when is_tuple(T), Depth > 0 -> list_to_tuple([cut(X, Depth - 1) || X <- lists:sublist(elements(T, 1), 8)]);
cut([H | _] = L, _) when is_integer(H), H >= 0, H < 16#110000 -> characters(L, 256);
cut(_, _) -> '...'.

elements(T, I) when I =< tuple_size(T), I =< 8 -> [element(I, T) | elements(T, I + 1)];
elements(_, _) -> [].

characters([C | Rest], Left) when is_integer(C), C >= 0, C < 16#110000, Left > 0 -> [C | characters(Rest, Left - 1)];
characters(_, _) -> [].

%% ---- Guards ----

%% More came than may. Sampling is to put that right; where it cannot, the breaker opens.
over(Now, #s{over = Since, last_over = Last} = S) when Since =:= 0; Now - Last > 1000 -> S#s{over = Now, last_over = Now};
over(Now, #s{over = Since} = S) when Now - Since > ?OVER_MS ->
    shut(io_lib:format("more events/s than --max-rate allows, whatever the sampling, for ~b s", [?OVER_MS div 1000]), S);
over(Now, S) -> S#s{last_over = Now}.

now_ms() -> erlang:monotonic_time(millisecond).

%% Once a batch: are we too late, too full, too big? Then everything is off at once, and the keeper is told.
guard(_, #s{gate = shut} = S) ->
    S;
guard(M, S) ->
    Age = erlang:monotonic_time() - element(tuple_size(M), M),
    {_, Queue} = process_info(self(), message_queue_len),
    if
        S#s.max_age > 0, Age > S#s.max_age ->
            shut(io_lib:format("events were ~b ms old", [erlang:convert_time_unit(Age, native, millisecond)]), S);
        S#s.max_queue > 0, Queue > S#s.max_queue ->
            shut(io_lib:format("~b events were waiting", [Queue]), S);
        S#s.max_memory > 0 ->
            {_, Memory} = process_info(self(), memory),
            case Memory > S#s.max_memory of
                true -> shut(io_lib:format("waiting events took ~b MB", [Memory bsr 20]), S);
                false -> S
            end;
        true ->
            S
    end.

shut(_, #s{gate = shut} = S) ->
    S;
shut(Why, #s{keeper = Keeper, undo = Undo} = S) ->
    kprof_keeper_00:flags_off(Undo),
    Keeper ! {overload, self(), unicode:characters_to_binary(Why)},
    S#s{gate = shut}.

watch(_, #s{watch = none} = S) -> S;
watch(Messages, #s{watch = Ix} = S) ->
    S#s{watched = S#s.watched + length([1 || {trace_ts, _, call, _, Msg, _} <- Messages, element(1, Msg) =:= Ix])}.

%% The keeper was killed: all that it would undo, and tell.
orphaned(#s{undo = Undo} = S) ->
    kprof_keeper_00:undo(Undo, [self(), S#s.pacer]),
    send(S, {ke, keeper_died, <<"the keeper on the node was killed: tracing is off, the agent has cleaned up and ended">>}),
    send(S, {kx, S#s.seq}),
    exit(shutdown). % not normal: the pacer is linked

%% ---- The pacer ----

pace(Relay) -> pace(Relay, ?TICK_MS, running).

pace(Relay, Ms, State) ->
    receive
        kick -> ok
    after Ms -> ok
    end,
    Relay ! tick,
    State =:= suspended andalso erlang:resume_process(Relay),
    receive
        {done, Next} ->
            erlang:suspend_process(Relay, [asynchronous]),
            pace(Relay, Next, suspended)
    end.
