%% Counters for the time in which nothing is traced: `call_count` for the rate of each tier, `call_time` for the mean.
%%
%% Invariant: they cost at most ?BUDGET permille of the schedulers. A counter costs some 20 ns a call, a timed one some 400 ns
%% (and only processes with the flag `call` are timed): where calls are few, both stay on and the counts are exact; where
%% they are many, a counter is on for a moment of each round, rounds get longer, and the counts between are the last rate's.
%% Reading call_time stops all schedulers for a moment, and the VM keeps a number for each process that ever called: it is
%% read once a round, and set anew when it has become long.
%%
%% A value of the keeper's: time comes in, in native units. Only this module sets counters, but for the question `why`.
-module(kprof_count_00).
-export([new/4, step/2, due/2, stop/1, held/1, stood/2, timing/1, per_second/2, clear/2, left/2, call_count/2]).

-define(SLICE_MS, 40).
-define(ROUND_MS, 500).
-define(MOST_REST_MS, 10000).
-define(BUDGET, 10). % permille
-define(COUNT_NS, 30).
-define(TIME_NS, 450).
-define(PROCESSES, 1000).

-record(c, {
    session,
    tiers, % [{Ix, MFA}] that may be counted
    kinds, % [call_count] or [call_count, call_time]
    phase = rest,
    count = #{}, % MFA => {Calls, At} as last read; a counter that is on
    time = #{}, % MFA => {Calls, Us}, idem
    rate = #{}, % MFA => {Calls, Native}: so many in that time
    mean = #{}, % MFA => {Calls, Us}
    due = #{}, % Ix => calls not told yet
    covered = #{}, % MFA => until when due tells
    dear = 0, % native units of one scheduler that this round has cost
    began, % of the round
    told % until when
}).

%% Tiers: [{Ix, MFA}]; Timed: processes have the flag that call_time needs. What someone else counts is left alone (below
%% OTP 27 a function has one counter for all).
new(Session, Tiers, Timed, Now) ->
    Free = [T || {_, MFA} = T <- Tiers, free(Session, MFA)],
    Kinds = if Timed -> [call_count, call_time]; true -> [call_count] end,
    #c{session = Session, tiers = Free, kinds = Kinds, began = Now, told = Now, covered = maps:from_list([{MFA, Now} || {_, MFA} <- Free])}.

free(Session, MFA) -> lists:all(fun(Kind) -> kprof_spec_00:pattern({Session, Kind}, MFA) =:= false end, [call_count, call_time]).

