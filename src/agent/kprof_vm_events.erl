%% Events of the VM: long garbage collections, large heaps, long schedules, long message queues, busy ports. From OTP 28 on, a
%% trace session can have them (trace:system/3); the only system_monitor of the node is not used. They are on while tracing is on,
%% and at the end until the tokens are removed; process and session, once started, stay (kprof_idle_sessions says why).
%%
%% A process and a session of their own: the VM puts no time stamp into these messages, and the relay, which is suspended
%% between its turns, would stamp them late. At most ?A_SECOND events are sent in a second. If the node makes more than ?FLOOD
%% in a second, the settings are removed for ?CALM_MS.
%%
%% Invariant: the session is destroyed by a call, never because its last reference is garbage collected (hazard E2). Controller,
%% relay, guardian and this process have the handle; whoever ends the process ends the session after it.
-module(kprof_vm_events).
-export([gate/1, ended/1, state/1, running/1, stop/1, init/2]).
-export_type([running/0]).

-include("kprof_controller.hrl").

-define(A_SECOND, 50).
-define(FLOOD, 1000).
-define(CALM_MS, 10000).
-define(AGAIN_MS, 5000). % after it was killed
-define(LONG_MS, 50).
-define(LARGE_BYTES, (64 bsl 20)).
-define(LONG_QUEUE, 1000).
-define(SHORT_QUEUE, 100).
-define(HEAP_WORDS, 262144). % with its queue: above this it is killed

%% ---- In the controller ----

%% The process, and its session: for the cleanup plan.
-type running() :: none | {pid(), kprof_spec:session()}.

