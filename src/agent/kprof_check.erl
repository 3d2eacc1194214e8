%% Checks match specs: each one before it is set (kprof_spec:set_pattern/4), and the operator's rule before it becomes part of
%% one.
%%
%% Invariant: a match spec that passes cannot crash the VM. A label that is not an immediate term crashes it, so
%% {set_seq_token,label,X} is allowed only if X is known to be an immediate. Other actions on tokens, flags or processes are
%% refused, except those listed.
-module(kprof_check).
-export([check/1, pure/1, name/1, calls/1, variable/1]).

-type verdict() :: ok | {error, binary()}.

-define(LOW, 16#ffffffff). % the range of the control word

%% A whole match spec: ok | {error, Binary}
-spec check(term()) -> verdict().
check(Spec) ->
    try
        lists:foreach(fun check_clause/1, Spec),
        ok
    catch
        throw:{refused, Why} -> {error, Why};
        _:_ -> {error, <<"not a match spec">>}
    end.

%% Guards, or expressions that could be guards: no actions. ok | {error, Binary}
-spec pure(term()) -> verdict().
pure(Expressions) ->
    try walk(Expressions, guard)
    catch throw:{refused, Why} -> {error, Why}
    end.

%% The same as pure/1, for the name of a request.
-spec name(term()) -> verdict().
name(Expression) ->
    try walk(Expression, name)
    catch throw:{refused, Why} -> {error, Why}
    end.

check_clause({_Head, Guards, Body}) when is_list(Guards), is_list(Body) ->
    walk(Guards, guard),
    walk(Body, body).

walk({const, _}, _) -> ok;
walk({Tuple}, Where) when is_tuple(Tuple) -> walk(tuple_to_list(Tuple), Where);
walk({set_seq_token, label, X}, body) ->
    case immediate(X) of
        true -> walk(X, body);
        false -> refuse("a label must be an immediate", X)
    end;
walk({set_seq_token, sequential_trace_token, []}, body) -> ok;
walk({set_seq_token, _, _} = X, _) -> refuse("only the label of a trace token may be set", X);
walk({trace, [Flag], []}, body) when Flag =:= call -> ok;
walk({trace, [], Flags}, body) when is_list(Flags) ->
    case lists:all(fun is_flag/1, Flags) of
        true -> ok;
        false -> refuse("not an allowed flag", Flags)
    end;
walk(X, Where) when is_tuple(X), tuple_size(X) > 0, is_atom(element(1, X)) ->
    [F | Args] = tuple_to_list(X),
    case lists:member(F, functions()) orelse (Where =:= body andalso lists:member(F, actions())) of
        true -> walk(Args, Where);
        false -> refuse("not an allowed function", F)
    end;
walk(X, _) when is_tuple(X) -> refuse("not an expression", X);
walk([H | T], Where) ->
    walk(H, Where),
    walk(T, Where);
walk(X, guard) when is_map(X) ->
    walk(maps:keys(X), guard),
    walk(maps:values(X), guard);
walk(X, _) when is_map(X) -> refuse("a map cannot name a request", X); % kprof_hazard: name_maps
walk(_, _) -> ok.

refuse(Text, What) -> throw({refused, unicode:characters_to_binary(io_lib:format("~s: ~0tP", [Text, What, 12]))}).

actions() -> [message, exception_trace, set_tcw, get_tcw, get_seq_token, caller, self].
functions() ->
    ['=:=', '=/=', '==', '/=', '<', '=<', '>', '>=', 'and', 'or', 'not', 'xor', 'andalso', 'orelse', '+', '-', '*', 'div', 'rem',
     'band', 'bor', 'bxor', 'bnot', 'bsl', 'bsr', abs, element, hd, tl, length, node, round, trunc, size, tuple_size, byte_size, bit_size,
     map_size, map_get, is_map_key, is_atom, is_float, is_integer, is_list, is_number, is_pid, is_port, is_reference, is_tuple,
     is_map, is_binary, is_bitstring, is_boolean, is_function, is_record, is_seq_trace, binary_part, get_tcw].

%% Flags that a full trace, and a request that is followed in detail, set for the process that makes the call.
is_flag({const, {tracer, P}}) -> is_pid(P);
is_flag(Flag) -> lists:member(Flag, [call, return_to, arity, monotonic_timestamp, running, scheduler_id, garbage_collection]).

immediate({F}) when F =:= self -> true;
immediate(X) when is_integer(X) -> X > -(1 bsl 58) andalso X < 1 bsl 58;
immediate(X) when is_atom(X) -> not variable(X);
immediate(X) -> bound(X) < 1 bsl 58.

%% The largest value that a non-negative integer expression can have; an atom (greater than any number) if it is not known.
bound(X) when is_integer(X), X >= 0 -> X;
bound({get_tcw}) -> ?LOW;
bound({set_tcw, _}) -> ?LOW;
bound({'bor', A, B}) -> both(A, B, fun(X, Y) -> ones(max(X, Y)) end);
bound({'band', A, B}) -> min(bound(A), bound(B)); % one known bound is enough: an unknown one is an atom, larger than any integer
bound({'+', A, B}) -> both(A, B, fun(X, Y) -> X + Y end);
bound({'bsl', A, B}) when is_integer(B), B >= 0, B < 60 -> both(A, 0, fun(X, _) -> X bsl B end);
bound({'bsr', A, B}) when is_integer(B), B >= 0 -> both(A, 0, fun(X, _) -> X bsr B end);
bound(_) -> unknown.

both(A, B, F) ->
    case {bound(A), bound(B)} of
        {X, Y} when is_integer(X), is_integer(Y) -> F(X, Y);
        _ -> unknown
    end.

ones(0) -> 0;
ones(X) -> (ones(X bsr 1) bsl 1) bor 1.

%% '$1', '$_', '$$', '_' are not constants; other atoms that begin like them are refused.
-spec variable(atom()) -> boolean().
variable(X) ->
    case atom_to_list(X) of
        [C | _] -> C =:= $$ orelse C =:= $_;
        [] -> false
    end.

%% True: the expression calls a function, which may fail.
-spec calls(term()) -> boolean().
calls({const, _}) -> false;
calls({T}) when is_tuple(T) -> calls(tuple_to_list(T));
calls(T) when is_tuple(T) -> true;
calls([H | T]) -> calls(H) orelse calls(T);
calls(M) when is_map(M) -> calls(maps:values(M));
calls(_) -> false.
