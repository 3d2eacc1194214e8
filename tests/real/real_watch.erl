%% real.py loads this on a server: it queries the queue length and memory of all processes every second, as
%% observer_cli does, and reports what of kprof-top is on the node.
-module(real_watch).
-export([start/0, rounds/0, left/0, loop/1]).

-define(EVERY_MS, 1000).

start() ->
    Rounds = counters:new(1, []),
    persistent_term:put(?MODULE, Rounds),
    spawn(?MODULE, loop, [Rounds]),
    ok.

rounds() -> counters:get(persistent_term:get(?MODULE), 1).

loop(Rounds) ->
    [erlang:process_info(P, [message_queue_len, memory, total_heap_size, reductions, current_function]) || P <- processes(), P =/= self()],
    counters:add(Rounds, 1, 1),
    timer:sleep(?EVERY_MS),
    ?MODULE:loop(Rounds).

%% [] if nothing is left. The one hidden node is the caller.
left() -> [{K, V} || {K, V} <- maps:to_list(kp_target:ours()), V =/= [], V =/= false, V =/= undefined].
