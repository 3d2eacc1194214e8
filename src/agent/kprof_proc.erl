%% Requests about processes. A pid is {Id, Serial} here: kprof-top stores only the two numbers.
%%
%% A process answers such questions when it is scheduled. A process in a long native function answers after it. Therefore a
%% separate process asks, and waits at most a second. Processes with large heaps get no signal on VMs on which that can block
%% them (kprof_walk:may_ask/2). The length of a queue is read without one, unless the process is running.
-module(kprof_proc).
-export([answer/2, ask_later/1, got/3, pid/2, queue/2, status/1]).

-type id() :: {non_neg_integer(), non_neg_integer()}.
-type question() :: {alive | who, [id()]} | {stack, id()}.

-define(FRAMES, 20).
-define(WAIT_MS, 1000).
-define(DEAD_MS, 10). % the VM knows at once whether a process is dead, unless it is running
-define(TOGETHER, 16). % processes whose states are read in turn: one that is running delays only these

%% {alive, Pids} -> those that are dead; {stack, Pid} -> dead | [Frame]; {who, Pids} -> [{Id, Serial, Name}], <<>>: not known.
-spec answer(question(), kprof_hazard:vm()) -> dead | [id()] | [binary()] | [{non_neg_integer(), non_neg_integer(), binary()}].
answer({alive, Pids}, _) ->
    Until = erlang:monotonic_time(millisecond) + ?DEAD_MS,
    Asked = [ask_later(fun() -> dead(Some) end) || Some <- together(Pids)],
    lists:append([got(One, Until, []) || One <- Asked]);
answer({stack, {Id, Serial}}, Vm) ->
    ask(fun() -> stack(pid(Id, Serial), Vm) end, erlang:monotonic_time(millisecond) + ?WAIT_MS, [<<"the process did not answer within a second: it may be in a long native function">>]);
answer({who, Pids}, Vm) ->
    Until = erlang:monotonic_time(millisecond) + ?WAIT_MS,
    Asked = [{Id, Serial, ask_later(fun() -> who(pid(Id, Serial), Vm) end)} || {Id, Serial} <- Pids],
    [{Id, Serial, got(One, Until, <<>>)} || {Id, Serial, One} <- Asked].

together(Pids) when length(Pids) =< ?TOGETHER -> [Pids];
together(Pids) ->
    {Some, Rest} = lists:split(?TOGETHER, Pids),
    [Some | together(Rest)].

%% To read the status the VM sends no signal, unless the process is running. A monitor would be a signal to each.
dead(Pids) -> [P || {Id, Serial} = P <- Pids, kprof_walk:info(pid(Id, Serial), status) =:= none].

ask(Fun, Until, Else) -> got(ask_later(Fun), Until, Else).

%% Asks in a process of its own, for got/3.
-spec ask_later(fun(() -> term())) -> {pid(), reference()}.
ask_later(Fun) ->
    spawn_opt(fun() -> exit(try {got, Fun()} catch _:_ -> failed end) end, [monitor, {max_heap_size, 0}]).

%% The answer, or Else if there is none at Until (monotonic ms).
-spec got({pid(), reference()}, integer(), term()) -> term().
got({Pid, Ref}, Until, Else) ->
    receive
        {'DOWN', Ref, _, _, {got, Answer}} -> Answer;
        {'DOWN', Ref, _, _, _} -> Else
    after max(0, Until - erlang:monotonic_time(millisecond)) ->
        exit(Pid, kill),
        erlang:demonitor(Ref, [flush]),
        Else
    end.

%% The length of the message queue of the process with this name; -1: there is none, or it does not answer, or kprof_hazard
%% does not allow asking it.
-spec queue(binary(), kprof_hazard:vm()) -> integer().
queue(Name, Vm) -> ask(fun() -> queue_of(whereis(binary_to_existing_atom(Name, utf8)), Vm) end, erlang:monotonic_time(millisecond) + ?WAIT_MS, -1).

queue_of(P, Vm) ->
    case is_pid(P) andalso kprof_walk:queue(P, Vm) of
        N when is_integer(N) -> N;
        _ -> -1
    end.

%% The current stack: functions and lines, never an argument; innermost first. dead: the process has ended.
stack(P, Vm) ->
    case frames(P, Vm) of
        undefined -> dead;
        refused -> [kprof_hazard_text:reason(sample_large, Vm)];
        Frames -> [frame(F) || F <- lists:sublist(Frames, ?FRAMES)]
    end.

frames(P, Vm) ->
    case kprof_walk:may_ask(P, Vm) andalso process_info(P, current_stacktrace) of
        {_, Frames} -> Frames;
        undefined -> undefined;
        false -> case kprof_walk:info(P, status) of none -> undefined; _ -> refused end
    end.

frame({_, _, _, Where} = Frame) ->
    Line =
        case {proplists:get_value(file, Where), proplists:get_value(line, Where)} of
            {File, N} when is_list(File), is_integer(N) -> io_lib:format(" (~ts:~b)", [filename:basename(File), N]);
            _ -> ""
        end,
    kprof_text:format("~ts~ts", [mfa(Frame), Line]).

-spec pid(non_neg_integer(), non_neg_integer()) -> pid().
pid(Id, Serial) -> list_to_pid(lists:flatten(io_lib:format("<0.~b.~b>", [Id, Serial]))).

%% The registered name, or the function that it started with; for a fun, the outermost function of its stack.
who(P, Vm) ->
    case kprof_walk:info(P, registered_name) of
        none -> started_with(kprof_walk:info(P, initial_call), P, Vm);
        Name -> kprof_text:format("~ts", [Name])
    end.

started_with(none, _, _) ->
    <<>>;
started_with({M, F, A}, P, Vm) ->
    Call = kprof_text:mfa(M, F, A),
    kprof_text:format("~ts", [
        case (M =:= proc_lib orelse M =:= erlang) andalso frames(P, Vm) of
            [_ | _] = Frames when M =:= proc_lib -> first_call(P, mfa(hd(Frames)));
            [_ | _] = Frames -> mfa(lists:last(Frames));
            _ -> Call
        end
    ]).

mfa({M, F, A, _}) -> kprof_text:mfa(M, F, if is_list(A) -> length(A); true -> A end).

%% proc_lib stores it in the dictionary, which may be large. The memory of the process is not read: on some VMs that hangs the
%% process.
first_call(P, Else) ->
    case kprof_walk:info(P, heap_size) of
        Words when is_integer(Words), Words < 100000 ->
            {M, F, A} = proc_lib:translate_initial_call(P),
            kprof_text:mfa(M, F, A);
        _ ->
            Else
    end.

%% PROTOCOL.md, "Stacks"
-spec status(atom()) -> 0..6.
status(running) -> 1;
status(runnable) -> 2;
status(waiting) -> 3;
status(garbage_collecting) -> 4;
status(suspended) -> 5;
status(exiting) -> 6;
status(_) -> 0.
