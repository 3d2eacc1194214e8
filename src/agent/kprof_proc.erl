%% Requests about processes. A pid is {Id, Serial} here: kprof-top stores only the two numbers.
%%
%% A process answers such questions when it is scheduled. A process in a long native function answers after it. Therefore a
%% separate process asks, and waits at most a second.
-module(kprof_proc).
-export([answer/1, ask_later/1, got/3, pid/2, queue/2, status/1]).

-type id() :: {non_neg_integer(), non_neg_integer()}.
-type question() :: {alive | who, [id()]} | {stack, id()}.

-define(FRAMES, 20).
-define(WAIT_MS, 1000).
-define(DEAD_MS, 10). % for a dead process, the VM answers at once

%% {alive, Pids} -> those that are dead; {stack, Pid} -> dead | [Frame]; {who, Pids} -> [{Id, Serial, Name}], <<>>: not known.
-spec answer(question()) -> dead | [id()] | [binary()] | [{non_neg_integer(), non_neg_integer(), binary()}].
answer({alive, Pids}) ->
    Watched = maps:from_list([{erlang:monitor(process, pid(Id, Serial)), P} || {Id, Serial} = P <- Pids]),
    dead(Watched, erlang:monotonic_time(millisecond) + ?DEAD_MS);
answer({stack, P}) ->
    ask(fun() -> stack(P) end, erlang:monotonic_time(millisecond) + ?WAIT_MS, [<<"the process did not answer within a second: it may be in a long native function">>]);
answer({who, Pids}) ->
    Until = erlang:monotonic_time(millisecond) + ?WAIT_MS,
    Asked = [{Id, Serial, ask_later(fun() -> who(Id, Serial) end)} || {Id, Serial} <- Pids],
    [{Id, Serial, got(One, Until, <<>>)} || {Id, Serial, One} <- Asked].

dead(Watched, _) when map_size(Watched) =:= 0 -> [];
dead(Watched, Until) ->
    receive
        {'DOWN', Ref, _, _, _} -> [maps:get(Ref, Watched) | dead(maps:remove(Ref, Watched), Until)]
    after max(0, Until - erlang:monotonic_time(millisecond)) -> []
    end.

ask(Fun, Until, Else) -> got(ask_later(Fun), Until, Else).

%% Asks in a process of its own, for got/3.
-spec ask_later(fun(() -> term())) -> {pid(), reference()}.
ask_later(Fun) ->
    spawn_opt(fun() -> exit(try {got, Fun()} catch _:_ -> failed end) end, [monitor]).

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
    case is_pid(P) andalso kprof_walk:may_ask_queue(P, Vm) andalso kprof_walk:info(P, message_queue_len) of
        N when is_integer(N) -> N;
        _ -> -1
    end.

%% The current stack: functions and lines, never an argument; innermost first. dead: the process has ended.
stack({Id, Serial}) ->
    case process_info(pid(Id, Serial), current_stacktrace) of
        {_, Frames} -> [frame(F) || F <- lists:sublist(Frames, ?FRAMES)];
        undefined -> dead
    end.

frame({M, F, A, Where}) ->
    Arity = if is_list(A) -> length(A); true -> A end,
    Line =
        case {proplists:get_value(file, Where), proplists:get_value(line, Where)} of
            {File, N} when is_list(File), is_integer(N) -> io_lib:format(" (~ts:~b)", [filename:basename(File), N]);
            _ -> ""
        end,
    kprof_text:format("~ts~ts", [kprof_text:mfa(M, F, Arity), Line]).

-spec pid(non_neg_integer(), non_neg_integer()) -> pid().
pid(Id, Serial) -> list_to_pid(lists:flatten(io_lib:format("<0.~b.~b>", [Id, Serial]))).

%% The registered name, or the function that it started with; for a fun, the outermost function of its stack.
who(Id, Serial) ->
    case process_info(pid(Id, Serial), [registered_name, initial_call, current_stacktrace]) of
        [{_, Name}, _, _] when is_atom(Name) -> kprof_text:format("~ts", [Name]);
        [_, {_, {proc_lib, init_p, _}}, {_, [{M, F, A, _} | _]}] -> kprof_text:format("~ts", [first_call(pid(Id, Serial), kprof_text:mfa(M, F, A))]);
        [_, {_, {erlang, apply, _}}, {_, [_ | _] = Frames}] ->
            {M, F, A, _} = lists:last(Frames),
            kprof_text:format("~ts", [kprof_text:mfa(M, F, A)]);
        [_, {_, {M, F, A}}, _] -> kprof_text:format("~ts", [kprof_text:mfa(M, F, A)]);
        undefined -> <<>>
    end.

%% proc_lib stores it in the dictionary, which may be large. The memory of the process is not read: on some VMs that hangs the
%% process.
first_call(P, Else) ->
    case process_info(P, heap_size) of
        {_, Words} when Words < 100000 ->
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
