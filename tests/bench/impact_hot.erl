%% Loops that call traced functions, one per scheduler, at full speed, and count their rounds: their loss of speed is
%% the cost of tracing.
-module(impact_hot).
-export([start/3, stop/0, calls/0, parts/3, hold/1, rounds/1]).
-export([entry/2, t1/2, t2/2, t3/2, tier/2, hot/1, work/2]).

-define(COUNT_EVERY, 1000).

%% The traced functions. A request is four calls; tier is called alone; hot does nothing.
entry(X, N) -> R = ?MODULE:t1(X, N), [R].
t1(X, N) -> A = ?MODULE:t2(X, N), B = ?MODULE:t3(A, N), {A, B}.
t2(X, N) -> impact_hot:work(X, 2 * N).
t3(X, N) -> impact_hot:work(X, 2 * N).
tier(X, N) -> [impact_hot:work(X, N)].
hot(X) -> X + 1.

%% The copy of this module calls the same code: two copies of a loop may differ by 20 % in speed, by their addresses. It does
%% something of what applications do. A loop that only computes is no measure: it runs up to 3 % faster or slower after a traced
%% call, for as long as it lasts, depending on where the VM was loaded (Intel, model 207).
work(X, 0) -> X;
work(X, N) -> work(some(X, N), N - 1).

some(X, N) ->
    Map = #{a => N, b => [X, N], <<"key">> => {X, x}, d => N bsl 3},
    #{b := [A | _], <<"key">> := {B, _}} = Map,
    Sorted = lists:keysort(1, [{(A * 7) rem 13, a}, {B rem 5, b}, {N rem 7, c}, {3, d}]),
    Bytes = list_to_binary([<<N:16>>, integer_to_list(A), [K || {K, _} <- Sorted]]),
    (byte_size(Bytes) + erlang:phash2(Sorted) + map_size(Map#{N => Sorted}) + length(binary_to_list(Bytes))) band 16#ffff.

%% What: request, tier or hot. N: rounds of work per call. A copy of this module with another name is never traced: to
%% switch tracing off from one call to the next, the loops call this copy.
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

%% The rounds of all loops so far: requests, or calls.
calls() ->
    {Counters, _, Loops, _} = get(hot),
    lists:sum([counters:get(Counters, I) || I <- lists:seq(1, Loops)]).

%% Parts of this many ms, in turn with the copy and with the traced module, first and last with the copy. After each
%% switch GapMs are not measured, while the tracer processes events of the previous part. [[rounds, ns, ns of CPU time
%% of the node]]
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

%% Runs only traced functions for this many ms.
hold(Ms) ->
    {_, Traced, _, _} = get(hot),
    atomics:put(Traced, 1, 1),
    part(Ms).

part(Ms) ->
    {R0, T0, C0} = now_at(),
    receive after Ms -> ok end,
    {R1, T1, C1} = now_at(),
    [R1 - R0, T1 - T0, (C1 - C0) * 1000000].

%% {Rounds, ns, ms of CPU time of the node}. The VM tells its CPU time in whole ms. Read at a random moment, the error of many
%% parts is 0 on average; without that, each of these short parts gets the same share of a ms too much, or too little.
now_at() ->
    spin_until(erlang:monotonic_time(nanosecond) + rand:uniform(1000000)),
    {calls(), erlang:monotonic_time(nanosecond), element(1, erlang:statistics(runtime))}.

spin_until(Ns) ->
    case erlang:monotonic_time(nanosecond) < Ns of
        true -> spin_until(Ns);
        false -> ok
    end.

%% The number of rounds of work that take this many ns on this machine now: the minimum of some tries.
rounds(Ns) ->
    N = 10000,
    Least = lists:min([element(1, timer:tc(fun() -> work(1, N) end)) || _ <- lists:seq(1, 20)]),
    max(1, N * Ns div (Least * 1000)).
