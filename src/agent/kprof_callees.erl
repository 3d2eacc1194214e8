%% The functions that a function calls, and those of a module that receive messages, read from the code in its module's file. No
%% code is loaded, the loaded code is not disassembled, and debug info is not needed. A separate process does this, within a
%% time limit; a process of OTP's file_io_server reads the file, so that no process is killed during a file operation. Bytes
%% are read by their positions: OTP 29 does not load what OTP 25 compiles from binary patterns.
-module(kprof_callees).
-export([answer/1, receivers/1]).

-define(FILE_BYTES, 16#1000000).
-define(WAIT_MS, 3000).
-define(MOST, 500).

%% -> {callees, Note, Page} | {error, callees, Text}: Page as in kprof_catalog; Note: a description of the functions. calls: with
%% the function itself if it calls itself.
-spec answer({callees | calls, mfa()}) -> {callees, binary(), tuple()} | {error, callees, binary()}.
answer({What, MFA}) ->
    {Pid, Ref} = spawn_opt(fun() -> exit(tried(MFA, What =:= calls)) end, [monitor, {priority, low}]),
    receive
        {'DOWN', Ref, _, _, {callees, _, _} = Found} -> Found;
        {'DOWN', Ref, _, _, {refused, Text}} -> {error, callees, Text};
        {'DOWN', Ref, _, _, _} -> {error, callees, <<"the code of the function could not be read">>}
    after ?WAIT_MS ->
        exit(Pid, kill),
        erlang:demonitor(Ref, [flush]),
        {error, callees, <<"the file of the module could not be read within 3 s">>}
    end.

%% The functions of a module that receive messages, or sleep. It reads the file of the module, so the calling process must be
%% able to wait. -> none: not known
-spec receivers(module()) -> [{atom(), arity()}] | none.
receivers(M) ->
    try
        Chunks = chunks(M),
        Atoms = atoms(chunk(<<"AtU8">>, Chunks, M)),
        Code = chunk(<<"Code">>, Chunks, M),
        Arities = arities(),
        true = number(Code, 8) =< tuple_size(Arities),
        [{binary_to_existing_atom(F, utf8), A} || {F, A} <- lists:usort(receiving(Code, 4 + number(Code, 0), Arities, Atoms, none, []))]
    catch
        _:_ -> none
    end.

%% Of: the function that the code belongs to
receiving(Code, At, Arities, Atoms, Of, Found) when At < byte_size(Code) ->
    case binary:at(Code, At) of
        0 ->
            Found;
        Op ->
            {Args, Next} = arguments(element(Op, Arities), Code, At + 1, []),
            case {Op, Args} of
                {2, [_, F, A]} -> receiving(Code, Next, Arities, Atoms, {element(F, Atoms), A}, Found); % func_info
                _ when Op =:= 23; Op =:= 25; Op =:= 26 -> receiving(Code, Next, Arities, Atoms, Of, [Of | Found]); % loop_rec, wait, wait_timeout
                _ -> receiving(Code, Next, Arities, Atoms, Of, Found)
            end
    end;
receiving(_, _, _, _, _, Found) ->
    Found.

%% An error would be reported in the node's log.
tried(MFA, Itself) ->
    try found(MFA, Itself)
    catch error:_ -> unreadable
    end.

found({M, F, A} = MFA, Itself) ->
    Chunks = chunks(M),
    Atoms = atoms(chunk(<<"AtU8">>, Chunks, M)),
    Imports = imports(chunk(<<"ImpT">>, Chunks, M), Atoms),
    Name = kprof_text:mfa(M, F, A),
    case calls(MFA, chunk(<<"Code">>, Chunks, M), Atoms, Imports) of
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

%% ---- The file ----

chunks(M) ->
    case code:is_loaded(M) of
        {file, File} when is_list(File), File =/= [] -> of_file(M, File);
        {file, _} -> exit({refused, kprof_text:format("~ts was not loaded from a file: what it calls is not known", [M])});
        false -> exit({refused, kprof_text:format("no module ~ts is loaded on the node", [M])})
    end.

of_file(M, File) ->
    case file:read_file_info(File) of
        {ok, Info} when element(2, Info) =< ?FILE_BYTES -> of_beam(M, plain(read(M, File, element(2, Info))));
        {ok, _} -> exit({refused, kprof_text:format("the file of ~ts is too large to be read", [M])});
        {error, _} -> no_file(M)
    end.

%% Reads the file in one piece, in a process of OTP's file_io_server.
read(M, File, Size) ->
    case erlang:module_loaded(file_io_server) andalso file:open(File, [read, binary]) of
        {ok, Fd} ->
            Got = file:pread(Fd, 0, Size),
            file:close(Fd),
            case Got of
                {ok, Bin} -> Bin;
                _ -> no_file(M)
            end;
        _ ->
            no_file(M)
    end.

-spec no_file(module()) -> no_return().
no_file(M) -> exit({refused, kprof_text:format("the file of ~ts is not there: what it calls is not known", [M])}).

plain(Bin) ->
    case byte_size(Bin) > 2 andalso binary:at(Bin, 0) =:= 31 andalso binary:at(Bin, 1) =:= 139 of
        true -> zlib:gunzip(Bin);
        false -> Bin
    end.

%% "FOR1", a size, "BEAM", chunks
of_beam(M, Bin) ->
    case byte_size(Bin) > 12 andalso {binary:part(Bin, 0, 4), binary:part(Bin, 8, 4)} =:= {<<"FOR1">>, <<"BEAM">>} of
        true -> split(Bin, 12);
        false -> no_code(M)
    end.

-spec no_code(module()) -> no_return().
no_code(M) -> exit({refused, kprof_text:format("the file of ~ts contains no BEAM code", [M])}).

split(Bin, At) when At + 8 =< byte_size(Bin) ->
    Size = number(Bin, At + 4),
    case At + 8 + Size =< byte_size(Bin) of
        true -> [{binary:part(Bin, At, 4), binary:part(Bin, At + 8, Size)} | split(Bin, At + 8 + (Size + 3) div 4 * 4)];
        false -> []
    end;
split(_, _) ->
    [].

number(Bin, At) -> binary:decode_unsigned(binary:part(Bin, At, 4)).

chunk(Id, Chunks, M) ->
    case lists:keyfind(Id, 1, Chunks) of
        {_, Data} -> Data;
        false -> no_code(M)
    end.

%% If the count is negative, lengths are encoded like arguments in code (from OTP 28).
atoms(Bin) ->
    case number(Bin, 0) of
        N when N >= 16#80000000 -> list_to_tuple(names(16#100000000 - N, fun argument/2, Bin, 4));
        N -> list_to_tuple(names(N, fun length_byte/2, Bin, 4))
    end.

names(0, _, _, _) -> [];
names(N, Length, Bin, At) ->
    {Size, From} = Length(Bin, At),
    [binary:part(Bin, From, Size) | names(N - 1, Length, Bin, From + Size)].

length_byte(Bin, At) -> {binary:at(Bin, At), At + 1}.

%% If the module is loaded, its atoms exist. An atom that does not exist is of another version, and no loaded module has
%% such a function.
imports(Bin, Atoms) -> list_to_tuple([import(Bin, 4 + 12 * I, Atoms) || I <- lists:seq(0, min(number(Bin, 0), byte_size(Bin) div 12) - 1)]).

import(Bin, At, Atoms) -> {name(number(Bin, At), Atoms), name(number(Bin, At + 4), Atoms), number(Bin, At + 8)}.

name(I, Atoms) ->
    try binary_to_existing_atom(element(I, Atoms), utf8)
    catch error:_ -> ''
    end.

%% ---- The code: its instructions, one after the other ----

%% -> {ok, [MFA], Chosen}, Chosen: number of calls of funs and of functions chosen at run time; other: the file has
%% other functions than the loaded module; unknown: it has unknown instructions
calls({M, F, A}, Code, Atoms, Imports) ->
    Arities = arities(),
    case number(Code, 8) =< tuple_size(Arities) of % the highest instruction
        true ->
            Own = {atom_to_binary(F, utf8), A},
            Of = {Own, kprof_text:format("-~ts/~b-", [F, A])},
            {Calls, Entries} = instructions(Code, 4 + number(Code, 0), Arities, Atoms, Of, {false, none, [], []}),
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
            {Args, Next} = arguments(element(Op, Arities), Code, At + 1, []),
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

arguments(0, _, At, Args) -> {lists:reverse(Args), At};
arguments(N, Code, At, Args) ->
    {Value, Next} = argument(Code, At),
    arguments(N - 1, Code, Next, [Value | Args]).

%% An argument of an instruction: its kind is in the low three bits; 7: it has parts. -> {Value, position of the next}
argument(Code, At) ->
    Byte = binary:at(Code, At),
    if
        Byte band 7 =:= 7 -> {none, parts(Byte bsr 4, Code, At + 1)};
        Byte band 8 =:= 0 -> {Byte bsr 4, At + 1};
        Byte band 16 =:= 0 -> {(Byte bsr 5) bsl 8 bor binary:at(Code, At + 1), At + 2};
        Byte bsr 5 =:= 7 ->
            {More, From} = argument(Code, At + 1),
            long(Code, From, More + 9);
        true -> long(Code, At + 1, Byte bsr 5 + 2)
    end.

long(Code, At, Size) -> {binary:decode_unsigned(binary:part(Code, At, Size)), At + Size}.

parts(1, Code, At) -> % a list
    {N, From} = argument(Code, At),
    skip(N, Code, From);
parts(2, Code, At) -> skip(1, Code, At); % a register for floats
parts(3, Code, At) -> % what is allocated
    {N, From} = argument(Code, At),
    skip(2 * N, Code, From);
parts(4, Code, At) -> skip(1, Code, At); % a literal
parts(5, Code, At) -> skip(2, Code, At). % a register with its type

skip(0, _, At) -> At;
skip(N, Code, At) ->
    {_, Next} = argument(Code, At),
    skip(N - 1, Code, Next).

%% The number of arguments of each instruction, from 1 on, up to OTP 29; numbers never change (genop.tab of the
%% compiler).
arities() ->
    list_to_tuple([C - $0 || C <- "13023223245232321100002112444444444443333333222222222222233312123333321101132225554211225552101224444312111263512235777532256222213408626545454333330117155233400222343224312111630153246243635"]).