%% Starts it, or switches the events on or off: at each heartbeat, and when tracing is switched off.
-spec gate(state()) -> state().
gate(#s{vm_events = Before} = S) ->
    case {wanted(S), Before} of
        {true, none} -> started(S);
        {On, {Pid, Ref, Session, Was}} when On =/= Was ->
            Pid ! {switch, On},
            S#s{vm_events = {Pid, Ref, Session, On}};
        _ -> S
    end.

wanted(#s{tracing = #tracing{on = On}, vm = Vm} = S) ->
    On andalso kprof_hazard:allowed(vm_events, Vm) andalso not kprof_link:is_silent(S).

started(#s{link = #link{pid = To}} = S) ->
    case kprof_node:now_ms() >= S#s.vm_events_at of
        true ->
            case kprof_node:if_room(fun() -> spawn_opt(?MODULE, init, [self(), To], [monitor, {priority, high}, kprof_flags:heap_limit(?HEAP_WORDS)]) end) of
                none -> S#s{vm_events_at = kprof_node:now_ms() + ?AGAIN_MS};
                Started -> with_session(Started, S)
            end;
        false ->
            S
    end.

with_session({Pid, Ref}, S0) ->
    Session = kprof_spec:session(true, ?MODULE, Pid),
    S = kprof_cleanup_plan:share(S0#s{vm_events = {Pid, Ref, Session, true}}),
    Pid ! {session, Session},
    S.

%% It was killed, or took too much memory.
-spec ended(state()) -> state().
ended(#s{vm_events = {_, _, Session, _}} = S) ->
    kprof_spec:end_session(Session),
    kprof_cleanup_plan:share(S#s{vm_events = none, vm_events_at = kprof_node:now_ms() + ?AGAIN_MS}).

%% For the heartbeat: 0 off, 1 on, 2 not on this VM.
-spec state(state()) -> 0..2.
state(#s{vm_events = none, vm = Vm}) -> case kprof_hazard:allowed(vm_events, Vm) of true -> 0; false -> 2 end;
state(#s{vm_events = {_, _, _, On}}) -> if On -> 1; true -> 0 end.

-spec running(state()) -> running().
running(#s{vm_events = none}) -> none;
running(#s{vm_events = {Pid, _, Session, _}}) -> {Pid, Session}.

%% First the process, so that it changes nothing in a session that has ended.
-spec stop(running()) -> term().
stop(none) ->
    ok;
stop({Pid, Session}) ->
    kprof_node:kill(Pid),
    kprof_spec:end_session(Session).

%% ---- In its process ----

-record(e, {
    session,
    to, % kprof-top
    controller, % its monitor
    seq = 0,
    lost = 0,
    second = 0,
    seen = 0, % in that second
    wanted = true, % tracing is on
    calm = false, % they rest after a flood
    on = true
}).

-spec init(pid(), pid()) -> no_return().
init(Controller, To) ->
    Ref = erlang:monitor(process, Controller),
    receive
        {'DOWN', Ref, _, _, _} -> exit(normal);
        {session, Session} -> loop(switched(true, #e{session = Session, to = To, controller = Ref}))
    end.

loop(#e{controller = Ref} = E) ->
    receive
        {'DOWN', Ref, _, _, _} -> leave(E);
        again -> loop(switched(E#e.wanted, E#e{calm = false}));
        {switch, On} when E#e.calm -> loop(E#e{wanted = On});
        {switch, On} -> loop(switched(On, E#e{wanted = On}));
        {monitor, Who, What, Info} -> loop(counted(erlang:monotonic_time(), Who, What, Info, E));
        _ -> loop(E)
    end.

-spec leave(#e{}) -> no_return().
leave(#e{session = Session}) ->
    kprof_spec:end_session(Session), % relay or guardian may do it at the same time
    exit(normal).

%% For each setting the VM stops all schedulers, and waits, without a limit, for one that is in a long native function: the node
%% would stand still until this function ends. erlang:memory/1 waits for all schedulers, too, but stops none. Therefore the settings
%% are changed when it has ended: then only a native function that begins at this moment stops the node.
switched(On, #e{session = Session, controller = Ref} = E) ->
    case kprof_node:spawn_if_room(fun() -> erlang:memory(total) end, [link, monitor, {priority, high}]) of
        none ->
            ok;
        {_, Asked} ->
            receive
                {'DOWN', Asked, _, _, _} -> ok;
                {'DOWN', Ref, _, _, _} -> leave(E)
            end
    end,
    Word = erlang:system_info(wordsize),
    kprof_spec:system(Session, [{What, if On -> Value; true -> false end} || {What, Value} <- settings(Word)]),
    E#e{on = On}.

settings(Word) ->
    [
        {long_gc, ?LONG_MS}, {long_schedule, ?LONG_MS}, {large_heap, ?LARGE_BYTES div Word},
        {long_message_queue, {?SHORT_QUEUE, ?LONG_QUEUE}}, {busy_port, true}
    ].

%% Messages from before it was switched off may still arrive.
counted(_, _, _, _, #e{wanted = false} = E) ->
    E;
counted(_, _, _, _, #e{on = false, lost = Lost} = E) ->
    E#e{lost = Lost + 1};
counted(Now, Who, What, Info, #e{second = Second, seen = Seen} = E) ->
    case erlang:convert_time_unit(Now, native, second) of
        Second when Seen >= ?FLOOD ->
            erlang:send_after(?CALM_MS, self(), again),
            switched(false, E#e{lost = E#e.lost + 1, seen = 0, calm = true});
        Second when Seen >= ?A_SECOND ->
            E#e{seen = Seen + 1, lost = E#e.lost + 1};
        Second ->
            told(Now, Who, What, Info, E#e{seen = Seen + 1});
        Other ->
            told(Now, Who, What, Info, E#e{second = Other, seen = 1})
    end.

told(Now, Who, What, Info, #e{to = To, seq = Seq, lost = Lost} = E) ->
    case event(What, Who, Info) of
        {Pid, Us, Value, Detail} ->
            case erlang:send(To, {kv, Seq + 1, Lost, [{What, Pid, Now, Us, Value, Detail}]}, [nosuspend, noconnect]) of
                ok -> E#e{seq = Seq + 1};
                _ -> E#e{lost = Lost + 1}
            end;
        none ->
            E
    end.

%% -> {Pid | 0, Us, Value, {M, F, A} | Binary | 0}
event(long_gc, Pid, Info) -> {Pid, us(Info), heap(Info), 0};
event(large_heap, Pid, Info) -> {Pid, 0, heap(Info), 0};
event(long_schedule, Pid, Info) when is_pid(Pid) -> {Pid, us(Info), 0, place(Info)};
event(long_schedule, Port, Info) when is_port(Port) -> {0, us(Info), 0, port(Port)};
event(long_message_queue, Pid, true) -> {Pid, 0, ?LONG_QUEUE, 0};
event(long_message_queue, Pid, false) -> {Pid, 0, 0, 0};
event(busy_port, Pid, Port) when is_port(Port) -> {Pid, 0, 0, port(Port)};
event(_, _, _) -> none.

us(Info) -> 1000 * number(timeout, Info).

heap(Info) ->
    Words = lists:sum([number(What, Info) || What <- [old_heap_block_size, heap_block_size, mbuf_size]]),
    Words * erlang:system_info(wordsize).

number(What, Info) ->
    case lists:keyfind(What, 1, Info) of
        {_, N} when is_integer(N) -> N;
        _ -> 0
    end.

%% Where it stopped running; if the VM does not know that, where it began.
place(Info) -> place([out, in], Info).

place([Where | More], Info) ->
    case lists:keyfind(Where, 1, Info) of
        {_, {M, F, A}} when is_atom(M), is_atom(F), is_integer(A) -> {M, F, A};
        _ -> place(More, Info)
    end;
place([], _) ->
    0.

port(Port) -> list_to_binary(erlang:port_to_list(Port)).
