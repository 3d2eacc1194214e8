%% Samples `tight` from inside the node: number of calls, memory, whether its tier is traced.
-module(tight_watch).
-export([start/1, take/0, stop/0]).

%% A sample every Ms: {Ms since the start, calls, memory in bytes, traced}.
start(Ms) ->
    register(?MODULE, spawn_opt(fun() -> watch(erlang:monotonic_time(millisecond), Ms, []) end, [{priority, high}])),
    true.

%% Returns all samples so far, oldest first, and removes them.
take() ->
    ?MODULE ! {take, self()},
    receive {?MODULE, Samples} -> Samples end.

stop() ->
    exit(whereis(?MODULE), kill).

watch(Start, Ms, Samples) ->
    receive
        {take, To} ->
            To ! {?MODULE, lists:reverse(Samples)},
            watch(Start, Ms, [])
    after Ms ->
        watch(Start, Ms, [{erlang:monotonic_time(millisecond) - Start, tight:calls(), erlang:memory(total), traced()} | Samples])
    end.

traced() ->
    lists:any(fun(S) -> set(S) =:= {traced, local} end, sessions()). % a busy process would not answer

sessions() ->
    case erlang:function_exported(trace, session_info, 1) of
        true -> [S || {Name, _} = S <- apply(trace, session_info, [all]), Name =/= legacy];
        false -> [none]
    end.

set(none) -> erlang:trace_info({tight, tier, 1}, traced);
set(Session) -> catch apply(trace, info, [Session, {tight, tier, 1}, traced]).
