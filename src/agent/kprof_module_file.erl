%% The file of a module: its chunks, the arguments of its instructions, and the functions that receive messages. No
%% code is loaded, the loaded code is not disassembled, and debug info is not needed. A process of OTP's file_io_server reads
%% the file, so that no process is killed during a file operation. Bytes are read by their positions: OTP 29 does not load what
%% OTP 25 compiles from binary patterns.
-module(kprof_module_file).
-export([atoms/1, arguments/4, arities/0, chunk/3, chunks/1, number/2, receivers/1]).

-define(FILE_BYTES, 16#1000000).

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

%% The chunks of the file of a loaded module. The process ends with {refused, Text} if they cannot be read.
-spec chunks(module()) -> [{binary(), binary()}].
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

%% 32 bits
-spec number(binary(), non_neg_integer()) -> non_neg_integer().
number(Bin, At) -> binary:decode_unsigned(binary:part(Bin, At, 4)).

-spec chunk(binary(), [{binary(), binary()}], module()) -> binary().
chunk(Id, Chunks, M) ->
    case lists:keyfind(Id, 1, Chunks) of
        {_, Data} -> Data;
        false -> no_code(M)
    end.

%% If the count is negative, lengths are encoded like arguments in code (from OTP 28).
-spec atoms(binary()) -> tuple().
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

%% ---- The code ----

%% The arguments of an instruction that begin at a position. -> {Values, position of the next instruction}
-spec arguments(non_neg_integer(), binary(), non_neg_integer(), [none | non_neg_integer()]) -> {[none | non_neg_integer()], non_neg_integer()}.
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
-spec arities() -> tuple().
arities() ->
    list_to_tuple([C - $0 || C <- "13023223245232321100002112444444444443333333222222222222233312123333321101132225554211225552101224444312111263512235777532256222213408626545454333330117155233400222343224312111630153246243635"]).
