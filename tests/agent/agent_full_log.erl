%% The node's own log of the calls of agent_full_work: who called what, and when. It runs on the target of the tests of full traces.
-module(agent_full_log).
-export([start/0, own/1, put/1, all/0, flagged/0, meta/1, requests/3, connection/2, yields/3, waiting_for_code/0, priorities/2]).
-export([another/0, tracing/1, set_by_another/0, no_other/1, flags_of_another/0]). % another tracer
-export([runs_away/0, asks_itself/0, calls/0, bystander/0, many/0, serves/0]). % processes

%% A test that failed may have left one.
start() ->
    case whereis(?MODULE) of
        undefined -> ok;
        Before ->
            Ref = monitor(process, Before),
            exit(Before, kill),
            receive {'DOWN', Ref, _, _, _} -> ok end
    end,
    Self = self(),
    P = spawn(?MODULE, own, [Self]),
    receive {P, ready} -> P end.

own(Asker) ->
    register(?MODULE, self()),
    ets:new(?MODULE, [named_table, public, ordered_set]),
    Asker ! {self(), ready},
    receive stop -> ok end.

put(What) -> ets:insert(?MODULE, {erlang:unique_integer([monotonic]), erlang:monotonic_time(), self(), What}).

%% Oldest first, and then the table is empty.
all() ->
    All = ets:tab2list(?MODULE),
    ets:delete_all_objects(?MODULE),
    [{P, At, What} || {_, At, P, What} <- All].

%% Processes that have a trace flag, in any session.
flagged() -> [P || P <- processes(), maps:get(flags, agent_load:set_of(P)) =/= []].

%% Those of these functions that have a meta pattern.
meta(MFAs) -> [MFA || MFA <- MFAs, {meta, P} <- [erlang:trace_info(MFA, meta)], P =/= false, P =/= []].

%% Requests in processes of their own, one after the other. -> [pid()]
requests(Kinds, Server, Ms) ->
    [
        begin
            {P, R} = spawn_monitor(fun() -> agent_full_work:request(Kind, Server), receive after Ms -> ok end end),
            receive {'DOWN', R, _, _, _} -> P end
        end
     || Kind <- Kinds
    ].

%% Requests of a connection: it gets a message from each, then the next one from a socket, so that it keeps the token. -> [pid()]
connection(0, _) -> [];
connection(N, Server) ->
    Self = self(),
    P = spawn(fun() -> agent_full_work:request(quick, Server), Self ! {done, self()} end),
    receive {done, P} -> ok end,
    receive after 5 -> [P | connection(N - 1, Server)] end.

%% How often a function that returns {_, N} lets others run: {yields, us, N}.
yields(M, F, Args) ->
    Self = self(),
    P = spawn(fun() ->
        receive go -> ok end,
        {Us, {_, N}} = timer:tc(M, F, Args),
        Self ! {ran, self(), Us, N}
    end),
    erlang:trace_pattern({kprof_flags, yield, 0}, true, [local]),
    1 = erlang:trace(P, true, [call]),
    P ! go,
    {Took, Number} = receive {ran, P, Us, N} -> {Us, N} end,
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    erlang:trace_pattern({kprof_flags, yield, 0}, false, [local]),
    {yielded(0), Took, Number}.

%% The priorities that a process takes from now on: To gets {priorities, List} when it has ended.
priorities(P, To) ->
    Self = self(),
    spawn(fun() ->
        Ref = monitor(process, P),
        1 = erlang:trace_pattern({erlang, process_flag, 2}, true, [local]),
        1 = erlang:trace(P, true, [call]),
        Self ! {traces, self()},
        receive {'DOWN', Ref, _, _, _} -> ok end,
        All = erlang:trace_delivered(all),
        receive {trace_delivered, all, All} -> ok end,
        erlang:trace_pattern({erlang, process_flag, 2}, false, [local]),
        To ! {priorities, taken()}
    end),
    receive {traces, Tracer} -> Tracer end.

taken() -> receive {trace, _, call, {_, _, [priority, Is]}} -> [Is | taken()]; {trace, _, call, _} -> taken() after 0 -> [] end.

yielded(N) -> receive {trace, _, call, _} -> yielded(N + 1) after 0 -> N end.

%% The priorities of the processes that wait for the code server.
waiting_for_code() ->
    Told = [process_info(P, [current_function, priority]) || P <- processes()],
    [Priority || [{_, {code_server, call, _}}, {_, Priority}] <- Told].

%% Another tracer, which has patterns on functions of agent_full_work and flags on no process. The first match spec is that of
%% dbg's alias `c`.
another() -> spawned(fun() ->
    Returns = [{'_', [], [{return_trace}]}],
    1 = erlang:trace_pattern({agent_full_work, part, 1}, [{'_', [], [{message, {caller}}]}], [local]),
    1 = erlang:trace_pattern({agent_full_work, deep, 1}, Returns, [local]),
    1 = erlang:trace_pattern({agent_full_work, served, 1}, Returns, [{meta, self()}]),
    1 = erlang:trace_pattern({agent_full_work, request, 2}, true, [call_count])
end).

flags_of_another() -> spawned(fun() -> erlang:trace(new_processes, true, [call]) end).

spawned(Set) ->
    Self = self(),
    P = spawn(?MODULE, tracing, [fun() -> Set(), Self ! {set, self()} end]),
    receive {set, P} -> P end.

tracing(Set) ->
    Set(),
    receive never -> ok end.

set_by_another() ->
    Set = [{part, match_spec}, {deep, match_spec}, {served, meta}, {served, meta_match_spec}],
    [{F, What, erlang:trace_info({agent_full_work, F, 1}, What)} || {F, What} <- Set] ++
        [is_integer(element(2, erlang:trace_info({agent_full_work, request, 2}, call_count)))].

no_other(P) ->
    [erlang:trace_pattern({agent_full_work, F, 1}, false, [local]) || F <- [part, deep]],
    erlang:trace_pattern({agent_full_work, served, 1}, false, [meta]),
    erlang:trace_pattern({agent_full_work, request, 2}, false, [call_count]),
    exit(P, kill).

runs_away() -> receive go -> agent_full_work:runaway(0) end.
%% Its request never ends.
asks_itself() -> receive go -> agent_full_work:request(slow, self()) end.
calls() -> receive go -> agent_full_work:deep(1) end.

bystander() ->
    agent_full_work:deep(1),
    receive after 1 -> bystander() end.

many() ->
    receive after 20 -> spawn(agent_full_log, asks_itself, []) ! go end,
    many().

serves() ->
    receive {go, Server} -> agent_full_work:request(slow, Server) end,
    serves().
