%% Polls of processes in which requests hang: how many, how often, what they cost, and when they end. Run by agent_test.
-module(agent_hang_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [load_parts/1, unload_parts/1, ask/2, trace_config/1, traced/2, finish/2, numbers/2, nothing_left/1, told_gone/0, gone/1, other_owner/2, isolated/1, vm_events_switched/1]).

tests() ->
    [
        {large_heaps_get_no_signal, fun large_heaps_get_no_signal/1},
        {long_queues_are_not_walked, fun long_queues_are_not_walked/1},
        {who_does_not_answer_holds_nobody_up, fun who_does_not_answer_holds_nobody_up/1},
        {who_does_not_answer_is_left_out, fun who_does_not_answer_is_left_out/1},
        {polls_are_bounded, fun polls_are_bounded/1},
        {polls_of_the_dead, fun polls_of_the_dead/1},
        {polls_stop_with_the_breaker, fun polls_stop_with_the_breaker/1},
        {polls_set_no_flag, fun polls_set_no_flag/1},
        {polls_end_with_the_controller, fun polls_end_with_the_controller/1},
        {polls_end_with_kprof_top, fun polls_end_with_kprof_top/1},
        {polls_cost, fun polls_cost/1}
    ].

%% Processes that wait.
waiting(T, N) ->
    Ps = [rpc:call(T, agent_load, deep, [2, x]) || _ <- lists:seq(1, N)],
    [?soon(fun() -> rpc:call(T, erlang, process_info, [P, current_function]) =:= {current_function, {agent_load, down, 2}} end) || P <- Ps],
    Ps.

%% A process in a long native function: the questions end after a second. The other questions are answered meanwhile. It stays in
%% the function until the test lets it go: so all answers are about a process that cannot answer, however slow the machine is.
who_does_not_answer_holds_nobody_up(T) ->
    [Other] = waiting(T, 1),
    Result = beside_a_blocked(T, fun(K, P) ->
        [Blocked, Waits] = [numbers(T, One) || One <- [P, Other]],
        {Id, Serial} = Blocked,
        ?equal(ask(K, {alive, [Blocked]}), []),
        ?equal(ask(K, {stack, Blocked}), [<<"the process did not answer within a second: it may be in a long native function">>]),
        %% On a busy machine the other one may need more than this second, too.
        ?soon(fun() ->
            [{Id, Serial, <<>>}, {_, _, Known}] = ask(K, {who, [Blocked, Waits]}),
            Known =/= <<>>
        end)
    end),
    stop([Other]),
    Result.

