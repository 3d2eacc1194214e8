%% Chooses the functions of a full trace: those of loaded modules, without built-in functions. No module is loaded for it.
%%
%% Invariants: at most ?SLICE functions, or some 200 us, between two points at which others can run (see kprof_flags), because a
%% node may have 100,000 functions. Never of an agent, and never of a module that the VM preloads (erlang, init, prim_file ...),
%% because the VM and the agent use these all the time.
-module(kprof_full_modules).
-agent(tools).
-export([start/1, stop/1, choose/1, is_choice/1]).
-export_type([choice/0, chosen/0, sets/0]).

%% {some, Modules, Applications} | {with, Modules}: the applications of these modules, and the modules.
-type choice() :: all | {some, [binary()], [binary()]} | {with, [binary()]}.
%% all: all functions of the module; otherwise these, because others are built in.
-type sets() :: [{module(), all | [{atom(), arity()}]}].
-type chosen() :: {sets(), non_neg_integer()}. % and the number of functions

-define(SLICE, 64).

-spec is_choice(term()) -> boolean().
is_choice(all) -> true;
is_choice({some, Modules, Apps}) when is_list(Modules), is_list(Apps) -> [] =:= [X || X <- Modules ++ Apps, not is_binary(X)];
is_choice({with, Modules}) -> is_choice({some, Modules, []});
is_choice(_) -> false.

%% A process of its own, linked and at the node's own priority, makes the choice: it asks the code server, which may hang. Its
%% owner gets {listed, P} when the code server has answered, and {chosen, P, Chosen} at the end.
-spec start(choice()) -> none | pid().
start(Choice) ->
    Owner = self(),
    kprof_node:spawn_if_room(fun() -> Owner ! {chosen, self(), chosen(Owner, Choice)} end, [link, kprof_walk:heap()]).

chosen(Owner, Choice) ->
    Loaded = code:all_loaded(),
    Owner ! {listed, self()},
    choose(Choice, Loaded).

-spec stop(pid()) -> ok.
stop(P) ->
    unlink(P),
    kprof_node:kill(P).

-spec choose(choice()) -> chosen().
choose(Choice) -> choose(Choice, code:all_loaded()).

choose({with, Modules}, Loaded) ->
    Apps = kprof_catalog:applications(),
    Of = [kprof_catalog:application(M, File, Apps) || {M, File} <- Loaded, lists:member(atom_to_binary(M, utf8), Modules)],
    choose({some, Modules, [App || App <- lists:usort(Of), App =/= <<>>]}, Loaded);
choose(Choice, Loaded) ->
    Apps = case Choice of {some, _, [_ | _]} -> kprof_catalog:applications(); _ -> #{} end,
    sets(Loaded, Choice, Apps, [], 0, kprof_flags:slice()).

sets([{M, File} | Rest], Choice, Apps, Sets, N, Slice0) ->
    Slice = kprof_flags:rest(Slice0),
    case File =/= preloaded andalso not kprof_node:is_agent(M) andalso is_chosen(Choice, M, File, Apps) of
        true ->
            case functions(M, Slice) of
                {_, 0, Next} -> sets(Rest, Choice, Apps, Sets, N, Next);
                {Which, Of, Next} -> sets(Rest, Choice, Apps, [{M, Which} | Sets], N + Of, Next)
            end;
        false ->
            sets(Rest, Choice, Apps, Sets, N, Slice)
    end;
sets([], _, _, Sets, N, _) ->
    {lists:sort(Sets), N}.

is_chosen(all, _, _, _) -> true;
is_chosen({some, Modules, Of}, M, File, Apps) ->
    lists:member(atom_to_binary(M, utf8), Modules) orelse (Of =/= [] andalso lists:member(kprof_catalog:application(M, File, Apps), Of)).

%% -> {all | [{F, A}], how many, slice}
functions(M, Slice0) ->
    All = kprof_code:exports(M, functions),
    case own(M, All, ?SLICE, [], Slice0) of
        {All, Slice} -> {all, length(All), Slice};
        {Own, Slice} -> {Own, length(Own), Slice}
    end.

own(M, All, 0, Own, Slice) -> own(M, All, ?SLICE, Own, kprof_flags:rest(Slice));
own(M, [{F, A} = FA | Rest], Left, Own, Slice) -> own(M, Rest, Left - 1, [FA || not erlang:is_builtin(M, F, A)] ++ Own, Slice);
own(_, [], _, Own, Slice) -> {lists:reverse(Own), Slice}.
