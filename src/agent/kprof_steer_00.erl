%% Which share is to be sampled, so that goals are kept: pure.
%%
%% Invariant: the result is between Least and ?MOST; above nine tenths of a goal's limit it is larger than before; it falls
%% to a quarter at most, and only while every goal has room.
-module(kprof_steer_00).
-export([next/3]).

-define(MOST, 1000000).

%% 1 in Old is sampled now, 1 in Least is wished. Goals: [{Why, Value, Max}], integers, Max > 0; values are taken to be
%% proportional to the share sampled. -> {New, Why}; Why: the goal that asks for New, none if New is Least.
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
