%% Loops of traced functions, one a scheduler and as fast as they go, which count themselves: what tracing takes from them is what it costs.
-module(impact_hot).
-export([start/3, stop/0, calls/0, parts/3, hold/1, rounds/1]).
-export([entry/2, t1/2, t2/2, t3/2, tier/2, hot/1]).

-define(COUNT_EVERY, 1000).

%% What is traced. A request is four calls; tier is called by itself; hot does nothing at all.
entry(X, N) -> R = ?MODULE:t1(X, N), [R].
t1(X, N) -> A = ?MODULE:t2(X, N), B = ?MODULE:t3(A, N), {A, B}.
t2(X, N) -> work(X, 2 * N).
t3(X, N) -> work(X, 2 * N).
tier(X, N) -> [work(X, N)].
hot(X) -> X + 1.

work(X, 0) -> X;
work(X, N) -> work((X * 7 + N) band 16#ffff, N - 1).

%% What: request, tier or hot. N: rounds of work a call. A twin of this module under another name is never traced: what the loops call of it
%% is tracing switched off, from one call to the next.
start(What, N, Loops) ->
    Counters = counters:new(Loops, [write_concurrency]),
    Traced = atomics:new(1, []),
    put(hot, {Counters, Traced, Loops, [spawn(fun() -> loop(What, N, Counters, I, Traced) end) || I <- lists:seq(1, Loops)]}),
    ok.

stop() ->
    {_, _, _, Pids} = erase(hot),
    [exit(P, kill) || P <- Pids],
    ok.

loop(hot, _, C, I, _) -> hot_loop(C, I, ?COUNT_EVERY);
loop(What, N, C, I, Traced) ->
    Module = case atomics:get(Traced, 1) of 1 -> impact_hot; 0 -> impact_twin end,
    case What of
        request -> Module:entry(I, N);
        tier -> Module:tier(I, N)
    end,
    counters:add(C, I, 1),
    loop(What, N, C, I, Traced).

hot_loop(C, I, 0) ->
    counters:add(C, I, ?COUNT_EVERY),
    hot_loop(C, I, ?COUNT_EVERY);
hot_loop(C, I, N) ->
    hot(N),
    hot_loop(C, I, N - 1).

%% Rounds of all loops so far: requests, or calls.
calls() ->
    {Counters, _, Loops, _} = get(hot),
    lists:sum([counters:get(Counters, I) || I <- lists:seq(1, Loops)]).

%% Parts of so many ms, in turn with the twin and with what is traced; it begins and ends with the twin. After each switch GapMs pass unseen: what
%% the tracer still has of the part before. [[rounds, ns, ns of CPU that the node took]]
parts(Pairs, Ms, GapMs) ->
    {_, Traced, _, _} = get(hot),
    [
        begin
            atomics:put(Traced, 1, N band 1),
            receive after GapMs -> ok end,
            part(Ms)
        end
     || N <- lists:seq(0, 2 * Pairs)
    ].

%% All is traced for so many ms.
hold(Ms) ->
    {_, Traced, _, _} = get(hot),
    atomics:put(Traced, 1, 1),
    part(Ms).

part(Ms) ->
    {R0, T0, C0} = {calls(), erlang:monotonic_time(nanosecond), element(1, erlang:statistics(runtime))},
    receive after Ms -> ok end,
    {R1, T1, C1} = {calls(), erlang:monotonic_time(nanosecond), element(1, erlang:statistics(runtime))},
    [R1 - R0, T1 - T0, (C1 - C0) * 1000000].

%% How many rounds of work take so many ns on this machine, now: the least of some tries.
rounds(Ns) ->
    N = 100000,
    Least = lists:min([element(1, timer:tc(fun() -> work(1, N) end)) || _ <- lists:seq(1, 20)]),
    max(1, N * Ns div (Least * 1000)).
