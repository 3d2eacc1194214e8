%% Walks over all processes in slices, so that others can run after each slice. Reads what the VM returns without a signal to
%% the process, unless it is running: reductions, status, sizes of heaps, initial call, group leader, name; the length of the
%% queue where kprof_hazard allows it.
%%
%% Invariant: a slice is at most ?SLICE_US long, plus the processes between two readings of the clock. It is shorter than a slice
%% of kprof_flags: walks for samples and tables go on all the time, and the node's own processes wait for each slice.
-module(kprof_walk).
-export([new/0, heap/0, source/1, take/2, each/4, at/1, idle/2, busy_ns/1]).
-export([info/2, may_ask/2, may_ask_queue/2, queue/2, words/3, of_heaps/2, is_long/1, is_large/1, is_agents/1, masters/0]).
-export_type([walk/0]).

-define(STEP, 16). % processes between two readings of the clock
-define(SLICE_US, 50).
-define(MOST_US, 200). % the most that a slice counts as work: in a longer one the process has waited
-define(HEAP_WORDS, 8 bsl 20).
-define(LARGE, 100000). % words: from some 130,000 on the VM may collect garbage on a dirty scheduler
-define(LONG, 10000). % messages: with more of them, nothing is read for which the VM walks the queue

-record(walk, {
    slice :: kprof_flags:slice(),
    busy_us = 0 :: non_neg_integer() % work in the slices before this one
}).
-opaque walk() :: #walk{}.

%% ---- Slices ----

-spec new() -> walk().
new() -> #walk{slice = kprof_flags:slice()}.

%% Option of spawn_opt for a process that walks.
-spec heap() -> {max_heap_size, map()}.
heap() -> kprof_flags:heap_limit(?HEAP_WORDS).

%% F(Item, Acc) -> Acc for each item of the list (mostly processes). Where it is, is in the process dictionary, for at/1.
-spec each(fun((Item, Acc) -> Acc), Acc, [Item], walk()) -> {Acc, walk()}.
each(F, Acc, Items, W) -> each(F, Acc, Items, ?STEP, W).

each(_, Acc, [], _, W) ->
    put(?MODULE, none),
    {Acc, W};
each(F, Acc, Items, 0, W) ->
    each(F, Acc, Items, ?STEP, rested(W));
each(F, Acc, [P | Rest], Left, W) ->
    put(?MODULE, P),
    each(F, F(P, Acc), Rest, Left - 1, W).

%% The process that a walking process is reading; none: it reads none.
-spec at(pid()) -> pid() | none.
at(Walker) ->
    case process_info(Walker, dictionary) of
        {_, Dictionary} ->
            case lists:keyfind(?MODULE, 1, Dictionary) of
                {_, P} when is_pid(P) -> P;
                _ -> none
            end;
        undefined ->
            none
    end.

rested(#walk{slice = {_, Since} = Slice, busy_us = Busy} = W) ->
    Us = now_us() - Since,
    case kprof_flags:rest(Slice, ?SLICE_US) of
        Slice -> W;
        {_, Now} -> W#walk{slice = {Now, Now}, busy_us = Busy + min(?MOST_US, Us)}
    end.

%% F waits: this does not count as work.
-spec idle(fun(() -> Result), walk()) -> {Result, walk()}.
idle(F, W) ->
    Busy = busy_us(W),
    Result = F(),
    {Result, W#walk{slice = kprof_flags:slice(), busy_us = Busy}}.

%% Its work so far.
-spec busy_ns(walk()) -> non_neg_integer().
busy_ns(W) -> busy_us(W) * 1000.

busy_us(#walk{slice = {_, Since}, busy_us = Us}) -> Us + min(?MOST_US, now_us() - Since).

now_us() -> erlang:monotonic_time(microsecond).

%% ---- All processes ----

%% source/1 and take/2 wait for another process (kprof_pids): not the waiting, but the work of that process counts.
-spec source(walk()) -> {kprof_pids:pids(), walk()}.
source(W) -> by_another(fun kprof_pids:start/0, infinity, W).

%% -> {the next ones, [] at the end, walk}
-spec take(kprof_pids:pids(), walk()) -> {[pid()], walk()}.
take(Source, W) -> by_another(fun() -> kprof_pids:next(Source) end, ?MOST_US, W).

by_another(F, Most, W0) ->
    {{Got, Us}, #walk{busy_us = Busy} = W} = idle(F, W0),
    {Got, W#walk{busy_us = Busy + min(Most, Us)}}. % any number is less than an atom

%% ---- A process ----

-spec info(pid(), atom()) -> term().
info(P, What) ->
    case process_info(P, What) of
        {_, V} -> V;
        _ -> none
    end.

%% False: it is dead, or it has a large heap, and on this VM a signal can block it for ever or crash the VM.
-spec may_ask(pid(), kprof_hazard:vm()) -> boolean().
may_ask(P, Vm) ->
    kprof_hazard:allowed(sample_large, Vm) orelse
        case of_heaps(heaps, info(P, garbage_collection_info)) of
            Words when is_integer(Words) -> not is_large(Words);
            _ -> false
        end.

%% Whether the length of its queue may be read.
-spec may_ask_queue(pid(), kprof_hazard:vm()) -> boolean().
may_ask_queue(P, Vm) -> kprof_hazard:allowed(sample_queue, Vm) orelse info(P, message_queue_data) =:= on_heap.

%% The length of its queue; none: it may not be read, or the process is dead.
-spec queue(pid(), kprof_hazard:vm()) -> non_neg_integer() | none.
queue(P, Vm) ->
    case may_ask_queue(P, Vm) of
        true -> info(P, message_queue_len);
        false -> none
    end.

%% As of_heaps/2; if its queue is long, only heap_size.
-spec words(memory | binary | heaps, pid(), kprof_hazard:vm()) -> non_neg_integer() | none.
words(What, P, Vm) ->
    case is_long(queue(P, Vm)) of
        true -> info(P, heap_size);
        false -> of_heaps(What, info(P, garbage_collection_info))
    end.

%% Words, from garbage_collection_info.
-spec of_heaps(memory | binary | heaps, term()) -> non_neg_integer() | none.
of_heaps(memory, Info) when is_list(Info) -> sum([old_heap_block_size, heap_block_size, mbuf_size], Info);
of_heaps(binary, Info) when is_list(Info) -> sum([bin_vheap_size, bin_old_vheap_size], Info);
of_heaps(heaps, Info) when is_list(Info) -> sum([old_heap_block_size, heap_block_size], Info);
of_heaps(_, _) -> none.

sum(Keys, Info) -> lists:sum([V || K <- Keys, {_, V} <- [lists:keyfind(K, 1, Info)]]).

%% Whether the queue is so long that the sizes of heaps are not read. To read them, the VM walks the messages (5 ms for a
%% million).
-spec is_long(term()) -> boolean().
is_long(N) -> is_integer(N) andalso N > ?LONG.

%% Words of heap.
-spec is_large(integer()) -> boolean().
is_large(Words) -> Words > ?LARGE.

%% Whether it is an initial call, or a registered name, of an agent in any slot.
-spec is_agents(term()) -> boolean().
is_agents({M, _, _}) -> is_agents(M);
is_agents(Name) when is_atom(Name) -> kprof_node:is_agent(Name);
is_agents(_) -> false.

%% A process belongs to the application whose application master is its group leader.
-spec masters() -> #{pid() => binary()}.
masters() ->
    maps:from_list([
        {Master, atom_to_binary(App, utf8)}
     || {App, _, _} <- application:loaded_applications(), Master <- [application_controller:get_master(App)], is_pid(Master)
    ]).
