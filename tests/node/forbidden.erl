%% Records the VM functions that the agent calls: the test sets meta trace patterns on the functions that trace and
%% that query processes. These patterns need no process flags, match calls of BIFs, and do not disturb other tracers
%% or sessions. `told/0` lists calls that the table of hazards forbids.
%% A call is of the agent if its caller is in a module kprof_*, or if its process started after start/0: the workload
%% calls none of these functions.
-module(forbidden).
-export([start/1, phase/1, calls/0, told/0, seen/0]).
-export([collect/1, sit/0]).

-define(SITTERS, 1500). % more than the documented limits of any phase
-define(AGAIN_MS, 100).
-define(HANDFUL, 25). % number of idle processes, which take no part in requests

%% These are read under the lock of the process, without a signal to it (unless it is running).
-define(CHEAP, [sequential_trace_token, status, reductions, heap_size, registered_name, initial_call]).

%% What PROTOCOL.md documents ("Stacks", "Processes"): from how many sitters an item may be read in this phase, after so
%% many ms. `{again, Item}`: more than once. Values without a signal may be read from all; stacks from the 100 that are
%% chosen in each period of 5 s; the present function from the 200 rows of each round of 2 s (the second: after 0.5 s),
%% and heaps again only if these processes have run, for example to answer that.
documented(<<"stacks">>, {process_info, Item}, Ms) ->
    limit(Item, [current_stacktrace, garbage_collection, dictionary], 100 * (1 + Ms div 5000));
documented(<<"processes">>, {again, {process_info, Item}}, Ms) when Item =/= message_queue_len -> 200 * (2 + Ms div 2000);
documented(<<"processes">>, {process_info, garbage_collection}, _) -> infinity;
documented(<<"processes">>, {process_info, Item}, Ms) ->
    limit(Item, [current_function, current_stacktrace, dictionary], 200 * (2 + Ms div 2000));
documented(<<"capture">>, {process_info, Item}, _) -> limit(Item, [], 0); % which processes have large heaps
documented(<<"reset, end">>, {process_info, Item}, _) -> limit(Item, [], 0); % before the reset of tokens: how long it would take
documented(_, {again, _}, _) -> infinity;
documented(_, _, _) -> ?HANDFUL.

limit(Item, Signaled, N) ->
    case lists:member(Item, [group_leader, message_queue_len, message_queue_data, garbage_collection_info]) of
        true -> infinity;
        false -> case lists:member(Item, Signaled) of true -> N; false -> ?HANDFUL end
    end.

