%% Captures, and rules for their parts. Run by agent_test.
-module(agent_capture_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    until/2, start/1, start/2, unload/1, ask/2, trace_config/1, trace_config/2, traced/2, finish/2, run/3, messages/1, payloads/2,
    stop_workers/1, beat_now/1, beat_now/2, nothing_left/1, gone/1, set_now/1, isolated/1
]).

tests() ->
    [
        {capture_of_a_busy_function, fun capture_of_a_busy_function/1},
        {capture_of_one_process, fun capture_of_one_process/1},
        {large_processes_are_not_captured, fun large_processes_are_not_captured/1},
        {capture_that_ends_otherwise, fun capture_that_ends_otherwise/1},
        {a_captured_bif_is_still_traced, fun a_captured_bif_is_still_traced/1},
        {builtins_are_traced_when_a_session_has_ended, fun builtins_are_traced_when_a_session_has_ended/1},
        {capture_that_is_canceled_early, fun capture_that_is_canceled_early/1},
        {capture_that_does_not_answer, fun capture_that_does_not_answer/1},
        {capture_of_new_processes, fun capture_of_new_processes/1},
        {a_capture_has_few_pids_on_its_heap, fun a_capture_has_few_pids_on_its_heap/1},
        {captured_are_cut, fun captured_are_cut/1},
        {names_are_as_previewed, fun names_are_as_previewed/1}
    ].

%% Polls like kprof-top.
captured(K) ->
    Self = self(),
    true = until(?PATIENCE, fun() ->
        case ask(K, captured) of
            {capturing, _, _} -> false;
            Done -> self() ! {Self, Done}, true
        end
    end),
    receive {Self, Done} -> Done end.

flagged(T) -> [P || {M, P} <- [{agent_load, P} || P <- rpc:call(T, erlang, processes, [])], M =:= agent_load, rpc:call(T, agent_load, is_flagged, [P])].

