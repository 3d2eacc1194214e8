%% What tracing costs this node: measured once at attach on functions of our own, then reckoned from what is counted anyway.
%%
%% Invariant: touches no process and no function but its own, leaves nothing set, ends within ?MOST_MS; where it may not
%% measure (someone else traces, and there are no sessions) or cannot in time, the costs are assumed and say so.
%% new/1, look/2, resampled/3 and spent/1 are pure.
-module(kprof_cost_00).
-export([calibrate/3, new/1, look/2, resampled/3, spent/1, call_ns/2, assumed/1]).
-export([plain/1, told/3, tier/1, miss/1, full/1, entry/1, rare/1, counted/1, sink/0]).

-define(MOST_MS, 150).
-define(CALLS, 200).
-define(ROUNDS, 5).
-define(RARE, 1000000).
-define(SMOOTH_NS, 1.0e9). % a burst of a second is what counts, not one of a look

%% ---- Calibration ----

%% Ns of a call and its return, beyond the untraced call: hit: a tier in a sampled request (lean); full: the same with
%% full returns; args: more, when it tells its arguments; entry: of a sampled request; rare: of one that is not sampled; miss: a tier outside of one; count: call_count.
assumed() -> #{hit => 1500, full => 1800, args => 1500, entry => 2300, rare => 900, miss => 250, count => 150, assumed => true}.

%% Isolated: are there sessions; Others: does someone else trace.
calibrate(false, true, _) ->
    assumed();
calibrate(Isolated, _, Epoch) ->
    {P, R} = spawn_monitor(fun() -> exit({measured, measure(Isolated, Epoch)}) end),
    receive
        {'DOWN', R, _, _, {measured, Costs}} -> Costs;
        {'DOWN', R, _, _, _} -> given_up(Isolated)
    after ?MOST_MS ->
        exit(P, kill),
        receive {'DOWN', R, _, _, _} -> given_up(Isolated) end
    end.

given_up(Isolated) ->
    Isolated orelse unset(none),
    assumed().

measure(Isolated, Epoch) ->
    Sink = spawn_opt(?MODULE, sink, [], [link, {message_queue_data, off_heap}]),
    erlang:suspend_process(Sink), % as the relay: messages only queue
    Session = kprof_spec_00:session(Isolated, me(), Sink),
    set(Session, Epoch),
    %% The keeper may have been told of no tracer, but a process to come may be traced by now: then this fails.
    1 = kprof_spec_00:flags({Session, Sink}, self(), true, [call, arity, monotonic_timestamp, return_to]),
    Costs = run(Session, Sink),
    seq_trace:set_token([]), % nor shall our end carry one to the keeper
    kprof_spec_00:flags({Session, Sink}, self(), false, [all]),
    unset(Session),
    kprof_spec_00:end_session(Session),
    unlink(Sink),
    exit(Sink, kill),
    Costs.

run(Session, Sink) ->
    Base = fastest(fun(X) -> ?MODULE:plain(X), ok end),
    Over = fun(F) -> max(1, round(fastest(F) - Base)) end,
    Miss = Over(fun(X) -> ?MODULE:miss(X), ok end),
    Rare = Over(fun(X) -> ?MODULE:rare(X), ok end),
    Count = Over(fun(X) -> ?MODULE:counted(X), ok end),
    seq_trace:set_token(label, 1),
    Hit = Over(fun(X) -> ?MODULE:tier(X), ok end),
    Entry = Over(fun(X) -> ?MODULE:entry(X), ok end),
    Told = Over(fun(X) -> ?MODULE:told({get, X, <<"key">>}, {self(), [X]}, <<"state">>), ok end),
    kprof_spec_00:flags({Session, Sink}, self(), false, [return_to]),
    Full = Over(fun(X) -> ?MODULE:full(X), ok end),
    #{hit => Hit, full => Full, args => max(1, Told - Hit), entry => Entry, rare => Rare, miss => Miss, count => Count, assumed => false}.

%% Ns a call, of the round that was disturbed least.
fastest(F) -> lists:min([round_ns(F) || _ <- lists:seq(1, ?ROUNDS)]).

round_ns(F) ->
    Before = erlang:monotonic_time(),
    repeat(F, ?CALLS),
    Took = erlang:monotonic_time() - Before,
    Took * 1.0e9 / (erlang:convert_time_unit(1, second, native) * ?CALLS).

repeat(_, 0) ->
    ok;
repeat(F, N) ->
    F(N),
    repeat(F, N - 1).