start(Otp) ->
    Self = self(),
    Sitters = [spawn(?MODULE, sit, []) || _ <- lists:seq(1, ?SITTERS)],
    P = spawn(fun() ->
        register(?MODULE, self()),
        set(watched()),
        is_blinded(Otp) andalso erlang:send_after(?AGAIN_MS, self(), again),
        Self ! {started, self()},
        collect(#{otp => Otp, phase => start, since => now_ms(), before => maps:from_keys([self() | processes()], yes), sitters => maps:from_keys(Sitters, yes),
                  agent => #{}, calls => 0, seen => #{}, found => #{}, asked => #{}})
    end),
    receive {started, P} -> ?SITTERS end.

sit() -> receive stop -> ok end.

%% Before a phase begins, all calls of the previous one are recorded.
phase(Name) -> ask({phase, Name}).

%% The numbers of flag changes and of queries of processes so far.
calls() -> ask(calls).

%% [{Phase, What, By, Times}]
told() -> ask(told).

%% #{flags | pattern => Times}: shows that this test detects such calls.
seen() -> ask(seen).

ask(What) ->
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    ?MODULE ! {self(), What},
    receive {?MODULE, Answer} -> Answer end.

set(MFAs) ->
    Spec = [{'_', [], [{message, {caller}}]}],
    [erlang:trace_pattern(MFA, Spec, [{meta, self()}]) || MFA <- MFAs].

%% From OTP 27.0 to 28.2, the end of a session removes the patterns of BIFs in all sessions, without a sign of it in
%% the VM (OTP-19840).
is_blinded(Otp) -> Otp =:= 27 orelse Otp =:= 28.

watched() ->
    _ = [{module, _} = code:ensure_loaded(M) || M <- [seq_trace | [trace || code:which(trace) =/= non_existing]]],
    [
        {seq_trace, reset_trace, 0}, {erlang, system_flag, 2},
        {erlang, trace, 3}, {erts_internal, trace, 3}, {erts_internal, trace, 4}, {trace, process, 4}, {trace, port, 4},
        {erlang, trace_pattern, 2}, {erlang, trace_pattern, 3}, {erts_internal, trace_pattern, 3}, {erts_internal, trace_pattern, 4}, {trace, function, 4},
        {erlang, trace_info, 2}, {erts_internal, trace_info, 3}, {trace, info, 3},
        {erlang, process_info, 1}, {erlang, process_info, 2}, {erlang, is_process_alive, 1},
        {erlang, garbage_collect, 1}, {erlang, garbage_collect, 2}
    ].

collect(S) ->
    receive
        {trace_ts, By, call, {M, F, Args}, Caller, _} -> ?MODULE:collect(call(By, {M, F}, Args, Caller, S));
        {trace, By, call, {M, F, Args}, Caller} -> ?MODULE:collect(call(By, {M, F}, Args, Caller, S));
        again ->
            set([MFA || {M, F, A} = MFA <- watched(), erlang:is_builtin(M, F, A)]),
            erlang:send_after(?AGAIN_MS, self(), again),
            ?MODULE:collect(S);
        {From, {phase, Name}} -> From ! {?MODULE, ok}, ?MODULE:collect(S#{phase := Name, since := now_ms(), asked := #{}});
        {From, calls} -> From ! {?MODULE, maps:get(calls, S)}, ?MODULE:collect(S);
        {From, seen} -> From ! {?MODULE, maps:get(seen, S)}, ?MODULE:collect(S);
        {From, told} ->
            From ! {?MODULE, lists:sort([{Phase, What, By, N} || {{Phase, What, By}, N} <- maps:to_list(maps:get(found, S))])},
            ?MODULE:collect(S)
    end.

%% Modules of the VM call each other; only the outermost call counts.
call(_, _, _, {M, _, _}, S) when M =:= erlang; M =:= trace; M =:= erts_internal; M =:= seq_trace -> S;
call(By, MF, Args, Caller, #{before := Before, agent := Agent} = S) ->
    Kprof = is_kprof(Caller),
    case Kprof orelse not is_map_key(By, Before) of
        true -> ours(MF, Args, by(Caller, By), By, if Kprof -> S#{agent := Agent#{By => yes}}; true -> S end);
        false -> S
    end.

is_kprof({M, _, _}) -> lists:prefix("kprof_", atom_to_list(M));
is_kprof(_) -> false.

%% The caller, without the slot.
by({M, F, A}, _) -> iolist_to_binary(io_lib:format("~ts:~ts/~b", [M, F, A]));
by(_, By) -> case process_info(By, registered_name) of {_, Name} -> atom_to_binary(Name); _ -> <<"a process of the agent">> end.

ours({seq_trace, reset_trace}, [], Who, _, S) -> reset(Who, S);
ours({erlang, system_flag}, [reset_seq_trace, _], Who, _, S) -> reset(Who, S);
ours({_, F}, Args, Who, _, S) when F =:= trace; F =:= process; F =:= port -> flags(flagged(Args), Who, counted(flags, S));
ours({_, F}, Args, Who, _, S) when F =:= trace_pattern; F =:= function -> pattern(tail(Args), Who, seen(pattern, S));
ours({_, F}, Args, Who, _, S) when F =:= trace_info; F =:= info -> asked(lists:nth(length(Args) - 1, Args), [{trace_info, lists:last(Args)}], Who, S);
ours({_, process_info}, [P], Who, By, S) when P =/= By -> asked(P, [{process_info, everything}], Who, S);
ours({_, process_info}, [P, I], Who, By, S) when P =/= By -> asked(P, [{process_info, X} || X <- items(I), not lists:member(X, ?CHEAP)], Who, S);
ours({_, F}, [P | _], Who, By, S) when P =/= By, F =:= is_process_alive; P =/= By, F =:= garbage_collect -> many(P, {F, 1}, Who, S);
ours(_, _, _, _, S) -> S.

items(L) when is_list(L) -> [item(I) || I <- L];
items(I) -> [item(I)].

item({dictionary, _}) -> dictionary; % OTP 26: one key
item(I) -> I.

%% With a session as first argument, or without.
flagged([_, What, _, Flags]) -> {What, Flags};
flagged([What, _, Flags]) -> {What, Flags}.

tail(Args) when length(Args) =:= 4 -> tl(Args);
tail(Args) -> Args.

counted(Kind, #{calls := N} = S) -> seen(Kind, S#{calls := N + 1}).
seen(Kind, #{seen := Seen} = S) -> S#{seen := Seen#{Kind => 1 + maps:get(Kind, Seen, 0)}}.

%% Never below OTP 27; from OTP 27 on once, at the end.
reset(Who, #{otp := Otp, phase := Phase, found := Found} = S) ->
    Before = [x || {P, at_end, _} <- maps:keys(Found), P =:= Phase],
    case {Otp >= 27 andalso is_end(Phase), Before} of
        {true, []} -> S#{found := Found#{{Phase, at_end, Who} => 1}}; % allowed: remembered
        {true, _} -> found(<<"seq_trace:reset_trace/0 more than once">>, Who, S);
        _ -> found(<<"seq_trace:reset_trace/0">>, Who, S)
    end.

is_end(Phase) -> binary:match(Phase, <<"end">>) =/= nomatch.
is_off(Phase) -> binary:match(Phase, <<"off">>) =/= nomatch.

%% One process at a time, or new processes.
flags({What, _}, Who, #{phase := Phase} = S) when is_pid(What); What =:= new; What =:= new_processes ->
    case is_off(Phase) of
        true -> found(<<"flags of a process, while tracing is off">>, Who, S);
        false -> S
    end;
flags({What, _}, Who, S) -> found(iolist_to_binary(io_lib:format("flags of ~0tp at once", [What])), Who, S).

pattern([_, _, Kinds], Who, S) when not is_list(Kinds) -> pattern([none, none, [Kinds]], Who, S);
pattern([_, false, _], _, S) -> S;
pattern([_, _, Kinds], Who, S) ->
    lists:foldl(fun(K, Acc) -> found(iolist_to_binary(io_lib:format("~ts set", [K])), Who, Acc) end, S, [K || K <- Kinds, K =:= call_time orelse K =:= call_memory]);
pattern(_, _, S) -> S.

%% Queries that send a signal to the process.
asked(P, Items, Who, #{agent := Agent, phase := Phase} = S) when is_pid(P), Items =/= [], not is_map_key(P, Agent) ->
    S1 = counted(question, S),
    S2 = case is_off(Phase) of
        true -> found(text("~0tp of a process, while tracing is off", hd(Items)), Who, S1);
        false -> S1
    end,
    lists:foldl(fun(I, Acc) -> many(P, I, Who, Acc) end, S2, Items);
asked(_, _, _, S) -> S.

%% The idle processes represent all processes that take no part in traced requests.
many(P, Item, Who, #{sitters := Sitters, asked := Asked} = S) when is_map_key(P, Sitters) ->
    case maps:get({Item, Who}, Asked, #{}) of
        #{P := _} -> one(P, {again, Item}, Who, S);
        _ -> one(P, Item, Who, S)
    end;
many(_, _, _, S) -> S.

one(P, Item, Who, #{asked := Asked, phase := Phase, since := Since} = S) ->
    Of = (maps:get({Item, Who}, Asked, #{}))#{P => yes},
    S1 = S#{asked := Asked#{{Item, Who} => Of}},
    case map_size(Of) > documented(Phase, Item, now_ms() - Since) of
        true -> found(text("~0tp of all processes", Item), Who, S1);
        false -> S1
    end.

now_ms() -> erlang:monotonic_time(millisecond).

text(Format, Item) -> iolist_to_binary(io_lib:format(Format, [Item])).

found(What, Who, #{phase := Phase, found := Found} = S) ->
    Key = {Phase, What, Who},
    S#{found := Found#{Key => 1 + maps:get(Key, Found, 0)}}.
