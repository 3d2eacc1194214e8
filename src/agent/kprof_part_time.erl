%% Tracing for a part of the time. In a process with the flag `call`, a call that is not sampled costs 0.2 to 0.3 us: sampling
%% cannot lower this. If it is too much in all, the patterns are set only for some ms of each cycle. Otherwise a call costs
%% nothing. Functions of the controller's process.
%%
%% A cycle: `rest`: no pattern is set. After a random time all patterns are set, that of the entry last. It samples as usual for 0.3
%% to 16 % of the cycle (`open`), then nothing (`closed`). The patterns stay until the requests that were sampled have ended (part_ms,
%% from kprof-top), so that their inner calls are traced, too. The clients notice each change of patterns, so cycles are as long as
%% they can be while each second has one. The control word could stop sampling as well, but a call that the
%% operating system interrupts can restore an old word (kprof_spec:cut/1).
%%
%% Weights: a counter of the entry's calls is always on. An event stands for the calls since the last cycle: its `factor` is their
%% number through the number that is made while sampling is on. If that time is short, the relay holds the events until this is
%% known; else the number that will probably be made is used. The relay adds up what the events really stand for; the difference
%% is made up for by the next cycles. Without an entry, the calls of all tiers are counted. Without a counter (another tracer has
%% one) time is used.
%%
%% It begins where unsampled calls cost more than part_cost. Where they cost more than max_cost, it is done instead of opening the
%% breaker, also if the duration of requests is not known yet (part_assumed). The breaker opens where they would cost more than
%% ?MOST_FIXED: then the node's clients would notice each cycle.
%%
%% Invariant: while phase is not `off`, tracing.set has all functions as `pending` (each may have a pattern), and the cleanup plan,
%% too.
-module(kprof_part_time).
-export([evaluated/1, begin_now/1, step/1, leave/1, forget/1, end_now/1, own/1, share/1, usual/1, counted_s/1, is_on/1, fixed/1, fixed/2, most_fixed/1, most_to_begin/1]).

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

-define(LEAST_CYCLE_MS, 800). % from one to the next: 80 to 120 % of it
-define(MOST_CYCLE_MS, 1000).
-define(PART, 40). % patterns are set for 1/40 of a cycle, if its limits allow it
-define(LEAST_PERMILLE, 3).
-define(MOST_PERMILLE, 160).
-define(SPARE_MS, 4). % to set and to remove the patterns
-define(EVENTS, 800). % wanted in a cycle
-define(HELD_MS, 15). % if sampling is on for longer, the relay holds no events
-define(BEHIND, 4). % cycles in which an error is made up for; the factor is at most this many times its usual value
-define(LONGEST, 4000). % permille
-define(MOST_FIXED, 500000). % millionths of the schedulers' time, while it is on,
-define(MOST_TO_BEGIN, 400000). % and when it begins
-define(CHEAP, 6). % consecutive cycles in which unsampled calls would cost less than three quarters of part_cost

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

