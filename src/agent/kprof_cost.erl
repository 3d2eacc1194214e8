%% The cost of tracing on this node: measured once at attach with functions of the agent, later computed from counters.
%%
%% Invariant: changes no process and no function except its own, leaves nothing set, ends within ?MOST_MS. If it may not measure
%% (another tracer, no sessions) or cannot in time, it uses default costs and sets a flag. new/1, observe/2, resampled/3 and
%% spent/1 are pure.
-module(kprof_cost).
-export([calibrate/3, new/1, anew/1, observe/2, resampled/3, spent/1, latest/1, fixed/4, call_ns/2, count_ns/1, assumed/1, expected/4, affordable/4]).
-export([cost_plain/1, cost_told/3, cost_tier/1, cost_miss/1, cost_full/1, cost_entry/1, cost_rare/1, cost_rare0/1, cost_hit0/1, cost_counted/1, cost_detail/1, cost_draw/1, sink/1, beside/1]).
-export_type([cost/0, costs/0, counted/0, expected/0]).

%% Nanoseconds per call, for each kind of call.
-type costs() :: #{
    hit := pos_integer(), full := pos_integer(), args := pos_integer(), entry := pos_integer(), rare := pos_integer(), rare0 := pos_integer(),
    hit0 := pos_integer(),
    miss := pos_integer(), count := pos_integer(), detail := non_neg_integer(), draw := non_neg_integer(), assumed := boolean()
}.
%% Totals up to now (observe/2).
-type counted() :: #{
    now_ns := integer(), events := non_neg_integer(), weighted := non_neg_integer(), ticket := non_neg_integer(), relay_ns := integer(), details => non_neg_integer(), helped_ns => non_neg_integer(),
    polls => non_neg_integer(), batches => non_neg_integer(), detail => non_neg_integer(), tier_calls_s := non_neg_integer(), factor => pos_integer(), counted_s => non_neg_integer(),
    sample := pos_integer(), entry := boolean(), returns := lean | full, args := boolean(), schedulers := pos_integer()
}.
-type cost() :: #{costs := costs(), last := none | counted(), fixed := number(), varying := number(), latest := number()}. % latest: fixed, not smoothed
-type expected() :: #{fixed := integer(), all := integer(), events := integer(), relay := integer()}.

-define(MOST_MS, 200).
-define(CALLS, 150). % of each kind
-define(ENOUGH, 40). % at least this many must overlap with calls of the second process; if both processes share one scheduler, fewer calls seem to overlap
-define(CONTENDED, 170). % percent of the cost of a call alone: a call while others make calls, if that could not be measured
-define(PAUSE, 6000). % iterations between two calls, 8 to 12 us: if calls follow each other faster, the caches still have all that a call needs
-define(LONGEST, 3). % medians
-define(INDIRECT, 125). % percent: includes the slowdown of the code after the call; `make impact PART=cost` found 100 to 160
-define(START_MS, 20). % maximum until the second process runs
-define(FEW, 30). % sampled requests between two calls of observe/2
-define(SELDOM, 1000000).
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
%% Atomics: the kind that is called now (0: the end), and the number of calls of the second process.
-define(CALLED, 1).
-define(PEER, 2).
-define(NEVER, 2147483647).
-define(MOST_CHECK_NS, 150).
-define(MOST_DRAW_NS, 300).
-define(EVENT_NS, 700).
-define(DETAIL_PROCESS_NS, 600). % of an event of a request that is followed in detail, in its process
-define(SEND_NS, 20000). % of a batch that is sent to kprof-top, in the port and in the operating system
-define(BATCH_EVENTS, 150). % typical, for the expected cost
-define(POLL_NS, 20000). % of a poll of a process in which a request hangs, on both sides
-define(STEADY_NS, 100000000). % a shorter time shows bursts
-define(SMOOTH_NS, 1000000000). % averages over 1 s, so that a short burst does not change the cost

%% ---- Calibration ----

%% Nanoseconds of a call and its return, minus the untraced call: hit: a tier in a sampled request (lean); full: the same with
%% full returns; args: added if it sends its arguments; entry: of a sampled request; rare: of an unsampled request; rare0: an
%% unsampled call without an entry; hit0: a sampled one (lean); miss: a tier outside of a request; count: call_count. detail: added to each call of a
%% request that is not a detailed one, if others are; draw: added to that for a call of the entry.
assumed() ->
    #{hit => 1500, full => 1800, args => 1500, entry => 2300, rare => 450, rare0 => 400, hit0 => 1700, miss => 250, count => 50, detail => 60, draw => 120, assumed => true}.

