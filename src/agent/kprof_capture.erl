%% A capture: the arguments of some calls of one function, from which the operator chooses. This ends its process (kprof_capturer,
%% which is loaded with the tools) and removes what it has set.
-module(kprof_capture).
-export([stop/1, clear/1]).
-export_type([capture/0, options/0]).

%% Its process has this time to end; then it is killed. Then a session is destroyed at once (PROTOCOL.md, "Trace sessions"), so its
%% process has more time. The flags of the common trace just end with their tracer.
-define(SESSION_MS, 3000).
-define(COMMON_MS, 100).

-type capture() :: none | {pid(), reference(), mfa() | none, atomics:atomics_ref()}.
-type options() :: #{controller := pid(), mfa := mfa(), isolated := boolean(), new := boolean(), counters := atomics:atomics_ref(), walker := none | pid()}.

%% Ends a capture in any state, even if its process is dead. When this returns, everything it set has been removed. Capture:
%% none | {Capturer, Monitor, MFA with a pattern in the common trace | none, Counters}. -> its session, for kprof_idle_sessions
-spec stop(capture()) -> kprof_spec:session().
stop(none) ->
    none;
stop({Pid, Monitor, Common, _} = Capture) ->
    Pid ! stop,
    erlang:demonitor(Monitor, [flush]),
    Ref = erlang:monitor(process, Pid),
    receive
        {'DOWN', Ref, _, _, _} -> ok
    after if Common =:= none -> ?SESSION_MS; true -> ?COMMON_MS end ->
        exit(Pid, kill),
        receive {'DOWN', Ref, _, _, _} -> ok end
    end,
    clear(Capture),
    receive {capture_session, Pid, Session} -> Session after 0 -> none end.

%% Called if the capturing process was killed. Sessions and flags end with their tracer; a pattern of the common trace does not.
-spec clear(capture()) -> term().
clear(none) -> ok;
clear({_, _, none, _}) -> ok;
clear({_, _, MFA, _}) -> kprof_spec:pattern({none, match_spec}, MFA) =:= kprof_spec:capture() andalso kprof_spec:set_pattern(none, MFA, false, [local]).
