%% The pids of all processes, in small lists, from a process of its own: a process that walks over them has little on
%% its heap, and so its garbage collections, which cannot be interrupted, are short. Below OTP 28, where there is no iterator,
%% this process has a list of all pids, and a heap that is large enough for it from the beginning, so that it collects
%% nothing.
%%
%% Invariant: each pid is given once; after back/1, the pids given since mark/1 are given again, in the same lists. Only the
%% owner may ask the process. If one of the two ends, the other ends, too.
-module(kprof_pids).
-export([start/0, next/1, mark/1, back/1, stop/1, init/1]).
-export_type([pids/0]).

-opaque pids() :: pid().

-define(EACH, 256). % pids of a list
-define(PIDS_US, 5). % at least this many pids are listed in a microsecond
-define(WORDS, 5). % of the heap, for each process: the list of all, the small lists, and a reserve
-define(MORE_WORDS, 20000).
-define(MOST_WORDS, 16 bsl 20).

%% Returns when it has the list, if it needs one. -> {pids(), us of work}
-spec start() -> {pids(), non_neg_integer()}.
start() ->
    P = spawn_opt(?MODULE, init, [self()], [link | heap(has_iterator())]),
    receive {pids, P, Us} -> {P, Us} end.

%% The limit of the VM (+hmax) does not apply to it: with it, the VM would refuse the heap.
heap(true) -> [];
heap(false) -> [{min_heap_size, min(?MOST_WORDS, ?WORDS * erlang:system_info(process_count) + ?MORE_WORDS)}, {max_heap_size, 0}].

%% -> {pids, us of work}; []: there are no more.
-spec next(pids()) -> {[pid()], non_neg_integer()}.
next(P) ->
    P ! next,
    receive {pids, P, Pids, Us} -> {Pids, Us} end.

-spec mark(pids()) -> ok.
mark(P) -> P ! mark, ok.

-spec back(pids()) -> ok.
back(P) -> P ! back, ok.

-spec stop(pids()) -> ok.
stop(P) ->
    unlink(P),
    exit(P, kill),
    ok.

-spec init(pid()) -> no_return().
init(Owner) ->
    Ref = erlang:monitor(process, Owner),
    Began = erlang:monotonic_time(microsecond),
    Source = case has_iterator() of true -> {iterator, apply(erlang, processes_iterator, [])}; false -> {list, processes()} end,
    Us = erlang:monotonic_time(microsecond) - Began,
    Owner ! {pids, self(), min(Us, erlang:system_info(process_count) div ?PIDS_US + 10)}, % if it took longer, it has waited
    loop(Owner, Ref, Source, none).

has_iterator() -> erlang:function_exported(erlang, processes_iterator, 0).

%% Marked: none, or the lists since the mark, the last one first.
loop(Owner, Ref, Source0, Marked) ->
    receive
        next ->
            Began = erlang:monotonic_time(microsecond),
            {Pids, Source} = given(Source0),
            Owner ! {pids, self(), Pids, erlang:monotonic_time(microsecond) - Began},
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
given({list, Pids}) -> part(Pids, ?EACH, []);
given({iterator, I}) -> more(I, ?EACH, []);
given(ended) -> {[], ended}.

part([P | Rest], N, Pids) when N > 0 -> part(Rest, N - 1, [P | Pids]);
part(Rest, _, Pids) -> {Pids, {list, Rest}}.

more(I, 0, Pids) ->
    {Pids, {iterator, I}};
more(I, N, Pids) ->
    case apply(erlang, processes_next, [I]) of
        {P, Next} -> more(Next, N - 1, [P | Pids]);
        none -> {Pids, ended}
    end.
