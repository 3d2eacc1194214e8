%% Requests with an id in the path: each has a different name.
-module(ids).
-export([start/0, stop/0, request/2, forever/1]).

start() ->
    register(ids, spawn(?MODULE, forever, [1])),
    ok.

stop() ->
    exit(whereis(ids), kill),
    ok.

forever(N) ->
    ?MODULE:request(get, list_to_binary(["/item/", integer_to_list(1000 + N rem 2000)])),
    receive after 3 -> ok end,
    ?MODULE:forever(N + 1).

request(_, _) -> ok.
