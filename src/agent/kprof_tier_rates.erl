%% Call rates of the tiers, in requests or not: a call outside of any request sends no event, but its match spec has a
%% cost. From time to time a few tiers get a `call_count` until the next evaluation (200 ms). Functions of the
%% controller's process.
%%
%% Invariant: counters of the agent are in the cleanup plan before they are set; those of other tracers are not changed. At most
%% ?TIERS counters at once (those of built-in functions are paused afterwards, not removed: kprof_call_count:clear/2). They are
%% on until the next evaluation, once in ?LOOKS evaluations, so they are on for about a tenth of the time. A count costs about
%% 20 ns.
-module(kprof_tier_rates).
-export([step/1, stop/1, per_second/1, relay_died/1]).
-export_type([rates/0]).

-type rates() :: #{mfa() => non_neg_integer()}. % calls per second

-include("kprof_controller.hrl").

-define(TIERS, 8).
-define(LOOKS, 10).

%% Once per evaluation: a slice begins, or the present one ends. The first begins at once.
-spec step(state()) -> state().
step(#s{tier_rates = #tier_rates{slice = {on, _}}} = S) -> done(S);
step(#s{tracing = #tracing{on = true, trace_config = #{entry := Entry}}, tier_rates = #tier_rates{slice = N} = Rates} = S0) ->
    S = S0#s{tier_rates = Rates#tier_rates{slice = N + 1}},
    case Entry =/= none andalso N rem ?LOOKS =:= 0 of
        true -> begun(S);
        false -> S
    end;
step(S) -> S#s{tier_rates = S#s.tier_rates#tier_rates{slice = 0, rates = #{}}}.

%% Called before anything else is counted or cleared.
-spec stop(state()) -> state().
stop(#s{tier_rates = #tier_rates{slice = Slice, resting = Resting} = Rates} = S) ->
    case {Slice, Resting} of
        {{on, Before}, _} -> cleared(lists:usort([MFA || {MFA, _} <- Before] ++ Resting), S#s{tier_rates = Rates#tier_rates{slice = 1, resting = []}});
        {_, []} -> S;
        {_, _} -> cleared(Resting, S#s{tier_rates = Rates#tier_rates{resting = []}})
    end.

cleared(MFAs, #s{session = Session, counting = Counting} = S) ->
    kprof_call_count:clear(Session, MFAs),
    kprof_cleanup_plan:share(S#s{counting = Counting -- MFAs}).

%% The counters are removed (kprof_cleanup, or with the session).
-spec relay_died(state()) -> state().
relay_died(#s{tier_rates = Rates} = S) -> S#s{tier_rates = Rates#tier_rates{slice = 0, resting = []}}.

%% Last known calls per second of the tiers except the entry.
-spec per_second(state()) -> non_neg_integer().
per_second(#s{tier_rates = #tier_rates{rates = Rates}}) -> lists:sum(maps:values(Rates)).

%% Entries are counted by the ticket.
begun(#s{tracing = Tracing, tier_rates = #tier_rates{rates = Rates}, session = Session, counting = Counting} = S) ->
    #tracing{trace_config = #{tiers := Tiers, entry := Entry}, set = Set} = Tracing,
    Called = [{M, F, A} || {Ix, M, F, A} <- Tiers, Ix =/= Entry] ++ kprof_match_spec:senders(Tracing#tracing.trace_config),
    All = [MFA || MFA <- Called, is_map_key(MFA, Set)],
    Known = maps:with(All, Rates),
    Resting = S#s.tier_rates#tier_rates.resting,
    Vm = kprof_hazard:vm(),
    Turn = [MFA || MFA <- lists:sublist(turn(All, S#s.tier_rates#tier_rates.from), ?TIERS), kprof_patterns:held(MFA, Vm) =:= none],
    Free = [MFA || MFA <- Turn, lists:member(MFA, Resting) orelse kprof_call_count:call_count(Session, MFA) =:= none],
    S1 = kprof_cleanup_plan:share(S#s{counting = (Free -- Resting) ++ Counting}),
    Before = [{MFA, counted_from(Session, MFA)} || MFA <- Free],
    S1#s{tier_rates = S1#s.tier_rates#tier_rates{slice = {on, Before}, rates = Known, from = S#s.tier_rates#tier_rates.from + ?TIERS}}.

turn([], _) -> [];
turn(All, From) ->
    {A, B} = lists:split(From rem length(All), All),
    B ++ A.

counted_from(Session, MFA) ->
    kprof_spec:set_pattern(Session, MFA, true, [call_count]),
    erlang:monotonic_time().

done(#s{tier_rates = #tier_rates{slice = {on, Before}, rates = Rates}, session = Session} = S) ->
    New = [{MFA, rate(N, erlang:monotonic_time() - Since)} || {MFA, Since} <- Before, N <- [kprof_call_count:call_count(Session, MFA)], is_integer(N)],
    {Builtin, Others} = lists:partition(fun({M, F, A}) -> erlang:is_builtin(M, F, A) end, [MFA || {MFA, _} <- Before]),
    [kprof_spec:set_pattern(Session, MFA, pause, [call_count]) || MFA <- Builtin],
    Resting = lists:usort(Builtin ++ S#s.tier_rates#tier_rates.resting),
    cleared(Others, S#s{tier_rates = S#s.tier_rates#tier_rates{slice = 1, rates = maps:merge(Rates, maps:from_list(New)), resting = Resting}}).

rate(Calls, Span) -> Calls * erlang:convert_time_unit(1, second, native) div max(1, Span).
