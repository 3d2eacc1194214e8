%% Load for the tests of the agent, on the target. Runs on OTP 25 and later.
-module(agent_load).
-export([entry/1, tier/1, leaf/1, three/3, none/0, throws/1, tail/1, big/2]).
-export([deep/2, down/2, under/2, yielding/1, yielding_later/1, yields/2, job/2, entries/1, work/3, tokens/1, call/1, quiet/1, many/2, hop/1, dbg_on/0, dbg_state/0, dbg_off/0, left/2, forever/2, forever/3, spawning/0, is_flagged/1, clean/0]).
-export([endless/2, counting_on/2, spin/0, holding/2]). % processes
-export([counting/2, made/0, stale/1, stale_on/1, is_traced/1, is_clearing/1, replace_when_traced/2, set_when_free/2]). % tracing for a part of the time
-export([fill/1, fill/2, filling/2, start_alone/1]).
-export([catch_one/3, catching/3]). % of the table of processes
-export([idle_holder/0, idle_holding/0, busy_holder/1, busy_holder_ends/0, busy_holding/2, beating/1, beating_on/1]). % tokens at the end
-export([sends_traced/0, sends_traced_end/1, tracing_sends/0, ticking/1]).
-export([received/3, outside/1, outside_on/0, reapers/0, kill/2, hold/1, let_go/1, claim/1, set_now/1, set_in_captures/1, set_of/1, is_counted/1, off_at/1, spinning/1, stop_spinning/1, dirty/2, loaded/2, now_ms/0, hears_questions/1, questions/1]).
-export([polling/0, chosen/2, all_pids/1, pids_left/0, samplers/0, samplers/1, processes_round/2]). % of stacks, of processes
-export([steady/0, brief/0, one/0, spawned/1]). % depth of stacks
-export([log/2]). % of logger
-export([queues/0, fill/0]). % events of the VM
-export([cuts/1, cut_bits/0, restore_cut/1, pacer/0, turns/1]).
-export([suspend/1, waits/1]). % of the code server
-export([with_state/1]).
-export([blocks/2, block/2, blocked/1, waking/0, blocking/2]). % of a scheduler
-export([canceled/3]). % of a capture
-export([stopped_walks/1, long_walk/0, long_work/1, loading/1, traces_others/1, walked_heap/1, capturing_heap/3]).
-export([with_queue/1, asked_of/4]). % what is read of a process
-export([session/0, end_session/1, hashed/1]). % of another tracer; a built-in function

entry(X) -> R = ?MODULE:tier(X), {ok, R}.
tier(X) -> R = ?MODULE:leaf(X), {tier, R}.
leaf(X) -> X.
three(A, B, C) -> {A, B, C}.
none() -> ok.
throws(X) -> throw(X).
tail(X) -> ?MODULE:leaf(X).
big(X, State) -> _ = X, State.

%% A process with so many words that calls big/2.
with_state(Words) ->
    Self = self(),
    P = spawn(fun() ->
        State = lists:seq(1, Words div 2),
        Self ! {self(), State =/= []},
        calls_big(State)
    end),
    receive {P, true} -> P end.

calls_big(State) -> receive after 1 -> calls_big(?MODULE:big(x, State)) end.

%% Calls the built-in function directly: apply/3 would not see that its pattern is off.
hashed(X) -> erlang:phash2(X, 7).

%% Runs a job in a new process, without a token before and after, so that the tester receives none.
job(F, Args) ->
    seq_trace:set_token([]),
    {P, R} = spawn_monitor(fun() ->
        Result = apply(?MODULE, F, Args),
        seq_trace:set_token([]),
        exit({result, Result})
    end),
    receive
        {'DOWN', R, process, P, {result, Result}} -> seq_trace:set_token([]), Result;
        {'DOWN', R, process, P, Why} -> {crashed, Why}
    end.

entries(L) -> [?MODULE:entry(X) || X <- L].
work(M, F, Args) -> apply(M, F, Args).

%% After each entry: whether the process has a token, and its label.
tokens(L) ->
    [
        begin
            {ok, _} = ?MODULE:entry(X),
            case seq_trace:get_token(label) of
                {label, Label} -> {X, Label};
                [] -> {X, none}
            end
        end
     || X <- L
    ].

%% A process that waits in calls of this depth, with data on its stack.
deep(Depth, Data) -> spawn(?MODULE, down, [Depth, Data]).
down(0, Data) -> receive {Data, stop} -> Data end;
down(N, Data) -> [?MODULE:under(N - 1, [N | Data]) | Data].
%% Two functions in turn: the VM reports consecutive calls of one function once.
under(N, Data) -> [?MODULE:down(N - 1, [N | Data]) | Data].

