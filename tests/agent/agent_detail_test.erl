%% Requests that are followed in detail: which processes have the flags, for how long, and how many events there are. Run by
%% agent_test.
-module(agent_detail_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [load_parts/1, unload_parts/1, start/2, gone/1, ask/2, trace_config/2, traced/2, finish/2, run/3, messages/1, payloads/2, nothing_left/1]).

tests() ->
    [
        {detail_of_one_request, fun detail_of_one_request/1},
        {detail_of_some_requests, fun detail_of_some_requests/1},
        {detail_ends_with_the_breaker, fun detail_ends_with_the_breaker/1},
        {detail_ends_with_us, fun detail_ends_with_us/1},
        {detail_ends_with_the_lease, fun detail_ends_with_the_lease/1},
        {detail_ends_with_a_kill, fun detail_ends_with_a_kill/1},
        {detail_is_bounded, fun detail_is_bounded/1},
        {detail_is_limited, fun detail_is_limited/1},
        {detail_of_the_dead, fun detail_of_the_dead/1},
        {detail_of_too_many, fun detail_of_too_many/1},
        {detail_of_deep_calls, fun detail_of_deep_calls/1},
        {detail_of_deep_recursion, fun detail_of_deep_recursion/1},
        {receivers_are_found, fun receivers_are_found/1},
        {receivers_of_new_code, fun receivers_of_new_code/1}
    ].

%% Only from OTP 27.1 on.
allowed() -> list_to_integer(atom_to_list(get(version))) >= 27.

