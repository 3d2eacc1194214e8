%% A full trace that is under way: its tracer (kprof_full_tracer), the tiers that pause for it, and the end of both. Functions of
%% the controller's process; kprof_full_request starts the tracer.
-module(kprof_full_control).
-agent(tools).
-export([aborted/1, beat/1, cancel/2, ended/2, left_out/3, off/1, planned/2]).

-include("kprof_controller.hrl").

%% The tracer is about to set patterns on these. In a session they end with it.
-spec planned(kprof_full:full(), state()) -> state().
planned(Plan, #s{isolated = Isolated, full = #full{tracer = Tracer} = Full} = S0) ->
    S = kprof_cleanup_plan:share(S0#s{full = Full#full{plan = if Isolated -> {Tracer, [], [], []}; true -> Plan end}}),
    Tracer ! planned,
    S.

%% Functions that another tracer traces: the first of them, and how many there are.
-spec left_out(mfa(), pos_integer(), state()) -> state().
left_out({M, F, A}, N, S) ->
    Text = "another tracer traces ~ts~ts: its patterns stay, so calls may be missing from the full trace",
    More = if N =:= 1 -> ""; true -> io_lib:format(" and other functions (~b in all)", [N]) end,
    kprof_link:event_kept(others, kprof_text:format(Text, [kprof_text:mfa(M, F, A), More]), S).

%% It has removed everything; now it sends its events.
-spec off(state()) -> state().
off(#s{full = #full{tracer = Tracer} = Full} = S) -> resumed(S#s{full = Full#full{plan = {Tracer, [], [], []}}}).

%% The tracer has ended.
-spec ended(term(), state()) -> state().
ended(Why, #s{full = #full{plan = Plan}} = S0) ->
    kprof_full:clear(Plan),
    S = resumed(S0#s{full = S0#s.full#full{plan = none, tracer = none}}),
    case Why of
        normal -> S#s{full = #full{}};
        killed -> kprof_link:event_kept(full, kprof_text:format("the full trace ended: its process was killed, or took too much memory", []), S#s{full = #full{}});
        _ -> kprof_link:event_kept(full, kprof_text:format("the full trace ended: ~0tP", [Why, 12]), S#s{full = #full{}})
    end.

%% Tracing is switched on or off: a full trace for which the tiers pause ends at once, and its events are lost.
-spec aborted(state()) -> state().
aborted(#s{full = #full{paused = true, ref = Ref, plan = Plan}} = S) ->
    kprof_full:kill(Plan),
    erlang:demonitor(Ref, [flush]),
    S1 = resumed(S#s{full = S#s.full#full{plan = none}}),
    kprof_link:event_kept(full, kprof_text:format("the full trace ended: tracing was switched on or off", []), S1#s{full = #full{}}).

%% The control word has the brake of the full trace. Its session, if any, has ended.
resumed(#s{full = #full{paused = true} = Full} = S) ->
    kprof_spec:cut(0),
    kprof_tracing:go_on_after_capture(kprof_cleanup_plan:share(kprof_tiers:session_ended(S#s{full = Full#full{paused = false}})));
resumed(S) ->
    kprof_cleanup_plan:share(kprof_tiers:session_ended(S)).

-spec cancel(kprof_full_tracer:why(), state()) -> state().
cancel(Why, #s{full = #full{tracer = Tracer}} = S) ->
    Tracer ! {stop, Why},
    S.

%% With each heartbeat: a full trace ends if kprof-top is silent, or the run queue stays long.
-spec beat(state()) -> state().
beat(#s{full = #full{busy = Busy} = Full} = S) ->
    Long = kprof_node:long_run_queue() =/= none,
    case kprof_link:is_silent(S) of
        true -> cancel(lease, S);
        false when S#s.beside, Full#full.request -> cancel(canceled, S); % both need the control word
        false when Long, Busy + 1 >= ?BUSY_BEATS -> cancel(run_queue, kprof_tracing:too_much(S));
        false -> S#s{full = Full#full{busy = if Long -> Busy + 1; true -> 0 end}}
    end.
