%% Call counters (`call_count`) while the breaker is open, and in slow start: the call rate of each tier.
%%
%% Invariant: they cost at most ?BUDGET permille of the schedulers. With few calls they stay on and the counts are exact. With
%% many calls a counter is on for a part of each round, rounds get longer, and the last rate is used for the rest. A value of
%% the controller; the caller passes the time of a step in native units. The time of calls is never counted (kprof_hazard: call_time).
-module(kprof_call_count).
-export([new/4, joined/2, step/2, is_early/2, latest/2, due/2, stop/1, held/1, per_second/2, rates/1, clear/2, left/2, call_count/2]).
-export_type([counts/0]).

-define(SLICE_MS, 40).
-define(ROUND_MS, 500).
-define(MOST_REST_MS, 10000).
-define(BUDGET, 10). % permille
-define(BUSY, 200). % permille of one scheduler spent counting: the caller runs a tight loop
-define(LEAST_REST_MS, 20). % to count them in
-define(MOST_TIMES, 8). % with its counter, a loop is at most this many times slower

-record(c, {
    session,
    tiers, % [{Ix | sent, MFA}] that can be counted
    taken, % the others: each has a counter of another tracer, or of a question of kprof-top
    count_ns, % cost of one count
    phase = rest,
    counted = false, % they have been on for a slice
    on, % MFA => {Calls, At} as last read, for each counter that is on
    rate, % MFA => {Calls, Native}: calls in that time
    due, % Ix => calls not reported yet
    covered, % MFA => end of the time that due covers
    began, % start of the round
    told, % end of the time reported so far
    switches, % {Context switches of the VM, At} when the counters were last set or cleared
    resting = none % none | {Context switches, Native}: in the last rest without counters
}).

-type switches() :: {non_neg_integer(), integer()}.

-opaque counts() :: #c{}.

%% Tiers: [{Ix, MFA}]; CountNs: measured cost of one count. Counters of other tracers are not changed (below OTP 27 a function
%% has one counter for all).
-spec new(kprof_spec:session(), [{kprof_spec:ix() | sent, mfa()}], pos_integer(), integer()) -> counts().
new(Session, Tiers, CountNs, Now) ->
    {Free, Taken} = lists:partition(fun({_, MFA}) -> free(Session, MFA) end, Tiers),
    #c{
        session = Session, tiers = Free, taken = Taken, count_ns = CountNs, on = #{}, rate = #{}, due = #{}, began = Now, told = Now,
        switches = switches(), covered = covered(Free, Now)
    }.

covered(Tiers, Now) -> maps:from_list([{MFA, Now} || {_, MFA} <- Tiers]).