%% Isolated: the VM has sessions; Others: another tracer is active.
-spec calibrate(boolean(), boolean(), pos_integer()) -> costs().
calibrate(false, true, _) ->
    assumed();
calibrate(Isolated, _, Epoch) ->
    {P, R} = spawn_monitor(fun() -> exit({measured, measure(Isolated, Epoch)}) end),
    receive
        {'DOWN', R, _, _, {measured, Costs}} -> maps:merge(assumed(), Costs);
        {'DOWN', R, _, _, _} -> given_up(Isolated)
    after ?MOST_MS ->
        exit(P, kill),
        receive {'DOWN', R, _, _, _} -> given_up(Isolated) end
    end.

given_up(Isolated) ->
    Isolated orelse unset(none),
    assumed().

measure(Isolated, Epoch) ->
    Sink = spawn_opt(kprof_cost, sink, [self()], [link, {message_queue_data, off_heap}]),
    erlang:suspend_process(Sink), % suspended like the relay, so messages are only queued
    Session = kprof_spec:session(Isolated, me(), Sink),
    Detail = kprof_detail:allowed(kprof_hazard:vm()),
    set(Session, Epoch, Detail),
    %% If another tracer has begun to trace new processes, this fails.
    1 = kprof_spec:flags({Session, Sink}, self(), true, ?FLAGS),
    At = atomics:new(2, []),
    Peer = peer(At, {Session, Sink}),
    Costs = run(At, {Session, Sink}, Detail),
    ended(At, Peer),
    seq_trace:set_token([]), % the exit signal must not carry a token to the controller
    kprof_spec:flags({Session, Sink}, self(), false, [all]),
    unset(Session),
    kprof_spec:end_session(Session),
    unlink(Sink),
    exit(Sink, kill),
    Costs.

run(At, Tracer, Detail) ->
    Base = typical(?PLAIN, At, 0),
    Over = fun(What) -> max(1, round(typical(What, At, Base) * ?INDIRECT / 100)) end,
    [Miss, Rare, Rare0, Hit0, Count, Hit, Entry, Told] = [Over(What) || What <- [?MISS, ?RARE, ?RARE0, ?HIT0, ?COUNTED, ?TIER, ?ENTRY, ?TOLD]],
    Details =
        case Detail of
            true ->
                Check = added(Over(?DETAIL) - Hit, ?MOST_CHECK_NS),
                #{detail => Check, draw => added(Over(?DRAW) - Entry - Check, ?MOST_DRAW_NS)};
            false ->
                #{}
        end,
    kprof_spec:flags(Tracer, self(), false, [return_to]),
    Full = Over(?FULL),
    Details#{hit => Hit, full => Full, args => max(1, Told - Hit), entry => Entry, rare => Rare, rare0 => Rare0, hit0 => Hit0, miss => Miss, count => Count, assumed => false}.

%% The small difference of two measurements: on a busy machine, their errors are larger than that.
added(Ns, Most) -> min(Most, max(0, Ns)).

%% Nanoseconds of a call, a mean. There is a pause before each call, as in an application. Calls that were made while the
%% second process made the same calls are used, if there are enough.
typical(What, At, Base) ->
    atomics:put(At, ?CALLED, What),
    token(What),
    case samples(What, At, ?CALLS, atomics:get(At, ?PEER), [], []) of
        {Beside, _} when length(Beside) >= ?ENOUGH -> mean(Beside) - Base;
        {Beside, Alone} -> (mean(Beside ++ Alone) - Base) * alone(What) / 100
    end.

%% The cost of a call while the second process makes the same calls, in percent of its cost alone. The kinds in the first
%% clause send no message and do not write the control word.
alone(What) when What =:= ?PLAIN; What =:= ?MISS; What =:= ?COUNTED -> 100;
alone(_) -> case erlang:system_info(schedulers_online) of 1 -> 100; _ -> ?CONTENDED end.

samples(_, _, 0, _, Beside, Alone) ->
    {Beside, Alone};
samples(What, At, N, Before, Beside, Alone) ->
    pause(?PAUSE),
    Began = erlang:monotonic_time(),
    made(What, N),
    Took = erlang:monotonic_time() - Began,
    case atomics:get(At, ?PEER) of
        Before -> samples(What, At, N - 1, Before, Beside, [Took | Alone]);
        Now -> samples(What, At, N - 1, Now, [Took | Beside], Alone)
    end.