%% A process that is scheduled out repeatedly inside of a call, each time for longer than the limit below which events are not
%% sent.
yielding(N) -> spawn(fun() -> Partner = spawn_link(fun partner/0), ?MODULE:yields(N, Partner), receive stop -> ok end end).
%% The same, when it gets `go`. It has ended its calls when it gets `stop`.
yielding_later(N) -> spawn(fun() -> Partner = spawn_link(fun partner/0), receive go -> ok end, ?MODULE:yields(N, Partner), receive stop -> ok end end).
yields(0, _) -> ok;
yields(N, Partner) ->
    Partner ! {self(), N},
    receive N -> yields(N - 1, Partner) end.
partner() -> receive {P, N} -> lists:foldl(fun(I, _) -> I end, 0, lists:seq(1, 1000)), P ! N, partner() end.

call(Calls) -> [(catch apply(?MODULE, F, Args)) || {F, Args} <- Calls].

%% The same, but without a result: for large values.
quiet(Calls) -> call(Calls), ok.

many(Processes, N) ->
    Ps = [spawn_monitor(fun() -> entries(lists:seq(1, N)), exit({label, label()}) end) || _ <- lists:seq(1, Processes)],
    [receive {'DOWN', R, _, _, Why} -> Why end || {_, R} <- Ps].

label() -> seq_trace:get_token(label).

%% A message with the token of the entry goes to another process, which calls the tier.
hop(X) ->
    Self = self(),
    P = spawn(fun() -> receive {go, Y} -> Self ! {done, ?MODULE:tier(Y)} end end),
    R = ?MODULE:entry(X),
    P ! {go, X},
    receive {done, _} -> R end.

forever(Processes, Pause) -> forever(Processes, Pause, lists:seq(1, 20)).

%% Each calls the entry with these, pauses, and starts again.
forever(Processes, Pause, Xs) -> [spawn(?MODULE, endless, [Pause, Xs]) || _ <- lists:seq(1, Processes)].

endless(Pause, Xs) ->
    [?MODULE:entry(X) || X <- Xs],
    receive after Pause -> endless(Pause, Xs) end.

%% The same, with the number of entries so far: made/0.
counting(Processes, Pause) ->
    persistent_term:put(agent_load_made, counters:new(1, [])),
    [spawn(?MODULE, counting_on, [Pause, persistent_term:get(agent_load_made)]) || _ <- lists:seq(1, Processes)].

counting_on(Pause, Made) ->
    [begin ?MODULE:entry(X), counters:add(Made, 1, 1) end || X <- lists:seq(1, 20)],
    receive after Pause -> counting_on(Pause, Made) end.

%% The node has as many processes as it may have, until the returned process gets `stop`. To gets `full`, then `ended`.
fill(To) -> fill(To, 0).

%% There is room for this many.
fill(To, Room) -> spawn(?MODULE, filling, [To, Room]).

filling(To, Room) ->
    Ps = with_room(Room, filled([])),
    To ! full,
    full(Room, Ps),
    To ! ended.

full(Room, Ps) ->
    receive stop -> [exit(P, kill) || P <- Ps]
    after 1 -> full(Room, with_room(Room, filled(Ps)))
    end.

with_room(0, Ps) -> Ps;
with_room(Room, [P | Ps]) ->
    Ref = monitor(process, P),
    exit(P, kill),
    receive {'DOWN', Ref, _, _, _} -> with_room(Room - 1, Ps) end.

%% Starts the agent while the node has room for one process. -> its result | system_limit, if there was none for that one
start_alone(Options) ->
    {_, Ref} = spawn_monitor(fun() ->
        Ps = with_room(1, filled([])),
        Result = try kprof_agent_00:controller_start(Options) catch error:system_limit -> system_limit end,
        [exit(P, kill) || P <- Ps],
        exit({result, Result})
    end),
    receive {'DOWN', Ref, _, _, {result, Result}} -> Result end.

%% Suspends the next process that it finds whose initial call is of this module and begins with this prefix. let_go/1 resumes it.
%% To
%% gets {held, Holder, P}.
catch_one(To, Module, Prefix) -> spawn(?MODULE, catching, [Module, Prefix, To]).

catching(Module, Prefix, Asker) ->
    case [P || P <- processes(), {_, {M, F, _}} <- [process_info(P, initial_call)], M =:= Module, lists:prefix(Prefix, atom_to_list(F)), suspended(P)] of
        [P | _] -> Asker ! {held, self(), P}, let_go_when_asked(P);
        [] -> catching(Module, Prefix, Asker)
    end.

suspended(P) ->
    try erlang:suspend_process(P)
    catch error:badarg -> false
    end.

filled(Ps) ->
    try spawn(timer, sleep, [infinity]) of
        P -> filled([P | Ps])
    catch
        error:system_limit -> Ps
    end.

%% A process that makes a request until it has a token, then waits.
idle_holder() -> spawn(?MODULE, idle_holding, []).

idle_holding() ->
    ?MODULE:entry(held),
    case seq_trace:get_token(label) of
        [] -> receive after 5 -> idle_holding() end;
        _ -> receive never -> ok end
    end.

