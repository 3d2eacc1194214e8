%% The load of bench_relay.py, and the measurement: CPU time of this VM and of kprof-top, from /proc.
%% relay_load:main([KprofTop, Repetitions, Seconds]); started in a node with a name and a cookie.
-module(relay_load).
-export([main/1, entry/1, t1/1, t2/1, t3/1, handle/2, worker/2, bare/0]).

-define(WORKERS, 10).
-define(BURST, 20). % requests of a worker every 10 ms: 20,000 requests/s in all
-define(SEEN, "seen.json").
-define(STATE_BURST, 10). % calls with a state: 10,000/s

entry(X) -> R = ?MODULE:t1(X), [R].
t1(X) -> A = ?MODULE:t2(X), B = ?MODULE:t3(A), {A, B}.
t2(X) -> work(X, 5).
t3(X) -> work(X, 5).
handle(X, State) -> _ = work(X, 5), State.

work(X, 0) -> X;
work(X, N) -> work((X * 7 + N) band 16#ffff, N - 1).

worker(Kind, Left) ->
    erlang:send_after(10, self(), go),
    receive go -> ok end,
    burst(Kind, Left),
    counters:add(persistent_term:get(?MODULE), 1, Left),
    worker(Kind, Left).

burst(_, 0) ->
    ok;
burst(requests, N) ->
    ?MODULE:entry(N band 3),
    burst(requests, N - 1);
burst({state, S}, N) ->
    burst({state, ?MODULE:handle(N, S)}, N - 1).

main([Program, Reps, Seconds]) ->
    put(program, Program),
    persistent_term:put(?MODULE, counters:new(1, [])),
    S = list_to_integer(Seconds) * 1000,
    Requests = [{requests, M} || M <- [none, bare, kprof]],
    States = [{{state, Size}, M} || Size <- [8, 25000], M <- [none, kprof]],
    All = [{Case, one(Case, S)} || _ <- lists:seq(1, list_to_integer(Reps)), Case <- Requests ++ States],
    Of = fun(Case, I) -> median([element(I, R) || {C, R} <- All, C =:= Case]) end,
    Calls = ?WORKERS * ?BURST * 100 * 4 * S div 1000,
    Per = fun(Load, Mode, N) -> (Of({Load, Mode}, 1) - Of({Load, none}, 1)) / N end,
    Bare = Per(requests, bare, Calls),
    Target = Per(requests, kprof, Calls),
    Ours = Of({requests, kprof}, 2) / Calls,
    io:format("CPU per traced call, 20,000 requests/s of four traced functions, lean (medians of ~s):~n", [Reps]),
    io:format("  bare tracer that discards ~.2f us; relay ~.2f us + kprof-top ~.2f us = ~.2f us: ~.2f x (at most 1.2)~n",
        [Bare, Target, Ours, Target + Ours, (Target + Ours) / Bare]),
    io:format("  the target's part alone: ~.2f x; ~.1f % of the calls were traced~n", [Target / Bare, 100 * Of({requests, kprof}, 4)]),
    StateCalls = ?WORKERS * ?STATE_BURST * 100 * S div 1000,
    [Small, Large] = [Per({state, Size}, kprof, StateCalls) || Size <- [8, 25000]],
    io:format("a function that returns its state, 10,000 calls/s, the target's part with all that is there per second:~n"),
    io:format("  8 words ~.2f us a call, 25,000 words ~.2f us: ~.2f x (at most 2)~n", [Small, Large, Large / Small]),
    io:format("  ~.1f and ~.1f % of the calls were traced~n", [100 * Of({{state, Size}, kprof}, 4) || Size <- [8, 25000]]),
    [Untraced, Traced] = [Of({{state, 25000}, M}, 3) || M <- [none, kprof]],
    io:format("  throughput with 25,000 words: ~b calls/s untraced, ~b traced: ~.1f % (at least 95)~n",
        [round(Untraced), round(Traced), Traced * 100 / Untraced]),
    halt(0).

median(L) -> lists:nth((length(L) + 1) div 2, lists:sort(L)).

one({Load, Mode}, Ms) ->
    Burst = case Load of requests -> ?BURST; _ -> ?STATE_BURST end,
    Kind = case Load of {state, Words} -> {state, list_to_tuple(lists:seq(1, Words))}; _ -> Load end,
    Workers = [spawn(?MODULE, worker, [Kind, Burst]) || _ <- lists:seq(1, ?WORKERS)],
    Held = on(Mode, Load),
    receive after 500 -> ok end,
    T0 = erlang:monotonic_time(),
    Done = persistent_term:get(?MODULE),
    {A0, B0, C0} = {cpu(os:getpid()), cpu(pid(Held)), counters:get(Done, 1)},
    receive after Ms -> ok end,
    {A1, B1, C1} = {cpu(os:getpid()), cpu(pid(Held)), counters:get(Done, 1)},
    Scale = Ms * 1.0e6 / erlang:convert_time_unit(erlang:monotonic_time() - T0, native, nanosecond),
    Second = (C1 - C0) * Scale * 1000 / Ms,
    Seen = off(Held),
    [exit(W, kill) || W <- Workers],
    {(A1 - A0) * Scale, (B1 - B0) * Scale, Second, Seen / (Second * case Load of requests -> 4; _ -> 1 end)}.

%% The calls per second in the last object of kprof-top.
seen() ->
    {ok, Text} = file:read_file(?SEEN),
    [Calls, Elapsed] = [
        begin
            {match, [N]} = re:run(Text, ".*\"" ++ Name ++ "\":([0-9.]+)", [dotall, {capture, all_but_first, list}]),
            N
        end
     || Name <- ["received", "elapsed_s"]
    ],
    list_to_integer(Calls) / max(0.001, list_to_float(Elapsed)).

%% CPU time in us of all threads.
cpu(none) -> 0;
cpu(Os) ->
    lists:sum([
        case file:read_file(F) of
            {ok, B} -> list_to_integer(hd(string:tokens(binary_to_list(B), " ")));
            _ -> 0
        end
     || F <- filelib:wildcard("/proc/" ++ Os ++ "/task/*/schedstat")
    ]) / 1000.

pid({kprof, _, Os}) -> Os;
pid(_) -> none.

on(none, _) -> none;
on(bare, _) ->
    T = spawn_opt(?MODULE, bare, [], [{message_queue_data, off_heap}]),
    erlang:system_flag(trace_control_word, 1),
    [1 = erlang:trace_pattern({?MODULE, F, 1}, spec(F), [local]) || F <- [entry, t1, t2, t3]],
    erlang:trace(processes, true, [call, arity, return_to, monotonic_timestamp, {tracer, T}]),
    T;
on(kprof, Load) ->
    Tiers = case Load of requests -> [["-t", F ++ "=relay_load:" ++ F ++ "/1"] || F <- ["entry", "t1", "t2", "t3"]]; _ -> [["-t", "handle=relay_load:handle/2"]] end,
    Entry = case Load of requests -> ["-i", "relay_load:entry/1 arg(1)"]; _ -> ["-e", "none"] end,
    Args = lists:append(Tiers) ++ Entry ++ ["--returns", "lean", "-b", "--max-overhead", "none", "--format", "json", "-o", ?SEEN, "--setcookie", atom_to_list(erlang:get_cookie()), atom_to_list(node())],
    Port = open_port({spawn_executable, get(program)}, [{args, Args}, exit_status, stderr_to_stdout, binary]),
    {os_pid, Os} = erlang:port_info(Port, os_pid),
    F = case Load of requests -> {?MODULE, entry, 1}; _ -> {?MODULE, handle, 2} end,
    until(fun() -> erlang:trace_info(F, traced) =/= {traced, false} orelse in_session() end, Port),
    {kprof, Port, integer_to_list(Os)}.

%% The traced processes do the same work as with kprof-top: label, name, caller.
spec(entry) ->
    Label = {element, 2, {get_seq_token}},
    [{['$1'], [], [
        {set_seq_token, label, {'bor', 7 bsl 32, {set_tcw, 0}}},
        {'=:=', 0, {set_tcw, {'+', 1, {'band', Label, 16#7ffffff}}}},
        {message, {{0, Label, {caller}, '$1', entry}}}
    ]}];
spec(F) ->
    Ix = case F of t1 -> 1; t2 -> 2; t3 -> 3 end,
    [{'_', [{is_seq_trace}], [{message, {{Ix, {element, 2, {get_seq_token}}, {caller}}}}]}].

%% From OTP 27 on the patterns are in a session that only its owner sees.
in_session() ->
    erlang:function_exported(trace, session_create, 3) andalso
        lists:any(fun(N) -> lists:prefix("kprof_relay_", atom_to_list(N)) end, registered()) andalso
        (receive after 1000 -> true end).

bare() -> receive _ -> bare() end.

until(F, Port) ->
    receive
        {Port, {data, Text}} -> exit({kprof_top_said, Text});
        {Port, {exit_status, Rc}} -> exit({kprof_top_ended, Rc})
    after 20 ->
        F() orelse until(F, Port)
    end.

off(none) -> 0;
off({kprof, Port, Os}) ->
    os:cmd("kill " ++ Os),
    ended(Port),
    seen();
off(T) ->
    erlang:trace(processes, false, [all]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    seq_trace:reset_trace(),
    erlang:system_flag(trace_control_word, 0),
    exit(T, kill),
    0.

ended(Port) ->
    receive {Port, {exit_status, _}} -> ok; {Port, _} -> ended(Port)
    after 10000 -> exit(kprof_top_stays)
    end.
