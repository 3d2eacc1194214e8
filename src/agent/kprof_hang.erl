%% Polls processes that have been in a request for a long time: what each does, several times in a row. No trace flag is used,
%% so it works on every VM.
%%
%% Invariant: at most ?MOST processes, for ?POLL_MS in all, each at most every ?EVERY_MS; the queries take at most 1/?SHARE of
%% the time of one scheduler. One query per poll. Processes with large heaps are not asked on VMs on which that can block them
%% (sample_large). A process that does not answer for ?WAIT_MS ends the polls without a result. If the caller ends, for example
%% with the agent, no process is polled after the present pause. Each poll is counted (?POLLS): it is part of the cost of
%% tracing.
-module(kprof_hang).
-export([answer/3]).

-include("kprof_counters.hrl").

-define(MOST, 4).
-define(POLL_MS, 50).
-define(EVERY_MS, 5).
-define(SHARE, 50). % 1/50
-define(FRAMES, 3).
-define(WAIT_MS, 1000).

-type id() :: {non_neg_integer(), non_neg_integer()}.

%% -> {TotalUs, [{Index, AfterUs, Status, Text}]}, oldest first: process number Index (from 0) of Pids was in these functions,
%% innermost first, AfterUs after the start. Status as in "Stacks".
-spec answer([id()], kprof_hazard:vm(), atomics:atomics_ref()) -> {non_neg_integer(), [{non_neg_integer(), non_neg_integer(), 0..6, binary()}]}.
answer(Pids, Vm, Counters) ->
    Began = erlang:monotonic_time(microsecond),
    Asked = numbered([kprof_proc:pid(Id, Serial) || {Id, Serial} <- lists:sublist(Pids, ?MOST)], 0, Vm),
    Caller = self(),
    Apart = kprof_proc:ask_later(fun() ->
        erlang:monitor(process, Caller),
        polled(Asked, Began, Began + ?POLL_MS * 1000, Counters, [])
    end),
    Polls = kprof_proc:got(Apart, erlang:monotonic_time(millisecond) + ?WAIT_MS, []),
    {erlang:monotonic_time(microsecond) - Began, as_text(lists:reverse(Polls), #{})}.

numbered([P | Rest], I, Vm) ->
    case kprof_walk:may_ask(P, Vm) of
        true -> [{I, P} | numbered(Rest, I + 1, Vm)];
        false -> numbered(Rest, I + 1, Vm)
    end;
numbered([], _, _) ->
    [].

polled([], _, _, _, Polls) ->
    Polls;
polled(Asked, Began, Until, Counters, Polls0) ->
    Before = erlang:monotonic_time(microsecond),
    atomics:add(Counters, ?POLLS, length(Asked)),
    Polls = lists:foldl(fun(One, Acc) -> poll(One, Began) ++ Acc end, Polls0, Asked),
    Now = erlang:monotonic_time(microsecond),
    Pause = max(?EVERY_MS * 1000, ?SHARE * (Now - Before)),
    if
        Now + Pause >= Until ->
            Polls;
        true ->
            receive {'DOWN', _, process, _, _} -> Polls
            after Pause div 1000 -> polled(Asked, Began, Until, Counters, Polls)
            end
    end.

poll({I, P}, Began) ->
    case process_info(P, [status, current_stacktrace]) of
        [{_, Status}, {_, Trace}] ->
            Place = [{M, F, if is_list(A) -> length(A); true -> A end} || {M, F, A, _} <- lists:sublist(Trace, ?FRAMES)],
            [{I, erlang:monotonic_time(microsecond) - Began, kprof_proc:status(Status), Place}];
        undefined ->
            []
    end.

%% Functions only, never arguments. Most polls of a process find it in the same place.
as_text([{I, At, Status, Place} | Rest], Texts) when is_map_key(Place, Texts) ->
    [{I, At, Status, maps:get(Place, Texts)} | as_text(Rest, Texts)];
as_text([{_, _, _, Place} | _] = Polls, Texts) ->
    as_text(Polls, Texts#{Place => kprof_text:format("~ts", [lists:join(" < ", [kprof_text:mfa(M, F, A) || {M, F, A} <- Place])])});
as_text([], _) ->
    [].
