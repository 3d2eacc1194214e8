%% The process of a capture. It is the tracer: in its own trace session (OTP 27+), otherwise in the common trace while the relay
%% is paused.
%%
%% Processes are flagged step by step, which limits the cost. The match spec clears the call flag of the calling process, so
%% each process is recorded once until it is flagged again. A few processes are flagged first, then twice as many each time that
%% no call arrived. So a function that all processes call is captured from the first few. The VM copies the arguments of a call
%% whole, in the calling process: a process with a heap of ?HEAP_WORDS or more is left out.
-module(kprof_capturer).
-agent(tools).
-export([start/1, init/1]).

-define(HEAP_WORDS, 8 bsl 20).
-define(CALLS, 20).
-define(WAIT_MS, 5000).
-define(WALKER_MS, 10000).
-define(STEP_MS, 10).
-define(FIRST, 32). % processes flagged first
-define(LIST, 256). % processes taken at once

-record(p, {
    controller,
    mfa,
    counters,
    session,
    new, % true: new processes may be flagged
    todo = [], % processes not flagged yet
    source, % of the processes after them
    pids, % the process that lists them, which knows the lists taken so far; or none
    taken = 0, % lists
    chunk = ?FIRST,
    spawn_ms = 1, % time for which new processes are flagged in the next step
    got = [], % newest first
    vm, % kprof_hazard:vm()
    n = 0,
    ran = 0,
    begun,
    us = 0
}).

%% #{controller, mfa, isolated, new, counters, walker}: counters is an atomics array of 3 (calls kept, calls seen, processes left
%% out); the walker may still be clearing flags. When everything is removed from the VM, the controller gets {captured, Capturer,
%% {captured, Ran, Us, [Call]}}. -> {Capturer, Monitor}; none: the node has no room for a process
-spec start(kprof_capture:options()) -> none | {pid(), reference()}.
start(Opts) ->
    kprof_node:if_room(fun() -> spawn_opt(?MODULE, init, [Opts], [monitor, {priority, high}, kprof_flags:heap_limit(?HEAP_WORDS)]) end).