%% A process that makes a request until it has a token, then computes and keeps it. After busy_holder_ends/0 it still computes
%% for so many ms before it sends a message.
busy_holder(Ms) ->
    Go = counters:new(1, []),
    persistent_term:put(agent_load_ends, Go),
    spawn(?MODULE, busy_holding, [Go, Ms]).

busy_holder_ends() -> counters:add(persistent_term:get(agent_load_ends), 1, 1).

busy_holding(Go, Ms) ->
    ?MODULE:entry(held),
    case seq_trace:get_token(label) of
        [] -> receive after 5 -> busy_holding(Go, Ms) end;
        _ ->
            computing(fun() -> counters:get(Go, 1) > 0 end),
            End = now_ms() + Ms,
            computing(fun() -> now_ms() > End end),
            self() ! sent,
            receive never -> ok end
    end.

computing(Until) -> Until() orelse computing(Until).

%% A process that has the token of a request when it sends itself a message every so many ms.
beating(Ms) -> spawn(?MODULE, beating_on, [Ms]).

beating_on(Ms) ->
    seq_trace:get_token(label) =:= [] andalso ?MODULE:entry(beat),
    self() ! beat,
    receive beat -> ok end,
    receive after Ms -> beating_on(Ms) end.

%% Another tracer: it traces the messages that a process sends, which has a token of its own.
sends_traced() -> spawn(?MODULE, tracing_sends, []).

%% -> {messages that were sent, messages that were traced, the label of the token}
sends_traced_end(Tracer) ->
    Ref = monitor(process, Tracer),
    Tracer ! {finish, self()},
    receive
        {Tracer, Result} -> Result;
        {'DOWN', Ref, _, _, Why} -> {died, Why}
    end.

tracing_sends() ->
    P = spawn_link(?MODULE, ticking, [self()]),
    1 = erlang:trace(P, true, [send]),
    tracing_sends(P, 0, 0).

tracing_sends(P, Sent, Traced) ->
    receive
        tick -> tracing_sends(P, Sent + 1, Traced);
        {trace, P, send, tick, _} -> tracing_sends(P, Sent, Traced + 1);
        {finish, From} ->
            true = erlang:suspend_process(P),
            Ref = erlang:trace_delivered(P),
            receive {trace_delivered, P, Ref} -> ok end,
            {_, Token} = process_info(P, sequential_trace_token),
            unlink(P),
            exit(P, kill),
            Label = case Token of [] -> none; _ -> element(2, Token) end,
            {More, Told} = ticks(0, 0),
            From ! {self(), {Sent + More, Traced + Told, Label}}
    end.

ticks(Sent, Traced) ->
    receive
        tick -> ticks(Sent + 1, Traced);
        {trace, _, send, tick, _} -> ticks(Sent, Traced + 1)
    after 0 -> {Sent, Traced}
    end.

ticking(To) ->
    seq_trace:set_token(label, of_another),
    ticking_on(To).

ticking_on(To) -> receive after 5 -> To ! tick, ticking_on(To) end.

%% A process that keeps the token of one request, and calls the tier with it.
stale(Pause) -> spawn(?MODULE, stale_on, [Pause]).

stale_on(Pause) ->
    ?MODULE:entry(stale),
    receive after Pause -> ok end,
    case seq_trace:get_token(label) of
        [] -> stale_on(Pause);
        _ -> with_token(Pause)
    end.

with_token(Pause) ->
    ?MODULE:tier(stale),
    receive after Pause -> with_token(Pause) end.

made() -> counters:get(persistent_term:get(agent_load_made), 1).

%% One process per call, as in servers with one process per request.
spawning() -> spawn(fun() -> spawning_on() end).

spawning_on() ->
    spawn(fun() -> receive after 1 -> ?MODULE:entry(new) end end),
    receive after 1 -> spawning_on() end.

%% Calls outside of requests.
outside(Processes) -> [spawn(?MODULE, outside_on, []) || _ <- lists:seq(1, Processes)].

outside_on() ->
    [?MODULE:leaf(X) || X <- lists:seq(1, 1000)],
    outside_on().

%% Counts the messages {Tag, ...} that a process receives in this time; it may take longer. -> {Messages, Milliseconds}
received(P, Tag, Ms) ->
    Began = now_ms(),
    1 = erlang:trace(P, true, ['receive']),
    receive after Ms -> ok end,
    erlang:trace(P, false, ['receive']),
    Took = now_ms() - Began,
    {counted(Tag), Took}.

counted(Tag) ->
    receive
        {trace, _, 'receive', M} when element(1, M) =:= Tag -> 1 + counted(Tag);
        {trace, _, 'receive', _} -> counted(Tag)
    after 0 -> 0
    end.

