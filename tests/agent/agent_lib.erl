%% Common code of the tests of the agent: the agent as kprof-top uses it, and what is left of it on the node.
-module(agent_lib).
-export([
    check/3, equal/3, until/2, load/2, load/3, load_parts/1, unload_parts/1, modules/0, names/0, start/1, start/2, start_controller/3, options/0, unload/1,
    reaped/1, ask/2, asked/2, beam/1, trace_config/1, trace_config/2, traced/2, finish/2, run/3, messages/1, batches/1, calls/1,
    payloads/2, numbers/2, receive_off/0, run_forever/2, stop_workers/1, forget_beats/0, seed/0, run_forever_tight/1, sample_told/0, beat_now/1,
    beat_now/2, nothing_left/1, gone/1, told_gone/0, load_second/1, unload_second/1, drain/0, other_owner/2, owner/3, now_ms/0, token_of/1,
    isolated/1, set_now/1, some_load/1, vm_event_receivers/1, vm_events_switched/1
]).

-include("agent.hrl").

check(true, _, _) -> ok;
check(X, Text, Line) -> error({line, Line, Text, X}).
equal(X, X, _) -> ok;
equal(A, B, Line) -> error({line, Line, {is, A}, {should_be, B}}).

until(Ms, F) -> until(erlang:monotonic_time(millisecond) + Ms, F, F()).
until(_, _, true) -> true;
until(End, F, _) ->
    case erlang:monotonic_time(millisecond) > End of
        true -> false;
        false -> receive after 20 -> until(End, F, F()) end
    end.

load(Target, M) -> load(Target, M, beam(M)).
beam(M) -> element(2, {ok, _} = file:read_file(filename:join(get_beams(), atom_to_list(M) ++ ".beam"))).
load(Target, M, Beam) -> {module, M} = rpc:call(Target, code, load_binary, [M, "", Beam]).

%% The agent as it is loaded on a node; the tools when they are needed.
modules() -> [kprof_agent_00, kprof_tools_00].

%% Its sources, each compiled separately: to call one of their functions on the target.
parts() -> [list_to_atom(filename:basename(F, ".beam")) || F <- filelib:wildcard(filename:join(get_beams(), "kprof_*.beam"))] -- modules().
load_parts(T) -> [load(T, M) || M <- parts()].
unload_parts(T) -> [rpc:call(T, code, F, [M]) || M <- parts(), F <- [purge, delete, purge]].

%% The registered names of its processes.
names() -> [kprof_controller_00, kprof_relay_00, kprof_guardian_00].

get_beams() ->
    case get(beams) of
        undefined -> filename:dirname(code:which(?MODULE));
        Dir -> Dir
    end.

