%% The cost of tracing on this node, computed from counters and from the costs of a call (kprof_calibration). new/1, anew/1,
%% observe/2, resampled/3 and spent/1 are pure.
-module(kprof_cost).
-export([new/1, anew/1, observe/2, resampled/3, spent/1, latest/1, fixed/4, call_ns/2, count_ns/1, assumed/1, expected/4, affordable/4]).
-export_type([cost/0, counted/0, expected/0]).

%% Totals up to now (observe/2).
-type counted() :: #{
    now_ns := integer(), events := non_neg_integer(), weighted := non_neg_integer(), ticket := non_neg_integer(), relay_ns := integer(), details => non_neg_integer(), helped_ns => non_neg_integer(),
    polls => non_neg_integer(), loop_ns => pos_integer(), batches => non_neg_integer(), copied => non_neg_integer(), detail => non_neg_integer(), tier_calls_s := non_neg_integer(), factor => pos_integer(), counted_s => non_neg_integer(),
    sample := pos_integer(), entry := boolean(), returns := lean | full, args := boolean(), schedulers := pos_integer()
}.
%% latest: fixed, not smoothed. loop: kprof_calibration:loop_ns/0, smoothed; 0: not known.
-type cost() :: #{costs := kprof_calibration:costs(), loop := number(), last := none | counted(), fixed := number(), varying := number(), latest := number()}.
-type expected() :: #{fixed := integer(), all := integer(), events := integer(), relay := integer()}.

-define(FEW, 30). % sampled requests between two calls of observe/2
-define(EVENT_NS, 700).
-define(DETAIL_PROCESS_NS, 600). % of an event of a request that is followed in detail, in its process
-define(SEND_NS, 20000). % of a batch that is sent to kprof-top, in the port and in the operating system
-define(WORD_NS, 4). % of a return value that is copied
-define(BATCH_EVENTS, 150). % typical, for the expected cost
-define(POLL_NS, 20000). % of a poll of a process in which a request hangs, on both sides
-define(STEADY_NS, 100000000). % a shorter time shows bursts
-define(SMOOTH_NS, 1000000000). % averages over 1 s, so that a short burst does not change the cost

%% ---- Computed cost ----

-spec new(kprof_calibration:costs()) -> cost().
new(Costs) -> #{costs => Costs, loop => 0, last => none, fixed => 0, varying => 0, latest => 0}.

%% The next observation only stores its totals.
-spec anew(cost()) -> cost().
anew(S) -> S#{last := none, latest := 0}.

%% What these calls per second cost if none is sampled, in ppm of the schedulers' time (fixed_ns/4).
-spec fixed(non_neg_integer(), non_neg_integer(), boolean(), cost()) -> non_neg_integer().
fixed(Entries, Calls, Entry, S) ->
    Schedulers = erlang:system_info(schedulers_online),
    fixed_ns(Entries, Calls, Entry, costs(Entries + Calls, 1000000000 * Schedulers, S)) div (1000 * Schedulers).

