%% The callees of a function, read from the file of its module. Run by agent_test.
-module(agent_callees_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [start/1, ask/2, finish/2, check/3, equal/3]).

tests() ->
    [
        {callees_of_a_function, fun callees_of_a_function/1},
        {callees_as_the_compiler_says, fun callees_as_the_compiler_says/1},
        {callees_that_are_not_known, fun callees_that_are_not_known/1}
    ].

source(Extra) ->
    "-module(agent_caller). -export([go/2, other/1, plain/1]). "
    "go(X, L) -> A = agent_load:leaf(X), B = [helper(Y) || Y <- L], lists:foreach(fun(Z) -> lists:reverse(Z) end, B), "
    "agent_caller:other(B), M = chosen(X), M:foo(A), erlang:display(A), agent_missing:none(), go(X, []). "
    "helper(Y) -> string:to_upper(Y). other(X) -> gen_server:call(X, y). chosen(X) -> element(1, X). plain(X) -> {X, " ++ Extra ++ "}. ".

forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    forms(Tokens, []).

forms([], []) -> [];
forms([{dot, _} = Dot | Rest], Form) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse([Dot | Form])),
    [Parsed | forms(Rest, [])];
forms([T | Rest], Form) -> forms(Rest, [T | Form]).

%% Compiled by the target, and loaded there from a file.
load(T, Options, Extra) ->
    {ok, agent_caller, Beam} = rpc:call(T, compile, forms, [forms(source(Extra)), Options]),
    Base = "/tmp/agent_caller_" ++ os:getpid(),
    ok = rpc:call(T, file, write_file, [Base ++ ".beam", Beam]),
    rpc:call(T, code, purge, [agent_caller]),
    {module, agent_caller} = rpc:call(T, code, load_abs, [Base, agent_caller]),
    Base ++ ".beam".

unload(T, File) ->
    rpc:call(T, file, delete, [File]),
    [rpc:call(T, code, F, [agent_caller]) || F <- [purge, delete, purge]].

callees(K, MFA) ->
    case ask(K, {callees, MFA}) of
        {callees, Note, {catalog, N, N, <<>>, Modules}} ->
            ?equal(length(Modules), N),
            {lists:sort([{M, F, A} || {M, _, _, _, Fs} <- Modules, {F, A, _} <- Fs]), Note};
        Error -> Error
    end.

%% With debug info, without it, and compressed: only the code is used. No module is loaded for this.
callees_of_a_function(T) ->
    K = start(T),
    rpc:call(T, code, ensure_loaded, [string]),
    rpc:call(T, code, ensure_loaded, [gen_server]),
    callees(K, {lists, reverse, 1}), % loads the tools
    [
        begin
            File = load(T, Options, Extra),
            Loaded = length(rpc:call(T, code, all_loaded, [])),
            {Calls, Note} = callees(K, {agent_caller, go, 2}),
            ?equal(Calls, [
                {agent_caller, chosen, 1}, {agent_caller, helper, 1}, {agent_caller, other, 1}, {agent_load, leaf, 1},
                {lists, foreach, 2}, {lists, reverse, 1}
            ]),
            ?equal(Note, <<"functions that agent_caller:go/2 calls (and 1 that it chooses at run time)">>),
            {[{gen_server, call, 2}], <<"functions that agent_caller:other/1 calls">>} = callees(K, {agent_caller, other, 1}),
            {[{string, to_upper, 1}], _} = callees(K, {agent_caller, helper, 1}),
            {[], _} = callees(K, {agent_caller, plain, 1}),
            %% also whether it calls itself
            {callees, _, {catalog, _, _, <<>>, Itself}} = ask(K, {calls, {agent_caller, go, 2}}),
            ?equal([{F, A} || {agent_caller, _, _, _, Fs} <- Itself, {F, A, _} <- Fs], [{chosen, 1}, {go, 2}, {helper, 1}, {other, 1}]),
            ?equal(length(rpc:call(T, code, all_loaded, [])), Loaded),
            unload(T, File)
        end
     || {Options, Extra} <- [{[debug_info], "a"}, {[], "123456789012345678901234567890, 1.5, \"text\""}, {[compressed], "#{a => {b, [c]}}"}]
    ],
    finish(T, K).

%% Every function of some modules of the target: the result equals the compiler's disassembly.
callees_as_the_compiler_says(T) ->
    K = start(T),
    Modules = [erl_parse, gen_server, code_server, application_controller, io_lib_pretty, file_io_server, unicode_util],
    [{module, M} = rpc:call(T, code, ensure_loaded, [M]) || M <- Modules],
    Compared = lists:sum([compared(T, K, M) || M <- Modules]),
    ?check(Compared > 300),
    finish(T, K).

