%% Counts the processes that start on the node, to estimate how many the periodic choice can have missed. The VM has no such
%% counter. But until it has used all numbers of pids once, it gives them in order: the difference of the pids of two short-lived
%% processes of the agent is the number of processes that were started in between. After that it gives the number that
%% has been free for longest, and nothing is counted. Pure, except that it reads the process limit.
-module(kprof_stack_births).
-agent(tools).
-export([new/1, own/1, look/3, born/1, ms/1]).
-export_type([births/0]).

-record(births, {
    last :: none | non_neg_integer(), % the number of the last probe; none: they are no longer in order
    at = none :: none | integer(), % ms
    own = 0 :: non_neg_integer(), % processes of the agent since then
    born = 0 :: non_neg_integer(),
    ms = 0 :: non_neg_integer() % for which they were counted
}).
-opaque births() :: #births{}.

-spec new(pid()) -> births().
new(Probe) -> #births{last = number(Probe)}.

%% The agent has started a process.
-spec own(births()) -> births().
own(#births{own = Own} = B) -> B#births{own = Own + 1}.

-spec look(pid(), integer(), births()) -> births().
look(_, _, #births{last = none} = B) ->
    B;
look(Probe, Now, #births{last = Last, at = At, own = Own, born = Born, ms = Ms} = B) ->
    case number(Probe) of
        N when is_integer(N), N > Last, At =/= none ->
            B#births{last = N, at = Now, own = 0, born = Born + max(0, N - Last - 1 - Own), ms = Ms + Now - At};
        N when is_integer(N), N > Last ->
            B#births{last = N, at = Now, own = 0}; % the first reading: counts from now on
        _ ->
            B#births{last = none}
    end.

%% Processes that were started, and the time in ms for which they were counted.
-spec born(births()) -> non_neg_integer().
born(#births{born = Born}) -> Born.

-spec ms(births()) -> non_neg_integer().
ms(#births{ms = Ms}) -> Ms.

%% The VM shows the lowest 15 bits (from OTP 26 on, 28) as the first number of a pid, the others as the second.
number(Probe) ->
    [_, Low, High] = [list_to_integer(N) || N <- string:tokens(pid_to_list(Probe), "<.>")],
    N = Low + (High bsl case erlang:system_info(otp_release) >= "26" of true -> 28; false -> 15 end),
    case N < erlang:system_info(process_limit) of true -> N; false -> none end.
