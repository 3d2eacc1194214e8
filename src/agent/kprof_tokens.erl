%% Removes leftover trace tokens at the end.
%%
%% Each process with a token of the agent gets the flag `send`; a match spec for this event clears the token before the message
%% gets it. Below OTP 27 this match spec is also that of other tracers: it changes no token but the agent's, and no event is
%% missing for them. The flag `silent` keeps the events of the agent's own flags from being made.
%% Tokens of processes that do not run remain. They are inert, and disappear when the process receives a message without a
%% token.
%% Then, once, all tokens are reset (seq_trace:reset_trace/0), but not before OTP 27, where this aborts the VM (kprof_hazard), and not
%% where this would block the schedulers for long.
%%
%% Invariant: only tokens with a label of this epoch (and pids, if nobody else uses seq_trace) are changed, except by that
%% reset, which is not done while another program may use tokens. Ends within ?MOST_MS + ?QUIET_MS and some slices.
-module(kprof_tokens).
-export([clearing/0, drain/3, left/2]).
-export_type([drained/0]).

-type drained() :: none | drained | reset | kept.

-include("kprof_control_word.hrl").

-define(MOST_MS, 2000). % a process may run for long, or wait for its turn on a busy node, before it sends its next message
-define(ROUND_MS, 50).
-define(LARGE, 1 bsl 20). % words: garbage collections of about 10 ms
-define(LONG, 100000). % messages
-define(QUIET_MS, 400). % a process that has not run for this time is idle; others may wait for a timer

%% The last match spec of the tiers: calls clear a token and send no event.
-spec clearing() -> kprof_spec:match_spec().
clearing() -> [{'_', [{is_seq_trace}], [{set_seq_token, sequential_trace_token, []}, {message, false}]}, {'_', [], [{message, false}]}].

%% The match spec of the event `send`: it clears the agent's tokens only, and every event is made.
-spec draining(pos_integer(), boolean()) -> kprof_spec:match_spec().
draining(Epoch, Pids) ->
    Label = {element, 2, {get_seq_token}},
    Number = {'andalso', {is_integer, Label}, {'=:=', {'bsr', {'band', Label, ?WITHOUT_DETAIL}, 32}, Epoch}},
    Ours = if Pids -> {'orelse', {is_pid, Label}, Number}; true -> Number end,
    [{'_', [{is_seq_trace}], [{'andalso', Ours, {set_seq_token, sequential_trace_token, []}}]}, {'_', [], []}].

%% Of a drain whose process was killed.
-spec left(boolean(), pos_integer()) -> term().
left(Isolated, Epoch) -> [kprof_spec:send_left(Isolated, draining(Epoch, Pids)) || Pids <- [true, false]].

%% A label that is a pid is the agent's if nobody else uses seq_trace.
are_pids_ours() -> seq_trace:get_system_tracer() =:= false.

%% Own: a session of the agent, with its tracer: then none is made for this. Isolated: the VM has trace sessions. -> {none |
%% drained | reset | kept, Holders left}; kept: another tracer prevents the removal.
-spec drain(none | {kprof_spec:session(), pid()}, boolean(), pos_integer()) -> {drained(), non_neg_integer()}.
drain(Own, Isolated, Epoch) ->
    case kprof_node:spawn_if_room(fun() -> exit({done, drained(Own, Isolated, Epoch)}) end, [monitor]) of
        none -> {kept, length(holders(Epoch))};
        Drain -> drained_by(Drain, Isolated, Epoch)
    end.

drained_by({P, R}, Isolated, Epoch) ->
    receive
        {'DOWN', R, _, _, {done, Done}} -> Done;
        {'DOWN', R, _, _, _} ->
            left(Isolated, Epoch),
            {kept, length(holders(Epoch))}
    after 5 * ?MOST_MS ->
        exit(P, kill),
        receive {'DOWN', R, _, _, _} -> ok end,
        left(Isolated, Epoch),
        {kept, 0}
    end.

drained(Own, Isolated, Epoch) ->
    case held(Epoch) of
        [] -> {none, 0};
        Some -> reset(rounds_of(Own, Isolated, Epoch, Some), Epoch)
    end.

%% -> {drained | kept, [{Pid, Reductions}]}
rounds_of(none, Isolated, Epoch, Some) ->
    Sink = spawn_opt(kprof_calibration, sink, [self()], [link, {max_heap_size, 0}]),
    Session = kprof_spec:session(Isolated, kprof_tokens, Sink),
    Result = rounds_in({Session, Sink}, Epoch, Some),
    kprof_spec:end_session(Session),
    Result;