%% The specs are those that the node will have.
set(Session, Epoch) ->
    Me = me(),
    Wish = #{identity => none, returns => lean, sample => 1, epoch => Epoch, entry => 0},
    {ok, Lean, _} = kprof_spec_00:compile(Wish#{tiers => [{0, Me, entry, 1}, {1, Me, tier, 1}, {2, Me, miss, 1}]}),
    {ok, Rare, _} = kprof_spec_00:compile(Wish#{tiers => [{0, Me, rare, 1}], sample => ?RARE}),
    {ok, Full, _} = kprof_spec_00:compile(Wish#{tiers => [{1, Me, full, 1}], returns => full}),
    {ok, Told, _} = kprof_spec_00:compile(Wish#{tiers => [{1, Me, told, 3}], args => true}),
    [1 = kprof_spec_00:set_pattern(Session, MFA, Spec, [local]) || {_, MFA, Spec} <- Lean ++ Rare ++ Full ++ Told],
    1 = kprof_spec_00:set_pattern(Session, {Me, counted, 1}, true, [call_count]).

unset(Session) ->
    Me = me(),
    [kprof_spec_00:set_pattern(Session, {Me, F, 1}, false, [local]) || F <- [entry, tier, miss, rare, full]],
    kprof_spec_00:set_pattern(Session, {Me, told, 3}, false, [local]),
    kprof_spec_00:set_pattern(Session, {Me, counted, 1}, false, [call_count]).

me() -> ?MODULE:module_info(module).

%% What is called.
plain(X) -> X.
told(X, _, _) -> X.
tier(X) -> X.
miss(X) -> X.
full(X) -> X.
entry(X) -> X.
rare(X) -> X.
counted(X) -> X.

sink() -> receive after infinity -> ok end.

%% ---- Reckoning ----

%% Costs: of calibrate/3.
new(Costs) -> #{costs => Costs, last => none, fixed => 0.0, varying => 0.0}.

%% Ns of a traced call and its return, as the wish has them; 1: assumed, not measured here.
call_ns(Wish, #{costs := Costs}) -> hit(Wish, Costs).
assumed(#{costs := #{assumed := Assumed}}) -> if Assumed -> 1; true -> 0 end.

%% What was counted up to now: running totals #{events (of a traced call: one of the call, one of its return), ticket (one
%% more with every entry call, sampled or not), relay_ns (the relay's run time)}, tier_calls_s (calls a second of the other
%% tiers, wherever they come from, as the VM counted them last), and in force #{sample, entry => boolean(),
%% returns, args => boolean(), schedulers}, at now_ns. Costs are shares of the schedulers' time, smoothed over a second.
look(Look, #{last := none} = S) ->
    S#{last := Look};
look(#{ticket := 0} = Look, #{last := #{ticket := Ticket}} = S) when Ticket > 0 ->
    look(Look#{ticket := Ticket}, S);
look(#{now_ns := Now} = Look, #{last := #{now_ns := Then} = Last, fixed := F0, varying := V0} = S) when Now > Then ->
    {Fixed, Varying} = ns(Look, Last, S),
    All = (Now - Then) * maps:get(schedulers, Look),
    Old = math:exp(-(Now - Then) / ?SMOOTH_NS),
    S#{last := Look, fixed := F0 * Old + share(Fixed, All) * (1 - Old), varying := V0 * Old + share(Varying, All) * (1 - Old)};
look(_, S) ->
    S.

%% Costs were measured undisturbed, counts are of a node in trouble: more than all there is was not spent.
share(Ns, All) -> min(1.0, Ns / All).

%% Fixed: what remains however few are sampled: of the tiers the calls in requests, or all that were counted.
ns(#{entry := false} = Look, Last, #{costs := Costs}) ->
    {grown(events, Look, Last) / 2 * hit(Look, Costs) + grown(relay_ns, Look, Last), 0};
ns(#{sample := N, tier_calls_s := PerS, now_ns := Now} = Look, #{now_ns := Then} = Last, #{costs := #{rare := Rare, miss := Miss, hit := Lean, entry := Entry} = Costs}) ->
    Calls = grown(events, Look, Last) / 2,
    Entries = entries(Look, Last, N, Calls),
    Sampled = min(Entries / N, Calls),
    Hit = hit(Look, Costs),
    EntryHit = Entry + Hit - Lean,
    Fixed = Entries * Rare + max((Calls - Sampled) * N, PerS * (Now - Then) / 1.0e9) * Miss,
    {Fixed, Sampled * max(0, EntryHit - Rare) + (Calls - Sampled) * max(0, Hit - Miss) + grown(relay_ns, Look, Last)}.

%% The control word is anyone's: more than can have been, by those that were sampled, is not believed.
entries(#{ticket := Now}, #{ticket := Then}, N, Calls) ->
    Range = kprof_spec_00:ticket_range(),
    min((Now - Then + Range) rem Range, N * (Calls + 4 * math:sqrt(Calls) + 8)).

hit(#{returns := full} = Look, #{full := Ns} = Costs) -> Ns + args(Look, Costs);
hit(Look, #{hit := Ns} = Costs) -> Ns + args(Look, Costs).

args(#{args := true}, #{args := Ns}) -> Ns;
args(_, _) -> 0.

grown(What, Look, Last) -> max(0, maps:get(What, Look) - maps:get(What, Last)).

%% Sampling went from 1/Old to 1/New: what varies with it is believed to follow at once.
resampled(Old, New, #{varying := V} = S) -> S#{varying := V * Old / New}.

%% -> {All, Fixed} in millionths of the node's scheduler time.
spent(#{fixed := F, varying := V}) -> {round(min(1.0, F + V) * 1.0e6), round(F * 1.0e6)}.
