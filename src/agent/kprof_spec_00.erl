%% Match specs: the only module that makes them, checks them and sets them.
%% A wish (tiers, entry, identity rule, returns, sampling) becomes one spec a tier; see PROTOCOL.md for the messages.
-module(kprof_spec_00).
-export([compile/1, rules/3, check/1, set_pattern/4, pattern/2, flags/4, delivered/1, sweep/0, ticket_range/0]).

-define(TICKETS, 16#7ffffff). % tickets are 1..this
-define(LOW, 16#ffffffff). % the ticket's bits of a label
-define(SPINS, 24).

%% ---- The specs ----

%% -> {ok, [{Ix, MFA, Spec}], [Note]} | {error, Binary}. The first tier of several with one MFA gets it.
compile(#{tiers := Tiers, entry := Entry} = Wish) ->
    case rules(maps:get(identity, Wish, none), Tiers, Entry) of
        {ok, Rules, Notes} ->
            {ok, [{Ix, {M, F, A}, spec(Ix, maps:get(Ix, Rules, []), Wish)} || {Ix, M, F, A} <- first_of(Tiers, [])], Notes};
        Error ->
            Error
    end.

first_of([{_, M, F, A} = T | Rest], Seen) ->
    case lists:member({M, F, A}, Seen) of
        true -> first_of(Rest, Seen);
        false -> [T | first_of(Rest, [{M, F, A} | Seen])]
    end;
first_of([], _) ->
    [].

spec(Ix, Rules, #{entry := Ix} = Wish) ->
    lists:append([entry(Ix, Rule, Wish) || Rule <- Rules ++ [{'_', [], undefined}]]);
spec(Ix, [], #{entry := none} = Wish) ->
    [{'_', [], full(Wish) ++ [{message, {{Ix, 0, caller(Wish)}}}]}];
spec(Ix, Rules, #{entry := none} = Wish) ->
    [{Head, Guards, full(Wish) ++ [{message, {{Ix, 0, caller(Wish), Name}}}]} || {Head, Guards, Name} <- Rules ++ [{'_', [], undefined}]];
spec(Ix, [], Wish) ->
    [{'_', [{is_seq_trace}], full(Wish) ++ [{message, {{Ix, label(), caller(Wish)}}}]}];
spec(Ix, Rules, Wish) ->
    [
        {Head, [{is_seq_trace} | Guards], full(Wish) ++ [{message, {{Ix, label(), caller(Wish), Name}}}]}
     || {Head, Guards, Name} <- Rules ++ [{'_', [], undefined}]
    ].

full(#{returns := full}) -> [{exception_trace}];
full(_) -> [].

caller(#{returns := full}) -> 0;
caller(_) -> {caller}.

label() -> {element, 2, {get_seq_token}}.
low() -> {'band', label(), ?LOW}.

%% Two specs for a clause: a process that carries a token already tells the old label too. Elements of a tuple, and the
%% arguments of a function, are evaluated from right to left: the last element is the label from before the actions.
entry(Ix, {Head, Guards, Name}, #{epoch := Epoch, sample := 1} = Wish) ->
    Ticket = ticket(Epoch, {set_seq_token, label, {self}}),
    C = caller(Wish),
    [
        {Head, [{is_seq_trace} | Guards],
            full(Wish) ++ [{message, {{Ix, label(), C, Name, {'=:=', 0, {list_to_tuple(lists:reverse(Ticket))}}, label()}}}]},
        {Head, Guards, Ticket ++ full(Wish) ++ [{message, {{Ix, label(), C, Name, entry}}}]}
    ];
entry(Ix, {Head, Guards, Name}, #{epoch := Epoch, sample := N} = Wish) when N > 1 ->
    %% Who cannot get a ticket is not sampled: its pid has no dice.
    Ticket = ticket(Epoch, {'=:=', 0, low()}),
    C = caller(Wish),
    Toss = [{'orelse', {'=:=', 1, dice(N)}, {set_seq_token, sequential_trace_token, []}}],
    Full = [{'andalso', {is_seq_trace}, F} || F <- full(Wish)],
    Carried = {{Ix, label(), C, Name, {'=:=', 0, {list_to_tuple(lists:reverse(Ticket))}}, label()}},
    [
        {Head, [{is_seq_trace} | Guards], [{message, {element, dice(N), {{Carried, false}}}}] ++ Toss ++ Full},
        {Head, Guards, Ticket ++ Toss ++ Full ++ [{message, {'andalso', {is_seq_trace}, {{Ix, label(), C, Name, entry}}}}]}
    ].

%% An atomic ticket. set_tcw exchanges: who reads a number owns it until it puts back the next one; who reads 0 (someone
%% else is at it) tries again, and at last does Otherwise. The token's label is the variable that match specs lack.
ticket(Epoch, Otherwise) ->
    Take = {set_seq_token, label, {'bor', Epoch bsl 32, {set_tcw, 0}}},
    Put = {'=:=', 0, {set_tcw, {'+', 1, {'rem', low(), ?TICKETS}}}},
    [Take, {'orelse', again(?SPINS, Take, Otherwise), Put}].

again(0, _, Otherwise) -> {'andalso', {'=:=', 0, low()}, Otherwise};
again(N, Take, Otherwise) -> {'andalso', {'=:=', 0, low()}, {'andalso', Take, again(N - 1, Take, Otherwise)}}.

%% 1 for one ticket in N, 2 for the others and for 0. Two multiplications modulo two primes: one alone would favour
%% workloads that go round by turns. 0 maps to the largest value, which is never sampled.
dice(N) ->
    P1 = 2147483647,
    P2 = 2147483629,
    Zero = 462063239, % Zero * 69621 rem P2 = P2 - 1
    Hash = {'rem', {'*', {'rem', {'+', Zero, {'*', low(), 48271}}, P1}, 69621}, P2},
    {'+', 1, {'div', {'+', Hash, P2 - P2 div N}, P2}}.

ticket_range() -> ?TICKETS.

%% ---- The check: every spec goes through it ----

%% A label that is not an immediate kills the VM: {set_seq_token,label,X} is let through only with X proved to be one.
%% ok | {error, Binary}
check(Spec) ->
    try
        lists:foreach(fun check_clause/1, Spec),
        ok
    catch
        throw:{refused, Why} -> {error, Why};
        _:_ -> {error, <<"not a match spec">>}
    end.

check_clause({_Head, Guards, Body}) when is_list(Guards), is_list(Body) ->
    walk(Guards, guard),
    walk(Body, body).

walk({const, _}, _) -> ok;
walk({Tuple}, Where) when is_tuple(Tuple) -> walk(tuple_to_list(Tuple), Where);
walk({set_seq_token, label, X}, body) ->
    case immediate(X) of
        true -> walk(X, body);
        false -> refuse("a label must be an immediate", X)
    end;
walk({set_seq_token, sequential_trace_token, []}, body) -> ok;
walk({set_seq_token, _, _} = X, _) -> refuse("only labels are set", X);
walk(X, Where) when is_tuple(X), tuple_size(X) > 0, is_atom(element(1, X)) ->
    [F | Args] = tuple_to_list(X),
    case lists:member(F, pure()) orelse (Where =:= body andalso lists:member(F, actions())) of
        true -> walk(Args, Where);
        false -> refuse("not an allowed function", F)
    end;
walk(X, _) when is_tuple(X) -> refuse("not an expression", X);
walk([H | T], Where) ->
    walk(H, Where),
    walk(T, Where);
walk(X, Where) when is_map(X) ->
    walk(maps:keys(X), Where),
    walk(maps:values(X), Where);
walk(_, _) -> ok.

refuse(Text, What) -> throw({refused, bin(io_lib:format("~s: ~0tP", [Text, What, 12]))}).

actions() -> [message, exception_trace, set_tcw, get_tcw, get_seq_token, caller, self].
pure() ->
    ['=:=', '=/=', '==', '/=', '<', '=<', '>', '>=', 'and', 'or', 'not', 'xor', 'andalso', 'orelse', '+', '-', '*', 'div', 'rem',
     'band', 'bor', 'bxor', 'bnot', 'bsl', 'bsr', abs, element, hd, tl, length, node, round, trunc, size, tuple_size, byte_size, bit_size,
     map_size, map_get, is_map_key, is_atom, is_float, is_integer, is_list, is_number, is_pid, is_port, is_reference, is_tuple,
     is_map, is_binary, is_bitstring, is_boolean, is_function, is_record, is_seq_trace].

immediate({self}) -> true;
immediate(X) when is_integer(X) -> X > -(1 bsl 58) andalso X < 1 bsl 58;
immediate(X) when is_atom(X) -> not variable(X);
immediate(X) -> bound(X) < 1 bsl 58.

%% The largest value that a non-negative integer expression can have; an atom (greater than any number) if not provable.
bound(X) when is_integer(X), X >= 0 -> X;
bound({get_tcw}) -> ?LOW;
bound({set_tcw, _}) -> ?LOW;
bound({'bor', A, B}) -> both(A, B, fun(X, Y) -> ones(max(X, Y)) end);
bound({'band', A, B}) -> both(A, B, fun min/2);
bound({'+', A, B}) -> both(A, B, fun erlang:'+'/2);
bound({'bsl', A, B}) when is_integer(B), B >= 0, B < 60 -> both(A, 0, fun(X, _) -> X bsl B end);
bound({'bsr', A, B}) when is_integer(B), B >= 0 -> both(A, 0, fun(X, _) -> X bsr B end);
bound(_) -> unknown.

both(A, B, F) ->
    case {bound(A), bound(B)} of
        {X, Y} when is_integer(X), is_integer(Y) -> F(X, Y);
        _ -> unknown
    end.

ones(0) -> 0;
ones(X) -> (ones(X bsr 1) bsl 1) bor 1.

%% '$1', '$_', '$$', '_': not constants; what else begins so is refused with them.
variable(X) ->
    case atom_to_list(X) of
        [C | _] -> C =:= $$ orelse C =:= $_;
        [] -> false
    end.

%% ---- The VM: the only calls that set or clear anything. Session: none (the global trace) or a session of `trace` ----

%% Spec: a list, or false to clear; with [call_count]: true | pause | false. -> matched functions | {error, Why}
set_pattern(Session, MFA, Spec, Flags) when is_list(Spec) ->
    case check(Spec) of
        ok -> do_set(Session, MFA, Spec, Flags);
        Error -> Error
    end;
set_pattern(Session, MFA, Spec, Flags) when is_boolean(Spec) ->
    do_set(Session, MFA, Spec, Flags).

do_set(Session, MFA, Spec, Flags) ->
    try
        case Session of
            none -> erlang:trace_pattern(MFA, Spec, Flags);
            _ -> (tracer()):function(Session, MFA, Spec, Flags)
        end
    catch
        _:Why -> {error, Why}
    end.

%% What is set on a function: the value for Item (traced, match_spec, call_count).
pattern({Session, Item}, MFA) ->
    try
        case Session of
            none -> erlang:trace_info(MFA, Item);
            _ -> (tracer()):info(Session, MFA, Item)
        end
    of
        {_, Value} -> Value;
        _ -> undefined
    catch
        _:_ -> undefined
    end.

%% Flags of processes; the tracer is named when clearing too, so that processes of another tracer are left alone.
flags({none, Relay}, Who, On, Flags) ->
    try erlang:trace(Who, On, [{tracer, Relay} | Flags])
    catch _:_ -> 0
    end;
flags({Session, _}, Who, On, Flags) ->
    try (tracer()):process(Session, Who, On, Flags)
    catch _:_ -> 0
    end.

%% Asks for {trace_delivered, all, Ref}.
delivered(none) -> erlang:trace_delivered(all);
delivered(Session) -> (tracer()):delivered(Session, all).

tracer() -> trace.

sweep() ->
    case seq_trace:get_system_tracer() of
        false ->
            seq_trace:reset_trace(),
            swept;
        _ ->
            kept
    end.

%% ---- Identity rules ----

%% -> {ok, #{Ix => [{Head, Guards, Name}]}, [Note]} | {error, Binary}: for each tier that the rule names. A bare default
%% clause alone names the entry, but no other tier.
rules(None, _, _) when None =:= none; None =:= undefined; None =:= <<>> ->
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
        Other -> fail(element(2, Other), "a rule is fun ({M,F,[Args]}) -> Name; (_) -> undefined end", [])
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
        [{dot, End}] -> fail(End, "what names the request is missing after ~ts:~ts/~b: arg(1), for example", [M, F, A]);
        _ -> ok
    end,
    Args = [{var, L, variable_name(I)} || I <- lists:seq(1, A)],
    Body = args(exprs(unatom(Rest)), Args, A),
    [{clause, L, [{tuple, L, [{atom, L, M}, {atom, L, F}, list(L, Args)]}], [], [Body]}].

variable_name(I) -> list_to_atom("KprofArg" ++ integer_to_list(I)).

target([{atom, _, M}, {':', _}, {atom, _, F}, {'/', _}, {integer, _, A} | Rest]) when A =< 255 -> {M, F, A, Rest};
target([{':', _} | Tokens]) -> dotted(Tokens, []);
target(Tokens) -> dotted(Tokens, []).

%% Elixir's way: MyApp.Repo.get/2, :lists.map/2
dotted([T, {'.', _} | Rest], Parts) when element(1, T) =:= var; element(1, T) =:= atom -> dotted(Rest, [T | Parts]);
dotted([F, {Mark, _}, {'/', S}, A | Rest], [_ | _] = Parts) when Mark =:= '!'; Mark =:= '?' ->
    dotted([{atom, element(2, F), list_to_atom(word(F) ++ atom_to_list(Mark))}, {'/', S}, A | Rest], Parts);
dotted([F, {'/', _}, {integer, _, A} | Rest], [_ | _] = Parts) when A =< 255 ->
    {module(lists:reverse(Parts)), list_to_atom(word(F)), A, Rest};
dotted([T | _], _) ->
    fail(element(2, T), "M:F/A or Module.function/arity is expected before ~ts", [text(T)]).

word({atom, _, A}) -> atom_to_list(A);
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

%% :path, as Elixir writes an atom
unatom([{':', _}, {atom, _, _} = Atom | Rest]) -> [Atom | unatom(Rest)];
unatom([{atom, _, _} = Atom, {':', _} = Colon | Rest]) -> [Atom, Colon | unatom(Rest)];
unatom([T | Rest]) -> [T | unatom(Rest)];
unatom([]) -> [].

args({call, _, {atom, _, arg}, [{integer, _, N}]}, Args, A) when N >= 1, N =< A -> lists:nth(N, Args);
args({call, L, {atom, _, arg}, _}, _, 0) -> fail(L, "the function has no arguments", []);
args({call, L, {atom, _, arg}, _}, _, A) -> fail(L, "arg takes a number from 1 to ~b", [A]);
args({var, L, Name}, _, _) -> fail(L, "~ts: say arg(N) for the Nth argument", [Name]);
args(T, Args, A) when is_tuple(T) -> list_to_tuple(args(tuple_to_list(T), Args, A));
args([H | T], Args, A) -> [args(H, Args, A) | args(T, Args, A)];
args(X, _, _) -> X.

list(L, Elements) -> lists:foldr(fun(E, T) -> {cons, L, E, T} end, {nil, L}, Elements).

%% A rule's clauses as they apply to one tier. A name that cannot be computed (no such key) is a clause that does not
%% apply: in a guard the VM says so, in a message it would be the atom 'EXIT'.
of_tier(Clauses, {_, M, F, A}) ->
    lists:append([translated(C, M, F, A) || C <- Clauses]).

translated({clause, L, [Head], Guards, Body}, M, F, A) ->
    case head(Head, L, M, F, A) of
        nomatch -> [];
        {Params, Known} -> translate(L, Params, Known, Guards, Body)
    end;
translated({clause, L, _, _, _}, _, _, _) ->
    fail(L, "a clause has one argument, {M,F,[Args]} or _", []).

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
    fail(element(2, Other), "a clause's head is {M,F,[Args]} or _", []).

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
    Clause = {clause, L, [{tuple, L, Params}], Guards, [substitute(Body1, Unknown)]},
    [checked(L, Head, G, Name) || {Head, G, [Name]} <- transform(L, Clause)].

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
    try walk([Guards, Name], guard)
    catch throw:{refused, Why} -> fail(L, "~ts", [Why])
    end,
    Safe = [{'orelse', {is_atom, Name}, true} || calls(Name)],
    {tuple_to_list(Head), Guards ++ Safe, Name}.

calls({const, _}) -> false;
calls({T}) when is_tuple(T) -> calls(tuple_to_list(T));
calls(T) when is_tuple(T) -> true;
calls([H | T]) -> calls(H) orelse calls(T);
calls(M) when is_map(M) -> calls(maps:values(M));
calls(_) -> false.

%% What a match spec's head cannot hold goes into guards: map patterns (there a map matches whole) and aliases.
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
        _:_ -> fail(L, "match specs cannot look into a binary: match it whole, or take it with arg(N)", [])
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
    each(Ps, 1, E, L, {Known, [Size, call(L, is_tuple, [E]) | Guards]}); % tuple_size: not known to OTP 25's ms_transform
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

%% Clauses at the end that say undefined say nothing; a tier with none left is not named by the rule.
trim(Clauses) -> lists:reverse(lists:dropwhile(fun({_, _, Name}) -> Name =:= undefined end, lists:reverse(Clauses))).

unused(Clauses, Tiers) ->
    [
        bin(io_lib:format("~tsthe identity rule names ~ts:~ts, which is no tier", [place(L), M, F]))
     || {clause, L, [{tuple, _, [{atom, _, M}, {atom, _, F}, _]}], _, _} <- Clauses,
        not lists:any(fun({_, TM, TF, _}) -> {TM, TF} =:= {M, F} end, Tiers)
    ].