%% The process table and the choices of processes to sample wait for it once; then they leave it out, until it answers.
who_does_not_answer_is_left_out(T) ->
    Late = fun(K, Is) -> ?soon(fun() -> case round_of(K) of #{late := N} -> Is(N); _ -> false end end) end,
    beside_a_blocked(T, fun(K, _) ->
        ok = ask(K, {limits, ?NO_LIMITS}),
        Late(K, fun(N) -> N > 0 end),
        ok = ask(K, {processes, off}),
        ok = ask(K, {stacks, #{who => all, interval_us => 5000}}),
        ?got({ks, _, _, _, _, _, _, _, [_ | _]}),
        ok = ask(K, {stacks, off}),
        Late(K, fun(N) -> N > 0 end),
        fun() -> Late(K, fun(N) -> N =:= 0 end), ok = ask(K, {processes, off}) end
    end).

%% The figures of a round of the process table.
round_of(K) ->
    case ask(K, {processes, #{by => reductions, period_ms => 500}}) of
        {processes, _, _, #{processes := N} = Figures, [_ | _], _, _} when N > 5 -> Figures;
        {wait, _} -> receive after 50 -> #{} end
    end.

%% Test(K, Blocked process), and then what it returns if that is a function, when the process answers again.
beside_a_blocked(T, Test) ->
    case rpc:call(T, erlang, system_info, [schedulers_online]) of
        1 -> skipped; % then nobody else can run
        _ -> beside_one(T, Test)
    end.

beside_one(T, Test) ->
    K = traced(T, trace_config([{entry, 1}])),
    _ = round_of(K), % loads the second module: no code is loaded while a scheduler is blocked
    ok = ask(K, {processes, off}),
    %% To switch VM events on, the VM stops all schedulers (OTP 28+): not during a function that only the test ends.
    ?got({kh, _, #{vm_events := On}} when On > 0),
    ?soon(fun() -> vm_events_switched(T) end),
    {P, Waker} = rpc:call(T, agent_load, blocked, [self()]),
    After = try Test(K, P) after exit(Waker, kill) end,
    ?got(ends),
    is_function(After) andalso After(),
    finish(T, K).

polls_are_bounded(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Ps = waiting(T, 6),
    {TotalUs, Polls} = ask(K, {hang, [numbers(T, P) || P <- Ps]}),
    Of = fun(I) -> [At || {J, At, _, _} <- Polls, J =:= I] end,
    ?equal(lists:usort([I || {I, _, _, _} <- Polls]), [0, 1, 2, 3]), % 4 of them
    ?check(lists:all(fun({_, At, Status, Place}) ->
        At =< TotalUs andalso Status =:= 3 andalso
            Place =:= <<"agent_load:down/2 < agent_load:under/2 < agent_load:down/2">>
    end, Polls)),
    Gaps = [B - A || I <- [0, 1, 2, 3], {A, B} <- pairs(Of(I))],
    ?check(Gaps =:= [] orelse lists:min(Gaps) >= 4990), % a pause of 5 ms, in whole us
    ?check(length(Polls) =< 4 * 11),
    finish(T, K),
    stop(Ps).

%% Where a signal can block a process with a large heap, its name and its state come without one.
large_heaps_get_no_signal(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    [Large, Small] = [rpc:call(T, erlang, spawn_opt, [erlang, apply, [timer, sleep, [infinity]], [{min_heap_size, Words}]]) || Words <- [300000, 300]],
    [{Id, Serial}, Other] = Both = [numbers(T, P) || P <- [Large, Small]],
    Sleeps = <<"timer:sleep/1">>,
    Erts = [list_to_integer(N) || N <- string:tokens(rpc:call(T, erlang, system_info, [version]), ".")],
    case kprof_hazard:allowed(sample_large, (kprof_hazard:vm())#{erts := Erts}) of
        true ->
            [{Id, Serial, Sleeps}, {_, _, Sleeps}] = ask(K, {who, Both}),
            ?check(binary:match(hd(ask(K, {stack, {Id, Serial}})), Sleeps) =/= nomatch);
        false ->
            [{Id, Serial, <<"erlang:apply/3">>}, {_, _, Sleeps}] = ask(K, {who, Both}),
            [Why] = ask(K, {stack, {Id, Serial}}),
            ?check(binary:match(Why, <<"B7">>) =/= nomatch)
    end,
    ?check(binary:match(hd(ask(K, {stack, Other})), Sleeps) =/= nomatch),
    ?equal(ask(K, {alive, Both}), []),
    [exit(P, kill) || P <- [Large, Small]],
    ?soon(fun() -> ask(K, {alive, Both}) =:= Both end),
    ?equal(ask(K, {stack, {Id, Serial}}), dead),
    finish(T, K).

%% On a VM where processes with large heaps are not asked: to read the size of a heap, the VM would walk the messages. The length of
%% a queue is told without it.
long_queues_are_not_walked(T) ->
    load_parts(T),
    Vm = (rpc:call(T, kprof_hazard, vm, []))#{erts := [15, 2, 7]},
    Long = rpc:call(T, agent_load, with_queue, [10001]),
    true = rpc:call(T, erlang, register, [agent_load_long, Long]),
    Asked = fun(P, M, F, Args) -> rpc:call(T, agent_load, asked_of, [P, M, F, Args]) end,
    ?equal(Asked(Long, kprof_detail, ask, [self(), Long, Vm]), [message_queue_len]),
    ?got({told, {trace_ts, Long, queue, 10001, _}}),
    ?equal(Asked(Long, kprof_proc, queue, [<<"agent_load_long">>, Vm]), [message_queue_len]),
    ?equal(rpc:call(T, kprof_proc, queue, [<<"agent_load_long">>, Vm]), 10001),
    exit(Long, kill),
    unload_parts(T).

pairs([A, B | Rest]) -> [{A, B} | pairs([B | Rest])];
pairs(_) -> [].

stop(Ps) -> [P ! {[1, 2 | x], stop} || P <- Ps].

polls_of_the_dead(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    [P, Q] = waiting(T, 2),
    Asked = [numbers(T, One) || One <- [P, Q]],
    exit(P, kill),
    ?soon(fun() -> not rpc:call(T, erlang, is_process_alive, [P]) end),
    {_, Polls} = ask(K, {hang, Asked}),
    ?equal(lists:usort([I || {I, _, _, _} <- Polls]), [1]),
    {_, []} = ask(K, {hang, []}),
    finish(T, K),
    stop([Q]).

polls_stop_with_the_breaker(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    [P] = waiting(T, 1),
    {_, [_ | _]} = ask(K, {hang, [numbers(T, P)]}),
    ok = ask(K, {trip, <<"a test">>}),
    ?equal(ask(K, {hang, [numbers(T, P)]}), {0, []}),
    ok = ask(K, {tracing, false}),
    ?equal(ask(K, {hang, [numbers(T, P)]}), {0, []}),
    finish(T, K),
    stop([P]).

polls_set_no_flag(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    [P] = waiting(T, 1),
    ?soon(fun() -> flags(T, P) =/= [] end),
    Before = flags(T, P),
    {_, [_ | _]} = ask(K, {hang, [numbers(T, P)]}),
    ?equal(flags(T, P), Before),
    ?check(not lists:member(running, Before)),
    finish(T, K),
    stop([P]).

flags(T, P) -> maps:get(flags, rpc:call(T, agent_load, set_of, [P])).

%% The processes that run code of the agent.
polling(T) -> rpc:call(T, agent_load, polling, []).

polls_end_with_the_controller(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    [P] = waiting(T, 1),
    K ! {kp, ?KEY, 1, {hang, [numbers(T, P)]}},
    ?soon(fun() -> receive {kr, 1, _} -> K ! {kp, ?KEY, 1, {hang, [numbers(T, P)]}} after 0 -> ok end, polling(T) > 0 end),
    exit(K, kill),
    told_gone(),
    gone(T),
    ?equal(polling(T), 0),
    nothing_left(T),
    stop([P]).

%% kill -9, while processes are polled.
polls_end_with_kprof_top(T) ->
    {Peer, Pid, K} = other_owner(T, trace_config([{entry, 1}, {tier, 1}])),
    [P] = waiting(T, 1),
    Asked = numbers(T, P),
    Ask = fun() -> Pid ! {self(), {ask, K, {hang, [Asked]}}} end,
    Ask(),
    ?soon(fun() -> receive {Pid, _} -> Ask() after 0 -> ok end, polling(T) > 0 end),
    Os = rpc:call(Peer, os, getpid, []),
    os:cmd("kill -9 " ++ Os),
    gone(T),
    ?equal(polling(T), 0),
    nothing_left(T),
    stop([P]).

polls_cost(T) ->
    load_parts(T),
    {Costs, _} = rpc:call(T, kprof_calibration, calibrate, [true, true, ?EPOCH]),
    Seen = fun(S, Polls) ->
        #{now_ns => S * 1000000000, events => 0, weighted => 0, ticket => 1, relay_ns => 0, tier_calls_s => 0, sample => 1, entry => true, returns => lean,
          args => false, schedulers => 2, polls => Polls}
    end,
    Spent = fun(Each) ->
        Cost = lists:foldl(fun(S, C) -> rpc:call(T, kprof_cost, observe, [Seen(S, S * Each), C]) end, rpc:call(T, kprof_cost, new, [Costs]), lists:seq(1, 20)),
        rpc:call(T, kprof_cost, spent, [Cost])
    end,
    ?equal(Spent(0), {0, 0}),
    {All, Fixed} = Spent(800), % 800 polls a second on 2 schedulers
    ?equal(Fixed, 0),
    ?check(All > 1000 andalso All < 20000),
    unload_parts(T).
