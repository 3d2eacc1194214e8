%% Full traces: that they have all calls in their order, of the request only; that they end, say why, and leave nothing. Part of the
%% agent's tests (agent_test runs them).
-module(agent_full_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    load/2, load_parts/1, unload_parts/1, start/1, start/2, ask/2, finish/2, traced/2, trace_config/1, trace_config/2, until/2, nothing_left/1, gone/1, reaped/1, drain/0, other_owner/2,
    numbers/2, told_gone/0, isolated/1, messages/1, run/3, load_second/1, unload_second/1, start_controller/3
]).

%% As kprof_full_tracer has them.
-define(DONE, 1).
-define(NO_CALL, 2).
-define(NONE_MATCHED, 3).
-define(BUDGET, 4).
-define(TIME, 5).
-define(NO_FUNCTION, 6).
-define(TOO_MANY, 7).
-define(BREAKER, 8).
-define(LEASE, 9).
-define(RUN_QUEUE, 10).
-define(BEHIND, 11).
-define(CANCELED, 12).
-define(DIED, 13).
-define(CODE_SERVER, 15).
-define(CALL, 0).
-define(BEGIN, 6).
-define(END, 7).

tests() ->
    [
        {full_request, fun full_request/1},
        {full_request_of_the_sample, fun full_request_of_the_sample/1},
        {full_times_agree_with_the_tiers, fun full_times_agree_with_the_tiers/1},
        {full_slow, fun full_slow/1},
        {full_rule, fun full_rule/1},
        {full_name, fun full_name/1},
        {full_modules_of_the_application, fun full_modules_of_the_application/1},
        {full_modules_in_slices, fun full_modules_in_slices/1},
        {full_without_the_code_server, fun full_without_the_code_server/1},
        {full_rule_of_a_tier, fun full_rule_of_a_tier/1},
        {full_budget, fun full_budget/1},
        {full_nothing_else, fun full_nothing_else/1},
        {full_reasons, fun full_reasons/1},
        {full_refused, fun full_refused/1},
        {full_hazards, fun full_hazards/1},
        {full_connection, fun full_connection/1},
        {full_beside_another_tracer, fun full_beside_another_tracer/1},
        {full_killed_beside_another_tracer, fun full_killed_beside_another_tracer/1},
        {full_replaced_by_another_tracer, fun full_replaced_by_another_tracer/1},
        {full_beside_flags_of_another, fun full_beside_flags_of_another/1},
        {full_tiers_go_on, fun full_tiers_go_on/1},
        {full_config_meanwhile, fun full_config_meanwhile/1},
        {full_ends_with_the_breaker, fun full_ends_with_the_breaker/1},
        {full_ends_with_the_lease, fun full_ends_with_the_lease/1},
        {full_ends_with_a_long_run_queue, fun full_ends_with_a_long_run_queue/1},
        {full_ends_if_it_is_behind, fun full_ends_if_it_is_behind/1},
        {full_tracer_killed, fun full_tracer_killed/1},
        {full_controller_killed, fun full_controller_killed/1},
        {full_all_killed, fun full_all_killed/1},
        {full_kprof_top_killed, fun full_kprof_top_killed/1}
    ].

%% ---- A full trace, as kprof-top asks for it and reads it ----

call(F, A) -> {<<"agent_full_work">>, F, A}.
request() -> #{who => {call, call(<<"request">>, 2)}, follow => [call(<<"served">>, 1)], modules => {some, [<<"agent_full_work">>], []}}.

%% The server of agent_full_work, and the log.
work(T) ->
    [begin rpc:call(T, code, purge, [M]), load(T, M) end || M <- [agent_full_work, agent_full_log]],
    rpc:call(T, agent_full_log, start, []),
    Server = rpc:call(T, agent_full_work, start, [self()]),
    receive {Server, ready} -> Server end.

process(T, F) -> rpc:call(T, erlang, spawn, [agent_full_log, F, []]).

agent(T) ->
    K = start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    ok = ask(K, {limits, ?NO_LIMITS}),
    K.

