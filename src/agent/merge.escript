#!/usr/bin/env escript
%% merge.escript DIR SOURCE...: makes two modules of the agent's sources, for slot 00: DIR/kprof_agent_00.beam, and
%% DIR/kprof_tools_00.beam of the sources with `-agent(tools).`, which is loaded when it is first needed. Functions of other sources
%% that only the tools use are in it, too. A function f of kprof_x becomes x_f. Where the name of a source is a value (the name of
%% a process or of a session) it gets the digits of the slot: kprof_x_00.
%% The modules have no literals: a constant list, tuple or map is built when it is needed, because unloading a
%% module with literals can crash some VMs. hidden/1 hides a constant from the compiler. The build fails where a literal remains, and
%% if a module calls itself as another module.
%% Constant texts are not built by code: they are an attribute of the first module (kprof_text:stored/1).
%% They have no line numbers: without them the VM, which blocks a scheduler while it loads a module, loads it 10 % faster.
-mode(compile).

-define(AGENT, kprof_agent_00).
-define(TOOLS, kprof_tools_00).
-define(SLOT, "_00").
-define(HIDDEN, hidden).
-define(EMPTY_MAP, empty_map).
-define(IS_SPAWN(F), F =:= spawn; F =:= spawn_opt; F =:= spawn_link; F =:= spawn_monitor).
-define(SHORT, 1). % characters of a text that is built by code

