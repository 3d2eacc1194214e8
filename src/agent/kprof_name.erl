%% The names of requests in trace messages: bounded, whatever the value of an identity rule is.
%%
%% Invariant: a name has at most 16 terms and 256 bytes of text; a larger value is shortened. The registered name of a pid is
%% looked up by this process and stored in its dictionary, without a question to the process of that pid.
-module(kprof_name).
-export([clip/1, name/1, registered/1]).

-include("kprof_integer.hrl").

-define(NAMES_MS, 1000). % minimum time between two scans of the registered names for a pid without a name

%% A large name is shortened; a message that is not a tuple is dropped (the match spec failed: the process had no token).
-spec clip(term()) -> tuple() | skip.
clip({_, _, _, Name} = Msg) -> named(Name, Msg);
clip({_, _, _, Name, _} = Msg) -> named(Name, Msg);
clip({_, _, _, Name, _, _} = Msg) -> named(Name, Msg);
clip(_) -> skip.

named(Name, Msg) ->
    case name(Name) of
        Name -> Msg;
        Less -> setelement(4, Msg, Less)
    end.

%% The name that a value gives to a request.
-spec name(term()) -> term().
name(Name) when is_atom(Name); is_integer(Name), ?FITS_64(Name) -> Name;
name(Name) ->
    case small(Name, 16) of
        Left when is_integer(Left) -> Name;
        false -> cut(Name, 3)
    end.

%% The registered name of a pid; undefined: it has none. The process is not asked, because it may be busy for long.
-spec registered(pid()) -> atom().
registered(Pid) when node(Pid) =:= node() ->
    case get(kprof_registered) of
        {#{Pid := Name}, _} ->
            case whereis(Name) of
                Pid -> Name;
                _ -> registered_anew(Pid)
            end;
        {_, At} ->
            case now_ms() - At < ?NAMES_MS of
                true -> undefined;
                false -> registered_anew(Pid)
            end;
        undefined ->
            registered_anew(Pid)
    end;
registered(_) ->
    undefined.

registered_anew(Pid) ->
    Names = maps:from_list([{P, Name} || Name <- registered(), P <- [whereis(Name)], is_pid(P)]),
    put(kprof_registered, {Names, now_ms()}),
    maps:get(Pid, Names, undefined).

%% The rest of Budget after this term; false: the term is too large.
small(B, Budget) when is_binary(B) -> byte_size(B) =< 256 andalso spend(Budget);
small(A, Budget) when is_atom(A); is_float(A); is_pid(A); is_reference(A); is_integer(A), ?FITS_64(A) -> spend(Budget);
small({'kprof name', _}, _) -> false;
small({'kprof prefix', _, _}, _) -> false;
small(T, Budget) when is_tuple(T), tuple_size(T) =< 8 -> small_all(tuple_to_list(T), spend(Budget));
small([H | _] = L, Budget) when is_integer(H) -> text(L, 256) andalso spend(Budget);
small([], Budget) -> spend(Budget);
small(_, _) -> false.

small_all(_, false) -> false;
small_all([X | Rest], Budget) -> small_all(Rest, small(X, Budget));
small_all([], Budget) -> Budget.

spend(0) -> false;
spend(Budget) -> Budget - 1.

text([C | Rest], Left) when is_integer(C), C >= 0, C < 16#110000, Left > 0 -> text(Rest, Left - 1);
text(End, _) -> End =:= [].

cut(B, _) when is_binary(B), byte_size(B) > 256 -> binary:part(B, 0, 256);
cut(X, _) when is_atom(X); is_float(X); is_pid(X); is_binary(X) -> X;
cut(X, _) when is_integer(X), ?FITS_64(X) -> X;
cut({'kprof name', X}, _) when is_pid(X) -> registered(X);
cut({'kprof name', X}, _) -> name(X);
cut({'kprof prefix', N, X}, _) -> start(X, N);
cut(T, Depth) when is_tuple(T), Depth > 0 -> list_to_tuple([cut(X, Depth - 1) || X <- lists:sublist(elements(T, 1), 8)]);
cut([H | _] = L, _) when is_integer(H), H >= 0, H < 16#110000 -> characters(L, 256);
cut(_, _) -> '...'.

%% The first bytes of a binary, or characters of a string.
start(B, N) when is_binary(B), byte_size(B) > N -> binary:part(B, 0, N);
start(X, _) when is_binary(X); X =:= [] -> X;
start(X, N) ->
    Text = characters(X, N),
    case io_lib:printable_unicode_list(Text) of
        true when Text =/= [] -> Text;
        _ -> undefined
    end.

elements(T, I) when I =< tuple_size(T), I =< 8 -> [element(I, T) | elements(T, I + 1)];
elements(_, _) -> [].

characters([C | Rest], Left) when is_integer(C), C >= 0, C < 16#110000, Left > 0 -> [C | characters(Rest, Left - 1)];
characters(_, _) -> [].

now_ms() -> erlang:monotonic_time(millisecond).