%% The costs now, for so many calls in this time of all schedulers.
costs(Calls, AllNs, #{costs := Costs, loop := Loop}) -> kprof_calibration:at(Costs, Loop, AllNs / max(1, Calls)).

%% Nanoseconds of a traced call and its return with this trace configuration.
-spec call_ns(kprof_spec:trace_config(), cost()) -> pos_integer().
call_ns(#{entry := Entry} = Config, S) -> hit(Config#{entry := Entry =/= none}, costs(0, 1000000000, S)).
-spec count_ns(cost()) -> pos_integer().
count_ns(S) -> map_get(count, costs(0, 1000000000, S)).
%% 1: the costs are defaults, not measured.
-spec assumed(cost()) -> 0 | 1.
assumed(#{costs := #{assumed := Assumed}}) -> if Assumed -> 1; true -> 0 end.

%% Totals up to now: #{events (two per traced call: the call and its return), weighted (the sum of their weights), ticket (increases with every entry call, sampled
%% or not), relay_ns (run time of the relay)}, tier_calls_s (calls per second of the other tiers, in and outside of requests, as
%% the VM counted them last), and the present #{sample, detail (0: none), entry => boolean(), returns, args => boolean(),
%% schedulers}, at now_ns.
%% Costs are shares of the schedulers' time, smoothed over a second.
-spec observe(counted(), cost()) -> cost().
observe(#{loop_ns := Loop} = Seen, #{loop := Before} = S) when Before == 0 ->
    observe(Seen, S#{loop := Loop});
observe(Seen, #{last := none} = S) ->
    S#{last := Seen};
observe(#{ticket := 0} = Seen, #{last := #{ticket := Ticket}} = S) when Ticket > 0 ->
    observe(Seen#{ticket := Ticket}, S);
observe(#{now_ns := Now} = Seen, #{last := #{now_ns := Then} = Last, fixed := F0, varying := V0, loop := Loop} = S0) when Now > Then ->
    Old = math:exp(-(Now - Then) / ?SMOOTH_NS),
    S = S0#{loop := Loop * Old + maps:get(loop_ns, Seen, Loop) * (1 - Old)},
    {Fixed0, Varying0} = ns(Seen, Last, S),
    Fixed = Fixed0 + counting_ns(Now - Then, Seen, S),
    Varying = Varying0 + more(details, Seen, Last) * ?DETAIL_PROCESS_NS + more(helped_ns, Seen, Last) + more(polls, Seen, Last) * ?POLL_NS +
        more(batches, Seen, Last) * ?SEND_NS + more(copied, Seen, Last) * ?WORD_NS,
    All = scheduler_ns(Seen, Last),
    S#{last := Seen, latest := if Now - Then < ?STEADY_NS -> 0; true -> share(Fixed, All) end, fixed := F0 * Old + share(Fixed, All) * (1 - Old), varying := V0 * Old + share(Varying, All) * (1 - Old)};
observe(_, S) ->
    S.

%% The calls of the entry that the VM counts (kprof_part_time).
counting_ns(Took, Seen, S) -> maps:get(counted_s, Seen, 0) * count_ns(S) * Took / 1000000000.

%% The counts may come from a VM that is overloaded now. The result is at most the total
%% scheduler time.
share(Ns, All) -> min(Ns, All) / All.

%% Fixed: the part that sampling cannot lower. For tiers other than the entry it comes from the calls in requests or, if they
%% are more, from all counted calls.
ns(#{entry := false, sample := N} = Seen, Last, S) ->
    Calls = calls(N, Seen, Last),
    All = case N of 1 -> Calls; _ -> max(Calls, entries(Seen, Last, N, Calls)) end,
    #{rare0 := Rare} = Costs = costs(All, scheduler_ns(Seen, Last), S),
    Fixed = All * Rare,
    {Fixed, Calls * (hit(Seen, Costs) - Rare) + grown(relay_ns, Seen, Last)};
ns(#{sample := N, tier_calls_s := PerS, now_ns := Now} = Seen, #{now_ns := Then} = Last, S) ->
    Calls = calls(N, Seen, Last),
    Entries = entries(Seen, Last, N, Calls),
    Sampled = min(Entries / N, Calls),
    Others = tier_calls(Calls - Sampled, Sampled, N, PerS * (Now - Then) / 1000000000),
    #{rare := Rare, miss := Miss} = Costs = costs(Entries + Others, scheduler_ns(Seen, Last), S),
    Fixed = Entries * Rare + Others * Miss,
    {Fixed, Sampled * max(0, entry_hit(Seen, Costs) - Rare) + (Calls - Sampled) * max(0, hit(Seen, Costs) - Miss) + grown(relay_ns, Seen, Last)}.

scheduler_ns(#{now_ns := Now, schedulers := Schedulers}, #{now_ns := Then}) -> (Now - Then) * Schedulers.

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
expected(Rates, #{schedulers := Schedulers} = Seen, #{tiers := Tiers, entry := Entry} = Config, S) ->
    Of = fun(Wanted) -> lists:sum([maps:get({M, F, A}, Rates, 0) || {Ix, M, F, A} <- Tiers, (Ix =:= Entry) =:= Wanted]) end,
    Sent = lists:sum([maps:get(MFA, Rates, 0) || MFA <- kprof_match_spec:senders(Config)]),
    {Entries, Others} = {Of(true), Of(false) + Sent},
    Events = 2 * (Entries + Others),
    RelayNs = Events * event_ns(S),
    SendNs = Events * ?SEND_NS / ?BATCH_EVENTS,
    {Fixed, All} = expected_ns(Entries, Others, Seen, costs(Entries + Others, 1000000000 * Schedulers, S)),
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