-spec init(kprof_capture:options()) -> term().
init(#{controller := Controller, mfa := MFA, isolated := Isolated, new := New, counters := Counters, walker := Walker}) ->
    erlang:monitor(process, Controller),
    case Isolated orelse is_walked(Walker, Controller) of
        true ->
            Session = kprof_spec:session(Isolated, kprof_capture, self()),
            {Source, Pids} = kprof_pids:source(?LIST),
            Pids =:= none orelse kprof_pids:mark(Pids),
            kprof_spec:set_pattern(Session, MFA, kprof_spec:capture(), [local]),
            step(#p{controller = Controller, mfa = MFA, counters = Counters, session = Session, new = New, vm = kprof_hazard:vm(), source = Source, pids = Pids, begun = now_us()});
        false ->
            canceled
    end.

%% As kprof_flags:walked/1. -> false: the capture has been canceled meanwhile
is_walked(none, _) ->
    true;
is_walked(Walker, Controller) ->
    Ref = erlang:monitor(process, Walker),
    receive
        {'DOWN', Ref, _, _, _} -> true;
        {'DOWN', _, process, Controller, _} -> false;
        stop -> false
    after ?WALKER_MS -> true
    end.

now_us() -> erlang:monotonic_time(microsecond).

%% ---- Flags ----

step(#p{todo = [], source = none, spawn_ms = Ms, new = true} = P) ->
    flag(new, true, P),
    Ms < 64 andalso (receive after Ms -> flag(new, false, P) end),
    wait(P#p{new = Ms < 64, spawn_ms = Ms * 2});
step(#p{todo = [], source = none} = P) ->
    wait(P);
step(#p{todo = Todo, chunk = Chunk} = P) ->
    Flagged = kprof_flags:keep_priority(fun() -> flag_some(Todo, Chunk, kprof_flags:slice(), P) end),
    wait(Flagged#p{chunk = 2 * Chunk}).

flag_some([Pid | Todo], N, Slice, #p{controller = Controller} = P) when Pid =:= self(); Pid =:= Controller ->
    flag_some(Todo, N, Slice, P);
flag_some([Pid | Todo], N, Slice, P) when N > 0 ->
    case has_large_heap(Pid, P#p.vm) of
        true -> atomics:add(P#p.counters, 3, 1);
        false -> flag(Pid, true, P)
    end,
    flag_some(Todo, N - 1, kprof_flags:rest(Slice), P);
flag_some([], N, Slice, #p{source = Source, taken = Taken} = P) when N > 0, Source =/= none ->
    case kprof_pids:some(Source) of
        {[], _} -> P#p{todo = [], source = none};
        {Pids, Next} -> flag_some(Pids, N, Slice, P#p{source = Next, taken = Taken + 1})
    end;
flag_some(Todo, _, _, P) ->
    P#p{todo = Todo}.

has_large_heap(Pid, Vm) ->
    Words = kprof_walk:words(heaps, Pid, Vm),
    is_integer(Words) andalso Words >= ?HEAP_WORDS.

flag(Who, On, #p{session = Session}) -> kprof_spec:flags({Session, self()}, Who, On, [call]).

%% ---- Calls ----

wait(P) -> wait(P, now_us() + ?STEP_MS * 1000, P#p.ran).

wait(#p{begun = Begun} = P, Until, Ran) ->
    Now = now_us(),
    receive
        {trace, Pid, call, {_, _, Args}} ->
            called(Pid, Args, P, Until, Ran);
        stop ->
            hand_over(off(P));
        {'DOWN', _, process, Controller, _} when Controller =:= P#p.controller ->
            off(P)
    after max(0, (Until - Now + 999) div 1000) ->
        if
            Now - Begun > ?WAIT_MS * 1000 -> done(off(P));
            P#p.ran > Ran -> wait(P); % calls arrive: flag no more processes
            true -> step(P)
        end
    end.

called(Pid, Args, #p{n = N} = P0, Until, Ran) ->
    P = P0#p{got = [kprof_capture_args:call(Args) | P0#p.got], n = N + 1, ran = P0#p.ran + 1},
    [atomics:add(P#p.counters, I, 1) || I <- [1, 2]],
    case N + 1 of
        ?CALLS ->
            done(off(P));
        _ ->
            flag(Pid, true, P),
            wait(P, Until, Ran)
    end.

%% The pattern is removed first, so that no further call is captured. Messages under way are counted.
off(#p{session = Session, mfa = MFA} = P) ->
    kprof_spec:set_pattern(Session, MFA, false, [local]),
    Us = now_us() - P#p.begun,
    Delivered = kprof_spec:delivered(Session),
    receive {trace_delivered, all, Delivered} -> ok after 1000 -> ok end,
    flags_off(P),
    P#p{ran = P#p.ran + more(0), us = Us}.

%% Children of flagged processes have flags only if flags of new processes were set.
flags_off(#p{session = Session, spawn_ms = Ms, pids = Pids}) when Ms > 1; Pids =:= none ->
    kprof_pids:stop(Pids),
    kprof_flags:off({Session, self()}, Ms > 1, none); % P#p.new is false once they have it for good
flags_off(#p{pids = Pids, taken = Taken} = P) ->
    kprof_pids:back(Pids),
    kprof_flags:keep_priority(fun() -> unflag([], Taken, kprof_flags:slice(), P) end),
    kprof_pids:stop(Pids).

unflag([Pid | Rest], Lists, Slice, P) ->
    flag(Pid, false, P),
    unflag(Rest, Lists, kprof_flags:rest(Slice), P);
unflag([], 0, _, _) ->
    ok;
unflag([], Lists, Slice, P) ->
    {Pids, _} = kprof_pids:next(P#p.pids),
    unflag(Pids, Lists - 1, Slice, P).

more(N) ->
    receive {trace, _, call, _} -> more(N + 1)
    after 0 -> N
    end.

%% The session last: kprof_capture:stop/1, which the controller calls because of the result, waits for it. Without this reference
%% the VM would destroy the session.
done(#p{controller = Controller} = P) ->
    Controller ! {captured, self(), {captured, P#p.ran, P#p.us, lists:reverse(P#p.got)}},
    hand_over(P).

hand_over(#p{session = none}) -> ok;
hand_over(#p{controller = Controller, session = Session}) -> Controller ! {capture_session, self(), Session}.
