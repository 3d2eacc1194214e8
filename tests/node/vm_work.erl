%% Makes events of the VM, each in a process that is registered.
-module(vm_work).
-export([start/0, step/1, gc/1, schedule/1, queue/1, port/1]).

%% A process that makes calls of step/1, so that there are requests.
start() ->
    spawn(fun Loop() ->
        step(1),
        receive after 20 -> Loop() end
    end),
    ok.

step(N) -> N + 1.

run(Name, Work) ->
    {Pid, Ref} = spawn_monitor(fun() ->
        register(Name, self()),
        Work(),
        receive after 3000 -> ok end % its name can be asked for
    end),
    receive {done, Pid} -> ok; {'DOWN', Ref, _, _, Why} -> exit(Why) end,
    list_to_binary(pid_to_list(Pid)).

done(To) -> To ! {done, self()}.

%% Collections of a large heap, until one took Ms.
gc(Ms) ->
    Me = self(),
    run(gc_worker, fun() -> collect(Ms, lists:seq(1, 1000000)), done(Me) end).

collect(Ms, List) ->
    Before = erlang:monotonic_time(millisecond),
    garbage_collect(),
    case erlang:monotonic_time(millisecond) - Before of
        Took when Took < 2 * Ms -> collect(Ms, [lists:seq(1, 1000000) | List]);
        _ -> erlang:phash2(List)
    end.

%% A copy of a large term, which does not yield, for at least 2 * Ms.
schedule(Ms) ->
    Me = self(),
    run(busy_worker, fun() -> copy(Ms, ets:new(copies, []), lists:seq(1, 1000000)), done(Me) end).

copy(Ms, Table, List) ->
    Before = erlang:monotonic_time(millisecond),
    ets:insert(Table, {key, List}),
    case erlang:monotonic_time(millisecond) - Before of
        Took when Took < 2 * Ms -> copy(Ms, Table, List ++ List);
        _ -> ok
    end.

queue(N) ->
    Me = self(),
    run(queue_worker, fun() ->
        [self() ! {message, I} || I <- lists:seq(1, N)],
        receive after 200 -> ok end,
        (fun Take() -> receive {message, _} -> Take() after 0 -> ok end end)(),
        done(Me)
    end).

%% Writes to a program that does not read.
port(Bytes) ->
    Me = self(),
    run(port_worker, fun() ->
        Port = open_port({spawn, "sleep 1"}, [binary, exit_status]),
        Me ! {done, self()},
        catch [port_command(Port, binary:copy(<<"x">>, Bytes)) || _ <- lists:seq(1, 16)]
    end).
