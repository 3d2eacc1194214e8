%% Replaces the agent in the test of forbidden.erl: makes forbidden calls and allowed ones.
-module(kprof_fake_99).
-export([do/1, allowed/0, at_end/0]).

%% -> true: each call is detected, with the right text.
do(reset) -> [seq_trace:reset_trace()] =/= [];
do(reset_below) -> [erlang:system_flag(reset_seq_trace, true)] =/= [];
do(existing) -> [erlang:trace(existing, false, [call])] =/= [];
do(all) -> [erlang:trace(all, false, [call])] =/= [];
do(call_time) -> [erlang:trace_pattern({lists, max, 1}, true, [call_time]), erlang:trace_pattern({lists, max, 1}, false, [call_time])] =/= [];
do(trace_info) -> [erlang:trace_info(P, flags) || P <- processes()] =/= [];
do(everything) -> [process_info(P) || P <- processes()] =/= [];
do(in_list) -> [process_info(P, [status, memory]) || P <- processes()] =/= [];
do({session, existing}) -> in_session(fun(S) -> [apply(trace, process, [S, existing, true, [call]])] end);
do({session, call_time}) -> in_session(fun(S) -> [apply(trace, function, [S, {lists, max, 1}, true, [call_time]])] end);
do({session, info}) -> in_session(fun(S) -> [apply(trace, info, [S, P, flags]) || P <- processes()] end);
do(one_flag) -> [erlang:trace(self(), false, [call])] =/= [];
do(one_question) -> [process_info(whereis(init), message_queue_len)] =/= [];
do(Item) -> [process_info(P, Item) || P <- processes()] =/= [].

in_session(F) ->
    S = apply(trace, session_create, [kprof_fake, self(), []]),
    Done = F(S),
    apply(trace, session_destroy, [S]),
    Done =/= [].

allowed() ->
    Ps = processes(),
    _ = [erlang:trace(new, true, [call]), erlang:trace(new, false, [call])],
    _ = [(catch erlang:trace(P, true, [call])) || P <- Ps, P =/= self()],
    _ = [(catch erlang:trace(P, false, [all])) || P <- Ps, P =/= self()],
    _ = [process_info(P, [sequential_trace_token, status, reductions, heap_size, registered_name, initial_call]) || P <- Ps],
    _ = [process_info(P, current_stacktrace) || P <- lists:sublist(lists:reverse(Ps), 5)],
    _ = [process_info(self(), message_queue_len), erlang:trace_info(new_processes, flags)],
    _ = [erlang:trace_pattern({lists, max, 1}, true, [call_count]), erlang:trace_pattern({lists, max, 1}, false, [call_count])],
    true.

at_end() -> [seq_trace:reset_trace()] =/= [].
