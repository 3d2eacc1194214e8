%% Takes off all that was set, whoever lives to do it: the keeper, or the relay when the keeper is dead, or the warden. At the
%% end our module goes: while it is loaded the slot is taken.
%%
%% Undo: #{session, relay, isolated, walker, epoch, tokens => boolean() (requests had some), set => patterns as in kprof_pattern_00,
%% new => boolean() (new_processes is ours), tcw => {Before, Start}, counting => [MFA] with counters of ours, capture => of
%% the keeper}
%%
%% Invariant: patterns go first, so that nothing is traced from then on; flags after, process by process; tokens last.
-module(kprof_undo_00).
-export([stop_tracing/1, undo/1, undo_relay/1, undo_dead/1, reap/1, leaving/0, gone/2, slot/0]).

-define(LAST_CALLS_MS, 100).

%% Called by the relay: nothing more may come, at once: the control word sees to it. On a busy node it takes a while until
%% patterns are off. Flags are the keeper's affair.
stop_tracing(#{session := Session, set := Set, beside := Beside}) ->
    Beside orelse kprof_spec_00:cut(brake),
    kprof_pattern_00:clear(Session, Set).

%% Undoes everything; the relay still lives. -> receipt
undo(#{session := Session, isolated := Isolated, epoch := Epoch} = Undo0) ->
    Undo = #{set := Set} = last_calls(Undo0),
    kprof_pattern_00:clear(Session, Set),
    uncount(Undo),
    Flags = flags_off(Undo),
    Patterns = kprof_pattern_00:left(Session, Set) + kprof_count_00:left(Session, maps:get(counting, Undo)),
    Ended = kprof_spec_00:end_session(Session),
    {Tokens, Holders} = drained(Isolated, Epoch, Undo),
    kprof_node_00:restore(Undo),
    #{patterns => Patterns, flags => Flags, tokens => Tokens, holders => Holders, session => Ended}.

%% Living requests lose their tokens with the calls that they make.
last_calls(#{tokens := true, session := Session, set := Set, relay := Relay} = Undo) when Relay =/= none, map_size(Set) > 0 ->
    Clearing = kprof_pattern_00:replace(Session, Set, kprof_tokens_00:clearing()),
    receive after ?LAST_CALLS_MS -> ok end,
    Undo#{set := Clearing};
last_calls(Undo) ->
    Undo.

drained(Isolated, Epoch, #{tokens := true}) -> kprof_tokens_00:drain(Isolated, Epoch);
drained(_, _, _) -> {none, 0}.

%% A session takes the flags of all processes with it.
flags_off(#{relay := none, walker := Walker}) ->
    kprof_flags_00:stop(Walker),
    0;
flags_off(#{session := none, relay := Relay, new := New, walker := Walker}) -> kprof_flags_00:off({none, Relay}, New, Walker);
flags_off(#{session := Session, walker := Walker}) ->
    kprof_flags_00:stop(Walker),
    kprof_spec_00:flags({Session, none}, new, false, [all]),
    0.

uncount(#{session := Session, counting := Counting, capture := Capture}) ->
    kprof_probe_00:clear(Capture),
    kprof_count_00:clear(Session, Counting).

%% The relay is dead: its flags are anyone's to take off. -> as kprof_tokens_00:drain/2
undo_relay(#{session := Session, set := Set, isolated := Isolated, epoch := Epoch} = Undo) ->
    kprof_pattern_00:clear(Session, Set),
    uncount(Undo),
    flags_off(case Session of none -> Undo#{relay := self()}; _ -> Undo end),
    kprof_spec_00:end_session(Session),
    drained(Isolated, Epoch, Undo).

%% Keeper and relay are dead. What they had not yet told of does not exist.
undo_dead(#{session := _, set := _} = Undo) ->
    undo_relay(Undo),
    kprof_node_00:restore(Undo);
undo_dead(_) ->
    ok.

%% Unloads our module once all our processes, and Pids, are dead, in a process that runs none of our code: erl_eval does.
%% It holds the claim to the slot (kprof_slot_NN, as who loads does) meanwhile: nothing that another has begun to load goes.
%% One purge: on some VMs it may wait for ever, and the node's code server with it.
reap(Pids) ->
    Text =
        "lists:foreach(fun(P) -> R = erlang:monitor(process, P), receive {'DOWN', R, _, _, _} -> ok after 30000 -> ok end end, Pids),"
        "(fun Claim() -> try erlang:register(Slot, self()) catch error:badarg -> receive after 5 -> Claim() end end end)(),"
        "erlang:whereis(Keeper) =/= undefined orelse begin code:delete(Module), code:purge(Module) end.",
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Forms} = erl_parse:parse_exprs(Tokens),
    Bindings = [
        {'Pids', [P || P <- [self(), whereis(kprof_keeper_00), whereis(kprof_relay_00), whereis(kprof_warden_00) | Pids], is_pid(P)]},
        {'Slot', list_to_atom("kprof_slot_" ++ slot())},
        {'Keeper', list_to_atom("kprof_keeper_" ++ slot())},
        {'Module', ?MODULE:module_info(module)}
    ],
    spawn(erl_eval, exprs, [Forms, Bindings]).

%% "00": asked, too; the compiler would make a text of atom_to_list(?MODULE).
slot() ->
    Name = atom_to_list(?MODULE:module_info(module)),
    lists:nthtail(length(Name) - 2, Name).

%% Who sees this process from now on waits until it is done.
leaving() -> put(kprof_state, leaving).

%% The last words of an agent that ends without having been asked.
gone(To, Text) -> erlang:send(To, {ke, gone, Text}, [nosuspend, noconnect]).
