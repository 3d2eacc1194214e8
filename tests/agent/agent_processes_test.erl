%% The process table: what it says of processes of known behaviour, its order and its sums, what it may cost, and that nothing
%% of it is left. Part of the agent's tests (agent_test runs them).
-module(agent_processes_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    load/2, load_parts/1, start/2, ask/2, finish/2, traced/2, trace_config/1, until/2, nothing_left/1, gone/1, drain/0, other_owner/2, seed/0, told_gone/0
]).

tests() ->
    [
        {processes_period_keeps_the_budget, fun processes_period_keeps_the_budget/1},
        {processes_are_as_they_are, fun processes_are_as_they_are/1},
        {processes_by_each_column, fun processes_by_each_column/1},
        {processes_add_up, fun processes_add_up/1},
        {processes_of_a_group, fun processes_of_a_group/1},
        {processes_of_another_request, fun processes_of_another_request/1},
        {processes_are_born_and_die, fun processes_are_born_and_die/1},
        {processes_suspended, fun processes_suspended/1},
        {a_walk_has_few_pids_on_its_heap, fun a_walk_has_few_pids_on_its_heap/1},
        {processes_hazards, fun processes_hazards/1},
        {processes_first_rate_is_soon, fun processes_first_rate_is_soon/1},
        {processes_many, fun processes_many/1},
        {processes_gate_of_the_breaker, fun processes_gate_of_the_breaker/1},
        {processes_end_unasked, fun processes_end_unasked/1},
        {processes_killed, fun processes_killed/1},
        {processes_controller_killed, fun processes_controller_killed/1},
        {processes_kprof_top_killed, fun processes_kprof_top_killed/1}
    ].

%% ---- Values ----

%% Whatever a round costs: the period is that asked for, or as long as the budget needs, but not longer than that.
processes_period_keeps_the_budget(_) ->
    seed(),
    [
        begin
            [Asked, Ns, Schedulers, Budget] = [rand:uniform(Most) || Most <- [5000000, 2000000000, 64, 100000]],
            Us = kprof_stack_rate:period(Asked, Ns, Schedulers, Budget),
            Cost = kprof_stack_rate:cost(0, 0, Ns, Us * 1000 * Schedulers),
            ?check(Us >= Asked),
            ?check(Cost =< Budget orelse Us =:= max(Asked, 60000000)),
            ?check(Us =:= Asked orelse Cost * 2 > Budget orelse Ns < 1000000)
        end
     || _ <- lists:seq(1, 1000)
    ],
    ?equal(kprof_stack_rate:period(7, 1000000000, 1, 0), 7).

%% ---- Reports ----

begun(T) -> start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}).

%% Rounds until one is Enough.
rounds(K, Asked, Enough) -> rounds(K, Asked, Enough, erlang:monotonic_time(millisecond) + ?PATIENCE).