%% A sample counts for at most ?LONGEST medians: in a longer one, something else ran. Long samples below this limit belong to
%% the cost: two schedulers write to the same memory, or one waits for a lock.
mean(Samples) ->
    N = length(Samples),
    Most = ?LONGEST * lists:nth(N div 2 + 1, lists:sort(Samples)),
    Native = lists:sum([min(Most, X) || X <- Samples]) / N,
    Native * 1000000000 / erlang:convert_time_unit(1, second, native).

pause(0) -> ok;
pause(N) -> pause(N - 1).

%% A second process that makes the same calls at the same time, on another scheduler: to send from two schedulers to one
%% process, and to write the control word from both, costs up to twice as much as from one.
peer(At, Tracer) ->
    atomics:put(At, ?CALLED, ?PLAIN),
    case erlang:system_info(schedulers_online) of
        1 ->
            none;
        _ ->
            {P, _} = Peer = spawn_opt(kprof_cost, beside, [At], [link, monitor]),
            1 = kprof_spec:flags(Tracer, P, true, ?FLAGS),
            runs(At, erlang:monotonic_time(millisecond) + ?START_MS),
            Peer
    end.

%% Until it runs on another scheduler.
runs(At, Until) ->
    Before = atomics:get(At, ?PEER),
    pause(2 * ?PAUSE),
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
beside(At) -> beside(At, 0).

beside(At, Last) ->
    case atomics:get(At, ?CALLED) of
        0 ->
            seq_trace:set_token([]),
            ok;
        What ->
            What =:= Last orelse token(What),
            pause(?PAUSE),
            made(What, Last),
            atomics:add(At, ?PEER, 1),
            beside(At, What)
    end.

%% Calls inside of requests.
token(What) when What =:= ?TIER; What =:= ?TOLD; What =:= ?DETAIL; What =:= ?FULL -> seq_trace:set_token(label, 1);
token(_) -> seq_trace:set_token([]).

made(?PLAIN, X) -> ?MODULE:cost_plain(X);
made(?MISS, X) -> ?MODULE:cost_miss(X);
made(?RARE, X) -> ?MODULE:cost_rare(X);
made(?RARE0, X) -> ?MODULE:cost_rare0(X);
made(?HIT0, X) -> ?MODULE:cost_hit0(X);
made(?COUNTED, X) -> ?MODULE:cost_counted(X);
made(?TIER, X) -> ?MODULE:cost_tier(X);
made(?ENTRY, X) -> ?MODULE:cost_entry(X);
made(?TOLD, X) -> ?MODULE:cost_told({get, X, <<"key">>}, {self(), [X]}, <<"state">>);
made(?DETAIL, X) -> ?MODULE:cost_detail(X);
made(?DRAW, X) -> ?MODULE:cost_draw(X);
made(?FULL, X) -> ?MODULE:cost_full(X).