%% Functions whose counter another tracer, or a question of kprof-top, has removed since: they are counted from the next round on.
%% none: there are none. Before that the caller shares the plan, with held/1.
-spec joined(integer(), counts()) -> none | counts().
joined(_, #c{taken = []}) ->
    none;
joined(Now, #c{session = Session, tiers = Tiers, taken = Taken0, covered = Covered} = C) ->
    case lists:partition(fun({_, MFA}) -> free(Session, MFA) end, Taken0) of
        {[], _} -> none;
        {Free, Taken} -> C#c{tiers = Tiers ++ Free, taken = Taken, covered = maps:merge(Covered, covered(Free, Now))}
    end.

free(Session, MFA) -> kprof_spec:pattern({Session, call_count}, MFA) =:= false.

%% The functions that may have a counter.
-spec held(counts()) -> [mfa()].
held(#c{tiers = Tiers}) -> [MFA || {_, MFA} <- Tiers].

%% Begins the next phase: rest -> count -> rest. -> {Milliseconds until the next step, C}
-spec step(integer(), counts()) -> {non_neg_integer(), counts()}.
step(Now, #c{phase = rest, on = On, switches = Switches} = C) when map_size(On) =:= 0 ->
    {_, Rested} = Resting = since(Switches),
    case ?LEAST_REST_MS - ms(Rested) of
        More when More > 0 -> {More, C};
        _ -> {?SLICE_MS, counting(Now, C#c{resting = Resting})}
    end;
step(Now, #c{phase = rest} = C) ->
    {?ROUND_MS, counting(Now, C#c{resting = none})};
step(Now, #c{phase = count, began = Began} = C0) ->
    {Cost, C} = count_read(C0),
    Span = max(1, Now - Began),
    Rest = #c{} = C#c{phase = rest, counted = true},
    case Cost * 1000 div (Span * schedulers()) > ?BUDGET of
        false -> {0, Rest};
        true -> {max(?ROUND_MS, min(?MOST_REST_MS, ms(Cost * 1000 div (?BUDGET * schedulers()) - Span))), off(Rest)}
    end.

%% True: they have not been on for a whole slice yet, so nothing is known.
-spec is_early(integer(), counts()) -> boolean().
is_early(_, #c{counted = Counted, tiers = Tiers}) when Counted; Tiers =:= [] -> false;
is_early(Now, #c{phase = count, began = Began}) -> ms(Now - Began) < ?SLICE_MS;
is_early(_, _) -> true.

%% Reads the counters that have been on for a while, without waiting for the end of the round. For rates/1, due/2 and stop/1 only:
%% the next step would count these calls for the whole round.
-spec latest(integer(), counts()) -> counts().
latest(Now, #c{phase = count, began = Began} = C0) ->
    case ms(Now - Began) >= ?SLICE_MS of
        true -> element(2, count_read(C0));
        false -> C0
    end;
latest(_, C) ->
    C.

counting(Now, C) -> (count_on(C))#c{phase = count, began = Now, switches = switches()}.

schedulers() -> erlang:system_info(schedulers_online).

-spec switches() -> switches().
switches() -> {element(1, erlang:statistics(context_switches)), erlang:monotonic_time()}.

-spec since(switches()) -> {non_neg_integer(), pos_integer()}.
since({Before, Then}) ->
    {Now, At} = switches(),
    {max(0, Now - Before), max(1, At - Then)}.

native(Ns) -> erlang:convert_time_unit(Ns, nanosecond, native).
ms(Native) -> erlang:convert_time_unit(Native, native, millisecond).

count_on(#c{session = Session, tiers = Tiers, on = On} = C) ->
    C#c{on = lists:foldl(fun({_, MFA}, Acc) -> counter(Session, MFA, Acc) end, On, Tiers)}.

counter(_, MFA, On) when is_map_key(MFA, On) -> On;
counter(Session, MFA, On) ->
    case kprof_spec:set_pattern(Session, MFA, true, [call_count]) of
        N when is_integer(N), N > 0 -> On#{MFA => {or_zero(call_count(Session, MFA)), erlang:monotonic_time()}};
        _ -> On
    end.

or_zero(none) -> 0;
or_zero(N) -> N.

%% -> {Cost of the counts, in native units of one scheduler, C}
count_read(#c{on = On, switches = Switches} = C) ->
    Counting = since(Switches),
    maps:fold(fun(MFA, Was, {Cost, Acc}) -> count_one(MFA, Was, Counting, Cost, Acc) end, {0, C}, On).

count_one(MFA, {Before, Since}, Counting, Cost, #c{session = Session, on = On} = C) ->
    Now = erlang:monotonic_time(),
    case call_count(Session, MFA) of
        none ->
            %% the module was loaded again
            {Cost, C#c{on = maps:remove(MFA, On)}};
        N ->
            Calls = max(0, N - Before),
            Span = max(1, Now - Since),
            Spent = native(Calls * C#c.count_ns),
            C1 = first(MFA, Since, C#c{on = On#{MFA => {N, Now}}}),
            {Cost + Spent, cover(MFA, Now, C1#c{rate = (C#c.rate)#{MFA => {uncounted(Calls, Spent, Span, Counting, C#c.resting), Span}}})}
    end.

%% A tight loop calls less often while its calls are counted. This estimates its calls without the counter. The cost of a count
%% depends on the loop (4.5 to 12 ns), but the VM's context switches show how much slower the loop is: a process that loops makes
%% the same number of calls in each of its turns. If few other processes run, this is exact within 1 %; with more, it is too low.
uncounted(Calls, Spent, Span, _, _) when Spent * 1000 =< Span * ?BUSY -> Calls;
uncounted(Calls, _, _, {Switches, Took}, {Before, Rested}) -> max(Calls, min(?MOST_TIMES * Calls, Calls * Before * Took div (max(1, Switches) * Rested)));
uncounted(Calls, Spent, Span, _, none) when Spent * 3 < Span -> Calls * Span div (Span - Spent);
uncounted(Calls, _, _, _, none) -> Calls * 3 div 2.

%% Calls before the counter was first set are not known.
first(MFA, _, #c{rate = Rate} = C) when is_map_key(MFA, Rate) -> C;
first(MFA, Since, #c{covered = Covered} = C) -> C#c{covered = Covered#{MFA := Since}}.

%% Calls since the last reading, computed from the last known rate.
cover(MFA, Now, #c{tiers = Tiers, covered = Covered, rate = Rate, due = Due} = C) ->
    case Rate of
        #{MFA := {Calls, Span}} ->
            #{MFA := Until} = Covered,
            More = Calls * (Now - Until) / Span,
            {Ix, _} = lists:keyfind(MFA, 2, Tiers),
            C#c{due = maps:update_with(Ix, fun(N) -> N + More end, More, Due), covered = Covered#{MFA := Now}};
        _ ->
            C
    end.

off(#c{session = Session, on = On} = C) ->
    clear(Session, maps:keys(On)),
    C#c{on = #{}, switches = switches()}.

%% Calls to report: {Since, [{Ix, Calls}]}. Only whole calls are reported; the fraction stays.
-spec due(integer(), counts()) -> {{integer(), [{kprof_spec:ix() | sent, pos_integer()}]}, counts()}.
due(Now, C0) ->
    Held = [MFA || {_, MFA} <- C0#c.tiers, not is_map_key(MFA, C0#c.on)],
    C = lists:foldl(fun(MFA, Acc) -> cover(MFA, Now, Acc) end, C0, Held),
    Told = [{Ix, trunc(maps:get(Ix, C#c.due, 0))} || {Ix, _} <- C#c.tiers],
    Left = maps:map(fun(_, N) -> N - trunc(N) end, C#c.due),
    {{C#c.told, [T || {_, N} = T <- Told, N > 0]}, C#c{due = Left, told = Now}}.

%% The rate of the last reading.
-spec per_second(mfa(), counts()) -> non_neg_integer().
per_second(MFA, C) -> maps:get(MFA, rates(C), 0).

%% All known rates: MFA => calls per second.
-spec rates(counts()) -> kprof_tier_rates:rates().
rates(#c{rate = Rate}) ->
    Second = erlang:convert_time_unit(1, second, native),
    maps:map(fun(_, {Calls, Span}) -> Calls * Second div Span end, Rate).

-spec stop(counts()) -> counts().
stop(C) -> off(C).

%% ---- The counters in the VM, without counts(): for any process of the agent ----

-spec clear(kprof_spec:session(), [mfa()]) -> [kprof_spec:matched()].
clear(Session, MFAs) -> [clear_one(Session, MFA) || MFA <- MFAs].

%% On some VMs (seen: OTP 25, 27) the removal of its counter switches off the pattern of a built-in function: the VM still
%% returns it, but calls send no events. So it is set again.
clear_one(Session, {M, F, A} = MFA) ->
    Spec = erlang:is_builtin(M, F, A) andalso kprof_spec:pattern({Session, traced}, MFA) =:= local andalso kprof_spec:pattern({Session, match_spec}, MFA),
    Cleared = kprof_spec:set_pattern(Session, MFA, false, [call_count]),
    is_list(Spec) andalso kprof_spec:set_pattern(Session, MFA, Spec, [local]),
    Cleared.

%% Returns the number of counters that are still set in the VM.
-spec left(kprof_spec:session(), [mfa()]) -> non_neg_integer().
left(Session, MFAs) ->
    length([x || MFA <- MFAs, not lists:member(kprof_spec:pattern({Session, call_count}, MFA), [false, undefined])]).

-spec call_count(kprof_spec:session(), mfa()) -> none | non_neg_integer().
call_count(Session, MFA) ->
    case kprof_spec:pattern({Session, call_count}, MFA) of
        N when is_integer(N) -> N;
        _ -> none
    end.
