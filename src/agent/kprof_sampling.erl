%% Sampling: what is in force, how it comes about, and which share keeps the goals: pure.
%%
%% Invariant: the result of next/3 is between Least and ?MOST; above nine tenths of a goal's limit it is larger than before; it falls
%% to a quarter at most, and only while every goal has room.
-module(kprof_sampling).
-export([base/1, cut/1, in_force/1, next/3, of_patterns/1]).

-type goal() :: {atom(), integer(), pos_integer()}.

-include("kprof_controller.hrl").

-define(MOST, 1000000).

%% 1 in Old is sampled now, 1 in Least is asked for. Goals: [{Why, Value, Max}], integers, Max > 0; values are taken to be
%% proportional to the share sampled. -> {New, Why}; Why: the goal that asks for New, none if New is Least.
-spec next(pos_integer(), pos_integer(), [goal()]) -> {pos_integer(), atom()}.
next(Old, Least, Goals) ->
    {New, Why} = lists:max([{Least, none} | [{want(Old, Value, Max), Why} || {Why, Value, Max} <- Goals]]),
    if
        New =< Least -> {Least, none};
        true -> {min(?MOST, New), Why}
    end.

%% To six tenths of the limit: below a third of it there is room, above nine tenths there is none.
want(Old, Value, Max) when Value * 10 > Max * 9 -> max(Old + 1, ceiling(Old * Value * 10, Max * 6));
want(Old, Value, Max) when Value * 3 < Max -> max(Old div 4, ceiling(Old * Value * 10, Max * 6));
want(Old, _, _) -> Old.

ceiling(A, B) -> (A + B - 1) div B.

%% ---- In force ----

%% What shall be sampled now: 1 request in so many; without an entry, 1 call.
-spec in_force(state()) -> pos_integer().
in_force(#s{breaker = B} = S) -> min(1000000, base(S) * kprof_breaker:factor(B)).
-spec base(state()) -> pos_integer().
base(#s{tracing = #tracing{trace_config = #{sample := Configured}}, limits = #limits{sample = ForLimits}} = S) ->
    case shares_word(S) of
        true -> max(Configured, ForLimits);
        false -> Configured bsl cut(S)
    end.

%% What the patterns sample, and how far the control word cuts it besides. Other agents on the node see the same word: beside
%% them it is left alone.
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
