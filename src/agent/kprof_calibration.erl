%% What a traced call costs on this node, measured at attach with functions of the agent.
%%
%% Invariant: changes no process and no function except its own, leaves nothing set, ends within ?ENOUGH_MS + ?LATE_MS. If it
%% may not measure (another tracer, no sessions) or cannot in time, the result has default costs, and assumed is true.
%%
%% The speed of a machine changes while a node runs, and the caches have less of what a call needs the longer ago the last one
%% was. So the costs are ratios to the time of some work (loop_ns/0, measured beside each call), and those of unsampled calls are
%% measured at two distances between calls (at/3).
-module(kprof_calibration).
-calls_stay(all).
-export([calibrate/3, calibrate/4, loop_ns/0, at/3]).
-export([calibration_plain/1, calibration_told/3, calibration_tier/1, calibration_miss/1, calibration_full/1, calibration_entry/1, calibration_rare/1, calibration_rare0/1, calibration_hit0/1, calibration_counted/1, calibration_detail/1, calibration_draw/1, sink/1, beside/1]).
-export_type([costs/0]).

-type ns() :: pos_integer().
%% Nanoseconds per call, for each kind of call. loop: of loop_ns/0 meanwhile; 0: not known. close: of unsampled calls that
%% follow each other closely.
-type costs() :: #{
    hit := ns(), full := ns(), args := ns(), entry := ns(), rare := ns(), rare0 := ns(), hit0 := ns(), miss := ns(), count := ns(),
    detail := non_neg_integer(), draw := non_neg_integer(), loop := non_neg_integer(), close := #{miss := ns(), rare := ns(), rare0 := ns()}, assumed := boolean()
}.

-define(ENOUGH_MS, 1000). % on a busy node these processes wait for their turns most of the time
-define(LATE_MS, 500). % after it, the measurement is given up
-define(CALLS, 120). % of each kind
-define(SLICE, 40). % calls until the process lets others run: about 0.5 ms; 4000 reductions of this work are 5 ms
-define(ENOUGH, 40). % at least this many must overlap with calls of the second process; if both processes share one scheduler, fewer calls seem to overlap
-define(CONTENDED, 110). % percent of the cost of a call alone: a call while others make calls, if that could not be measured
%% Pieces of work (works/2), some 0.35 us each.
-define(PAUSE, 30). % before each call: if calls follow each other faster, the caches still have all that a call needs
-define(CLOSE, 6). % unsampled calls: two distances
-define(FAR, 40).
-define(LOOP, 2). % ?LOOPS times
-define(LOOPS, 3).
-define(COLD_LOOPS, 16). % the first ones of a process that has just been woken take several times as long
-define(SLOWEST, 3). % times the speed at attach, in both directions
-define(LONGEST, 3). % medians
%% Percent: a traced call also slows down the code after it (its caches, and its memory if a message was sent), as `make impact PART=cost` shows.
-define(INDIRECT, 118).
-define(INDIRECT_COMMON, 130). % of unsampled calls on VMs without trace sessions
-define(INDIRECT_NO_ENTRY, 106). % of unsampled calls without an entry on the others
-define(INDIRECT_SENT, 150).
-define(NO_LIMIT, {max_heap_size, 0}). % of heaps (+hmax)
-define(HEAP, {min_heap_size, 10000}). % few collections
-define(START_MS, 20). % maximum until the second process runs
-define(FLAGS, [call, arity, monotonic_timestamp, return_to]).
%% Kinds of calls.
-define(PLAIN, 1).
-define(MISS, 2).
-define(RARE, 3).
-define(RARE0, 4).
-define(COUNTED, 5).
-define(TIER, 6).
-define(ENTRY, 7).
-define(TOLD, 8).
-define(DETAIL, 9).
-define(DRAW, 10).
-define(FULL, 11).
-define(HIT0, 12).
%% Atomics: the kind that is called now (0: the end), the number of calls of the second process, and the pause before calls.
-define(CALLED, 1).
-define(PEER, 2).
-define(PAUSED, 3).

%% The time of a loop, now, in nanoseconds: how fast this scheduler's core is. The process may be interrupted in it, so the
%% shortest of some times counts.
-spec loop_ns() -> pos_integer().
loop_ns() -> max(1, nanoseconds(looped(?COLD_LOOPS, erlang:monotonic_time(), undefined))).

%% Native time; undefined is greater than all numbers.
looped(0, _, Least) ->
    Least;
looped(N, Began, Least) ->
    works(?LOOP, N),
    Now = erlang:monotonic_time(),
    looped(N - 1, Now, min(Least, Now - Began)).

nanoseconds(Native) -> round(Native * 1000000000 / erlang:convert_time_unit(1, second, native)).

