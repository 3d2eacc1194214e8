%% The loaded code of the node: which functions there are, and names similar to a wrong one. The code server, which may hang, is
%% not asked.
-module(kprof_code).
-export([exports/2, written/1, exists/3, exist/1, version/1, note/4, to_atom/1]).

-define(EXIST, 500).

%% False: a function that the compiler made, for example of a comprehension.
-spec written(atom()) -> boolean().
written(F) -> not lists:prefix("-", atom_to_list(F)).

-spec exports(module(), exports | functions) -> [{atom(), arity()}].
exports(M, What) ->
    try erlang:get_module_info(M, What)
    catch _:_ -> []
    end.

%% true | no_module (not loaded) | no_function
-spec exists(module(), atom(), arity()) -> true | no_module | no_function.
exists(M, F, A) ->
    case erlang:module_loaded(M) of
        false -> no_module;
        true -> lists:member({F, A}, exports(M, functions)) orelse no_function
    end.

%% For each function 1 if it exists, 0 if not.
-spec exist([mfa()]) -> tuple().
exist(MFAs) -> list_to_tuple([flag(MFA) || MFA <- lists:sublist(MFAs, ?EXIST)]).

flag({M, F, A}) ->
    case exists(M, F, A) of
        true -> 1;
        _ -> 0
    end.

%% none: the module is not loaded.
-spec version(module()) -> none | binary().
version(M) ->
    try erlang:get_module_info(M, md5)
    catch _:_ -> none
    end.

-spec note(no_module | no_function, module(), atom(), arity()) -> binary().
note(no_module, M, _, _) ->
    Loaded = [atom_to_list(X) || X <- erlang:loaded()],
    Near = [kprof_text:shown(N) || N <- near(atom_to_list(M), Loaded)],
    kprof_text:format("no module ~ts is loaded on the node~ts", [kprof_text:shown(atom_to_list(M)), instead(Near)]);
note(no_function, M, F, A) ->
    All = [FA || {X, _} = FA <- exports(M, functions), written(X)],
    Arities = lists:sort([N || {X, N} <- All, X =:= F]),
    Near =
        case Arities of
            [] -> [kprof_text:mfa(M, X, N) || Name <- near(atom_to_list(F), lists:usort([atom_to_list(X) || {X, _} <- All])), {X, N} <- All, atom_to_list(X) =:= Name];
            _ -> [kprof_text:mfa(M, F, N) || N <- Arities]
        end,
    kprof_text:format("no function ~ts~ts", [kprof_text:mfa(M, F, A), instead(lists:sublist(Near, 3))]).

instead([]) -> "";
instead(Near) -> ["; similar: ", lists:join(", ", Near)].

%% The three most similar names, if any is similar enough. Some 20 us for each name, of which there are thousands: in slices.
near(Name, Names) ->
    Max = max(2, length(Name) div 3),
    Like = [N || N <- Names, abs(length(N) - length(Name)) =< Max, length(N) < 100],
    Near = kprof_flags:keep_priority(fun() -> near(Name, Like, Max, kprof_flags:slice()) end),
    lists:sublist([N || {_, N} <- lists:sort(Near)], 3).

near(Name, [N | Rest], Max, Slice) ->
    D = distance(Name, N),
    [{D, N} || D =< Max] ++ near(Name, Rest, Max, kprof_flags:rest(Slice));
near(_, [], _, _) ->
    [].

distance(A, B) -> lists:last(rows(A, B, lists:seq(0, length(B)))).

rows([], _, Row) -> Row;
rows([C | Rest], B, [First | _] = Row) -> rows(Rest, B, [First + 1 | row(C, B, Row, First + 1)]).

row(C, [X | Xs], [Diagonal, Above | Row], Left) ->
    Cost = lists:min([Left + 1, Above + 1, Diagonal + (if C =:= X -> 0; true -> 1 end)]),
    [Cost | row(C, Xs, [Above | Row], Cost)];
row(_, [], _, _) ->
    [].

-spec to_atom(atom() | binary()) -> atom().
to_atom(A) when is_atom(A) -> A;
to_atom(B) when is_binary(B) -> binary_to_atom(B, utf8).
