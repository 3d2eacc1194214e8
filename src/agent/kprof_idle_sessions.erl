%% Trace sessions in which nothing is set any more. When a session is destroyed, the VM lists all processes and sends a signal to
%% each (erts_trace_cleaner); with 200,000 processes, its list and the collection of this list stop a scheduler for 8 to 20 ms
%% each. So sessions that are no longer needed are kept, and end together with the agent. Functions of the controller's process.
-module(kprof_idle_sessions).
-export([add/2]).

-include("kprof_controller.hrl").

-define(MOST, 8). % with that of the calibration; more are destroyed at once: the VM looks at each session when a process starts

%% The caller shares the cleanup plan.
-spec add(kprof_spec:session(), state()) -> state().
add(none, S) ->
    S;
add(Session, #s{idle_sessions = Sessions, vm = Vm} = S) ->
    %% Some VMs have a fault if there is more than one session.
    case length(Sessions) < ?MOST andalso kprof_hazard:allowed(lean_beside, Vm#{beside := true}) of
        true ->
            S#s{idle_sessions = [Session | Sessions]};
        false ->
            kprof_spec:end_session(Session),
            kprof_tiers:session_ended(S)
    end.