main([Dir | Files]) ->
    Parsed = [parse(F) || F <- Files],
    put(names, maps:from_list([{M, prefix(M)} || {M, _} <- Parsed])),
    put(targets, maps:from_list([{M, declared(Forms)} || {M, Forms} <- Parsed])),
    put(functions, maps:from_list([{{M, F, A}, true} || {M, Forms} <- Parsed, {function, _, F, A, _} <- Forms])),
    put(exports, [{?AGENT, {controller_start, 1}} | [{Module, {?HIDDEN, 1}} || Module <- [?AGENT, ?TOOLS]]]),
    put(texts, #{}),
    put(calls_stay, lists:append([calls_stay(M, Forms) || {M, Forms} <- Parsed])),
    put(needed, needed(Parsed)),
    Functions = lists:append([slotted(functions(M, Forms)) || {M, Forms} <- Parsed, target(M) =/= interpreted]),
    Interpreted = [{source(M), forms(M, Forms)} || {M, Forms} <- Parsed, target(M) =:= interpreted],
    write(Dir, ?AGENT, [{attribute, 0, texts, texts()}, {attribute, 0, interpreted, Interpreted}], hiding() ++ [F || {?AGENT, F} <- Functions]),
    write(Dir, ?TOOLS, [], hiding() ++ [F || {?TOOLS, F} <- Functions]);
main(_) ->
    fail("usage: merge.escript DIR SOURCE...", []).

write(Dir, Module, Attributes, Functions) ->
    Exports = lists:usort([F || {M, F} <- get(exports), M =:= Module]),
    Forms = [{attribute, 0, module, Module}, {attribute, 0, export, Exports} | Attributes] ++ inlined(Functions, Exports) ++ [{eof, 0}],
    case compile:forms(Forms, [deterministic, no_debug_info, no_line_info, nowarn_unused_function, return_errors, {source, "kprof_agent"}]) of
        {ok, Module, Beam} -> checked(filename:join(Dir, atom_to_list(Module) ++ ".beam"), Beam);
        Error -> fail("cannot compile ~s: ~p", [Module, Error])
    end.

%% The module that gets the functions of a source, as the source says; interpreted: none.
declared(Forms) ->
    case [What || {attribute, _, agent, What} <- Forms] of
        [] -> ?AGENT;
        [tools] -> ?TOOLS;
        [interpreted] -> interpreted
    end.

target(M) -> map_get(M, get(targets)).

%% The module that gets a function.
place(M, F, A) ->
    case target(M) of
        ?AGENT -> case is_map_key({M, F, A}, get(needed)) of true -> ?AGENT; false -> ?TOOLS end;
        Declared -> Declared
    end.

fail(Format, Args) ->
    io:format(standard_error, "merge.escript: " ++ Format ++ "~n", Args),
    halt(1).

%% ---- Reading ----

parse(File) ->
    {ok, Forms} = epp:parse_file(File, [{includes, [filename:dirname(File)]}]),
    case [E || {error, E} <- Forms] of
        [] -> ok;
        Errors -> fail("~s: ~p", [File, Errors])
    end,
    [M] = [M || {attribute, _, module, M} <- Forms],
    {M, erl_expand_records:module(Forms, [])}.

prefix(M) ->
    "kprof_" ++ Rest = atom_to_list(M),
    Rest.

functions(M, Forms) ->
    put(module, M),
    [placed(M, Function) || {function, _, _, _, _} = Function <- Forms].

%% -> {the module that gets the function, the function}
placed(M, {function, L, F, A, Clauses}) ->
    put(place, place(M, F, A)),
    {get(place), {function, L, named(M, F), A, [clause(C) || C <- Clauses]}}.

%% A name that begins with that of its module stays.
named(M, F) ->
    Prefix = map_get(M, get(names)) ++ "_",
    Name = atom_to_list(F),
    case lists:prefix(Prefix, Name) of
        true -> F;
        false -> list_to_atom(Prefix ++ Name)
    end.

ours(M) -> is_map_key(M, get(names)).

%% The names that are left after calls were made local: values.
slotted({atom, L, A} = Atom) ->
    case ours(A) orelse A =:= kprof_tools of
        true -> {atom, L, list_to_atom(atom_to_list(A) ++ ?SLOT)};
        false -> Atom
    end;
slotted(T) when is_tuple(T) -> list_to_tuple(slotted(tuple_to_list(T)));
slotted([H | T]) -> [slotted(H) | slotted(T)];
slotted(X) -> X.

%% ---- Expressions: names are replaced, and constants are made when needed ----

clause({clause, L, Patterns, Guards, Body}) -> {clause, L, Patterns, Guards, [expr(E) || E <- Body]}.

expr({call, L, {remote, _, {atom, _, M}, {atom, _, module_info}} = Remote, [What] = Args}) ->
    case {ours(M), What} of
        {true, {atom, _, module}} -> id(L, {atom, L, target(M)});
        {true, _} -> {call, L, {remote, L, {atom, L, erlang}, {atom, L, get_module_info}}, [{atom, L, target(M)} | Args]};
        {false, _} -> {call, L, Remote, exprs(Args)}
    end;
expr({call, L, {remote, _, {atom, _, math}, _} = Remote, Args}) -> id(L, {call, L, Remote, exprs(Args)});
expr({call, L, {remote, _, {atom, _, M}, {atom, _, F}} = Remote, Args}) ->
    case ours(M) andalso target(M) of
        interpreted -> expr({call, L, {remote, L, {atom, L, kprof_interpreted}, {atom, L, call}}, [{atom, L, source(M)}, {atom, L, F}, list(L, Args)]});
        false -> {call, L, Remote, exprs(spawned(F, Args))};
        _ -> {call, L, function(L, M, F, length(Args)), exprs(Args)}
    end;
expr({call, L, {atom, _, F} = Name, Args}) ->
    case is_local(get(module), F, length(Args)) of
        true -> {call, L, function(L, get(module), F, length(Args)), exprs(Args)};
        false -> {call, L, Name, exprs(spawned(F, Args))}
    end;
expr({call, L, F, Args}) -> {call, L, expr(F), exprs(Args)};
expr({'fun', L, {function, F, A}} = Fun) ->
    case is_local(get(module), F, A) of
        true -> hidden_fun(L, function(L, get(module), F, A), A);
        false -> Fun
    end;
expr({'fun', L, {function, {atom, _, M}, {atom, _, F}, {integer, _, A}}} = Fun) ->
    case ours(M) of
        true -> hidden_fun(L, function(L, M, F, A), A);
        false -> Fun
    end;
expr({'fun', L, {clauses, Clauses}}) -> {'fun', L, {clauses, [clause(C) || C <- Clauses]}};
expr({named_fun, L, Name, Clauses}) -> {named_fun, L, Name, [clause(C) || C <- Clauses]};
expr({string, _, ""}) -> {nil, 0};
expr({string, L, Text}) when length(Text) > ?SHORT -> stored(L, stored, unicode:characters_to_binary(Text));
expr({string, L, Text}) -> expr(list(L, [{integer, L, C} || C <- Text]));
expr({cons, L, H, {nil, _}}) ->
    case constant(H) of
        true -> {cons, L, expr(H), id(L, {nil, L})};
        false -> {cons, L, expr(H), {nil, L}}
    end;
expr({cons, L, H, T}) -> {cons, L, expr(H), expr(T)};
expr({tuple, L, []}) -> {call, L, {remote, L, {atom, L, erlang}, {atom, L, list_to_tuple}}, [id(L, {nil, L})]};
expr({tuple, L, [First | Rest] = All}) ->
    case lists:all(fun plain/1, All) of
        true -> {tuple, L, [id(L, First) | Rest]};
        false -> {tuple, L, exprs(All)}
    end;
expr({map, L, []}) -> {call, L, {atom, L, ?EMPTY_MAP}, []};
expr({map, L, Fields}) -> {map, L, expr({map, L, []}), fields(Fields)};
expr({map, L, M, Fields}) -> {map, L, expr(M), fields(Fields)};
expr({bin, L, []}) -> {call, L, {remote, L, {atom, L, erlang}, {atom, L, list_to_binary}}, [id(L, {nil, L})]};
expr({bin, L, Elements}) ->
    case lists:all(fun({bin_element, _, V, _, _}) -> constant(V) end, Elements) of
        true -> stored(L, stored_binary, constant_binary(Elements));
        false -> {bin, L, [{bin_element, EL, element_value(V), Size, Types} || {bin_element, EL, V, Size, Types} <- Elements]}
    end;
expr({float, L, F}) when F == trunc(F) -> {call, L, {remote, L, {atom, L, erlang}, {atom, L, float}}, [id(L, {integer, L, trunc(F)})]};
expr({float, L, F}) -> fail("~s: ~p: a constant float that is not a whole number would be a literal", [get(module), {L, F}]);
expr({match, L, P, E}) -> {match, L, P, expr(E)};
expr({block, L, Es}) -> {block, L, exprs(Es)};
expr({'if', L, Cs}) -> {'if', L, [clause(C) || C <- Cs]};
expr({'case', L, E, Cs}) -> {'case', L, expr(E), [clause(C) || C <- Cs]};
expr({'receive', L, Cs}) -> {'receive', L, [clause(C) || C <- Cs]};
expr({'receive', L, Cs, After, Body}) -> {'receive', L, [clause(C) || C <- Cs], expr(After), exprs(Body)};
expr({'try', L, Es, Cs, Catch, After}) -> {'try', L, exprs(Es), [clause(C) || C <- Cs], [clause(C) || C <- Catch], exprs(After)};
expr({'catch', L, E}) -> {'catch', L, expr(E)};
expr({lc, L, E, Qs}) ->
    Made = case plain(E) of true -> id(L, E); false -> expr(E) end,
    {lc, L, Made, [qualifier(Q) || Q <- Qs]};
expr({bc, L, E, Qs}) -> {bc, L, expr(E), [qualifier(Q) || Q <- Qs]};
expr({op, L, Op, A}) -> {op, L, Op, expr(A)};
% known floats would turn other constants in the expression into floats
expr({op, L, '/', A, B}) -> id(L, {op, L, '/', hidden(L, expr(A)), hidden(L, expr(B))});
expr({op, L, Op, A, B}) -> {op, L, Op, expr(A), expr(B)};
expr({remote, L, M, F}) -> {remote, L, expr(M), expr(F)};
expr(Leaf) when element(1, Leaf) =:= var; element(1, Leaf) =:= atom; element(1, Leaf) =:= integer; element(1, Leaf) =:= char; element(1, Leaf) =:= nil -> Leaf;
expr(Other) -> fail("~s: an expression that is not known: ~p", [get(module), Other]).

exprs(Es) -> [expr(E) || E <- Es].
fields(Fields) -> [{Assoc, L, expr(K), expr(V)} || {Assoc, L, K, V} <- Fields].
element_value({string, _, _} = S) -> S;
element_value(V) -> expr(V).

qualifier({generate, L, P, E}) -> {generate, L, P, expr(E)};
qualifier({b_generate, L, P, E}) -> {b_generate, L, P, expr(E)};
qualifier(E) -> expr(E).

%% A function of the same module is called by its name, another one as an exported function.
function(L, M, F, A) ->
    Name = {atom, L, named(M, F)},
    case place(M, F, A) =:= get(place) of
        true -> Name;
        false -> {remote, L, {atom, L, exported(M, F, A)}, Name}
    end.

exported(M, F, A) ->
    Place = place(M, F, A),
    put(exports, [{Place, {named(M, F), A}} | get(exports)]),
    Place.

%% spawn(kprof_x, f, [...]), and the like.
spawned(F, [{atom, L, M}, {atom, _, G}, Args | Rest] = All) when ?IS_SPAWN(F) ->
    case ours(M) of
        true ->
            [{atom, L, exported(M, G, list_length(Args))}, {atom, L, named(M, G)}, Args | Rest];
        false ->
            All
    end;
spawned(_, Args) ->
    Args.

list_length({nil, _}) -> 0;
list_length({cons, _, _, T}) -> 1 + list_length(T).

list(L, Es) -> lists:foldr(fun(E, Rest) -> {cons, L, E, Rest} end, {nil, L}, Es).

hidden(L, E) ->
    case plain(E) of
        true -> id(L, E);
        false -> E
    end.

%% The compiler does not know with what an exported function is called, so it knows nothing of the result of this one. The call is
%% local: one of another module takes the VM four times as long to load, and a process that made one while the module is unloaded
%% would make the code server search for it.
id(L, E) -> {call, L, {atom, L, ?HIDDEN}, [E]}.

hiding() ->
    X = {var, 0, 'X'},
    Map = {call, 0, {remote, 0, {atom, 0, maps}, {atom, 0, from_list}}, [id(0, {nil, 0})]},
    [{function, 0, ?HIDDEN, 1, [{clause, 0, [X], [], [X]}]}, {function, 0, ?EMPTY_MAP, 0, [{clause, 0, [], [], [Map]}]}].

%% ---- What the first module needs ----

%% #{{M, F, A} => true}: functions that the agent may call while the tools are not loaded. That is everything that can be reached
%% from its start, and from what is called by name, without a function of the tools.
needed(Parsed) ->
    Uses = maps:from_list([{{M, F, A}, uses(M, Clauses, [])} || {M, Forms} <- Parsed, {function, _, F, A, Clauses} <- Forms]),
    Interpreted = lists:append([Of || {{M, _, _}, Of} <- maps:to_list(Uses), target(M) =:= interpreted]),
    reached([{kprof_controller, start, 1}, {kprof_interpreted, call, 3}, {kprof_text, stored, 1}, {kprof_text, stored_binary, 1} | Interpreted], Uses, #{}).

reached([{M, _, _} = MFA | Rest], Uses, Needed) ->
    case is_map_key(MFA, Needed) orelse target(M) =/= ?AGENT of
        true -> reached(Rest, Uses, Needed);
        false -> reached(map_get(MFA, Uses) ++ Rest, Uses, Needed#{MFA => true})
    end;
reached([], _, Needed) ->
    Needed.

%% The functions of the sources that are called, started as a process, or used as a value.
uses(M, {call, _, {remote, _, {atom, _, Of}, {atom, _, F}}, Args}, Acc) -> uses(M, Args, called(Of, F, Args) ++ Acc);
uses(M, {call, _, {atom, _, F}, Args}, Acc) -> uses(M, Args, [{M, F, length(Args)} || is_local(M, F, length(Args))] ++ called(erlang, F, Args) ++ Acc);
uses(M, {'fun', _, {function, F, A}}, Acc) -> [{M, F, A} || is_local(M, F, A)] ++ Acc;
uses(_, {'fun', _, {function, {atom, _, Of}, {atom, _, F}, {integer, _, A}}}, Acc) -> [{Of, F, A} || ours(Of)] ++ Acc;
uses(M, T, Acc) when is_tuple(T) -> uses(M, tuple_to_list(T), Acc);
uses(M, [H | T], Acc) -> uses(M, T, uses(M, H, Acc));
uses(_, _, Acc) -> Acc.

called(_, F, [{atom, _, M}, {atom, _, G}, Args | _]) when ?IS_SPAWN(F) -> [{M, G, list_length(Args)} || ours(M)];
called(M, F, Args) -> [{M, F, length(Args)} || ours(M), F =/= module_info].

is_local(M, F, A) -> is_map_key({M, F, A}, get(functions)).

%% ---- Sources that are interpreted (kprof_interpreted) ----

forms(M, Forms) ->
    Functions = [erl_parse:map_anno(fun(_) -> 0 end, F) || F <- Forms, element(1, F) =:= function],
    term_to_binary(maps:from_list([{{F, A}, in_place(M, Clauses)} || {function, _, F, A, Clauses} <- Functions]), [{compressed, 9}]).

source(M) -> list_to_atom(map_get(M, get(names))).

%% A function of another source has the name that it has in the merged module (whose own name has digits that depend on the slot).
%% erl_eval knows no local function as a value.
in_place(M, {call, L, {remote, _, {atom, _, Other}, {atom, _, F}} = Remote, Args}) ->
    case ours(Other) andalso target(Other) of
        false -> {call, L, Remote, in_place(M, Args)};
        interpreted -> {call, L, {atom, L, in_agent(M, kprof_interpreted, call, 3)}, [{atom, L, source(Other)}, {atom, L, F}, list(L, in_place(M, Args))]};
        _ -> {call, L, {atom, L, in_agent(M, Other, F, length(Args))}, in_place(M, Args)}
    end;
in_place(_, {'fun', L, {function, F, A}}) ->
    Vars = params(L, A),
    {'fun', L, {clauses, [{clause, L, Vars, [], [{call, L, {atom, L, F}, Vars}]}]}};
in_place(M, T) when is_tuple(T) -> list_to_tuple(in_place(M, tuple_to_list(T)));
in_place(M, [H | T]) -> [in_place(M, H) | in_place(M, T)];
in_place(_, X) -> X.

in_agent(M, Other, F, A) ->
    exported(Other, F, A) =:= ?AGENT orelse fail("~s calls ~s, which is not in the first module", [M, Other]),
    named(Other, F).

%% ---- Texts ----

stored(L, F, Text) ->
    N = maps:get(Text, get(texts), map_size(get(texts))),
    put(texts, maps:put(Text, N, get(texts))),
    {call, L, function(L, kprof_text, F, 1), [{integer, L, N}]}.

constant_binary(Elements) ->
    {value, Text, _} = erl_eval:expr({bin, 0, Elements}, erl_eval:new_bindings()),
    Text.

%% As kprof_text reads them: in 16 bits each, where a text begins, and where the last one ends; then the texts.
texts() ->
    Texts = [T || {_, T} <- lists:sort([{N, T} || {T, N} <- maps:to_list(get(texts))])],
    {Begins, End} = lists:mapfoldl(fun(T, At) -> {<<At:16>>, At + byte_size(T)} end, 2 * (1 + length(Texts)), Texts),
    End < 1 bsl 16 orelse fail("the constant texts are ~b bytes", [End]),
    iolist_to_binary([Begins, <<End:16>>, Texts]).

%% A fun without an environment is a literal for the loader.
hidden_fun(L, Name, Arity) ->
    Vars = params(L, Arity),
    N = erlang:unique_integer([positive]),
    Hidden = {var, L, list_to_atom("Hidden " ++ integer_to_list(N))},
    Used = {var, L, '_'},
    Body = [{match, L, Used, Hidden}, {call, L, Name, Vars}],
    {block, L, [{match, L, Hidden, id(L, {nil, L})}, {'fun', L, {clauses, [{clause, L, Vars, [], kept(L, Hidden, Body)}]}}]}.

params(L, Arity) -> [{var, L, list_to_atom("Arg " ++ integer_to_list(I))} || I <- lists:seq(1, Arity)].

%% The variable must not be optimised away: its value is passed through.
kept(L, Hidden, [_, Call]) -> [{'case', L, Hidden, [{clause, L, [{nil, L}], [], [Call]}]}].

%% Constants that are not literals.
plain({atom, _, _}) -> true;
plain({integer, _, _}) -> true;
plain({char, _, _}) -> true;
plain({nil, _}) -> true;
plain({op, _, '-', E}) -> plain(E);
plain({op, _, _, A, B}) -> plain(A) andalso plain(B);
plain(_) -> false.

constant({string, _, _}) -> true;
constant(E) -> plain(E).

%% ---- Functions that are called in one place ----

%% A function takes the VM about 1 us to load; with the code around the call, 5 % of the whole. So one that has one call becomes
%% part of the function that calls it.
inlined(Functions, Exports) ->
    Calls = lists:foldl(fun({function, _, F, A, Clauses}, Acc) -> calls({F, A}, Clauses, Acc) end, #{}, Functions),
    Stay = Exports ++ get(calls_stay),
    Once = maps:filter(fun(FA, Callers) -> length(Callers) =:= 1 andalso not lists:member(FA, Stay) end, Calls),
    All = maps:from_list([{{F, A}, Clauses} || {function, _, F, A, Clauses} <- Functions]),
    put(inlined, maps:filter(fun(FA, _) -> is_map_key(FA, Once) andalso not circle(FA, FA, Once, #{}) end, All)),
    [{function, L, F, A, inner(Clauses)} || {function, L, F, A, Clauses} <- Functions, not is_map_key({F, A}, get(inlined))].

%% Functions whose calls mean something, as the source says: -calls_stay(all). or -calls_stay([f/1]).
calls_stay(M, Forms) ->
    [{named(M, F), A} || {attribute, _, calls_stay, Which} <- Forms, {function, _, F, A, _} <- Forms, Which =:= all orelse lists:member({F, A}, Which)].

circle(FA, At, Once, Seen) ->
    [Caller] = map_get(At, Once),
    Caller =:= FA orelse is_map_key(Caller, Seen) orelse (is_map_key(Caller, Once) andalso circle(FA, Caller, Once, Seen#{Caller => true})).

%% #{function => where it is called or used}; a use as a value counts twice.
calls(Me, {call, _, {atom, _, F}, Args}, Acc) -> calls(Me, Args, used({F, length(Args)}, [Me], Acc));
calls(Me, {'fun', _, {function, F, A}}, Acc) -> used({F, A}, [Me, Me], Acc);
calls(Me, T, Acc) when is_tuple(T) -> calls(Me, tuple_to_list(T), Acc);
calls(Me, [H | T], Acc) -> calls(Me, T, calls(Me, H, Acc));
calls(_, _, Acc) -> Acc.

used(FA, By, Acc) -> maps:update_with(FA, fun(Callers) -> By ++ Callers end, By, Acc).

inner({call, L, {atom, _, F} = Name, Args}) ->
    case get(inlined) of
        #{{F, length(Args)} := Clauses} -> {block, L, body(L, inner(Args), inner(renamed(erlang:unique_integer([positive]), Clauses)))};
        #{} -> {call, L, Name, inner(Args)}
    end;
inner(T) when is_tuple(T) -> list_to_tuple(inner(tuple_to_list(T)));
inner([H | T]) -> [inner(H) | inner(T)];
inner(X) -> X.

body(L, Args, [{clause, _, Params, [], Body}] = Clauses) ->
    case lists:all(fun(P) -> element(1, P) =:= var end, Params) of
        true -> [{match, L, P, hidden(L, A)} || {P, A} <- lists:zip(Params, Args)] ++ Body;
        false -> chosen(L, Args, Clauses)
    end;
body(L, Args, Clauses) ->
    chosen(L, Args, Clauses).

chosen(L, [Arg], Clauses) -> [{'case', L, hidden(L, Arg), Clauses}];
chosen(L, Args, Clauses) -> [{'case', L, {tuple, L, [hidden(L, A) || A <- Args]}, [{clause, CL, [{tuple, CL, Ps}], G, B} || {clause, CL, Ps, G, B} <- Clauses]}].

renamed(_, {var, _, '_'} = Any) -> Any;
renamed(N, {var, L, V}) -> {var, L, list_to_atom(atom_to_list(V) ++ " " ++ integer_to_list(N))};
renamed(N, T) when is_tuple(T) -> list_to_tuple(renamed(N, tuple_to_list(T)));
renamed(N, [H | T]) -> [renamed(N, H) | renamed(N, T)];
renamed(_, X) -> X.

%% ---- Checks of the result ----

checked(Out, Beam) ->
    {ok, _, Chunks} = beam_lib:all_chunks(Beam),
    case lists:keyfind("LitT", 1, Chunks) of
        false -> ok;
        {_, LitT} -> fail("literals are left: ~p", [literals(LitT)])
    end,
    {ok, {Module, [{imports, Imports}]}} = beam_lib:chunks(Beam, [imports]),
    [] =:= [x || {M, _, _} <- Imports, M =:= Module] orelse fail("~s calls itself as another module, which fails while it is unloaded", [Module]),
    Disassembled = beam_disasm:file(Beam),
    Funs = [{F, I} || {function, F, _, _, Code} <- element(6, Disassembled), I <- Code, element(1, I) =:= make_fun3, element(4, I) =:= {list, []}],
    Funs =:= [] orelse fail("funs without an environment are literals for the loader: ~p", [Funs]),
    Numbers = [{F, N} || {function, F, _, _, Code} <- element(6, Disassembled), N <- numbers(Code)],
    Numbers =:= [] orelse fail("numbers that are not small integers are literals for the loader: ~p", [Numbers]),
    ok = file:write_file(Out, Beam).

numbers({integer, N}) when N >= 1 bsl 59; N < -(1 bsl 59) -> [N];
numbers({float, N}) -> [N];
numbers(T) when is_tuple(T) -> numbers(tuple_to_list(T));
numbers([H | T]) -> numbers(H) ++ numbers(T);
numbers(_) -> [].

literals(<<0:32, Bin/binary>>) -> terms(Bin);
literals(<<_:32, Zipped/binary>>) -> terms(zlib:uncompress(Zipped)).
terms(<<_:32, Rest/binary>>) -> each(Rest).
each(<<Size:32, Term:Size/binary, Rest/binary>>) -> [binary_to_term(Term) | each(Rest)];
each(<<>>) -> [].
