%% Numbers in the options that kprof-top sends with a request.
-module(kprof_options).
-agent(tools).
-export([number/5]).

%% -> the option's value, limited to Least..Most; Default if there is none, or it is not an integer.
-spec number(atom(), integer(), integer(), integer(), map()) -> integer().
number(What, Default, Least, Most, Options) ->
    case maps:get(What, Options, Default) of
        N when is_integer(N) -> max(Least, min(Most, N));
        _ -> Default
    end.
