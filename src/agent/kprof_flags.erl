%% Trace flags of all processes, set one by one: never by `existing`, which stops all schedulers and on some VMs kills the
%% node (kprof_hazard). A walk goes over processes(); processes to come are told first, with `new`.
%%
%% Invariant: a walk works for at most ?SLICE_US, then lets others run; on a node so busy that this would take long it works
%% as long as any other process does. Own: {Session | none, Tracer}. Nobody's flags but ours are touched.
-module(kprof_flags).
-export([start/4, start_off/2, go/1, stop/1, off/3, walk/2, slice/0, rest/1]).
-export_type([own/0, slice/0]).

-type own() :: {kprof_spec:session(), pid() | none}.
-type flags() :: [atom()].
-type work() :: {on, own(), flags(), flags(), boolean(), [pid() | none]} | {off, own(), boolean()}.
-type slice() :: {integer(), integer()}.

-define(SLICE_US, 200).
-define(PIECE, 16).
-define(PATIENT_MS, 500). % then slices are as the VM makes them

%% A process that sets flags of all, once go/1 says so; it ends with its caller. New: may those of processes to come be set;
%% Skip: pids that get none. The caller gets {walked, Walker, Refused}: so many live and have another tracer. -> Walker
-spec start(own(), {flags(), flags()}, boolean(), [pid() | none]) -> pid().
start(Own, {Set, Clear}, New, Skip) -> spawned({on, Own, Set, Clear, New, Skip}).

%% The same to take all off.
-spec start_off(own(), boolean()) -> pid().
start_off(Own, New) -> spawned({off, Own, New}).

spawned(What) -> spawn_opt(kprof_flags, walk, [self(), What], [link]).

-spec go(pid()) -> go.
go(Walker) -> Walker ! go.

-spec walk(pid(), work()) -> term().
walk(Caller, What) ->
    receive go -> ok end,
    Refused = walk(What),
    unlink(Caller),
    Caller ! {walked, self(), Refused}.

walk({off, Own, New}) ->
    cleared(Own, New),
    0;
walk({on, Own, Set, Clear, New, Skip}) ->
    New andalso Clear =/= [] andalso kprof_spec:flags(Own, new, false, Clear),
    New andalso kprof_spec:flags(Own, new, true, Set),
    each(processes() -- [self() | Skip], fun(P) -> refused(Own, P, Set, Clear) end).

refused(Own, P, Set, Clear) ->
    Clear =/= [] andalso kprof_spec:flags(Own, P, false, Clear),
    case kprof_spec:flags(Own, P, true, Set) of
        0 -> lives(P);
        _ -> false
    end.

%% Alive, asked without a signal.
lives(P) -> process_info(P, status) =/= undefined.

%% Ends a walk, if one is under way: from then on it sets nothing.
-spec stop(none | pid()) -> ok.
stop(none) ->
    ok;
stop(Walker) ->
    unlink(Walker),
    Ref = erlang:monitor(process, Walker),
    exit(Walker, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    receive {walked, Walker, _} -> ok after 0 -> ok end.

%% Off for all, by the caller. -> flags that are left: nobody is asked, the VM refuses only those of the dead and of others.
-spec off(own(), boolean(), none | pid()) -> non_neg_integer().
off(Own, New, Walker) ->
    stop(Walker),
    cleared(Own, New).

cleared(Own, New) ->
    New andalso kprof_spec:flags(Own, new, false, [all]),
    each(processes(), fun(P) -> kprof_spec:flags(Own, P, false, [all]) > 1 end).

%% For how many of these was F true?
each(Pids, F) -> each(Pids, F, 0, ?PIECE, slice()).

each([P | Ps], F, N, Left, Slice) when Left > 0 ->
    case F(P) of
        true -> each(Ps, F, N + 1, Left - 1, Slice);
        false -> each(Ps, F, N, Left - 1, Slice)
    end;
each([], _, N, _, _) ->
    N;
each(Ps, F, N, _, Slice) ->
    each(Ps, F, N, ?PIECE, rest(Slice)).

%% A slice of work: who works calls rest/1 every few steps.
-spec slice() -> slice().
slice() ->
    Now = now_us(),
    {Now, Now}.

-spec rest(slice()) -> slice().
rest({Began, Since} = Slice) ->
    Now = now_us(),
    if
        Now - Since < ?SLICE_US -> Slice;
        Now - Began > ?PATIENT_MS * 1000 -> {Began, Now};
        true ->
            erlang:yield(),
            {Began, now_us()}
    end.

now_us() -> erlang:monotonic_time(microsecond).
