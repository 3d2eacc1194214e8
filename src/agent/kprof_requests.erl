%% Questions whose answer takes a while: how often something is called, and what with. Functions of the controller's process; its
%% counters are known to who undoes things before they are there.
-module(kprof_requests).
-export([capture/2, capture_end/1, count_rates/2, counted/4, rates_counted/1, why/3]).

-include("kprof_controller.hrl").

-define(RATES_MS, 1000).

%% ---- A capture ----

-spec capture(false | kprof_spec:tier(), state()) -> {ok | {error, atom(), binary()}, state()}.
capture(false, S) ->
    {{error, tier, <<"this tier is not known on the node">>}, S};
capture(_, #s{paused = Why} = S) when Why =/= none, Why =/= slow_start ->
    {{error, paused, <<"tracing is off by itself (breaker or lease): nothing is captured now; try again when it is on">>}, S};
capture({_, M, F, A} = Tier, #s{session = Session} = S0) ->
    MFA = {M, F, A},
    %% Below OTP 27 there is one trace, so the relay has to rest.
    S =
        if
            Session =:= none, S0#s.tracing -> (kprof_tracing:trace_off(kprof_tracing:counting_off(S0)))#s{paused = capture};
            true -> S0
        end,
    case kprof_patterns:matched(Tier, [], kprof_patterns:taken(Session, [{element(1, Tier), MFA, []}], S#s.set)) of
        {_, 0, Note} ->
            {{error, nofunction, Note}, go_on(S)};
        _ ->
            Isolated = kprof_node:isolated(),
            Counters = atomics:new(2, []),
            {Capturer, Monitor} = kprof_capture:start(#{controller => self(), mfa => MFA, isolated => Isolated, new => S#s.spawn_flags, counters => Counters}),
            {ok, kprof_cleanup_plan:share(S#s{capture = {Capturer, Monitor, if Isolated -> none; true -> MFA end, Counters}})}
    end.

go_on(#s{paused = capture} = S) -> kprof_tracing:trace_on(S#s{paused = none});
go_on(S) -> S.

-spec capture_end(state()) -> state().
capture_end(#s{capture = none} = S) ->
    S;
capture_end(#s{capture = Capture} = S) ->
    kprof_capture:stop(Capture),
    go_on(kprof_cleanup_plan:share(S#s{capture = none})).

%% ---- Calls in a second ----

%% Is it called at all? The VM counts for a second; of those the relay saw are in requests.
-spec why(integer(), kprof_spec:ix(), state()) -> state().
why(Ref, Ix, S0) ->
    #s{trace_config = Config, session = Session} = S = kprof_tier_rates:stop(S0),
    case lists:keyfind(Ix, 1, maps:get(tiers, Config)) of
        {_, M, F, A} when S#s.count =/= none ->
            N = kprof_call_count:per_second({M, F, A}, S#s.count),
            kprof_link:answer(Ref, {called, N, N, 0}, S);
        {_, M, F, A} ->
            MFA = {M, F, A},
            Before = kprof_call_count:call_count(Session, MFA),
            %% Someone else's counter is only read; ours is known to who undoes things before it is there.
            S1 = if Before =:= none -> kprof_cleanup_plan:share(S#s{counting = [MFA | S#s.counting]}); true -> S end,
            case is_integer(Before) orelse kprof_spec:set_pattern(Session, MFA, true, [call_count]) of
                No when No =:= 0; is_tuple(No) ->
                    kprof_link:answer(Ref, nofunction, kprof_cleanup_plan:share(S1#s{counting = S1#s.counting -- [MFA]}));
                _ ->
                    S1#s.relay =/= none andalso (S1#s.relay ! {watch, Ix, self(), Ref}),
                    erlang:send_after(1000, self(), {why, Ref, Ix, {MFA, Before}}),
                    S1
            end;
        false ->
            kprof_link:answer(Ref, nofunction, S)
    end.

-spec counted(integer(), kprof_spec:ix(), {mfa(), none | non_neg_integer()}, state()) -> state().
counted(Ref, Ix, {MFA, Before}, #s{session = Session} = S) ->
    Calls =
        case {kprof_call_count:call_count(Session, MFA), Before} of
            {N, none} when is_integer(N) -> N;
            {N, _} when is_integer(N), N >= Before -> N - Before;
            _ -> 0
        end,
    S1 =
        case Before of
            none ->
                kprof_call_count:clear(Session, [MFA]),
                kprof_cleanup_plan:share(S#s{counting = S#s.counting -- [MFA]});
            _ ->
                S
        end,
    kprof_tracing:flush(S),
    Seen = min(Calls, watched(Ix, S) * kprof_sampling:in_force(S)),
    kprof_link:answer(Ref, {called, Calls, Seen, Calls - Seen}, S1).

%% How often are these called? Not the tiers: they have their figures, and other questions count them.
-spec count_rates([mfa()], state()) -> {ok | wait, state()}.
count_rates(_, #s{rates = {counting, _, _}} = S) ->
    {wait, S};
count_rates(Asked, #s{session = Session, trace_config = Config, counting = Counting} = S) ->
    Tiers = [{M, F, A} || {_, M, F, A} <- maps:get(tiers, Config)],
    Before = kprof_catalog:counters(Session, Asked),
    Mine = [MFA || {MFA, none} <- Before, not lists:member(MFA, Tiers)],
    %% Known to who undoes things before it is there.
    S1 = kprof_cleanup_plan:share(S#s{counting = Mine ++ Counting, rates = {counting, kprof_node:now_ms(), Before}}),
    kprof_catalog:count(Session, Mine, true),
    erlang:send_after(?RATES_MS, self(), rates),
    {ok, S1}.

-spec rates_counted(state()) -> state().
rates_counted(#s{session = Session, rates = {counting, Since, Before}, counting = Counting} = S) ->
    Rates = kprof_catalog:rates(Session, Before, max(1, kprof_node:now_ms() - Since)),
    Mine = [MFA || {MFA, none} <- Before, lists:member(MFA, Counting)],
    kprof_catalog:count(Session, Mine, false),
    kprof_cleanup_plan:share(S#s{counting = Counting -- Mine, rates = Rates});
rates_counted(S) ->
    S.

watched(_, #s{relay = none}) -> 0;
watched(_, #s{relay = Relay, pacer = Pacer}) ->
    Ref = make_ref(),
    Relay ! {watched, self(), Ref},
    Pacer ! kick,
    receive
        {watched, Ref, N} -> N
    after 1000 -> 0
    end.
