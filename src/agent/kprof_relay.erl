%% The relay: the tracer. Sends trace messages in batches. The overload checks are here, because kprof-top may be seconds
%% behind.
%%
%% To wake a process for each message costs more than to process the message. The relay is therefore suspended. Messages are
%% queued, and a pacer resumes it every 1 to 10 ms, when about 200 messages wait. A `tick` message marks where its turn ends.
%% Longer turns add to the latency of the node's clients: the relay works for at most ?SLICE_US, sends small batches, and
%% yields. It has priority over the node's own processes only while it is more than ?BEHIND_MS behind: then it may have to drop
%% messages and report this. Even then all others run once after each ?HIGH_US.
%%
%% A turn that does not end, with messages older than ?FLOOD_AGE_MS, is a flood: the waiting messages are dropped and counted,
%% and the controller cuts sampling at once.
-module(kprof_relay).
-export([start/1, init/1]).

-include("kprof_counters.hrl").

-type options() :: #{controller := pid(), pid := pid(), counters := atomics:atomics_ref(), plan := kprof_cleanup:plan() | #{}}.

-define(BATCH, 200).
-define(LEAST_TICK_MS, 1).
-define(BLOCKED_TICK_MS, 5). % while the connection would block
-define(IDLE_TICK_MS, 100). % while nothing is traced
-define(SLICE_US, 200).
-define(STEP, 16). % messages between two readings of the clock
-define(FLOOD, 2000). % a flood: this many messages in a turn,
-define(FLOOD_AGE_MS, 25). % of this age,
-define(CATCH_UP_MS, 250). % the relay counts as catching up while the age falls, but not longer than this
-define(WALKED, 1000). % messages; a longer queue is walked
-define(WALKED_MOST, 2000). % ... only up to this length,
-define(WALKED_MS, 20). % ... and not again within this time
-define(AGAIN_MS, 1000).
-define(CUT_MS, 200). % time until a cut takes effect
-define(MESSAGE_WORDS, 12). % overhead of a message, without its term
-define(BEHIND_MS, 20).
-define(HIGH_US, 1000). % time at high priority until all others run once
-define(SKIP, 1000).
-define(HELD, 32000). % messages kept while the connection would block
-define(MAX_WEIGHT_FACTOR, 16). % maximum factor on the weight of an event after drops
-define(HOLD_MS, 40). % maximum wait for a weight

-define(NUDGE_MS, 50). % minimum time between two reports that the limit is exceeded
-define(SEEN_US, 2000). % minimum time between two messages to the sampler

%% #{controller, pid, counters, plan}: counters is the atomics array of kprof_counters.hrl.
%% The limit of the VM (+hmax) does not apply to the relay: its own limits, which drop events, come first. -> {Relay, Pacer}
-spec start(options()) -> {pid(), pid()}.
start(#{controller := Controller} = Opts) ->
    Relay = spawn_opt(?MODULE, init, [Opts], [{message_queue_data, off_heap}, {min_heap_size, 20000}, {max_heap_size, 0}]),
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
    pid, % of kprof-top
    controller,
    pacer,
    counters,
    plan,
    seq = 0,
    sent = 0,
    dropped = 0,
    beyond = 0, % what ?BEYOND_EVENTS was at the last batch
    read = 0, % events that were sent, held or dropped
    weighted = 0, % sum of their weights
    weights = kprof_weights:new() :: kprof_weights:weights(),
    debt = 0, % weight of dropped events, which is added to the next events
    gate = open, % open: forward; shut: count and discard (breaker open); idle: discard (tracing off: late returns)
    pending = queue:new(), % {batch, N, Weight, Messages} | off | {answer, Pid, Ref}, in order
    held = 0, % messages in pending
    came = 0, % messages since the last tick
    slice_end = 0, % native
    high_priority = false,
    high_since = 0, % native
    message_bytes = 200, % estimated memory of a message
    walked_at = -1000000000000, % when (ms) a long queue was last walked
    flooded = none, % when (ms) the queue was over its limit and messages were dropped
    lag = none, % {Age, Came, At} at the start of this turn
    tick = ?TICK_MS,
    run = 0, % run time, native
    clock = 0, % time of the last reading, native
    max_age = 0, % native units; 0: no limit
    max_queue = 0,
    max_memory = 0,
    max_blocked = 0,
    blocked = 0, % since when (ms) the connection accepts no data; 0: it accepts data
    limit = none, % events per second, of kprof_breaker
    nudged = none, % when (ms) the controller was last told that the limit is exceeded
    args = kprof_args_limit:new() :: kprof_args_limit:limit(),
    detail = none :: none | kprof_detail:detail(),
    detail_seq = 0, % messages with scheduling events sent
    detail_events = 0, % scheduling events, sent or dropped
    helped = 0, % ns: run time of the helper for detailed requests
    reading = 0, % ns: the part of it in which it read files of modules
    watch = none, % {tier, epoch}: the calls of the tier that are counted
    watched = 0,
    weighed = [], % the tiers whose weights are added up (kprof_part_time)
    entries = 0, % sum of the weights of their calls
    copied = 0, % words of return values
    seen_by = none, % the sampler that wants to know which processes are traced
    seen_at = 0 % when (native) it was last told
}).

