%% real.py loads this on a server: it queries the queue length and memory of all processes every second, as
%% observer_cli does, reports what of kprof-top is on the node, and is the bare tracer for comparison.
-module(real_watch).
-export([start/0, rounds/0, left/0, bare_on/1, bare_off/1, loop/1, discard/0]).

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

%% A tracer process that discards everything. Flags are set for one process at a time: one call for all can crash OTP 25.
bare_on(Functions) ->
    T = spawn_opt(?MODULE, discard, [], [{message_queue_data, off_heap}]),
    persistent_term:put({?MODULE, bare}, T),
    [1 = erlang:trace_pattern(MFA, [{'_', [], [{message, {caller}}]}], [local]) || MFA <- Functions],
    Flags = [call, arity, return_to, monotonic_timestamp, {tracer, T}],
    erlang:trace(new, true, Flags),
    [catch erlang:trace(P, true, Flags) || P <- processes(), P =/= T],
    ok.

bare_off(Functions) ->
    [erlang:trace_pattern(MFA, false, [local]) || MFA <- Functions],
    erlang:trace(new, false, [all]),
    [catch erlang:trace(P, false, [all]) || P <- processes()],
    exit(persistent_term:get({?MODULE, bare}), kill),
    ok.

discard() -> receive _ -> ?MODULE:discard() end.
