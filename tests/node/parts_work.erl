%% Requests whose time has known parts: step(Kind, _) does only what Kind names, and measures its time itself.
-module(parts_work).
-export([start/0, run/2, truth/0, hogs/1, watch/0, watched/0, request/1, step/2, serve/1, init/1, handle_call/3, handle_cast/2]).

-define(BYTES, 67108864).
-define(QUEUED, 4). % messages before that of the request, 5 ms each

start() ->
    ok = file:write_file(file(), binary:copy(<<7>>, ?BYTES)),
    erlang:system_flag(microstate_accounting, true),
    {ok, Server} = gen_server:start(?MODULE, [], []),
    register(parts_server, Server),
    Starter = self(),
    {P, R} = spawn_monitor(fun() ->
        ets:new(parts_truth, [named_table, public, bag]),
        Starter ! ready,
        receive never -> ok end
    end),
    receive ready -> erlang:demonitor(R, [flush]), P; {'DOWN', R, _, _, Why} -> error(Why) end,
    true.

file() -> "/tmp/parts_work." ++ os:getpid().

%% N requests of this kind, in a process each.
run(Kind, N) ->
    [begin
        {P, R} = spawn_monitor(fun() -> request(Kind) end),
        receive {'DOWN', R, _, P, normal} -> ok; {'DOWN', R, _, P, Why} -> error(Why) end
    end || _ <- lists:seq(1, N)],
    ok.

%% {Kind, [{Part, microseconds}]}: means
truth() ->
    All = ets:tab2list(parts_truth),
    file:delete(file()),
    [{Kind, [{Part, of_all(Kind, [Us || {K, P, _, Us} <- All, K =:= Kind, P =:= Part])} || Part <- lists:usort([P || {K, P, _, _} <- All, K =:= Kind])]}
     || Kind <- lists:usort([K || {K, _, _, _} <- All])].

%% What the VM counts for `heap` includes garbage collections of other processes: the smallest value has the fewest of these.
of_all(heap, Us) -> lists:min(Us);
of_all(_, Us) -> lists:sum(Us) / length(Us).

%% Runs requests while N processes for each scheduler compute.
hogs(N) ->
    Pids = [spawn(fun hog/0) || _ <- lists:seq(1, N * erlang:system_info(schedulers_online))],
    run(run_queue, 3),
    [exit(P, kill) || P <- Pids],
    ok.

hog() -> spin(now_us() + 1000, 0), hog().

request({warm, Kind}) ->
    step(Kind, prepared(Kind)),
    ok;
request(heap) ->
    List = prepared(heap),
    Before = collected_us(),
    step(heap, List),
    told(heap, [{gc, collected_us() - Before}]);
request(Kind) ->
    told(Kind, step(Kind, prepared(Kind))).

told(Kind, Parts) -> [ets:insert(parts_truth, {Kind, Part, make_ref(), Us}) || {Part, Us} <- Parts], ok.

prepared(mailbox) -> [gen_server:cast(parts_server, {spin, 5000}) || _ <- lists:seq(1, ?QUEUED)];
prepared(heap) ->
    process_flag(fullsweep_after, 0),
    [{I} || I <- lists:seq(1, 18000)];
prepared(gc) -> [{I, I} || I <- lists:seq(1, 400000)];
prepared(Kind) when Kind =:= dirty; Kind =:= mixed -> file();
prepared(_) -> none.

%% -> its parts, and how long they took, in us
step(run, _) -> [{run, timed(fun() -> spin(now_us() + 20000, 0) end)}];
step(run_queue, _) -> [{run_queue, spin(now_us() + 100000, 0)}];
step(wait, _) -> [{wait, timed(fun() -> receive after 20 -> ok end end)}];
step(dirty, File) -> [{dirty, timed(fun() -> {ok, _} = prim_file:read_file(File) end)}];
step(mailbox, _) ->
    {Mailbox, Wait} = called(),
    [{mailbox, Mailbox}, {wait, Wait}];
step(mixed, File) ->
    Run = timed(fun() -> spin(now_us() + 10000, 0) end),
    Dirty = timed(fun() -> {ok, _} = prim_file:read_file(File) end),
    Slept = timed(fun() -> receive after 10 -> ok end end),
    {_, Wait} = called(), % the server is idle
    [{run, Run}, {dirty, Dirty}, {wait, Slept + Wait}];
step(gc, List) ->
    Us = lists:sum([timed(fun() -> erlang:garbage_collect() end) || _ <- lists:seq(1, 3)]),
    400000 = length(List),
    [{gc, Us}];
%% The list is copied again and again. It is so small that this needs no dirty scheduler.
step(heap, List) ->
    [4000 = length(lists:seq(1, 4000)) || _ <- lists:seq(1, 300)],
    18000 = length(List),
    none.

%% Calls the server. -> {us until the call began, us from then until the answer}
called() ->
    Sent = now_us(),
    Began = gen_server:call(parts_server, serve),
    {Began - Sent, now_us() - Began}.

timed(F) ->
    T = now_us(),
    F(),
    now_us() - T.

%% Garbage collections of all processes of this node, as its schedulers count them.
collected_us() ->
    Units = lists:sum([maps:get(gc, Counters) || #{counters := Counters} <- erlang:statistics(microstate_accounting)]),
    erlang:convert_time_unit(Units, perf_counter, microsecond).

%% Computes until End. -> the time in which it did not run, found from gaps between two readings of the clock
spin(End, Off) -> spin(End, now_us(), Off).
spin(End, Before, Off) ->
    Now = now_us(),
    Gap = if Now - Before > 5 -> Now - Before; true -> 0 end,
    if Now >= End -> Off + Gap; true -> spin(End, Now, Off + Gap) end.

now_us() -> erlang:monotonic_time(microsecond).

init([]) -> {ok, none}.

handle_call(serve, _, S) ->
    Began = now_us(),
    serve(5000),
    {reply, Began, S}.

handle_cast({spin, Us}, S) ->
    spin(now_us() + Us, 0),
    {noreply, S}.

%% A tier in the server.
serve(Us) -> spin(now_us() + Us, 0), ok.

%% From now on each call that sets something for tracing, whoever makes it, is noted. A meta trace: no process needs a flag for it.
watch() ->
    Watcher = spawn(fun() -> noted(#{}) end),
    register(parts_watcher, Watcher),
    [1 = erlang:trace_pattern({erlang, F, 3}, true, [{meta, Watcher}]) || F <- [trace, trace_pattern]],
    true.

%% -> the calls, and the atoms in their arguments
watched() ->
    [erlang:trace_pattern({erlang, F, 3}, false, [meta]) || F <- [trace, trace_pattern]],
    parts_watcher ! {tell, self()},
    receive {parts_watcher, Noted} -> Noted end.

noted(Noted) ->
    receive
        {tell, From} -> From ! {parts_watcher, Noted};
        {trace_ts, _, call, {erlang, F, Args}, _} -> noted(maps:merge(Noted, maps:from_list([{A, F} || A <- atoms(Args)])))
    end.

atoms(A) when is_atom(A) -> [A];
atoms([H | T]) -> atoms(H) ++ atoms(T);
atoms(T) when is_tuple(T) -> atoms(tuple_to_list(T));
atoms(M) when is_map(M) -> atoms(maps:to_list(M));
atoms(_) -> [].
