%% All terms that kprof-top shows under a given name (term_identity): atoms, binaries and strings without quotes, the elements
%% of a tuple with a blank between them. The rule of a full trace must give one of them.
-module(kprof_full_name).
-agent(tools).
-export([parsed/1, values/1]).

-define(ELEMENTS, 3). % of a tuple; each has up to five terms

%% Term as text -> {ok, Term} | error
-spec parsed(binary()) -> {ok, term()} | error.
parsed(Text) ->
    try
        {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Text) ++ "."),
        {ok, _} = erl_parse:parse_term(Tokens)
    catch
        _:_ -> error
    end.

-spec values(binary()) -> [term(), ...].
values(Name) ->
    case binary:split(Name, <<" ">>, [global]) of
        [_ | [_ | _]] = Parts when length(Parts) =< ?ELEMENTS -> leaves(Name) ++ [list_to_tuple(L) || L <- product([leaves(P) || P <- Parts])];
        _ -> leaves(Name)
    end.

%% No atom is created for it, because the atom table of the node is limited.
leaves(Text) ->
    Given = [unicode:characters_to_list(Text) || Text =/= <<>>] ++ atoms([Text, <<"Elixir.", Text/binary>>]),
    Number = try [binary_to_integer(Text)] catch _:_ -> [] end,
    [Text | Given] ++ Number.

atoms(Texts) -> lists:append([try [binary_to_existing_atom(T, utf8)] catch _:_ -> [] end || T <- Texts]).

product([]) -> [[]];
product([L | Rest]) -> [[X | Xs] || X <- L, Xs <- product(Rest)].