-spec init(options()) -> no_return().
init(#{controller := Controller, pid := Pid, counters := Counters, plan := Plan}) ->
    register(?MODULE, self()),
    erlang:monitor(process, Controller),
    receive
        {start, Controller, Ref} ->
            Pacer = kprof_pacer:start(self(), Controller, Counters),
            Controller ! {Ref, Pacer},
            loop([], 0, go_on(#s{pid = Pid, controller = Controller, pacer = Pacer, counters = Counters, plan = Plan}))
    end.

%% Continues the counters of a relay that was killed; the messages in its queue count as dropped.
go_on(#s{counters = C} = S) ->
    [Seq, Sent, Dropped, Read, Weighted, Queue, RunNs, Entries, Detail, Helped, Reading, Copied] =
        [atomics:get(C, I) || I <- [?SEQ, ?SENT, ?DROPPED, ?READ, ?WEIGHTED, ?QUEUE, ?RUN_NS, ?ENTRIES, ?DETAIL, ?HELPED_NS, ?READING_NS, ?COPIED]],
    S#s{beyond = atomics:get(C, ?BEYOND_EVENTS), copied = Copied, detail_events = Detail, helped = Helped, reading = Reading, entries = Entries, seq = Seq, sent = Sent, dropped = Dropped + Queue, read = Read, weighted = Weighted, run = erlang:convert_time_unit(RunNs, nanosecond, native), clock = erlang:monotonic_time()}.

loop(Acc, N, S) ->
    receive M -> taken(M, Acc, N, S) end.

taken({trace_ts, _, return_to, _, _} = M, Acc, N, S) ->
    add(M, Acc, N, S);
taken({trace_ts, _, call, _, Msg, _} = M, Acc, N, S) when tuple_size(element(3, Msg)) =:= 2 ->
    {Limited, Args} = kprof_args_limit:limited(M, S#s.args),
    add(Limited, Acc, N, S#s{args = Args});
taken({trace_ts, _, call, _, {_, _, _}, _} = M, Acc, N, S) ->
    add(M, Acc, N, S);
taken({trace_ts, P, call, MFA, Msg, Ts} = M, Acc, N, S) ->
    case kprof_name:clip(Msg) of
        same -> add(M, Acc, N, S);
        skip -> loop(Acc, N, S);
        Less -> add({trace_ts, P, call, MFA, Less, Ts}, Acc, N, S)
    end;
taken({trace_ts, P, return_from, MFA, Value, Ts}, Acc, N, #s{copied = Copied} = S) ->
    add({trace_ts, P, return_from, MFA, 0, Ts}, Acc, N, S#s{copied = Copied + words(Value)});
taken({trace_ts, P, exception_from, MFA, {Class, Value}, Ts}, Acc, N, #s{copied = Copied} = S) ->
    add({trace_ts, P, exception_from, MFA, {Class, 0}, Ts}, Acc, N, S#s{copied = Copied + words(Value)});
%% All messages of a process with the flag scheduler_id contain its scheduler; it is used only for in and out.
taken({trace_ts, P, What, A, B, _, Ts}, Acc, N, S) ->
    taken({trace_ts, P, What, A, B, Ts}, Acc, N, S);
taken({trace_ts, P, return_to, MFA, _, Ts}, Acc, N, S) ->
    add({trace_ts, P, return_to, MFA, Ts}, Acc, N, S);
taken({trace_ts, _, _, _, _, _}, Acc, N, #s{detail = none} = S) ->
    loop(Acc, N, S); % detailed requests were switched off
taken({trace_ts, P, What, Info, _, Ts}, Acc, N, S) when is_list(Info) ->
    add({trace_ts, P, What, 0, Ts}, Acc, N, S); % garbage collection
taken({trace_ts, _, _, _, _, _} = M, Acc, N, S) ->
    add(M, Acc, N, S); % in, out
taken(tick, Acc, N, S) ->
    tick(Acc, N, clocked(S));
taken({'DOWN', _, process, Controller, _}, Acc, N, #s{controller = Controller} = S) ->
    orphaned(batch(Acc, N, S));
taken(Control, Acc, N, S) ->
    loop([], 0, control(Control, batch(Acc, N, S))).

%% What the VM has copied of a value, and one word for the message. (This takes less time than the copy, and the words per second
%% are limited.)
words(Value) when is_atom(Value); is_integer(Value); is_pid(Value) -> 1;
words(Value) -> 1 + erts_debug:flat_size(Value).

add(M, Acc, N, S) when (N + 1) rem ?STEP =/= 0 -> loop([M | Acc], N + 1, S);
add(M, Acc, N, S0) when N + 1 < ?BATCH ->
    S = clocked(S0),
    case S#s.clock > S#s.slice_end of
        true -> loop([], 0, yielded(M, blocked(batch([M | Acc], N + 1, S#s{came = S#s.came + N + 1}))));
        false -> loop([M | Acc], N + 1, S)
    end;
add(M, Acc, N, S) ->
    loop([], 0, yielded(M, worked(blocked(batch([M | Acc], N + 1, S#s{came = S#s.came + N + 1}))))).

%% The clock is read every few messages. If these took long, the process was not scheduled, and a new slice begins.
clocked(#s{clock = Last, run = Run} = S) ->
    Now = erlang:monotonic_time(),
    Most = slice(),
    case Now - Last of
        Took when Took > Most -> S#s{clock = Now, slice_end = Now + Most, run = Run + Most div 20};
        Took -> S#s{clock = Now, run = Run + Took}
    end.

%% The clock after a batch, which may take as long as a slice: it counts up to that.
worked(#s{clock = Last, run = Run} = S) ->
    Now = erlang:monotonic_time(),
    S#s{clock = Now, run = Run + min(slice(), Now - Last)}.

%% Checks whether the slice is over. M: the last message.
yielded(M, #s{slice_end = End, clock = Before} = S0) when Before > End ->
    Age = Before - kprof_weights:made(M),
    S = worked(flooded(Age, guard(M, set_priority(Age, S0)))),
    counted(S), % the controller uses these counters, and a turn can be long
    rested(S);
yielded(M, S) ->
    guard(M, S).

set_priority(Age, #s{high_priority = HighPriority} = S) ->
    case Age =:= infinity orelse to_ms(Age) > ?BEHIND_MS of
        HighPriority ->
            S;
        Now ->
            process_flag(priority, if Now -> high; true -> normal end),
            S#s{high_priority = Now, high_since = S#s.clock}
    end.

%% Yields; a new slice begins. A yield at high priority lets only processes of that priority run, so after ?HIGH_US the yield
%% is at normal priority.
rested(#s{high_priority = HighPriority, high_since = Since} = S) ->
    High = erlang:convert_time_unit(?HIGH_US, microsecond, native),
    Others = HighPriority andalso erlang:monotonic_time() - Since > High,
    Others andalso process_flag(priority, normal),
    erlang:yield(),
    Others andalso process_flag(priority, high),
    Now = erlang:monotonic_time(),
    S#s{clock = Now, slice_end = Now + slice(), high_since = if Others -> Now; true -> Since end}.

slice() -> erlang:convert_time_unit(?SLICE_US, microsecond, native).

%% More messages arrive than the relay can process: it has worked for a long time since the last tick, is far behind, and
%% does not catch up.
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

%% Drops the waiting messages. Made is the time (ms) of the oldest message. That time is used because it may be long ago that
%% the relay ran. Messages from before a cut, and from shortly after it, do not show its effect.
flood(Made, #s{dropped = Before, controller = Controller, counters = C} = S0) ->
    S = skip(erlang:monotonic_time(), 0, set_priority(infinity, S0#s{came = 0, lag = none})),
    tells(Made, C) andalso (Controller ! {flood, self(), S#s.dropped - Before}),
    S.

tells(Made, C) -> Made >= atomics:get(C, ?CUT_AT) + ?CUT_MS.

%% Drops trace messages that were made before Until; other messages stay. The messages of one process stay in order.
skip(Until, N, S) ->
    receive
        {trace_ts, _, _, _, Ts} -> skip(Until, N, Ts, S);
        {trace_ts, _, _, _, _, Ts} -> skip(Until, N, Ts, S);
        {trace_ts, _, _, _, _, _, Ts} -> skip(Until, N, Ts, S);
        {weight, _, _} = Weight -> skip(Until, N, control(Weight, S))
    after 0 -> skipped(N, S)
    end.

skip(Until, N, Ts, S) when Ts < Until, N < ?SKIP -> skip(Until, N + 1, owed(Ts, S));
skip(Until, N, Ts, S0) when Ts < Until ->
    S = skipped(N + 1, owed(Ts, S0)), % its counters are read while others run
    counted(S),
    skip(Until, 0, rested(S));
skip(_, N, Ts, S) -> skipped(N + 1, owed(Ts, S)). % the first newer message is dropped as well

skipped(0, S) -> S;
skipped(_, S) -> lost_details(1, S). % perhaps a scheduling event

%% An event was dropped.
owed(Ts, #s{dropped = Dropped, debt = Debt, read = Read, weighted = Sum} = S) ->
    Weight = kprof_weights:at(Ts, S#s.weights),
    S#s{dropped = Dropped + 1, debt = Debt + Weight, read = Read + 1, weighted = Sum + Weight}.

tick(Acc, N, #s{came = Came} = S0) ->
    S1 = worked(blocked(deliver(batch(Acc, N, S0#s{came = Came + N})))),
    note(S1),
    Ms = next_tick(S1),
    S1#s.pacer ! {done, Ms},
    S2 = set_priority(0, S1#s{tick = Ms, came = 0, lag = none}),
    case Acc of
        [] -> loop([], 0, S2);
        [M | _] -> loop([], 0, guard(M, S2))
    end.

%% The time after which about 200 messages wait, which is about a slice.
next_tick(#s{held = Held}) when Held > 0 -> ?BLOCKED_TICK_MS;
next_tick(#s{gate = Gate, came = 0, detail = none}) when Gate =/= open -> ?IDLE_TICK_MS;
next_tick(#s{came = Came, tick = Ms}) when Came > ?BATCH -> max(?LEAST_TICK_MS, Ms * ?BATCH div Came);
next_tick(#s{came = Came, tick = Ms, limit = none}) when Came < ?BATCH div 2 -> min(?TICK_MS, Ms * 2);
next_tick(#s{limit = {_, _, _}, tick = Ms}) -> min(?TICK_MS, Ms * 2); % a burst reaches the limit at once
next_tick(#s{tick = Ms}) -> Ms.

note(#s{counters = C} = S) ->
    {_, Queue} = process_info(self(), message_queue_len),
    atomics:put(C, ?QUEUE, Queue),
    atomics:put(C, ?MEMORY, estimated(Queue, S)),
    counted(S).

counted(#s{counters = C} = S) ->
    atomics:put(C, ?SENT, S#s.sent),
    atomics:put(C, ?DROPPED, S#s.dropped),
    atomics:put(C, ?READ, S#s.read),
    atomics:put(C, ?WEIGHTED, S#s.weighted),
    atomics:put(C, ?RUN_NS, erlang:convert_time_unit(S#s.run, native, nanosecond)),
    atomics:put(C, ?SEQ, S#s.seq),
    atomics:put(C, ?DETAIL, S#s.detail_events),
    atomics:put(C, ?HELPED_NS, S#s.helped),
    atomics:put(C, ?READING_NS, S#s.reading),
    atomics:put(C, ?ENTRIES, S#s.entries),
    atomics:put(C, ?COPIED, S#s.copied),
    atomics:add(C, ?NOTED, 1).

control({weight, N, Since}, S) -> S#s{weights = kprof_weights:changed(N, Since, S#s.weights)};
control(hold, S) ->
    %% the weight of the events that follow is not known before the last of them was made
    receive {weight, _, _} = Weight -> control(Weight, S)
    after ?HOLD_MS -> S
    end;
control({cleanup, Plan}, S) -> S#s{plan = Plan};
control({limits, Age, Queue, Memory, Rate, BlockedMs}, S) ->
    S#s{max_age = Age, max_queue = Queue, max_memory = Memory, max_blocked = BlockedMs, limit = kprof_breaker:limit(Rate, now_ms())};
control({gate, Gate}, S0) -> S = beyond(S0), S#s{gate = Gate, debt = 0, blocked = 0, tick = ?LEAST_TICK_MS};
control({detail, Flags}, S) -> detail(Flags, S);
control({off_done, P, Before, After}, #s{detail = Detail0} = S) when Detail0 =/= none ->
    {Events, Detail} = kprof_detail:cleared(P, Before, After, Detail0),
    details(Events, length(Events), S#s{detail = Detail, helped = S#s.helped + kprof_detail:cleared_ns(Before, After)});
control({told, Event}, #s{detail = Detail} = S) when Detail =/= none -> details([Event], 1, S);
control({helped, Ns}, S) -> S#s{helped = S#s.helped + Ns};
control({helped_reading, Ns}, S) -> S#s{helped = S#s.helped + Ns, reading = S#s.reading + Ns};
control({seen_by, Sampler}, S) -> S#s{seen_by = Sampler, seen_at = S#s.clock};
control({watch, Ix, Epoch}, S) -> S#s{watch = {Ix, Epoch}, watched = 0};
control({watched, From, Ref}, S) ->
    From ! {watched, Ref, S#s.watched},
    S#s{watch = none};
control({weighed, Ixs}, S) -> S#s{weighed = Ixs};
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
batch(Messages, N, #s{detail = none} = S) ->
    admitted(Messages, N, S);
batch(Messages, N, #s{detail = Detail0, plan = Plan} = S0) ->
    {Calls, NCalls, Events, NEvents, Detail} = kprof_detail:split(Messages, maps:get(session, Plan, none), now_ms(), Detail0),
    S = details(Events, NEvents, S0#s{detail = Detail, detail_events = S0#s.detail_events + N - NCalls}),
    admitted(Calls, NCalls, S).

admitted(_, 0, S) ->
    S;
admitted(Messages, N, S0) ->
    S = beyond(S0),
    {Parts, Weights} = kprof_weights:parts(Messages, N, S#s.weights),
    admit(Parts, N, S#s{weights = Weights, read = S#s.read + N}).

admit([], _, S) ->
    S;
admit([{N, Weight, Messages} | Parts], Left, #s{weighted = Sum} = S) ->
    admit(Parts, Left - N, admit(Messages, N, Weight, Left - N, S#s{weighted = Sum + N * Weight})).

%% After: messages in later parts.
admit(Messages, N, Weight, After, #s{limit = none} = S) ->
    enqueue(Messages, N, Weight, After, S);
admit(Messages, N, Weight, After, #s{limit = Limit0} = S) ->
    Now = now_ms(),
    case kprof_breaker:admit(N, Now, Limit0) of
        {N, Limit} ->
            enqueue(Messages, N, Weight, After, S#s{limit = Limit});
        {Less, Limit} ->
            %% The oldest are sent; the list is newest first.
            nudge(Now, dropped(N - Less, Weight, enqueue(lists:nthtail(N - Less, Messages), Less, Weight, After, S#s{limit = Limit})))
    end.

enqueue(_, 0, _, _, S) ->
    S;
enqueue(Messages, N, Sampled, After, #s{held = Held, debt = Debt} = S0) ->
    Weight = min(?MAX_WEIGHT_FACTOR * Sampled, Sampled + Debt div (N + After)),
    S1 = S0#s{held = Held + N, debt = Debt - (Weight - Sampled) * N, entries = entries(Messages, Weight, S0)},
    S = later({batch, N, Weight, Messages}, seen(Messages, watch(Messages, S1))),
    case Held of
        0 -> deliver(S);
        _ -> drop_oldest(S)
    end.

%% The processes of a batch, and whether the event was a call: to the sampler of stacks, if it wants them. If there are many
%% batches, it gets only some.
seen(_, #s{seen_by = none} = S) -> S;
seen(Messages, #s{seen_by = Sampler, clock = Now, seen_at = At} = S) ->
    case Now - At < erlang:convert_time_unit(?SEEN_US, microsecond, native) of
        true -> S;
        false ->
            Sampler ! {seen, [{element(2, M), element(3, M) =:= call} || M <- Messages]},
            S#s{seen_at = Now}
    end.

%% Scheduling events of detailed requests wait in the same queue.
details(_, 0, S) -> S;
details(Events, N, #s{held = 0} = S) -> deliver(later({detail, N, Events}, S#s{held = N}));
details(Events, N, #s{held = Held} = S) -> drop_oldest(later({detail, N, Events}, S#s{held = Held + N})).

%% Switches detailed requests on, with these flags, or off ([]).
detail([], #s{detail = none} = S) -> S;
detail([], #s{detail = Detail, plan = Plan} = S) ->
    kprof_detail:stop(maps:get(session, Plan, none), Detail),
    S#s{detail = none};
detail(Flags, #s{detail = none} = S) -> S#s{detail = kprof_detail:new(Flags)};
detail(Flags, #s{detail = Detail} = S) ->
    case kprof_detail:has(Flags, Detail) of
        true -> S;
        false -> detail(Flags, detail([], S))
    end.

later(What, #s{pending = Q} = S) -> S#s{pending = queue:in(What, Q)}.

drop_oldest(#s{held = Held} = S) when Held =< ?HELD ->
    S;
drop_oldest(#s{pending = Q, held = Held} = S) ->
    {Before, [Oldest | After]} = lists:splitwith(fun(X) -> not is_tuple(X) orelse element(1, X) =:= answer end, queue:to_list(Q)),
    N = element(2, Oldest),
    S1 = S#s{pending = queue:from_list(Before ++ After), held = Held - N},
    drop_oldest(case Oldest of {batch, N, Weight, _} -> dropped(N, Weight, S1); _ -> lost_details(N, S1) end).

lost_details(_, #s{detail = none} = S) -> S;
lost_details(N, #s{detail = Detail} = S) -> S#s{detail = kprof_detail:lost(N, Detail)}.

dropped(N, Weight, S) -> S#s{dropped = S#s.dropped + N, debt = S#s.debt + N * Weight}.

%% The events from now on stand for those of calls beyond the limit of bursts, too. The pacer counted them before it woke the
%% relay, so these are events of the same burst. There the weight is 1.
beyond(#s{counters = C, beyond = Before, debt = Debt} = S) ->
    Now = atomics:get(C, ?BEYOND_EVENTS),
    S#s{beyond = Now, debt = Debt + Now - Before}.

%% Sends as much as possible without blocking.
deliver(#s{pending = Q0} = S) ->
    case queue:out(Q0) of
        {empty, _} ->
            S;
        {{value, {batch, N, Weight, Messages}}, Q} ->
            Seq = S#s.seq + 1,
            case send(S, {kb, Seq, S#s.dropped, Weight, Messages}) of
                ok -> deliver(delivered(S#s{pending = Q, seq = Seq, sent = S#s.sent + N, held = S#s.held - N}));
                _ -> S
            end;
        {{value, {detail, N, Events}}, Q} ->
            case send(S, {kd, S#s.detail_seq + 1, details_dropped(S), Events}) of
                ok -> deliver(delivered(S#s{pending = Q, detail_seq = S#s.detail_seq + 1, held = S#s.held - N}));
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

%% If many batches wait, each counts as run time by itself: a long step counts as a wait.
delivered(#s{pending = Q} = S) ->
    case queue:is_empty(Q) of
        true -> S;
        false -> worked(S)
    end.

details_dropped(#s{detail = none}) -> 0;
details_dropped(#s{detail = Detail}) -> kprof_detail:dropped(Detail).

send(#s{pid = Pid}, What) -> erlang:send(Pid, What, [nosuspend, noconnect]).

%% ---- Overload checks ----

%% More events arrived than the limit allows: the controller cuts sampling now, not at its next evaluation.
nudge(Now, #s{nudged = Last} = S) when is_integer(Last), Now - Last < ?NUDGE_MS ->
    S;
nudge(Now, #s{controller = Controller} = S) ->
    Controller ! {over, self()},
    S#s{nudged = Now}.

now_ms() -> erlang:monotonic_time(millisecond).
to_ms(Native) -> erlang:convert_time_unit(Native, native, millisecond).

%% Once per batch and tick (a tick may be far back in the queue): how long messages have been held because the
%% connection would block.
blocked(#s{held = 0} = S) -> S#s{blocked = 0};
blocked(#s{blocked = 0} = S) -> S#s{blocked = now_ms()};
blocked(#s{blocked = Since, max_blocked = Max, gate = open} = S) when Max > 0 ->
    case now_ms() - Since of
        Ms when Ms > Max -> shut(io_lib:format("the connection to kprof-top accepted no data for ~b ms", [Ms]), S);
        _ -> S
    end;
blocked(S) -> S.

%% Once per batch, slice and tick: checks age, queue and memory. Beyond a limit, all tracing is stopped at once and the
%% controller is told.
guard(_, #s{gate = shut} = S) ->
    S;
guard(M, S) ->
    Age = erlang:monotonic_time() - kprof_weights:made(M),
    %% The length counts only messages that a receive has scanned; newer ones are counted later.
    {_, Queue} = process_info(self(), message_queue_len),
    atomics:put(S#s.counters, ?QUEUE, Queue),
    if
        S#s.max_age > 0, Age > S#s.max_age ->
            shut(io_lib:format("events were ~b ms old", [to_ms(Age)]), S);
        S#s.max_queue > 0, Queue > S#s.max_queue ->
            overfull(to_ms(kprof_weights:made(M)), Queue, S);
        S#s.max_memory > 0 ->
            Bytes = (erts_debug:flat_size(M) + ?MESSAGE_WORDS) * erlang:system_info(wordsize),
            case memory(Queue, S#s{message_bytes = max(Bytes, S#s.message_bytes * 7 div 8)}) of
                {Memory, S1} when Memory > S#s.max_memory -> shut(io_lib:format("events in the queue took ~b MB", [Memory bsr 20]), S1);
                {_, S1} -> S1
            end;
        true ->
            S
    end.

%% Informs the controller, which cuts sampling further, or opens the breaker if sampling cannot help. If the controller does
%% nothing, the breaker opens here.
overfull(Made, Queue, #s{flooded = Last, counters = C} = S) ->
    case Last =:= none orelse atomics:get(C, ?CUT_AT) >= Last of
        true -> flood(Made, case tells(Made, C) of true -> S#s{flooded = now_ms()}; false -> S end);
        false when Made =< Last + ?AGAIN_MS -> flood(Made, S);
        false -> shut(io_lib:format("~b events were in the queue", [Queue]), S)
    end.

%% Memory of the relay with its queue. process_info walks the queue (250 ms for 2.6 million messages), so for a long queue the
%% memory is estimated: from its last walk, or from one message. (A message that the relay has shortened was larger in the
%% queue.)
-spec memory(non_neg_integer(), #s{}) -> {non_neg_integer(), #s{}}.
memory(Queue, #s{message_bytes = Each, walked_at = At} = S) ->
    Now = now_ms(),
    case Queue < ?WALKED orelse Queue > ?WALKED_MOST orelse Now - At < ?WALKED_MS of
        true ->
            {estimated(Queue, S), S};
        false ->
            Memory = element(2, process_info(self(), memory)),
            {Memory, S#s{message_bytes = max(Each, Memory div Queue), walked_at = Now}}
    end.

estimated(Queue, _) when Queue < ?WALKED -> element(2, process_info(self(), memory));
estimated(Queue, #s{message_bytes = Each}) -> Queue * Each.

shut(_, #s{gate = shut} = S) ->
    S;
shut(Why, #s{controller = Controller, plan = Plan} = S) ->
    Controller ! {overload, self(), unicode:characters_to_binary(Why)},
    kprof_cleanup:stop_tracing(Plan),
    S#s{gate = shut}.

watch(_, #s{watch = none} = S) -> S;
watch(Messages, #s{watch = {Ix, Epoch}} = S) ->
    Calls = [1 || {trace_ts, _, call, _, Msg, _} <- Messages, element(1, Msg) =:= Ix, is_of_session(element(2, Msg), Epoch)],
    S#s{watched = S#s.watched + length(Calls)}.

entries(_, _, #s{weighed = [], entries = Sum}) -> Sum;
entries(Messages, Weight, #s{weighed = Ixs, entries = Sum}) ->
    Sum + Weight * length([x || {trace_ts, _, call, _, Msg, _} <- Messages, lists:member(element(1, Msg), Ixs)]).

%% Not the label of a token that an earlier session left.
is_of_session(Label, Epoch) when is_integer(Label), Label > 0 -> kprof_spec:of_epoch(Label, Epoch);
is_of_session(_, _) -> true.

%% The controller was killed: cleans up and reports in its place.
orphaned(#s{plan = Plan} = S) when map_size(Plan) > 0 ->
    kprof_cleanup:leaving(),
    kprof_cleanup:all(Plan),
    Reaper = kprof_cleanup:reap([S#s.pacer]),
    send(S, {kx, S#s.seq}),
    kprof_cleanup:gone(S#s.pid, <<"its controller on the node was killed: tracing is off, nothing is left behind">>),
    kprof_cleanup:reap_at_last(Reaper),
    exit(shutdown); % not normal, because the pacer is linked
orphaned(_) ->
    exit(nothing_set). % the guardian continues