rounds_of(Own, _, Epoch, Some) ->
    rounds_in(Own, Epoch, Some).

rounds_in({Session, _} = Own, Epoch, Some) ->
    case kprof_spec:send_pattern(Session, draining(Epoch, are_pids_ours())) of
        taken ->
            {kept, Some};
        ok ->
            {Left, Flagged} = rounds(Some, now_ms(), #{}, Own, Epoch, now_ms() + ?MOST_MS),
            [kprof_spec:flags(Own, P, false, [send, silent]) || P <- maps:keys(Flagged)],
            case Session of none -> left(false, Epoch); _ -> kprof_spec:send_pattern(Session, true) end, % that of another tracer stays
            {drained, Left}
    end.

%% Ends when only processes that do not run have a token. Read: when the holders were read.
rounds(Holders, Read, Flagged0, Own, Epoch, Until) ->
    Flagged = lists:foldl(fun({P, _}, Acc) -> flagged(P, Own, Acc) end, Flagged0, Holders),
    receive after ?ROUND_MS -> ok end,
    Next = held(Epoch),
    Now = now_ms(),
    %% those that are left have not run since then: their reductions are the same
    case Next =:= [] orelse Now > Until orelse (Next -- Holders =:= [] andalso are_idle(Next, Read + ?QUIET_MS - Now)) of
        true -> {Next, Flagged};
        false -> rounds(Next, Now, Flagged, Own, Epoch, Until)
    end.

%% None of them runs within this time. Only these are checked: a scan of all processes costs more.
are_idle(Holders, Ms) ->
    receive after max(0, Ms) -> ok end,
    [P || {P, Reductions} <- Holders, reductions(P) =/= Reductions] =:= [].

flagged(P, _, Flagged) when is_map_key(P, Flagged) -> Flagged;
flagged(P, Own, Flagged) ->
    kprof_spec:flags(Own, P, true, [send, silent]),
    Flagged#{P => true}.

reset({kept, Left}, _) -> {kept, length(Left)};
reset({drained, []}, _) -> {drained, 0};
reset({drained, Left}, Epoch) ->
    case kprof_spec:reset_tokens(fun() -> are_some_heavy() end) of
        true -> {reset, length(held(Epoch))};
        false -> {drained, length(Left)}
    end.

held(Epoch) -> apart(fun() -> holders(Epoch) end).

%% Each walk in a process of its own: the caller may have many messages, and a walk waits for answers. It is linked, so that it
%% ends with its caller.
apart(Walk) ->
    Caller = self(),
    P = spawn_opt(fun() -> Caller ! {walked, self(), Walk()} end, [link, {max_heap_size, 0}]),
    receive {walked, P, Result} -> Result end.

%% The reset waits, with all schedulers blocked, for each process whose garbage is being collected, and walks all queues.
are_some_heavy() ->
    Vm = kprof_hazard:vm(),
    apart(fun() -> kprof_flags:fold(fun(P, Is) -> Is orelse is_heavy(P, Vm) end, false) end).

is_heavy(P, Vm) ->
    case kprof_walk:may_ask_queue(P, Vm) andalso kprof_walk:info(P, message_queue_len) of
        none -> false;
        N when N > ?LONG -> true;
        _ ->
            Words = kprof_walk:of_heaps(memory, kprof_walk:info(P, garbage_collection_info)),
            is_integer(Words) andalso Words > ?LARGE
    end.

%% Both values are read under the lock of the process, without a signal to it (unless it runs at this moment).
holders(Epoch) ->
    Pids = are_pids_ours(),
    kprof_flags:fold(
        fun(P, Held) ->
            case is_ours(process_info(P, sequential_trace_token), Epoch, Pids) of
                true -> [{P, reductions(P)} | Held];
                false -> Held
            end
        end,
        []
    ).

is_ours({_, {_, Label, _, _, _}}, Epoch, _) when is_integer(Label) -> kprof_spec:of_epoch(Label, Epoch);
is_ours({_, {_, Label, _, _, _}}, _, Pids) when is_pid(Label) -> Pids;
is_ours(_, _, _) -> false.

reductions(P) ->
    case process_info(P, reductions) of
        {_, N} -> N;
        _ -> dead
    end.

now_ms() -> erlang:monotonic_time(millisecond).
