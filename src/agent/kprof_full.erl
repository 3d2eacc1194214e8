%% A full trace, as the other parts of the controller and of the end see it: what must be removed if its tracer does not do it.
%% kprof_full_control does the work while the tracer runs. It belongs to the tools, like the tracer.
%%
%% Invariant: no function of the tools is called while there is no tracer.
-module(kprof_full).
-export([aborted/1, beat/1, cancel/2, clear/1, kill/1, unset_metas/4]).
-export_type([full/0]).

-include("kprof_controller.hrl").

%% As in the cleanup plan: the tracer; in the common trace, what it sets there: modules, functions with a meta pattern,
%% those with a counter.
-type full() :: none | {pid(), [module()], [mfa()], [mfa()]}.

-spec aborted(state()) -> state().
aborted(#s{full = #full{paused = true}} = S) -> kprof_full_control:aborted(S);
aborted(S) -> S.

-spec cancel(kprof_full_tracer:why(), state()) -> state().
cancel(_, #s{full = #full{tracer = none}} = S) -> S;
cancel(Why, S) -> kprof_full_control:cancel(Why, S).

-spec beat(state()) -> state().
beat(#s{full = #full{tracer = none}} = S) -> S;
beat(S) -> kprof_full_control:beat(S).

%% When this returns, nothing that the tracer has set is left. Called if the tracer does not end by itself, or when the agent
%% ends.
-spec kill(full()) -> term().
kill(none) ->
    ok;
kill({Tracer, _, _, _} = Full) ->
    kprof_node:kill(Tracer),
    clear(Full).

%% The tracer is dead. Its session and all flags ended with it; patterns of the common trace did not.
-spec clear(full()) -> term().
clear(none) -> ok;
clear({Tracer, Modules, Metas, Counted}) ->
    unset_metas(none, Tracer, Metas, Counted),
    kprof_flags:keep_priority(fun() -> [kprof_full_patterns:clear(none, M) || M <- Modules] end),
    ok.

-spec unset_metas(kprof_spec:session(), pid(), [mfa()], [mfa()]) -> term().
unset_metas(Session, Tracer, Metas, Counted) ->
    [kprof_spec:set_meta(Session, MFA, false, Tracer) || MFA <- Metas],
    [kprof_spec:set_pattern(Session, MFA, false, [call_count]) || MFA <- Counted].
