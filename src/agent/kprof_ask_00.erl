%% Questions whose answer takes a while: how often something is called, and what with. Functions of the keeper's process; its
%% counters are known to who undoes things before they are there.
-module(kprof_ask_00).
-export([capture/2, capture_end/1, count_rates/2, counted/4, rates_counted/1, why/3]).

-include("kprof_keeper.hrl").

-define(RATES_MS, 1000).

%% ---- A capture ----

capture(false, S) ->
    {{error, tier, <<"this tier is not known on the node">>}, S};
capture(_, #s{paused = Why} = S) when Why =/= none, Why =/= look ->
    {{error, paused, <<"tracing is off by itself (breaker or lease): nothing is captured now; try again when it is on">>}, S};
capture({_, M, F, A} = Tier, #s{session = Session} = S0) ->
    MFA = {M, F, A},
    %% Below OTP 27 there is one trace, so the relay has to rest.
    S =
        if
            Session =:= none, S0#s.tracing -> (kprof_switch_00:trace_off(kprof_switch_00:counting_off(S0)))#s{paused = capture};
            true -> S0
        end,
    case kprof_pattern_00:matched(Tier, [], kprof_pattern_00:taken(Session, [{element(1, Tier), MFA, []}], S#s.set)) of
        {_, 0, Note} ->
            {{error, nofunction, Note}, go_on(S)};
        _ ->
            Isolated = kprof_node_00:isolated(),
            Counters = atomics:new(2, []),
            {Probe, Monitor} = kprof_probe_00:start(#{keeper => self(), mfa => MFA, isolated => Isolated, new => S#s.spawn_flags, counters => Counters}),
            {ok, kprof_state_00:share(S#s{capture = {Probe, Monitor, if Isolated -> none; true -> MFA end, Counters}})}
    end.

go_on(#s{paused = capture} = S) -> kprof_switch_00:trace_on(S#s{paused = none});
go_on(S) -> S.

capture_end(#s{capture = none} = S) ->
    S;
capture_end(#s{capture = Capture} = S) ->
    kprof_probe_00:stop(Capture),
    go_on(kprof_state_00:share(S#s{capture = none})).

%% ---- Calls in a second ----

%% Is it called at all? The VM counts for a second; of those the relay saw are in requests.
why(Ref, Ix, S0) ->
    #s{wish = Wish, session = Session} = S = kprof_rate_00:stop(S0),
    case lists:keyfind(Ix, 1, maps:get(tiers, Wish)) of
        {_, M, F, A} when S#s.count =/= none ->
            N = kprof_count_00:per_second({M, F, A}, S#s.count),
            kprof_state_00:answer(Ref, {called, N, N, 0}, S);
        {_, M, F, A} ->
            MFA = {M, F, A},
            Before = kprof_count_00:call_count(Session, MFA),
            %% Someone else's counter is only read; ours is known to who undoes things before it is there.
            S1 = if Before =:= none -> kprof_state_00:share(S#s{counting = [MFA | S#s.counting]}); true -> S end,
            case is_integer(Before) orelse kprof_spec_00:set_pattern(Session, MFA, true, [call_count]) of
                No when No =:= 0; is_tuple(No) ->
                    kprof_state_00:answer(Ref, nofunction, kprof_state_00:share(S1#s{counting = S1#s.counting -- [MFA]}));
                _ ->
                    S1#s.relay =/= none andalso (S1#s.relay ! {watch, Ix, self(), Ref}),
                    erlang:send_after(1000, self(), {why, Ref, Ix, {MFA, Before}}),
                    S1
            end;
        false ->
            kprof_state_00:answer(Ref, nofunction, S)
    end.

counted(Ref, Ix, {MFA, Before}, #s{session = Session} = S) ->
    Calls =
        case {kprof_count_00:call_count(Session, MFA), Before} of
            {N, none} when is_integer(N) -> N;
            {N, _} when is_integer(N), N >= Before -> N - Before;
            _ -> 0
        end,
    S1 =
        case Before of
            none ->
                kprof_count_00:clear(Session, [MFA]),
                kprof_state_00:share(S#s{counting = S#s.counting -- [MFA]});
            _ ->
                S
        end,
    kprof_switch_00:flush(S),
    Seen = min(Calls, watched(Ix, S) * kprof_state_00:sample_now(S)),
    kprof_state_00:answer(Ref, {called, Calls, Seen, Calls - Seen}, S1).

%% How often are these called? Not the tiers: they have their figures, and other questions count them.
count_rates(_, #s{rates = {counting, _, _}} = S) ->
    {wait, S};
count_rates(Asked, #s{session = Session, wish = Wish, counting = Counting} = S) ->
    Tiers = [{M, F, A} || {_, M, F, A} <- maps:get(tiers, Wish)],
    Before = kprof_catalog_00:counters(Session, Asked),
    Mine = [MFA || {MFA, none} <- Before, not lists:member(MFA, Tiers)],
    %% Known to who undoes things before it is there.
    S1 = kprof_state_00:share(S#s{counting = Mine ++ Counting, rates = {counting, kprof_state_00:now_ms(), Before}}),
    kprof_catalog_00:count(Session, Mine, true),
    erlang:send_after(?RATES_MS, self(), rates),
    {ok, S1}.

rates_counted(#s{session = Session, rates = {counting, Since, Before}, counting = Counting} = S) ->
    Rates = kprof_catalog_00:rates(Session, Before, max(1, kprof_state_00:now_ms() - Since)),
    Mine = [MFA || {MFA, none} <- Before, lists:member(MFA, Counting)],
    kprof_catalog_00:count(Session, Mine, false),
    kprof_state_00:share(S#s{counting = Counting -- Mine, rates = Rates});
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
