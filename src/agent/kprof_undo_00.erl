%% Takes off all that was set, whoever lives to do it: the keeper, or the relay when the keeper is dead, or the warden. At the end our
%% modules go, the keeper's last: while it is loaded the slot is taken.
%%
%% Undo: #{session, relay, set => patterns as in kprof_pattern_00, new => boolean() (new_processes is ours), tcw => {Before,
%% Start}, counting => [{MFA, call_count | call_time}] that are ours, capture => of the keeper}
-module(kprof_undo_00).
-export([flags_off/1, undo/1, undo_relay/1, undo_dead/1, reap/1, leaving/0, gone/2, slot/0]).

%% Called by the relay: nothing more may come, at once.
flags_off(#{session := Session, relay := Relay, new := New}) ->
    New andalso kprof_spec_00:flags({Session, Relay}, new, false, [all]),
    kprof_spec_00:flags({Session, Relay}, existing, false, [all]),
    kprof_spec_00:sweep().

%% Undoes everything; the relay still lives. -> receipt
undo(Undo) ->
    #{session := Session, relay := Relay, set := Set} = Undo,
    case Relay of
        none -> none;
        _ -> flags_off(Undo)
    end,
    kprof_pattern_00:clear(Session, Set),
    uncount(Undo),
    Tokens = kprof_spec_00:sweep(),
    Patterns = kprof_pattern_00:left(Session, Set) + kprof_count_00:left(Session, maps:get(counting, Undo)),
    Flags = length([P || P <- processes(), flagged(P, Session, Relay)]),
    kprof_node_00:restore(Undo),
    #{patterns => Patterns, flags => Flags, tokens => Tokens, session => kprof_spec_00:end_session(Session)}.

uncount(#{session := Session, counting := Counting, capture := Capture}) ->
    kprof_probe_00:clear(Capture),
    kprof_count_00:clear(Session, Counting).

flagged(_, _, none) -> false;
flagged(P, none, Relay) -> kprof_node_00:tracer_of(P) =:= Relay;
flagged(P, Session, _) ->
    case catch apply(trace, info, [Session, P, flags]) of
        {flags, [_ | _]} -> true;
        _ -> false
    end.

%% The relay is dead. Its processes lose their flags when asked for their tracer.
undo_relay(#{session := Session, set := Set, new := New} = Undo) ->
    kprof_pattern_00:clear(Session, Set),
    uncount(Undo),
    case Session of
        none ->
            New andalso kprof_node_00:tracer_of(new_processes),
            [kprof_node_00:tracer_of(P) || P <- processes()];
        _ ->
            kprof_spec_00:flags({Session, none}, new, false, [all]),
            kprof_spec_00:flags({Session, none}, existing, false, [all])
    end,
    kprof_spec_00:sweep(),
    kprof_spec_00:end_session(Session).

%% Keeper and relay are dead. What they had not yet told of does not exist.
undo_dead(#{session := _, set := _} = Undo) ->
    undo_relay(Undo),
    kprof_node_00:restore(Undo);
undo_dead(_) ->
    ok.

%% Unloads our modules once all our processes, and Pids, are dead, in a process that runs none of our code: erl_eval does.
%% It holds the claim to the slot (kprof_slot_NN, as who loads does) meanwhile: nothing that another has begun to load goes.
reap(Pids) ->
    Text =
        "lists:foreach(fun(P) -> R = erlang:monitor(process, P), receive {'DOWN', R, _, _, _} -> ok after 30000 -> ok end end, Pids),"
        "(fun Claim() -> try erlang:register(Slot, self()) catch error:badarg -> receive after 5 -> Claim() end end end)(),"
        "lists:any(fun(M) -> erlang:whereis(M) =/= undefined end, Modules) orelse"
        "  lists:foreach(fun(M) -> code:purge(M), code:delete(M), code:purge(M) end, Modules).",
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Forms} = erl_parse:parse_exprs(Tokens),
    Bindings = [
        {'Pids', [P || P <- [self(), whereis(kprof_keeper_00), whereis(kprof_relay_00), whereis(kprof_warden_00) | Pids], is_pid(P)]},
        {'Slot', list_to_atom("kprof_slot_" ++ slot())},
        {'Modules', modules()}
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

%% Asked, not written: a list of atoms is a literal of the beam, and kprof-top renames atoms in the atom chunk only.
modules() ->
    [
        kprof_relay_00:module_info(module),
        kprof_warden_00:module_info(module),
        kprof_spec_00:module_info(module),
        kprof_check_00:module_info(module),
        kprof_rule_00:module_info(module),
        kprof_pattern_00:module_info(module),
        kprof_probe_00:module_info(module),
        kprof_point_00:module_info(module),
        kprof_count_00:module_info(module),
        kprof_rate_00:module_info(module),
        kprof_breaker_00:module_info(module),
        kprof_steer_00:module_info(module),
        kprof_cost_00:module_info(module),
        kprof_node_00:module_info(module),
        kprof_look_00:module_info(module),
        kprof_proc_00:module_info(module),
        kprof_catalog_00:module_info(module),
        kprof_state_00:module_info(module),
        kprof_switch_00:module_info(module),
        kprof_limits_00:module_info(module),
        kprof_ask_00:module_info(module),
        ?MODULE:module_info(module),
        kprof_keeper_00:module_info(module)
    ].
