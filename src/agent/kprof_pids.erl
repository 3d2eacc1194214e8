%% The pids of all processes, in small lists, from a process of its own: who walks over them has little on its heap, and so its
%% garbage collections, which cannot be interrupted, are short. This process collects nothing: its heap is large enough from the
%% beginning. From OTP 28 on there is an iterator, and it does not even need a list of all pids.
%%
%% Invariant: each pid is given once; after back/1, those since mark/1 again, in the same lists. The process ends with its owner,
%% the only one who may ask it, and the owner with the process.
-module(kprof_pids).
-export([start/0, next/1, mark/1, back/1, init/1]).
-export_type([pids/0]).

-opaque pids() :: pid().

-define(EACH, 128). % pids of a list
-define(WORDS, 4). % of the heap, for each process: the list of all, and the small lists
-define(MORE_WORDS, 20000).
-define(MOST_WORDS, 16 bsl 20).

%% Returns when it has the pids, with the us of work for it.
-spec start() -> {pids(), non_neg_integer()}.
start() ->
    P = spawn_opt(?MODULE, init, [self()], [link | heap(has_iterator())]),
    receive {pids, P, Us} -> {P, Us} end.

heap(true) -> [];
heap(false) -> [{min_heap_size, min(?MOST_WORDS, ?WORDS * erlang:system_info(process_count) + ?MORE_WORDS)}].

%% []: there are no more.
-spec next(pids()) -> [pid()].
next(P) ->
    P ! next,
    receive {pids, P, Pids} -> Pids end.

-spec mark(pids()) -> ok.
mark(P) -> P ! mark, ok.

-spec back(pids()) -> ok.
back(P) -> P ! back, ok.

-spec init(pid()) -> no_return().
init(Owner) ->
    Ref = erlang:monitor(process, Owner),
    {_, Before} = process_info(self(), reductions),
    Began = erlang:monotonic_time(microsecond),
    Source = case has_iterator() of true -> {iterator, apply(erlang, processes_iterator, [])}; false -> {lists, lists(processes())} end,
    Us = erlang:monotonic_time(microsecond) - Began,
    {_, After} = process_info(self(), reductions),
    Owner ! {pids, self(), min(Us, After - Before)}, % it may have waited; a reduction of this work is shorter than a microsecond
    loop(Owner, Ref, Source, none).

has_iterator() -> erlang:function_exported(erlang, processes_iterator, 0).

lists([]) -> [];
lists(Pids) -> part(Pids, ?EACH, []).

part([P | Rest], N, List) when N > 0 -> part(Rest, N - 1, [P | List]);
part(Rest, _, List) -> [List | lists(Rest)].

%% Marked: none, or the lists since the mark, the last one first.
loop(Owner, Ref, Source0, Marked) ->
    receive
        next ->
            {Pids, Source} = given(Source0),
            Owner ! {pids, self(), Pids},
            loop(Owner, Ref, Source, if Marked =:= none; Pids =:= [] -> Marked; true -> [Pids | Marked] end);
        mark ->
            loop(Owner, Ref, Source0, []);
        back ->
            loop(Owner, Ref, lists:foldl(fun(Pids, Source) -> {again, Pids, Source} end, Source0, Marked), none);
        {'DOWN', Ref, _, _, _} ->
            exit(normal);
        _ ->
            loop(Owner, Ref, Source0, Marked)
    end.

given({again, Pids, Source}) -> {Pids, Source};
given(ended) -> {[], ended};
given({lists, []}) -> {[], ended};
given({lists, [Pids | Rest]}) -> {Pids, {lists, Rest}};
given({iterator, I}) -> more(I, ?EACH, []).

more(I, 0, Pids) ->
    {Pids, {iterator, I}};
more(I, N, Pids) ->
    case apply(erlang, processes_next, [I]) of
        {P, Next} -> more(Next, N - 1, [P | Pids]);
        none -> {Pids, ended}
    end.