%% Waits until the trace is in this phase (2: it waits for a request, 3: it traces), then does Do; -> the trace.
full(K, Asked, Phase, Do) ->
    ?soon(fun() -> ask(K, {full, Asked}) =:= ok end), % the one before may be ending
    listen(Phase, Do, #{names => #{}, processes => #{}, events => [], seq => 0}).

%% Does Do as soon as the trace is accepted.
full_at_once(K, Asked, Do) ->
    ok = ask(K, {full, Asked}),
    Do(),
    listen(0, Do, #{names => #{}, processes => #{}, events => [], seq => 0}).

listen(Phase, Do, #{seq := Seq} = St0) ->
    receive
        {kf, N, Native, Figures, Names, Processes, Events} ->
            ?equal(N, Seq + 1),
            ?check(is_integer(Native)),
            St = St0#{
                seq := N, figures => Figures, names := maps:merge(maps:get(names, St0), maps:from_list(Names)),
                processes := lists:foldl(fun({I, P, Name, First}, Acc) -> Acc#{I => {P, Name, First}} end, maps:get(processes, St0), Processes),
                events := maps:get(events, St0) ++ Events
            },
            case Figures of
                #{reason := Reason} when Reason > 0 -> St#{reason => Reason};
                #{phase := Now} when Now >= Phase, Phase > 0 -> Do(), listen(0, Do, St);
                _ -> listen(Phase, Do, St)
            end
    after ?PATIENCE -> error({no_full_trace, maps:get(figures, St0, none)})
    end.

figure(What, #{figures := Figures}) -> maps:get(What, Figures).

%% Calls, as {Pid, Function, At}: oldest first for each process.
calls(#{events := Events, names := Names, processes := Processes}) ->
    [{element(1, maps:get(I, Processes)), element(2, maps:get(A, Names)), T} || {I, Kind, A, _, T} <- Events, Kind =:= ?CALL orelse Kind =:= ?BEGIN].

of_process(P, Calls) -> [F || {Q, F, _} <- Calls, Q =:= P].

%% ---- What is traced ----

full_request(T) ->
    Server = work(T),
    K = agent(T),
    Do = fun() -> spawn(fun() -> rpc:call(T, agent_full_log, requests, [[slow], Server, 0]) end) end,
    #{reason := ?DONE} = St = full(K, (request())#{id => 7}, 2, Do),
    ?equal(figure(id, St), 7),
    Log = rpc:call(T, agent_full_log, all, []),
    Calls = calls(St),
    Pids = lists:usort([P || {P, _, _} <- Calls]),
    ?equal(lists:sort(Pids), lists:usort([P || {P, _, _} <- Log])),
    [
        ?equal([F || F <- of_process(P, Calls), F =/= '-last/1-fun-0-'], [F || {Q, _, F} <- Log, Q =:= P, F =/= request_end])
     || P <- Pids
    ],
    %% its time is that of the log
    [{_, Began, request}] = [X || {_, _, request} = X <- Log],
    [{_, Ended, request_end}] = [X || {_, _, request_end} = X <- Log],
    #{events := Events} = St,
    [B] = [At || {0, ?BEGIN, _, _, At} <- Events],
    [E] = [At || {0, ?END, _, _, At} <- Events],
    io:format("request: log ~b, trace ~b~n", [Ended - Began, E - B]),
    ?check(abs((E - B) - (Ended - Began)) * 50 =< Ended - Began),
    %% waits and collections are there where the VM can report them
    Waits = length([x || {_, 2, _, _, _} <- Events]),
    ?equal(figure(waits, St) =:= 1, Waits > 0),
    finish(T, K),
    nothing_left(T).

%% A connection keeps the token of its request, and its next requests have it from the start: they are not part of the trace.
full_connection(T) ->
    Server = work(T),
    K = agent(T),
    Do = fun() -> spawn(fun() -> rpc:call(T, agent_full_log, connection, [30, Server]) end) end,
    #{reason := ?DONE} = St = full(K, request(), 2, Do),
    ?equal(length([x || {_, request, _} <- calls(St)]), 1),
    ?equal(length([x || {_, served, _} <- calls(St)]), 1),
    ?equal(length(lists:usort([P || {P, _, _} <- calls(St)])), 2),
    finish(T, K),
    nothing_left(T).

%% One request of the bundled sample node: as many calls of each function as the VM counts.
full_request_of_the_sample(T) ->
    load(T, kprof_sample),
    K = agent(T),
    Functions = [{parsing, 1}, {db, 2}, {db_exec, 2}, {takes_us, 1}, {store, 3}, {book, 2}, {accounting, 2}, {formatter, 1}, {wait_us, 1}, {spin, 1}, {handle, 1}],
    Asked = #{
        who => {call, {<<"kprof_sample">>, <<"handle">>, 1}}, modules => {some, [<<"kprof_sample">>], []},
        follow => [{<<"kprof_sample">>, F, A} || {F, A} <- [{<<"db_exec">>, 2}, {<<"accounting">>, 2}]]
    },
    Self = self(),
    Do = fun() ->
        [1 = rpc:call(T, erlang, trace_pattern, [{kprof_sample, F, A}, true, [call_count]]) || {F, A} <- Functions -- [{handle, 1}]],
        spawn(fun() -> Self ! {ran, rpc:call(T, kprof_sample, run_exact, [#{create => 1}])} end)
    end,
    #{reason := ?DONE} = St = full(K, Asked, 2, Do),
    Us = receive {ran, #{create := [Took]}} -> Took after ?PATIENCE -> error(not_run) end,
    Counted = [{F, element(2, rpc:call(T, erlang, trace_info, [{kprof_sample, F, A}, call_count]))} || {F, A} <- Functions -- [{handle, 1}]],
    [rpc:call(T, erlang, trace_pattern, [{kprof_sample, F, A}, false, [call_count]]) || {F, A} <- Functions],
    Calls = calls(St),
    Names = [F || {_, F, _} <- Calls],
    ?equal([{F, length([x || G <- Names, G =:= F])} || {F, _} <- Counted], Counted),
    %% its order, in the process that it began in
    [Front | _] = [P || {P, handle, _} <- Calls],
    Order = [F || F <- of_process(Front, Calls), lists:member(F, [handle, parsing, db, book, formatter])],
    ?equal(Order, [handle, parsing, db, book, formatter]),
    #{events := Events} = St,
    [B] = [At || {0, ?BEGIN, _, _, At} <- Events],
    [E] = [At || {0, ?END, _, _, At} <- Events],
    Ns = erlang:convert_time_unit(E - B, native, nanosecond),
    io:format("handle: the sample ~.1f us, trace ~.1f us~n", [Us, Ns / 1000]),
    rpc:call(T, kprof_sample, stop, []),
    finish(T, K).

%% Given processes, while the tiers are traced: the same calls in both. Before OTP 27 the tiers pause.
full_times_agree_with_the_tiers(T) ->
    case isolated(T) of
        false -> skipped;
        true ->
            Server = work(T),
            Tiers = [{0, agent_full_work, request, 2}, {1, agent_full_work, ask, 2}],
            K = traced(T, (trace_config([]))#{tiers => Tiers}),
            P = process(T, serves),
            Asked = #{who => {pids, [numbers(T, P)]}, modules => {some, [<<"agent_full_work">>], []}, run_ms => 1500},
            #{reason := ?TIME} = St = full(K, Asked, 3, fun() -> P ! {go, Server} end),
            #{events := Events, names := Names, figures := #{base := Base}} = St,
            Ms = messages(K),
            [Of] = [Ts || {trace_ts, _, call, {_, request, _}, _, Ts} <- Ms],
            [{_, _, N, _, _}] = [X || {_, ?CALL, A, _, _} = X <- Events, {agent_full_work, request, 2} <- [maps:get(A, Names)]],
            [Full] = [At + Base || {_, ?CALL, A, _, At} <- Events, A =:= N],
            [Returned | _] = lists:reverse([Ts || {trace_ts, Q, return_to, _, Ts} <- Ms, Q =:= P]),
            [Left | _] = lists:reverse([At + Base || {_, 1, _, _, At} <- Events]),
            io:format("request: tiers ~b, full ~b~n", [Returned - Of, Left - Full]),
            ?check(abs((Left - Full) - (Returned - Of)) * 50 =< Returned - Of),
            exit(P, kill),
            finish(T, K),
            nothing_left(T)
    end.

%% Quick requests are traced and dropped; the slow one is kept.
full_slow(T) ->
    Server = work(T),
    K = agent(T),
    Do = fun() -> spawn(fun() -> rpc:call(T, agent_full_log, requests, [lists:duplicate(20, quick) ++ lists:duplicate(8, slow), Server, 20]) end) end,
    St = full(K, (request())#{slow_ns => 50000000}, 2, Do),
    ?equal(maps:get(reason, St), ?DONE),
    ?check(figure(requests, St) > 1),
    ?check(figure(slowest_ns, St) < 50000000),
    #{events := Events} = St,
    [B] = [At || {0, ?BEGIN, _, _, At} <- Events],
    [E] = [At || {0, ?END, _, _, At} <- Events],
    ?check(erlang:convert_time_unit(E - B, native, nanosecond) >= 50000000),
    %% of one request only
    ?equal(length([x || {_, request, _} <- calls(St)]), 1),
    ?equal(length([x || {_, served, _} <- calls(St)]), 1),
    finish(T, K),
    nothing_left(T).

%% Only the call with this argument is traced, and the others cost nothing.
full_rule(T) ->
    Server = work(T),
    K = agent(T),
    Do = fun() -> spawn(fun() -> rpc:call(T, agent_full_log, requests, [[a, b, slow, a], Server, 0]) end) end,
    Rule = (request())#{rule => <<"agent_full_work:request/2 arg(1)">>, value => <<"slow">>},
    St = full(K, Rule, 2, Do),
    ?equal({maps:get(reason, St), figure(requests, St)}, {?DONE, 1}),
    ?equal(length([x || {_, slow, _} <- calls(St)]), 1),
    Boolean = (request())#{rule => <<"agent_full_work:request/2 arg(1) =:= b">>},
    ?equal(maps:get(reason, full(K, Boolean, 2, Do)), ?DONE),
    finish(T, K),
    nothing_left(T).

%% By the name that kprof-top shows: it does not know whether that was an atom or a text.
full_name(T) ->
    Server = work(T),
    K = agent(T),
    Do = fun() -> spawn(fun() -> rpc:call(T, agent_full_log, requests, [[a, b, slow, a], Server, 0]) end) end,
    Traced = fun(Rule, Name) ->
        St = full(K, (request())#{rule => Rule, name => Name}, 2, Do),
        {maps:get(reason, St), figure(requests, St), length([x || {_, slow, _} <- calls(St)])}
    end,
    ?equal(Traced(<<"agent_full_work:request/2 arg(1)">>, <<"slow">>), {?DONE, 1, 1}),
    ?equal(Traced(<<"agent_full_work:request/2 {<<\"GET\">>, arg(1), 7}">>, <<"GET slow 7">>), {?DONE, 1, 1}),
    ?equal(Traced(<<"agent_full_work:request/2 {\"GET\", arg(1)}">>, <<"GET slow">>), {?DONE, 1, 1}),
    finish(T, K),
    nothing_left(T).

%% All modules of the application that a module belongs to.
full_modules_of_the_application(T) ->
    Choose = fun(Choice) -> {Sets, _} = rpc:call(T, kprof_full_modules, choose, [Choice]), [M || {M, _} <- Sets] end,
    load_parts(T),
    With = Choose({with, [<<"lists">>]}),
    ?equal(With, Choose({some, [], [<<"stdlib">>]})),
    ?check(lists:member(gen_server, With) andalso not lists:member(application, With)),
    ?equal(Choose({with, [<<"no_such_module">>]}), []),
    unload_parts(T).

%% The choice among thousands of functions lets others run in between.
full_modules_in_slices(T) ->
    rpc:call(T, code, purge, [agent_full_log]),
    load(T, agent_full_log),
    load_parts(T),
    {Yields, Us, Functions} = rpc:call(T, agent_full_log, yields, [kprof_full_modules, choose, [all]]),
    io:format("~b functions chosen in ~b us, with ~b yields~n", [Functions, Us, Yields]),
    ?check(Us > 400),
    ?check(Yields > 0),
    unload_parts(T).

%% The code server hangs: a full trace can be canceled, and ends by itself. Who waits has the node's own priority.
full_without_the_code_server(T) ->
    work(T),
    rpc:call(T, code, ensure_loaded, [erl_eval]),
    K = agent(T),
    {error, full, _} = ask(K, {full, #{}}), % the tools are loaded
    Suspender = rpc:call(T, agent_load, suspend, [code_server]),
    link(Suspender), % if this test fails, the code server goes on
    St = full_at_once(K, request(), fun() ->
        ?soon(fun() -> rpc:call(T, agent_full_log, waiting_for_code, []) =/= [] end),
        ?equal(rpc:call(T, agent_full_log, waiting_for_code, []), [normal]),
        ok = ask(K, {full, off})
    end),
    ?equal(maps:get(reason, St), ?CANCELED),
    ?equal(rpc:call(T, agent_full_log, waiting_for_code, []), []),
    ?equal(maps:get(reason, full(K, request(), 0, fun() -> ok end)), ?CODE_SERVER),
    unlink(Suspender),
    exit(Suspender, kill),
    ?equal(maps:get(reason, full(K, (request())#{wait_ms => 100}, 0, fun() -> ok end)), ?NO_CALL),
    finish(T, K),
    nothing_left(T).

%% The identity is known in another process, when the request has begun.
full_rule_of_a_tier(T) ->
    Server = work(T),
    K = agent(T),
    Do = fun() -> spawn(fun() -> rpc:call(T, agent_full_log, requests, [[a | lists:append(lists:duplicate(15, [c, b, c]))], Server, 25]) end) end,
    St = full(K, (request())#{rule => <<"agent_full_work:served/1 arg(1)">>, value => <<"c">>}, 2, Do),
    ?equal(maps:get(reason, St), ?DONE),
    ?check(figure(requests, St) > 1),
    finish(T, K),
    nothing_left(T).

%% ---- It ends ----

full_budget(T) ->
    work(T),
    K = agent(T),
    P = process(T, runs_away),
    Asked = (request())#{who => {call, call(<<"runaway">>, 1)}, events => 5000},
    Self = self(),
    St = full(K, Asked, 2, fun() ->
        [Tracer] = tracers(T),
        rpc:call(T, agent_full_log, priorities, [Tracer, Self]),
        P ! go
    end),
    ?equal(maps:get(reason, St), ?BUDGET),
    #{events := Events} = St,
    ?equal(length(Events), 5000),
    %% it lets others run while it traces, and is not preferred to them when it sends (on OTP 27 the end of its session takes the
    %% pattern of this test off: PR 10349)
    Priorities = receive {priorities, List} -> List after ?PATIENCE -> error(no_end) end,
    ?equal(lists:last(Priorities), case list_to_integer(atom_to_list(get(version))) of 27 -> high; _ -> normal end),
    ?check(length(Priorities) > 5),
    %% from the last event until no process has a flag
    io:format("the flags were off ~b us after the last event~n", [figure(off_us, St)]),
    ?check(figure(off_us, St) < 1000000),
    ?equal(rpc:call(T, agent_full_log, flagged, []), []),
    ?check(rpc:call(T, erlang, is_process_alive, [P])),
    exit(P, kill),
    finish(T, K),
    nothing_left(T).

%% While it traces a request, only the processes of this request have flags; and no event is of another process.
full_nothing_else(T) ->
    Server = work(T),
    K = agent(T),
    Others = rpc:call(T, agent_load, forever, [4, 1]),
    Bystander = process(T, bystander),
    Self = self(),
    Do = fun() ->
        spawn(fun() ->
            Ask = fun Again(N, Found) ->
                Now = rpc:call(T, agent_full_log, flagged, []),
                if N =:= 0 -> Found; true -> Again(N - 1, Now ++ Found) end
            end,
            Requests = spawn_monitor(fun() -> exit(rpc:call(T, agent_full_log, requests, [[slow], Server, 0])) end),
            Found = lists:usort(Ask(60, [])), % meanwhile
            {_, Ref} = Requests,
            receive {'DOWN', Ref, _, _, [One]} -> Self ! {found, Found, One} end
        end)
    end,
    #{reason := ?DONE} = St = full(K, request(), 2, Do),
    {Found, P} = receive {found, Flagged, Of} -> {Flagged, Of} after ?PATIENCE -> error(not_asked) end,
    ?equal(Found -- [P, Server], []),
    ?equal(lists:sort(lists:usort([Q || {Q, _, _} <- calls(St)])), lists:sort([P, Server])),
    [exit(X, kill) || X <- [Bystander | Others]],
    finish(T, K),
    nothing_left(T).

full_reasons(T) ->
    Server = work(T),
    K = agent(T),
    Short = (request())#{wait_ms => 300},
    None = fun() -> ok end,
    Requests = fun() -> rpc:call(T, agent_full_log, requests, [[a, b], Server, 0]) end,
    ?equal(maps:get(reason, full(K, Short, 0, None)), ?NO_CALL),
    St = full(K, Short#{rule => <<"agent_full_work:request/2 arg(1)">>, value => <<"x">>, wait_ms => 800}, 2, Requests),
    ?equal({maps:get(reason, St), figure(calls, St), figure(requests, St)}, {?NONE_MATCHED, 2, 0}),
    Slow = full(K, Short#{slow_ns => 3600000000000, wait_ms => 800}, 2, Requests),
    ?equal(maps:get(reason, Slow), ?NONE_MATCHED),
    ?check(figure(requests, Slow) >= 1 andalso figure(slowest_ns, Slow) > 0),
    ?equal(maps:get(reason, full(K, Short#{modules => {some, [<<"agent_no_module">>], []}}, 0, None)), ?NO_FUNCTION),
    ?equal(maps:get(reason, full(K, Short#{functions => 3}, 0, None)), ?TOO_MANY),
    Killed = full(K, (request())#{run_ms => 20000}, 2, fun() -> spawn(fun() -> rpc:call(T, agent_full_log, requests, [[slow], Server, 0]) end), ok end),
    ?equal(maps:get(reason, Killed), ?DONE),
    %% a process that ends
    P = process(T, calls),
    Died = full(K, #{who => {pids, [numbers(T, P)]}, modules => {some, [<<"agent_full_work">>], []}}, 3, fun() -> P ! go end),
    ?equal(maps:get(reason, Died), ?DIED),
    ?equal([F || {_, F, _} <- calls(Died)], [deep]),
    %% canceled
    Off = full(K, request(), 2, fun() -> ok = ask(K, {full, off}) end),
    ?equal(maps:get(reason, Off), ?CANCELED),
    finish(T, K),
    nothing_left(T).

full_refused(T) ->
    work(T),
    K = agent(T),
    Refused = fun(Asked, Words) ->
        {error, full, Text} = ask(K, {full, Asked}),
        ?check(string:find(Text, Words) =/= nomatch)
    end,
    Refused((request())#{who => {call, {<<"agent_no_module">>, <<"f">>, 1}}}, "no module"),
    Refused((request())#{who => {pids, [{999999, 77}]}}, "no such process"),
    Refused((request())#{who => all}, "invalid choice"),
    Refused((request())#{rule => <<"agent_full_work:request/2 path(arg(1))">>, value => <<"x">>}, "path"),
    Refused((request())#{rule => <<"agent_full_work:request/2 arg(1)">>, value => <<"x,">>}, "term"),
    Refused((request())#{rule => <<"agent_full_work:request/2 arg(7)">>}, "arg takes"),
    ok = ask(K, {full, request()}),
    Refused(request(), "under way"),
    ok = ask(K, {full, off}),
    finish(T, K),
    nothing_left(T).

%% Each row of the table, whatever this VM is.
full_hazards(_) ->
    Vm = fun(Erts, Beside) -> #{otp => <<"x">>, erts => Erts, jit => true, word_bytes => 8, beside => Beside, common => false} end,
    [?equal({Erts, kprof_hazard:allowed(full_request, Vm(Erts, false))}, {Erts, Is}) || {Erts, Is} <- [{[13, 1, 5], true}, {[15, 0], false}, {[15, 0, 1], false}, {[15, 1], true}, {[17, 1], true}]],
    ?equal(kprof_hazard:allowed(running_flags, Vm([13, 1, 5], false)), false),
    ?equal(kprof_hazard:allowed(gc_flags, Vm([16, 0], false)), false),
    Tracer = self(),
    ?equal(kprof_check:check([{'_', [], [{trace, [], [call, {const, {tracer, Tracer}}]}]}]), ok),
    [{error, _} = kprof_check:check([{'_', [], [{trace, [], [Flag]}]}]) || Flag <- [all, send, set_on_spawn, {const, {tracer, kprof}}]].

%% Another program began to trace functions of the full trace after the attach. Below OTP 27, where a function has one
%% pattern, they are left out. -> {the program, what it has set}
another(T) ->
    Another = rpc:call(T, agent_full_log, another, []),
    {Another, rpc:call(T, agent_full_log, set_by_another, [])}.

full_beside_another_tracer(T) ->
    Server = work(T),
    K = agent(T),
    {Another, Set} = another(T),
    Now = fun() -> rpc:call(T, agent_full_log, set_by_another, []) end,
    Self = self(),
    Do = fun() ->
        Self ! {meanwhile, Now()},
        spawn(fun() -> rpc:call(T, agent_full_log, requests, [[slow], Server, 0]) end)
    end,
    #{reason := ?DONE} = St = full(K, request(), 2, Do),
    receive {meanwhile, Meanwhile} -> ?equal(Meanwhile, Set) end,
    Called = lists:usort([F || {_, F, _} <- calls(St)]),
    case isolated(T) of
        true ->
            ?check(lists:member(part, Called) andalso lists:member(served, Called));
        false ->
            ?got({ke, others, <<"another tracer traces ", _/binary>>}),
            ?equal([F || F <- [deep, served], lists:member(F, Called)], []),
            ?equal(figure(counted, St), 0)
    end,
    ?check(lists:member(sum, Called) andalso lists:member(loop, Called)),
    ?equal(Now(), Set),
    finish(T, K),
    ?equal(Now(), Set),
    rpc:call(T, agent_full_log, no_other, [Another]),
    nothing_of_it(T),
    nothing_left(T).

%% What the tracer leaves behind if it is killed is removed by others.
full_killed_beside_another_tracer(T) ->
    work(T),
    K = agent(T),
    {Another, Set} = another(T),
    P = under_way(T, K),
    [Tracer] = tracers(T),
    exit(Tracer, kill),
    ?got({ke, full, _}),
    ?equal(rpc:call(T, agent_full_log, set_by_another, []), Set),
    rpc:call(T, agent_full_log, no_other, [Another]),
    nothing_of_it(T),
    exit(P, kill),
    finish(T, K),
    nothing_left(T).

%% It begins while our patterns are set, and replaces some of them. (A counter of calls cannot be told from ours.)
full_replaced_by_another_tracer(T) ->
    work(T),
    K = agent(T),
    P = under_way(T, K),
    {Another, Set} = another(T),
    ok = ask(K, {full, off}),
    ?soon(fun() -> tracers(T) =:= [] end),
    ?equal(lists:droplast(rpc:call(T, agent_full_log, set_by_another, [])), lists:droplast(Set)),
    rpc:call(T, agent_full_log, no_other, [Another]),
    nothing_of_it(T),
    exit(P, kill),
    finish(T, K),
    nothing_left(T).

%% Below OTP 27 all its processes would send it the calls of the full trace.
full_beside_flags_of_another(T) ->
    work(T),
    K = agent(T),
    Another = rpc:call(T, agent_full_log, flags_of_another, []),
    case {ask(K, {full, (request())#{wait_ms => 100}}), isolated(T)} of
        {ok, true} -> ?got({kf, _, _, #{reason := ?NO_CALL}, _, _, _});
        {{error, full, Text}, false} -> ?check(string:find(Text, "another program is tracing") =/= nomatch)
    end,
    exit(Another, kill),
    ?soon(fun() -> rpc:call(T, erlang, trace_info, [new_processes, tracer]) =:= {tracer, []} end),
    ?soon(fun() -> ask(K, {full, (request())#{wait_ms => 100}}) =:= ok end),
    finish(T, K),
    nothing_left(T).

%% After it the tiers are traced again, and their tickets go on.
full_tiers_go_on(T) ->
    Server = work(T),
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    run(T, entries, [[1]]),
    Label = fun() -> [{0, L, _, _, entry} | _] = [M || {trace_ts, _, call, {_, entry, _}, M, _} <- messages(K)], L end,
    ?soon(fun() -> run(T, entries, [[1]]), true end),
    Before = Label(),
    Do = fun() -> spawn(fun() -> rpc:call(T, agent_full_log, requests, [[a], Server, 0]) end) end,
    #{reason := ?DONE} = full(K, request(), 2, Do),
    drain(),
    ?soon(fun() ->
        run(T, entries, [[2]]),
        [M || {trace_ts, _, call, {_, entry, _}, M, _} <- messages(K)] =/= []
    end),
    run(T, entries, [[3]]),
    ?check(Label() band 16#7ffffff > Before band 16#7ffffff),
    finish(T, K),
    nothing_left(T).

%% A new configuration while its patterns are set on the functions of the tiers: below OTP 27 these must not count as
%% those of another tracer.
full_config_meanwhile(T) ->
    work(T),
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    ok = ask(K, {full, (request())#{modules => {some, [<<"agent_load">>, <<"agent_full_work">>], []}}}),
    waiting(2),
    ok = ask(K, {sample, 2}),
    ok = ask(K, {sample, 1}),
    ok = ask(K, {full, off}),
    drain(),
    ?soon(fun() ->
        run(T, entries, [[2]]),
        Tiers = [element(1, M) || {trace_ts, _, call, _, M, _} <- messages(K)],
        lists:member(0, Tiers) andalso lists:member(1, Tiers)
    end),
    finish(T, K),
    nothing_left(T).

%% Also if tracing does not begin, because unsampled calls would cost too much. Below OTP 27 a full trace has no tracing beside it.
full_ends_with_the_breaker(T) ->
    case isolated(T) of
        true ->
            work(T),
            K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
            P = process(T, calls),
            Follows = follows(T, P),
            #{reason := ?BREAKER} = full(K, Follows, 3, fun() -> ok = ask(K, {trip, <<"a test">>}) end),
            Workers = rpc:call(T, agent_load, counting, [1, 1]),
            ok = ask(K, {tracing, false}),
            ok = ask(K, {limits, #{max_cost => 1, cooldown_ms => 10 * ?PATIENCE}}),
            drain(),
            #{reason := ?BREAKER} = full(K, Follows, 3, fun() -> ok = ask(K, {tracing, true}) end),
            receive {ke, overload, <<"breaker open: unsampled calls would cost", _/binary>>} -> ok after ?PATIENCE -> error(not_opened) end,
            [exit(Pid, kill) || Pid <- [P | Workers]],
            finish(T, K),
            nothing_left(T);
        false ->
            ok
    end.

%% A process that makes no calls is traced until a limit ends that.
follows(T, P) -> #{who => {pids, [numbers(T, P)]}, modules => {some, [<<"agent_full_work">>], []}, run_ms => 10 * ?PATIENCE}.

%% kprof-top says nothing for a second.
full_ends_with_the_lease(T) ->
    work(T),
    P = process(T, calls),
    K = start(T, #{pause_ms => 1000, end_ms => 10 * ?PATIENCE}),
    ok = ask(K, {limits, ?NO_LIMITS}),
    #{reason := ?LEASE} = full(K, follows(T, P), 3, fun() -> ok end),
    exit(P, kill),
    finish(T, K),
    nothing_left(T).

full_ends_with_a_long_run_queue(T) ->
    work(T),
    P = process(T, calls),
    K = agent(T),
    Limit = 100 * rpc:call(T, erlang, system_info, [schedulers_online]),
    Parent = self(),
    #{reason := ?RUN_QUEUE} = full(K, follows(T, P), 3, fun() -> Parent ! {spinning, rpc:call(T, agent_load, spinning, [Limit * 15 div 10])} end),
    receive {spinning, Many} -> rpc:call(T, agent_load, stop_spinning, [Many]) end,
    exit(P, kill),
    finish(T, K),
    nothing_left(T).

%% More messages wait than it can read soon.
full_ends_if_it_is_behind(T) ->
    work(T),
    P = process(T, runs_away),
    K = agent(T),
    #{reason := ?BEHIND} = full(K, (follows(T, P))#{events => 1000000}, 3, fun() ->
        [Tracer] = tracers(T),
        Holder = rpc:call(T, agent_load, hold, [Tracer]),
        P ! go,
        ?soon(fun() -> {_, N} = rpc:call(T, erlang, process_info, [Tracer, message_queue_len]), N > 120000 end),
        exit(P, kill),
        rpc:call(T, agent_load, let_go, [Holder])
    end),
    finish(T, K),
    nothing_left(T).

%% ---- Whoever is killed: nothing is left ----

%% It traces a request that does not end.
under_way(T, K) ->
    P = process(T, asks_itself),
    ok = ask(K, {full, (request())#{run_ms => 10 * ?PATIENCE}}),
    waiting(2),
    P ! go,
    waiting(3),
    P.

waiting(Phase) ->
    receive
        {kf, _, _, #{phase := Phase}, _, _, _} -> ok
    after ?PATIENCE -> error({never_in_phase, Phase})
    end.

tracers(T) ->
    [P || P <- rpc:call(T, erlang, processes, []), {_, {kprof_tools_00, full_tracer_init, 1}} <- [rpc:call(T, erlang, process_info, [P, initial_call])]].

%% A session whose tracer was killed ends a little later.
nothing_of_it(T) ->
    MFAs = [{agent_full_work, F, A} || {F, A} <- rpc:call(T, agent_full_work, module_info, [functions])],
    ?soon(fun() -> rpc:call(T, agent_full_log, flagged, []) =:= [] end),
    ?soon(fun() -> rpc:call(T, agent_load, set_now, [MFAs]) =:= #{flags => [], patterns => []} end),
    ?equal(rpc:call(T, agent_full_log, meta, [[{agent_full_work, request, 2}, {agent_full_work, served, 1}]]), []).

full_tracer_killed(T) ->
    work(T),
    K = agent(T),
    P = under_way(T, K),
    [Tracer] = tracers(T),
    exit(Tracer, kill),
    ?got({ke, full, _}),
    nothing_of_it(T),
    ok = ask(K, {full, (request())#{wait_ms => 100}}), % another one
    exit(P, kill),
    finish(T, K),
    nothing_left(T).

full_controller_killed(T) ->
    work(T),
    K = agent(T),
    P = under_way(T, K),
    exit(K, kill),
    told_gone(),
    gone(T),
    nothing_of_it(T),
    exit(P, kill),
    nothing_left(T).

full_all_killed(T) ->
    work(T),
    K = agent(T),
    P = under_way(T, K),
    rpc:call(T, agent_load, kill, [[rpc:call(T, erlang, whereis, [kprof_relay_00]), K], 0]),
    told_gone(),
    gone(T),
    nothing_of_it(T),
    exit(P, kill),
    nothing_left(T).

full_kprof_top_killed(T) ->
    work(T),
    {Peer, Owner, K} = other_owner(T, trace_config([{entry, 1}])),
    Owner ! {self(), {ask, K, {full, (request())#{run_ms => 10 * ?PATIENCE}}}},
    receive {Owner, ok} -> ok after ?PATIENCE -> error(no_answer) end,
    P = process(T, many),
    ?soon(fun() -> rpc:call(T, agent_full_log, flagged, []) =/= [] end),
    Os = rpc:call(Peer, os, getpid, []),
    os:cmd("kill -9 " ++ Os),
    gone(T),
    nothing_of_it(T),
    exit(P, kill),
    nothing_left(T).