start(T) -> start(T, #{}).
start(T, Opts) ->
    load(T, kprof_agent_00),
    {ok, K, _} = start_controller(T, kprof_controller_00, Opts),
    K.

%% The controller of slot NN is kprof_controller_NN.
start_controller(T, Controller, Opts) ->
    "kprof_controller_" ++ Slot = atom_to_list(Controller),
    All = maps:merge((options())#{instance := erlang:phash2(maps:get(who, Opts, <<"tester">>))}, Opts),
    rpc:call(T, list_to_atom("kprof_agent_" ++ Slot), controller_start, [All]).

options() -> #{pid => self(), node => node(), who => <<"tester">>, instance => erlang:phash2(<<"tester">>), force => false, key => ?KEY, epoch => ?EPOCH}.

%% The agent unloads itself in a separate process: if it is loaded again before that, the new module is unloaded, too.
unload(T) ->
    reaped(T),
    [rpc:call(T, code, F, [M]) || M <- ?MODULES, F <- [purge, delete, purge]].

reaped(T) -> ?soon(fun() -> rpc:call(T, agent_load, reapers, []) =:= [] end).

%% Waits until an agent has ended by itself and is unloaded.
gone(T) ->
    ?soon(fun() -> rpc:call(T, erlang, module_loaded, [kprof_agent_00]) =:= false end),
    reaped(T).

%% From OTP 27 on each agent has a trace session.
isolated(T) ->
    rpc:call(T, code, ensure_loaded, [trace]),
    rpc:call(T, erlang, function_exported, [trace, session_create, 3]).

%% Loads the tools before the first request that needs them, as kprof-top does.
ask(K, Q) ->
    case asked(K, Q) of
        tools ->
            ok = asked(K, {tools, beam(kprof_tools_00)}),
            asked(K, Q);
        A ->
            A
    end.

asked(K, Q) ->
    R = erlang:unique_integer([positive]),
    K ! {kp, ?KEY, R, Q},
    receive {kr, R, A} -> A
    after ?PATIENCE -> error({no_answer, Q})
    end.

trace_config(Tiers) -> trace_config(Tiers, #{}).
trace_config(Tiers, More) ->
    Numbered = [{Ix, agent_load, F, A} || {Ix, {F, A}} <- lists:zip(lists:seq(0, length(Tiers) - 1), Tiers)],
    maps:merge(#{tiers => Numbered, entry => 0, identity => none, returns => lean, sample => 1}, More).

%% Renews the lease, which a test that only waits for heartbeats does not do.
traced(T, Config) ->
    K = start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    ok = ask(K, {limits, ?NO_LIMITS}), % the tests run without pauses and count every call
    {ok, _} = ask(K, {config, Config}),
    ok = ask(K, {tracing, true}),
    K.

finish(T, K) ->
    Receipt = ask(K, detach),
    unload(T),
    ?equal(maps:with([patterns, flags], Receipt), #{patterns => 0, flags => 0}),
    Receipt.

run(T, F, Args) -> rpc:call(T, agent_load, job, [F, Args]).

%% Everything traced so far, oldest first; the numbers of the batches are consecutive.
messages(K) -> [M || {_, Ms} <- batches(K), M <- Ms].
batches(K) ->
    {ok, Last, _} = ask(K, flush),
    received(Last).
received(Last) ->
    receive
        {kb, Last, _, W, Ms} -> [{W, lists:reverse(Ms)}];
        {kb, Seq, _, W, Ms} when Seq < Last -> [{W, lists:reverse(Ms)} | received(Last)]
    after 0 -> []
    end.

calls(Ms) -> [{F, Msg} || {trace_ts, _, call, {_, F, _}, Msg, _} <- Ms].
payloads(Ms, F) -> [Msg || {G, Msg} <- calls(Ms), G =:= F].

numbers(T, P) ->
    "<0." ++ Rest = rpc:call(T, erlang, pid_to_list, [P]),
    [Id, Serial] = string:tokens(Rest, ".>"),
    {list_to_integer(Id), list_to_integer(Serial)}.

receive_off() ->
    receive {kx, Last} -> Last
    after ?PATIENCE -> error(no_kx)
    end.

run_forever(T, N) -> rpc:call(T, agent_load, forever, [N, 2]).
stop_workers(Ps) -> [exit(P, kill) || P <- Ps].

forget_beats() ->
    receive {kh, _, _} -> forget_beats()
    after 0 -> ok
    end.

slot(M) -> list_to_atom(lists:sublist(atom_to_list(M), length(atom_to_list(M)) - 2) ++ "01").
renamed(M) ->
    {ok, Beam} = file:read_file(filename:join(get_beams(), atom_to_list(M) ++ ".beam")),
    re:replace(Beam, "(kprof_[a-z_]+_)00", "\\g{1}01", [global, {return, binary}]).

seed() ->
    Seed = erlang:system_time(microsecond) band 16#ffffffff,
    rand:seed(exsss, Seed),
    io:format("seed ~b~n", [Seed]),
    Seed.

run_forever_tight(T) -> rpc:call(T, agent_load, forever, [4, 0]).
now_ms() -> erlang:monotonic_time(millisecond).

%% The trace token of a process on another node; [] if it has none.
token_of(P) -> element(2, rpc:call(node(P), erlang, process_info, [P, sequential_trace_token])).

%% 6,000 events repeatedly: they fill a link, but not the node, even if nothing slows the callers down.
some_load(T) -> run(T, many, [2, 500]).

%% According to the newest heartbeat.
sample_told() ->
    receive {kh, _, #{sample := N}} -> sample_told(N) after ?PATIENCE -> error(no_heartbeat) end.
sample_told(Last) ->
    receive {kh, _, #{sample := N}} -> sample_told(N) after 0 -> Last end.

%% The next heartbeat; drops batches.
beat_now(K, Key) -> maps:get(Key, beat_now(K)).
beat_now(K) ->
    beats_gone(),
    K ! {kp_lease, ?KEY},
    receive {kh, _, Beat} -> Beat after ?PATIENCE -> error(no_heartbeat) end.
beats_gone() ->
    receive
        {kh, _, _} -> beats_gone();
        {kb, _, _, _, _} -> beats_gone()
    after 0 -> ok
    end.

nothing_left(T) ->
    Left = fun() -> rpc:call(T, agent_load, left, [[{agent_load, F, A} || {F, A} <- rpc:call(T, agent_load, module_info, [functions])], ?MODULES]) end,
    Nothing = #{processes => [], modules => [], patterns => [], counters => [], flags => [], new => [], sessions => 0, tokens => 0, tcw => 0},
    until(?PATIENCE, fun() -> Left() =:= Nothing end),
    ?equal(Left(), Nothing).

%% The flags and patterns that are set on the node, in any session: #{flags, patterns}.
set_now(T) -> rpc:call(T, agent_load, set_now, [[{agent_load, F, 1} || F <- [entry, tier, leaf]]]).

%% Waits for the message that the agent has ended.
told_gone() -> ?got({ke, gone, _}).

%% A second agent, in slot 01.
load_second(T) -> [load(T, slot(M), renamed(M)) || M <- ?MODULES].
unload_second(T) ->
    reaped(T),
    [rpc:call(T, code, F, [slot(M)]) || M <- ?MODULES, F <- [purge, delete, purge]].

drain() -> receive _ -> drain() after 0 -> ok end.

%% Another hidden node in the role of kprof-top, which can be stopped and killed.
other_owner(T, Config) ->
    Name = lists:concat(["kprof_agent_owner_", erlang:unique_integer([positive]), "_", os:getpid()]),
    Host = lists:nth(2, string:tokens(atom_to_list(node()), "@")),
    Peer = list_to_atom(Name ++ "@" ++ Host),
    Dir = filename:dirname(code:which(?MODULE)),
    Command = lists:concat(["erl -sname ", Name, " -setcookie ", erlang:get_cookie(), " -hidden -noinput -pa ", Dir, " -kernel dist_auto_connect never"]),
    open_port({spawn, Command}, [in, stderr_to_stdout]),
    true = until(?PATIENCE, fun() -> net_kernel:hidden_connect_node(Peer) =:= true end),
    true = rpc:call(Peer, net_kernel, hidden_connect_node, [T]),
    [load(T, M) || M <- ?MODULES],
    Pid = spawn(Peer, ?MODULE, owner, [self(), T, Config]),
    receive {Pid, {ready, K}} -> {Peer, Pid, K} after ?PATIENCE -> error(no_owner) end.

owner(Tester, T, Config) ->
    {ok, K, _} = start_controller(T, kprof_controller_00, maps:get(start, Config, #{})),
    {ok, _} = ask(K, {config, maps:remove(start, Config)}),
    ok = ask(K, {tracing, true}),
    Tester ! {self(), {ready, K}},
    own().

pass_on(E) -> is_pid(get(events)) andalso (get(events) ! {self(), E}).

own() ->
    receive
        {From, {ask, K, Q}} -> From ! {self(), ask(K, Q)}, own();
        {From, events} -> put(events, From), own();
        {ke, _, _} = E -> pass_on(E), own();
        {kh, At, #{gap := Gap}} -> pass_on({gap, At, Gap}), own();
        _ -> own()
    end.

%% The processes of the agent that receive events of the VM.
vm_event_receivers(T) ->
    [P || P <- rpc:call(T, erlang, processes, []), {_, {kprof_agent_00, vm_events_init, 2}} <- [rpc:call(T, erlang, process_info, [P, initial_call])]].

%% They have switched the events on or off, as the last heartbeat says: they wait for messages, not for a process that they start
%% before that, which is linked to them.
vm_events_switched(T) ->
    Rests = [{status, waiting}, {message_queue_len, 0}, {links, []}],
    [] =:= [P || P <- vm_event_receivers(T), rpc:call(T, erlang, process_info, [P, [What || {What, _} <- Rests]]) =/= Rests].
