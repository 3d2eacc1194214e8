%% The names of requests in trace messages: bounded, whatever the value of an identity rule is.
%%
%% Invariant: a name has at most 16 terms and 256 bytes of text; a larger value is shortened. Its binaries are no parts of larger ones,
%% which would stay in memory as long as the name waits to be sent. The registered name of a pid is looked up by this process and
%% stored in its dictionary, without a question to the process of that pid.
-module(kprof_name).
-export([clip/1, name/1, owned/1, registered/1]).

-include("kprof_integer.hrl").

%% Between two lists of all registered names.
-define(LIST_US, 1000000).
-define(REST, 1000). % times as long as the last list took
-define(LONGEST_US, 10000000).
-define(SPARE, 512). % bytes that a binary may keep beside itself; OTP 27 gives the size of small binaries in bits
-define(AT_ONCE, 500). % names that are looked up until the process lets others run

%% A large name is shortened (same: it is not large); a message that is not a tuple is dropped (the match spec failed: the process
%% had no token).
-spec clip(term()) -> same | tuple() | skip.
clip({_, _, _, Name} = Msg) -> named(Name, Msg);
clip({_, _, _, Name, _} = Msg) -> named(Name, Msg);
clip({_, _, _, Name, _, _} = Msg) -> named(Name, Msg);
clip(_) -> skip.

named(Name, _) when is_atom(Name); is_integer(Name), ?FITS_64(Name) -> same;
named(Name, Msg) ->
    case small(Name, 16) of
        false ->
            setelement(4, Msg, owned(cut(Name, 3)));
        _ ->
            case keeps(Name) of
                true -> setelement(4, Msg, copied(Name));
                false -> same
            end
    end.

%% The name that a value gives to a request.
-spec name(term()) -> term().
name(Name) when is_atom(Name); is_integer(Name), ?FITS_64(Name) -> Name;
name(Name) ->
    case small(Name, 16) of
        Left when is_integer(Left) -> owned(Name);
        false -> owned(cut(Name, 3))
    end.

%% The same term; a binary that is a small part of a larger one is copied.
-spec owned(term()) -> term().
owned(X) ->
    case keeps(X) of
        true -> copied(X);
        false -> X
    end.

keeps(B) when is_binary(B) -> binary:referenced_byte_size(B) > 2 * byte_size(B) + ?SPARE;
keeps([X | Rest]) when is_integer(X) -> keeps(Rest);
keeps([X | Rest]) -> keeps(X) orelse keeps(Rest);
keeps(T) when is_tuple(T) -> keeps(tuple_to_list(T));
keeps(M) when is_map(M) -> keeps(maps:to_list(M));
keeps(_) -> false.

copied(B) when is_binary(B) -> binary:copy(B);
copied([X | Rest]) -> [copied(X) | copied(Rest)];
copied(T) when is_tuple(T) -> list_to_tuple(copied(tuple_to_list(T)));
copied(M) when is_map(M) -> maps:from_list(copied(maps:to_list(M)));
copied(X) -> X.

%% The registered name of a pid; undefined: it has none. The process is not asked, because it may be busy for long. A name that
%% is younger than the last list of all names may be missing.
-spec registered(pid()) -> atom().
registered(Pid) when node(Pid) =:= node() ->
    Listed = get(kprof_registered),
    case known(Pid, Listed) of
        undefined ->
            case Listed =:= undefined orelse now_us() >= element(2, Listed) of
                true ->
                    Now = listed(),
                    put(kprof_registered, Now),
                    known(Pid, Now);
                false ->
                    undefined
            end;
        Name ->
            Name
    end;
registered(_) ->
    undefined.

known(_, undefined) ->
    undefined;
known(Pid, {ByPid, _}) ->
    Name = maps:get(Pid, ByPid, undefined),
    case whereis(Name) of
        Pid -> Name;
        _ -> undefined
    end.

%% The names by pid, and until when they are not listed again: the VM lists them in one go, however many they are.
listed() ->
    Began = now_us(),
    Names = registered(),
    Rest = min(?LONGEST_US, max(?LIST_US, ?REST * (now_us() - Began))),
    ByPid = by_pid(Names, ?AT_ONCE, #{}),
    {ByPid, now_us() + Rest}.

by_pid([], _, ByPid) ->
    ByPid;
by_pid(Names, 0, ByPid) ->
    kprof_flags:yield(),
    by_pid(Names, ?AT_ONCE, ByPid);
by_pid([Name | Names], Left, ByPid) ->
    case whereis(Name) of
        P when is_pid(P) -> by_pid(Names, Left - 1, ByPid#{P => Name});
        _ -> by_pid(Names, Left - 1, ByPid)
    end.

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

now_us() -> erlang:monotonic_time(microsecond).
