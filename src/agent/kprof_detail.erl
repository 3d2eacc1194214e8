%% Requests that are followed in detail: the scheduling (and garbage collections) of the processes that work for them. The match
%% specs of the tiers set the flags (kprof_spec); this is the relay's part: which processes have the flags, when they lose them,
%% and how many events there may be.
%%
%% Invariant: a process loses the flags when its outermost call of such a request has returned, or when it has events that belong
%% to no such call. The helper clears them, because this waits while the process runs. Events outside of these calls are not sent.
%% Of the others, at most ?EVENTS_S per second on average, and ?BURST at once, are sent; further ones are dropped and counted, and
%% their processes lose the flags. An event `off` reports that the state of such a process is not known from then on. The helper
%% is asked once a second which processes have died inside of such a call: they count as cleared. If a process is interrupted and
%% continues within ?AT_ONCE_US, the two events are not sent, because a process that only computes is often scheduled out and in
%% again at once. The helper also finds out which functions receive messages: a process that stops in such a function waits for a
%% message; one that stops in another function was interrupted. When a process of such a request sends a message to another
%% process, the helper asks that process for the length of its mailbox, at most once per ?ASK_MS. The relay's part has no side
%% effects except that it starts the helper and sends messages to it.
-module(kprof_detail).
-export([allowed/1, flags/1, new/1, has/2, stop/2, split/4, cleared/4, cleared_ns/2, lost/2, dropped/1, helper/1, learn/2, ask/3]).
-export_type([detail/0]).

-define(NO_LIMIT, {max_heap_size, 0}). % of heaps: the helpers are linked to the relay, and one that +hmax ends would end it
-define(EVENTS_S, 5000).
-define(BURST, 20000).
-define(AT_ONCE_US, 5).
-define(PROCESSES, 1000).
-define(DEAD_MS, 1000).
-define(DEPTH, 64). % of the open calls of a process; inner ones are only counted
-define(AGAIN_MS, 30000). % a function is reported again after this time, for a recording that began meanwhile
-define(FUNCTIONS, 5000).
-define(LEARN_MS, 5000).
-define(OFF_NS, 3000). % of the helper, for each process that loses the flags
-define(REDUCTION_NS, 50).
-define(ASKING, 4). % lengths of mailboxes that are asked for at the same time
-define(ASK_MS, 10).
-define(ASK_NS, 5000).

%% A process with an open call of such a request.
-record(p, {
    stack = [] :: [term()], % functions to which the open calls return: the outermost ?DEPTH
    inner = #{} :: #{term() => pos_integer()}, % of further ones: how many return to a function
    since :: integer(), % time of the first
    out = none :: none | tuple() % its last event if that is `out`; it is not sent yet
}).
-record(d, {
    helper :: none | pid(), % none: the node had no room for a process
    flags :: [atom()],
    bit :: pos_integer(),
    at_once :: integer(), % native
    open = #{} :: #{pid() => #p{}},
    closing = #{} :: #{pid() => true}, % the helper clears their flags
    looked = none :: none | integer(), % ms: when the helper was last asked which processes are dead
    asked = none :: none | integer(), % native: when the helper was last asked for the length of a mailbox
    told = #{} :: #{mfa() => integer()}, % when (ms) the helper was last asked about this function
    dropped = 0 :: non_neg_integer(),
    left = ?BURST :: integer(), % events that may be sent now
    at = none :: none | integer() % ms: when that was computed
}).
-opaque detail() :: #d{}.

-spec allowed(kprof_hazard:vm()) -> boolean().
allowed(Vm) -> kprof_hazard:allowed(detail, Vm).

%% The flags that a process gets. Gc: garbage collections may be traced (kprof_hazard).
-spec flags(boolean()) -> [atom()].
flags(Gc) -> [running, scheduler_id] ++ [garbage_collection || Gc].

%% The helper ends with its caller.
-spec new([atom()]) -> detail().
new(Flags) ->
    #d{
        helper = started(), flags = Flags, bit = kprof_spec:detail_label(),
        at_once = erlang:convert_time_unit(?AT_ONCE_US, microsecond, native)
    }.

started() -> kprof_node:if_room(fun() -> spawn_opt(?MODULE, helper, [self()], [link, ?NO_LIMIT]) end).