%% The queries of a process about itself with process_info/2, and their results: [{asked, Item} | {answered, Answer}],
%% oldest first.
hears_questions(P) ->
    Hearer = spawn(?MODULE, questions, [[]]),
    1 = erlang:trace(P, true, [call, {tracer, Hearer}]),
    erlang:trace_pattern({erlang, process_info, 2}, [{[P, '_'], [], [{return_trace}]}], []),
    Hearer.

questions(Hearer) when is_pid(Hearer) ->
    erlang:trace_pattern({erlang, process_info, 2}, false, []),
    Hearer ! {self(), questions},
    receive {Hearer, Heard} -> Heard end;
questions(Heard) ->
    receive
        {trace, _, call, {_, _, [_, Item]}} -> questions([{asked, Item} | Heard]);
        {trace, _, return_from, _, Answer} -> questions([{answered, Answer} | Heard]);
        {From, questions} -> From ! {self(), lists:reverse(Heard)}
    end.

is_flagged(P) -> flagged(P).

%% Processes that are unloading an agent.
reapers() -> [P || P <- processes(), {_, {erl_eval, exprs, 2}} <- [process_info(P, initial_call)]].

kill([A, B], Ms) ->
    exit(A, kill),
    Ms > 0 andalso receive after Ms -> ok end,
    exit(B, kill).