%% A jump of the load shows at once, not after the second for which the cost is averaged.
begun_if_expensive(#s{cost = Cost, limits = #limits{max = #{max_cost := Max, part_assumed := Assumed}}} = S) ->
    {_, Average} = kprof_cost:spent(Cost),
    Fixed = max(Average, kprof_cost:latest(Cost) div 2),
    TooMuch = Fixed > Max orelse (Assumed =:= 0 andalso kprof_sampling:in_force(S) > 1 andalso Fixed > cheap_enough(S)),
    case TooMuch andalso Fixed =< max(Max, ?MOST_FIXED) of
        true -> begun(S);
        false -> S
    end.

%% Not while the breaker increases sampling in steps.
allowed(#s{breaker = B, tracing = #tracing{on = On, paused = Paused}} = S) ->
    possible(S) andalso On andalso Paused =:= none andalso kprof_breaker:state(B) =:= closed andalso kprof_breaker:factor(B) =:= 1.

%% Not if another agent uses the control word, and not with built-in functions, whose patterns may belong to all sessions
%% (kprof_hazard).
possible(#s{beside = Beside, tracing = #tracing{specs = Specs}, limits = #limits{max = #{part_ms := Ms, max_cost := Max}}}) ->
    Ms > 0 andalso Max > 0 andalso not Beside andalso not lists:any(fun({_, {M, F, A}, _}) -> erlang:is_builtin(M, F, A) end, Specs).

%% What unsampled calls may cost all the time before tracing is on for a part of the time, in millionths of the schedulers' time.
cheap_enough(#s{limits = #limits{max = #{max_cost := Max, part_cost := Most}}}) -> min(Most, Max div 2).

%% What they may cost (fixed/1) before the breaker opens.
-spec most_fixed(state()) -> non_neg_integer().
most_fixed(#s{part_time = #part_time{phase = off}, limits = #limits{max = #{max_cost := Max}}}) -> Max;
most_fixed(#s{limits = #limits{max = #{max_cost := Max}}}) -> max(Max, ?MOST_FIXED).

%% What they may cost when tracing begins.
-spec most_to_begin(state()) -> non_neg_integer().
most_to_begin(#s{limits = #limits{max = #{max_cost := Max}}} = S) ->
    case possible(S) of
        true -> max(Max, ?MOST_TO_BEGIN);
        false -> Max
    end.

%% Tracing has just begun, and unsampled calls cost more than max_cost.
-spec begin_now(state()) -> state().
begin_now(S) ->
    case allowed(S) of
        true -> begun(S);
        false -> S
    end.

%% The first cycle begins as if one had just passed: soon. Events that wait now are from before: no flood that sampling cannot end.
begun(#s{tracing = #tracing{set = Set} = T, limits = Limits, cost = Cost} = S0) ->
    S1 = S0#s{
        tracing = T#tracing{set = maps:map(fun(_, _) -> pending end, Set)},
        limits = Limits#limits{why = part_time, flooded = kprof_node:now_ms()},
        cost = kprof_cost:anew(Cost),
        part_time = #part_time{phase = closed, set = Set, cycle_at = kprof_node:now_ms() - ?LEAST_CYCLE_MS, read = kprof_link:counter(?READ, S0)}
    },
    later(0, restarted(kprof_cleanup_plan:share(counters(S1)))).

%% Counts the calls of the entry, or of all tiers if there is no entry, if nobody else does. A function whose module is not loaded
%% yet has no counter. The caller shares the plan, with the counters that are set.
counters(#s{session = Session, counting = Counting, part_time = P} = S0) ->
    Specs = counted_specs(S0),
    MFAs = [MFA || {_, MFA, _} <- Specs],
    case lists:all(fun(MFA) -> kprof_call_count:call_count(Session, MFA) =:= none end, MFAs) of
        true ->
            S = kprof_cleanup_plan:share(S0#s{counting = MFAs ++ Counting}),
            {Ixs, Set} = lists:unzip([{Ix, MFA} || {Ix, MFA, _} <- Specs, kprof_spec:set_pattern(Session, MFA, true, [call_count]) =:= 1]),
            S#s.relay ! {weighed, Ixs},
            S#s{counting = Set ++ Counting, part_time = P#part_time{counters = Set}};
        false ->
            S0
    end.

counted_specs(#s{tracing = #tracing{specs = Specs, trace_config = #{entry := none}}}) -> Specs;
counted_specs(S) -> entry_specs(S).

counters_off(#s{part_time = #part_time{counters = []}} = S) -> S;
counters_off(#s{session = Session, counting = Counting, part_time = #part_time{counters = MFAs} = P} = S) ->
    kprof_call_count:clear(Session, MFAs),
    S#s.relay =/= none andalso (S#s.relay ! {weighed, []}),
    kprof_cleanup_plan:share(S#s{counting = Counting -- MFAs, part_time = P#part_time{counters = []}}).

%% What events stand for: calls, or time (native). If one of the modules was loaded again, its counter is gone.
measured(#s{part_time = #part_time{counters = []}} = S) ->
    {erlang:monotonic_time(), S};
measured(#s{session = Session, part_time = #part_time{counters = MFAs}} = S) ->
    Calls = [kprof_call_count:call_count(Session, MFA) || MFA <- MFAs],
    case lists:member(none, Calls) of
        false -> {lists:sum(Calls), S};
        true -> measured(restarted(counters_off(S)))
    end.

restarted(S0) ->
    {Now, S} = measured(S0),
    S#s{part_time = (S#s.part_time)#part_time{covered = Now - stood(S), last = Now, last_at = erlang:monotonic_time()}}.

%% What the events of counted functions that were sent stand for. Without a counter, the time of each cycle is added to `covered`.
stood(#s{part_time = #part_time{counters = []}}) -> 0;
stood(S) -> kprof_link:counter(?ENTRIES, S).

%% The patterns are set all the time again. Below OTP 27, another tracer may have set one meanwhile: it stays.
-spec leave(state()) -> state().
leave(#s{part_time = #part_time{phase = off}} = S) -> S;
leave(#s{session = Session, tracing = #tracing{specs = Specs} = T} = S) ->
    Own = own(S),
    Set = maps:merge(kprof_patterns:put(Session, [Spec || {_, MFA, _} = Spec <- Specs, not is_map_key(MFA, Own)]), Own),
    Ours = Specs -- kprof_patterns:taken(Session, Specs, Set),
    kprof_tiers:all_the_time(forget(S#s{tracing = T#tracing{set = Set, specs = Ours}})).

%% The patterns were removed, or are set by the caller.
-spec forget(state()) -> state().
forget(#s{part_time = #part_time{phase = off}} = S) -> S;
forget(#s{cost = Cost, limits = Limits} = S0) ->
    S = counters_off(S0),
    Sample = kprof_sampling:in_force(S), % tracing all the time begins with as few requests; limits increase this in steps
    S#s{part_time = #part_time{}, cost = kprof_cost:anew(Cost), limits = Limits#limits{sample = Sample, why = cost, evaluated = undefined, ticket = none}}.

%% The agent ends: the patterns are removed, and none is set again.
-spec end_now(state()) -> state().
end_now(#s{part_time = #part_time{phase = off}} = S) -> S;
end_now(S) ->
    removed(S),
    forget(S).

%% The patterns that are set now.
-spec own(state()) -> kprof_patterns:set().
own(#s{part_time = #part_time{phase = off}, tracing = #tracing{set = Set}}) -> Set;
own(#s{part_time = #part_time{set = Set}}) -> Set.

%% How much of the time the patterns are set, in permille.
-spec share(state()) -> 1..1000.
share(#s{part_time = #part_time{phase = off}}) -> 1000;
share(S) -> min(1000, (open_ms(S) + part_ms(S) + ?SPARE_MS) * 1000 div cycle_ms(S)).

%% The factor without its corrections.
-spec usual(state()) -> pos_integer().
usual(#s{part_time = #part_time{phase = off}}) -> 1;
usual(S) -> cycle_ms(S) div open_ms(S).

%% Calls per second that the VM counts.
-spec counted_s(state()) -> non_neg_integer().
counted_s(#s{part_time = #part_time{counters = []}}) -> 0;
counted_s(#s{part_time = #part_time{calls_s = PerS}}) -> PerS.

%% What unsampled calls cost, or, while tracing is on for a part of the time, what they would cost all the time: millionths of the
%% schedulers' time.
-spec fixed(state()) -> non_neg_integer().
fixed(#s{part_time = #part_time{phase = off}, cost = Cost}) -> element(2, kprof_cost:spent(Cost));
fixed(#s{part_time = #part_time{calls_s = PerS}} = S) -> fixed(PerS, S).

%% The same if so many calls per second take a sampling decision.
-spec fixed(non_neg_integer(), state()) -> non_neg_integer().
fixed(Calls, #s{cost = Cost, tracing = #tracing{trace_config = #{entry := none}}}) -> kprof_cost:fixed(0, Calls, false, Cost);
fixed(Entries, #s{cost = Cost} = S) -> kprof_cost:fixed(Entries, kprof_tier_rates:per_second(S), true, Cost).

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

rest(#s{part_time = #part_time{cycle_at = At} = P} = S) ->
    removed(S),
    Cycle = cycle_ms(S),
    Next = At + Cycle * 4 div 5 + erlang:phash2(make_ref(), Cycle * 2 div 5),
    later(Next - kprof_node:now_ms(), S#s{part_time = P#part_time{phase = rest, set = #{}}}).

%% The entry last: a process calls it with each request, and then has no token of an older one.
removed(#s{session = Session, part_time = #part_time{set = Set}} = S) ->
    Entry = [MFA || {_, MFA, _} <- entry_specs(S)],
    kprof_patterns:clear(Session, maps:without(Entry, Set)),
    kprof_patterns:clear(Session, maps:with(Entry, Set)).

entry_specs(#s{tracing = #tracing{specs = Specs, trace_config = #{entry := Entry}}}) -> [Spec || {Ix, _, _} = Spec <- Specs, Ix =:= Entry].

open(#s{part_time = P} = S0) ->
    S1 = sampled(S0#s{part_time = P#part_time{cycle_at = kprof_node:now_ms()}}),
    Held = is_held(S1),
    S2 = if Held -> S1; true -> predicted(S1) end,
    kprof_tiers:cut(S2), % no pattern is set, so no call restores the word from before
    S3 = prepared(S2),
    kprof_tiers:weigh(S3),
    Held andalso (S3#s.relay ! hold),
    Since = erlang:monotonic_time(),
    {At, Calls, Set, #s{part_time = P1} = S} = timed(fun() -> opened(S3) end, S3),
    later(open_ms(S), S#s{part_time = P1#part_time{phase = open, set = Set, open_at = At, opened = Calls, held = if Held -> Since; true -> none end, ticket = kprof_node:ticket()}}).

is_held(#s{part_time = #part_time{counters = Counters}} = S) -> Counters =/= [] andalso open_ms(S) =< ?HELD_MS.

%% Tokens of requests before this cycle may still be in processes. Their calls are not traced: those of the last cycle have ended,
%% and a process that has called the entry since may work for another request now.
prepared(#s{session = Session, tracing = #tracing{specs = Specs, trace_config = #{entry := Entry}}, part_time = P} = S) ->
    Set =
        case Entry of
            none -> #{};
            _ -> kprof_patterns:put(Session, kprof_match_spec:since(kprof_node:ticket(), Specs -- entry_specs(S)))
        end,
    S#s{part_time = P#part_time{set = Set, read = kprof_link:counter(?READ, S)}}.

%% Without an entry, all functions are sampled.
opened(#s{tracing = #tracing{specs = Specs, trace_config = #{entry := none}}, session = Session}) -> kprof_patterns:put(Session, Specs);
opened(#s{session = Session, part_time = #part_time{set = Set}} = S) ->
    maps:from_list([{MFA, pending} || {_, MFA, Spec} <- entry_specs(S), kprof_patterns:put_fast(Session, MFA, Spec)] ++ maps:to_list(Set)).

%% No more calls are sampled. An entry call now clears the token that its process has.
shut(#s{tracing = #tracing{trace_config = #{entry := none}}, session = Session, part_time = #part_time{set = Set}}) ->
    kprof_patterns:clear(Session, Set),
    #{};
shut(#s{session = Session, part_time = #part_time{set = Set}} = S) ->
    Entry = maps:with([MFA || {_, MFA, _} <- entry_specs(S)], Set),
    maps:merge(Set, kprof_patterns:replace(Session, Entry, kprof_match_spec:unsampled())).

%% A change of patterns takes effect somewhere in the time that it takes. -> {Time, measured/1 at that time, Result, state()}
timed(Change, S0) ->
    {Calls0, S1} = measured(S0),
    Before = erlang:monotonic_time(),
    Result = Change(),
    After = erlang:monotonic_time(),
    {Calls, S} = measured(S1),
    {(Before + After) div 2, (Calls0 + Calls) div 2, Result, S}.

%% A cycle makes about ?EVENTS events, or fewer with max_rate. More: the patterns are set for less time, then fewer calls are sampled.
sampled(#s{limits = #limits{sample = Sample} = Limits, part_time = #part_time{read = Before, permille = Permille} = P} = S) ->
    #s{tracing = #tracing{trace_config = #{sample := Configured}}} = S,
    Events = kprof_link:counter(?READ, S) - Before,
    Wanted = wanted(S),
    {Part, New} =
        if
            Events * 2 > Wanted * 3, Permille > ?LEAST_PERMILLE -> {max(?LEAST_PERMILLE, Permille div 2), Sample};
            Events * 2 > Wanted * 3 -> {Permille, Sample * Events div Wanted};
            Events * 2 < Wanted, Sample > Configured -> {Permille, max(Configured, Sample div 2)};
            Events * 2 < Wanted -> {min(?MOST_PERMILLE, 2 * Permille), Sample};
            true -> {Permille, Sample}
        end,
    S#s{limits = Limits#limits{sample = New}, part_time = P#part_time{permille = Part}}.

%% The relay forwards at most a tenth of max_rate every 100 ms.
wanted(#s{limits = #limits{max = #{max_rate := 0}}}) -> ?EVENTS;
wanted(#s{limits = #limits{max = #{max_rate := Rate}}}) -> max(1, min(?EVENTS, Rate div 20)).

predicted(S0) ->
    {Now, #s{part_time = #part_time{last = Last, last_at = At, longer = Longer}} = S} = measured(S0),
    Span = max(1, erlang:monotonic_time() - At),
    counted(Now, factor(Now, (Now - Last) * native_ms(open_ms(S)) div Span * Longer div 1000, S)).

%% The relay has held the events since then.
known(_, #s{part_time = #part_time{held = none}} = S) ->
    S;
known(Calls, #s{relay = Relay, part_time = #part_time{held = Since, opened = Opened, counters = Counters} = P} = S0) ->
    S1 = S0#s{part_time = P#part_time{held = none}},
    S = case Counters of [] -> S1; _ -> counted(Calls, factor(Calls, Calls - Opened, S1)) end,
    Relay ! {weight, kprof_sampling:in_force(S), Since},
    S.

%% Now: measured/1; Sampled: how much of it there is while sampling is on. The error so far is made up for in several cycles: in
%% one, it would make errors of the opposite sign.
factor(Now, Sampled, #s{part_time = #part_time{covered = Before, last = Last} = P} = S) ->
    Stood = stood(S),
    Covered = Before + Stood,
    Coming = max(1, Sampled),
    Most = ?BEHIND * usual(S),
    Due = (Now - Last) + (Last - Covered) div ?BEHIND,
    S#s{part_time = P#part_time{factor = max(1, min(Most, Due div Coming)), covered = max(Covered, Now - Most * Coming) - Stood}}.

%% The calls per second that are counted, in the last cycle.
counted(_, #s{part_time = #part_time{counters = []} = P} = S) -> S#s{part_time = P};
counted(Now, #s{part_time = #part_time{last = Last, last_at = At} = P} = S) ->
    Time = erlang:monotonic_time(),
    S#s{part_time = P#part_time{last = Now, last_at = Time, calls_s = (Now - Last) * native_ms(1000) div max(1, Time - At)}}.

closed(#s{part_time = #part_time{open_at = Opened, ticket = Before}} = S0) ->
    Ticket = kprof_node:ticket(),
    {At, Calls, Set, #s{part_time = P} = S1} = timed(fun() -> shut(S0) end, S0),
    Took = max(1, At - Opened),
    Longer = min(?LONGEST, Took * 1000 div native_ms(open_ms(S0))),
    S = known(Calls, S1#s{part_time = by_time(Ticket, Before, Took, P#part_time{phase = closed, set = Set, longer = (3 * P#part_time.longer + Longer) div 4})}),
    cheaper(later(part_ms(S), S)).

%% Without a counter, tickets show the calls per second.
by_time(Ticket, Before, Took, #part_time{counters = [], covered = Covered, factor = Factor} = P) ->
    Calls =
        case Before > 0 andalso Ticket > 0 of
            true -> kprof_spec:tickets(Before, Ticket) * native_ms(1000) div Took;
            false -> P#part_time.calls_s % a process was taking a ticket
        end,
    P#part_time{covered = Covered + Factor * Took, calls_s = Calls};
by_time(_, _, _, P) ->
    P.

native_ms(Ms) -> erlang:convert_time_unit(Ms, millisecond, native).

cheaper(#s{part_time = #part_time{cheap = Cheap} = P} = S) ->
    case fixed(S) * 4 < cheap_enough(S) * 3 of
        true when Cheap + 1 >= ?CHEAP -> leave(S);
        true -> S#s{part_time = P#part_time{cheap = Cheap + 1}};
        false -> S#s{part_time = P#part_time{cheap = 0}}
    end.
