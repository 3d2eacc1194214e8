%% The arguments of a captured call as trees, shortened before they leave the node. PROTOCOL.md has the forms. The name of a
%% part is what the relay would use, so that the preview is correct.
-module(kprof_capture_args).
-agent(tools).
-export([call/1]).
-export_type([part/0]).

%% A value as a tree: PROTOCOL.md, "Captures".
-type part() :: tuple().

-include("kprof_integer.hrl").

-define(ARG_BYTES, 4096). % about, per argument
-define(CALL_BYTES, 16384). % for all arguments of a call
-define(DEPTH, 12).
-define(WIDTH, 64).
-define(TEXT, 256).
-define(KEY, 64).
-define(NODE, 16).

-spec call([term()]) -> [part()].
call(Args) ->
    Each = min(?ARG_BYTES, ?CALL_BYTES div max(1, length(Args))),
    [element(1, part(A, ?DEPTH, Each)) || A <- Args].

%% -> {Part, remaining bytes}
part(X, _, B) when is_atom(X); is_float(X) -> {{v, X}, B - ?NODE};
part(X, _, B) when is_integer(X), ?FITS_64(X) -> {{v, X}, B - ?NODE};
part(X, _, B) when is_binary(X) ->
    Name = binary:copy(kprof_name:name(X)),
    {{b, byte_size(X), Name}, B - ?NODE - byte_size(Name)};
part(X, _, B) when is_pid(X) -> {{p, X, kprof_name:registered(X)}, B - 4 * ?NODE};
part(X, D, B0) when is_tuple(X) ->
    Name = kprof_name:name(X),
    {Parts, B} = parts(elements(X, 1), D - 1, B0 - ?NODE - erlang:external_size(Name)),
    {{t, tuple_size(X), Name, Parts}, B};
part(X, D, B) when is_list(X) -> list(X, lists:sublist(proper(X, ?TEXT), ?TEXT), D, B);
part(X, D, B0) when is_map(X) ->
    {Parts, B} = fields(some(X), D - 1, B0 - ?NODE),
    {{m, map_size(X), Parts}, B};
part(X, _, B) ->
    {{o, text(X), '...'}, B - ?NODE - ?KEY}.

parts([X | Rest], D, B0) when D > 0, B0 > 0 ->
    {Part, B1} = part(X, D, B0),
    {Parts, B} = parts(Rest, D, B1),
    {[Part | Parts], B};
parts(_, _, B) ->
    {[], B}.

elements(T, I) when I =< tuple_size(T), I =< ?WIDTH -> [element(I, T) | elements(T, I + 1)];
elements(_, _) -> [].

%% A string is one part; another list has parts.
list(X, [_ | _] = Start, D, B0) ->
    Name = kprof_name:name(X),
    case io_lib:printable_unicode_list(Start) andalso kprof_name:name(Start) =:= Name of
        true -> {{s, cells(X, 0), Name}, B0 - ?NODE - 4 * length(Name)};
        false ->
            {Parts, B} = parts(lists:sublist(Start, ?WIDTH), D - 1, B0 - ?NODE - erlang:external_size(Name)),
            {{l, cells(X, 0), Name, Parts}, B}
    end;
list([], [], _, B) ->
    {{l, 0, [], []}, B - ?NODE}.

%% The first N elements; the tail of an improper list is left out.
proper([X | Rest], N) when N > 0 -> [X | proper(Rest, N - 1)];
proper(_, _) -> [].

cells([_ | Rest], N) when N < 1000000 -> cells(Rest, N + 1);
cells(_, N) -> N.

some(Map) when map_size(Map) =< ?WIDTH -> lists:sort(maps:to_list(Map));
some(Map) -> lists:sort(some(maps:next(maps:iterator(Map)), ?WIDTH)).

some({K, V, Next}, N) when N > 0 -> [{K, V} | some(maps:next(Next), N - 1)];
some(_, _) -> [].

fields([{K, V} | Rest], D, B0) when D > 0, B0 > 0 ->
    {Part, B1} = part(V, D, B0 - ?KEY),
    {Fields, B} = fields(Rest, D, B1),
    Field =
        case short(K) of
            true -> {K, Part};
            false -> {text(K), Part, long}
        end,
    {[Field | Fields], B};
fields(_, _, B) ->
    {[], B}.

%% A key that can be written in a rule.
short(K) when is_atom(K); is_float(K) -> true;
short(K) when is_integer(K) -> ?FITS_64(K);
short(K) when is_binary(K) -> byte_size(K) =< ?KEY;
short(K) when is_tuple(K), tuple_size(K) =< 4 -> lists:all(fun(X) -> is_atom(X) orelse (is_integer(X) andalso short(X)) end, tuple_to_list(K));
short([]) -> true;
short(K) when is_list(K) -> length(proper(K, ?KEY)) < ?KEY andalso io_lib:printable_latin1_list(K);
short(_) -> false.

text(X) ->
    case unicode:characters_to_binary(lists:sublist(lists:flatten(io_lib:format("~0tP", [X, 6])), ?KEY)) of
        B when is_binary(B) -> B;
        _ -> <<"...">>
    end.