%% What the node logs goes to the tester.
log(#{msg := Message}, #{config := Tester}) -> Tester ! {logged, Message}.

%% P is suspended until the holder is released. -> the holder
hold(P) ->
    Holder = spawn(?MODULE, holding, [P, self()]),
    receive {held, Holder} -> Holder end.

holding(P, Asker) ->
    true = erlang:suspend_process(P),
    Asker ! {held, self()},
    let_go_when_asked(P).

let_go_when_asked(P) ->
    receive
        {let_go, From} ->
            From ! {let_go, self(), now_ms()},
            catch erlang:resume_process(P)
    end.

%% -> the time (of this node's clock, ms)
let_go(Holder) ->
    Holder ! {let_go, self()},
    receive {let_go, Holder, At} -> At end.

%% Registers a name until it is killed.
claim(Name) ->
    Self = self(),
    P = spawn(fun() ->
        register(Name, self()),
        Self ! claimed,
        receive never -> ok end
    end),
    receive claimed -> P end.

%% Processes in a loop at low priority: they fill the run queue, but do not delay other processes.
spinning(N) -> [spawn_opt(?MODULE, spin, [], [{priority, low}]) || _ <- lists:seq(1, N)].
spin() -> spin().
%% Jobs for the dirty schedulers: each takes this time, and needs no CPU.
dirty(N, Ms) ->
    erts_debug:set_internal_state(available_internal_state, true),
    Jobs = [spawn(erts_debug, dirty_cpu, [wait, Ms]) || _ <- lists:seq(1, N)],
    erts_debug:set_internal_state(available_internal_state, false),
    Jobs.

stop_spinning(Ps) -> [exit(P, kill) || P <- Ps].

now_ms() -> erlang:monotonic_time(millisecond).

%% A trace session of another tracer. -> the process that has it
session() ->
    spawn(fun() ->
        Session = apply(trace, session_create, [another, self(), []]),
        receive {stop, From} -> From ! {self(), apply(trace, session_destroy, [Session])} end
    end).

end_session(Owner) ->
    Owner ! {stop, self()},
    receive {Owner, Ended} -> Ended end.

%% What is set on this node, in every trace session.
set_now(MFAs) ->
    #{
        flags => lists:usort([F || S <- traces(), P <- [new_processes | processes()], F <- flags(S, P)]),
        patterns => [MFA || MFA <- MFAs, is_traced(MFA)]
    }.

%% What is set in the sessions of captures that have ended.
set_in_captures(MFAs) ->
    Of = [S || S <- sessions(), lists:prefix("kprof_capture", atom_to_list(element(1, S)))],
    [Flags || S <- Of, P <- [new_processes | processes()], Flags <- [flags(S, P)], Flags =/= []] ++
        [MFA || S <- Of, MFA <- MFAs, {traced, Set} <- [told(S, MFA, traced)], Set =/= false].

%% The same as set_now/1, of one process.
set_of(P) -> #{flags => lists:usort([F || S <- traces(), F <- flags(S, P)])}.

traces() -> [none | sessions()].

told(none, What, Item) -> erlang:trace_info(What, Item);
told(S, What, Item) -> catch apply(trace, info, [S, What, Item]). % it may have ended

%% If a session is asked about a dead process, the VM never frees the session
%% (erl_bif_trace.c, trace_info_pid, up to OTP 29.1). So only processes that a session traces are asked.
flags(S, P) ->
    case (S =:= none orelse not is_pid(P) orelse traces_it(S, P)) andalso told(S, P, flags) of
        {flags, Flags} when is_list(Flags) -> Flags;
        _ -> []
    end.

traces_it(S, P) ->
    case apply(trace, session_info, [P]) of
        Of when is_list(Of) -> lists:member(S, Of);
        _ -> false
    end.

%% Has the function, in any session, the match spec that clears tokens?
is_clearing(MFA) -> [x || S <- traces(), {match_spec, [{'_', _, [{set_seq_token, sequential_trace_token, []} | _]} | _]} <- [told(S, MFA, match_spec)]] =/= [].

is_traced(MFA) -> [x || S <- traces(), {traced, T} <- [told(S, MFA, traced)], T =:= local orelse T =:= global] =/= [].

%% Sets another pattern as soon as the function gets one. -> as erlang:trace_pattern/3
replace_when_traced(MFA, Spec) ->
    at(fun() -> not is_traced(MFA) end),
    now_traced(MFA),
    erlang:trace_pattern(MFA, Spec, [local]).

%% The same as soon as the agent has removed its pattern: long before it looks whether the function is free.
set_when_free(MFA, Spec) ->
    at(fun() -> is_traced(MFA) end),
    at(fun() -> not is_traced(MFA) end),
    erlang:trace_pattern(MFA, Spec, [local]).

now_traced(MFA) -> is_traced(MFA) orelse (erlang:yield() andalso now_traced(MFA)).

%% Whether it has a call counter.
is_counted(MFA) -> [x || S <- traces(), {call_count, N} <- [told(S, MFA, call_count)], is_integer(N)] =/= [].

%% Waits until none of these functions has a pattern. -> the time (of this node's clock, ms)
off_at(MFAs) -> at(fun() -> not lists:any(fun is_traced/1, MFAs) end).

at(Look) ->
    case Look() of
        true -> now_ms();
        false -> receive after 5 -> at(Look) end
    end.

%% Reloads a module, and waits until its function is traced. -> the time after loading (native)
loaded({M, _, _} = MFA, Beam) ->
    code:purge(M),
    {module, M} = code:load_binary(M, "", Beam),
    Began = erlang:monotonic_time(),
    at(fun() -> is_traced(MFA) end),
    Began.

%% Cleans up after a failed test. What a tester started here has its group leader, which rpc gives to all.
clean() ->
    catch dbg:stop(),
    [exit(P, kill) || P <- processes(), P =/= self(), {_, Leader} <- [process_info(P, group_leader)], node(Leader) =/= node()],
    erlang:trace(all, false, [all]),
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    erlang:trace_pattern({'_', '_', '_'}, false, [meta]),
    [erlang:trace_pattern({'_', '_', '_'}, false, [Kind]) || Kind <- kinds()],
    erlang:system_flag(trace_control_word, 0),
    ok.

%% Another tracer, used as by an operator.
dbg_on() ->
    Self = self(),
    {ok, _} = dbg:tracer(process, {fun(M, N) -> Self ! {dbg, M}, N + 1 end, 0}),
    P = spawn(fun() -> receive stop -> ok end end),
    register(agent_load_traced, P),
    {ok, _} = dbg:p(P, [c, m]),
    {ok, _} = dbg:tpl(?MODULE, none, 0, [{'_', [], [{return_trace}]}]),
    ok.

dbg_state() ->
    P = whereis(agent_load_traced),
    {erlang:trace_info(P, flags), erlang:trace_info(P, tracer), erlang:trace_info({?MODULE, none, 0}, all), erlang:trace_info(new_processes, all)}.

dbg_off() ->
    agent_load_traced ! stop,
    dbg:stop(),
    ok.

%% A process that is suspended until the returned one ends.
suspend(Name) ->
    Caller = self(),
    P = spawn(fun() ->
        true = erlang:suspend_process(whereis(Name)),
        Caller ! {self(), suspended},
        receive after infinity -> ok end
    end),
    receive {P, suspended} -> P end.

%% Whether messages wait for a process.
waits(Name) -> process_info(whereis(Name), message_queue_len) =/= {message_queue_len, 0}.

%% What is left of the agent, according to the VM: processes, modules, patterns, counters, flags, tokens.
left(MFAs, Modules) ->
    #{
        processes => [N || N <- [kprof_controller_00, kprof_relay_00, kprof_guardian_00], whereis(N) =/= undefined] ++ [P || P <- processes(), ours(P, Modules)],
        modules => [M || M <- Modules, erlang:module_loaded(M)],
        patterns => [MFA || MFA <- MFAs, erlang:trace_info(MFA, traced) =/= {traced, false}],
        counters => [{MFA, Kind} || MFA <- MFAs, Kind <- kinds(), erlang:trace_info(MFA, Kind) =/= {Kind, false}],
        flags => [P || P <- processes(), flagged(P)],
        new => [x || erlang:trace_info(new_processes, flags) =/= {flags, []}],
        sessions => length(sessions()),
        tokens => tokens_left(),
        tcw => erlang:system_info(trace_control_word)
    }.

%% The kinds of counters of a function: call_memory exists since OTP 26.
kinds() -> [call_count, call_time | [call_memory || list_to_integer(erlang:system_info(otp_release)) >= 26]].

ours(P, Modules) ->
    case process_info(P, [initial_call, current_function]) of
        [{_, {A, _, _}}, {_, {B, _, _}}] -> lists:member(A, Modules) orelse lists:member(B, Modules);
        _ -> false
    end.

flagged(P) ->
    case erlang:trace_info(P, flags) of
        {flags, [_ | _]} -> true;
        _ -> false
    end.

sessions() ->
    case erlang:function_exported(trace, session_info, 1) of
        true -> [S || {N, _} = S <- apply(trace, session_info, [all]), N =/= legacy];
        false -> []
    end.

%% Only the worker processes can be queried: each gets a message and checks itself.
tokens_left() ->
    length([P || P <- processes(), {dictionary, D} <- [process_info(P, dictionary)], {agent_load_probe, X} <- D, X =/= []]).

%% Starts More processes and reads all pids with kprof_pids: the first three lists, the same lists again, then the rest. Also
%% returns the result of processes(). A separate process does this; kprof_pids ends with it.
all_pids(More) ->
    Ps = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, More)],
    All = processes(),
    {_, Ref} = spawn_monitor(fun() ->
        {Source, _} = kprof_pids:start(),
        kprof_pids:mark(Source),
        First = [element(1, kprof_pids:next(Source)) || _ <- lists:seq(1, 3)],
        kprof_pids:back(Source),
        Again = [element(1, kprof_pids:next(Source)) || _ <- lists:seq(1, 3)],
        exit({given, {First, Again, rest_of(Source), All}})
    end),
    receive {'DOWN', Ref, _, _, {given, Given}} -> [P ! stop || P <- Ps], Given end.

