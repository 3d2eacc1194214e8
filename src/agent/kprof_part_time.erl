%% Tracing for a part of the time. In a process with the flag `call`, a call that is not sampled costs 0.2 to 0.3 us: sampling
%% cannot lower this. If it is too much in all, the patterns are set only for some ms of each cycle. Meanwhile a call costs
%% nothing. Functions of the controller's process.
%%
%% A cycle: `rest`: no pattern is set. At a random time the patterns are set, the one of the entry first. Then the control word
%% lets calls be sampled (`open`), and stops this after 1 to 16 % of the cycle (`closed`). The patterns stay until the requests that
%% were sampled have ended (part_ms, from kprof-top), so that their inner calls are traced, too.
%%
%% Invariant: while phase is not `off`, tracing.set has all functions as `pending` (each may have a pattern), and the cleanup plan,
%% too. An event stands for the requests of the whole cycle: `factor` corrects itself, so that over many cycles the times
%% for which the events stand add up to the time that passed.
-module(kprof_part_time).
-export([evaluated/1, step/1, leave/1, forget/1, own/1, share/1, usual/1, is_on/1, fixed/1]).

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

-define(MOST_FIXED, 20000). % millionths of the schedulers' time: what unsampled calls may cost all the time
-define(LEAST_CYCLE_MS, 400).
-define(MOST_CYCLE_MS, 1000).
-define(PART, 40). % patterns are set for 1/40 of a cycle, if its limits allow it
-define(LEAST_PERMILLE, 5).
-define(MOST_PERMILLE, 160).
-define(SPARE_MS, 4). % to set and to remove the patterns
-define(EVENTS, 800). % wanted in a cycle
-define(CHEAP, 10). % consecutive cycles in which unsampled calls would cost less than half of ?MOST_FIXED

