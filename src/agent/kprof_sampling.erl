%% Sampling: what is in use, its parts, and which share keeps the limits. Pure.
%%
%% Invariant: the N that next/3 returns (1 in N is sampled) is between Least and ?MOST. N grows if a value is above 90 % of its
%% limit. N shrinks, at most to a quarter, only if all values are below a third of their limits.
-module(kprof_sampling).
-export([base/1, cut/1, in_force/1, momentary/1, next/3, of_patterns/1, usual/1]).

-type goal() :: {atom(), integer(), pos_integer()}.

-include("kprof_controller.hrl").

-define(MOST, 1000000).

%% Old: 1 in Old is sampled now; Least: 1 in Least is requested. Goals: [{Why, Value, Max}], integers, Max > 0; values are taken
%% to be proportional to the sampled share. -> {New, Why}; Why: the goal that requires New, none if New is Least.
-spec next(pos_integer(), pos_integer(), [goal()]) -> {pos_integer(), atom()}.
next(Old, Least, Goals) ->
    {New, Why} = lists:max([{Least, none} | [{want(Old, Value, Max), Why} || {Why, Value, Max} <- Goals]]),
    if
        New =< Least -> {Least, none};
        true -> {min(?MOST, New), Why}
    end.

%% Target: 60 % of the limit. If the value is below a third of the limit, N may shrink; if it is above 90 %, N must grow.
want(Old, Value, Max) when Value * 10 > Max * 9 -> max(Old + 1, ceiling(Old * Value * 10, Max * 6));
want(Old, Value, Max) when Value * 3 < Max -> max(Old div 4, ceiling(Old * Value * 10, Max * 6));
want(Old, _, _) -> Old.

ceiling(A, B) -> (A + B - 1) div B.

%% ---- In use ----

%% The N of the sampling 1/N in use: of requests; without an entry, of calls.
-spec in_force(state()) -> pos_integer().
in_force(#s{part_time = #part_time{factor = Factor}} = S) -> min(?MOST, momentary(S) * Factor).
%% The same while the patterns are set, if they are set for a part of the time (kprof_part_time).
-spec momentary(state()) -> pos_integer().
momentary(#s{breaker = B} = S) -> min(?MOST, base(S) * kprof_breaker:factor(B)).
%% The mean of in_force/1 over many cycles.
-spec usual(state()) -> pos_integer().
usual(S) -> min(?MOST, momentary(S) * kprof_part_time:usual(S)).
-spec base(state()) -> pos_integer().
base(#s{tracing = #tracing{trace_config = #{sample := Configured}}, limits = #limits{sample = ForLimits}} = S) ->
    case shares_word(S) of
        true -> max(Configured, ForLimits);
        false -> Configured bsl cut(S)
    end.

%% The sampling of the patterns, and the cut in the control word. Agents in other slots use the same word: with them it is not
%% changed.
-spec of_patterns(state()) -> pos_integer().
of_patterns(#s{tracing = #tracing{trace_config = #{sample := Configured}}, breaker = B} = S) ->
    case shares_word(S) of
        true -> in_force(S);
        false -> min(1000000, Configured * kprof_breaker:factor(B))
    end.

-spec cut(state()) -> 0..20.
cut(#s{tracing = #tracing{trace_config = #{sample := Configured}}, limits = #limits{sample = ForLimits}} = S) ->
    case shares_word(S) of
        true -> 0;
        false -> doublings(Configured, ForLimits, 0)
    end.

doublings(N, ForLimits, K) when N >= ForLimits; K >= 20 -> K;
doublings(N, ForLimits, K) -> doublings(2 * N, ForLimits, K + 1).

shares_word(#s{beside = Beside}) -> Beside.