rest_of(Source) ->
    case kprof_pids:next(Source) of
        {[], _} -> {[], _} = kprof_pids:next(Source), [];
        {Pids, _} -> [Pids | rest_of(Source)]
    end.

pids_left() -> [P || P <- processes(), {_, {kprof_pids, _, _}} <- [process_info(P, initial_call)]].

%% The processes that are chosen to be sampled, by a separately loaded source of the agent.
chosen(Who, Vm) ->
    Chooser = kprof_stack_choice:start(Who, #{}, Vm),
    receive {chosen, Chooser, Chosen, Figures, _, _} -> {Chosen, Figures} end.

%% The number of the agent's processes that poll others, because requests hang in them.
polling() -> length([P || P <- processes(), {_, {kprof_agent_00, hang_polled, _}} <- [process_info(P, current_function)]]).

%% The agent's processes that sample stacks.
samplers() -> samplers("stack_").

%% Processes whose initial call begins with this prefix.
samplers(Prefix) ->
    [P || P <- processes(), {_, {kprof_tools_00, F, _}} <- [process_info(P, initial_call)], lists:prefix(Prefix, atom_to_list(F))].

%% The first round of the process table, made by separately loaded sources of the agent.
processes_round(Vm, By) ->
    Wanted = #{by => By, rows => 200, within => all},
    Round = kprof_process_round:start(#{known => kprof_process_round:known(), number => 1, before_us => 0, wanted => Wanted, without => #{}, vm => Vm}),
    receive {round, Round, _, Told, _} -> Told end.

%% A process that makes one request after the other, until it is killed.
steady() -> spawn(fun Loop() -> ?MODULE:entry(1), receive after 3 -> Loop() end end).

%% A process that starts one for each request, which lives for some 20 ms.
brief() -> spawn(fun Loop() -> spawn(?MODULE, one, []), receive after 5 -> Loop() end end).
one() ->
    ?MODULE:entry(1),
    receive after 20 -> ok end.

%% Starts N processes that end at once; returns when all have ended.
spawned(N) -> [receive {'DOWN', R, _, _, _} -> ok end || {_, R} <- [spawn_monitor(erlang, self, []) || _ <- lists:seq(1, N)]], ok.

%% Queues of 1,001 messages, one after the other, until it is killed: thousands of events of the VM in a second.
queues() -> spawn(?MODULE, fill, []).
fill() ->
    P = spawn(timer, sleep, [infinity]),
    [P ! I || I <- lists:seq(1, 1001)],
    exit(P, kill),
    fill().

%% Cuts of the sampling -> how many were undone within 50 us.
cuts(N) -> length([undone || I <- lists:seq(1, N), kprof_spec:cut(1 + I rem 8), is_undone(2 + I rem 8, 50000 + erlang:monotonic_time(nanosecond))]).

%% Walks that clear flags, stopped while they do -> processes of them that ran afterwards.
stopped_walks(N) ->
    Idle = [spawn(timer, sleep, [infinity]) || _ <- lists:seq(1, 2000)],
    Ran = [P || _ <- lists:seq(1, N), P <- stopped_walk()],
    [exit(I, kill) || I <- Idle],
    Ran.

stopped_walk() ->
    W = kprof_flags:start_off({none, self()}, false, #{}),
    kprof_flags:go(W),
    Helpers = helpers(W),
    ok = kprof_flags:stop(W),
    [P || P <- processes(), lists:member(P, [W | Helpers])].

%% They may have ended before.
helpers(W) ->
    case process_info(W, links) of
        {links, Links} when length(Links) < 2 -> helpers(W);
        {links, Links} -> Links -- [self()];
        undefined -> []
    end.

%% The priorities of a process of high priority in a walk that takes more than 0.5 s, and after it.
long_walk() ->
    {P, Ref} = spawn_opt(fun() ->
        Seen = kprof_flags:fold(fun(_, none) -> spin_until(now_ms() + 600), []; (_, Before) -> lists:usort([priority() | Before]) end, none),
        exit({Seen, priority()})
    end, [monitor, {priority, high}]),
    receive {'DOWN', Ref, _, P, Result} -> Result end.

%% The priority of a process with this one, in work in slices that takes more than 0.5 s.
long_work(Priority) ->
    {P, Ref} = spawn_opt(fun() ->
        Now = erlang:monotonic_time(microsecond),
        kprof_flags:rest({Now - 600000, Now - 1000}),
        exit({priority, priority()})
    end, [monitor, {priority, Priority}]),
    receive {'DOWN', Ref, _, P, {priority, Is}} -> Is end.

priority() -> element(2, process_info(self(), priority)).
spin_until(Ms) -> now_ms() < Ms andalso spin_until(Ms).

%% The schedulers on which the processes of P run that load a module, within 10 s.
loading(P) ->
    1 = erlang:trace(P, true, [running, scheduler_id, set_on_spawn]),
    On = loaded_on(now_ms() + 10000),
    erlang:trace(P, false, [running, scheduler_id, set_on_spawn]),
    On.

loaded_on(Until) ->
    receive
        {trace, _, in, {code, do_par, 2}, On} -> [On | loaded_on(now_ms() + 300)];
        {trace, _, _, _, _} -> loaded_on(Until)
    after max(0, Until - now_ms()) -> []
    end.

%% A process with so many messages in its queue, which is on its heap.
with_queue(N) ->
    P = spawn_opt(timer, sleep, [infinity], [{message_queue_data, on_heap}]),
    [P ! I || I <- lists:seq(1, N)],
    P.

%% What process_info is asked about P when this is called, in all processes that it starts.
asked_of(P, M, F, Args) ->
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> apply(M, F, Args) end end),
    1 = erlang:trace_pattern({erlang, process_info, 2}, true, [local]),
    1 = erlang:trace(Pid, true, [call, set_on_spawn]),
    Pid ! go,
    receive {'DOWN', Ref, _, _, normal} -> ok end,
    All = erlang:trace_delivered(all),
    receive {trace_delivered, all, All} -> ok end,
    erlang:trace_pattern({erlang, process_info, 2}, false, [local]),
    lists:usort(asked_of(P)).

asked_of(P) ->
    receive
        {trace, _, call, {erlang, process_info, [P, What]}} when is_list(What) -> What ++ asked_of(P);
        {trace, _, call, {erlang, process_info, [P, What]}} -> [What | asked_of(P)];
        {trace, _, call, _} -> asked_of(P)
    after 0 -> []
    end.

%% The most words that a garbage collection left on the heap of a process that asks N processes, and the others.
walked_heap(N) ->
    Idle = [spawn(timer, sleep, [infinity]) || _ <- lists:seq(1, N)],
    {P, Ref} = spawn_monitor(fun() -> receive go -> kprof_flags:fold(fun(X, _) -> process_info(X, [reductions, status, priority]) end, none) end end),
    1 = erlang:trace(P, true, [garbage_collection]),
    P ! go,
    receive {'DOWN', Ref, _, _, normal} -> ok end,
    D = erlang:trace_delivered(P),
    receive {trace_delivered, P, D} -> ok end,
    [exit(I, kill) || I <- Idle],
    most_left(P, 0).

most_left(P, Most) ->
    receive
        {trace, P, End, Info} when End =:= gc_minor_end; End =:= gc_major_end ->
            most_left(P, max(Most, proplists:get_value(heap_size, Info) + proplists:get_value(old_heap_size, Info)));
        {trace, P, _, _} -> most_left(P, Most)
    after 0 -> Most
    end.

%% A capture of a function that is not called flags N processes, and the others; New: and new ones. -> {the most words of its old heap
%% meanwhile, how many of the N have a flag then, how many after it, all flags that are set after it}
capturing_heap(N, Isolated, New) ->
    Idle = [spawn(timer, sleep, [infinity]) || _ <- lists:seq(1, N)],
    Counters = atomics:new(2, []),
    MFA = {agent_load, none, 0},
    {P, R} = kprof_capturer:start(#{controller => self(), mfa => MFA, isolated => Isolated, new => New, counters => Counters, walker => none}),
    Most = most_old(P, 0, now_ms() + 2000),
    Flagged = with_flags(Idle),
    Session = kprof_capture:stop({P, R, if Isolated -> none; true -> MFA end, Counters}),
    #{flags := Flags} = set_now([]),
    Left = with_flags(Idle),
    kprof_spec:end_session(Session),
    [exit(I, kill) || I <- Idle],
    {Most, Flagged, Left, Flags}.

with_flags(Pids) -> length([P || P <- Pids, #{flags := [_ | _]} <- [set_of(P)]]).

most_old(P, Most, End) ->
    {_, Info} = process_info(P, garbage_collection_info),
    Now = max(Most, proplists:get_value(old_heap_size, Info)),
    receive after 5 -> ok end,
    case now_ms() > End of
        true -> Now;
        false -> most_old(P, Now, End)
    end.

pacer() ->
    {links, Links} = process_info(whereis(kprof_relay_00), links),
    [Pacer] = [P || P <- Links, is_pid(P), process_info(P, priority) =:= {priority, high}],
    Pacer.

%% How often the relay is resumed in this time.
turns(Ms) ->
    P = pacer(),
    1 = erlang:trace(P, true, [send]),
    receive after Ms -> ok end,
    erlang:trace(P, false, [send]),
    turns_of(P, 0).

turns_of(P, N) ->
    receive
        {trace, P, send, tick, _} -> turns_of(P, N + 1);
        {trace, P, _, _, _} -> turns_of(P, N)
    after 0 -> N
    end.

%% Like a call that was interrupted while it took a ticket.
restore_cut(Bits) ->
    case erlang:system_info(trace_control_word) band (1 bsl 27 - 1) of
        0 -> restore_cut(Bits);
        Ticket -> erlang:system_flag(trace_control_word, Bits bsl 27 bor Ticket)
    end.

cut_bits() -> erlang:system_info(trace_control_word) bsr 27.

is_undone(Bits, End) ->
    cut_bits() =/= Bits orelse (erlang:monotonic_time(nanosecond) < End andalso is_undone(Bits, End)).

%% Blocks one of the schedulers, each in turn, for so many ms, like a long native function, then sends `ends`.
blocks(Ms, To) ->
    Turn = (persistent_term:get(agent_load_turn, 0) + 1) rem erlang:system_info(schedulers_online),
    persistent_term:put(agent_load_turn, Turn),
    spawn_opt(?MODULE, block, [Ms, To], [{scheduler, 1 + Turn}]).

block(Ms, To) ->
    erts_debug:set_internal_state(available_internal_state, true),
    erts_debug:set_internal_state(sleep, Ms),
    To ! ends.

%% A process that blocks the last scheduler, like a long native function, until its waker is killed; then it sends `ends`.
%% -> {it, its waker}, when it is blocked. What is in the queue of a blocked scheduler waits (a request of another node, too) until
%% another scheduler looks for work. A scheduler that sleeps does not look, so the waker wakes the first one all the time: this one
%% takes from all queues, while the VM may exclude others that had little work.
blocked(To) ->
    Waker = spawn_opt(?MODULE, waking, [], [{scheduler, 1}]),
    true = register(agent_load_waker, Waker),
    P = spawn_opt(?MODULE, blocking, [self(), To], [{scheduler, erlang:system_info(schedulers_online)}]),
    receive {blocked, P} -> {P, Waker} end.

waking() -> receive after 1 -> waking() end.

%% It answers nothing between the native functions either: it is not scheduled out for more than a thousand of them (4000
%% reductions), which is longer than a test may take.
blocking(Caller, To) ->
    erts_debug:set_internal_state(available_internal_state, true),
    Caller ! {blocked, self()},
    sleeping(),
    To ! ends.

sleeping() ->
    erts_debug:set_internal_state(sleep, 500),
    whereis(agent_load_waker) =:= undefined orelse sleeping().

%% Begins a capture in the common trace, and cancels it. Held: its process is suspended then. -> how long that takes (ms)
canceled(MFA, Walker, Held) ->
    Counters = atomics:new(3, []),
    {P, R} = kprof_capturer:start(#{controller => self(), mfa => MFA, isolated => false, new => true, counters => Counters, walker => Walker}),
    receive after 100 -> ok end,
    Walker =:= none andalso (true = is_traced(MFA)),
    Held andalso hold(P),
    Began = now_ms(),
    kprof_capture:stop({P, R, MFA, Counters}),
    now_ms() - Began.

%% A process that traces so many others, until it ends.
traces_others(N) ->
    Self = self(),
    P = spawn(fun() ->
        [1 = erlang:trace(spawn_link(timer, sleep, [infinity]), true, [call]) || _ <- lists:seq(1, N)],
        Self ! {traces, self()},
        receive stop -> ok end
    end),
    receive {traces, P} -> P end.
