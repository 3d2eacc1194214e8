%% How often the tiers are called, in requests or not: a call outside of any request makes no event, but its match spec costs.
%% A few tiers at a time have a `call_count` for one look of the controller's, now and then. Functions of the controller's process.
%%
%% Invariant: counters of ours are known to who undoes things before they are there; someone else's are left alone. At most
%% ?TIERS counters at once, for one look in ?LOOKS: a tenth of the time, some 20 ns a call then.
-module(kprof_tier_rates).
-export([step/1, stop/1, per_second/1]).
-export_type([rates/0]).

-type rates() :: #{mfa() => non_neg_integer()}. % calls a second

-include("kprof_controller.hrl").

-define(TIERS, 8).
-define(LOOKS, 10).

%% Once a look: a slice begins, or the one that is on ends. The first begins at once.
-spec step(state()) -> state().
step(#s{slice = {on, _}} = S) -> done(S);
step(#s{on = true, trace_config = #{entry := Entry}, slice = N} = S) when Entry =/= none, N rem ?LOOKS =:= 0 -> begun(S#s{slice = N + 1});
step(#s{on = true, slice = N} = S) -> S#s{slice = N + 1};
step(S) -> S#s{slice = 0, rates_of = #{}}.

%% Whoever counts or clears something else.
-spec stop(state()) -> state().
stop(#s{slice = {on, Before}, session = Session, counting = Counting} = S) ->
    Mine = [MFA || {MFA, _} <- Before],
    kprof_call_count:clear(Session, Mine),
    kprof_cleanup_plan:share(S#s{slice = 1, counting = Counting -- Mine});
stop(S) ->
    S.

%% Calls a second of the tiers that are no entry, as last seen.
-spec per_second(state()) -> non_neg_integer().
per_second(#s{rates_of = Rates}) -> lists:sum(maps:values(Rates)).

%% Entries tell of themselves: the ticket counts them.
begun(#s{trace_config = #{tiers := Tiers, entry := Entry}, rates_of = Rates, set = Set, session = Session, counting = Counting} = S) ->
    All = [{M, F, A} || {Ix, M, F, A} <- Tiers, Ix =/= Entry, is_map_key({M, F, A}, Set)],
    Known = maps:with(All, Rates),
    Free = [MFA || MFA <- lists:sublist(turn(All, S#s.slice_from), ?TIERS), kprof_call_count:call_count(Session, MFA) =:= none],
    S1 = kprof_cleanup_plan:share(S#s{counting = Free ++ Counting}),
    Before = [{MFA, counted_from(Session, MFA)} || MFA <- Free],
    S1#s{slice = {on, Before}, rates_of = Known, slice_from = S#s.slice_from + ?TIERS}.

turn([], _) -> [];
turn(All, From) ->
    {A, B} = lists:split(From rem length(All), All),
    B ++ A.

counted_from(Session, MFA) ->
    kprof_spec:set_pattern(Session, MFA, true, [call_count]),
    erlang:monotonic_time().

done(#s{slice = {on, Before}, session = Session, rates_of = Rates} = S) ->
    New = [{MFA, rate(N, erlang:monotonic_time() - Since)} || {MFA, Since} <- Before, N <- [kprof_call_count:call_count(Session, MFA)], is_integer(N)],
    (stop(S))#s{rates_of = maps:merge(Rates, maps:from_list(New))}.

rate(Calls, Span) -> Calls * erlang:convert_time_unit(1, second, native) div max(1, Span).
