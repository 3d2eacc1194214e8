%% The functions of the node that can be traced. No module is loaded for this. It runs in a separate low-priority process, so
%% neither the node nor the controller waits.
-module(kprof_catalog).
-agent(tools).
-export([answer/1, application/3, applications/0, some/1]).

-define(PAGE_FUNCTIONS, 2000).
-define(PAGE_MODULES, 200).
-define(MODULE_FUNCTIONS, 5000).
-define(BEHAVIOURS, 8).
-define(BEHAVIOUR_BYTES, 100).

-spec answer({catalog, binary()}) -> tuple().
answer({catalog, After}) when is_binary(After) -> page(After).

%% ---- The catalog ----

%% The modules whose names sort after After; <<>>: from the first. -> {catalog, At, Of, Next, Modules}: after this page, At of
%% Of modules have been sent; Next is <<>> after the last page.
page(After) ->
    All = lists:sort([{atom_to_binary(M, utf8), M, File} || {M, File} <- code:all_loaded(), not kprof_node:is_agent(M)]),
    {Before, Rest} = lists:splitwith(fun({Name, _, _}) -> Name =< After end, All),
    Apps = applications(),
    Origins = origins(),
    {Told, Left} = take(Rest, ?PAGE_MODULES, ?PAGE_FUNCTIONS, []),
    Next =
        case {Left, Told} of
            {[], _} -> <<>>;
            {_, [{Last, _, _, _} | _]} -> Last
        end,
    {catalog, length(Before) + length(Told), length(All), Next, [module(T, Apps, Origins) || T <- lists:reverse(Told)]}.

%% A page with those functions of the list that exist.
-spec some([mfa()]) -> {catalog, non_neg_integer(), non_neg_integer(), binary(), [tuple()]}.
some(MFAs) ->
    Wanted = lists:usort([M || {M, _, _} <- MFAs]),
    Files = maps:from_list([{M, File} || {M, File} <- code:all_loaded(), lists:member(M, Wanted)]),
    Apps = applications(),
    Origins = origins(),
    Told = [
        module({none, M, maps:get(M, Files), Of}, Apps, Origins)
     || M <- Wanted, is_map_key(M, Files), Of <- [[FA || {F, A, _} = FA <- functions(M), lists:member({M, F, A}, MFAs)]], Of =/= []
    ],
    {catalog, length(Told), length(Told), <<>>, Told}.

take([{Name, M, File} | Rest], Modules, Functions, Told) when Modules > 0, Functions > 0 ->
    Of = functions(M),
    take(Rest, Modules - 1, Functions - length(Of), [{Name, M, File, Of} | Told]);
take(Rest, _, _, Told) ->
    {Told, Rest}.

module({_, M, File, Functions}, Apps, Origins) ->
    App = application(M, File, Apps),
    {M, App, maps:get(App, Origins, 0), behaviours(M), Functions}.

%% The declared behaviours, separated by blanks: at most ?BEHAVIOURS names of at most ?BEHAVIOUR_BYTES each.
behaviours(M) ->
    Said = [B || {K, Bs} <- info(M, attributes), K =:= behaviour orelse K =:= behavior, is_list(Bs), B <- Bs, is_atom(B)],
    Names = [Name || B <- Said, Name <- [atom_to_binary(B, utf8)], byte_size(Name) =< ?BEHAVIOUR_BYTES],
    iolist_to_binary(lists:join(" ", lists:sublist(Names, ?BEHAVIOURS))).

%% {Function, Arity, 1 if exported}
functions(M) ->
    Exports = maps:from_list([{FA, 1} || FA <- info(M, exports)]),
    lists:sublist([{F, A, maps:get(FA, Exports, 0)} || {F, A} = FA <- lists:usort(info(M, functions)), shown(F, A)], ?MODULE_FUNCTIONS).

info(M, What) ->
    try erlang:get_module_info(M, What)
    catch _:_ -> []
    end.

%% Functions that the compiler adds are left out: funs, comprehensions, module_info.
shown(module_info, A) -> A > 1;
shown('__info__', 1) -> false;
shown(F, _) -> hd(atom_to_list(F) ++ " ") =/= $-.

-spec applications() -> #{module() => atom()}.
applications() -> applications([App || {App, _, _} <- application:loaded_applications()], #{}, kprof_flags:slice()).

applications([App | Rest], Of, Slice) ->
    Modules = case application:get_key(App, modules) of {ok, Ms} -> Ms; undefined -> [] end,
    applications(Rest, lists:foldl(fun(M, Acc) -> Acc#{M => App} end, Of, Modules), kprof_flags:rest(Slice));
applications([], Of, _) ->
    Of.

-spec application(module(), term(), #{module() => atom()}) -> binary().
application(M, File, Apps) ->
    case Apps of
        #{M := App} -> atom_to_binary(App, utf8);
        _ -> of_file(File)
    end.

%% .../lib/NAME-1.2.3/ebin/m.beam. No atom is created for it, because the atom table of the node is limited.
of_file(preloaded) ->
    <<"erts">>;
of_file(File) when is_list(File) ->
    case lists:reverse(filename:split(File)) of
        [_, Ebin, Dir | _] -> of_dir(Ebin =:= "ebin", Dir);
        _ -> <<>>
    end;
of_file(_) ->
    <<>>.

of_dir(true, Dir) -> unicode:characters_to_binary(hd(string:split(Dir ++ "-", "-")));
of_dir(false, _) -> <<>>.

%% 1: it comes with Erlang/OTP or Elixir. 2: a library, which another application needs. 0: the node's own application.
origins() ->
    Platform = platform(),
    Loaded = [A || {A, _, _} <- application:loaded_applications()] -- Platform,
    Needed = lists:usort([D || A <- Loaded, {ok, Ds} <- [application:get_key(A, applications)], D <- Ds, D =/= A]) -- Platform,
    Roots = [atom_to_list(A) || A <- Loaded -- Needed],
    maps:from_list([{atom_to_binary(A, utf8), 1} || A <- Platform] ++ [{atom_to_binary(A, utf8), 2} || A <- Needed, not akin(atom_to_list(A), Roots)]).

%% True if the names belong to one system: shop, shop_db and shop_web; rabbit and rabbitmq_management.
akin(Name, Roots) ->
    Word = lists:takewhile(fun(C) -> C =/= $_ end, Name),
    Short = if length(Word) > 2 -> Word; true -> Name end,
    lists:any(fun(Root) -> lists:prefix(Short, Root) end, Roots).

%% Applications that come with Erlang/OTP or Elixir.
platform() ->
    [asn1, common_test, compiler, crypto, debugger, dialyzer, diameter, edoc, eldap, erl_docgen, erl_interface, erts, et, eunit, ftp, hipe, inets,
     jinterface, kernel, megaco, mnesia, observer, odbc, os_mon, parsetools, public_key, reltool, runtime_tools, sasl, snmp, ssh, ssl, stdlib,
     syntax_tools, tftp, tools, wx, xmerl, elixir, logger, eex, iex, mix, ex_unit].
