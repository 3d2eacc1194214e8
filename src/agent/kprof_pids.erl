%% The pids of all processes, in small lists: from a process of its own, so that a process that walks over them has little on its
%% heap, and its garbage collections, which cannot be interrupted, are short; without one if the node has no room (source/1). From
%% OTP 28 on, from the VM's iterator. Below, this process has a list of all pids, and a heap that is large enough for it from the
%% beginning, so that it collects nothing.
%%
%% Invariant: each pid is given once, without that of the process of its own; after back/1, the pids given since mark/1 are given
%% again, in the same lists. Only the owner may ask the process. If one of the two ends, the other ends, too.
-module(kprof_pids).
-export([start/0, start/1, next/1, mark/1, back/1, stop/1, init/2]).
-export([source/1, some/1]).
-export_type([pids/0, source/0]).

-opaque pids() :: pid().
-opaque source() :: {iterator, term()} | {list | whole, [pid()]} | {again, [pid()], source()} | {process, pids()} | ended.

-define(EACH, 256). % pids of a list, unless the caller says how many
-define(PIDS_US, 5). % at least this many pids are listed in a microsecond
-define(WORDS, 5). % of a heap, for each process: the list of all, the small lists, a reserve
-define(MORE_WORDS, 20000).
-define(MOST_WORDS, 16 bsl 20).
-define(MANY, 10000). % processes: for fewer, the memory of a heap is not used in steps before
-define(TIMES, 3).
-define(PIECE, 256).
-define(WARM_MS, 100). % on a busy node it is done less often

%% Returns when it has the list, if it needs one. It has the priority of the caller: on a busy node the caller would wait for each
%% list. -> {pids(), us of work}
-spec start() -> {pids(), non_neg_integer()}.
start() -> start(?EACH).

%% Each: how many pids a list has. For each list, owner and process wait for their turns once.
-spec start(pos_integer()) -> {pids(), non_neg_integer()}.
start(Each) ->
    {priority, Priority} = process_info(self(), priority),
    P = spawn_opt(?MODULE, init, [self(), Each], [link, {priority, Priority} | heap()]),
    receive {pids, P, Us} -> {P, Us} end.

%% -> {pids, us of work}; []: there are no more.
-spec next(pids()) -> {[pid()], non_neg_integer()}.
next(P) ->
    P ! next,
    receive {pids, P, Pids, Us} -> {Pids, Us} end.

-spec mark(pids()) -> ok.
mark(P) -> P ! mark, ok.

-spec back(pids()) -> ok.
back(P) -> P ! back, ok.

-spec stop(pids() | none) -> ok.
stop(none) ->
    ok;
stop(P) ->
    unlink(P),
    exit(P, kill),
    ok.

-spec init(pid(), pos_integer()) -> no_return().
init(Owner, Each) ->
    Ref = erlang:monitor(process, Owner),
    warm(),
    Began = erlang:monotonic_time(microsecond),
    Source = case all() of {whole, Pids} -> {list, Pids}; Iterator -> Iterator end,
    Us = erlang:monotonic_time(microsecond) - Began,
    Owner ! {pids, self(), min(Us, erlang:system_info(process_count) div ?PIDS_US + 10)}, % if it took longer, it has waited
    loop(Owner, Ref, Each, Source, none).

%% ---- With a process of its own if there is room for one ----

%% -> {the source for some/1, the process to stop/1}
-spec source(pos_integer()) -> {source(), pids() | none}.
source(Each) ->
    case kprof_node:if_room(fun() -> start(Each) end) of
        {P, _} -> {{process, P}, P};
        none -> {all(), none}
    end.

all() ->
    case has_iterator() of
        true -> {iterator, apply(erlang, processes_iterator, [])};
        false -> {whole, processes()}
    end.

%% -> {pids, the source of the others}; []: there are no more. A list of all is given at once: parts of it would be garbage, and
%% the collections would copy the list.
-spec some(source()) -> {[pid()], source()}.
some(Source) -> some(Source, ?EACH).

some({process, P} = Source, _) -> {element(1, next(P)), Source};
some({again, Pids, Source}, _) -> {Pids, Source};
some({whole, Pids}, _) -> {Pids, ended};
some({list, Pids}, Each) -> part(Pids, Each, []);
some({iterator, I}, Each) -> more(I, Each, []);
some(ended, _) -> {[], ended}.

has_iterator() -> erlang:function_exported(erlang, processes_iterator, 0).

%% ---- Its heap ----

%% Options of spawn_opt: there is room for the list. Otherwise it is copied by garbage collections, which stop a scheduler for 5 to
%% 20 ms if there are 200,000 processes. The limit of the VM (+hmax), which may be lower, does not apply to it.
heap() ->
    [{max_heap_size, 0} | [{min_heap_size, min(?MOST_WORDS, ?WORDS * erlang:system_info(process_count) + ?MORE_WORDS)} || not has_iterator()]].

%% The VM writes the list without a pause, and on some virtual machines the first use of each page of memory takes 10 to 20 us: 12 to
%% 25 ms for 200,000 processes. So the heap is used in steps before. The collection that then empties it also replaces it: by memory
%% that was not used before, or by the heap before. After three times all of them have been used.
warm() ->
    N = erlang:system_info(process_count),
    has_iterator() orelse N < ?MANY orelse warm(?TIMES, N, kprof_flags:slice()),
    ok.

warm(0, _, _) -> ok;
warm(Times, N, {Began, _} = Slice0) ->
    Slice = used(N, [], Slice0),
    erlang:garbage_collect(),
    Left = case erlang:monotonic_time(microsecond) - Began > ?WARM_MS * 1000 of true -> 0; false -> Times - 1 end,
    warm(Left, N, Slice).

used(0, [_ | _], Slice) -> Slice;
used(N, List, Slice) when N rem ?PIECE =:= 0 -> used(N - 1, [N | List], kprof_flags:rest(Slice));
used(N, List, Slice) -> used(N - 1, [N | List], Slice).

%% ---- The process ----

%% Marked: none, or the lists since the mark, the last one first.
loop(Owner, Ref, Each, Source0, Marked) ->
    receive
        next ->
            Began = erlang:monotonic_time(microsecond),
            {Pids, Source} = some(Source0, Each),
            Owner ! {pids, self(), Pids, erlang:monotonic_time(microsecond) - Began},
            loop(Owner, Ref, Each, Source, if Marked =:= none; Pids =:= [] -> Marked; true -> [Pids | Marked] end);
        mark ->
            loop(Owner, Ref, Each, Source0, []);
        back ->
            loop(Owner, Ref, Each, lists:foldl(fun(Pids, Source) -> {again, Pids, Source} end, Source0, Marked), none);
        {'DOWN', Ref, _, _, _} ->
            exit(normal);
        _ ->
            loop(Owner, Ref, Each, Source0, Marked)
    end.

part([P | Rest], N, Pids) when P =:= self() -> part(Rest, N, Pids);
part([P | Rest], N, Pids) when N > 0 -> part(Rest, N - 1, [P | Pids]);
part(Rest, _, Pids) -> {Pids, {list, Rest}}.

more(I, 0, Pids) ->
    {Pids, {iterator, I}};
more(I, N, Pids) ->
    case apply(erlang, processes_next, [I]) of
        {P, Next} when P =:= self() -> more(Next, N, Pids);
        {P, Next} -> more(Next, N - 1, [P | Pids]);
        none -> {Pids, ended}
    end.
