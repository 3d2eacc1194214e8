%% Identity rules: their names, and refused rules. Run by agent_test.
-module(agent_rule_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    start/1, start/2, ask/2, trace_config/1, trace_config/2, traced/2, finish/2, run/3, messages/1, calls/1
]).

tests() ->
    [
        {identities, fun identities/1},
        {identity_errors, fun identity_errors/1},
        {rules_are_interpreted, fun rules_are_interpreted/1}
    ].

%% In the merged module the rules are interpreted: with the same results.
rules_are_interpreted(_) ->
    Tiers = [{0, agent_load, entry, 1}, {1, agent_load, three, 3}, {2, agent_load, none, 0}, {3, agent_load, leaf, 1}],
    Wrong = ["x", "a:b/1 f(", "agent_load:entry/1", "agent_load:entry/1 arg(2)", "agent_load:entry/1 x; y", "fun ({m,f,[A]}) -> A, A end", "\"", "a:b/2 arg(1)"],
    [
        ?equal({Rule, Entry, kprof_agent_00:interpreted_call(identity_rule, rules, Args)}, {Rule, Entry, apply(kprof_identity_rule, rules, Args)})
     || Rule <- Wrong ++ [R || {R, _, _} <- rules()], Entry <- [none, 0], Args <- [[list_to_binary(Rule), Tiers, Entry]]
    ].

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
        One("agent_load:entry/1 nth(2, arg(1))", [a, b], b),
        One("agent_load:entry/1 nth(3, arg(1))", [a, b], undefined),
        One("fun ({agent_load,entry,[A]}) when nth(1, A) =:= x -> lists:nth(2, A) end", [x, b], b),
        One("agent_load:entry/1 prefix(4, arg(1))", <<"/users/1">>, <<"/use">>),
        One("agent_load:entry/1 prefix(4, arg(1))", <<"/u">>, <<"/u">>),
        One("agent_load:entry/1 prefix(4, arg(1))", "/users/1", "/use"),
        One("agent_load:entry/1 prefix(4, arg(1))", "/u", "/u"),
        One("agent_load:entry/1 prefix(2, arg(1))", [$/, 16#65e5, 16#672c], [$/, 16#65e5]),
        One("agent_load:entry/1 prefix(4, arg(1))", [], []),
        One("agent_load:entry/1 prefix(4, arg(1))", [a, b], undefined),
        One("agent_load:entry/1 prefix(4, arg(1))", [1, 2, 3, 4, 5], undefined),
        One("agent_load:entry/1 prefix(4, arg(1))", 7, undefined),
        One("agent_load:entry/1 prefix(4, arg(1))", [$a, $b | c], "ab"),
        One("agent_load:entry/1 {prefix(2, element(1, arg(1))), prefix(2, element(2, arg(1)))}", {<<"abc">>, "xyz"}, {<<"ab">>, "xy"}),
        One("agent_load:entry/1 {prefix(2, element(1, arg(1))), prefix(2, element(2, arg(1)))}", {<<"abc">>, xyz}, undefined),
        One("agent_load:entry/1 path(prefix(9, arg(1)))", "/users/1234", {'kprof path', "/users/12"}),
        One("fun ({agent_load,entry,[A]}) -> prefix(2, A); (_) -> other end", 7, other),
        One("agent_load:entry/1 {element(1, arg(1)), prefix(2, element(2, arg(1)))}", {get, <<"abc">>}, {get, <<"ab">>}),
        One("fun ({agent_load,entry,[#{path := P}]}) -> prefix(3, P) end", #{path => <<"/users">>}, <<"/us">>),
        One("agent_load:entry/1 {name(arg(1)), x}", registered, {registered, x}),
        One("agent_load:entry/1 path(arg(1))", <<"/users/1?a=b">>, {'kprof path', <<"/users/1?a=b">>}),
        One("agent_load:entry/1 path(arg(1))", "/users/1", {'kprof path', "/users/1"}),
        One("agent_load:entry/1 {get, path(map_get(path, arg(1)))}", #{path => <<"/u">>}, {get, {'kprof path', <<"/u">>}}),
        One("agent_load:entry/1 path(map_get(path, arg(1)))", #{}, undefined),
        One("agent_load:entry/1 shape(prefix(4, arg(1)))", <<"u1234">>, {'kprof shape', <<"u123">>}),
        One("agent_load:entry/1 path(arg(1))", binary:copy(<<"/a">>, 200), {'kprof path', binary:copy(<<"/a">>, 128)}),
        One("agent_load:entry/1 path(arg(1))", lists:duplicate(300, $a), {'kprof path', lists:duplicate(256, $a)}),
        One("fun ({agent_load,entry,[{path, P}]}) -> {P, path(P)} end", {path, <<"/u">>}, {<<"/u">>, {'kprof path', <<"/u">>}}),
        %% The wrappers that kprof-top adds to parts of a rule (engine/rule_template).
        One("agent_load:entry/1 {get, shape({element(1, arg(1)), x})}", {17}, {get, {'kprof shape', {17, x}}}),
        One("agent_load:entry/1 path({{element(1, arg(1)), 7}, x})", {a}, {'kprof path', {{a, 7}, x}}),
        One("fun ({agent_load,F,[A]}) when A > 5; A < 0 -> {path(F), shape(A)}; (_) -> undefined end", 7, {{'kprof path', entry}, {'kprof shape', 7}}),
        One("fun ({agent_load,entry,[#{path := P, q := 'end; ->'}]}) -> path(P); (_) -> undefined end", #{path => a, q => 'end; ->'}, {'kprof path', a}),
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
    K = traced(T, trace_config([])),
    [identity(T, K, Rule, Calls, Names) || {Rule, Calls, Names} <- rules()],
    finish(T, K).

%% entry is the entry; three, none and leaf are called in its request, so the rule is applied to each of them.
identity(T, K, Rule, Calls, Names) ->
    Config = trace_config([{entry, 1}, {three, 3}, {none, 0}, {leaf, 1}], #{identity => list_to_binary(Rule)}),
    {Rule, {ok, _}} = {Rule, ask(K, {config, Config})},
    Rest = [C || {F, _} = C <- Calls, F =/= entry],
    run(T, call, [[hd([C || {entry, _} = C <- Calls] ++ [{entry, [0]}]) | Rest]]),
    Ms = lists:usort(fun({A, _}, {B, _}) -> A =< B end, lists:reverse(calls(messages(K)))),
    ?equal({Rule, [name(proplists:get_value(F, Ms)) || {F, _} <- Calls]}, {Rule, Names}).

name({_, _, _}) -> none;
name(Msg) -> element(4, Msg).

identity_errors(T) ->
    K = start(T),
    Refused = fun(Rule) ->
        case ask(K, {config, trace_config([{entry, 1}], #{identity => list_to_binary(Rule)})}) of
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
    Says("fun ({agent_load,entry,[A]}) ->\n lists:last(A) end", "line 2, column ", "lists:last/1"),
    Says("fun ({agent_load,entry,[A]}) ->\n lists:nth(0,A) end", "line 2, column ", "nth(K, List)"),
    Says("agent_load:entry/1 nth(100000, arg(1))", "line 1, column 20: ", "nth(K, List)"),
    Says("agent_load:entry/1 prefix(257, arg(1))", "line 1, column 20: ", "prefix(N, Text)"),
    Says("agent_load:entry/1 prefix(arg(1), 2)", "line 1, column 20: ", "prefix(N, Text)"),
    Says("fun ({agent_load,entry,[A]}) when name(A) =:= x -> A end", "line 1, column 35: ", "guard"),
    Says("fun ({agent_load,entry,[A]}) when path(A) =:= x -> A end", "line 1, column 35: ", "guard"),
    Says("agent_load:entry/1 element(1, path(arg(1)))", "line 1, column 31: ", "kprof-top computes it"),
    Says("agent_load:entry/1 prefix(9, shape(arg(1)))", "line 1, column 30: ", "kprof-top computes it"),
    Says("agent_load:entry/1 nth(1, path(arg(1)))", "line 1, column 27: ", "kprof-top computes it"),
    Says("agent_load:entry/1 path(1, arg(1))", "line 1, column 20: ", "path/2"),
    Says("fun ({agent_load,entry,[A]}) -> B end", "line 1, column 33: ", "B"),
    Says("fun ({agent_load,entry,[<<A,_/binary>>]}) -> A end", "line 1, column 25: ", "binary"),
    Says("fun ({agent_load,entry,[A]}) -> A, A end", "line 1, column 36: ", "one expression"),
    Says("fun ({\"m\",entry,[A]}) -> A end", "line 1, column 7: ", "atoms"),
    Says("fun ({agent_load,entry,[A]}) -> set_seq_token(label, {A,A}) end", "line 1, column ", "set_seq_token"),
    Says("fun ({agent_load,entry,[A]}) -> message(A) end", "line 1, column ", "message"),
    Says("fun ({agent_load,entry}) -> a end", "line 1, column 6: ", "{M,F,[A1,...]}"),
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
    %% a refused rule changes nothing; a rule for a function that is not a tier is reported
    {ok, _} = ask(K, {config, trace_config([{entry, 1}], #{identity => <<"agent_load:leaf/1 arg(1); MyApp.Repo.get!/2 arg(1)">>})}),
    receive {ke, identity, Note} -> ?check(string:find(Note, "agent_load:leaf") =/= nomatch) after ?PATIENCE -> error(no_note) end,
    receive {ke, identity, Note2} -> ?check(string:find(Note2, "MyApp.Repo:get!") =/= nomatch) after ?PATIENCE -> error(no_note) end,
    finish(T, K).
