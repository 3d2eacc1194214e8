%% The items with the largest values, of very many: a list of at most twice their number is kept, and cut when it is full. Most
%% items are refused by one comparison. No list as long as the input is ever sorted. Pure.
-module(kprof_rank).
-agent(tools).
-export([new/1, add/3, best/1]).
-export_type([rank/0]).

-record(rank, {
    most :: pos_integer(),
    least = none :: none | integer(), % the least value of the best, once there are `most` of them
    n = 0 :: non_neg_integer(),
    kept = [] :: [{integer(), term()}]
}).
-opaque rank() :: #rank{}.

-spec new(pos_integer()) -> rank().
new(Most) -> #rank{most = Most}.

%% An item whose value is not larger than the smallest of the best is not added.
-spec add(integer(), term(), rank()) -> rank().
add(V, _, #rank{least = Least} = R) when is_integer(Least), V =< Least -> R;
add(V, Item, #rank{n = N, most = Most, kept = Kept} = R) when N + 1 < 2 * Most -> R#rank{n = N + 1, kept = [{V, Item} | Kept]};
add(V, Item, #rank{n = N, kept = Kept} = R) -> cut(R#rank{n = N + 1, kept = [{V, Item} | Kept]}).

%% Largest first.
-spec best(rank()) -> [{integer(), term()}].
best(R) -> (cut(R))#rank.kept.

cut(#rank{kept = Kept, most = Most, n = N} = R) ->
    Best = lists:sublist(lists:reverse(lists:sort(Kept)), Most),
    R#rank{kept = Best, n = min(N, Most), least = if N < Most -> none; true -> element(1, lists:last(Best)) end}.
