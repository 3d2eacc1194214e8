%% Trace flags of all processes, set one by one: never with `existing`, which blocks all schedulers and crashes some VMs
%% (kprof_hazard). A walk asks kprof_pids for them. The flag for new processes (`new`) is set first.
%%
%% Invariant: a walk works for at most ?SLICE_US, then yields; after ?PATIENT_MS it no longer yields by itself, and loses
%% its high priority if it has one. Own: {Session | none, Tracer}. Flags of other tracers are not changed.
-module(kprof_flags).
-export([start/4, start_off/3, go/1, here/1, walked/1, stop/1, off/3, walk/2, fold/2, lives/1, slice/0, rest/1, rest/2, keep_priority/1, yield/0, heap_limit/1]).
-export_type([own/0, refused/0, slice/0, work/0]).

-type own() :: {kprof_spec:session(), pid() | none}.
-type flags() :: [atom()].
-type pids() :: #{pid() | none => true}.
-type work() :: {on, own(), flags(), flags(), boolean(), pids()} | {off, own(), boolean(), pids()}.
%% The number of live processes with another tracer; the first ?MOST_REFUSED of them.
-type refused() :: {non_neg_integer(), #{pid() => true}}.
-type slice() :: {integer(), integer()}.

-define(SLICE_US, 200).
-define(PIECE, 16).
-define(LIST, 2048). % pids that a walk asks for: more in a list take fewer turns on a busy node, but have to be copied
-define(PATIENT_MS, 500). % after this time, the walk no longer yields by itself
-define(WALKER_MS, 10000).
-define(MOST_REFUSED, 4096).

%% A process that sets flags of all processes when go/1 is called; it ends with its caller. New: true: flags of new processes
%% may be set; Skip: pids that get none. The caller gets {walked, Walker, refused()}, without those to skip. -> Walker; if the node
%% has no room for a process, the work for here/1
-spec start(own(), {flags(), flags()}, boolean(), pids()) -> pid() | work().
start(Own, {Set, Clear}, New, Skip) -> spawned({on, Own, Set, Clear, New, Skip}).

%% The same, to clear all flags.
-spec start_off(own(), boolean(), pids()) -> pid() | work().
start_off(Own, New, Skip) -> spawned({off, Own, New, Skip}).

spawned(What) ->
    try spawn_opt(kprof_flags, walk, [self(), What], [link, {max_heap_size, 0}])
    catch error:system_limit -> What
    end.

%% The walk in the calling process.
-spec here(work()) -> refused().
here(What) -> walk(What).

-spec go(pid()) -> go.
go(Walker) -> Walker ! go.

-spec walk(pid(), work()) -> term().
walk(Caller, What) ->
    receive go -> ok end,
    Refused = walk(What),
    unlink(Caller),
    Caller ! {walked, self(), Refused}.

walk({off, Own, New, Skip}) ->
    cleared(Own, New, Skip),
    {0, #{}};
walk({on, Own, Set, Clear, New, Skip}) ->
    New andalso Clear =/= [] andalso kprof_spec:flags(Own, new, false, Clear),
    New andalso kprof_spec:flags(Own, new, true, Set),
    Not = Skip#{self() => true},
    fold(
        fun(P, {N, Pids} = Refused) ->
            case not is_map_key(P, Not) andalso refused(Own, P, Set, Clear) of
                true when N < ?MOST_REFUSED -> {N + 1, Pids#{P => true}};
                true -> {N + 1, Pids};
                false -> Refused
            end
        end,
        {0, #{}}
    ).

refused(Own, P, Set, Clear) ->
    Clear =/= [] andalso kprof_spec:flags(Own, P, false, Clear),
    case kprof_spec:flags(Own, P, true, Set) of
        0 -> lives(P);
        _ -> false
    end.

%% True if the process is alive. No signal is sent to it unless signals wait for it.
-spec lives(pid()) -> boolean().
lives(P) -> process_info(P, status) =/= undefined.

%% Another tracer of the agent waits here for the end of a walk: before OTP 27, a process has flags of one tracer only.
-spec walked(none | pid()) -> ok.
walked(none) ->
    ok;
walked(Walker) ->
    Ref = erlang:monitor(process, Walker),
    receive {'DOWN', Ref, _, _, _} -> ok after ?WALKER_MS -> erlang:demonitor(Ref, [flush]), ok end.

%% Ends a walk, if there is one: it changes no more flags, nor does the process that clears them for it (if that one begins at this
%% moment, it ends by its link, soon).
-spec stop(none | pid()) -> ok.
stop(none) ->
    ok;
stop(Walker) ->
    unlink(Walker),
    Refs = [erlang:monitor(process, P) || P <- [Walker | helpers(Walker)]],
    exit(Walker, kill),
    [receive {'DOWN', Ref, _, _, _} -> ok after ?WALKER_MS -> erlang:demonitor(Ref, [flush]) end || Ref <- Refs],
    receive {walked, Walker, _} -> ok after 0 -> ok end.

helpers(Walker) ->
    case process_info(Walker, links) of
        {links, Links} -> [P || P <- Links, is_pid(P), P =/= self()];
        undefined -> []
    end.

%% Clears all flags. -> number of flags left. No process is asked: the VM refuses only dead processes
%% and those of other tracers.
-spec off(own(), boolean(), none | pid()) -> non_neg_integer().
off(Own, New, Walker) ->
    stop(Walker),
    cleared(Own, New, #{}).

cleared(Own, New, Skip) ->
    New andalso kprof_spec:flags(Own, new, false, [all]),
    {priority, Priority} = process_info(self(), priority),
    Traps = process_flag(trap_exit, true),
    %% linked: if its caller is killed, it must not run on while the module is purged
    P = kprof_node:spawn_if_room(fun() -> exit({left, each_cleared(Own, Skip)}) end, [link, {priority, Priority}]),
    Left = receive
        {'EXIT', P, {left, N}} -> N;
        {'EXIT', P, _} -> each_cleared(Own, Skip) % it was killed
    after if P =:= none -> 0; true -> infinity end -> each_cleared(Own, Skip)
    end,
    process_flag(trap_exit, Traps),
    Traps orelse meant(),
    Left.

%% The exit signals that were trapped meanwhile.
meant() ->
    receive
        {'EXIT', _, normal} -> meant();
        {'EXIT', _, Reason} -> exit(Reason)
    after 0 -> ok
    end.

each_cleared(Own, Skip) ->
    fold(
        fun(P, N) ->
            case not is_map_key(P, Skip) andalso kprof_spec:flags(Own, P, false, [all]) > 1 of
                true -> N + 1;
                false -> N
            end
        end,
        0
    ).

%% F(Pid, Acc) -> Acc for each process, in slices. A list of all pids on the heap of this process would be copied by each of its
%% garbage collections, which stop a scheduler for 12 ms if there are 200,000 processes.
-spec fold(fun((pid(), Acc) -> Acc), Acc) -> Acc.
fold(F, Acc0) ->
    {Source, Pids} = kprof_pids:source(?LIST),
    Acc = keep_priority(fun() -> fold(F, Acc0, kprof_pids:some(Source), slice()) end),
    kprof_pids:stop(Pids),
    Acc.

fold(_, Acc, {[], _}, _) ->
    Acc;
fold(F, Acc0, {Pids, Source}, Slice0) ->
    {Acc, Slice} = fold_of(F, Acc0, Pids, ?PIECE, Slice0),
    fold(F, Acc, kprof_pids:some(Source), Slice).

fold_of(F, Acc, [P | Ps], Left, Slice) when Left > 0 -> fold_of(F, F(P, Acc), Ps, Left - 1, Slice);
fold_of(_, Acc, [], _, Slice) -> {Acc, Slice};
fold_of(F, Acc, Ps, _, Slice) -> fold_of(F, Acc, Ps, ?PIECE, rest(Slice)).

%% A slice of work: the worker calls rest/1 every few steps. After ?PATIENT_MS its turns are as long as the VM lets them be, so it
%% must not be preferred to the node's own processes: it loses a high priority, until the end of keep_priority/1.
-spec slice() -> slice().
slice() ->
    Now = now_us(),
    {Now, Now}.

-spec rest(slice()) -> slice().
rest(Slice) -> rest(Slice, ?SLICE_US).

%% Us: the length of a slice.
-spec rest(slice(), pos_integer()) -> slice().
rest({Began, Since} = Slice, Us) ->
    Now = now_us(),
    if
        Now - Since < Us -> Slice;
        Now - Began > ?PATIENT_MS * 1000 ->
            process_info(self(), priority) =:= {priority, high} andalso process_flag(priority, normal),
            {Began, Now};
        true ->
            yield(),
            {Began, now_us()}
    end.

%% F(); then the priority that the process had before.
-spec keep_priority(fun(() -> A)) -> A.
keep_priority(F) ->
    {priority, Priority} = process_info(self(), priority),
    Value = F(),
    process_flag(priority, Priority),
    Value.

%% Lets others run, also at high priority: a yield there lets only processes of that priority run.
-spec yield() -> true.
yield() ->
    case process_info(self(), priority) of
        {_, high} ->
            process_flag(priority, normal),
            erlang:yield(),
            process_flag(priority, high),
            true;
        _ ->
            erlang:yield()
    end.

now_us() -> erlang:monotonic_time(microsecond).

%% Option of spawn_opt: a process with a larger heap is killed. It replaces the limit of the VM (+hmax), which may be too low.
-spec heap_limit(pos_integer()) -> {max_heap_size, map()}.
heap_limit(Words) -> {max_heap_size, #{size => Words, kill => true, error_logger => false}}.
