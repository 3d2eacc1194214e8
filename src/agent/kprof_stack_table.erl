%% The stacks that kprof-top knows, by number: each distinct stack is sent only once while it is in this table.
%%
%% Invariant: at most 2 * ?HALF stacks are stored. A stack that is seen is put into `young`; when `young` is full, it
%% becomes `old`, and the stacks that are still in `old` are removed. forgotten/1 returns their numbers, so that
%% kprof-top removes them, too. A number is never used again. Pure.
-module(kprof_stack_table).
-agent(tools).
-export([new/0, number/2, forgotten/1]).
-export_type([table/0, stack/0]).

%% Whether callers were cut off; functions, innermost first.
-type stack() :: {0 | 1, [{module(), atom(), arity(), non_neg_integer(), binary()}]}.

-define(HALF, 2048).

-record(table, {
    young = #{} :: #{stack() => non_neg_integer()},
    old = #{} :: #{stack() => non_neg_integer()},
    next = 0 :: non_neg_integer(),
    gone = [] :: [non_neg_integer()]
}).
-opaque table() :: #table{}.

-spec new() -> table().
new() -> #table{}.

%% -> {its number, whether it is new to kprof-top, table}
-spec number(stack(), table()) -> {non_neg_integer(), boolean(), table()}.
number(Stack, #table{young = Young, old = Old, next = Next} = T) ->
    case Young of
        #{Stack := N} ->
            {N, false, T};
        _ ->
            case maps:take(Stack, Old) of
                {N, Rest} -> {N, false, kept(Stack, N, T#table{old = Rest})};
                error -> {Next, true, kept(Stack, Next, T#table{next = Next + 1})}
            end
    end.

kept(Stack, N, #table{young = Young, old = Old, gone = Gone} = T) ->
    More = Young#{Stack => N},
    case map_size(More) < ?HALF of
        true -> T#table{young = More};
        false -> T#table{young = #{}, old = More, gone = maps:values(Old) ++ Gone}
    end.

%% The numbers of stacks removed since the last call.
-spec forgotten(table()) -> {[non_neg_integer()], table()}.
forgotten(#table{gone = Gone} = T) -> {Gone, T#table{gone = []}}.