rounds(K, Asked, Enough, Until) ->
    ?check(erlang:monotonic_time(millisecond) < Until),
    case ask(K, {processes, Asked}) of
        {processes, _, _, _, Rows, Calls, Apps} = Round ->
            ?check(length(Rows) =< 200),
            ?check(length(Calls) =< 201),
            ?check(length(Apps) =< 201),
            case Enough(Round) of
                true -> Round;
                false -> rounds(K, Asked, Enough, Until)
            end;
        {wait, #{next_us := Next, period_us := Us}} ->
            ?check(Next =< Us),
            receive after 20 -> rounds(K, Asked, Enough, Until) end
    end.

second({processes, _, _, #{between_us := Us}, _, _, _}) -> Us > 0.
rows({processes, _, _, _, Rows, _, _}) -> Rows.
figures({processes, _, _, Figures, _, _, _}) -> Figures.
calls({processes, _, _, _, _, Calls, _}) -> Calls.
apps({processes, _, _, _, _, _, Apps}) -> Apps.

row(P, Round) -> lists:keyfind(P, 1, rows(Round)).
values(P, Round) -> element(6, row(P, Round)).
has(P, Round) -> second(Round) andalso row(P, Round) =/= false.

processes_are_as_they_are(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 5]),
    [Burner] = rpc:call(T, agent_burn, pids, [Keeper, burn]),
    [Queue] = rpc:call(T, agent_burn, pids, [Keeper, queue]),
    K = begun(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    Asked = #{by => reductions, period_ms => 500},
    {processes, 1, reductions, #{between_us := 0}, _, _, _} = rounds(K, Asked, fun(_) -> true end),
    Round = rounds(K, Asked, fun(R) -> has(Burner, R) end),
    {Burner, 0, {agent_burn, burn, 1}, _, {agent_burn, F, _}, {Total, Reductions, _, _, Words, _, Gcs, Statuses}} = row(Burner, Round),
    ?check(lists:member(F, [burn, f, g, h])),
    ?check(Reductions > 0 andalso Total > Reductions andalso Words > 0 andalso Gcs >= 0),
    ?check(lists:member(Statuses band 7, [1, 2])),
    ?equal(element(1, hd(rows(Round))), Burner),
    %% what the node says itself, at about that time
    Enough = fun(R) -> has(Queue, R) andalso element(4, values(Queue, R)) > 0 end,
    Grown = rounds(K, Asked#{by => growth}, Enough),
    {_, Length} = rpc:call(T, erlang, process_info, [Queue, message_queue_len]),
    ?check(element(3, values(Queue, Grown)) =< Length),
    ?equal([P || {P, _, {M, _, _}, _, _, _} <- rows(Round), lists:member(M, ?MODULES)], []),
    ?equal(ask(K, {processes, off}), ok),
    ?soon(fun() -> left(T) =:= [] end),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

%% For each column, the process with the largest value is in the table.
processes_by_each_column(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 20]),
    Large = rpc:call(T, agent_burn, sized, [90000, on_heap]), % no heap that a hazard leaves out
    K = begun(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    Of = fun(Kind) -> hd(rpc:call(T, agent_burn, pids, [Keeper, Kind])) end,
    [
        rounds(K, #{by => By, period_ms => 500, rows => 5}, fun(R) -> element(3, R) =:= By andalso has(P, R) andalso length(rows(R)) =< 5 end)
     || {By, P} <- [{reductions, Of(burn)}, {queue, Of(queue)}, {growth, Of(queue)}, {binary, Of(hoard)}, {memory, Large}]
    ],
    ?equal(ask(K, {processes, #{by => messages}}), {error, processes, <<"no such column, or no such group">>}),
    exit(Large, kill),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

sum(I, Groups) -> lists:sum([element(I, Sums) || {_, Sums} <- Groups]).

%% Each process is in one group by initial call, and in one by application.
processes_add_up(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 50]),
    K = begun(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    Round = rounds(K, #{by => memory, period_ms => 500}, fun second/1),
    #{processes := N} = figures(Round),
    ?check(abs(N - length(rpc:call(T, erlang, processes, []))) < 20),
    ?equal(sum(1, calls(Round)), N),
    [?equal(sum(I, calls(Round)), sum(I, apps(Round))) || I <- lists:seq(1, 7)],
    {_, Idle} = lists:keyfind({agent_burn, idle, 0}, 1, calls(Round)),
    ?equal(element(1, Idle), 50),
    {_, Kernel} = lists:keyfind(<<"kernel">>, 1, apps(Round)),
    ?check(element(1, Kernel) > 5 andalso element(5, Kernel) > 0),
    %% if all have a row, the rows add up to the groups
    length(rows(Round)) < 200 andalso ?equal(lists:sum([element(5, V) || {_, _, _, _, _, V} <- rows(Round)]), sum(5, calls(Round))),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

%% What proc_lib has started gets the name that is in its dictionary, in its row and then in the sums.
processes_of_a_group(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 10]),
    K = begun(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    Sup = rpc:call(T, erlang, whereis, [kernel_sup]),
    Named = fun(R) -> has(Sup, R) andalso lists:keymember({supervisor, kernel, 1}, 1, calls(R)) end,
    Round = rounds(K, #{by => memory, period_ms => 500}, Named),
    {Sup, kernel_sup, {supervisor, kernel, 1}, <<"kernel">>, {gen_server, _, _}, _} = row(Sup, Round),
    Only = fun(R) -> second(R) andalso rows(R) =/= [] andalso lists:usort([Call || {_, _, Call, _, _, _} <- rows(R)]) =:= [{agent_burn, idle, 0}] end,
    Idle = rounds(K, #{by => memory, period_ms => 500, within => {initial_call, {<<"agent_burn">>, <<"idle">>, 0}}}, Only),
    ?equal(length(rows(Idle)), 10),
    OfKernel = fun(R) -> second(R) andalso rows(R) =/= [] andalso lists:usort([App || {_, _, _, App, _, _} <- rows(R)]) =:= [<<"kernel">>] end,
    rounds(K, #{by => memory, period_ms => 500, within => {application, <<"kernel">>}}, OfKernel),
    rounds(K, #{by => memory, period_ms => 500, within => {initial_call, {<<"no_such_module_here">>, <<"f">>, 0}}}, fun(R) -> rows(R) =:= [] end),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

%% What a round was begun for is no answer to another request.
processes_of_another_request(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 1000]),
    K = begun(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    All = #{by => reductions, period_ms => 500},
    Group = #{by => memory, period_ms => 500, within => {application, <<"kernel">>}},
    rounds(K, All, fun second/1),
    Catcher = rpc:call(T, agent_load, catch_one, [self(), kprof_tools_00, "process_round_"]),
    receive {held, Catcher, _} -> ok after ?PATIENCE -> error(not_held) end,
    Switched = ask(K, {processes, Group}),
    rpc:call(T, agent_load, let_go, [Catcher]),
    only_kernel(case Switched of {wait, _} -> rounds(K, Group, fun(_) -> true end); _ -> Switched end),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

only_kernel(Round) ->
    ?equal(element(3, Round), memory),
    ?equal(lists:usort([App || {_, _, _, App, _, _} <- rows(Round)]), [<<"kernel">>]).

processes_are_born_and_die(T) ->
    load(T, agent_burn),
    K = begun(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    Asked = #{by => memory, period_ms => 500},
    rounds(K, Asked, fun second/1),
    Keeper = rpc:call(T, agent_burn, start, [1, 30]),
    rounds(K, Asked, fun(R) -> maps:get(born, figures(R)) >= 30 end),
    rpc:call(T, agent_burn, stop, [Keeper]),
    rounds(K, Asked, fun(R) -> maps:get(died, figures(R)) >= 30 end),
    finish(T, K).

%% ---- Limits ----

%% Suspended processes have their status.
processes_suspended(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [4, 20]),
    Idle = rpc:call(T, agent_burn, pids, [Keeper, idle]),
    Holders = [rpc:call(T, agent_load, hold, [P]) || P <- lists:sublist(Idle, 5)],
    K = begun(T),
    ok = ask(K, {limits, ?NO_LIMITS}),
    Held = fun(R) -> second(R) andalso [P || P <- lists:sublist(Idle, 5), row(P, R) =:= false orelse element(8, values(P, R)) band 7 =/= 5] =:= [] end,
    rounds(K, #{by => memory, period_ms => 500}, Held),
    [rpc:call(T, agent_load, let_go, [H]) || H <- Holders],
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

vm_with(Erts) -> #{otp => <<"x">>, erts => Erts, jit => true, word_bytes => 8, beside => false, common => false}.

%% Rows of the hazard table, whatever this VM is: no length of a queue off heap, no question to a process with a large heap.
processes_hazards(T) ->
    load_parts(T),
    load(T, agent_burn),
    [Off, On, Large] = [rpc:call(T, agent_burn, sized, [Words, Queue]) || {Words, Queue} <- [{100, off_heap}, {100, on_heap}, {400000, on_heap}]],
    Of = fun(Erts) ->
        {Rows, _, _, _} = rpc:call(T, agent_load, processes_round, [vm_with(Erts), reductions]),
        [begin {_, _, _, _, Now, V} = lists:keyfind(P, 1, Rows), {Now =/= 0, element(3, V)} end || P <- [Off, On, Large]]
    end,
    [?equal({Erts, Of(Erts)}, {Erts, [{true, -1}, {true, 0}, {false, 0}]}) || Erts <- [[13, 1, 5], [14, 1]]],
    [?equal({Erts, Of(Erts)}, {Erts, [{true, 0}, {true, 0}, {false, 0}]}) || Erts <- [[13, 2, 2, 5], [14, 2, 1], [15, 2, 7], [16, 2]]],
    [?equal({Erts, Of(Erts)}, {Erts, [{true, 0}, {true, 0}, {true, 0}]}) || Erts <- [[13, 2, 2, 6], [17, 1]]],
    [exit(P, kill) || P <- [Off, On, Large]].

%% The first round reads more of each process. The second one, with the first values per second, does not wait until that is paid
%% for; the third one does.
processes_first_rate_is_soon(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 5000]),
    K = begun(T),
    ok = ask(K, {limits, #{max_cost => 20000 div rpc:call(T, erlang, system_info, [schedulers_online])}}),
    Asked = #{by => memory, period_ms => 500},
    Betweens = first_three(K, Asked, [], 20),
    [0, Second, Third] = Betweens,
    ?equal({Betweens, 2 * Second < Third}, {Betweens, true}),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

%% The time between the first three rounds. The table begins anew after a pause, as on a busy machine, where the run queue is long.
first_three(_, _, [_, _, _] = Betweens, _) ->
    lists:reverse(Betweens);
first_three(K, Asked, Before, Left) when Left > 0 ->
    #{between_us := Us} = figures(rounds(K, Asked, fun(_) -> true end)),
    first_three(K, Asked, if Us =:= 0 -> [0]; true -> [Us | Before] end, Left - 1).

%% 20,000 processes: the report has a bounded size, and its cost stays below the limit.
processes_many(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 20000]),
    K = begun(T),
    Most = 20000 div rpc:call(T, erlang, system_info, [schedulers_online]), % 2 % of a scheduler
    ok = ask(K, {limits, #{max_cost => Most}}),
    Slow = fun(R) -> #{processes := N, period_us := Us, cost := Cost, asked_us := 500000} = figures(R), N > 20000 andalso Us > 500000 andalso Cost =< Most end,
    Round = rounds(K, #{by => memory, period_ms => 500}, Slow),
    ?equal(length(rows(Round)), 200),
    ?check(byte_size(term_to_binary(Round)) < 100000),
    {_, Idle} = lists:keyfind({agent_burn, idle, 0}, 1, calls(Round)),
    ?equal(element(1, Idle), 20000),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

processes_gate_of_the_breaker(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {limits, #{cooldown_ms => 3000}}),
    Asked = #{by => memory, period_ms => 500},
    rounds(K, Asked, fun second/1),
    ok = ask(K, {trip, <<"a test">>}),
    Closed = fun() -> case ask(K, {processes, Asked}) of {wait, #{gate := Gate}} -> Gate =:= 1; _ -> false end end,
    ?soon(Closed),
    [?check(Closed()) || _ <- lists:seq(1, 20)],
    {processes, _, _, #{between_us := 0}, _, _, _} = rounds(K, Asked, fun(_) -> true end), % what was known is forgotten
    finish(T, K).

%% ---- The end ----

%% The agent's processes for the table.
left(T) -> rpc:call(T, agent_load, samplers, ["process_"]).

shown(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    rounds(K, #{by => memory, period_ms => 500}, fun second/1),
    ?check(left(T) =/= []),
    K.

%% kprof-top asks for other things only.
processes_end_unasked(T) ->
    K = shown(T),
    ?soon(fun() -> {pong, _} = ask(K, ping), left(T) =:= [] end),
    rounds(K, #{by => memory, period_ms => 500}, fun second/1),
    finish(T, K),
    ?soon(fun() -> left(T) =:= [] end),
    nothing_left(T).

%% kprof-top is told, and may begin anew.
processes_killed(T) ->
    K = shown(T),
    [exit(P, kill) || P <- left(T)],
    receive {ke, processes, Text} -> ?check(string:find(Text, "killed") =/= nomatch) after ?PATIENCE -> error(not_told) end,
    rounds(K, #{by => memory, period_ms => 500}, fun second/1),
    finish(T, K),
    ?soon(fun() -> left(T) =:= [] end),
    nothing_left(T).

processes_controller_killed(T) ->
    K = shown(T),
    exit(K, kill),
    told_gone(),
    gone(T),
    ?equal(left(T), []),
    nothing_left(T),
    drain().

processes_kprof_top_killed(T) ->
    {Peer, Owner, K} = other_owner(T, trace_config([{entry, 1}])),
    Owner ! {self(), {ask, K, {processes, #{by => memory}}}},
    receive {Owner, {wait, _}} -> ok after ?PATIENCE -> error(no_answer) end,
    ?soon(fun() -> left(T) =/= [] end),
    rpc:call(Peer, erlang, halt, [0, [{flush, false}]]),
    gone(T),
    ?equal(left(T), []),
    nothing_left(T).

%% Otherwise each of its garbage collections copies the list, and stops a scheduler meanwhile.
a_walk_has_few_pids_on_its_heap(T) ->
    agent_lib:load_parts(T),
    Most = rpc:call(T, agent_load, walked_heap, [60000]), % their list has 120,000 words
    agent_lib:unload_parts(T),
    ?equal({Most, Most > 0, Most < 50000}, {Most, true, true}).
