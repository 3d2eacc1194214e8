%% Runs on the nodes that tests start: reads Erlang expressions from stdin and answers on stdout. It does not use
%% distribution, so a test can query a node whatever the state of its connections.
%% An input line is the base64 of an expression; an output line is a prefix, then the base64 of {"ok":Term} or
%% {"error":Text} as JSON.
-module(kp_target).
-export([start/0, serve/0, traced/0, counted/0, ours/0]).

start() -> spawn(fun serve/0).

serve() ->
    io:setopts(standard_io, [{encoding, latin1}]),
    reply({ok, ready}),
    loop(erl_eval:new_bindings()).

loop(Bindings) ->
    case io:get_line(standard_io, "") of
        eof -> halt(0);
        {error, _} -> halt(0);
        Line ->
            {Result, Next} = eval(base64:decode(string:trim(Line)), Bindings),
            reply(Result),
            loop(Next)
    end.

eval(Source, Bindings) ->
    try
        {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Source) ++ " ."),
        {ok, Exprs} = erl_parse:parse_exprs(Tokens),
        {value, Value, New} = erl_eval:exprs(Exprs, Bindings),
        {{ok, Value}, New}
    catch
        C:R:S -> {{error, iolist_to_binary(io_lib:format("~0p:~0tp ~0tp", [C, R, S]))}, Bindings}
    end.

reply({Tag, Term}) ->
    Text = iolist_to_binary([$", atom_to_list(Tag), "\":", json(Term)]),
    io:put_chars(standard_io, ["\n\001KP ", base64:encode(<<"{", Text/binary, "}">>), "\n"]).

json(true) -> "true";
json(false) -> "false";
json(undefined) -> "null";
json(nil) -> "null";
json(A) when is_atom(A) -> string(atom_to_binary(A, utf8));
json(I) when is_integer(I) -> integer_to_list(I);
json(F) when is_float(F) -> io_lib:format("~.9g", [F]);
json(B) when is_binary(B) -> string(B);
json(T) when is_tuple(T) -> json(tuple_to_list(T));
json(L) when is_list(L), length(L) >= 0 -> [$[, lists:join($,, [json(X) || X <- L]), $]];
json(M) when is_map(M) ->
    [${, lists:join($,, [[key(K), $:, json(V)] || {K, V} <- maps:to_list(M)]), $}];
json(Other) -> string(iolist_to_binary(io_lib:format("~0p", [Other]))).

key(K) when is_atom(K); is_binary(K) -> json_key(json(K), K);
key(K) -> string(iolist_to_binary(io_lib:format("~0p", [K]))).

json_key(_, K) when K =:= true; K =:= false; K =:= undefined; K =:= nil -> string(atom_to_binary(K, utf8));
json_key(Text, _) -> Text.

string(B) ->
    Chars = case unicode:characters_to_list(B) of
        L when is_list(L) -> L;
        _ -> binary_to_list(B)
    end,
    [$", [char(C) || C <- Chars], $"].

char($") -> "\\\"";
char($\\) -> "\\\\";
char(C) when C >= 32, C < 127 -> C;
char(C) when C < 16#10000 -> io_lib:format("\\u~4.16.0b", [C]);
char(C) ->
    D = C - 16#10000,
    io_lib:format("\\u~4.16.0b\\u~4.16.0b", [16#d800 + (D bsr 10), 16#dc00 + (D band 16#3ff)]).

%% Everything that a profiler may have left on this node, according to the VM.
ours() ->
    #{patterns => traced(),
      counters => counted(),
      flags => [P || P <- processes(), flags(P) =/= []] ++ [new || flags(new) =/= []],
      processes => [N || N <- registered(), kprof(N)],
      modules => [M || {M, _} <- code:all_loaded(), kprof(M)],
      old_modules => [M || M <- erlang:pre_loaded(), kprof(M)],
      sessions => sessions(),
      system_tracer => seq_trace:get_system_tracer()}.

kprof(A) -> lists:prefix("kprof_", atom_to_list(A)).

flags(P) ->
    case catch erlang:trace_info(P, flags) of
        {flags, L} when is_list(L) -> L;
        _ -> []
    end.

%% Functions with a trace pattern (legacy session; those of other sessions die with them).
traced() -> [MFA || MFA <- all_functions(), patterned(MFA)].

all_functions() -> [{M, F, A} || {M, _} <- code:all_loaded(), M =/= erlang, {F, A} <- functions(M)].

functions(M) -> try M:module_info(functions) catch _:_ -> [] end.

patterned(MFA) ->
    case erlang:trace_info(MFA, traced) of
        {traced, T} when T =:= local; T =:= global -> true;
        _ -> false
    end.

%% Functions with a call counter, [{M, F, A, Kind}] (also in the legacy session).
counted() -> [{M, F, A, Kind} || {M, F, A} = MFA <- all_functions(), Kind <- kinds(), counts(MFA, Kind)].

counts(MFA, Kind) ->
    case erlang:trace_info(MFA, Kind) of
        {Kind, Is} -> Is =/= false andalso Is =/= undefined;
        _ -> false
    end.

%% call_memory exists since OTP 26.
kinds() -> [call_count, call_time | [call_memory || list_to_integer(erlang:system_info(otp_release)) >= 26]].

sessions() ->
    _ = code:ensure_loaded(trace),
    case erlang:function_exported(trace, session_info, 1) of
        true ->
            case trace:session_info(all) of
                L when is_list(L) -> [N || S <- L, N <- [session_name(S)], N =/= legacy];
                _ -> []
            end;
        false -> []
    end.

session_name(S) when is_tuple(S), is_atom(element(1, S)) -> element(1, S);
session_name(S) -> iolist_to_binary(io_lib:format("~0p", [S])).
