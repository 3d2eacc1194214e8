%% The functions that a function calls, read from the code in its module's file (kprof_module_file). A separate process does
%% this, within a time limit.
-module(kprof_callees).
-agent(tools).
-export([answer/1]).

-define(WAIT_MS, 3000).
-define(MOST, 500).

%% -> {callees, Note, Page} | {error, callees, Text}: Page as in kprof_catalog; Note: a description of the functions. calls: with
%% the function itself if it calls itself.
-spec answer({callees | calls, mfa()}) -> {callees, binary(), tuple()} | {error, callees, binary()}.
answer({What, MFA}) ->
    {Pid, Ref} = spawn_opt(fun() -> exit(tried(MFA, What =:= calls)) end, [monitor, {priority, low}, {max_heap_size, 0}]),
    receive
        {'DOWN', Ref, _, _, {callees, _, _} = Found} -> Found;
        {'DOWN', Ref, _, _, {refused, Text}} -> {error, callees, Text};
        {'DOWN', Ref, _, _, _} -> {error, callees, <<"the code of the function could not be read">>}
    after ?WAIT_MS ->
        exit(Pid, kill),
        erlang:demonitor(Ref, [flush]),
        {error, callees, <<"the file of the module could not be read within 3 s">>}
    end.

%% An error would be reported in the node's log.
tried(MFA, Itself) ->
    try found(MFA, Itself)
    catch error:_ -> unreadable
    end.

found({M, F, A} = MFA, Itself) ->
    Chunks = kprof_module_file:chunks(M),
    Atoms = kprof_module_file:atoms(kprof_module_file:chunk(<<"AtU8">>, Chunks, M)),
    Imports = imports(kprof_module_file:chunk(<<"ImpT">>, Chunks, M), Atoms),
    Name = kprof_text:mfa(M, F, A),
    case calls(MFA, kprof_module_file:chunk(<<"Code">>, Chunks, M), Atoms, Imports) of
        {ok, Calls, 0} -> told(without(MFA, Calls, Itself), kprof_text:format("functions that ~ts calls", [Name]));
        {ok, Calls, N} -> told(without(MFA, Calls, Itself), kprof_text:format("functions that ~ts calls (and ~b that it chooses at run time)", [Name, N]));
        other -> exit({refused, kprof_text:format("the file of ~ts contains a different version from the loaded one", [M])});
        unknown -> told(tuple_to_list(Imports), kprof_text:format("functions of other modules that ~ts calls: the code of ~ts was compiled with a newer OTP", [M, Name]))
    end.

without(_, Calls, true) -> Calls;
without(MFA, Calls, false) -> [C || C <- Calls, C =/= MFA].

told(MFAs, Note) ->
    There = [MFA || {M, _, _} = MFA <- lists:usort(MFAs), M =/= erlang],
    {callees, Note, kprof_catalog:some(lists:sublist(There, ?MOST))}.

%% If the module is loaded, its atoms exist. An atom that does not exist is of another version, and no loaded module has
%% such a function.
imports(Bin, Atoms) -> list_to_tuple([import(Bin, 4 + 12 * I, Atoms) || I <- lists:seq(0, min(kprof_module_file:number(Bin, 0), byte_size(Bin) div 12) - 1)]).

import(Bin, At, Atoms) -> {name(kprof_module_file:number(Bin, At), Atoms), name(kprof_module_file:number(Bin, At + 4), Atoms), kprof_module_file:number(Bin, At + 8)}.

name(I, Atoms) ->
    try binary_to_existing_atom(element(I, Atoms), utf8)
    catch error:_ -> ''
    end.

%% ---- The code: its instructions, one after the other ----

%% -> {ok, [MFA], Chosen}, Chosen: number of calls of funs and of functions chosen at run time; other: the file has
%% other functions than the loaded module; unknown: it has unknown instructions
calls({M, F, A}, Code, Atoms, Imports) ->
    Arities = kprof_module_file:arities(),
    case kprof_module_file:number(Code, 8) =< tuple_size(Arities) of % the highest instruction
        true ->
            Own = {atom_to_binary(F, utf8), A},
            Of = {Own, kprof_text:format("-~ts/~b-", [F, A])},
            {Calls, Entries} = instructions(Code, 4 + kprof_module_file:number(Code, 0), Arities, Atoms, Of, {false, none, [], []}),
            called(M, Own, Calls, maps:from_list(Entries), Imports);
        false ->
            unknown
    end.

called(M, Own, Calls, Entries, Imports) ->
    Loaded = [{atom_to_binary(F, utf8), A} || {F, A} <- erlang:get_module_info(M, functions)],
    case lists:member(Own, Loaded) andalso lists:usort(Loaded) =:= lists:usort(maps:values(Entries)) of
        false -> other;
        true -> {ok, lists:append([called_by(M, C, Entries, Imports) || C <- Calls]), length([C || C <- Calls, C =:= chosen])}
    end.

called_by(_, {ext, I}, _, Imports) when I < tuple_size(Imports) -> [element(I + 1, Imports)];
called_by(M, {local, Label}, Entries, _) ->
    case Entries of
        #{Label := {F, A}} -> [{M, binary_to_existing_atom(F, utf8), A} || not begins(F, kprof_text:format("-", []))];
        _ -> []
    end;
called_by(_, _, _, _) -> [].

%% Of: the name of the function, and the prefix of the functions that the compiler makes of its funs and comprehensions:
%% -f/1-
%% State: {in the function or a part of it, the function whose entry is next, calls, entries}
instructions(Code, At, Arities, Atoms, Of, S) when At < byte_size(Code) ->
    case binary:at(Code, At) of
        0 ->
            ended(S);
        Op ->
            {Args, Next} = kprof_module_file:arguments(element(Op, Arities), Code, At + 1, []),
            instructions(Code, Next, Arities, Atoms, Of, instruction(Op, Args, Atoms, Of, S))
    end;
instructions(_, _, _, _, _, S) ->
    ended(S).

ended({_, _, Calls, Entries}) -> {Calls, Entries}.

instruction(1, [L], _, _, {In, Next, Calls, Entries}) when Next =/= none -> {In, none, Calls, [{L, Next} | Entries]};
instruction(2, [_, F, A], Atoms, {Own, Prefix}, {_, _, Calls, Entries}) ->
    Name = element(F, Atoms),
    {{Name, A} =:= Own orelse begins(Name, Prefix), {Name, A}, Calls, Entries};
instruction(_, _, _, _, {false, _, _, _} = S) -> S;
instruction(Op, [_, L | _], _, _, S) when Op >= 4, Op =< 6 -> call({local, L}, S); % call, call_last, call_only
instruction(Op, [_, I | _], _, _, S) when Op =:= 7; Op =:= 8; Op =:= 78 -> call({ext, I}, S); % call_ext, _last, _only
instruction(Op, _, _, _, S) when Op =:= 75; Op =:= 112; Op =:= 113; Op =:= 178 -> call(chosen, S); % call_fun, apply, apply_last, call_fun2
instruction(_, _, _, _, S) -> S.

call(What, {In, Next, Calls, Entries}) -> {In, Next, [What | Calls], Entries}.

begins(Name, Prefix) ->
    Size = byte_size(Prefix),
    byte_size(Name) >= Size andalso binary:part(Name, 0, Size) =:= Prefix.