followed(T, More) -> traced(T, trace_config([{under, 2}], More#{detail => 1})).

%% A process that waits inside of a request.
waiting(T) ->
    P = rpc:call(T, agent_load, deep, [2, x]),
    ?soon(fun() -> rpc:call(T, erlang, process_info, [P, current_function]) =:= {current_function, {agent_load, down, 2}} end),
    P.

%% The same, in a request that is followed in detail where that is allowed. On a busy machine the limit of the cost leaves some
%% requests out.
waiting_in_detail(T) -> waiting_in_detail(T, 20).
waiting_in_detail(T, Left) ->
    P = waiting(T),
    IsFollowed = fun() -> lists:member(running, scheduling(T, P)) end,
    case allowed() of
        false ->
            ?equal(IsFollowed(), false),
            P;
        true ->
            ?check(Left > 0),
            case agent_lib:until(1000, IsFollowed) of
                true -> P;
                false -> P ! {[1, 2 | x], stop}, waiting_in_detail(T, Left - 1)
            end
    end.

set_of(T, P) -> maps:get(flags, rpc:call(T, agent_load, set_of, [P])).

scheduling(T, P) -> [F || F <- set_of(T, P), lists:member(F, [running, scheduler_id, garbage_collection])].

details(K) ->
    {ok, _, _} = ask(K, flush),
    details().
details() ->
    receive {kd, _, _, Ms} -> lists:reverse(Ms) ++ details()
    after 0 -> []
    end.

detail_of_one_request(T) ->
    K = followed(T, #{}),
    P = waiting(T),
    case allowed() of
        false ->
            ?equal(scheduling(T, P), []),
            P ! {[1, 2 | x], stop},
            ?equal(details(K), []);
        true ->
            ?soon(fun() -> lists:member(running, scheduling(T, P)) end),
            put(events, []),
            Out = fun() -> put(events, get(events) ++ details(K)), get(events) end, % they may come in several messages
            P ! {[1, 2 | x], stop},
            ?soon(fun() ->
                case [{W, MFA} || {trace_ts, Q, W, MFA, _, _} <- Out(), Q =:= P, W =/= receives] of
                    [] -> false;
                    Events ->
                        %% the process waits in down/2 and continues there; it is also scheduled there to answer the queries of this test
                        Down = [W || {W, {_, down, _}} <- Events],
                        Down =/= [] andalso lists:usort([hd(Down) | [lists:sublist(Down, I, 2) || I <- lists:seq(1, length(Down), 2)]]) =:= [out, [out, in]]
                end
            end),
            ?soon(fun() -> not lists:member(running, scheduling(T, P)) end)
    end,
    finish(T, K).

%% About 1 in 4, and their label has the bit.
detail_of_some_requests(T) ->
    K = traced(T, trace_config([{entry, 1}, {leaf, 1}], #{detail => 4})),
    run(T, entries, [lists:seq(1, 2000)]),
    Ms = messages(K),
    [Of, Leaves] = [[Label bsr 48 || {_, Label, _} <- [{element(1, M), element(2, M), x} || M <- payloads(Ms, F)]] || F <- [entry, leaf]],
    ?equal(length(Of), 2000),
    ?equal(Of, Leaves),
    N = lists:sum(Of),
    case allowed() of
        true -> ?check(N > 400 andalso N < 600);
        false -> ?equal(N, 0)
    end,
    details(),
    finish(T, K).

detail_ends_with_the_breaker(T) ->
    K = followed(T, #{}),
    P = waiting_in_detail(T),
    ok = ask(K, {trip, <<"a test">>}),
    ?soon(fun() -> set_of(T, P) =:= [] end),
    P ! {[1, 2 | x], stop},
    finish(T, K).

detail_ends_with_us(T) ->
    K = followed(T, #{}),
    P = waiting(T),
    finish(T, K),
    ?equal(set_of(T, P), []),
    P ! {[1, 2 | x], stop},
    nothing_left(T).

%% kprof-top sends nothing more, so the lease expires.
detail_ends_with_the_lease(T) ->
    K = start(T, #{pause_ms => 1000, end_ms => 10 * ?PATIENCE}),
    {ok, _} = ask(K, {config, trace_config([{under, 2}], #{detail => 1})}),
    ok = ask(K, {tracing, true}),
    P = waiting_in_detail(T),
    ?soon(fun() -> set_of(T, P) =:= [] end),
    P ! {[1, 2 | x], stop},
    finish(T, K).

%% Relay and controller at once.
detail_ends_with_a_kill(T) ->
    followed(T, #{}),
    P = waiting_in_detail(T),
    rpc:call(T, agent_load, kill, [[rpc:call(T, erlang, whereis, [N]) || N <- [kprof_relay_00, kprof_controller_00]], 0]),
    gone(T),
    ?equal(set_of(T, P), []),
    P ! {[1, 2 | x], stop},
    nothing_left(T).

%% A process that is scheduled out repeatedly inside of a request loses the flags before it returns.
detail_is_bounded(T) ->
    K = traced(T, trace_config([{yields, 2}], #{detail => 1})),
    P = rpc:call(T, agent_load, yielding, [200000]), % enough for the bound on a slow machine, too
    case allowed() of
        true ->
            ?soon(fun() -> receive {kd, _, Dropped, Ms} -> Dropped > 0 andalso [1 || {trace_ts, Q, off, 0, _} <- Ms, Q =:= P] =/= [] after 0 -> false end end),
            ?soon(fun() -> not lists:member(running, scheduling(T, P)) end);
        false ->
            ?equal(scheduling(T, P), [])
    end,
    ?equal(rpc:call(T, erlang, is_process_alive, [P]), true),
    exit(P, kill),
    finish(T, K).

%% Requests that make many events: fewer of them are followed, and all again when there are no such requests any more.
detail_is_limited(T) ->
    K = traced(T, trace_config([{yields, 2}], #{detail => 1})),
    Followed = fun() -> receive {kh, _, #{detail := N, detail_why := Why}} -> {N, Why} after ?PATIENCE -> error(no_heartbeat) end end,
    case allowed() of
        true ->
            ?soon(fun() ->
                Ps = [rpc:call(T, agent_load, yielding, [4000]) || _ <- lists:seq(1, 4)],
                {N, Why} = Followed(),
                [P ! stop || P <- Ps],
                Why =:= 2 andalso N > 1
            end),
            ?soon(fun() -> Followed() =:= {1, 0} end);
        false ->
            ?equal({0, 1}, Followed())
    end,
    finish(T, K).

%% A process that is killed inside of a request is forgotten. The VM schedules it in to end it, and it has no event after that.
detail_of_the_dead(T) ->
    K = followed(T, #{}),
    P = waiting_in_detail(T),
    exit(P, kill),
    allowed() andalso ?soon(fun() ->
        waiting(T) ! {[1, 2 | x], stop}, % the relay looks when it has a batch
        lists:suffix([off], [element(3, M) || M <- details(K), element(2, M) =:= P])
    end),
    finish(T, K).

%% More processes than are followed at the same time: those inside of a call have an event that says that their state is not known.
detail_of_too_many(T) ->
    load_parts(T),
    [Ended, Out | _] = Ps = [list_to_pid("<0." ++ integer_to_list(I) ++ ".1>") || I <- lists:seq(1, 1001)],
    D0 = rpc:call(T, kprof_detail, new, [[running]]),
    {[], D1} = split(T, [call_by(P, {m, a, 0}) || P <- tl(tl(Ps))] ++ [call_by(Out, {m, a, 0}), hd(out_and_in(Out))], 0, D0),
    {Events, D2} = split(T, [call_by(Ended, {m, a, 0}), back_to(Ended, {m, a, 0})], 0, D1),
    ?check(lists:sort([P || {trace_ts, P, off, 0, _} <- Events]) =:= lists:sort(tl(Ps))),
    ?equal([element(3, M) || M <- Events, element(2, M) =:= Out], [out, off]),
    ?equal(length(Events), 1001),
    {[], _} = split(T, out_and_in(Out), 0, D2),
    unload_parts(T).

%% The relay's part alone: a batch, oldest first. -> {events, oldest first, its state}
split(T, Ms, Now, D0) ->
    {_, _, Events, N, D} = rpc:call(T, kprof_detail, split, [lists:reverse(Ms), none, Now, D0]),
    ?equal(length(Events), N),
    {lists:reverse(Events), D}.

call_by(P, Caller) -> {trace_ts, P, call, {m, f, 0}, {1, kprof_spec:detail_label(), Caller}, erlang:monotonic_time()}.

back_to(P, Caller) -> {trace_ts, P, return_to, Caller, erlang:monotonic_time()}.

out_and_in(P) ->
    Ms = erlang:convert_time_unit(1, millisecond, native),
    Ts = erlang:monotonic_time(),
    [{trace_ts, P, out, {m, f, 0}, 1, Ts}, {trace_ts, P, in, {m, f, 0}, 1, Ts + Ms}].

%% Calls by these callers, the first one the outermost; then the messages; are there events then?
has_events_after(T, Callers, Messages) ->
    P = self(),
    D0 = rpc:call(T, kprof_detail, new, [[running]]),
    {[], D1} = split(T, [call_by(P, C) || C <- Callers] ++ Messages(P), 0, D0),
    OutAndIn = out_and_in(P),
    {Events, _} = split(T, OutAndIn, 0, D1),
    ?check(Events =:= [] orelse Events =:= OutAndIn),
    Events =/= [].

%% Calls beyond the depth that is kept.
detail_of_deep_calls(T) ->
    load_parts(T),
    Callers = [{m, list_to_atom("f" ++ integer_to_list(I)), 0} || I <- lists:seq(1, 70)],
    Inner = tl(lists:reverse(Callers)),
    Returned = fun(Cs) -> fun(P) -> [back_to(P, C) || C <- Cs] end end,
    ?equal(has_events_after(T, lists:sublist(Callers, 65), Returned([lists:nth(65, Callers)])), true),
    ?equal(has_events_after(T, Callers, Returned([])), true),
    ?equal(has_events_after(T, Callers, Returned([lists:last(Callers) | lists:droplast(Inner)])), true),
    ?equal(has_events_after(T, Callers, Returned([lists:last(Callers) | Inner])), false),
    %% exceptions: the calls above have no returns
    ?equal(has_events_after(T, Callers, Returned([lists:nth(10, Callers)])), true),
    ?equal(has_events_after(T, Callers, Returned([lists:nth(10, Callers), hd(Callers)])), false),
    ?equal(has_events_after(T, Callers, Returned([hd(Callers)])), false),
    unload_parts(T).

%% The caller of the outermost call is called again by it, and so on: only its last return ends the call. A tail call has no return
%% of its own.
detail_of_deep_recursion(T) ->
    load_parts(T),
    Callers = lists:append(lists:duplicate(50, [{m, a, 0}, {m, b, 0}])),
    Returns = fun(N) -> fun(P) -> [back_to(P, C) || C <- lists:sublist(lists:reverse(Callers), N)] end end,
    [?equal({N, has_events_after(T, Callers, Returns(N))}, {N, N < 100}) || N <- [0, 1, 35, 36, 37, 64, 98, 99, 100]],
    Tails = [{m, a, 0} | lists:duplicate(100, {m, b, 0})],
    ?equal(has_events_after(T, Tails, fun(P) -> [back_to(P, {m, b, 0})] end), true),
    ?equal(has_events_after(T, Tails, fun(P) -> [back_to(P, {m, b, 0}), back_to(P, {m, a, 0})] end), false),
    unload_parts(T).

receivers_are_found(T) ->
    load_parts(T),
    Found = rpc:call(T, kprof_module_file, receivers, [gen]),
    ?check(lists:keymember(do_call, 1, Found)),
    ?equal(rpc:call(T, kprof_module_file, receivers, [lists]), []),
    ?equal(rpc:call(T, kprof_module_file, receivers, [no_such_module]), none),
    unload_parts(T).

%% A function that receives messages, and none after a load of new code.
receivers_of_new_code(T) ->
    load_parts(T),
    M = list_to_atom("agent_new_code_" ++ os:getpid()),
    Base = "/tmp/" ++ atom_to_list(M),
    Helper = rpc:call(T, erlang, spawn, [kprof_detail, helper, [self()]]),
    Asked = fun(Body) ->
        load_from_file(T, M, Base, Body),
        Helper ! {receives, self(), {M, f, 0}},
        receive {told, {trace_ts, P, receives, {M, f, 0}, Answer, _}} when P =:= self() -> Answer after ?PATIENCE -> error({not_told, Body}) end
    end,
    Receives = {'receive', 1, [{clause, 1, [{atom, 1, a}], [], [{atom, 1, b}]}]},
    ?equal([Asked(Receives), Asked(Receives), Asked({atom, 1, b}), Asked(Receives)], [1, 1, 0, 1]),
    Helper ! stop,
    rpc:call(T, file, delete, [Base ++ ".beam"]),
    [rpc:call(T, code, What, [M]) || What <- [purge, delete, purge]],
    unload_parts(T).

load_from_file(T, M, Base, Body) ->
    {ok, M, Beam} = compile:forms([{attribute, 1, module, M}, {attribute, 1, export, [{f, 0}]}, {function, 1, f, 0, [{clause, 1, [], [], [Body]}]}]),
    ok = rpc:call(T, file, write_file, [Base ++ ".beam", Beam]),
    rpc:call(T, code, purge, [M]),
    {module, M} = rpc:call(T, code, load_abs, [Base]).