capture_of_a_busy_function(T) ->
    Workers = rpc:call(T, agent_load, forever, [50, 0]), % too few processes to open the breaker by a long run queue
    % sampled, because otherwise events accumulate without limit, especially on a fast machine
    K = traced(T, trace_config([{entry, 1}, {tier, 1}], #{sample => 1000})),
    ?equal(ask(K, {capture, 0}), ok),
    {captured, Ran, Us, Calls} = captured(K),
    ?equal(length(Calls), 20),
    %% a process is captured once until its flag is set again, even if it is slow
    ?check(Ran >= 20 andalso Ran =< 70),
    ?check(Us > 0),
    ?check(lists:all(fun([{v, X}]) -> is_integer(X) end, Calls)),
    %% tracing continues, for all processes
    stop_workers(Workers),
    ok = ask(K, {sample, 1}),
    ?soon(fun() -> beat_now(K, sample) =:= 1 end),
    ?soon(fun() -> ask(K, flush), drained() end),
    run(T, call, [[{entry, [here]}]]),
    ?equal(length(payloads(messages(K), entry)), 1),
    finish(T, K),
    nothing_left(T).

%% On some VMs, a session that traces a built-in function no more switches it off in other sessions, too.
a_captured_bif_is_still_traced(T) ->
    Config = trace_config([{entry, 1}]),
    K = traced(T, Config#{tiers := [{0, agent_load, entry, 1}, {1, erlang, phash2, 2}], entry := none}),
    Called = fun() -> run(T, call, [[{hashed, [x]}]]), payloads(messages(K), phash2) =/= [] end,
    ?soon(Called),
    ok = ask(K, {capture, 1}),
    ?soon(fun() -> Called(), case ask(K, captured) of {capturing, _, _} -> false; Done -> element(1, Done) =:= captured end end),
    ask(K, flush),
    messages(K),
    ?soon(Called),
    finish(T, K),
    nothing_left(T).

%% On OTP 27 the end of any trace session switches off all patterns on built-in functions. The session of another tracer ends;
%% then one of the agent that exists for less than the time between two looks (each after the seventh capture).
builtins_are_traced_when_a_session_has_ended(T) ->
    case isolated(T) of
        true -> builtins_after_sessions(T);
        false -> ok
    end.

builtins_after_sessions(T) ->
    Config = trace_config([{entry, 1}]),
    K = traced(T, Config#{tiers := [{0, agent_load, entry, 1}, {1, erlang, phash2, 2}], entry := none}),
    Called = fun() -> run(T, call, [[{hashed, [x]}]]), payloads(messages(K), phash2) =/= [] end,
    Again = fun() -> ?soon(Called), [?check(is_map(beat_now(K))) || _ <- [1, 2]], ?check(Called()) end,
    Other = rpc:call(T, agent_load, session, []),
    Again(),
    true = rpc:call(T, agent_load, end_session, [Other]),
    Again(),
    [begin ok = ask(K, {capture, 1}), ok = ask(K, {capture, none}) end || _ <- lists:seq(1, 9)],
    Again(),
    finish(T, K),
    nothing_left(T).

%% Removes all batches up to here; true if there were none.
drained() ->
    receive {kb, _, _, _, _} -> drained(), false
    after 0 -> true
    end.

%% A process with a large heap calls the function all the time, with its whole state; others with little.
large_processes_are_not_captured(T) ->
    K = start(T),
    {ok, _} = ask(K, {config, trace_config([{big, 2}])}),
    Callers = [rpc:call(T, agent_load, with_state, [Words]) || Words <- [100, 10 bsl 20]],
    ?equal(ask(K, {capture, 0}), ok),
    {captured, _, _, Calls} = captured(K),
    ?equal(lists:usort([N || [_, {l, N, _, _}] <- Calls]), [50]),
    ?got({ke, capture, <<"the capture left out processes with a heap of 64 MB or more: 1;", _/binary>>}),
    [exit(P, kill) || P <- Callers],
    finish(T, K).

%% One process makes all calls; tracing is off; the answer can be requested again; a second capture replaces the first.
capture_of_one_process(T) ->
    [W] = rpc:call(T, agent_load, forever, [1, 1]),
    K = start(T),
    {ok, _} = ask(K, {config, trace_config([{entry, 1}, {tier, 1}])}),
    ?equal(ask(K, {capture, 1}), ok),
    {captured, 20, Us, Calls} = captured(K),
    ?equal(ask(K, captured), {captured, 20, Us, Calls}),
    ?equal(ask(K, {capture, 0}), ok),
    {captured, 20, _, [[{v, _}] | _]} = captured(K),
    ?equal(flagged(T), []),
    {error, tier, _} = ask(K, {capture, 9}),
    ?equal(ask(K, {capture, none}), ok),
    {error, gone, _} = ask(K, captured),
    stop_workers([W]),
    finish(T, K),
    nothing_left(T).

capture_that_ends_otherwise(T) ->
    K = traced(T, trace_config([{entry, 1}, {none, 0}])),
    Set = fun() -> ?soon(fun() -> capturing(K) end) end,
    Off = fun() -> ?equal(processes_of(T, capturer_init), []), ?equal(rpc:call(T, agent_load, set_in_captures, [[{agent_load, entry, 1}, {agent_load, none, 0}]]), []) end,
    %% it is not called
    ?equal(ask(K, {capture, 1}), ok),
    {captured, 0, Us, []} = captured(K),
    ?check(Us >= 5000000),
    %% no such function
    {ok, _} = ask(K, {config, #{tiers => [{0, agent_load, entry, 1}, {1, agent_load, nune, 0}]}}),
    {error, nofunction, Note} = ask(K, {capture, 1}),
    ?check(string:find(Note, "agent_load:none/0") =/= nomatch),
    %% canceled
    ?equal(ask(K, {capture, 0}), ok),
    Set(),
    ?equal(ask(K, {capture, none}), ok),
    Off(),
    %% the probe is killed: the controller cleans up, and tracing continues
    ?equal(ask(K, {capture, 0}), ok),
    Set(),
    exit(probe(T), kill),
    ?soon(fun() -> not capturing(K) end),
    {error, gone, _} = ask(K, captured),
    run(T, call, [[{entry, [here]}]]),
    ?equal([element(4, M) || M <- payloads(messages(K), entry)], [undefined]),
    %% also when nothing is traced, so that no other patterns replace it
    ok = ask(K, {tracing, false}),
    ?equal(ask(K, {capture, 0}), ok),
    Set(),
    exit(probe(T), kill),
    ?soon(fun() -> not capturing(K) end),
    ?equal(rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]), {traced, false}),
    ok = ask(K, {tracing, true}),
    %% the controller is killed
    ?equal(ask(K, {capture, 0}), ok),
    Set(),
    exit(K, kill),
    gone(T),
    nothing_left(T),
    %% kprof-top ends during the capture
    K2 = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    ?equal(ask(K2, {capture, 0}), ok),
    Receipt = ask(K2, detach),
    ?equal(maps:with([patterns, flags], Receipt), #{patterns => 0, flags => 0}),
    unload(T),
    nothing_left(T).

capturing(K) ->
    case ask(K, captured) of
        {capturing, _, _} -> true;
        _ -> false
    end.

probe(T) ->
    hd([P || P <- rpc:call(T, erlang, processes, []), {_, {kprof_tools_00, capturer_init, 1}} <- [rpc:call(T, erlang, process_info, [P, initial_call])]]).

processes_of(T, F) -> [P || P <- rpc:call(T, erlang, processes, []), {_, {kprof_tools_00, G, _}} <- [rpc:call(T, erlang, process_info, [P, initial_call])], G =:= F].

%% In the common trace: while it still waits for the end of a walk over all processes.
capture_that_is_canceled_early(T) ->
    Walker = rpc:call(T, agent_load, claim, [agent_walker]),
    ?check(canceled(T, Walker, false) < 1500),
    exit(Walker, kill).

%% In the common trace: its process does not run. It is killed, which also ends the flags that it has set.
capture_that_does_not_answer(T) ->
    ?check(canceled(T, none, true) < 1500).

canceled(T, Walker, Held) ->
    agent_lib:load_parts(T),
    Ms = rpc:call(T, agent_load, canceled, [{agent_load, entry, 1}, Walker, Held]),
    ?equal(set_now(T), #{flags => [], patterns => []}),
    Ms.

%% The callers are short-lived and start after the capture begins.
capture_of_new_processes(T) ->
    W = rpc:call(T, agent_load, spawning, []),
    K = traced(T, trace_config([{entry, 1}])),
    ?equal(ask(K, {capture, 0}), ok),
    {captured, Ran, _, Calls} = captured(K),
    ?equal(length(Calls), 20),
    ?check(Ran >= 20),
    stop_workers([W]),
    finish(T, K),
    nothing_left(T).

%% Otherwise each of its garbage collections copies them, and stops a scheduler meanwhile.
a_capture_has_few_pids_on_its_heap(T) ->
    agent_lib:load_parts(T),
    {Most, Flagged, Left, Set} = rpc:call(T, agent_load, capturing_heap, [60000, isolated(T), false]), % they have 120,000 words
    %% its session is not destroyed: nothing may be set in it
    NewToo = rpc:call(T, agent_load, capturing_heap, [10, isolated(T), true]),
    agent_lib:unload_parts(T),
    ?equal({Most, Most < 50000, Flagged, Flagged > 30000, Left, Set}, {Most, true, Flagged, true, 0, []}), % all of them, if the machine is fast
    ?equal({element(2, NewToo), element(3, NewToo), element(4, NewToo)}, {10, 0, []}).

%% For any arguments, little data is sent.
captured_are_cut(T) ->
    agent_lib:load_parts(T),
    K = start(T),
    Deep = lists:foldl(fun(_, X) -> {X} end, x, lists:seq(1, 1000)),
    Big = [
        lists:seq(1, 100000), lists:duplicate(100000, $a), binary:copy(<<"x">>, 10000000), Deep, list_to_tuple(lists:seq(1, 100000)),
        maps:from_list([{I, lists:seq(1, 100)} || I <- lists:seq(1, 10000)]), 1 bsl 100000, [a | b], [[[[[[$a]]]]]], #{Deep => Deep},
        lists:duplicate(1000, binary:copy(<<"y">>, 300)), fun() -> ok end, make_ref(), <<1:3>>, list_to_tuple(lists:duplicate(200, {a, b, "text"}))
    ],
    Sizes = [erlang:external_size(rpc:call(T, kprof_capture_args, call, [[X]])) || X <- Big],
    ?equal([S || S <- Sizes, S > 12000], []),
    ?check(erlang:external_size(rpc:call(T, kprof_capture_args, call, [lists:duplicate(255, lists:nth(11, Big))])) < 100000),
    [{l, 100000, _, Part}] = rpc:call(T, kprof_capture_args, call, [[hd(Big)]]),
    ?check(length(Part) > 10),
    finish(T, K).

values(T) ->
    Named = rpc:call(T, erlang, whereis, [kernel_sup]),
    Plain = rpc:call(T, erlang, spawn, [timer, sleep, [120000]]),
    [
        atom, 42, -7, 1.5, "text", <<"/users/123">>, <<"/us">>, <<>>, [], {}, Named, Plain, self(),
        {get, <<"/users/1">>, [{host, "h"}, {<<"q">>, 2}]}, {put, "/x", []}, {req, {a, {b, {c, {d}}}}},
        [first, second, {third, 3}], [1, 2, 3], [1000, 2000], ["ab", <<"cd">>], [a | b],
        #{path => <<"/long/path/here">>, method => get, <<"bin">> => 1, "str" => 2, {k, 1} => v, 1.0 => float, 1 => int, nested => #{deep => [{x, Named}]}},
        #{method => post}, {state, Named, #{op => read}}, {'kprof name', Named}, lists:duplicate(300, $z), binary:copy(<<"long">>, 100),
        list_to_tuple(lists:seq(1, 20)), {1 bsl 70, <<1:3>>}, 'quo ted', {<<"a">>, "b", c, 4}
    ].

%% Each part of each of these values is selected; the resulting rule is then applied to calls with all of the values.
names_are_as_previewed(T) ->
    agent_lib:load_parts(T),
    Values = values(T),
    K = traced(T, trace_config([{entry, 1}])),
    Trees = [hd(rpc:call(T, kprof_capture_args, call, [[X]])) || X <- Values],
    Paths = lists:usort(lists:append([paths(Tree, []) || Tree <- Trees])),
    ?check(length(Paths) > 40),
    [begin
        Rule = iolist_to_binary(["agent_load:entry/1 ", rule(Path)]),
        {Rule, {ok, _}} = {Rule, ask(K, {config, trace_config([{entry, 1}], #{identity => Rule})})},
        run(T, quiet, [[{entry, [X]} || X <- Values]]),
        Names = [element(4, M) || M <- payloads(messages(K), entry)],
        Previewed = [follow(lists:reverse(Path), Tree) || Tree <- Trees],
        [?equal({Rule, X, N}, {Rule, X, P}) || {X, N, P} <- lists:zip3(Values, Names, Previewed), P =/= cut]
     end || Path <- Paths],
    finish(T, K).

%% Steps, the last first: {t, K} element, {l, K} nth, {m, Key}, {prefix, N}, name.
paths({t, _, _, Parts}, Path) -> [Path | lists:append([paths(P, [{t, I} | Path]) || {I, P} <- number(Parts)])];
paths({l, _, _, Parts}, Path) -> [Path | lists:append([paths(P, [{l, I} | Path]) || {I, P} <- number(Parts)])];
paths({m, _, Fields}, Path) -> lists:append([paths(P, [{m, Key} | Path]) || {Key, P} <- Fields]);
paths({Text, _, _}, Path) when Text =:= b; Text =:= s -> [Path, [{prefix, 4} | Path]];
paths({p, _, _}, Path) -> [Path, [name | Path]];
paths(_, Path) -> [Path].

number(L) -> lists:zip(lists:seq(1, length(L)), L).

rule([]) -> "arg(1)";
rule([{t, I} | Path]) -> io_lib:format("element(~b, ~ts)", [I, rule(Path)]);
rule([{l, I} | Path]) -> io_lib:format("nth(~b, ~ts)", [I, rule(Path)]);
rule([{m, Key} | Path]) -> io_lib:format("map_get(~w, ~ts)", [Key, rule(Path)]);
rule([{prefix, N} | Path]) -> io_lib:format("prefix(~b, ~ts)", [N, rule(Path)]);
rule([name | Path]) -> io_lib:format("name(~ts)", [rule(Path)]).

%% The preview of kprof-top (src/ui/rule.c): the name of the part; undefined if there is no such part; cut if it was
%% not sent as a whole.
follow([], {v, X}) -> X;
follow([], {b, _, Name}) -> Name;
follow([], {s, _, Name}) -> Name;
follow([], {p, Pid, _}) -> Pid;
follow([], {t, _, Name, _}) -> Name;
follow([], {l, _, Name, _}) -> Name;
follow([], {m, _, _}) -> '...';
follow([], {o, _, Name}) -> Name;
follow([{t, I} | Path], {t, Size, _, Parts}) -> child(I, Size, Parts, Path);
follow([{l, I} | Path], {l, Size, _, Parts}) -> child(I, Size, Parts, Path);
follow([{l, I}], {s, Size, Name}) when I =< Size -> lists:nth(I, Name);
follow([{m, Key} | Path], {m, Size, Fields}) ->
    case [P || {Key1, P} <- Fields, Key1 =:= Key] of
        [P] -> follow(Path, P);
        [] when Size > length(Fields) -> cut;
        [] -> undefined
    end;
follow([{prefix, N}], {b, _, Name}) -> binary:part(Name, 0, min(N, byte_size(Name)));
follow([{prefix, N}], {s, _, Name}) -> lists:sublist(Name, N);
follow([{prefix, _}], {l, 0, Name, _}) -> Name;
follow([name], {p, _, Name}) -> Name;
follow([name], Part) -> follow([], Part);
follow(_, _) -> undefined.

child(I, Size, _, _) when I > Size -> undefined;
child(I, _, Parts, _) when I > length(Parts) -> cut;
child(I, _, Parts, Path) -> follow(Path, lists:nth(I, Parts)).
