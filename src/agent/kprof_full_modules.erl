%% Chooses the functions of a full trace: those of loaded modules, without built-in functions. No module is loaded for it.
%%
%% Invariant: never of an agent, and never of a module that the VM preloads (erlang, init, prim_file ...), because the VM and
%% the agent use these all the time.
-module(kprof_full_modules).
-agent(tools).
-export([choose/1, is_choice/1]).
-export_type([choice/0, sets/0]).

%% {some, Modules, Applications} | {with, Modules}: the applications of these modules, and the modules.
-type choice() :: all | {some, [binary()], [binary()]} | {with, [binary()]}.
%% all: all functions of the module; otherwise these, because others are built in.
-type sets() :: [{module(), all | [{atom(), arity()}]}].

-spec is_choice(term()) -> boolean().
is_choice(all) -> true;
is_choice({some, Modules, Apps}) when is_list(Modules), is_list(Apps) -> [] =:= [X || X <- Modules ++ Apps, not is_binary(X)];
is_choice({with, Modules}) -> is_choice({some, Modules, []});
is_choice(_) -> false.

%% -> {Sets, number of functions}
-spec choose(choice()) -> {sets(), non_neg_integer()}.
choose({with, Modules}) ->
    Apps = kprof_catalog:applications(),
    Of = [kprof_catalog:application(M, File, Apps) || {M, File} <- code:all_loaded(), lists:member(atom_to_binary(M, utf8), Modules)],
    choose({some, Modules, [App || App <- lists:usort(Of), App =/= <<>>]});
choose(Choice) ->
    Apps = case Choice of {some, _, [_ | _]} -> kprof_catalog:applications(); _ -> #{} end,
    Found = [{M, functions(M)} || {M, File} <- code:all_loaded(), File =/= preloaded, not kprof_node:is_agent(M), is_chosen(Choice, M, File, Apps)],
    Sets = [{M, Which} || {M, {Which, N}} <- Found, N > 0],
    {lists:sort(Sets), lists:sum([N || {_, {_, N}} <- Found])}.

is_chosen(all, _, _, _) -> true;
is_chosen({some, Modules, Of}, M, File, Apps) ->
    lists:member(atom_to_binary(M, utf8), Modules) orelse (Of =/= [] andalso lists:member(kprof_catalog:application(M, File, Apps), Of)).

%% -> {all | [{F, A}], how many}
functions(M) ->
    All = try erlang:get_module_info(M, functions) catch _:_ -> [] end,
    case [FA || {F, A} = FA <- All, not erlang:is_builtin(M, F, A)] of
        All -> {all, length(All)};
        Own -> {Own, length(Own)}
    end.
