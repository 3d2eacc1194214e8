%% Removes everything that was set. The process that survives runs it: the controller, else the relay, else the guardian. At the
%% end the module is unloaded; while it is loaded, the slot is in use.
%%
%% Plan: #{session, relay, isolated, walker, epoch, tokens => boolean() (requests had some), set => patterns as in
%% kprof_patterns, new => boolean() (the agent sets new_processes), tcw => {Before, Start}, counting => [MFA] with counters of
%% the agent, capture => of the controller, sampler => of stacks | none, table => of processes | none, full => of a full trace,
%% events => of kprof_vm_events | none, idle => other sessions, beside => boolean() (other agents share the control word)}
%%
%% Invariant: patterns are removed first, so that nothing more is traced; then flags, process by process; then tokens.
-module(kprof_cleanup).
-export([stop_tracing/1, all/1, relay_died/1, all_died/1, reap/1, reap_at_last/1, leaving/0, gone/2, slot/0]).
-export_type([plan/0, receipt/0, reaper/0]).

-type plan() :: #{
    session := kprof_spec:session(), relay := none | pid(), set := kprof_patterns:set(), new := boolean(), tcw := {integer(), integer()},
    counting := [mfa()], capture := kprof_capture:capture(), sampler := none | pid(), table := none | pid(), full := kprof_full:full(), events := kprof_vm_events:running(), idle := [kprof_spec:session()],
    isolated := boolean(), walker := none | pid(), epoch := pos_integer(),
    tokens := boolean(), beside := boolean()
}.
-type receipt() :: #{
    patterns := non_neg_integer(), flags := non_neg_integer(), tokens := kprof_tokens:drained(), holders := non_neg_integer(), session := ended | none
}.

%% The process that unloads the modules; or what it is started with, if the node had no room for it.
-type reaper() :: pid() | {list(), list()}.

-define(LAST_CALLS_MS, 100).
-define(REAPER_MS, 50).
-define(REAPER_TRIES, 12000). % 10 minutes