-spec is_on(state()) -> boolean().
is_on(#s{part_time = #part_time{phase = Phase}}) -> Phase =/= off.

%% After each evaluation of kprof_limits: begins, or ends.
-spec evaluated(state()) -> state().
evaluated(S) ->
    case {is_on(S), allowed(S)} of
        {true, false} -> leave(S);
        {false, true} -> begun_if_expensive(S);
        _ -> S
    end.

begun_if_expensive(#s{cost = Cost} = S) ->
    case kprof_sampling:in_force(S) > 1 andalso element(2, kprof_cost:spent(Cost)) > most_fixed(S) of
        true -> begun(S);
        false -> S
    end.

%% Not while the breaker increases sampling in steps, not if another agent uses the control word, and not with built-in functions
%% (VM-HAZARDS: their patterns may belong to all sessions).
allowed(#s{beside = Beside, breaker = B, tracing = #tracing{on = On, paused = Paused, specs = Specs}, limits = #limits{max = #{part_ms := Ms, max_cost := Max}}}) ->
    Ms > 0 andalso Max > 0 andalso On andalso Paused =:= none andalso not Beside andalso kprof_breaker:state(B) =:= closed andalso
        kprof_breaker:factor(B) =:= 1 andalso not lists:any(fun({_, {M, F, A}, _}) -> erlang:is_builtin(M, F, A) end, Specs).

most_fixed(#s{limits = #limits{max = #{max_cost := Max}}}) -> min(?MOST_FIXED, Max div 2).

begun(#s{tracing = #tracing{set = Set} = T, limits = Limits} = S0) ->
    S1 = S0#s{tracing = T#tracing{set = maps:map(fun(_, _) -> pending end, Set)}, limits = Limits#limits{why = part_time}, cost = kprof_cost:anew(S0#s.cost)},
    Now = erlang:monotonic_time(),
    S = S1#s{part_time = #part_time{phase = closed, set = Set, cycle_at = kprof_node:now_ms(), accounted = Now, read = kprof_link:counter(?READ, S0)}},
    kprof_spec:cut(kprof_sampling:cut(S)),
    later(part_ms(S), kprof_cleanup_plan:share(S)).

%% The patterns are set all the time again.
-spec leave(state()) -> state().
leave(#s{part_time = #part_time{phase = off}} = S) -> S;
leave(S) -> kprof_tracing:all_the_time(forget(S)).

%% The patterns were removed, or are set by the caller.
-spec forget(state()) -> state().
forget(#s{part_time = #part_time{phase = off}} = S) -> S;
forget(#s{cost = Cost, limits = Limits} = S) ->
    Sample = kprof_sampling:in_force(S), % tracing all the time begins with as few requests; limits increase this in steps
    S#s{part_time = #part_time{}, cost = kprof_cost:anew(Cost), limits = Limits#limits{sample = Sample, why = cost, evaluated = undefined, ticket = none}}.

%% The patterns that are set now.
-spec own(state()) -> kprof_patterns:set().
own(#s{part_time = #part_time{phase = off}, tracing = #tracing{set = Set}}) -> Set;
own(#s{part_time = #part_time{set = Set}}) -> Set.

%% How much of the time the patterns are set, in permille.
-spec share(state()) -> 1..1000.
share(#s{part_time = #part_time{phase = off}}) -> 1000;
share(S) -> min(1000, (open_ms(S) + part_ms(S) + 1) * 1000 div cycle_ms(S)).

%% The factor without its corrections.
-spec usual(state()) -> pos_integer().
usual(#s{part_time = #part_time{phase = off}}) -> 1;
usual(S) -> cycle_ms(S) div open_ms(S).

%% What unsampled calls cost, or, while tracing is on for a part of the time, what they would cost all the time: millionths of the
%% schedulers' time.
-spec fixed(state()) -> non_neg_integer().
fixed(#s{part_time = #part_time{phase = off}, cost = Cost}) -> element(2, kprof_cost:spent(Cost));
fixed(#s{part_time = #part_time{calls_s = Entries}, cost = Cost, tracing = #tracing{trace_config = #{entry := Entry}}} = S) ->
    kprof_cost:fixed(Entries, kprof_tier_rates:per_second(S), Entry =/= none, Cost).

%% ---- A cycle ----

cycle_ms(S) -> max(?LEAST_CYCLE_MS, min(?MOST_CYCLE_MS, ?PART * part_ms(S))).
open_ms(#s{part_time = #part_time{permille = Permille}} = S) -> cycle_ms(S) * Permille div 1000.
part_ms(#s{limits = #limits{max = #{part_ms := Ms}}}) -> max(1, Ms).

later(Ms, #s{part_time = P} = S) ->
    Timer = make_ref(),
    erlang:send_after(max(0, Ms), self(), {part_time, Timer}),
    S#s{part_time = P#part_time{timer = Timer}}.

%% A phase is over.
-spec step(state()) -> state().
step(#s{part_time = #part_time{phase = rest}} = S) -> open(S);
step(#s{part_time = #part_time{phase = open}} = S) -> closed(S);
step(#s{part_time = #part_time{phase = closed}} = S) -> rest(S);
step(S) -> S.

rest(#s{part_time = #part_time{cycle_at = Before} = P} = S) ->
    removed(S),
    Now = kprof_node:now_ms(),
    Cycle = cycle_ms(S),
    %% the node may have stood still
    At = max(Before + Cycle, Now),
    Spare = max(1, Cycle - open_ms(S) - part_ms(S) - ?SPARE_MS),
    later(At - Now + erlang:phash2(make_ref(), Spare), S#s{part_time = P#part_time{phase = rest, set = #{}, cycle_at = At}}).

%% The entry last: a process calls it with each request, and then has no token of an older one.
removed(#s{session = Session, part_time = #part_time{set = Set}} = S) ->
    Entry = [MFA || {_, MFA, _} <- entry_specs(S)],
    kprof_patterns:clear(Session, maps:without(Entry, Set)),
    kprof_patterns:clear(Session, maps:with(Entry, Set)).

entry_specs(#s{tracing = #tracing{specs = Specs, trace_config = #{entry := Entry}}}) -> [Spec || {Ix, _, _} = Spec <- Specs, Ix =:= Entry].

%% Tokens of requests before this cycle may still be in processes. Their calls are not traced: those of the last cycle have ended,
%% and a process that has called the entry since may work for another request now.
open(#s{session = Session, tracing = #tracing{specs = Specs, trace_config = #{entry := Entry}}} = S0) ->
    S1 = #s{part_time = P} = sampled(S0),
    Ticket = kprof_node:ticket(),
    First = entry_specs(S0),
    Set = kprof_patterns:put(Session, First ++ kprof_spec:since(Ticket, Entry, Specs -- First)),
    S = S1#s{part_time = P#part_time{phase = open, set = Set, factor = factor(S1), read = kprof_link:counter(?READ, S1)}},
    kprof_tracing:weigh(S),
    kprof_spec:cut(kprof_sampling:cut(S)),
    later(open_ms(S), S#s{part_time = (S#s.part_time)#part_time{open_at = erlang:monotonic_time(), ticket = kprof_node:ticket()}}).

%% A cycle makes about ?EVENTS events. More: the patterns are set for less time, then fewer calls are sampled.
sampled(#s{limits = #limits{sample = Sample} = Limits, part_time = #part_time{read = Before, permille = Permille} = P} = S) ->
    #s{tracing = #tracing{trace_config = #{sample := Configured}}} = S,
    Events = kprof_link:counter(?READ, S) - Before,
    {Part, New} =
        if
            Events * 2 > ?EVENTS * 3, Permille > ?LEAST_PERMILLE -> {Permille div 2, Sample};
            Events * 2 > ?EVENTS * 3 -> {Permille, Sample * Events div ?EVENTS};
            Events * 2 < ?EVENTS, Sample > Configured -> {Permille, max(Configured, Sample div 2)};
            Events * 2 < ?EVENTS -> {min(?MOST_PERMILLE, 2 * Permille), Sample};
            true -> {Permille, Sample}
        end,
    S#s{limits = Limits#limits{sample = New}, part_time = P#part_time{permille = Part}}.

%% The number of requests that a sampled one stands for, besides sampling: the time until the end of this cycle that is not
%% accounted for, through the time that calls are sampled.
factor(#s{part_time = #part_time{accounted = Accounted, cycle_at = At}} = S) ->
    Usual = usual(S),
    Due = (native_ms(At + cycle_ms(S)) - Accounted) div native_ms(open_ms(S)),
    max(1, max(Usual div 2, min(2 * Usual, Due))).

native_ms(Ms) -> erlang:convert_time_unit(Ms, millisecond, native).

closed(#s{part_time = P} = S0) ->
    Ticket = kprof_node:ticket(),
    #part_time{open_at = Opened, factor = Factor, accounted = Accounted, cycle_at = At, ticket = Before} = P,
    S1 = S0#s{part_time = P#part_time{phase = closed}},
    kprof_spec:cut(kprof_sampling:cut(S1)),
    Took = max(1, erlang:monotonic_time() - Opened),
    Calls =
        case Before =:= 0 orelse Ticket =:= 0 of
            true -> P#part_time.calls_s; % a process was taking a ticket
            false -> kprof_spec:tickets(Before, Ticket) * native_ms(1000) div Took
        end,
    %% What cannot be made up for in a few cycles is left out.
    Until = max(native_ms(At - 2 * cycle_ms(S1)), Accounted + Factor * Took),
    cheaper(later(part_ms(S1), S1#s{part_time = (S1#s.part_time)#part_time{accounted = Until, calls_s = Calls}})).

cheaper(#s{part_time = #part_time{cheap = Cheap} = P} = S) ->
    case fixed(S) * 2 < most_fixed(S) of
        true when Cheap + 1 >= ?CHEAP -> leave(S);
        true -> S#s{part_time = P#part_time{cheap = Cheap + 1}};
        false -> S#s{part_time = P#part_time{cheap = 0}}
    end.
