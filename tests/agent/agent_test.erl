%% The agent's tests: this node plays kprof-top (a hidden node); the target is another one, of any OTP from 25.
%% agent_test:main([Target, Version, BeamDir, Names...])
-module(agent_test).
-export([main/1, owner/3]).

-define(MODULES, [kprof_breaker_00, kprof_spec_00, kprof_relay_00, kprof_keeper_00]).
-define(NO_LIMITS, #{max_age_ms => 0, max_queue => 0, max_memory => 0, max_rate => 0}).
-define(EPOCH, 7).
-define(check(X), check(X, ??X, ?LINE)).
-define(equal(A, B), equal(A, B, ?LINE)).

main([Target, Version, Beams | Names]) ->
    put(beams, atom_to_list(Beams)),
    put(version, Version),
    until(15000, fun() -> net_adm:ping(Target) =:= pong end),
    load(Target, agent_load),
    Wanted = [T || {Name, _} = T <- tests(), Names =:= [] orelse lists:member(Name, Names)],
    Results = [one(T, Target) || T <- Wanted],
    Count = fun(What) -> length([R || R <- Results, R =:= What]) end,
    rpc:call(Target, erlang, halt, []),
    io:format("~b passed, ~b failed, ~b skipped~n", [Count(ok), Count(failed), Count(skipped)]),
    halt(min(1, Count(failed))).

one({Name, Test}, Target) ->
    {P, R} = spawn_monitor(fun() ->
        group_leader(whereis(user), self()),
        exit({result, Test(Target)})
    end),
    Result =
        receive
            {'DOWN', R, _, _, {result, skipped}} -> skipped;
            {'DOWN', R, _, _, {result, _}} -> ok;
            {'DOWN', R, _, _, Why} -> {failed, Why}
        after 60000 ->
            exit(P, kill),
            {failed, no_answer}
        end,
    clean(Target),
    case Result of
        {failed, Reason} ->
            io:format("FAIL OTP ~s ~p~n     ~tp~n", [get(version), Name, Reason]),
            failed;
        _ ->
            io:format("~-4s OTP ~s ~p~n", [if Result =:= ok -> "ok"; true -> "skip" end, get(version), Name]),
            Result
    end.

%% Whatever a test left: the next one shall not meet it.
clean(Target) ->
    [exit(P, kill) || M <- ?MODULES, P <- [rpc:call(Target, erlang, whereis, [M])], is_pid(P)],
    rpc:call(Target, agent_load, clean, []),
    unload(Target).

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

%% ---- The agent, as kprof-top uses it ----

load(Target, M) -> load(Target, M, element(2, {ok, _} = file:read_file(filename:join(get_beams(), atom_to_list(M) ++ ".beam")))).
load(Target, M, Beam) -> {module, M} = rpc:call(Target, code, load_binary, [M, "", Beam]).

get_beams() ->
    case get(beams) of
        undefined -> filename:dirname(code:which(?MODULE));
        Dir -> Dir
    end.

start(T) -> start(T, #{}).
start(T, Opts) ->
    [load(T, M) || M <- ?MODULES],
    {ok, K, _} = start_keeper(T, kprof_keeper_00, Opts),
    K.

start_keeper(T, M, Opts) ->
    rpc:call(T, M, start, [maps:merge(#{pid => self(), node => node(), who => <<"tester">>, force => false, epoch => ?EPOCH}, Opts)]).

unload(T) -> [rpc:call(T, code, F, [M]) || M <- ?MODULES, F <- [purge, delete, purge]].

ask(K, Q) ->
    R = erlang:unique_integer([positive]),
    K ! {kp, R, Q},
    receive {kr, R, A} -> A
    after 10000 -> error({no_answer, Q})
    end.

wish(Tiers) -> wish(Tiers, #{}).
wish(Tiers, More) ->
    Numbered = [{Ix, agent_load, F, A} || {Ix, {F, A}} <- lists:zip(lists:seq(0, length(Tiers) - 1), Tiers)],
    maps:merge(#{tiers => Numbered, entry => 0, identity => none, returns => lean, sample => 1}, More).

traced(T, Wish) ->
    K = start(T),
    ok = ask(K, {limits, ?NO_LIMITS}), % the tests run as fast as they can and count all
    {ok, _} = ask(K, {config, Wish}),
    ok = ask(K, {tracing, true}),
    K.

finish(T, K) ->
    Receipt = ask(K, detach),
    unload(T),
    ?equal(maps:with([patterns, flags], Receipt), #{patterns => 0, flags => 0}),
    Receipt.

run(T, F, Args) -> rpc:call(T, agent_load, job, [F, Args]).

%% Everything traced so far, oldest first; the batches' numbers have no gap.
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

%% ---- Tests ----

tests() ->
    [
        {labels_are_immediates, fun labels_are_immediates/1},
        {tickets_are_unique, fun tickets_are_unique/1},
        {a_share_is_sampled, fun a_share_is_sampled/1},
        {unsampled_have_no_token, fun unsampled_have_no_token/1},
        {old_label_is_told, fun old_label_is_told/1},
        {lean_messages, fun lean_messages/1},
        {full_messages, fun full_messages/1},
        {messages_without_entry, fun messages_without_entry/1},
        {other_processes_have_the_label, fun other_processes_have_the_label/1},
        {identities, fun identities/1},
        {identity_errors, fun identity_errors/1},
        {identity_that_fails_loses_no_call, fun identity_that_fails_loses_no_call/1},
        {big_identities_are_cut, fun big_identities_are_cut/1},
        {no_function_is_noted, fun no_function_is_noted/1},
        {live_changes, fun live_changes/1},
        {reload_is_seen, fun reload_is_seen/1},
        {why_it_is_empty, fun why_it_is_empty/1},
        {questions, fun questions/1},
        {off_means_off, fun off_means_off/1},
        {silence_pauses_and_ends, fun silence_pauses_and_ends/1},
        {two_at_once, fun two_at_once/1},
        {overload_switches_off, fun overload_switches_off/1},
        {breaker_keeps_its_times, fun breaker_keeps_its_times/1},
        {limit_is_never_passed, fun limit_is_never_passed/1},
        {breaker_backs_off, fun breaker_backs_off/1},
        {sampling_is_steered, fun sampling_is_steered/1},
        {a_stopped_reader_blocks_nobody, fun a_stopped_reader_blocks_nobody/1},
        {receipt_is_all_zero, fun receipt_is_all_zero/1},
        {relay_killed, fun relay_killed/1},
        {keeper_killed, fun keeper_killed/1},
        {pacer_killed, fun pacer_killed/1},
        {kprof_top_killed, fun kprof_top_killed/1},
        {dbg_is_left_alone, fun dbg_is_left_alone/1}
    ].

labels_are_immediates(T) ->
    [load(T, M) || M <- ?MODULES],
    Check = fun(Spec) -> rpc:call(T, kprof_spec_00, check, [Spec]) end,
    Label = fun(X) -> Check([{['$1'], [], [{set_seq_token, label, X}]}]) end,
    Bad = [
        {{1, 2}}, {{{1, 2}}}, {{}}, '$1', '$_', '$$', {element, 1, '$1'}, {element, 2, {get_seq_token}}, {get_seq_token}, {caller}, "abc", [],
        [1], <<"binary">>, #{}, 1.5, 1 bsl 60, 1 bsl 64, -(1 bsl 60), {'bsl', {get_tcw}, 40}, {'bsl', {get_tcw}, {get_tcw}}, {'+', {get_tcw}, 1 bsl 58},
        {'+', {'bor', {get_tcw}, 1 bsl 57}, {'bor', {get_tcw}, 1 bsl 57}}, {'*', {get_tcw}, {get_tcw}}, {'-', {get_tcw}, 1}, {'bor', {get_tcw}, -1}, {'bor', {get_tcw}, '$1'},
        {const, {1, 2}}, {const, 1}, {'andalso', true, {{1}}}, {hd, '$1'}, {map_get, a, '$1'}, {'bor', {self}, 1}, {'bsr', '$1', 2}, {abs, '$1'}, {node}
    ],
    [?equal({X, refused(Label(X))}, {X, true}) || X <- Bad],
    Good = [1, 0, undefined, {self}, {get_tcw}, {set_tcw, 0}, {'bor', 7 bsl 32, {set_tcw, 0}}, {'bor', 65535 bsl 32, {set_tcw, 0}},
            {'band', {'+', {get_tcw}, 1}, 16#ffffff}, {'bsr', {get_tcw}, 3}],
    [?equal({X, Label(X)}, {X, ok}) || X <- Good],
    %% wherever it hides
    Evil = {set_seq_token, label, {{1, 2}}},
    Hidden = [
        [{'_', [], [{message, {{1, Evil}}}]}],
        [{'_', [], [{message, [Evil]}]}],
        [{'_', [], [{message, [1 | Evil]}]}],
        [{'_', [], [{message, #{a => Evil}}]}],
        [{'_', [], [{message, #{Evil => a}}]}],
        [{'_', [], [{'andalso', {is_seq_trace}, Evil}]}],
        [{'_', [], [true]}, {'_', [], [{message, false}, Evil]}],
        [{'_', [Evil], [true]}],
        [{'_', [{set_seq_token, label, 1}], [true]}],
        [{'_', [], [{set_seq_token, serial, {{1, 2}}}]}],
        [{'_', [], [{set_seq_token, '$1', {{1, 2}}}]}],
        [{'_', [], [{set_seq_token, {const, label}, 1}]}],
        [{'_', [], [{set_seq_token, sequential_trace_token, {{1, 2}}}]}],
        [{'_', [], [{set_seq_token_fake, label, 1}]}],
        [{'_', [], [{trace, [], [all]}]}],
        [{'_', [], [{enable_trace, send}]}],
        [{'_', [], [{silent, true}]}],
        [{'_', [], [{display, 1}]}],
        [{'_', [], [{return_trace}]}],
        [{'_', [], {message, 1}}],
        [{'_', [], [{1, 2}]}],
        nonsense,
        [nonsense]
    ],
    [?equal({S, refused(Check(S))}, {S, true}) || S <- Hidden],
    %% and setting goes through the check
    ?check(is_tuple(rpc:call(T, kprof_spec_00, set_pattern, [none, {agent_load, leaf, 1}, hd(Hidden), [local]]))),
    ?equal(rpc:call(T, erlang, trace_info, [{agent_load, leaf, 1}, traced]), {traced, false}),
    [check_own(T, Wish) || Wish <- own_wishes()],
    unload(T).

own_wishes() ->
    [
        wish([{entry, 1}, {tier, 1}], #{returns => R, sample => N, entry => E, identity => I, epoch => 65535})
     || R <- [lean, full], N <- [1, 2, 1000000], E <- [0, none],
        I <- [none, <<"agent_load:entry/1 arg(1)">>, <<"fun ({agent_load,_,[#{a := X}]}) when X > 1; is_atom(X) -> {X, b} end">>]
    ].

refused({error, Text}) -> is_binary(Text);
refused(_) -> false.

check_own(T, Wish) ->
    {ok, Specs, _} = rpc:call(T, kprof_spec_00, compile, [Wish]),
    [?equal(rpc:call(T, kprof_spec_00, check, [Spec]), ok) || {_, _, Spec} <- Specs].

tickets_are_unique(T) ->
    K = traced(T, wish([{entry, 1}])),
    run(T, many, [4, 5000]),
    Ms = payloads(messages(K), entry),
    finish(T, K),
    ?equal(length(Ms), 20000),
    Labels = [element(2, M) || M <- Ms],
    Numbers = [L || L <- Labels, is_integer(L)],
    ?equal(length(lists:usort(Numbers)), length(Numbers)),
    ?equal(lists:usort([L bsr 32 || L <- Numbers]), [?EPOCH]),
    ?check(lists:all(fun(L) -> is_integer(L) orelse is_pid(L) end, Labels)),
    ?check(lists:all(fun(L) -> L band 16#ffffffff > 0 end, Numbers)),
    ?check(length(Numbers) > 10000).

a_share_is_sampled(T) ->
    N = 10,
    Calls = 20000,
    K = traced(T, wish([{entry, 1}], #{sample => N, identity => <<"agent_load:entry/1 arg(1)">>})),
    run(T, entries, [[X rem 4 || X <- lists:seq(1, Calls)]]),
    Batches = batches(K),
    finish(T, K),
    ?equal(lists:usort([W || {W, _} <- Batches]), [N]),
    Seen = [element(4, M) || {_, Ms} <- Batches, M <- payloads(Ms, entry)],
    Sigma = math:sqrt(Calls / 4 * (1 / N) * (1 - 1 / N)),
    [begin
        Share = length([X || X <- Seen, X =:= I]),
        ?check(abs(Share - Calls / 4 / N) < 5 * Sigma)
     end || I <- [0, 1, 2, 3]].

unsampled_have_no_token(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}], #{sample => 3, identity => <<"agent_load:entry/1 arg(1)">>})),
    Tokens = run(T, tokens, [lists:seq(1, 300)]),
    Ms = messages(K),
    Entries = [{element(4, M), element(2, M)} || M <- payloads(Ms, entry)],
    Tiers = [element(2, M) || M <- payloads(Ms, tier)],
    ?check(length(Entries) > 50 andalso length(Entries) < 200),
    ?equal(Entries, [{X, L} || {X, L} <- Tokens, L =/= none]),
    ?equal(Tiers, [L || {_, L} <- Entries]),
    %% an unsampled request says nothing at all, not even its returns
    ?equal(length([x || {trace_ts, _, return_to, _, _} <- Ms]), length(Entries) * 2),
    finish(T, K).

old_label_is_told(T) ->
    [begin
        K = traced(T, wish([{entry, 1}], #{sample => N, returns => Returns})),
        Tokens = run(T, tokens, [lists:seq(1, 40)]),
        Ms = payloads(messages(K), entry),
        finish(T, K),
        {_, Prevs} = lists:mapfoldl(fun({_, L}, Before) -> {{L, Before}, L} end, none, Tokens),
        _ = Prevs,
        Pairs = pairs(none, [L || {_, L} <- Tokens]),
        ?equal([told(M) || M <- Ms], [P || {L, _} = P <- Pairs, L =/= none])
     end || N <- [1, 2], Returns <- [lean, full]].

pairs(Before, [L | Ls]) -> [{L, Before} | pairs(L, Ls)];
pairs(_, []) -> [].

told({0, L, _, undefined, entry}) -> {L, none};
told({0, L, _, undefined, _, Prev}) -> {L, Prev}.

lean_messages(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}, {leaf, 1}], #{identity => <<"agent_load:tier/1 arg(1)">>})),
    run(T, entries, [[x]]),
    run(T, call, [[{leaf, [1]}]]),
    Ms = messages(K),
    finish(T, K),
    [{trace_ts, P, call, {agent_load, entry, 1}, {0, L, {agent_load, _, _}, undefined, entry}, T1},
     {trace_ts, P, call, {agent_load, tier, 1}, {1, L, {agent_load, entry, 1}, x}, T2},
     {trace_ts, P, call, {agent_load, leaf, 1}, {2, L, {agent_load, tier, 1}}, T3},
     {trace_ts, P, return_to, {agent_load, tier, 1}, T4},
     {trace_ts, P, return_to, {agent_load, entry, 1}, T5},
     {trace_ts, P, return_to, {agent_load, _, _}, T6}] = Ms,
    ?equal(lists:sort([T1, T2, T3, T4, T5, T6]), [T1, T2, T3, T4, T5, T6]).

full_messages(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}, {throws, 1}, {big, 2}], #{returns => full})),
    Calls = [{entry, [1]}, {throws, [oops]}, {big, [1, lists:seq(1, 1000)]}],
    run(T, quiet, [Calls]),
    Ms = messages(K),
    finish(T, K),
    [{trace_ts, P, call, {agent_load, entry, 1}, {0, L, 0, undefined, entry}, _},
     {trace_ts, P, call, {agent_load, tier, 1}, {1, L, 0}, _},
     {trace_ts, P, return_from, {agent_load, tier, 1}, 0, _},
     {trace_ts, P, return_from, {agent_load, entry, 1}, 0, _},
     {trace_ts, P, call, {agent_load, throws, 1}, {2, L, 0}, _},
     {trace_ts, P, exception_from, {agent_load, throws, 1}, {throw, 0}, _},
     {trace_ts, P, call, {agent_load, big, 2}, {3, L, 0}, _},
     {trace_ts, P, return_from, {agent_load, big, 2}, 0, _}] = Ms,
    %% unsampled: no return either
    K2 = traced(T, wish([{entry, 1}], #{returns => full, sample => 4})),
    run(T, entries, [lists:seq(1, 200)]),
    Ms2 = messages(K2),
    finish(T, K2),
    ?equal(length([x || {trace_ts, _, return_from, _, _, _} <- Ms2]), length(calls(Ms2))).

messages_without_entry(T) ->
    [begin
        K = traced(T, wish([{tier, 1}, {leaf, 1}], #{entry => none, returns => Returns, identity => <<"agent_load:leaf/1 arg(1)">>})),
        run(T, call, [[{tier, [z]}]]),
        ?equal(calls(messages(K)), [
            {tier, {0, 0, C({agent_load, '-call/1-lc$^0/1-0-', 1})}},
            {leaf, {1, 0, C({agent_load, tier, 1}), z}}
        ]),
        finish(T, K)
     end || {Returns, C} <- [{lean, fun(X) -> X end}, {full, fun(_) -> 0 end}]].

other_processes_have_the_label(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}])),
    run(T, hop, [a]),
    [{trace_ts, P1, call, _, {0, L, _, _, entry}, _}, {trace_ts, P1, call, _, {1, L, _}, _}, {trace_ts, P2, call, _, {1, L, _}, _}] =
        [M || M <- messages(K), element(3, M) =:= call],
    ?check(P1 =/= P2),
    finish(T, K).

%% {Rule, Calls, Names of these calls}
rules() ->
    One = fun(Rule, X, Name) -> {Rule, [{entry, [X]}], [Name]} end,
    [
        One("agent_load:entry/1 arg(1)", abc, abc),
        One("agent_load:entry/1 arg(1)", "abc", "abc"),
        One("agent_load:entry/1 arg(1)", <<"abc">>, <<"abc">>),
        One("agent_load:entry/1 element(1,arg(1))", {get, 2}, get),
        One("agent_load:entry/1 element(2, element(1, arg(1)))", {{a, b}, c}, b),
        One("agent_load:entry/1 map_get(path,arg(1))", #{path => <<"/x">>, q => 1}, <<"/x">>),
        One("agent_load:entry/1 map_get(<<\"path\">>, map_get(req, arg(1)))", #{req => #{<<"path">> => p}}, p),
        One("agent_load:entry/1 map_get(:path, arg(1))", #{path => p}, p),
        One("agent_load:entry/1 {hd(arg(1)), hd(tl(arg(1)))}", [a, b, c], {a, b}),
        One("agent_load:entry/1 fixed", 1, fixed),
        One("'agent_load':entry/1 \"text\"", 1, "text"),
        One(":agent_load.entry/1 arg(1)", 1, 1),
        One("agent_load.entry/1 arg(1)", 1, 1),
        {"agent_load:entry/1 arg(1); agent_load:three/3 {arg(1),arg(3)};", [{entry, [a]}, {three, [1, 2, 3]}, {none, []}], [a, {1, 3}, none]},
        {"agent_load:three/3 arg(2); agent_load:none/0 nobody", [{three, [1, b, 3]}, {none, []}], [b, nobody]},
        One("fun ({M,F,[A]}) -> {M,F,A} end", 1, {agent_load, entry, 1}),
        One("fun ({agent_load,entry,[A]}) -> A; (_) -> undefined end.", b, b),
        One("fun ({agent_load,entry,[A]}) when A > 5 -> big; ({agent_load,entry,[A]}) when is_integer(A) -> small; (_) -> other end", 7, big),
        One("fun ({agent_load,entry,[A]}) when A > 5 -> big; ({agent_load,entry,[A]}) when is_integer(A) -> small; (_) -> other end", 3, small),
        One("fun ({agent_load,entry,[A]}) when is_integer(A) -> small; (_) -> other end", x, other),
        One("fun ({agent_load,entry,[A]}) when is_integer(A) -> small; (_) -> undefined end", x, undefined),
        One("fun ({agent_load,entry,[A]}) when is_integer(A); is_atom(A) -> A end", x, x),
        One("fun ({agent_load,F,Args}) -> {F, hd(Args)} end", x, {entry, x}),
        One("fun ({_,F,[H|T]}) -> {F,H,T} end", x, {entry, x, []}),
        One("fun ({agent_load,entry,[{get,Key,_}]}) -> Key; ({_,_,[{put,_}]}) -> put end", {get, k, 1}, k),
        One("fun ({agent_load,entry,[{get,Key,_}]}) -> Key; ({_,_,[{put,_}]}) -> put end", {put, k}, put),
        One("fun ({agent_load,entry,[[H|_]]}) -> H end", [a, b], a),
        One("fun ({agent_load,entry,[#{path := P}]}) -> P end", #{path => a, x => y}, a),
        One("fun ({agent_load,entry,[#{path := P}]}) -> P end", #{x => y}, undefined),
        One("fun ({agent_load,entry,[#{path := P}]}) -> P end", not_a_map, undefined),
        One("fun ({agent_load,entry,[#{req := #{path := P}, op := get}]}) -> {get,P} end", #{req => #{path => a}, op => get}, {get, a}),
        One("fun ({agent_load,entry,[#{req := #{path := P}, op := get}]}) -> {get,P} end", #{req => #{path => a}, op => put}, undefined),
        One("fun ({agent_load,entry,[{req, #{user := {Id, [Role|_]}}}]}) -> {Id,Role} end", {req, #{user => {5, [admin, x]}}}, {5, admin}),
        One("fun ({agent_load,entry,[{req, #{user := {Id, [Role|_]}}}]}) -> {Id,Role} end", {req, #{user => {5, []}}}, undefined),
        One("fun ({agent_load,entry,[{A, #{k := A}}]}) -> A end", {1, #{k => 1}}, 1),
        One("fun ({agent_load,entry,[{A, #{k := A}}]}) -> A end", {1, #{k => 2}}, undefined),
        One("fun ({agent_load,entry,[#{a := X, b := X}]}) -> X end", #{a => 1, b => 1}, 1),
        One("fun ({agent_load,entry,[#{a := X, b := X}]}) -> X end", #{a => 1, b => 2}, undefined),
        One("fun ({agent_load,entry,[#{}]}) -> map end", #{a => 1}, map),
        One("fun ({agent_load,entry,[#{} = M]}) -> map_get(a, M) end", #{a => 1}, 1),
        One("fun ({agent_load,entry,[<<\"lit\">>]}) -> lit end", <<"lit">>, lit),
        One("fun ({agent_load,entry,[#{k := <<\"lit\">>}]}) -> lit end", #{k => <<"lit">>}, lit),
        One("fun ({agent_load,entry,[\"abc\"]}) -> $a end", "abc", $a),
        One("fun ({agent_load,entry,[A]}) when map_get(x, A) =:= 1 -> one end", #{x => 1}, one),
        One("fun (_) -> all end", 1, all),
        One("fun (X) -> element(2, X) end", 1, entry),
        One("fun ({M,M,_}) -> no; ({_,F,_}) -> F end", 1, entry),
        {"fun ({agent_load,F,[_,B,_]}) -> {F,B}; ({_,none,[]}) -> n end", [{three, [1, 2, 3]}, {none, []}, {entry, [1]}], [{three, 2}, n, undefined]},
        {"fun ({agent_load,leaf,[A]}) -> A; (_) -> dflt end", [{leaf, [l]}, {entry, [1]}, {three, [1, 2, 3]}], [l, dflt, none]}
    ].

identities(T) ->
    K = traced(T, wish([])),
    [identity(T, K, Rule, Calls, Names) || {Rule, Calls, Names} <- rules()],
    finish(T, K).

%% entry is the entry; three, none and leaf are called in its request, so each of them is asked for its name.
identity(T, K, Rule, Calls, Names) ->
    Wish = wish([{entry, 1}, {three, 3}, {none, 0}, {leaf, 1}], #{identity => list_to_binary(Rule)}),
    {Rule, {ok, _}} = {Rule, ask(K, {config, Wish})},
    Rest = [C || {F, _} = C <- Calls, F =/= entry],
    run(T, call, [[hd([C || {entry, _} = C <- Calls] ++ [{entry, [0]}]) | Rest]]),
    Ms = lists:usort(fun({A, _}, {B, _}) -> A =< B end, lists:reverse(calls(messages(K)))),
    ?equal({Rule, [name(proplists:get_value(F, Ms)) || {F, _} <- Calls]}, {Rule, Names}).

name({_, _, _}) -> none;
name(Msg) -> element(4, Msg).

identity_errors(T) ->
    K = start(T),
    Refused = fun(Rule) ->
        case ask(K, {config, wish([{entry, 1}], #{identity => list_to_binary(Rule)})}) of
            {error, identity, Text} -> binary_to_list(Text);
            Other -> {Rule, Other}
        end
    end,
    Says = fun(Rule, Start, Part) ->
        Text = Refused(Rule),
        ?check(is_list(Text)),
        ?equal({Rule, Text, lists:prefix(Start, Text)}, {Rule, Text, true}),
        ?equal({Rule, Text, Part =:= "" orelse string:find(Text, Part) =/= nomatch}, {Rule, Text, true})
    end,
    Says("fun ({m,f,[A]}) -> A", "line 1, column", "syntax error"),
    Says("fun ({m,f,[A]}) ->\n  A A end", "line 2, column 5: ", "syntax error before: A"),
    Says("fun ({agent_load,entry,[A]}) -> foo(A) end", "line 1, column ", "foo/1"),
    Says("fun ({agent_load,entry,[A]}) ->\n lists:nth(1,A) end", "line 2, column ", "lists:nth/2"),
    Says("fun ({agent_load,entry,[A]}) -> B end", "line 1, column 33: ", "B"),
    Says("fun ({agent_load,entry,[<<A,_/binary>>]}) -> A end", "line 1, column 25: ", "binary"),
    Says("fun ({agent_load,entry,[A]}) -> A, A end", "line 1, column 36: ", "one expression"),
    Says("fun ({\"m\",entry,[A]}) -> A end", "line 1, column 7: ", "atoms"),
    Says("fun ({agent_load,entry,[A]}) -> set_seq_token(label, {A,A}) end", "line 1, column ", "set_seq_token"),
    Says("fun ({agent_load,entry,[A]}) -> message(A) end", "line 1, column ", "message"),
    Says("fun ({agent_load,entry}) -> a end", "line 1, column 6: ", "{M,F,[Args]}"),
    Says("fun (A, B) -> A end", "line 1, column ", "one argument"),
    Says("fun lists:map/2", "line 1, column 1: ", "a rule is"),
    Says("fun ({agent_load,entry,[#{K => V}]}) -> V end", "line 1, column ", ""),
    Says("agent_load:entry/1", "line 1, column 19: ", "missing"),
    Says("agent_load:entry/1 arg(2)", "line 1, column 20: ", "1 to 1"),
    Says("agent_load:none/0 arg(1)", "line 1, column 19: ", "no arguments"),
    Says("agent_load:entry/1 arg(x)", "line 1, column 20: ", "number"),
    Says("agent_load:entry/1 X", "line 1, column 20: ", "arg(N)"),
    Says("agent_load:entry/1 foo(arg(1))", "line 1, column 20: ", "foo/1"),
    Says("agent_load:entry/1 element(1,arg(1)", "line 1, column ", "syntax error"),
    Says("agent_load entry/1 arg(1)", "line 1, column 1: ", "M:F/A"),
    Says("'unfinished", "line 1, column ", "unterminated"),
    Says("42", "line 1, column 1: ", "M:F/A"),
    Says("MyApp.Repo.get/2 arg(3)", "", ""),
    %% a refused rule leaves all as it was; a rule for what is no tier is told
    {ok, _} = ask(K, {config, wish([{entry, 1}], #{identity => <<"agent_load:leaf/1 arg(1); MyApp.Repo.get!/2 arg(1)">>})}),
    receive {ke, identity, Note} -> ?check(string:find(Note, "agent_load:leaf") =/= nomatch) after 2000 -> error(no_note) end,
    receive {ke, identity, Note2} -> ?check(string:find(Note2, "MyApp.Repo:get!") =/= nomatch) after 2000 -> error(no_note) end,
    finish(T, K).

identity_that_fails_loses_no_call(T) ->
    Values = [#{a => 1}, #{b => 1}, atom, {}, [], #{a => {2}}],
    [begin
        K = traced(T, wish([{entry, 1}, {tier, 1}], #{sample => N, identity => <<"agent_load:entry/1 element(1, map_get(a, arg(1))); agent_load:tier/1 map_get(a,arg(1))">>})),
        run(T, call, [[{entry, [V]} || V <- Values]]),
        Ms = messages(K),
        finish(T, K),
        case N of
            1 ->
                ?equal([element(4, M) || M <- payloads(Ms, entry)], [undefined, undefined, undefined, undefined, undefined, 2]),
                ?equal([element(4, M) || M <- payloads(Ms, tier)], [1, undefined, undefined, undefined, undefined, {2}]);
            _ ->
                ?check([x || {_, M} <- calls(Ms), not is_tuple(M)] =:= [])
        end
     end || N <- [1, 2]].

big_identities_are_cut(T) ->
    K = traced(T, wish([{entry, 1}], #{identity => <<"agent_load:entry/1 arg(1)">>})),
    Big = [binary:copy(<<"x">>, 1000000), lists:seq(1, 100000), list_to_tuple(lists:seq(1, 1000)), lists:duplicate(1000, [[]]), 1 bsl 10000,
           {a, binary:copy(<<"y">>, 1000)}, maps:from_list([{I, I} || I <- lists:seq(1, 1000)])],
    run(T, quiet, [[{entry, [B]} || B <- Big]]),
    Names = [element(4, M) || M <- payloads(messages(K), entry)],
    finish(T, K),
    ?equal(length(Names), length(Big)),
    [?check(byte_size(term_to_binary(N)) < 2200) || N <- Names],
    ?equal(hd(Names), binary:copy(<<"x">>, 256)).

no_function_is_noted(T) ->
    K = start(T),
    Wish = wish([]),
    {ok, Notes} = ask(K, {config, Wish#{tiers => [{0, agent_load, entyr, 1}, {1, agent_laod, entry, 1}, {2, agent_load, entry, 3}, {3, agent_load, entry, 1},
                                                   {4, agent_load, entry, 1}, {5, <<"agent_load">>, <<"leaf">>, 1}, {6, lists, zzzzzzzzzz, 1}, {7, 'Elixir.No.Such', x, 1}]}}),
    [{0, 0, N0}, {1, 0, N1}, {2, 0, N2}, {3, 1, <<>>}, {4, 0, N4}, {5, 1, <<>>}, {6, 0, N6}, {7, 0, N7}] = Notes,
    ?equal(N0, <<"no function agent_load:entyr/1; there is agent_load:entry/1">>),
    ?equal(N1, <<"no module agent_laod; there is agent_load">>),
    ?equal(N2, <<"no function agent_load:entry/3; there is agent_load:entry/1">>),
    ?equal(N4, <<"the same function as tier 3, which has its calls">>),
    ?equal(N6, <<"no function lists:zzzzzzzzzz/1">>),
    ?check(string:prefix(N7, "no module No.Such") =/= nomatch),
    finish(T, K).

live_changes(T) ->
    K = traced(T, wish([{entry, 1}])),
    Forms = fun() ->
        messages(K),
        run(T, entries, [[1]]),
        [{F, tuple_size(M)} || {F, M} <- calls(messages(K))]
    end,
    ?equal(Forms(), [{entry, 5}]),
    {ok, _} = ask(K, {config, wish([{entry, 1}, {tier, 1}, {leaf, 1}])}),
    ?equal(Forms(), [{entry, 5}, {tier, 3}, {leaf, 3}]),
    {ok, _} = ask(K, {config, wish([{entry, 1}, {tier, 1}], #{identity => <<"agent_load:tier/1 arg(1)">>})}),
    ?equal(Forms(), [{entry, 5}, {tier, 4}]),
    {ok, _} = ask(K, {config, wish([{entry, 1}, {tier, 1}], #{entry => 1})}),
    ?equal(Forms(), [{tier, 5}]),
    {ok, _} = ask(K, {config, wish([{entry, 1}, {tier, 1}], #{entry => none})}),
    ?equal(Forms(), [{entry, 3}, {tier, 3}]),
    {error, identity, _} = ask(K, {config, wish([{entry, 1}], #{identity => <<"nonsense">>})}),
    ?equal(Forms(), [{entry, 3}, {tier, 3}]),
    {ok, _} = ask(K, {config, wish([{entry, 1}, {tier, 1}], #{returns => full})}),
    messages(K),
    run(T, entries, [[1]]),
    ?equal([element(3, M) || M <- messages(K)], [call, call, return_from, return_from]),
    ok = ask(K, {sample, 1000000}),
    ?equal(Forms(), []),
    ok = ask(K, {sample, 1}),
    ?equal(Forms(), [{entry, 5}, {tier, 3}]),
    finish(T, K).

reload_is_seen(T) ->
    K = traced(T, wish([{entry, 1}])),
    load(T, agent_load),
    receive
        {ke, reload, Text} -> ?check(string:find(Text, "agent_load:entry/1") =/= nomatch)
    after 5000 -> error(not_seen)
    end,
    messages(K),
    run(T, entries, [[1]]),
    ?equal(length(calls(messages(K))), 1),
    finish(T, K),
    rpc:call(T, code, purge, [agent_load]).

why_it_is_empty(T) ->
    K = traced(T, wish([{entry, 1}, {leaf, 1}, {none, 0}])),
    _ = rpc:call(T, agent_load, job, [call, [[{leaf, [X]} || X <- [1, 2]]]]),
    Ref = 4242,
    K ! {kp, Ref, {why, 1}},
    until(3000, fun() -> rpc:call(T, erlang, trace_info, [{agent_load, leaf, 1}, call_count]) =/= {call_count, false} orelse get(version) =/= '25' end),
    receive after 100 -> ok end,
    run(T, call, [[{leaf, [1]}, {leaf, [2]}, {entry, [3]}]]),
    receive {kr, Ref, Answer} -> ?equal(Answer, {called, 3, 1, 2}) after 5000 -> error(no_answer) end,
    ?equal(ask(K, {why, 2}), {called, 0, 0, 0}),
    ?equal(ask(K, {why, 9}), nofunction),
    {ok, _} = ask(K, {config, wish([{entry, 1}, {nosuch, 1}])}),
    ?equal(ask(K, {why, 1}), nofunction),
    run(T, entries, [[1]]),
    ?equal([F || {F, _} <- calls(messages(K)), F =:= entry], [entry, entry]),
    finish(T, K).

questions(T) ->
    K = start(T),
    Kernel = rpc:call(T, erlang, whereis, [kernel_sup]),
    Dead = rpc:call(T, erlang, spawn, [erlang, now, []]),
    until(2000, fun() -> not rpc:call(T, erlang, is_process_alive, [Dead]) end),
    [A, B] = [numbers(T, P) || P <- [Kernel, Dead]],
    ?equal(ask(K, {alive, [A, B]}), [B]),
    {Id, Serial} = A,
    ?equal(ask(K, {who, [A]}), [{Id, Serial, <<"kernel_sup">>}]),
    ?check(lists:member(<<"lists">>, ask(K, {modules, <<"lis">>}))),
    ?check(lists:member({entry, 1, true}, ask(K, {functions, agent_load}))),
    ?check(lists:member({endless, 1, false}, ask(K, {functions, <<"agent_load">>}))),
    {pong, _} = ask(K, ping),
    {error, unknown, _} = ask(K, {what, is_this}),
    ?equal(ask(K, {functions, no_such_module}), []),
    receive
        {kh, Stamp, Health} ->
            ?check(is_integer(Stamp)),
            ?equal(lists:sort(maps:keys(Health)), lists:sort([run_queue, sched, memory, processes, uptime_ms, relay_queue, relay_memory, dropped, others, breaker, trips, next_ms, sample])),
            ?check(lists:all(fun is_integer/1, maps:values(Health)))
    after 3000 -> error(no_heartbeat)
    end,
    finish(T, K).

numbers(T, P) ->
    "<0." ++ Rest = rpc:call(T, erlang, pid_to_list, [P]),
    [Id, Serial] = string:tokens(Rest, ".>"),
    {list_to_integer(Id), list_to_integer(Serial)}.

off_means_off(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    until(2000, fun() -> length(messages(K)) > 0 end),
    ok = ask(K, {tracing, false}),
    Last = receive_off(),
    ?equal(rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]), {traced, false}),
    {ok, Last, _} = ask(K, flush),
    receive {kb, Seq, _, _, _} when Seq > Last -> error(more) after 200 -> ok end,
    ok = ask(K, {tracing, true}),
    ?check(until(2000, fun() -> length(messages(K)) > 0 end)),
    stop_workers(Workers),
    finish(T, K).

receive_off() ->
    receive {kx, Last} -> Last
    after 3000 -> error(no_kx)
    end.

run_forever(T, N) -> rpc:call(T, agent_load, forever, [N, 2]).
stop_workers(Ps) -> [exit(P, kill) || P <- Ps].

silence_pauses_and_ends(T) ->
    K = start(T, #{pause_ms => 1000, end_ms => 3000}),
    {ok, _} = ask(K, {config, wish([{entry, 1}])}),
    ok = ask(K, {tracing, true}),
    receive_off(),
    ?check(until(2000, fun() -> rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]) =:= {traced, false} end)),
    K ! {kp_lease},
    {pong, _} = ask(K, ping),
    run(T, entries, [[1]]),
    ?equal(length(calls(messages(K))), 1),
    ?check(until(8000, fun() -> rpc:call(T, erlang, module_loaded, [kprof_keeper_00]) =:= false end)),
    nothing_left(T).

two_at_once(T) ->
    K = start(T),
    [load(T, slot(M), renamed(M)) || M <- ?MODULES],
    Second = start_keeper(T, kprof_keeper_01, #{}),
    case rpc:call(T, erlang, function_exported, [trace, session_create, 3]) of
        true ->
            {ok, K2, _} = Second,
            ?equal(maps:get(flags, ask(K2, detach)), 0);
        false ->
            {error, busy, Text} = Second,
            ?check(string:find(Text, "tester, since 20") =/= nomatch)
    end,
    {error, busy, _} = start_keeper(T, kprof_keeper_00, #{}),
    [rpc:call(T, code, F, [slot(M)]) || M <- ?MODULES, F <- [purge, delete, purge]],
    {pong, _} = ask(K, ping),
    finish(T, K).

slot(M) -> list_to_atom(lists:sublist(atom_to_list(M), length(atom_to_list(M)) - 2) ++ "01").
renamed(M) ->
    {ok, Beam} = file:read_file(filename:join(get_beams(), atom_to_list(M) ++ ".beam")),
    lists:foldl(fun(X, B) -> binary:replace(B, atom_to_binary(X, utf8), atom_to_binary(slot(X), utf8), [global]) end, Beam, ?MODULES).

overload_switches_off(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}, {leaf, 1}])),
    ok = ask(K, {limits, #{max_queue => 500}}),
    rpc:cast(T, agent_load, many, [4, 20000]),
    receive {ke, overload, Text} -> ?check(string:find(Text, "waiting") =/= nomatch) after 20000 -> error(no_overload) end,
    receive_off(),
    %% what was dropped is told, and it comes back by itself
    {ok, _, #{dropped := Dropped}} = ask(K, flush),
    ?check(Dropped > 0),
    ?check(until(10000, fun() -> messages(K), run(T, entries, [[1]]), calls(messages(K)) =/= [] end)),
    finish(T, K).

%% Properties of the breaker as a value: random orders of trips and ticks at random times.
breaker_keeps_its_times(_) ->
    Seed = seed(),
    [breaker_history(Seed, rand:uniform(2000), 400) || _ <- lists:seq(1, 200)].

breaker_history(Seed, Cooldown0, Steps) ->
    Cooldown = max(100, Cooldown0),
    breaker_history(Seed, Cooldown, Steps, 0, kprof_breaker_00:new(Cooldown), {closed, 0}, 0).

breaker_history(_, _, 0, _, _, _, _) ->
    ok;
breaker_history(Seed, Cooldown, Steps, Now0, B0, {State, Since}, Trips) ->
    Now = Now0 + rand:uniform(Cooldown),
    B =
        case rand:uniform(4) of
            1 -> kprof_breaker_00:trip(Now, B0);
            _ -> element(2, kprof_breaker_00:tick(Now, B0))
        end,
    Next = kprof_breaker_00:state(B),
    Ok =
        case {State, Next} of
            {Same, Same} -> true;
            {closed, open} -> kprof_breaker_00:next_ms(Now, B) >= Cooldown;
            {half_open, open} -> kprof_breaker_00:next_ms(Now, B) >= min(300000, 2 * Cooldown);
            {open, half_open} -> Now - Since >= Cooldown andalso kprof_breaker_00:factor(B) =:= 10;
            {half_open, closed} -> Now - Since >= 2000 andalso kprof_breaker_00:factor(B) > 1;
            _ -> false
        end,
    ?equal({Seed, State, Next, Ok}, {Seed, State, Next, true}),
    ?check(kprof_breaker_00:next_ms(Now, B) =< 300000),
    More = case {State, Next} of {open, open} -> 0; {_, open} -> 1; _ -> 0 end,
    ?equal(kprof_breaker_00:trips(B), Trips + More),
    At = if State =:= Next -> {State, Since}; true -> {Next, Now} end,
    breaker_history(Seed, Cooldown, Steps - 1, Now, B, At, Trips + More).

%% In no order of arrivals are more let through in an interval than it holds.
limit_is_never_passed(_) ->
    Seed = seed(),
    [
        begin
            PerSecond = rand:uniform(50000),
            Most = max(1, PerSecond div 10),
            Arrivals = arrivals(500, 0),
            {Let, _} = lists:mapfoldl(
                fun({Now, N}, L0) ->
                    {Some, L} = kprof_breaker_00:admit(N, Now, L0),
                    ?check(Some =< N),
                    {{element(2, L), Some}, L}
                end,
                kprof_breaker_00:limit(PerSecond, 0),
                Arrivals
            ),
            Starts = lists:usort([I || {I, _} <- Let]),
            [?equal({Seed, I, lists:sum([N || {J, N} <- Let, J =:= I]) =< Most}, {Seed, I, true}) || I <- Starts],
            [?check(B - A >= 100) || {A, B} <- lists:zip(lists:droplast(Starts), tl(Starts))]
        end
     || _ <- lists:seq(1, 50)
    ].

arrivals(0, _) -> [];
arrivals(N, Now) -> [{Now, rand:uniform(500)} | arrivals(N - 1, Now + rand:uniform(40) - 1)].

seed() ->
    Seed = erlang:system_time(microsecond) band 16#ffffffff,
    rand:seed(exsss, Seed),
    io:format("seed ~b~n", [Seed]),
    Seed.

%% A tight loop on all schedulers: open, half open, open for twice as long; when the load ends it closes.
breaker_backs_off(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}, {leaf, 1}])),
    ok = ask(K, {limits, #{max_age_ms => 1000, max_queue => 2000, cooldown_ms => 500}}),
    Workers = run_forever_tight(T),
    [First, Second] = [receive {ke, overload, Text} -> {now_ms(), Text} after 20000 -> error(no_overload) end || _ <- [1, 2]],
    ?check(string:find(element(2, First), "next try in 1 s") =/= nomatch),
    ?check(element(1, Second) - element(1, First) >= 500),
    %% while it is open nothing is set on the node
    ?check(until(1000, fun() -> rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]) =:= {traced, false} end)),
    stop_workers(Workers),
    ?check(until(30000, fun() ->
        receive {ke, closed, _} -> true after 0 -> false end
    end)),
    ?check(until(10000, fun() -> messages(K), run(T, entries, [[1]]), calls(messages(K)) =/= [] end)),
    finish(T, K).

run_forever_tight(T) -> rpc:call(T, agent_load, forever, [4, 0]).
now_ms() -> erlang:monotonic_time(millisecond).

%% With a limit of events sampling is steered: no trip, and the events stay below it.
sampling_is_steered(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}, {leaf, 1}])),
    ok = ask(K, {limits, #{max_queue => 50000, max_rate => 5000}}),
    Workers = run_forever_tight(T),
    ?check(until(20000, fun() -> steered(K) end)),
    receive {ke, overload, Text} -> error({tripped, Text}) after 0 -> ok end,
    stop_workers(Workers),
    %% let out again when there is room
    ?check(until(20000, fun() -> sample_told() =:= 1 end)),
    finish(T, K).

%% A second of full load in which something, but no more than the limit, was sent.
steered(K) ->
    {ok, _, #{sent := A}} = ask(K, flush),
    receive after 1000 -> ok end,
    {ok, _, #{sent := B}} = ask(K, flush),
    messages(K),
    B > A andalso B - A =< 6000 andalso sample_told() > 1.

%% By the newest heartbeat.
sample_told() ->
    receive {kh, _, #{sample := N}} -> sample_told(N) after 2000 -> error(no_heartbeat) end.
sample_told(Last) ->
    receive {kh, _, #{sample := N}} -> sample_told(N) after 0 -> Last end.

%% A reader that is stopped: the node's work goes on, memory stays bounded, what is lost is counted.
a_stopped_reader_blocks_nobody(T) ->
    {Peer, Pid, K} = other_owner(T, wish([{entry, 1}, {tier, 1}, {leaf, 1}])),
    Os = rpc:call(Peer, os, getpid, []),
    Pid ! {self(), {ask, K, {limits, ?NO_LIMITS}}},
    ok = receive {Pid, Limited} -> Limited after 5000 -> error(no_answer) end,
    os:cmd("kill -STOP " ++ Os),
    Before = erlang:monotonic_time(millisecond),
    run(T, many, [4, 20000]),
    ?check(erlang:monotonic_time(millisecond) - Before < 30000),
    R = rpc:call(T, erlang, whereis, [kprof_relay_00]),
    ?check(until(5000, fun() -> element(2, rpc:call(T, erlang, process_info, [R, message_queue_len])) < 1000 end)),
    {memory, Bytes} = rpc:call(T, erlang, process_info, [R, memory]),
    ?check(Bytes < 64 bsl 20),
    os:cmd("kill -CONT " ++ Os),
    Pid ! {self(), {ask, K, flush}},
    {ok, _, #{sent := Sent, dropped := Dropped}} = receive {Pid, A} -> A after 20000 -> error(no_answer) end,
    ?check(Dropped > 0),
    %% calls and returns: six events a request
    ?equal(Sent + Dropped, 4 * 20000 * 6),
    os:cmd("kill -9 " ++ Os),
    ?check(until(3000, fun() -> rpc:call(T, erlang, module_loaded, [kprof_keeper_00]) =:= false end)),
    nothing_left(T).

receipt_is_all_zero(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    until(2000, fun() -> length(messages(K)) > 0 end),
    Receipt = finish(T, K),
    ?equal(Receipt, #{patterns => 0, flags => 0, tokens => swept,
                      session => case rpc:call(T, erlang, function_exported, [trace, session_create, 3]) of true -> ended; false -> none end}),
    nothing_left(T),
    stop_workers(Workers).

nothing_left(T) ->
    Left = fun() -> rpc:call(T, agent_load, left, [[{agent_load, F, A} || {F, A} <- [{entry, 1}, {tier, 1}, {leaf, 1}]], ?MODULES]) end,
    Nothing = #{processes => [], modules => [], patterns => [], flags => [], new => [], sessions => 0, tokens => 0, tcw => 0},
    until(2000, fun() -> Left() =:= Nothing end),
    ?equal(Left(), Nothing).

relay_killed(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    until(2000, fun() -> length(messages(K)) > 0 end),
    exit(rpc:call(T, erlang, whereis, [kprof_relay_00]), kill),
    receive {ke, relay_died, _} -> ok after 2000 -> error(not_told) end,
    Left = fun() -> maps:with([patterns, flags, new, sessions], rpc:call(T, agent_load, left, [[{agent_load, entry, 1}, {agent_load, tier, 1}], ?MODULES])) end,
    ?equal(Left(), #{patterns => [], flags => [], new => [], sessions => 0}),
    {pong, _} = ask(K, ping),
    %% it can be switched on again
    drain(),
    ok = ask(K, {tracing, true}),
    ?check(until(2000, fun() -> length(messages(K)) > 0 end)),
    finish(T, K),
    stop_workers(Workers),
    nothing_left(T).

drain() -> receive _ -> drain() after 0 -> ok end.

keeper_killed(T) -> killed(T, fun(K) -> K end, keeper_died).
pacer_killed(T) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}])),
    {links, Links} = rpc:call(T, erlang, process_info, [rpc:call(T, erlang, whereis, [kprof_relay_00]), links]),
    [Pacer] = [P || P <- Links, is_pid(P)],
    exit(Pacer, kill),
    receive {ke, relay_died, _} -> ok after 2000 -> error(not_told) end,
    finish(T, K),
    nothing_left(T).

killed(T, Which, Tag) ->
    K = traced(T, wish([{entry, 1}, {tier, 1}])),
    Workers = run_forever(T, 4),
    until(2000, fun() -> length(messages(K)) > 0 end),
    exit(Which(K), kill),
    receive {ke, Tag, _} -> ok after 2000 -> error(not_told) end,
    ?check(until(2000, fun() -> rpc:call(T, erlang, module_loaded, [kprof_keeper_00]) =:= false end)),
    nothing_left(T),
    stop_workers(Workers).

kprof_top_killed(T) ->
    Workers = run_forever(T, 4),
    {Peer, Pid, K} = other_owner(T, wish([{entry, 1}, {tier, 1}])),
    ?check(until(2000, fun() -> rpc:call(T, erlang, trace_info, [{agent_load, entry, 1}, traced]) =/= {traced, false} orelse get(version) =/= '25' end)),
    %% in the middle of a question that counts calls
    Counter = fun() -> rpc:call(T, erlang, trace_info, [{agent_load, tier, 1}, call_count]) end,
    Pid ! {self(), {ask, K, {why, 1}}},
    ?check(until(2000, fun() -> Counter() =/= {call_count, false} orelse get(version) =/= '25' end)),
    Os = rpc:call(Peer, os, getpid, []),
    os:cmd("kill -9 " ++ Os),
    ?check(until(2000, fun() -> rpc:call(T, erlang, module_loaded, [kprof_keeper_00]) =:= false end)),
    nothing_left(T),
    ?equal(Counter(), {call_count, false}),
    stop_workers(Workers).

%% Another hidden node plays kprof-top: it can be stopped and killed.
other_owner(T, Wish) ->
    Name = lists:concat(["kprof_agent_owner_", erlang:unique_integer([positive]), "_", os:getpid()]),
    Host = lists:nth(2, string:tokens(atom_to_list(node()), "@")),
    Peer = list_to_atom(Name ++ "@" ++ Host),
    Dir = filename:dirname(code:which(?MODULE)),
    Command = lists:concat(["erl -sname ", Name, " -setcookie ", erlang:get_cookie(), " -hidden -noinput -pa ", Dir, " -kernel dist_auto_connect never"]),
    open_port({spawn, Command}, [in, stderr_to_stdout]),
    true = until(10000, fun() -> net_kernel:hidden_connect_node(Peer) =:= true end),
    true = rpc:call(Peer, net_kernel, hidden_connect_node, [T]),
    [load(T, M) || M <- ?MODULES],
    Pid = spawn(Peer, ?MODULE, owner, [self(), T, Wish]),
    receive {Pid, {ready, K}} -> {Peer, Pid, K} after 10000 -> error(no_owner) end.

owner(Tester, T, Wish) ->
    {ok, K, _} = start_keeper(T, kprof_keeper_00, #{}),
    {ok, _} = ask(K, {config, Wish}),
    ok = ask(K, {tracing, true}),
    Tester ! {self(), {ready, K}},
    own().

own() ->
    receive
        {From, {ask, K, Q}} -> From ! {self(), ask(K, Q)}, own();
        _ -> own()
    end.

dbg_is_left_alone(T) ->
    case rpc:call(T, code, ensure_loaded, [dbg]) of
        {module, _} -> dbg_left_alone(T);
        _ -> skipped
    end.

dbg_left_alone(T) ->
    Holder = spawn(T, timer, sleep, [infinity]),
    ok = rpc:call(T, agent_load, dbg_on, []),
    Before = rpc:call(T, agent_load, dbg_state, []),
    [load(T, M) || M <- ?MODULES],
    Isolated = rpc:call(T, erlang, function_exported, [trace, session_create, 3]),
    case start_keeper(T, kprof_keeper_00, #{}) of
        {ok, K0, _} when Isolated -> ask(K0, detach);
        {error, tracer, Text} when not Isolated -> ?check(string:find(Text, "someone else traces") =/= nomatch)
    end,
    unload(T),
    K = start(T, #{force => true}),
    {ok, Matched} = ask(K, {config, wish([{entry, 1}, {none, 0}])}),
    ?equal(lists:keyfind(1, 1, Matched), if Isolated -> {1, 1, <<>>}; true -> {1, 0, <<"someone else traces this function on the node: left alone">>} end),
    ok = ask(K, {tracing, true}),
    ?equal(rpc:call(T, agent_load, dbg_state, []), Before),
    run(T, entries, [[1]]),
    ?equal(length(calls(messages(K))), 1),
    ok = ask(K, {tracing, false}),
    ?equal(rpc:call(T, agent_load, dbg_state, []), Before),
    ok = ask(K, {tracing, true}),
    finish(T, K),
    ?equal(rpc:call(T, agent_load, dbg_state, []), Before),
    ok = rpc:call(T, agent_load, dbg_off, []),
    exit(Holder, kill),
    nothing_left(T).
