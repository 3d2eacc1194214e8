%% Counts the calls of a tier for a second, and captures arguments: kprof-top asks for these, and gets the result later. Functions
%% of the controller's process. Counters are in the cleanup plan before they are set.
-module(kprof_requests).
-agent(tools).
-export([capture/2, capture_end/1, captured/1, caught/2, counted/4, why/3]).

-include("kprof_controller.hrl").

-define(NOT_TRACED, <<"not counted: tracing has ended on the node; key t switches it on">>).

%% ---- A capture ----

%% Begins a capture of this tier; a running capture is canceled. none: only cancels.
-spec capture(none | kprof_spec:ix(), state()) -> {ok | {error, atom(), binary()}, state()}.
capture(Ix, #s{requests = Requests, tracing = #tracing{trace_config = #{tiers := Tiers}}} = S0) ->
    S = capture_end(S0#s{requests = Requests#requests{caught = none}}),
    case Ix of
        none -> {ok, S};
        _ -> capture_tier(lists:keyfind(Ix, 1, Tiers), S)
    end.

capture_tier(false, S) ->
    {{error, tier, <<"this tier is not known on the node">>}, S};
capture_tier(_, #s{tracing = #tracing{paused = Why}} = S) when Why =/= none, Why =/= slow_start ->
    {{error, paused, <<"tracing is paused (breaker open, full trace, or connection blocked): try again when it is on">>}, S};
capture_tier({_, M, F, A} = Tier, #s{session = Session} = S0) ->
    MFA = {M, F, A},
    %% Below OTP 27 there is one trace, so the relay must pause.
    S =
        if
            Session =:= none, S0#s.tracing#tracing.wanted -> kprof_tracing:pause_for_capture(S0);
            true -> S0
        end,
    Specs = [{element(1, Tier), MFA, []}],
    Taken = kprof_patterns:held_back(Specs, kprof_hazard:vm()) ++ kprof_patterns:taken(Session, Specs, S#s.tracing#tracing.set),
    case kprof_patterns:matched(Tier, [], Taken) of
        {_, 0, Note} ->
            {{error, nofunction, Note}, kprof_tracing:go_on_after_capture(S)};
        _ ->
            Isolated = kprof_node:isolated(),
            Counters = atomics:new(3, []),
            Opts = #{controller => self(), mfa => MFA, isolated => Isolated, new => S#s.spawn_flags, counters => Counters, walker => S#s.tracing#tracing.walker},
            case kprof_capturer:start(Opts) of
                none ->
                    {kprof_link:no_room(), kprof_tracing:go_on_after_capture(S)};
                {Capturer, Monitor} ->
                    Capture = {Capturer, Monitor, if Isolated -> none; true -> MFA end, Counters},
                    {ok, kprof_cleanup_plan:share(S#s{requests = S#s.requests#requests{capture = Capture}})}
            end
    end.

-spec capture_end(state()) -> state().
capture_end(#s{requests = #requests{capture = none}} = S) ->
    S;
capture_end(#s{requests = #requests{capture = {_, _, Common, _} = Capture}} = S) ->
    Session = kprof_capture:stop(Capture),
    S1 = kprof_idle_sessions:add(Session, S#s{requests = S#s.requests#requests{capture = none}}),
    S2 = if Common =:= none -> kprof_tiers:session_ended(S1); true -> S1 end, % for a built-in function that was captured
    kprof_tracing:go_on_after_capture(kprof_cleanup_plan:share(S2)).

%% The result of a capture.
-spec caught(tuple(), state()) -> state().
caught(Caught, #s{requests = #requests{capture = {_, _, _, Counters}} = Requests} = S) ->
    left_out(atomics:get(Counters, 3), capture_end(S#s{requests = Requests#requests{caught = Caught}})).

left_out(0, S) ->
    S;
left_out(N, S) ->
    Text = "the capture left out processes with a heap of 64 MB or more: ~b; the VM would copy the arguments of their calls whole",
    kprof_link:event_kept(capture, kprof_text:format(Text, [N]), S).

-spec captured(state()) -> tuple().
captured(#s{requests = #requests{capture = {_, _, _, Counters}}}) -> {capturing, atomics:get(Counters, 1), atomics:get(Counters, 2)};
captured(#s{requests = #requests{caught = none}}) -> {error, gone, <<"the capture ended without a result: it was canceled, or the arguments of a call are larger than 64 MB">>};
captured(#s{requests = #requests{caught = Caught}}) -> Caught.

%% ---- Calls per second ----

%% Whether a tier is called: the VM counts its calls for a second. Those that the relay received were made in requests.
-spec why(integer(), kprof_spec:ix(), state()) -> state().
why(Ref, Ix, S0) ->
    #s{tracing = #tracing{trace_config = Config}} = S = kprof_tier_rates:stop(S0),
    case lists:keyfind(Ix, 1, maps:get(tiers, Config)) of
        {_, M, F, A} ->
            case kprof_patterns:held({M, F, A}, kprof_hazard:vm()) of
                none when S#s.count =/= none ->
                    N = kprof_call_count:per_second({M, F, A}, S#s.count),
                    kprof_link:answer(Ref, {called, N, N, 0}, S);
                none ->
                    count(Ref, Ix, {M, F, A}, S);
                Why ->
                    kprof_link:answer(Ref, {error, held, Why}, S)
            end;
        false ->
            kprof_link:answer(Ref, nofunction, S)
    end.

%% No session: the relay was killed, and the next one gets a session of its own. The common trace belongs to others.
count(Ref, _, _, #s{isolated = true, session = none} = S) ->
    kprof_link:answer(Ref, {error, held, ?NOT_TRACED}, S);
count(Ref, Ix, MFA, #s{session = Session} = S) ->
    Before = kprof_call_count:call_count(Session, MFA),
    %% Counters of other tracers are only read; a counter of the agent is in the cleanup plan before it is set.
    S1 = if Before =:= none -> kprof_cleanup_plan:share(S#s{counting = [MFA | S#s.counting]}); true -> S end,
    case is_integer(Before) orelse kprof_spec:set_pattern(Session, MFA, true, [call_count]) of
        No when No =:= 0; is_tuple(No) ->
            kprof_link:answer(Ref, nofunction, kprof_cleanup_plan:share(S1#s{counting = S1#s.counting -- [MFA]}));
        _ ->
            S1#s.relay =/= none andalso (S1#s.relay ! {watch, Ix, S1#s.epoch}),
            erlang:send_after(1000, self(), {why, S1#s.link#link.key, Ref, Ix, {MFA, Before, Session}}),
            S1
    end.

-spec counted(integer(), kprof_spec:ix(), {mfa(), none | non_neg_integer(), kprof_spec:session()}, state()) -> state().
counted(Ref, Ix, {MFA, Before, Session}, #s{session = Session} = S) ->
    Now = kprof_call_count:call_count(Session, MFA),
    S1 =
        case Before of
            none ->
                kprof_call_count:clear(Session, [MFA]),
                kprof_cleanup_plan:share(S#s{counting = S#s.counting -- [MFA]});
            _ ->
                S
        end,
    kprof_tracing:flush(S),
    Watched = watched(Ix, S),
    Answer =
        case calls(Now, Before) of
            none ->
                {error, held, <<"not counted: the counter was removed meanwhile; ask again">>};
            Calls ->
                Seen = in_requests(Calls, Watched * kprof_sampling:in_force(S), S),
                {called, Calls, Seen, Calls - Seen}
        end,
    kprof_link:answer(Ref, Answer, S1);
counted(Ref, _, _, S) -> % and its counters with it
    kprof_link:answer(Ref, {error, held, <<"not counted: the trace session ended meanwhile; ask again">>}, S).

%% none: whoever set the counter has removed it, or set it again; or the module was loaded again.
calls(N, none) -> N;
calls(N, Before) when is_integer(N), N >= Before -> N - Before;
calls(_, _) -> none.

%% Tracing for a part of the time: the estimate of a single second can be wrong by half.
in_requests(Calls, Estimate, S) ->
    case kprof_part_time:is_on(S) andalso Estimate * 2 >= Calls of
        true -> Calls;
        false -> min(Calls, Estimate)
    end.

watched(_, #s{relay = none}) -> 0;
watched(_, #s{relay = Relay, pacer = Pacer}) ->
    Ref = make_ref(),
    Relay ! {watched, self(), Ref},
    Pacer ! kick,
    receive
        {watched, Ref, N} -> N
    after 1000 -> 0
    end.
