%% Which sampling an event was made with: how many calls it stands for. The VM may deliver an event milliseconds after it was
%% made, so it can arrive after the message that reports a new sampling. The time of the event shows which weight it has. A
%% value of the relay, pure.
-module(kprof_weights).
-export([new/0, changed/3, at/2, parts/3, made/1]).
-export_type([weights/0]).

-define(EARLIER, 8). % earlier weights that are remembered
-define(LATE_MS, 200). % the VM delivers an event later than this only if the node is hardly running

%% The weight, and earlier ones, newest first: {until when (native), weight}.
-type weights() :: {pos_integer(), [{integer(), pos_integer()}]}.
-type part() :: {non_neg_integer(), pos_integer(), [tuple()]}.

-spec new() -> weights().
new() -> {1, []}.

%% Events that are made at Since (native) or later stand for N calls.
-spec changed(pos_integer(), integer(), weights()) -> weights().
changed(N, _, {N, _} = Weights) -> Weights;
changed(N, Since, {Before, Earlier}) -> {N, lists:sublist([{Since, Before} | Earlier], ?EARLIER)}.

%% The weight of an event that was made then.
-spec at(integer(), weights()) -> pos_integer().
at(Ts, {Weight, Earlier}) -> at(Ts, Weight, Earlier).

at(Ts, _, [{Until, Weight} | Earlier]) when Ts < Until -> at(Ts, Weight, Earlier);
at(_, Weight, _) -> Weight.

%% Splits N messages, newest first, into parts of one weight, oldest part first: {Number, Weight, Messages}. When the last
%% message is ?LATE_MS newer than the last change, earlier weights are forgotten.
-spec parts([tuple()], non_neg_integer(), weights()) -> {[part()], weights()}.
parts(Messages, N, {Weight, []} = Weights) -> {[{N, Weight, Messages}], Weights};
parts([M | _] = Messages, N, {Weight, [{Last, _} | _] = Earlier} = Weights) ->
    case erlang:convert_time_unit(made(M) - Last, native, millisecond) > ?LATE_MS of
        true -> {[{N, Weight, Messages}], {Weight, []}};
        false -> {parts(Messages, Weight, Earlier, []), Weights}
    end.

parts([], _, _, Parts) -> Parts;
parts(Messages, Weight, [], Parts) -> [{length(Messages), Weight, Messages} | Parts];
parts(Messages, Weight, [{Until, Before} | Earlier], Parts) ->
    {Since, Older} = lists:partition(fun(M) -> made(M) >= Until end, Messages),
    parts(Older, Before, Earlier, if Since =:= [] -> Parts; true -> [{length(Since), Weight, Since} | Parts] end).

%% The time (native) at which an event was made.
-spec made(tuple()) -> integer().
made(M) -> element(tuple_size(M), M).
