%% Text: functions in the syntax of their language, formatted sentences as binaries.
-module(kprof_text).
-export([format/2, mfa/3, shown/1]).

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