%% The match specs that the node will have. With ?NEVER no request is followed in detail, so no process gets the flags for it.
set(Session, Epoch, Detail) ->
    Me = me(),
    Config = #{identity => none, returns => lean, sample => 1, epoch => Epoch, entry => 0},
    {ok, Lean, _} = kprof_spec:compile(Config#{tiers => [{0, Me, cost_entry, 1}, {1, Me, cost_tier, 1}, {2, Me, cost_miss, 1}]}),
    {ok, Rare, _} = kprof_spec:compile(Config#{tiers => [{0, Me, cost_rare, 1}], sample => ?SELDOM}),
    {ok, Rare0, _} = kprof_spec:compile(Config#{tiers => [{0, Me, cost_rare0, 1}], entry => none, sample => ?SELDOM}),
    {ok, Hit0, _} = kprof_spec:compile(Config#{tiers => [{0, Me, cost_hit0, 1}], entry => none}),
    {ok, Full, _} = kprof_spec:compile(Config#{tiers => [{1, Me, cost_full, 1}], returns => full}),
    {ok, Told, _} = kprof_spec:compile(Config#{tiers => [{1, Me, cost_told, 3}], args => true}),
    Detailed =
        case Detail of
            true ->
                {ok, Both, _} = kprof_spec:compile(Config#{tiers => [{0, Me, cost_draw, 1}, {1, Me, cost_detail, 1}], detail => ?NEVER, detail_flags => kprof_detail:flags(false)}),
                Both;
            false ->
                []
        end,
    [1 = kprof_spec:set_pattern(Session, MFA, Spec, [local]) || {_, MFA, Spec} <- Lean ++ Rare ++ Rare0 ++ Hit0 ++ Full ++ Told ++ Detailed],
    1 = kprof_spec:set_pattern(Session, {Me, cost_counted, 1}, true, [call_count]).

unset(Session) ->
    Me = me(),
    [kprof_spec:set_pattern(Session, {Me, F, 1}, false, [local]) || F <- [cost_entry, cost_tier, cost_miss, cost_rare, cost_rare0, cost_hit0, cost_full, cost_detail, cost_draw]],
    kprof_spec:set_pattern(Session, {Me, cost_told, 3}, false, [local]),
    kprof_spec:set_pattern(Session, {Me, cost_counted, 1}, false, [call_count]).

me() -> ?MODULE:module_info(module).

%% The functions that are called. These names do not change when the sources are merged.
-spec cost_plain(X) -> X.
cost_plain(X) -> X.
-spec cost_told(X, term(), term()) -> X.
cost_told(X, _, _) -> X.
-spec cost_tier(X) -> X.
cost_tier(X) -> X.
-spec cost_miss(X) -> X.
cost_miss(X) -> X.
-spec cost_full(X) -> X.
cost_full(X) -> X.
-spec cost_detail(X) -> X.
cost_detail(X) -> X.
-spec cost_draw(X) -> X.
cost_draw(X) -> X.
-spec cost_entry(X) -> X.
cost_entry(X) -> X.
-spec cost_rare(X) -> X.
cost_rare(X) -> X.
-spec cost_rare0(X) -> X.
cost_rare0(X) -> X.
-spec cost_hit0(X) -> X.
cost_hit0(X) -> X.
-spec cost_counted(X) -> X.
cost_counted(X) -> X.

%% A tracer that does nothing with its messages: they stay in its queue, or are dropped at once.
-spec sink(pid()) -> ok.
sink(Owner) ->
    receive
        Owner -> ok;
        _ -> sink(Owner)
    end.

%% ---- Computed cost ----

%% Costs: of calibrate/3.
-spec new(costs()) -> cost().
new(Costs) -> #{costs => Costs, last => none, fixed => 0, varying => 0, latest => 0}.

%% The next observation only stores its totals.
-spec anew(cost()) -> cost().
anew(S) -> S#{last := none, latest := 0}.

%% What these calls per second cost if none is sampled, in ppm of the schedulers' time (fixed_ns/4).
-spec fixed(non_neg_integer(), non_neg_integer(), boolean(), cost()) -> non_neg_integer().
fixed(Entries, Calls, Entry, #{costs := Costs}) -> fixed_ns(Entries, Calls, Entry, Costs) div (1000 * erlang:system_info(schedulers_online)).

%% Nanoseconds of a traced call and its return with this trace configuration.
-spec call_ns(kprof_spec:trace_config(), cost()) -> pos_integer().
call_ns(#{entry := Entry} = Config, #{costs := Costs}) -> hit(Config#{entry := Entry =/= none}, Costs).
-spec count_ns(cost()) -> pos_integer().
count_ns(#{costs := #{count := Ns}}) -> Ns.
%% 1: the costs are defaults, not measured.
-spec assumed(cost()) -> 0 | 1.
assumed(#{costs := #{assumed := Assumed}}) -> if Assumed -> 1; true -> 0 end.

%% Totals up to now: #{events (two per traced call: the call and its return), weighted (the sum of their weights), ticket (increases with every entry call, sampled
%% or not), relay_ns (run time of the relay)}, tier_calls_s (calls per second of the other tiers, in and outside of requests, as
%% the VM counted them last), and the present #{sample, detail (0: none), entry => boolean(), returns, args => boolean(),
%% schedulers}, at now_ns.
%% Costs are shares of the schedulers' time, smoothed over a second.
-spec observe(counted(), cost()) -> cost().
observe(Seen, #{last := none} = S) ->
    S#{last := Seen};
observe(#{ticket := 0} = Seen, #{last := #{ticket := Ticket}} = S) when Ticket > 0 ->
    observe(Seen#{ticket := Ticket}, S);
observe(#{now_ns := Now} = Seen, #{last := #{now_ns := Then} = Last, fixed := F0, varying := V0} = S) when Now > Then ->
    {Fixed0, Varying0} = ns(Seen, Last, S),
    Fixed = Fixed0 + counting_ns(Now - Then, Seen, S),
    Varying = Varying0 + more(details, Seen, Last) * ?DETAIL_PROCESS_NS + more(helped_ns, Seen, Last) + more(polls, Seen, Last) * ?POLL_NS +
        more(batches, Seen, Last) * ?SEND_NS,
    All = (Now - Then) * maps:get(schedulers, Seen),
    Old = math:exp(-(Now - Then) / ?SMOOTH_NS),
    S#{last := Seen, latest := if Now - Then < ?STEADY_NS -> 0; true -> share(Fixed, All) end, fixed := F0 * Old + share(Fixed, All) * (1 - Old), varying := V0 * Old + share(Varying, All) * (1 - Old)};
observe(_, S) ->
    S.

%% The calls of the entry that the VM counts (kprof_part_time).
counting_ns(Took, Seen, S) -> maps:get(counted_s, Seen, 0) * count_ns(S) * Took / 1000000000.

%% The costs were measured at attach; the counts may come from a VM that is overloaded now. The result is at most the total
%% scheduler time.
share(Ns, All) -> min(Ns, All) / All.

%% Fixed: the part that sampling cannot lower. For tiers other than the entry it comes from the calls in requests or, if they
%% are more, from all counted calls.
ns(#{entry := false, sample := N} = Seen, Last, #{costs := #{rare0 := Rare} = Costs}) ->
    Calls = calls(N, Seen, Last),
    All = case N of 1 -> Calls; _ -> max(Calls, entries(Seen, Last, N, Calls)) end,
    Fixed = All * Rare,
    {Fixed, Calls * (hit(Seen, Costs) - Rare) + grown(relay_ns, Seen, Last)};
ns(#{sample := N, tier_calls_s := PerS, now_ns := Now} = Seen, #{now_ns := Then} = Last, #{costs := #{rare := Rare, miss := Miss} = Costs}) ->
    Calls = calls(N, Seen, Last),
    Entries = entries(Seen, Last, N, Calls),
    Sampled = min(Entries / N, Calls),
    Fixed = Entries * Rare + tier_calls(Calls - Sampled, Sampled, N, PerS * (Now - Then) / 1000000000) * Miss,
    {Fixed, Sampled * max(0, entry_hit(Seen, Costs) - Rare) + (Calls - Sampled) * max(0, hit(Seen, Costs) - Miss) + grown(relay_ns, Seen, Last)}.

%% Traced calls, two events each. Events from before a cut of the sampling may arrive after it: they count by their weight.
%% Factor: weights include it if tracing is on for a part of the time.
calls(N, Seen, Last) -> grown(weighted, Seen, Last) / (2 * N * maps:get(factor, Seen, 1)).

%% All calls of the tiers. Seen: those in sampled requests; if only a few requests were sampled, the calls that the VM counted
%% are the better estimate.
tier_calls(_, Sampled, N, Counted) when N > 1, Sampled < ?FEW, Counted > 0 -> Counted;
tier_calls(Seen, _, N, Counted) -> max(Seen * N, Counted).

entry_hit(Seen, #{entry := Entry, hit := Lean} = Costs) -> Entry + hit(Seen, Costs) - Lean + in_detail(draw, Seen, Costs).

%% The cost of tracing calls at these rates. Rates: MFA => calls per second; Seen as for observe/2; Config: its tiers and
%% entry. -> ppm of the schedulers' time, for unsampled calls, and for all calls if all were sampled; events per second if all
%% were sampled, and the relay's share of one scheduler in permille.
-spec expected(kprof_tier_rates:rates(), counted(), kprof_spec:trace_config(), cost()) -> expected().
expected(Rates, #{schedulers := Schedulers} = Seen, #{tiers := Tiers, entry := Entry} = Config, #{costs := Costs} = S) ->
    Of = fun(Wanted) -> lists:sum([maps:get({M, F, A}, Rates, 0) || {Ix, M, F, A} <- Tiers, (Ix =:= Entry) =:= Wanted]) end,
    Sent = lists:sum([maps:get(MFA, Rates, 0) || MFA <- kprof_spec:senders(Config)]),
    {Entries, Others} = {Of(true), Of(false) + Sent},
    Events = 2 * (Entries + Others),
    RelayNs = Events * event_ns(S),
    SendNs = Events * ?SEND_NS / ?BATCH_EVENTS,
    {Fixed, All} = expected_ns(Entries, Others, Seen, Costs),
    Millionths = fun(Ns) -> round(Ns) div (1000 * Schedulers) end,
    #{fixed => Millionths(Fixed), all => Millionths(All + RelayNs + SendNs), events => Events, relay => round(RelayNs) div 1000000}.

expected_ns(_, Calls, #{entry := false} = Seen, Costs) ->
    {fixed_ns(0, Calls, false, Costs), Calls * hit(Seen, Costs)};
expected_ns(Entries, Calls, Seen, Costs) ->
    {fixed_ns(Entries, Calls, true, Costs), Entries * entry_hit(Seen, Costs) + Calls * hit(Seen, Costs)}.

%% If none is sampled. Calls: those of the other tiers; without an entry, all.
fixed_ns(_, Calls, false, #{rare0 := Rare}) -> Calls * Rare;
fixed_ns(Entries, Calls, true, #{rare := Rare, miss := Miss}) -> Entries * Rare + Calls * Miss.

%% The sampling that keeps the expected cost well within the limits (0: no limit). -> {ok, N} | too_much
-spec affordable(expected(), non_neg_integer(), non_neg_integer(), pos_integer()) -> {ok, pos_integer()} | too_much.
affordable(#{fixed := Fixed}, MaxCost, _, _) when MaxCost > 0, Fixed > MaxCost ->
    too_much;
affordable(#{fixed := Fixed, all := All, events := Events, relay := Relay}, MaxCost, MaxRate, MaxRelay) ->
    Parts = [part(All - Fixed, MaxCost - Fixed) || MaxCost > 0] ++ [part(Events, MaxRate) || MaxRate > 0] ++ [part(Relay, MaxRelay)],
    {ok, lists:max([1 | Parts])}.

%% Target: 70 % of the limit.
part(Value, Max) when Value * 10 =< Max * 7 -> 1;
part(Value, Max) -> (Value * 10 + Max * 7 - 1) div max(1, Max * 7).

%% The relay's time per event: as measured so far, or a default.
event_ns(#{last := #{events := Events, relay_ns := Ns}}) when Events > 10000 -> Ns / Events;
event_ns(_) -> ?EVENT_NS.

%% Other code can change the control word: a count that is higher than the sampled calls allow is reduced to what they allow.
%% For a part of the time, sampling is off while some tickets are taken.
entries(#{ticket := Now, factor := Factor}, #{ticket := Then}, _, _) when Factor > 1 ->
    kprof_spec:tickets(Then, Now);
entries(#{ticket := Now}, #{ticket := Then}, N, Calls) ->
    min(kprof_spec:tickets(Then, Now), N * (Calls + round(math:sqrt(16 * Calls)) + 8)).

hit(Seen, Costs) -> returned(Seen, Costs) + own_turn(Seen, Costs) + args(Seen, Costs) + in_detail(detail, Seen, Costs).

returned(#{returns := full}, #{full := Ns}) -> Ns;
returned(_, #{hit := Ns}) -> Ns.

%% Added to a sampled call without an entry: it makes the sampling decision for itself and counts itself in the control word.
own_turn(#{entry := false}, #{hit := Hit, hit0 := Hit0}) -> max(0, Hit0 - Hit);
own_turn(_, _) -> 0.

in_detail(What, #{detail := N}, Costs) when N > 0 -> maps:get(What, Costs);
in_detail(_, _, _) -> 0.

args(#{args := true}, #{args := Ns}) -> Ns;
args(_, _) -> 0.

more(What, Seen, Last) -> max(0, maps:get(What, Seen, 0) - maps:get(What, Last, 0)).
grown(What, Seen, Last) -> max(0, maps:get(What, Seen) - maps:get(What, Last)).

%% Sampling changed from 1/Old to 1/New: the variable part of the cost is scaled at once.
-spec resampled(pos_integer(), pos_integer(), cost()) -> cost().
resampled(Old, New, #{varying := V} = S) -> S#{varying := V * Old / New}.

%% What unsampled calls have cost since the observation before the last, in ppm; 0: that is too short ago.
-spec latest(cost()) -> non_neg_integer().
latest(#{latest := Latest}) -> round(Latest * 1000000).

%% -> {All, Fixed} in ppm of the node's scheduler time.
-spec spent(cost()) -> {non_neg_integer(), non_neg_integer()}.
spent(#{fixed := F, varying := V}) -> {min(1000000, round((F + V) * 1000000)), round(F * 1000000)}.