%% Called by the relay to stop tracing at once, with the control word. Removing the patterns takes longer on a busy node. The
%% controller removes the flags.
-spec stop_tracing(plan()) -> term().
stop_tracing(#{session := Session, set := Set, beside := Beside}) ->
    Beside orelse kprof_spec:cut(brake),
    kprof_patterns:clear(Session, Set).

%% Removes everything while the relay is alive. -> receipt
-spec all(plan()) -> receipt().
all(#{session := Session, isolated := Isolated, epoch := Epoch} = Plan0) ->
    Plan = #{set := Set} = last_calls(Plan0),
    kprof_patterns:clear(Session, Set),
    uncount(Plan),
    Flags = flags_off(Plan),
    Patterns = kprof_patterns:left(Session, Set) + kprof_call_count:left(Session, maps:get(counting, Plan)),
    {Tokens, Holders} = drained(own(Plan), Isolated, Epoch, Plan),
    Ended = sessions_ended(Plan),
    kprof_node:restore(Plan),
    #{patterns => Patterns, flags => Flags, tokens => Tokens, holders => Holders, session => Ended}.

%% Open requests lose their tokens with their next calls of tiers. Not with patterns that are set for a part of the time
%% (pending): they cost too much to be set for this.
last_calls(#{tokens := true, session := Session, set := Set, relay := Relay} = Plan) when Relay =/= none ->
    case maps:filter(fun(_, Mine) -> Mine =/= pending end, Set) of
        Known when map_size(Known) > 0 ->
            Clearing = kprof_patterns:replace(Session, Known, kprof_tokens:clearing()),
            receive after ?LAST_CALLS_MS -> ok end,
            Plan#{set := maps:merge(Set, Clearing)};
        _ ->
            Plan
    end;
last_calls(Plan) ->
    Plan.

drained(Own, Isolated, Epoch, #{tokens := true}) ->
    Drained = kprof_tokens:drain(Own, Isolated, Epoch),
    kprof_node:agents() orelse kprof_tokens:left(Isolated, Epoch), % of a drain whose caller was killed
    Drained;
drained(_, _, _, _) -> {none, 0}.

own(#{session := Session, relay := Relay}) when Session =/= none, is_pid(Relay) -> {Session, Relay};
own(_) -> none.

%% Last, if the relay is alive: the end of a session makes each process run (kprof_idle_sessions), and from a process that runs
%% nothing can be read without a signal. -> as kprof_spec:end_session/1 for the session of the tiers
sessions_ended(#{session := Session, idle := Sessions, events := Events}) ->
    kprof_vm_events:stop(Events),
    lists:foreach(fun kprof_spec:end_session/1, Sessions),
    kprof_spec:end_session(Session).

%% A session removes the flags of all its processes.
flags_off(#{relay := none, walker := Walker}) ->
    kprof_flags:stop(Walker),
    0;
flags_off(#{session := none, relay := Relay, new := New, walker := Walker}) -> kprof_flags:off({none, Relay}, New, Walker);
flags_off(#{session := Session, walker := Walker}) ->
    kprof_flags:stop(Walker),
    kprof_spec:flags({Session, none}, new, false, [all]),
    0.

uncount(#{session := Session, counting := Counting, capture := Capture, sampler := Sampler, table := Table, full := Full}) ->
    kprof_full:kill(Full),
    kprof_node:kill(Sampler),
    kprof_node:kill(Table),
    kprof_capture:clear(Capture),
    kprof_call_count:clear(Session, Counting).

%% The relay is dead, so any process can clear its flags. -> as kprof_tokens:drain/3
-spec relay_died(plan()) -> {kprof_tokens:drained(), non_neg_integer()}.
relay_died(#{session := Session, set := Set, isolated := Isolated, epoch := Epoch} = Plan) ->
    kprof_patterns:clear(Session, Set),
    uncount(Plan),
    flags_off(case Session of none -> Plan#{relay := self()}; _ -> Plan end),
    sessions_ended(Plan),
    drained(none, Isolated, Epoch, Plan).

%% Controller and relay are dead. The plan is complete, because it is shared before anything is set.
-spec all_died(plan() | #{relay := none}) -> term().
all_died(#{session := _, set := _} = Plan) ->
    relay_died(Plan),
    kprof_node:restore(Plan);
all_died(_) ->
    ok.

%% Unloads the modules when all processes of the agent, and Pids, are dead. The process that does it runs no code of the agent,
%% only erl_eval. Meanwhile it holds the name of the slot (kprof_slot_NN), so it cannot unload a module that another kprof-top is
%% loading. The tools are first, because they call functions of the agent. A process of the agent may be loading them while the
%% agent ends (kprof_node:load/2). The controller ends it, or its link if the controller was killed; if the code server has its
%% request by then, the tools are loaded before the last step, which unloads them. Without that, the last step has nothing to do,
%% like the first purge of a module unless it was loaded twice. On some VMs a purge can block forever, and the code server with it.
-spec reap([pid() | none]) -> reaper().
reap(Pids) ->
    Text =
        "lists:foreach(fun(P) -> R = erlang:monitor(process, P), receive {'DOWN', R, _, _, _} -> ok after 30000 -> ok end end, Pids),"
        "(fun Claim() -> try erlang:register(Slot, self()) catch error:badarg -> receive after 5 -> Claim() end end end)(),"
        "erlang:whereis(Controller) =/= undefined orelse lists:foreach(fun(M) -> code:purge(M), code:delete(M), code:purge(M) end, Modules).",
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Forms} = erl_parse:parse_exprs(Tokens),
    Bindings = [
        {'Pids', [P || P <- [self(), whereis(kprof_controller), whereis(kprof_relay), whereis(kprof_guardian) | Pids], is_pid(P)]},
        {'Slot', list_to_atom("kprof_slot_" ++ slot())},
        {'Controller', list_to_atom("kprof_controller_" ++ slot())},
        {'Modules', [kprof_tools, ?MODULE:module_info(module), kprof_tools]}
    ],
    started({Forms, Bindings}).

started({Forms, Bindings} = Reaper) ->
    try spawn_opt(erl_eval, exprs, [Forms, Bindings], [{max_heap_size, 0}])
    catch error:system_limit -> Reaper
    end.

%% The last call of the process that cleans up: if the node had as many processes as it may have, it waits for room.
-spec reap_at_last(reaper()) -> ok.
reap_at_last(Reaper) -> reap_at_last(Reaper, ?REAPER_TRIES).

reap_at_last(Reaper, Left) when is_pid(Reaper); Left =:= 0 ->
    ok;
reap_at_last(Reaper, Left) ->
    case started(Reaper) of
        P when is_pid(P) -> ok;
        _ -> receive after ?REAPER_MS -> reap_at_last(Reaper, Left - 1) end
    end.

%% "00" is built at run time; the compiler would make a literal of atom_to_list(?MODULE).
-spec slot() -> string().
slot() ->
    Name = atom_to_list(?MODULE:module_info(module)),
    lists:nthtail(length(Name) - 2, Name).

%% From now on, a starting agent that sees this process waits until it has ended.
-spec leaving() -> term().
leaving() -> put(kprof_state, leaving).

%% The last message of an agent that ends without a request.
-spec gone(pid(), binary()) -> ok | nosuspend | noconnect.
gone(To, Text) -> erlang:send(To, {ke, gone, Text}, [nosuspend, noconnect]).
