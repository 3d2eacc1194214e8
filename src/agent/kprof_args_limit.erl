%% Limits the arguments of calls that are sent (`--slow-args`): their size per call and per second. The match spec sends only
%% small ones; here their sum is limited. A value of the relay.
-module(kprof_args_limit).
-export([new/0, limited/2]).
-export_type([limit/0]).

-define(A_CALL, 1024). % bytes
-define(A_SECOND, 1048576).

%% {Bytes left in this second, when (ms) it began}
-type limit() :: {non_neg_integer(), integer()}.

-spec new() -> limit().
new() -> {0, -1000000000000}.

%% A call whose message has {Caller, Arguments} as its third element. big, over: instead of arguments that are too large, or for
%% which nothing is left in this second. Long names are shortened, too (kprof_name:clip/1).
-spec limited(tuple(), limit()) -> {tuple(), limit()}.
limited({trace_ts, P, call, MFA, Msg, Ts}, Limit0) ->
    {Caller, Args} = element(3, Msg),
    {Sent, Limit} = bounded(erlang:external_size(Args), Args, Limit0),
    Msg1 = setelement(3, Msg, {Caller, Sent}),
    case kprof_name:clip(Msg1) of
        Same when Same =:= skip; Same =:= same -> {{trace_ts, P, call, MFA, Msg1, Ts}, Limit};
        Less -> {{trace_ts, P, call, MFA, Less, Ts}, Limit}
    end.

bounded(Size, _, Limit) when Size > ?A_CALL -> {big, Limit};
bounded(Size, Args, {Left, Since}) when Size =< Left -> {kprof_name:owned(Args), {Left - Size, Since}};
bounded(Size, Args, {_, Since} = Limit) ->
    case erlang:monotonic_time(millisecond) of
        Now when Now - Since >= 1000 -> bounded(Size, Args, {?A_SECOND, Now});
        _ -> {over, Limit}
    end.