compared(T, K, M) ->
    {file, File} = rpc:call(T, code, is_loaded, [M]),
    {beam_file, M, _, _, _, Functions} = rpc:call(T, beam_disasm, file, [File]),
    Told = [{{F, A}, calls(Code)} || {function, F, A, _, Code} <- Functions],
    Real = lists:sublist([FA || {{F, _} = FA, _} <- Told, hd(atom_to_list(F)) =/= $-, F =/= module_info], 80),
    There = maps:from_list([{X, rpc:call(T, X, module_info, [functions])} || X <- lists:usort([X || {_, Cs} <- Told, {X, _, _} <- Cs]), rpc:call(T, erlang, module_loaded, [X])]),
    [
        begin
            Prefix = lists:flatten(io_lib:format("-~ts/~b-", [F, A])),
            Want = [C || {{G, _} = GA, Cs} <- Told, GA =:= {F, A} orelse lists:prefix(Prefix, atom_to_list(G)), {X, Y, Z} = C <- Cs,
                X =/= erlang, C =/= {M, F, A}, hd(atom_to_list(Y)) =/= $-, lists:member({Y, Z}, maps:get(X, There, []))],
            {Is, _} = callees(K, {M, F, A}),
            ?equal({F, A, Is}, {F, A, lists:usort(Want)})
        end
     || {F, A} <- Real
    ],
    length(Real).

calls(Code) -> lists:append([call(I) || I <- Code]).

call({Op, _, {extfunc, M, F, A}}) when Op =:= call_ext; Op =:= call_ext_only -> [{M, F, A}];
call({call_ext_last, _, {extfunc, M, F, A}, _}) -> [{M, F, A}];
call({Op, _, {M, F, A}}) when Op =:= call; Op =:= call_only -> [{M, F, A}];
call({call_last, _, {M, F, A}, _}) -> [{M, F, A}];
call(_) -> [].

callees_that_are_not_known(T) ->
    K = start(T),
    Why = fun(MFA, Text) ->
        {error, callees, Said} = ask(K, {callees, MFA}),
        ?check(string:find(Said, Text) =/= nomatch)
    end,
    Why({agent_missing, none, 0}, "no module agent_missing is loaded"),
    Why({erlang, display, 1}, "was not loaded from a file"),
    Why({agent_load, leaf, 1}, "was not loaded from a file"),
    File = load(T, [], "a"),
    Why({agent_caller, go, 3}, "a different version from the loaded one"),
    {ok, Beam} = rpc:call(T, file, read_file, [File]),
    %% the file was changed
    {ok, agent_caller, Newer} = rpc:call(T, compile, forms, [forms(source("a") ++ "newer(X) -> plain(X), go(X, X). "), [export_all]]),
    ok = rpc:call(T, file, write_file, [File, Newer]),
    Why({agent_caller, go, 2}, "a different version from the loaded one"),
    %% compiled by a future OTP: unknown instructions
    {At, 4} = binary:match(Beam, <<"Code">>),
    ok = rpc:call(T, file, write_file, [File, [binary:part(Beam, 0, At + 16), <<250:32>>, binary:part(Beam, At + 20, byte_size(Beam) - At - 20)]]),
    {Imported, Note} = callees(K, {agent_caller, other, 1}),
    ?check(string:find(Note, "functions of other modules that agent_caller calls") =/= nomatch),
    ?equal(Imported -- [{gen_server, call, 2}, {string, to_upper, 1}], [{agent_caller, other, 1}, {agent_load, leaf, 1}, {lists, foreach, 2}, {lists, reverse, 1}]),
    #{level := Level} = rpc:call(T, logger, get_primary_config, []),
    ok = rpc:call(T, logger, set_primary_config, [level, error]),
    ok = rpc:call(T, logger, add_handler, [agent_load, agent_load, #{config => self()}]),
    [
        begin
            ok = rpc:call(T, file, write_file, [File, Bad]),
            {error, callees, _} = ask(K, {callees, {agent_caller, go, 2}})
        end
     || Bad <- [<<>>, <<"FOR1">>, <<31, 139, 1, 2, 3>>, binary:part(Beam, 0, byte_size(Beam) div 2), binary:replace(Beam, <<"Code">>, <<"Bode">>)]
    ],
    nothing_logged(T),
    ok = rpc:call(T, logger, set_primary_config, [level, Level]),
    unload(T, File),
    {module, agent_caller} = rpc:call(T, code, load_binary, [agent_caller, "/tmp/there_is_none.beam", Beam]),
    Why({agent_caller, go, 2}, "the file of agent_caller is not there"),
    unload(T, File),
    {error, _, _} = ask(K, {callees, what}),
    finish(T, K).

%% The node's log has nothing of it: the first entry is that of a process that crashes now.
nothing_logged(T) ->
    rpc:call(T, erlang, spawn, [erlang, error, [agent_crashes_now]]),
    receive {logged, Message} -> ?check(string:find(io_lib:format("~0p", [Message]), "agent_crashes_now") =/= nomatch)
    after ?PATIENCE -> error(not_logged)
    end,
    ok = rpc:call(T, logger, remove_handler, [agent_load]).
