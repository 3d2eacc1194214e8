%% The guardian: idle while controller and relay are alive. If the controller is killed, the relay cleans up. If both are
%% killed, in any order and however quickly, the guardian cleans up. The controller starts another guardian if this one is
%% killed.
-module(kprof_guardian).
-export([start/2, init/2]).

-define(RELAY_MS, 10000). % maximum time for the relay's cleanup

%% Called by the controller before anything is set. To: kprof-top's pid. -> {Guardian, Monitor}; none: the node has no room for
%% a process
-spec start(pid(), kprof_cleanup:plan()) -> none | {pid(), reference()}.
start(To, Plan) ->
    case kprof_node:if_room(fun() -> spawn_opt(?MODULE, init, [self(), To], [monitor, {priority, high}, {max_heap_size, 0}]) end) of
        none -> none;
        {Guardian, Ref} ->
            Guardian ! {cleanup, Plan},
            {Guardian, Ref}
    end.

-spec init(pid(), pid()) -> term().
init(Controller, To) ->
    catch register(?MODULE, self()),
    erlang:monitor(process, Controller),
    loop(Controller, To, #{relay => none}, none).

%% Relay: none | {Pid, Monitor} | {ended, Why}
loop(Controller, To, Plan, Relay) ->
    receive
        {cleanup, New} -> loop(Controller, To, New, watched(New, Relay));
        {'DOWN', _, process, Controller, normal} -> ok;
        {'DOWN', _, process, Controller, _} -> orphaned(To, Plan, Relay);
        {'DOWN', Ref, process, Pid, Why} when {Pid, Ref} =:= Relay -> loop(Controller, To, Plan, {ended, Why});
        _ -> loop(Controller, To, Plan, Relay)
    end.

watched(#{relay := none}, _) -> none;
watched(#{relay := Pid}, {Pid, _} = Same) -> Same;
watched(#{relay := Pid}, _) -> {Pid, erlang:monitor(process, Pid)}.

orphaned(To, Plan, Relay) ->
    kprof_cleanup:leaving(),
    case relay_end(Relay) of
        shutdown -> ok; % the relay has cleaned up and reported it
        _ ->
            kprof_cleanup:all_died(Plan),
            Reaper = kprof_cleanup:reap([]),
            kprof_cleanup:gone(To, <<"its processes on the node were killed: tracing is off, nothing is left behind">>),
            kprof_cleanup:reap_at_last(Reaper)
    end.

relay_end(none) -> none;
relay_end({ended, Why}) -> Why;
relay_end({Pid, Ref}) ->
    receive
        {'DOWN', Ref, process, Pid, Why} -> Why
    after ?RELAY_MS ->
        exit(Pid, kill),
        receive {'DOWN', Ref, process, Pid, Why} -> Why end
    end.