%% What may be set: [{MFA, Kind}].
held(#c{tiers = Tiers, kinds = Kinds}) -> [{MFA, Kind} || {_, MFA} <- Tiers, Kind <- Kinds].

%% Is call_time on? Then processes want the flag `call`.
timing(#c{time = On}) -> map_size(On) > 0.

%% All schedulers stood still for so long, for this round's sake.
stood(Native, #c{dear = Dear} = C) -> C#c{dear = Dear + Native * schedulers()}.

%% Goes on to the next phase: rest -> count -> time -> rest. -> {Milliseconds until the next step, C}
step(Now, #c{phase = rest} = C) ->
    Steady = map_size(C#c.count) > 0,
    {if Steady -> ?ROUND_MS - ?SLICE_MS; true -> ?SLICE_MS end, (count_on(C))#c{phase = count, began = Now, dear = 0}};
step(Now, #c{phase = count, kinds = Kinds} = C) ->
    {Cost, C1} = count_read(C),
    C2 = kept(call_count, Cost, Now, C1),
    {?SLICE_MS, (case Kinds of [call_count] -> C2; _ -> time_on(C2) end)#c{phase = time}};
step(Now, #c{phase = time, began = Began} = C) ->
    {Cost, Long, C1} = time_read(C),
    C2 = if Long -> off(call_time, C1); true -> kept(call_time, Cost, Now, C1) end,
    Whole = C2#c.dear * 1000 div (?BUDGET * schedulers()),
    Rest = min(?MOST_REST_MS, ms(max(0, Whole - (erlang:monotonic_time() - Began)))),
    Cheap = map_size(C2#c.count) > 0,
    {if Cheap -> 0; true -> max(Rest, ?ROUND_MS - 2 * ?SLICE_MS) end, C2#c{phase = rest}}.

%% Counters that cost more than they may are taken off; Cost is of one scheduler's time.
kept(Kind, Cost, Now, #c{dear = Dear, began = Began} = C) ->
    Share = Cost * 1000 div (max(1, Now - Began) * schedulers()),
    (if Share > ?BUDGET -> off(Kind, C); true -> C end)#c{dear = Dear + Cost}.

schedulers() -> erlang:system_info(schedulers_online).
native(Ns) -> erlang:convert_time_unit(Ns, nanosecond, native).
ms(Native) -> erlang:convert_time_unit(Native, native, millisecond).

count_on(#c{session = Session, tiers = Tiers, count = On} = C) ->
    C#c{count = lists:foldl(fun({_, MFA}, Acc) -> counter(Session, MFA, Acc) end, On, Tiers)}.

counter(_, MFA, On) when is_map_key(MFA, On) -> On;
counter(Session, MFA, On) ->
    case kprof_spec_00:set_pattern(Session, MFA, true, [call_count]) of
        N when is_integer(N), N > 0 -> On#{MFA => {or_zero(call_count(Session, MFA)), erlang:monotonic_time()}};
        _ -> On
    end.

or_zero(none) -> 0;
or_zero(N) -> N.

count_read(#c{count = On} = C) -> maps:fold(fun count_one/3, {0, C}, On).

count_one(MFA, {Before, Since}, {Cost, #c{session = Session, count = On} = C}) ->
    Now = erlang:monotonic_time(),
    case call_count(Session, MFA) of
        none ->
            %% the module was loaded again
            {Cost, C#c{count = maps:remove(MFA, On)}};
        N ->
            Calls = max(0, N - Before),
            C1 = first(MFA, Since, C#c{count = On#{MFA => {N, Now}}}),
            {Cost + native(Calls * ?COUNT_NS), cover(MFA, Now, C1#c{rate = (C#c.rate)#{MFA => {Calls, max(1, Now - Since)}}})}
    end.

%% Of the time before its first counter nothing is known.
first(MFA, _, #c{rate = Rate} = C) when is_map_key(MFA, Rate) -> C;
first(MFA, Since, #c{covered = Covered} = C) -> C#c{covered = Covered#{MFA := Since}}.

%% Calls of the time since the last look, by the rate that is known.
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

time_on(#c{session = Session, tiers = Tiers, time = On} = C) ->
    C#c{time = lists:foldl(fun({_, MFA}, Acc) -> timed(Session, MFA, Acc) end, On, Tiers)}.

timed(_, MFA, On) when is_map_key(MFA, On) -> On;
timed(Session, MFA, On) ->
    case kprof_spec_00:set_pattern(Session, MFA, true, [call_time]) of
        N when is_integer(N), N > 0 -> On#{MFA => {0, 0}};
        _ -> On
    end.

time_read(#c{time = On} = C) -> maps:fold(fun time_one/3, {0, false, C}, On).

time_one(MFA, {Before, UsBefore}, {Cost, Long, #c{session = Session, time = On, mean = Mean} = C}) ->
    case kprof_spec_00:pattern({Session, call_time}, MFA) of
        Seen when is_list(Seen) ->
            {N, Us} = lists:foldl(fun({_, Calls, S, U}, {A, B}) -> {A + Calls, B + S * 1000000 + U} end, {0, 0}, Seen),
            Calls = max(0, N - Before),
            Mean1 = if Calls > 0 -> Mean#{MFA => {Calls, max(0, Us - UsBefore)}}; true -> Mean end,
            {Cost + native(Calls * ?TIME_NS), Long orelse length(Seen) > ?PROCESSES, C#c{time = On#{MFA => {N, Us}}, mean = Mean1}};
        _ ->
            {Cost, Long, C#c{time = maps:remove(MFA, On)}}
    end.

off(call_count, #c{session = Session, count = On} = C) ->
    clear(Session, [{MFA, call_count} || MFA <- maps:keys(On)]),
    C#c{count = #{}};
off(call_time, #c{session = Session, time = On} = C) ->
    clear(Session, [{MFA, call_time} || MFA <- maps:keys(On)]),
    C#c{time = #{}}.

%% What is to be told: {Since, [{Ix, Calls, Us}]}; Us is -1 where nothing is known of it. Only whole calls are told, the rest
%% stays.
due(Now, C0) ->
    Held = [MFA || {_, MFA} <- C0#c.tiers, not is_map_key(MFA, C0#c.count)],
    C = lists:foldl(fun(MFA, Acc) -> cover(MFA, Now, Acc) end, C0, Held),
    Told = [{Ix, MFA, trunc(maps:get(Ix, C#c.due, 0))} || {Ix, MFA} <- C#c.tiers],
    Left = maps:map(fun(_, N) -> N - trunc(N) end, C#c.due),
    {{C#c.told, [{Ix, N, us(N, maps:get(MFA, C#c.mean, none))} || {Ix, MFA, N} <- Told, N > 0]}, C#c{due = Left, told = Now}}.

us(_, none) -> -1;
us(N, {Calls, Us}) -> N * Us div Calls.

%% By the last look at it.
per_second(MFA, #c{rate = Rate}) ->
    case Rate of
        #{MFA := {Calls, Span}} -> Calls * erlang:convert_time_unit(1, second, native) div Span;
        _ -> 0
    end.

stop(C) -> off(call_time, off(call_count, C)).

%% ---- Counters of anyone who has set some: [{MFA, Kind}] ----

clear(Session, Counters) -> [kprof_spec_00:set_pattern(Session, MFA, false, [Kind]) || {MFA, Kind} <- Counters].

%% How many of them the VM still has.
left(Session, Counters) ->
    length([x || {MFA, Kind} <- Counters, not lists:member(kprof_spec_00:pattern({Session, Kind}, MFA), [false, undefined])]).

call_count(Session, MFA) ->
    case kprof_spec_00:pattern({Session, call_count}, MFA) of
        N when is_integer(N) -> N;
        _ -> none
    end.