%% Tells the helper. If there is none, and still no room for one, the relay clears flags itself, and a question is dropped.
told(What, #d{helper = none} = D) ->
    case started() of
        none -> without_helper(What, D);
        Helper -> told(What, D#d{helper = Helper})
    end;
told(What, #d{helper = Helper} = D) ->
    Helper ! What,
    D.

without_helper({off, Session, P, Flags}, D) ->
    Before = erlang:monotonic_time(),
    kprof_spec:flags({Session, self()}, P, false, Flags),
    self() ! {off_done, P, Before, erlang:monotonic_time()},
    D;
without_helper(_, D) ->
    D.

-spec has([atom()], detail()) -> boolean().
has(Flags, #d{flags = Flags}) -> true;
has(_, _) -> false.

%% All processes lose the flags; then the helper ends.
-spec stop(kprof_spec:session(), detail()) -> term().
stop(Session, #d{open = Open} = D) ->
    case off(maps:keys(Open), Session, D) of
        #d{helper = none} -> stop;
        #d{helper = Helper} -> Helper ! stop
    end.

-spec dropped(detail()) -> non_neg_integer().
dropped(#d{dropped = N}) -> N.

%% Events were dropped elsewhere.
-spec lost(non_neg_integer(), detail()) -> detail().
lost(N, #d{dropped = Before} = D) -> D#d{dropped = Before + N}.

%% A batch, newest first -> {its calls and returns, their number, its scheduling events of detailed requests, their number,
%% detail()}
-spec split([tuple()], kprof_spec:session(), integer(), detail()) -> {[tuple()], non_neg_integer(), [tuple()], non_neg_integer(), detail()}.
split(Messages, Session, Now, #d{open = Open, bit = Bit} = D0) ->
    case map_size(Open) =:= 0 andalso plain(Messages, Bit) of
        true -> {Messages, length(Messages), [], 0, D0};
        false -> split_up(Messages, Session, Now, D0)
    end.

%% True: only calls of other requests, and returns. This is so for most batches.
plain([{trace_ts, _, call, _, Msg, _} | Rest], Bit) ->
    Label = element(2, Msg),
    not (is_integer(Label) andalso Label >= Bit) andalso plain(Rest, Bit);
plain([{trace_ts, _, return_to, _, _} | Rest], Bit) -> plain(Rest, Bit);
plain([{trace_ts, _, return_from, _, _, _} | Rest], Bit) -> plain(Rest, Bit);
plain([{trace_ts, _, exception_from, _, _, _} | Rest], Bit) -> plain(Rest, Bit);
plain([_ | _], _) -> false;
plain([], _) -> true.

split_up(Messages, Session, Now, D0) ->
    {Calls, N, Events, K, D1} = each(lists:reverse(Messages), {[], 0, [], 0, D0}, Session),
    {Kept, K1, D2} = limited(Events, K, Now, Session, D1),
    {Offs, D} = ended(Session, newest(Messages), asked(Kept, Now, D2)),
    {Calls, N, Offs ++ Kept, K1 + length(Offs), dead(Now, D)}.

newest([M | _]) -> element(tuple_size(M), M).

each([{trace_ts, P, call, MFA, Msg, Ts} = M | Rest], {Calls, N, Events, K, D}, Session) ->
    each(Rest, {[M | Calls], N + 1, Events, K, call(P, MFA, Msg, Ts, D)}, Session);
each([{trace_ts, P, return_to, MFA, _} = M | Rest], {Calls, N, Events, K, D}, Session) ->
    each(Rest, {[M | Calls], N + 1, Events, K, return(P, MFA, D)}, Session);
each([{trace_ts, P, What, MFA, _, _} = M | Rest], {Calls, N, Events, K, D}, Session) when What =:= return_from; What =:= exception_from ->
    each(Rest, {[M | Calls], N + 1, Events, K, return(P, MFA, D)}, Session);
each([M | Rest], {Calls, N, Events, K, D0}, Session) ->
    {More, D} = event(element(2, M), M, Session, D0),
    each(Rest, {Calls, N, More ++ Events, K + length(More), D}, Session);
each([], Split, _) ->
    Split.

%% A message to the process To is about to be sent: not a call of a tier.
call(_, _, {To, Label, _}, Ts, #d{bit = Bit} = D) when is_pid(To) ->
    case is_integer(Label) andalso Label band Bit =:= Bit of
        true -> mailbox(To, Ts, D);
        false -> D
    end;
%% The match spec has set the flags. If a call of another request has the same caller, the
%% return of the outermost open call was lost.
call(P, MFA, Msg, Ts, #d{open = Open, bit = Bit} = D) ->
    Label = element(2, Msg),
    Detail = is_integer(Label) andalso Label band Bit =:= Bit,
    case Open of
        #{P := Of} when Detail ->
            D#d{open = Open#{P := opened(returns_to(MFA, element(3, Msg)), Of)}};
        #{P := #p{stack = [_ | _] = Stack} = Of} when not Detail ->
            case lists:last(Stack) =:= returns_to(MFA, element(3, Msg)) of
                true -> D#d{open = Open#{P := Of#p{stack = [], inner = #{}}}};
                false -> D
            end;
        _ when Detail ->
            D#d{open = Open#{P => #p{stack = [returns_to(MFA, element(3, Msg))], since = Ts}}};
        _ ->
            D
    end.

%% One return ends both this call and the one before it if they return to the same function.
opened(To, #p{stack = [To | _], inner = Inner} = Of) when map_size(Inner) =:= 0 -> Of;
opened(To, #p{stack = Stack} = Of) when length(Stack) < ?DEPTH -> Of#p{stack = [To | Stack]};
opened(To, #p{inner = Inner} = Of) when is_map_key(To, Inner); map_size(Inner) < ?DEPTH -> Of#p{inner = Inner#{To => maps:get(To, Inner, 0) + 1}};
opened(_, Of) -> Of.

mailbox(To, Ts, #d{asked = At} = D) ->
    case At =:= none orelse Ts - At >= erlang:convert_time_unit(?ASK_MS, millisecond, native) of
        true -> told({queue, To}, D#d{asked = Ts});
        false -> D
    end.

%% Full returns: the event has the function that returned.
returns_to(MFA, 0) -> arity(MFA);
returns_to(MFA, {0, _}) -> arity(MFA);
returns_to(_, {Caller, _}) when is_tuple(Caller); Caller =:= undefined -> Caller;
returns_to(_, Caller) -> Caller.

arity({M, F, A}) when is_list(A) -> {M, F, length(A)};
arity(MFA) -> MFA.

return(P, MFA, #d{open = Open} = D) ->
    case Open of
        #{P := Of} -> D#d{open = Open#{P := returned(MFA, Of)}};
        _ -> D
    end.

%% As in kprof-top: all calls that return to this function end; after an exception, those above them, too. Of the inner calls that
%% return to it only one ends: which calls are above it is not known.
returned(MFA, #p{inner = Inner} = Of) when is_map_key(MFA, Inner) ->
    Of#p{inner = case Inner of #{MFA := 1} -> maps:remove(MFA, Inner); #{MFA := N} -> Inner#{MFA := N - 1} end};
returned(MFA, #p{stack = Stack} = Of) ->
    case lists:member(MFA, Stack) of
        true -> Of#p{stack = popped(MFA, above(MFA, Stack)), inner = #{}};
        false -> Of
    end.

above(MFA, [MFA | _] = Stack) -> Stack;
above(MFA, [_ | Stack]) -> above(MFA, Stack).

popped(MFA, [MFA | Stack]) -> popped(MFA, Stack);
popped(_, Stack) -> Stack.

%% -> {[Event], newest first, detail()}
event(P, M, Session, #d{open = Open, closing = Closing, at_once = AtOnce} = D) ->
    case Open of
        #{P := #p{stack = []}} -> {[], D};
        #{P := #p{out = Out} = Of} when element(3, M) =:= out -> {[Out || Out =/= none], D#d{open = Open#{P := Of#p{out = M}}}};
        #{P := #p{out = none}} -> {[M], D};
        #{P := #p{out = Out} = Of} ->
            case goes_on(Out, M, AtOnce) of
                true -> {[], D#d{open = Open#{P := Of#p{out = none}}}};
                false -> {[M, Out], D#d{open = Open#{P := Of#p{out = none}}}}
            end;
        _ when is_map_key(P, Closing) -> {[], D};
        _ -> {[], off([P], Session, D)}
    end.

goes_on({_, _, out, MFA, S1, Before}, {_, _, in, MFA, S2, Now}, AtOnce) -> S1 > 0 andalso S2 > 0 andalso Now - Before < AtOnce;
goes_on(_, _, _) -> false.

%% Processes whose calls have all returned; if there are too many, all. Ts: the time of the last event that was read.
%% -> {[Event], newest first, detail()}
ended(_, _, #d{open = Open} = D) when map_size(Open) =:= 0 ->
    {[], D};
ended(Session, Ts, #d{open = Open} = D) when map_size(Open) > ?PROCESSES ->
    Offs = lists:append([[event_off(P, Ts) | [Out || Out =/= none]] || {P, #p{stack = [_ | _], out = Out}} <- maps:to_list(Open)]),
    {Offs, off(maps:keys(Open), Session, D#d{open = #{}})};
ended(Session, _, #d{open = Open} = D) ->
    case [P || {P, #p{stack = []}} <- maps:to_list(Open)] of
        [] -> {[], D};
        Ended -> {[], off(Ended, Session, D#d{open = maps:without(Ended, Open)})}
    end.

%% Not the relay looks: it would wait for a process with signals that runs long.
dead(_, #d{open = Open} = D) when map_size(Open) =:= 0 -> D;
dead(Now, #d{looked = At} = D) when At =/= none, Now - At < ?DEAD_MS -> D;
dead(Now, #d{open = Open} = D) -> told({dead, maps:keys(Open)}, D#d{looked = Now}).

off(Ps, Session, #d{flags = Flags} = D) ->
    lists:foldl(fun(P, #d{closing = Closing} = Acc) -> told({off, Session, P, Flags}, Acc#d{closing = Closing#{P => true}}) end, D, Ps).

%% The helper has cleared the flags of P between two times. A call that began before has no events from then on.
%% -> {[Event], detail()}
-spec cleared(pid(), integer(), integer(), detail()) -> {[tuple()], detail()}.
cleared(P, Before, After, #d{open = Open, closing = Closing} = D0) ->
    D = D0#d{closing = maps:remove(P, Closing)},
    case Open of
        #{P := #p{since = Since, out = Out}} when Since < After ->
            {[event_off(P, Before) | [Out || Out =/= none]], D#d{open = maps:remove(P, Open)}};
        _ ->
            {[], D}
    end.

%% The helper's run time for clearing the flags between these two times. The rest was waiting.
-spec cleared_ns(integer(), integer()) -> non_neg_integer().
cleared_ns(Before, After) -> min(?OFF_NS, erlang:convert_time_unit(After - Before, native, nanosecond)).

event_off(P, Ts) -> {trace_ts, P, off, 0, Ts}.

%% Events, newest first -> {those that are sent, their number, detail()}
limited([], _, _, _, D) ->
    {[], 0, D};
limited(Events, K, Now, Session, #d{at = At, left = Left0, dropped = Dropped, open = Open} = D) ->
    case min(?BURST, Left0 + (if At =:= none -> 0; true -> Now - At end) * ?EVENTS_S div 1000) of
        Left when Left >= K ->
            {Events, K, D#d{at = Now, left = Left - K}};
        Left ->
            First = maps:from_list([{element(2, M), element(tuple_size(M), M)} || M <- Events]), % the oldest is the last
            Offs = [event_off(P, Ts) || {P, Ts} <- maps:to_list(First)],
            Ps = maps:keys(First),
            {Offs, length(Offs), off(Ps, Session, D#d{at = Now, left = Left, dropped = Dropped + K, open = maps:without(Ps, Open)})}
    end.

%% ---- Functions in which processes stop ----

asked([{_, P, out, MFA, _, _} | Rest], Now, #d{told = Told} = D) when is_tuple(MFA) ->
    case Told of
        #{MFA := At} when Now - At < ?AGAIN_MS -> asked(Rest, Now, D);
        _ when map_size(Told) >= ?FUNCTIONS -> asked(Rest, Now, D#d{told = #{}});
        _ ->
            asked(Rest, Now, told({receives, P, MFA}, D#d{told = Told#{MFA => Now}}))
    end;
asked([_ | Rest], Now, D) -> asked(Rest, Now, D);
asked([], _, D) -> D.

%% ---- The helper ----

%% Modules: the version of a module, and its receiving functions if they are known. Waiting: questions about modules, read one after
%% the other. Reader: reads
%% the first of them. Asking: those that ask for the length of a mailbox.
-type facts() :: none | [{atom(), arity()}].
-record(h, {
    relay :: pid(),
    vm :: kprof_hazard:vm(),
    modules = #{} :: #{module() => {Version :: none | binary(), facts()}},
    waiting = queue:new() :: queue:queue({pid(), mfa()}),
    reader = none :: none | pid(),
    asking = #{} :: #{pid() => true}
}).

%% The processes that it starts are linked to it: they end with it.
-spec helper(pid()) -> no_return().
helper(Relay) -> loop(#h{relay = Relay, vm = kprof_hazard:vm()}).

loop(#h{relay = Relay, modules = Modules, waiting = Waiting, reader = Reader, asking = Asking} = H) ->
    receive
        {off, Session, P, Flags} ->
            Before = erlang:monotonic_time(),
            kprof_spec:flags({Session, Relay}, P, false, Flags),
            Relay ! {off_done, P, Before, erlang:monotonic_time()},
            loop(H);
        {dead, Ps} ->
            Ts = erlang:monotonic_time(),
            [Relay ! {off_done, P, Ts, Ts} || P <- Ps, not kprof_flags:lives(P)],
            loop(H);
        {queue, P} when map_size(Asking) < ?ASKING ->
            case kprof_node:if_room(fun() -> spawn_opt(?MODULE, ask, [Relay, P, H#h.vm], [link, monitor, ?NO_LIMIT]) end) of
                {Asker, _} -> loop(H#h{asking = Asking#{Asker => true}});
                none -> loop(H)
            end;
        {queue, _} ->
            loop(H);
        {receives, P, MFA} ->
            case known(MFA, Modules) of
                unread -> loop(next(H#h{waiting = queue:in({P, MFA}, Waiting)}));
                Known ->
                    answered(Relay, P, MFA, Known),
                    loop(H)
            end;
        {learned, Reader, Read, Ns} ->
            Relay ! {helped_reading, Ns},
            loop(learned(Read, H));
        {late, Reader} when Reader =/= none ->
            unlink(Reader),
            exit(Reader, kill),
            loop(H);
        {'DOWN', _, _, Reader, _} when Reader =/= none ->
            loop(learned(none, H));
        {'DOWN', _, _, P, _} ->
            loop(H#h{asking = maps:remove(P, Asking)});
        stop ->
            unlink(Relay),
            exit(stopped);
        _ ->
            loop(H) % late
    end.

%% A function of the VM itself receives nothing, and its module may have no file. unread: other code was loaded since the file was
%% read, or it was not read.
known({M, F, A}, Modules) ->
    case erlang:is_builtin(M, F, A) of
        true -> [];
        false -> facts(M, Modules)
    end.

facts(M, Modules) ->
    Version = kprof_code:version(M),
    case Modules of
        #{M := {Version, Found}} -> Found;
        _ -> unread
    end.

%% Reads the module of the first question that waits.
next(#h{relay = Relay, modules = Modules, waiting = Waiting, reader = none} = H) ->
    case queue:peek(Waiting) of
        {value, {P, {M, _, _} = MFA}} ->
            case known(MFA, Modules) of
                unread ->
                    read_next(M, H);
                Known ->
                    answered(Relay, P, MFA, Known),
                    next(H#h{waiting = queue:drop(Waiting)})
            end;
        empty ->
            H
    end;
next(H) ->
    H.

read_next(M, #h{waiting = Waiting} = H) ->
    Helper = self(),
    case kprof_node:if_room(fun() -> spawn_opt(?MODULE, learn, [Helper, M], [link, monitor, {priority, low}, ?NO_LIMIT]) end) of % it takes milliseconds
        {Reader, _} -> H#h{reader = Reader};
        none -> next(H#h{waiting = queue:drop(Waiting)})
    end.

%% Read: {Version, facts()}, or none if there was no answer. The first question is answered whatever was loaded meanwhile.
learned(Read, #h{relay = Relay, modules = Modules, waiting = Waiting} = H) ->
    {value, {P, {M, _, _} = MFA}} = queue:peek(Waiting),
    {_, Found} = Of = case Read of none -> {kprof_code:version(M), none}; _ -> Read end,
    answered(Relay, P, MFA, Found),
    next(H#h{modules = Modules#{M => Of}, waiting = queue:drop(Waiting), reader = none}).

-spec learn(pid(), module()) -> term().
learn(Helper, M) ->
    erlang:send_after(?LEARN_MS, Helper, {late, self()}),
    Began = erlang:monotonic_time(nanosecond),
    Version = kprof_code:version(M), % before: if other code is loaded meanwhile, the file is read again
    Found = kprof_module_file:receivers(M),
    {_, Reductions} = process_info(self(), reductions),
    Helper ! {learned, self(), {Version, Found}, min(Reductions * ?REDUCTION_NS, erlang:monotonic_time(nanosecond) - Began)}.

%% none: not known
answered(_, _, _, none) -> ok;
answered(Relay, P, {_, F, A} = MFA, Found) ->
    Relay ! {told, {trace_ts, P, receives, MFA, case lists:member({F, A}, Found) of true -> 1; false -> 0 end, erlang:monotonic_time()}}.

%% The length of the mailbox of P. It may take long until P answers.
-spec ask(pid(), pid(), kprof_hazard:vm()) -> term().
ask(Relay, P, Vm) ->
    case kprof_walk:queue(P, Vm) of
        none -> none;
        N -> Relay ! {told, {trace_ts, P, queue, N, erlang:monotonic_time()}}
    end,
    Relay ! {helped, ?ASK_NS}.
