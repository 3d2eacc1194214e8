%% The warden: does nothing while keeper and relay live. When the keeper is killed the relay undoes everything; when both
%% are, one after the other and however quickly, the warden does. The keeper starts another if the warden is killed.
-module(kprof_warden_00).
-export([start/2, init/2]).

-define(RELAY_MS, 10000). % a relay that undoes takes no longer

%% By the keeper, before anything is set. To: kprof-top's pid. -> {Warden, Monitor}
start(To, Undo) ->
    {Warden, Ref} = spawn_opt(?MODULE, init, [self(), To], [monitor, {priority, high}]),
    Warden ! {undo, Undo},
    {Warden, Ref}.

init(Keeper, To) ->
    catch register(?MODULE, self()),
    erlang:monitor(process, Keeper),
    loop(Keeper, To, #{relay => none}, none).

%% Relay: none | {Pid, Monitor} | {ended, Why}
loop(Keeper, To, Undo, Relay) ->
    receive
        {undo, New} -> loop(Keeper, To, New, watched(New, Relay));
        {'DOWN', _, process, Keeper, normal} -> ok;
        {'DOWN', _, process, Keeper, _} -> orphaned(To, Undo, Relay);
        {'DOWN', Ref, process, Pid, Why} when {Pid, Ref} =:= Relay -> loop(Keeper, To, Undo, {ended, Why});
        _ -> loop(Keeper, To, Undo, Relay)
    end.

watched(#{relay := none}, _) -> none;
watched(#{relay := Pid}, {Pid, _} = Same) -> Same;
watched(#{relay := Pid}, _) -> {Pid, erlang:monitor(process, Pid)}.

orphaned(To, Undo, Relay) ->
    kprof_undo_00:leaving(),
    case relay_end(Relay) of
        shutdown -> ok; % it has undone all, and said so
        _ ->
            kprof_undo_00:undo_dead(Undo),
            kprof_undo_00:reap([]),
            kprof_undo_00:gone(To, <<"its processes on the node were killed: tracing is off, nothing is left behind">>)
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
