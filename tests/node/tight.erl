%% Overload: a tier that all schedulers call in a tight loop; the node counts the calls.
-module(tight).
-export([start/0, stop/0, calls/0, request/1, tier/1]).

request(X) ->
    R = tier(X),
    R + 1.

tier(X) -> X * 2.

start() ->
    N = erlang:system_info(schedulers_online),
    Counter = counters:new(N, []),
    persistent_term:put(?MODULE, {Counter, N}),
    [register(name(I), spawn(fun() -> loop(Counter, I, 1000) end)) || I <- lists:seq(1, N)],
    N.

stop() ->
    {_, N} = persistent_term:get(?MODULE),
    [exit(whereis(name(I)), kill) || I <- lists:seq(1, N)],
    ok.

%% Requests so far.
calls() ->
    {Counter, N} = persistent_term:get(?MODULE),
    lists:sum([counters:get(Counter, I) || I <- lists:seq(1, N)]).

name(I) -> list_to_atom("tight_" ++ integer_to_list(I)).

loop(Counter, I, 0) ->
    counters:add(Counter, I, 1000),
    loop(Counter, I, 1000);
loop(Counter, I, N) ->
    ?MODULE:request(N),
    loop(Counter, I, N - 1).
