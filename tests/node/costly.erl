%% Requests of some 10 us in a loop on all schedulers: a call that is not sampled costs several percent of that, on any machine.
-module(costly).
-export([start/0, stop/0, request/1, tier/1]).

request(X) ->
    R = ?MODULE:tier(spin(X, 1500)),
    {ok, R}.

tier(X) -> R = spin(X, 1500), {R}.

spin(X, 0) -> X;
spin(X, N) -> spin((X * 7 + N) band 16#ffff, N - 1).

start() ->
    [register(name(I), spawn(fun() -> loop(0) end)) || I <- lists:seq(1, erlang:system_info(schedulers_online))],
    ok.

stop() ->
    [exit(whereis(name(I)), kill) || I <- lists:seq(1, erlang:system_info(schedulers_online))],
    ok.

name(I) -> list_to_atom("costly_" ++ integer_to_list(I)).

loop(N) ->
    ?MODULE:request(N band 16#ff),
    loop(N + 1).
