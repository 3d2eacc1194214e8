%% Text: functions in the syntax of their language, formatted sentences as binaries; the constant texts of the merged modules.
-module(kprof_text).
-export([format/2, mfa/3, shown/1, stored/1, stored_binary/1]).

%% A name in the syntax of its language.
-spec mfa(module(), atom(), arity()) -> io_lib:chars().
mfa(M, F, A) ->
    case atom_to_list(M) of
        "Elixir." ++ Name -> io_lib:format("~ts.~ts/~b", [Name, F, A]);
        Name -> io_lib:format("~ts:~ts/~b", [Name, F, A])
    end.

-spec shown(string()) -> string().
shown("Elixir." ++ Name) -> Name;
shown(Name) -> Name.

-spec format(io:format(), [term()]) -> binary().
format(Format, Args) -> unicode:characters_to_binary(io_lib:format(Format, Args)).

%% merge.escript makes a constant text a call of one of these. Code that builds a text takes the VM 2 us to load, and while it
%% loads a module, one of its schedulers runs nothing else; an attribute of a module takes it no time, and is no literal. A call
%% takes some us: not for what is done for each event or each process.
-spec stored(non_neg_integer()) -> string().
stored(N) -> unicode:characters_to_list(stored_binary(N)).

%% texts() in merge.escript
-spec stored_binary(non_neg_integer()) -> binary().
stored_binary(N) ->
    {_, [Texts]} = lists:keyfind(texts, 1, ?MODULE:module_info(attributes)),
    [From, To] = [binary:decode_unsigned(binary:part(Texts, 2 * I, 2)) || I <- [N, N + 1]],
    binary:copy(binary:part(Texts, From, To - From)).
