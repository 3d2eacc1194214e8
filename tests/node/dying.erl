%% Requests in processes of their own, which end inside of the request: by an exception that nobody catches, at once or after a
%% time-out.
-module(dying).
-export([start/0, request/1, step/1]).

start() ->
    Owner = self(),
    spawn(fun() ->
        Ref = monitor(process, Owner),
        [spawn_link(fun() -> loop(Kind, Ms) end) || {Kind, Ms} <- [{crash, 40}, {hang, 250}, {good, 40}]],
        receive {'DOWN', Ref, _, _, _} -> exit(kill) end
    end),
    ok.

loop(Kind, Ms) ->
    spawn(?MODULE, request, [Kind]),
    receive after Ms -> loop(Kind, Ms) end.

request(Kind) ->
    ok = ?MODULE:step(Kind),
    Kind.

step(crash) -> exit(normal);
step(hang) -> receive after 1500 -> exit(normal) end;
step(good) -> ok.
