%% Runs the tests of the agent: this node has the role of kprof-top (a hidden node); the target is another one, with
%% OTP 25 or later. agent_test:main([Target, Version, BeamDir, Words...]): tests whose name contains a word, or is
%% NAME for a word =NAME.
-module(agent_test).
-export([main/1]).

-include("agent.hrl").
-import(agent_lib, [
    load/2, unload/1
]).

-define(MOST_MS, 300000). % after this a test counts as hanging

tests() ->
    agent_spec_test:tests() ++ agent_rule_test:tests() ++ agent_session_test:tests() ++ agent_survey_test:tests() ++ agent_values_test:tests() ++ agent_overload_test:tests() ++ agent_part_time_test:tests() ++ agent_reasons_test:tests() ++ agent_mishap_test:tests() ++ agent_kill_test:tests() ++ agent_capture_test:tests() ++ agent_callees_test:tests() ++ agent_hazard_test:tests() ++ agent_stack_test:tests() ++ agent_processes_test:tests() ++ agent_full_test:tests() ++ agent_detail_test:tests() ++ agent_hang_test:tests() ++ agent_vm_events_test:tests().

main([Target, Version, Beams | Words]) ->
    put(beams, atom_to_list(Beams)),
    put(version, Version),
    ?soon(fun() -> net_adm:ping(Target) =:= pong end),
    load(Target, agent_load),
    Wanted = [T || {Name, _} = T <- tests(), Words =:= [] orelse lists:any(fun(Word) -> is_meant(atom_to_list(Word), atom_to_list(Name)) end, Words)],
    Results = [one(T, Target) || T <- Wanted],
    Count = fun(What) -> length([R || R <- Results, R =:= What]) end,
    rpc:call(Target, erlang, halt, []),
    io:format("~b passed, ~b failed, ~b skipped~n", [Count(ok), Count(failed), Count(skipped)]),
    halt(min(1, Count(failed))).

is_meant([$= | Name], Is) -> Name =:= Is;
is_meant(Word, Name) -> string:find(Name, Word) =/= nomatch.

one({Name, Test}, Target) ->
    Version = get(version),
    Began = erlang:monotonic_time(millisecond),
    Cpu = cpu_ms(Target),
    {P, R} = spawn_monitor(fun() ->
        group_leader(whereis(user), self()),
        put(version, Version),
        exit({result, Test(Target)})
    end),
    Result =
        receive
            {'DOWN', R, _, _, {result, skipped}} -> skipped;
            {'DOWN', R, _, _, {result, _}} -> ok;
            {'DOWN', R, _, _, Why} -> {failed, Why}
        after ?MOST_MS ->
            exit(P, kill),
            {failed, no_answer}
        end,
    clean(Target),
    case Result of
        {failed, Reason} ->
            io:format("FAIL OTP ~s ~p~n     ~tp~n", [get(version), Name, Reason]),
            failed;
        _ ->
            Took = erlang:monotonic_time(millisecond) - Began,
            io:format("~-4s OTP ~s ~p (~.1f s, CPU ~.1f s)~n", [
                if Result =:= ok -> "ok"; true -> "skip" end, get(version), Name, Took / 1000, (cpu_ms(Target) - Cpu) / 1000
            ]),
            Result
    end.

%% CPU time of this node and of the target, in ms.
cpu_ms(Target) -> lists:sum([element(1, rpc:call(Node, erlang, statistics, [runtime])) || Node <- [node(), Target]]).

%% Removes what a test left, before the next one.
clean(Target) ->
    [exit(P, kill) || M <- agent_lib:names(), P <- [rpc:call(Target, erlang, whereis, [M])], is_pid(P)],
    rpc:call(Target, agent_load, clean, []),
    unload(Target),
    agent_lib:unload_parts(Target).
