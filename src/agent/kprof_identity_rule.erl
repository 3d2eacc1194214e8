%% Identity rules: from the operator's text, a fun or M:F/A with an expression, to heads, guards and names of match specs. The
%% fun is never run: ms_transform translates it to guards and a name, which kprof_check checks.
-module(kprof_identity_rule).
-agent(interpreted).
-export([rules/3]).
-export_type([clauses/0, rules/0]).

%% Clauses of one tier: {Head, Guards, Name}.
-type clauses() :: [{'_' | [term()], [term()], term()}].

-define(PREFIX, 256). % maximum length of a prefix in bytes of a binary or characters of a string
-define(PREFIXED, 'kprof prefix').
-define(NTH, 64).

-type rules() :: {ok, #{kprof_spec:ix() => clauses()}, [binary()]} | {error, binary()}.

%% -> {ok, #{Ix => [{Head, Guards, Name}]}, [Note]} | {error, Binary}: one entry for each tier that the rule names. A default
%% clause alone names the entry, but no other tier.
-spec rules(none | undefined | binary(), [kprof_spec:tier()], none | kprof_spec:ix()) -> rules().
rules(None, _, _) when None =:= none; None =:= undefined; byte_size(None) =:= 0 ->
    {ok, #{}, []};
rules(Text, Tiers, Entry) ->
    try
        Clauses = parse(Text),
        Own = [C || C <- Clauses, not is_default(C)],
        Named = [
            {Ix, trim(of_tier(Clauses, T))}
         || {Ix, _, _, _} = T <- Tiers,
            Entry =:= none orelse Ix =:= Entry orelse of_tier(Own, T) =/= []
        ],
        {ok, maps:from_list([R || {_, Cs} = R <- Named, Cs =/= []]), unused(Clauses, Tiers)}
    catch
        throw:{rule, Where, Why} -> {error, bin([place(Where), Why])}
    end.

is_default({clause, _, [{var, _, _}], _, _}) -> true;
is_default(_) -> false.

fail(Where, Format, Args) -> throw({rule, Where, io_lib:format(Format, Args)}).

place({Line, Column}) -> io_lib:format("line ~b, column ~b: ", [Line, Column]);
place(Line) when is_integer(Line) -> io_lib:format("line ~b: ", [Line]);
place(_) -> "".

bin(Text) -> unicode:characters_to_binary(Text).

parse(Text) ->
    Chars =
        case unicode:characters_to_list(Text) of
            L when is_list(L) -> L;
            _ -> fail({1, 1}, "not UTF-8", [])
        end,
    case erl_scan:string(Chars, {1, 1}) of
        {ok, [], _} -> fail({1, 1}, "empty rule", []);
        {ok, [{'fun', _} | _] = Tokens, End} -> parse_fun(ended(Tokens, End));
        {ok, Tokens, End} -> lists:flatmap(fun short/1, split([T || T <- Tokens, element(1, T) =/= dot], End));
        {error, {Where, Mod, Why}, _} -> fail(Where, "~ts", [Mod:format_error(Why)])
    end.

ended(Tokens, End) ->
    case lists:last(Tokens) of
        {dot, _} -> Tokens;
        _ -> Tokens ++ [{dot, End}]
    end.

exprs(Tokens) ->
    case erl_parse:parse_exprs(Tokens) of
        {ok, [Expr]} -> Expr;
        {ok, [_, Second | _]} -> fail(element(2, Second), "one expression is expected", []);
        {error, {Where, Mod, Why}} -> fail(Where, "~ts", [Mod:format_error(Why)])
    end.

parse_fun(Tokens) ->
    case exprs(Tokens) of
        {'fun', _, {clauses, Clauses}} -> Clauses;
        Other -> fail(element(2, Other), "a rule is fun ({M,F,[A1,...]}) -> Name; (_) -> undefined end", [])
    end.

%% Short forms: M:F/A Expr; M:F/A Expr ...
split(Tokens, End) -> split(Tokens, End, [], []).

split([{';', _} = T | Rest], End, Part, Parts) -> split(Rest, End, [], part(Part, T, Parts));
split([T | Rest], End, Part, Parts) -> split(Rest, End, [T | Part], Parts);
split([], End, Part, Parts) -> lists:reverse(part(Part, {dot, End}, Parts)).

part([], _, Parts) -> Parts;
part(Part, Stop, Parts) -> [lists:reverse([{dot, element(2, Stop)} | Part]) | Parts].

short([First | _] = Tokens) ->
    {M, F, A, Rest} = target(Tokens),
    L = element(2, First),
    case Rest of
        [{dot, End}] -> fail(End, "an expression is missing after ~ts:~ts/~b, for example arg(1)", [M, F, A]);
        _ -> ok
    end,
    Args = [{var, L, variable_name(I)} || I <- lists:seq(1, A)],
    Body = args(exprs(unatom(Rest)), Args, A),
    [{clause, L, [{tuple, L, [{atom, L, M}, {atom, L, F}, list(L, Args)]}], [], [Body]}].

variable_name(I) -> list_to_atom("KprofArg" ++ integer_to_list(I)).

target([{atom, _, M}, {':', _}, {atom, _, F}, {'/', _}, {integer, _, A} | Rest]) when A =< 255 -> {M, F, A, Rest};
target([{':', _} | Tokens]) -> dotted(Tokens, []);
target(Tokens) -> dotted(Tokens, []).

%% Elixir syntax: MyApp.Repo.get/2, :lists.map/2
dotted([T, {'.', _} | Rest], Parts) when element(1, T) =:= var; element(1, T) =:= atom -> dotted(Rest, [T | Parts]);
dotted([F, {Mark, _}, {'/', S}, A | Rest], [_ | _] = Parts) when Mark =:= '!'; Mark =:= '?' ->
    dotted([{atom, element(2, F), list_to_atom(word(F) ++ atom_to_list(Mark))}, {'/', S}, A | Rest], Parts);
dotted([F, {'/', _}, {integer, _, A} | Rest], [_ | _] = Parts) when A =< 255 ->
    {module(lists:reverse(Parts)), list_to_atom(word(F)), A, Rest};
dotted([T | _], _) ->
    fail(element(2, T), "M:F/A or Module.function/arity is expected before ~ts", [text(T)]).

word({atom, _, A}) -> atom_to_list(A);
word({var, _, V} = T) ->
    case atom_to_list(V) of
        [$_, _ | _] = Name -> Name; % __call__
        _ -> fail(element(2, T), "a function's name is expected before ~ts", [text(T)])
    end;
word({Reserved, L}) when is_atom(Reserved) ->
    Word = atom_to_list(Reserved),
    case hd(Word) >= $a andalso hd(Word) =< $z of
        true -> Word;
        false -> fail(L, "a function's name is expected before ~ts", [Word])
    end;
word(T) -> fail(element(2, T), "a function's name is expected before ~ts", [text(T)]).

module([{var, _, _} | _] = Parts) -> list_to_atom(lists:append(["Elixir" | ["." ++ atom_to_list(element(3, P)) || P <- Parts]]));
module([{atom, _, M}]) -> M;
module([_, T | _]) -> fail(element(2, T), "M:F/A or Module.function/arity is expected before ~ts", [text(T)]).

text({dot, _}) -> "the end";
text(T) when tuple_size(T) > 2 -> io_lib:format("~tp", [element(3, T)]);
text(T) -> atom_to_list(element(1, T)).

%% :path, an atom in Elixir syntax
unatom([{':', _}, {atom, _, _} = Atom | Rest]) -> [Atom | unatom(Rest)];
unatom([{atom, _, _} = Atom, {':', _} = Colon | Rest]) -> [Atom, Colon | unatom(Rest)];
unatom([T | Rest]) -> [T | unatom(Rest)];
unatom([]) -> [].

args({call, _, {atom, _, arg}, [{integer, _, N}]}, Args, A) when N >= 1, N =< A -> lists:nth(N, Args);
args({call, L, {atom, _, arg}, _}, _, 0) -> fail(L, "the function has no arguments", []);
args({call, L, {atom, _, arg}, _}, _, A) -> fail(L, "arg takes a number from 1 to ~b", [A]);
args({var, L, Name}, _, _) -> fail(L, "~ts is not bound: use arg(N) for the Nth argument", [Name]);
args(T, Args, A) when is_tuple(T) -> list_to_tuple(args(tuple_to_list(T), Args, A));
args([H | T], Args, A) -> [args(H, Args, A) | args(T, Args, A)];
args(X, _, _) -> X.

list(L, Elements) -> lists:foldr(fun(E, T) -> {cons, L, E, T} end, {nil, L}, Elements).

%% The clauses of a rule for one tier. If a name cannot be computed (no such key), its clause does not apply.
%% Therefore the name is also in a guard, which then fails; in a message alone it would be the atom 'EXIT'.
of_tier(Clauses, {_, M, F, A}) ->
    lists:append([translated(C, M, F, A) || C <- Clauses]).

translated({clause, L, [Head], Guards, Body}, M, F, A) ->
    case head(Head, L, M, F, A) of
        nomatch -> [];
        {Params, Known} -> translate(L, Params, Known, Guards, Body)
    end;
translated({clause, L, _, _, _}, _, _, _) ->
    fail(L, "a clause has one argument, {M,F,[A1,...]} or _", []).

head({var, _, '_'}, L, _, _, A) -> {lists:duplicate(A, {var, L, '_'}), #{}};
head({var, _, V}, L, M, F, A) ->
    Vars = fresh(L, A),
    {Vars, #{V => {tuple, L, [{atom, L, M}, {atom, L, F}, list(L, Vars)]}}};
head({tuple, _, [PM, PF, PA]}, L, M, F, A) ->
    case {name(PM, M, #{}), params(PA, L, A)} of
        {{ok, K1}, {Params, K2}} ->
            case name(PF, F, K1) of
                {ok, K3} -> {Params, maps:merge(K2, K3)};
                nomatch -> nomatch
            end;
        _ ->
            nomatch
    end;
head(Other, _, _, _, _) ->
    fail(element(2, Other), "a clause's head is {M,F,[A1,...]} or _", []).

fresh(L, A) -> [{var, L, variable_name(I)} || I <- lists:seq(1, A)].

name({atom, _, X}, X, Known) -> {ok, Known};
name({atom, _, _}, _, _) -> nomatch;
name({var, _, '_'}, _, Known) -> {ok, Known};
name({var, L, V}, X, Known) ->
    case Known of
        #{V := {atom, _, Y}} when X =/= Y -> nomatch;
        _ -> {ok, Known#{V => {atom, L, X}}}
    end;
name(Other, _, _) -> fail(element(2, Other), "module and function are atoms, variables or _ in a clause's head", []).

params({var, _, '_'}, L, A) -> {lists:duplicate(A, {var, L, '_'}), #{}};
params({var, _, V}, L, A) ->
    Vars = fresh(L, A),
    {Vars, #{V => list(L, Vars)}};
params({nil, _}, _, 0) -> {[], #{}};
params({cons, _, H, T}, L, A) when A > 0 ->
    case params(T, L, A - 1) of
        nomatch -> nomatch;
        {Rest, Known} -> {[H | Rest], Known}
    end;
params({nil, _}, _, _) -> nomatch;
params({cons, _, _, _}, _, _) -> nomatch;
params(Other, _, _) -> fail(element(2, Other), "the arguments are a list, a variable or _ in a clause's head", []).

translate(L, Params0, Known0, Guards0, Body0) ->
    Body1 =
        case Body0 of
            [One] -> One;
            [_, Second | _] -> fail(element(2, Second), "a clause has one expression: match specs have no variables", [])
        end,
    {Params, Later} = plain(substitute(Params0, Known0), []),
    {Known, Extra} = matches(lists:reverse(Later), {maps:from_list([{V, bound} || V <- vars(Params)]), []}),
    Unknown = maps:merge(Known0, maps:filter(fun(_, E) -> E =/= bound end, Known)),
    Guards = with_guards(lists:reverse(Extra), substitute(Guards0, Unknown)),
    Clause = {clause, L, [{tuple, L, Params}], short_forms(Guards, guard), short_forms([substitute(Body1, Unknown)], name)},
    [checked(L, Head, G ++ More, Way) || {Head, G, [Name]} <- transform(L, Clause), {More, Way} <- prefixed(Name)].

%% Functions of a rule that match specs do not have: nth(K, List); prefix(N, Text); name(Pid), which the relay looks up;
%% path(Text) and shape(Text), which kprof-top computes: they are a name, or an element of one, and never an argument (Where is
%% guard, name, or argument: of a function in a name).
short_forms({call, L, {atom, _, nth}, [K, E]}, Where) -> nth(K, short_forms(E, inner(Where)), L);
short_forms({call, L, {remote, _, {atom, _, lists}, {atom, _, nth}}, [K, E]}, Where) -> nth(K, short_forms(E, inner(Where)), L);
short_forms({call, L, {atom, _, F}, [_ | _]}, guard) when F =:= prefix; F =:= name; F =:= path; F =:= shape ->
    fail(L, "~s cannot be used in a guard", [F]);
short_forms({call, L, {atom, _, F}, [_]}, argument) when F =:= path; F =:= shape ->
    fail(L, "~s cannot be the argument of a function: kprof-top computes it, not the node", [F]);
short_forms({call, L, {atom, _, path}, [E]}, name) -> {tuple, L, [{atom, L, 'kprof path'}, short_forms(E, argument)]};
short_forms({call, L, {atom, _, shape}, [E]}, name) -> {tuple, L, [{atom, L, 'kprof shape'}, short_forms(E, argument)]};
short_forms({call, L, {atom, _, prefix}, [{integer, _, N} = Bytes, E]}, _) when N > 0, N =< ?PREFIX ->
    {tuple, L, [{atom, L, ?PREFIXED}, Bytes, short_forms(E, argument)]};
short_forms({call, L, {atom, _, prefix}, _}, _) -> fail(L, "use prefix(N, Text), with N from 1 to ~b", [?PREFIX]);
short_forms({call, L, {atom, _, name}, [E]}, _) -> {tuple, L, [{atom, L, 'kprof name'}, short_forms(E, argument)]};
short_forms({call, L, F, Es}, Where) -> {call, L, F, short_forms(Es, inner(Where))};
short_forms(T, Where) when is_tuple(T) -> list_to_tuple(short_forms(tuple_to_list(T), Where));
short_forms([H | T], Where) -> [short_forms(H, Where) | short_forms(T, Where)];
short_forms(X, _) -> X.

inner(guard) -> guard;
inner(_) -> argument.

nth({integer, _, K}, E, L) when K >= 1, K =< ?NTH -> call(L, hd, [tails(K - 1, E, L)]);
nth(_, _, L) -> fail(L, "use nth(K, List), with K from 1 to ~b", [?NTH]).

tails(0, E, _) -> E;
tails(K, E, L) -> call(L, tl, [tails(K - 1, E, L)]).

%% Most texts are binaries, which a match spec can shorten. It cannot shorten strings: the relay does that.
prefixed(Name) ->
    case prefixes(Name) of
        [] -> [{[], Name}];
        Texts -> [{[], shortened(Name)}, {[{'orelse', {is_list, X}, {is_binary, X}} || X <- Texts], Name}]
    end.

%% The texts of which a name has prefixes.
prefixes({{?PREFIXED, _, X}}) -> [X | prefixes(X)];
prefixes({const, _}) -> [];
prefixes(T) when is_tuple(T) -> prefixes(tuple_to_list(T));
prefixes([H | T]) -> prefixes(H) ++ prefixes(T);
prefixes(_) -> [].

%% The first N bytes, or all if there are fewer. min/2 is not allowed in match specs of all OTP releases.
shortened({{?PREFIXED, N, X0}}) ->
    X = shortened(X0),
    Size = {byte_size, X},
    {binary_part, X, 0, {'div', {'-', {'+', Size, N}, {abs, {'-', Size, N}}}, 2}};
shortened({const, _} = X) -> X;
shortened(T) when is_tuple(T) -> list_to_tuple(shortened(tuple_to_list(T)));
shortened([H | T]) -> [shortened(H) | shortened(T)];
shortened(X) -> X.

with_guards([], Guards) -> Guards;
with_guards(Extra, []) -> [Extra];
with_guards(Extra, Guards) -> [Extra ++ G || G <- Guards].

transform(L, Clause) ->
    try ms_transform:transform_from_shell(ets, [Clause], []) of
        {error, [{_, [{Where, Mod, Why} | _]} | _], _} -> fail(Where, "~ts", [Mod:format_error(Why)]);
        Specs when is_list(Specs) -> Specs
    catch
        throw:{rule, _, _} = E -> throw(E);
        _:_ -> fail(L, "this clause cannot be translated to a match spec", [])
    end.

checked(L, Head, Guards, Name) ->
    [fail(L, "~ts", [Why]) || {error, Why} <- [kprof_check:pure(Guards), kprof_check:name(Name)]],
    Safe = [{'orelse', {is_atom, Name}, true} || kprof_check:calls(Name)],
    {tuple_to_list(Head), Guards ++ Safe, Name}.

%% Patterns that the head of a match spec cannot express become guards: map patterns (there a map matches exactly) and aliases.
plain(Ps, Later) when is_list(Ps) -> lists:mapfoldl(fun plain/2, Later, Ps);
plain({tuple, L, Ps}, Later0) ->
    {Qs, Later} = plain(Ps, Later0),
    {{tuple, L, Qs}, Later};
plain({cons, L, H0, T0}, Later0) ->
    {[H, T], Later} = plain([H0, T0], Later0),
    {{cons, L, H, T}, Later};
plain({Kind, L, _} = P, Later) when Kind =:= map; Kind =:= bin -> set_aside(Kind, L, P, Later);
plain({match, L, _, _} = P, Later) -> set_aside(match, L, P, Later);
plain(P, Later) -> {P, Later}.

set_aside(bin, L, P, Later) ->
    literal_binary(L, P),
    {P, Later};
set_aside(_, L, P, Later) ->
    V = {var, L, list_to_atom("KprofPart" ++ integer_to_list(length(Later)))},
    {V, [{P, V} | Later]}.

literal_binary(L, P) ->
    try
        erl_parse:normalise(P)
    catch
        _:_ -> fail(L, "match specs cannot match a part of a binary: use the whole binary, or arg(N)", [])
    end.

matches([{P, E} | Rest], Acc) -> matches(Rest, match(P, E, Acc));
matches([], Acc) -> Acc.

match({var, _, '_'}, _, Acc) -> Acc;
match({var, L, V} = Var, E, {Known, Guards}) ->
    case Known of
        #{V := bound} -> {Known, [{op, L, '=:=', Var, E} | Guards]};
        #{V := Other} -> {Known, [{op, L, '=:=', Other, E} | Guards]};
        _ -> {Known#{V => E}, Guards}
    end;
match({match, _, P1, P2}, E, Acc) -> match(P2, E, match(P1, E, Acc));
match({map, L, Fields}, E, {Known, Guards}) ->
    lists:foldl(fun(F, Acc) -> field(F, E, Acc) end, {Known, [call(L, is_map, [E]) | Guards]}, Fields);
match({tuple, L, Ps}, E, {Known, Guards}) ->
    Size = {op, L, '=:=', call(L, size, [E]), {integer, L, length(Ps)}},
    each(Ps, 1, E, L, {Known, [Size, call(L, is_tuple, [E]) | Guards]}); % ms_transform of OTP 25 does not accept tuple_size
match({cons, L, H, T}, E, {Known, Guards}) ->
    Some = [{op, L, '=/=', E, {nil, L}}, call(L, is_list, [E])],
    match(T, call(L, tl, [E]), match(H, call(L, hd, [E]), {Known, Some ++ Guards}));
match({bin, L, _} = P, E, {Known, Guards}) ->
    literal_binary(L, P),
    {Known, [{op, L, '=:=', E, P} | Guards]};
match(P, E, {Known, Guards}) ->
    {Known, [{op, element(2, P), '=:=', E, P} | Guards]}.

each([P | Ps], I, E, L, Acc) -> each(Ps, I + 1, E, L, match(P, call(L, element, [{integer, L, I}, E]), Acc));
each([], _, _, _, Acc) -> Acc.

field({map_field_exact, L, K, P}, E, {Known, Guards}) ->
    match(P, call(L, map_get, [K, E]), {Known, [call(L, is_map_key, [K, E]) | Guards]});
field(Other, _, _) -> fail(element(2, Other), "a map pattern is #{key := Pattern}", []).

call(L, F, Args) -> {call, L, {atom, L, F}, Args}.

substitute({var, _, V} = Var, Known) ->
    case Known of
        #{V := Expr} -> Expr;
        _ -> Var
    end;
substitute(T, Known) when is_tuple(T) -> list_to_tuple(substitute(tuple_to_list(T), Known));
substitute([H | T], Known) -> [substitute(H, Known) | substitute(T, Known)];
substitute(X, _) -> X.

vars({var, _, V}) -> [V];
vars(T) when is_tuple(T) -> vars(tuple_to_list(T));
vars([H | T]) -> vars(H) ++ vars(T);
vars(_) -> [].

%% Final clauses that give undefined are dropped. A tier without any other clause is not named by the rule.
trim(Clauses) -> lists:reverse(lists:dropwhile(fun({_, _, Name}) -> Name =:= undefined end, lists:reverse(Clauses))).

unused(Clauses, Tiers) ->
    [
        bin(io_lib:format("~tsthe identity rule names ~ts:~ts, which is not a tier", [place(L), M, F]))
     || {clause, L, [{tuple, _, [{atom, _, M}, {atom, _, F}, _]}], _, _} <- Clauses,
        not lists:any(fun({_, TM, TF, _}) -> {TM, TF} =:= {M, F} end, Tiers)
    ].
