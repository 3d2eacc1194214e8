%% A full trace that is under way: its tracer (kprof_full_tracer), the tiers that pause for it, and the end of both. Functions of
%% the controller's process; kprof_full_request starts the tracer.
-module(kprof_full).
-export([aborted/1, beat/1, cancel/2, clear/1, ended/2, kill/1, off/2, planned/3, unset_metas/2]).
-export_type([full/0]).

-include("kprof_controller.hrl").

%% As in the cleanup plan: the tracer; in the common trace, what it sets there: modules, functions with a meta pattern (the
%% first one of which begins requests).
-type full() :: none | {pid(), [module()], [mfa()]}.

-define(RUN_QUEUE, 100). % processes per scheduler; a longer run queue counts as long
-define(BUSY_BEATS, 4).

%% The tracer is about to set patterns on these. In a session they end with it.
-spec planned([module()], [mfa()], state()) -> state().
planned(Modules, Metas, #s{isolated = Isolated, full = #full{tracer = Tracer} = Full} = S0) ->
    S = kprof_cleanup_plan:share(S0#s{full = Full#full{plan = if Isolated -> {Tracer, [], []}; true -> {Tracer, Modules, Metas} end}}),
    Tracer ! planned,
    S.

%% It has removed everything; now it sends its events.
-spec off(pid(), state()) -> state().
off(Tracer, #s{full = #full{tracer = Tracer} = Full} = S) -> resumed(S#s{full = Full#full{plan = {Tracer, [], []}}});
off(_, S) -> S.

%% The tracer has ended.
-spec ended(term(), state()) -> state().
ended(Why, #s{full = #full{plan = Plan}} = S0) ->
    clear(Plan),
    S = resumed(S0#s{full = S0#s.full#full{plan = none, tracer = none}}),
    case Why of
        normal -> S#s{full = #full{}};
        killed -> kprof_link:event_kept(full, kprof_text:format("the full trace ended: its process was killed, or took too much memory", []), S#s{full = #full{}});
        _ -> kprof_link:event_kept(full, kprof_text:format("the full trace ended: ~0tP", [Why, 12]), S#s{full = #full{}})
    end.

%% Tracing is switched on or off: a full trace for which the tiers pause ends at once, and its events are lost.
-spec aborted(state()) -> state().
aborted(#s{full = #full{paused = true, ref = Ref, plan = Plan}} = S) ->
    kill(Plan),
    erlang:demonitor(Ref, [flush]),
    S1 = resumed(S#s{full = S#s.full#full{plan = none}}),
    kprof_link:event_kept(full, kprof_text:format("the full trace ended: tracing was switched on or off", []), S1#s{full = #full{}});
aborted(S) ->
    S.

%% The control word has the brake of the full trace.
resumed(#s{full = #full{paused = true} = Full} = S) ->
    kprof_spec:cut(0),
    kprof_tracing:go_on_after_capture(kprof_cleanup_plan:share(S#s{full = Full#full{paused = false}}));
resumed(S) ->
    kprof_cleanup_plan:share(S).

-spec cancel(kprof_full_tracer:why(), state()) -> state().
cancel(_, #s{full = #full{tracer = none}} = S) -> S;
cancel(Why, #s{full = #full{tracer = Tracer}} = S) ->
    Tracer ! {stop, Why},
    S.

%% With each heartbeat: a full trace ends if kprof-top is silent, or the run queue stays long.
-spec beat(state()) -> state().
beat(#s{full = #full{tracer = none}} = S) -> S;
beat(#s{full = #full{busy = Busy} = Full} = S) ->
    Long = erlang:statistics(run_queue) > ?RUN_QUEUE * erlang:system_info(schedulers_online),
    case kprof_link:is_silent(S) of
        true -> cancel(lease, S);
        false when S#s.beside, Full#full.request -> cancel(canceled, S); % both need the control word
        false when Long, Busy + 1 >= ?BUSY_BEATS -> cancel(run_queue, S);
        false -> S#s{full = Full#full{busy = if Long -> Busy + 1; true -> 0 end}}
    end.

%% ---- What the tracer leaves ----

%% When this returns, nothing that the tracer has set is left. Called if the tracer does not end by itself, or when the agent
%% ends.
-spec kill(full()) -> term().
kill(none) ->
    ok;
kill({Tracer, _, _} = Full) ->
    kprof_node:kill(Tracer),
    clear(Full).

%% The tracer is dead. Its session and all flags ended with it; patterns of the common trace did not.
-spec clear(full()) -> term().
clear(none) -> ok;
clear({_, Modules, Metas}) ->
    unset_metas(none, Metas),
    [kprof_spec:set_pattern(none, {M, '_', '_'}, false, [local]) || M <- Modules],
    ok.

%% The first one has a counter of calls, too.
-spec unset_metas(kprof_spec:session(), [mfa()]) -> term().
unset_metas(_, []) -> ok;
unset_metas(Session, [First | _] = Metas) ->
    [kprof_spec:set_meta(Session, MFA, false, self()) || MFA <- Metas],
    kprof_spec:set_pattern(Session, First, false, [call_count]).
