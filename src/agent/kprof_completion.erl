%% Names of modules and functions that the operator begins to type. The code server, which may hang, is not asked.
-module(kprof_completion).
-agent(interpreted).
-export([modules/1, functions/1]).

%% Only loaded modules: others cannot be traced, and the agent loads none (kprof_hazard: load_on_demand).
-spec modules(string()) -> [binary()].
modules(Prefix) ->
    Names = lists:usort([atom_to_list(M) || M <- erlang:loaded()]),
    InElixir = "Elixir." ++ Prefix,
    [kprof_text:format("~ts", [N]) || N <- lists:sublist([N || N <- Names, lists:prefix(Prefix, N) orelse lists:prefix(InElixir, N)], 500)].

-spec functions(module()) -> [{atom(), arity(), boolean()}].
functions(M) ->
    Exports = maps:from_list([{FA, exported} || FA <- kprof_code:exports(M, exports)]),
    [{F, A, is_map_key({F, A}, Exports)} || {F, A} <- lists:sublist([FA || {F, _} = FA <- lists:usort(kprof_code:exports(M, functions)), kprof_code:written(F)], 5000)].