%% The costs at the speed that the loop shows (loop_ns/0; 0: not known), if this is the time between two calls on a scheduler.
-spec at(costs(), number(), number()) -> costs().
at(#{loop := Then, close := #{miss := Miss, rare := Rare, rare0 := Rare0}} = Costs, Loop, GapNs) ->
    Speed = if Then =:= 0; Loop == 0 -> 1; true -> limited(Loop / Then) end,
    Far = far(GapNs, Then * Speed),
    Between = fun(Close, What) -> Close + Far * (maps:get(What, Costs) - Close) end,
    Apart = Costs#{miss := Between(Miss, miss), rare := Between(Rare, rare), rare0 := Between(Rare0, rare0)},
    maps:map(fun(K, V) when K =/= loop, is_number(V) -> max(1, round(V * Speed)); (_, V) -> V end, Apart).

limited(Ratio) -> max(1 / ?SLOWEST, min(?SLOWEST, Ratio)).

%% 0: as close as ?CLOSE, 1: as far as ?FAR; between these the cost grows with the logarithm of the distance.
far(_, Loop) when Loop == 0 -> 1;
far(GapNs, Loop) ->
    Pieces = max(?CLOSE, min(?FAR, GapNs * ?LOOP / Loop)),
    math:log(Pieces / ?CLOSE) / math:log(?FAR / ?CLOSE).

%% Isolated: the VM has sessions; Others: another tracer is active. -> {Costs, the session of the measurement, in which nothing is
%% set any more: kprof_spec:end_session/1 must end it}
-spec calibrate(boolean(), boolean(), pos_integer()) -> {costs(), kprof_spec:session()}.
calibrate(Isolated, Others, Epoch) -> calibrate(Isolated, Others, Epoch, ?ENOUGH_MS).

%% After EnoughMs no other kind of call is measured.
-spec calibrate(boolean(), boolean(), pos_integer(), non_neg_integer()) -> {costs(), kprof_spec:session()}.
calibrate(false, true, _, _) ->
    {kprof_calibration_costs:assumed(), none};
calibrate(Isolated, _, Epoch, EnoughMs) ->
    Until = erlang:monotonic_time(millisecond) + EnoughMs,
    {P, R} = spawn_opt(fun() -> exit({measured, measure(Isolated, Epoch, Until)}) end, [monitor, ?HEAP, ?NO_LIMIT]),
    receive
        {'DOWN', R, _, _, {measured, Measured}} -> Measured;
        {'DOWN', R, _, _, _} -> given_up(Isolated)
    after EnoughMs + ?LATE_MS ->
        exit(P, kill),
        receive {'DOWN', R, _, _, _} -> given_up(Isolated) end
    end.

given_up(Isolated) ->
    Isolated orelse kprof_calibration_patterns:unset(me(), none),
    {kprof_calibration_costs:assumed(), none}.

measure(Isolated, Epoch, Until) ->
    Sink = spawn_opt(kprof_calibration, sink, [self()], [link, {message_queue_data, off_heap}, ?NO_LIMIT]),
    erlang:suspend_process(Sink), % like the relay, which works only now and then
    Session = kprof_spec:session(Isolated, me(), Sink),
    Detail = kprof_detail:allowed(kprof_hazard:vm()),
    kprof_calibration_patterns:set(me(), Session, Epoch, Detail),
    %% If another tracer has begun to trace new processes, this fails.
    1 = kprof_spec:flags({Session, Sink}, self(), true, ?FLAGS),
    At = atomics:new(3, []),
    Peer = peer(At, {Session, Sink}),
    Costs = run(At, {Session, Sink}, Detail, Until),
    ended(At, Peer),
    seq_trace:set_token([]), % the exit signal must not carry a token to the controller
    kprof_spec:flags({Session, Sink}, self(), false, [all]),
    kprof_calibration_patterns:unset(me(), Session),
    unlink(Sink),
    exit(Sink, kill),
    {Costs, Session}.

run(At, {Session, Sink} = Tracer, Detail, Until) ->
    %% Memory that is new to the VM is slow: messages need some that was used before.
    typical(?ENTRY, ?CLOSE, 0, At),
    emptied(Sink),
    {Base, Loop} = typical(?PLAIN, ?PAUSE, 0, At),
    Of = fun(Kinds, Pause) -> [{Name, typical(What, Pause, Base, At)} || {Name, What} <- Kinds, is_time(Until), emptied(What, Sink)] end,
    Unsampled = [{miss, ?MISS}, {rare, ?RARE}, {rare0, ?RARE0}],
    Far = Of(Unsampled, ?FAR),
    Sent = Of([{hit, ?TIER}, {entry, ?ENTRY}, {hit0, ?HIT0}], ?PAUSE),
    Close = Of(Unsampled, ?CLOSE),
    Count = Of([{count, ?COUNTED}], ?PAUSE),
    More = Of([{args, ?TOLD}] ++ [Kind || Detail, Kind <- [{detail, ?DETAIL}, {draw, ?DRAW}]], ?PAUSE),
    kprof_spec:flags(Tracer, self(), false, [return_to]),
    Full = Of([{full, ?FULL}], ?PAUSE),
    Loops = [L || {_, {_, L}} <- Far ++ Close ++ Count ++ Sent ++ More ++ Full],
    Usual = lists:sum([Loop | Loops]) / (1 + length(Loops)),
    Ns = fun(Measured, Percent) -> maps:from_list([{Name, max(1, round(Ratio * Usual * Percent(Name) / 100))} || {Name, {Ratio, _}} <- Measured]) end,
    Indirect = fun(Name) -> indirect(Name, Session) end,
    kprof_calibration_costs:completed(maps:merge(Ns(Far ++ Count, Indirect), Ns(Sent ++ More ++ Full, fun(_) -> ?INDIRECT_SENT end)), Ns(Close, Indirect), max(1, round(Usual))).

indirect(_, none) -> ?INDIRECT_COMMON;
indirect(rare0, _) -> ?INDIRECT_NO_ENTRY;
indirect(_, _) -> ?INDIRECT.

is_time(Until) -> erlang:monotonic_time(millisecond) < Until.

%% The tracer has read the messages that calls of the kind before have sent; it must be scheduled for this.
emptied(What, _) when What =:= ?MISS; What =:= ?RARE; What =:= ?RARE0; What =:= ?COUNTED -> true;
emptied(_, Sink) -> emptied(Sink).

emptied(Sink) ->
    Sink ! {self(), read},
    erlang:resume_process(Sink),
    receive {Sink, read} -> erlang:suspend_process(Sink) end.

%% A call, in loops of loop_ns/0, minus Base, and that loop in nanoseconds. There is a pause before each call, as in an
%% application. Calls that were made while the second process made the same calls are used, if there are enough.
typical(What, Pause, Base, At) ->
    atomics:put(At, ?CALLED, What),
    atomics:put(At, ?PAUSED, Pause),
    token(What),
    case samples(What, At, Pause, ?CALLS, atomics:get(At, ?PEER), [], []) of
        {Beside, _} when length(Beside) >= ?ENOUGH -> relative(Beside, Base, 100);
        {Beside, Alone} -> relative(Beside ++ Alone, Base, alone(What))
    end.

relative(Samples, Base, Percent) ->
    Loop = mean([L || {L, _} <- Samples]),
    {(mean([Took || {_, Took} <- Samples]) / Loop - Base) * Percent / 100, nanoseconds(Loop)}.

%% The cost of a call while the second process makes the same calls, in percent of its cost alone. The kinds in the first
%% clause send no message and do not write the control word.
alone(What) when What =:= ?PLAIN; What =:= ?MISS; What =:= ?COUNTED -> 100;
alone(_) -> case erlang:system_info(schedulers_online) of 1 -> 100; _ -> ?CONTENDED end.

samples(_, _, _, 0, _, Beside, Alone) ->
    {Beside, Alone};
samples(What, At, Pause, N, Before, Beside, Alone) ->
    yielded(N),
    Loop = looped(?LOOPS, erlang:monotonic_time(), undefined),
    works(Pause - ?LOOPS * ?LOOP, N),
    Began = erlang:monotonic_time(),
    made(What, N),
    Sample = {Loop, erlang:monotonic_time() - Began},
    case atomics:get(At, ?PEER) of
        Before -> samples(What, At, Pause, N - 1, Before, Beside, [Sample | Alone]);
        Now -> samples(What, At, Pause, N - 1, Now, [Sample | Beside], Alone)
    end.

yielded(N) -> N rem ?SLICE =:= 0 andalso erlang:yield().

%% Native time. A sample counts for at most ?LONGEST medians: in a longer one, something else ran. Long samples below this limit
%% belong to the cost: two schedulers write to the same memory, or one waits for a lock.
mean(Samples) ->
    N = length(Samples),
    Most = ?LONGEST * lists:nth(N div 2 + 1, lists:sort(Samples)),
    lists:sum([min(Most, X) || X <- Samples]) / N.

%% Some of what applications do. A loop that only computes is no measure for the speed: on some CPUs, the same loop takes 0.7 us or
%% 1.8, as what ran before it has it. The work takes few reductions, so that these processes
%% seldom wait for their turn; they yield after ?SLICE calls instead.
works(0, X) -> X;
works(N, X) -> works(N - 1, some_work(X, N)).

some_work(X, N) ->
    Map = #{a => N, b => [X, N], c => {X, N}},
    #{b := [A | _], c := {B, _}} = Map,
    Sorted = lists:keysort(1, [{(A * 7) rem 13, a}, {B rem 5, b}, {N rem 7, c}]),
    Bytes = list_to_binary([integer_to_list(A), [K || {K, _} <- Sorted]]),
    (byte_size(Bytes) + erlang:phash2(Sorted) + map_size(Map#{N => Sorted}) + length(binary_to_list(Bytes))) band 16#ffff.

%% A second process that makes the same calls at the same time, on another scheduler: to send from two schedulers to one
%% process, and to write the control word from both, costs up to twice as much as from one.
peer(At, Tracer) ->
    atomics:put(At, ?CALLED, ?PLAIN),
    atomics:put(At, ?PAUSED, ?PAUSE),
    case erlang:system_info(schedulers_online) of
        1 ->
            none;
        _ ->
            {P, _} = Peer = spawn_opt(kprof_calibration, beside, [At], [link, monitor, ?HEAP, ?NO_LIMIT]),
            1 = kprof_spec:flags(Tracer, P, true, ?FLAGS),
            runs(At, erlang:monotonic_time(millisecond) + ?START_MS),
            Peer
    end.

%% Until it runs on another scheduler.
runs(At, Until) ->
    Before = atomics:get(At, ?PEER),
    works(2 * ?PAUSE, 1),
    case atomics:get(At, ?PEER) > Before orelse erlang:monotonic_time(millisecond) > Until of
        true -> ok;
        false ->
            erlang:yield(),
            runs(At, Until)
    end.

ended(_, none) ->
    ok;
ended(At, {P, Ref}) ->
    atomics:put(At, ?CALLED, 0),
    receive {'DOWN', Ref, process, P, _} -> ok end.

-spec beside(atomics:atomics_ref()) -> ok.
beside(At) -> beside(At, 0, 0).

%% Pauses of different lengths: with the same ones, both processes would soon make all calls at the same instant.
beside(At, Last, N) ->
    case atomics:get(At, ?CALLED) of
        0 ->
            seq_trace:set_token([]),
            ok;
        What ->
            What =:= Last orelse token(What),
            Pause = atomics:get(At, ?PAUSED),
            yielded(N),
            works(Pause div 2 + erlang:phash2(N, Pause), N),
            made(What, Last),
            atomics:add(At, ?PEER, 1),
            beside(At, What, N + 1)
    end.

%% Calls inside of requests.
token(What) when What =:= ?TIER; What =:= ?TOLD; What =:= ?DETAIL; What =:= ?FULL -> seq_trace:set_token(label, 1);
token(_) -> seq_trace:set_token([]).

made(?PLAIN, X) -> ?MODULE:calibration_plain(X);
made(?MISS, X) -> ?MODULE:calibration_miss(X);
made(?RARE, X) -> ?MODULE:calibration_rare(X);
made(?RARE0, X) -> ?MODULE:calibration_rare0(X);
made(?HIT0, X) -> ?MODULE:calibration_hit0(X);
made(?COUNTED, X) -> ?MODULE:calibration_counted(X);
made(?TIER, X) -> ?MODULE:calibration_tier(X);
made(?ENTRY, X) -> ?MODULE:calibration_entry(X);
made(?TOLD, X) -> ?MODULE:calibration_told({get, X, <<X:24>>}, {self(), [X]}, <<X:40>>); % no constant: kprof_text:stored_binary/1
made(?DETAIL, X) -> ?MODULE:calibration_detail(X);
made(?DRAW, X) -> ?MODULE:calibration_draw(X);
made(?FULL, X) -> ?MODULE:calibration_full(X).

me() -> ?MODULE:module_info(module).

%% The functions that are called. These names do not change when the sources are merged.
-spec calibration_plain(X) -> X.
calibration_plain(X) -> X.
-spec calibration_told(X, term(), term()) -> X.
calibration_told(X, _, _) -> X.
-spec calibration_tier(X) -> X.
calibration_tier(X) -> X.
-spec calibration_miss(X) -> X.
calibration_miss(X) -> X.
-spec calibration_full(X) -> X.
calibration_full(X) -> X.
-spec calibration_detail(X) -> X.
calibration_detail(X) -> X.
-spec calibration_draw(X) -> X.
calibration_draw(X) -> X.
-spec calibration_entry(X) -> X.
calibration_entry(X) -> X.
-spec calibration_rare(X) -> X.
calibration_rare(X) -> X.
-spec calibration_rare0(X) -> X.
calibration_rare0(X) -> X.
-spec calibration_hit0(X) -> X.
calibration_hit0(X) -> X.
-spec calibration_counted(X) -> X.
calibration_counted(X) -> X.

%% A tracer that does nothing with its messages: they stay in its queue, or are dropped at once.
-spec sink(pid()) -> ok.
sink(Owner) ->
    receive
        Owner -> ok;
        {Owner, read} ->
            Owner ! {self(), read},
            sink(Owner);
        _ -> sink(Owner)
    end.

