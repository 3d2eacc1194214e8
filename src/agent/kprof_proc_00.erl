%% Questions about processes. A pid is {Id, Serial} here: kprof-top keeps only the two numbers.
-module(kprof_proc_00).
-export([dead/1, who/2, stack/1]).

-define(FRAMES, 20).

dead({Id, Serial}) ->
    not is_process_alive(pid(Id, Serial)).

%% Where it is now: functions and lines, never an argument; innermost first. dead: it is no more.
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
    kprof_look_00:bin("~ts~ts", [kprof_look_00:mfa(M, F, Arity), Line]).

pid(Id, Serial) -> list_to_pid(lists:flatten(io_lib:format("<0.~b.~b>", [Id, Serial]))).

who(Id, Serial) ->
    case process_info(pid(Id, Serial), [registered_name, initial_call, current_function]) of
        [{_, Name}, _, _] when is_atom(Name) -> kprof_look_00:bin("~ts", [Name]);
        [_, {_, {proc_lib, init_p, _}}, {_, {M, F, A}}] -> kprof_look_00:bin("~ts", [first_call(pid(Id, Serial), kprof_look_00:mfa(M, F, A))]);
        [_, {_, {M, F, A}}, _] -> kprof_look_00:bin("~ts", [kprof_look_00:mfa(M, F, A)]);
        undefined -> <<>>
    end.

%% proc_lib keeps it in the dictionary, which may be large.
first_call(P, Else) ->
    case process_info(P, memory) of
        {_, Bytes} when Bytes < 1000000 ->
            {M, F, A} = proc_lib:translate_initial_call(P),
            kprof_look_00:mfa(M, F, A);
        _ ->
            Else
    end.
