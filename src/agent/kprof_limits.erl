%% Keeps the cost of tracing, the number of events and the relay's queue within the limits: sets the sampling (kprof_sampling
%% computes it), cuts it at once on a flood, and opens the breaker if sampling cannot help. Functions of the controller's
%% process.
-module(kprof_limits).
-export_type([begins/0, evaluated/0]).
-export([affordable/1, are_copies_limited/1, detail_state/1, detail_flags/2, with_detail/2, flood/2, limits/2, nudged/1, adjust/1, begin_at/2, twice_calls_of_request/1, block/1, new_relay/1]).

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

%% 1 in N is sampled, and why not all.
-type begins() :: {pos_integer(), none | cost | copies}.
-type evaluated() :: #{now := integer(), events := integer(), weighted := integer(), beyond := integer(), run_ns := integer(), copied := integer()}.

-define(NUDGED_MS, 20). % minimum time between two evaluations
-define(SAY_MS, 2000). % minimum time between two events that report the limit in use
-define(HEAVY, 3). % consecutive evaluations over the limit, whatever the sampling
-define(RELAY_PERMILLE, 600). % of one scheduler, maximum for the relay
-define(MOST_COPIED, 10000000). % words of return values per second: some 5 % of a scheduler
-define(FIRST_RETURNS, 200). % per second, while their size is not known
-define(CUT, 8). % a flood divides sampling by this
-define(MOST, 1000000).
-define(FLOOD_MS, 60).
-define(ENOUGH, 100). % requests
-define(MANY_WAIT, 2000). % events
%% The cost of detailed requests is compared with its limit after ?DETAIL_MS. If it is more than four times the limit, fewer are
%% followed sooner; more are followed again only some time after that, so that bursts do not change the patterns all the time.
-define(DETAIL_MS, 1000).
-define(DETAIL_SOON_MS, 150).
-define(DETAIL_REST_MS, 5000).
-define(DETAIL_COST, 20000). % most that detailed requests may cost if max_cost is not set, in millionths of the schedulers' time
-define(DETAIL_EVENT_NS, 1500). % of an event of a detailed request, in its process and in the relay
-define(DETAIL_MOST, 4096).

%% max_age_ms, max_queue, max_memory, max_rate, max_cost, max_blocked_ms (0: no limit), cooldown_ms: a limit that is
%% not given keeps its value, except cooldown_ms: ?COOL_MS.
-spec limits(#{atom() => non_neg_integer()}, state()) -> state().
limits(New, #s{limits = #limits{max = Old}, breaker = B} = S) ->
    S1 = kprof_tracing:send_limits(S#s{
        limits = S#s.limits#limits{max = maps:merge(Old, maps:with(maps:keys(Old), New))},
        breaker = kprof_breaker:cooldown(maps:get(cooldown_ms, New, ?COOL_MS), B)
    }),
    case kprof_sampling:in_force(S1) =:= kprof_sampling:in_force(S) of
        true ->
            S1#s.relay =/= none andalso kprof_tiers:weigh(S1),
            S1;
        false -> kprof_tiers:resample(S1)
    end.

%% The sampling that the counted rates require -> {ok, N} | {part, N}: for a part of the time | {error, Text}: even unsampled calls
%% cost too much.
-spec affordable(state()) -> {ok | part, begins()} | {error, binary()}.
affordable(#s{count = none}) ->
    {ok, {1, none}};
affordable(#s{count = Count, cost = Cost, limits = #limits{max = #{max_cost := MaxCost, max_rate := MaxRate}}, tracing = #tracing{trace_config = Config}} = S) ->
    Rates = kprof_call_count:rates(Count),
    Reckoned = kprof_cost:expected(Rates, counted_now(S), Config, Cost),
    #{fixed := Fixed, all := All} = Reckoned,
    Most = kprof_part_time:most_to_begin(S),
    case kprof_cost:affordable(Reckoned, MaxCost, MaxRate, ?RELAY_PERMILLE) of
        {ok, N} ->
            {ok, careful(N, Reckoned, S)};
        too_much when Fixed =< Most ->
            {ok, N} = kprof_cost:affordable(Reckoned#{fixed := 0, all := All - Fixed}, MaxCost, MaxRate, ?RELAY_PERMILLE),
            {part, careful(N, Reckoned, S)};
        too_much ->
            {error, too_much(Rates, Config, Fixed, Most)}
    end.

%% Nobody knows how large the return values are that the VM will copy: sampling begins with few.
careful(N, #{events := Events}, S) ->
    Few = Events div (2 * ?FIRST_RETURNS),
    case are_copies_limited(S) of
        true when Few > N -> {min(?MOST, Few), copies};
        _ when N > 1 -> {min(?MOST, N), cost};
        _ -> {1, none}
    end.

%% True if return values are copied, and the agent limits that.
-spec are_copies_limited(state()) -> boolean().
are_copies_limited(#s{tracing = #tracing{trace_config = #{returns := Returns}}, limits = #limits{max = #{max_queue := Max}}}) ->
    Returns =:= full andalso Max > 0.

%% Tracing begins with the sampling of affordable/1.
-spec begin_at(begins(), state()) -> state().
begin_at({N, Why}, #s{limits = Limits} = S) -> S#s{limits = Limits#limits{sample = N, why = Why}}.

%% The relay is new: the next evaluation only stores its counters.
-spec new_relay(state()) -> state().
new_relay(#s{limits = Limits} = S) -> S#s{limits = Limits#limits{evaluated = undefined, detail_seen = none}}.

%% The ticket gives the call rate of the entry, or of the only tier if there is none.
known_rates(#s{tier_rates = #tier_rates{rates = Rates}, tracing = #tracing{trace_config = Config}, limits = #limits{ticket_rate = PerS}}) ->
    #{tiers := Tiers, entry := Entry} = Config,
    Sampled = [{M, F, A} || {Ix, M, F, A} <- Tiers, Ix =:= Entry orelse (Entry =:= none andalso length(Tiers) =:= 1)],
    maps:merge(Rates, maps:from_list([{MFA, PerS} || MFA <- Sampled])).

%% If sampling cannot help, the operator should remove what is called most often.
too_much(Rates, Config, Fixed, Max) ->
    Text = "unsampled calls would cost ~ts of the node (limit ~ts); ",
    Remove =
        case lists:reverse(lists:sort([{N, MFA} || {MFA, N} <- maps:to_list(Rates)])) of
            [] -> "remove the tier that is called most often";
            [{N, {M, F, A} = MFA} | _] ->
                case lists:member(MFA, kprof_match_spec:senders(Config)) of
                    true -> io_lib:format("do not measure the time in mailboxes (~b calls to servers/s)", [N]);
                    false -> io_lib:format("remove the tier ~ts (~b calls/s)", [kprof_text:mfa(M, F, A), N])
                end
        end,
    kprof_text:format(Text ++ "~ts", [percent(Fixed), percent(Max), Remove]).

%% Every 200 ms. The relay updates its counters once a tick, so an evaluation shortly after another would see no events.
-spec adjust(state()) -> state().
adjust(S0) ->
    #s{limits = #limits{evaluated = At}} = S = kprof_tier_rates:step(S0),
    Now = kprof_node:now_ms(),
    %% a call may have restored the word from before the last change
    S#s.tracing#tracing.on andalso not S#s.beside andalso kprof_tiers:cut(S),
    case At of
        #{now := Then} when Now - Then < ?NUDGED_MS -> S;
        _ -> evaluate(Now, S)
    end.

%% Keeps the values since the last evaluation within the limits: kprof_sampling.
evaluate(Now, #s{limits = #limits{evaluated = At, sample = Old}} = S0) ->
    Seen = seen(Now, S0),
    Noted = kprof_link:counter(?NOTED, S0),
    S1 = S0#s{
        limits = S0#s.limits#limits{evaluated = Seen, noted = Noted, ticket_rate = ticket_rate(S0), ticket = {Now, kprof_node:ticket()}},
        cost = kprof_cost:observe(counted_now(S0), S0#s.cost)
    },
    case At of
        #{} when S0#s.tracing#tracing.on, S0#s.part_time#part_time.phase =/= off ->
            tell_why(Now, kprof_part_time:evaluated(heavy(S1)));
        #{} when S0#s.tracing#tracing.on ->
            {New, Why} = let_out(Noted, At, Seen, next_sample(goals(At, Seen, S1), S1), S0),
            Calls = measured_calls(At, Seen, S0),
            S2 = sample_to(New, S1#s{limits = S1#s.limits#limits{why = Why, calls = Calls}}),
            Calls =/= S0#s.limits#limits.calls andalso kprof_tiers:weigh(S2),
            tell_why(Now, kprof_part_time:evaluated(heavy(detail_to(Now, S2))));
        _ ->
            S1#s{limits = S1#s.limits#limits{sample = Old, heavy = 0, detail_seen = none}}
    end.

%% If the relay had no turn since the last evaluation, or has a long queue, its counters are too low: sampling is not
%% increased. Nor if return values are copied, and there was none.
let_out(Noted, At, Seen, {New, _} = Next, #s{limits = #limits{sample = Old, why = Why, noted = Before}} = S) when New < Old ->
    None = grown(copied, At, Seen) =:= 0 andalso are_copies_limited(S),
    case Noted =:= Before orelse None orelse kprof_link:counter(?QUEUE, S) > ?MANY_WAIT of
        true -> {Old, Why};
        false -> Next
    end;
let_out(_, _, _, Next, _) ->
    Next.

%% Calls per second that took a sampling decision since the last evaluation. In a part of the time: that of the last cycle; while
%% this is not known, or 0, the last one known.
ticket_rate(#s{part_time = #part_time{phase = Phase, calls_s = 0}, limits = #limits{ticket_rate = PerS}}) when Phase =/= off -> PerS;
ticket_rate(#s{part_time = #part_time{phase = Phase, calls_s = PerS}}) when Phase =/= off -> PerS;
ticket_rate(#s{limits = #limits{ticket = none}}) -> 0;
ticket_rate(#s{limits = #limits{ticket = {Then, Before}}}) ->
    kprof_spec:tickets(Before, kprof_node:ticket()) * 1000 div max(1, kprof_node:now_ms() - Then).

events(S) -> kprof_link:counter(?SENT, S) + kprof_link:counter(?DROPPED, S).

%% For the pacer: two times the number of calls that count as sampled for a sampled request; 0: none does. With a limit of cost,
%% half more than its traced calls: a node that is fully loaded makes fewer calls than are due. Without one, the operator wants as
%% much as possible, and the relay finds out what that is.
-spec twice_calls_of_request(state()) -> non_neg_integer().
twice_calls_of_request(#s{part_time = #part_time{phase = Phase}}) when Phase =/= off -> 0; % it samples many calls in a short time
twice_calls_of_request(#s{limits = #limits{max = #{max_cost := 0}}}) -> 2;
twice_calls_of_request(S) -> 3 * traced_calls(S).

%% For the pacer: the size of a block of tickets, and the events of a request, if calls that come at once are limited. Not without
%% a limit of what waits, nor in a part of the time, in which many calls are sampled; and other agents use the same control word.
-spec block(state()) -> {pos_integer(), pos_integer()} | none.
block(#s{part_time = #part_time{phase = Phase}}) when Phase =/= off -> none;
block(#s{limits = #limits{max = #{max_queue := 0}}}) -> none;
block(#s{beside = true}) -> none;
block(#s{tracing = #tracing{trace_config = Config}} = S) ->
    case kprof_sampling:momentary(S) of
        1 -> {kprof_match_spec:block(Config), 2 * traced_calls(S)};
        _ -> none
    end.

%% As measured. Until then, each tier once: it is better to cut sampling once too much in a flood than to notice it when the relay is
%% behind.
traced_calls(#s{tracing = #tracing{trace_config = #{entry := none}}}) -> 1;
traced_calls(#s{limits = #limits{calls = unknown}, tracing = #tracing{specs = Specs}}) -> max(1, length(Specs));
traced_calls(#s{limits = #limits{calls = Calls}}) -> Calls.

%% The relay may be behind: a lower value is taken in steps.
measured_calls(Before, Seen, #s{limits = #limits{ticket = {_, Ticket}, calls = Known}} = S) ->
    Old = traced_calls(S),
    Requests = max(1, kprof_spec:tickets(Ticket, kprof_node:ticket()) - grown(beyond, Before, Seen)),
    case Requests div kprof_sampling:momentary(S) >= ?ENOUGH of
        true -> max(1, max(grown(weighted, Before, Seen) div (2 * Requests), Old - (Old + 3) div 4));
        false -> Known
    end;
measured_calls(_, _, #s{limits = #limits{calls = Known}}) ->
    Known.

%% What an evaluation compares with the last one.
seen(Now, S) -> #{now => Now, events => kprof_link:counter(?READ, S), weighted => kprof_link:counter(?WEIGHTED, S), beyond => kprof_link:counter(?BEYOND, S), run_ns => kprof_link:counter(?RUN_NS, S), copied => kprof_link:counter(?COPIED, S)}.

grown(Key, Before, Seen) -> maps:get(Key, Seen) - maps:get(Key, Before).

per_second(N, Before, Seen) -> N * 1000 div max(1, grown(now, Before, Seen)).

%% Events per second with the sampling in force. Events from before a cut may still wait, or be dropped, after it: they count
%% by their weight. Otherwise each cut would be followed by a deeper one.
rate(Before, Seen, S) -> per_second(grown(weighted, Before, Seen) div kprof_sampling:in_force(S), Before, Seen).

%% The relay's share of a scheduler in permille, without its time for events from before a cut.
busy(Before, Seen, S) -> of_now(run_ns, Before, Seen, S) div 1000000.

%% Per second, without what events from before a cut cause.
of_now(What, Before, Seen, S) ->
    Events = grown(events, Before, Seen),
    Now = min(Events, grown(weighted, Before, Seen) div kprof_sampling:in_force(S)),
    per_second(grown(What, Before, Seen), Before, Seen) * (Now + 1) div (Events + 1).

%% More messages wait than the relay can process soon: sampling is cut at once and increases again within the limits. The relay
%% drops the messages itself.
%% {calls, PerS, N}: PerS calls per second are sampled with 1/N. If sampling has been cut since, there are fewer now.
-spec flood(non_neg_integer() | {calls, non_neg_integer(), pos_integer()}, state()) -> state().
flood({calls, _, _}, #s{limits = #limits{max = #{max_queue := 0}}} = S) ->
    S;
flood({calls, _, _}, #s{beside = true} = S) ->
    S; % the tickets are those of all agents
flood({calls, PerS, N}, S) ->
    case PerS * N div kprof_sampling:momentary(S) of
        Now when Now > ?MOST_SAMPLED -> cut_for({calls, Now}, S);
        _ -> S
    end;
flood(Waiting, S) ->
    cut_for(Waiting, S).

cut_for(Waiting, #s{tracing = #tracing{on = true}, limits = #limits{sample = Old, flooded = Last}} = S) ->
    Now = kprof_node:now_ms(),
    case Last =:= none orelse Now - Last >= settled_ms(Waiting) of
        true when Old * ?CUT > ?MOST, is_integer(Waiting), Waiting > 0 ->
            kprof_tracing:trip(no_sampling_helps(S), S#s{limits = S#s.limits#limits{flooded = Now}});
        true ->
            New = min(?MOST, max(kprof_sampling:base(S), Old) * cut_by(Waiting)),
            (New > Old andalso (Last =:= none orelse Now - Last > ?SAY_MS)) andalso kprof_link:event(sampling, flood_text(Waiting, New), S),
            S1 = sample_to(New, S#s{limits = S#s.limits#limits{why = flood, flooded = Now, evaluated = seen(Now, S)}}),
            atomics:put(S1#s.counters, ?CUT_AT, kprof_node:now_ms()), % the relay uses it to decide whether the cut has taken effect
            S1;
        false ->
            is_integer(Waiting) andalso atomics:put(S#s.counters, ?CUT_AT, Now), % the relay opens the breaker if nobody answers
            S
    end;
cut_for(_, S) ->
    S.

%% The cost of unsampled calls is the better reason: on a busy node the messages may be from before the last cuts. When a load has
%% just begun, the average of a second is too low: then the calls since the last evaluation show the cost.
no_sampling_helps(#s{limits = #limits{max = #{max_cost := Max}} = Limits, tracing = #tracing{trace_config = Config}} = S0) ->
    Most = kprof_part_time:most_fixed(S0),
    PerS = ticket_rate(S0),
    S = S0#s{limits = Limits#limits{ticket_rate = PerS}},
    case max(kprof_part_time:fixed(S), kprof_part_time:fixed(PerS, S)) of
        Fixed when Max > 0, Fixed > Most -> too_much(known_rates(S), Config, Fixed, Most);
        _ -> <<"even one sampled request makes more events than the agent can process">>
    end.

%% Messages from before the last cut are not a new flood. A call rate shows the effect of a cut at once; queued messages show it
%% later.
settled_ms({calls, _}) -> ?FLOOD_MS;
settled_ms(_) -> 4 * ?FLOOD_MS.

%% The rate of sampled calls is known: sampling is cut to a fifth of what the relay can process, or deeper: on a node that is
%% fully loaded by now, the rate is lower than the load.
cut_by({calls, PerS}) -> max(?CUT, PerS * 5 div ?MOST_SAMPLED);
cut_by(_) -> ?CUT.

flood_text({calls, _}, New) -> kprof_text:format("there are more calls than the agent can process: sampling is cut to 1/~b", [New]);
flood_text(0, New) -> kprof_text:format("the node's run queue is long: sampling is cut to 1/~b", [New]);
flood_text(Waiting, New) -> kprof_text:format("~b events in the agent's queue were dropped: sampling is cut to 1/~b", [Waiting, New]).

%% The relay drops events beyond the limit. An evaluation before its time is only useful if the rate is above the limit.
-spec nudged(state()) -> state().
nudged(#s{limits = #limits{evaluated = #{now := Then} = Before, max = #{max_rate := Max}}} = S) when Max > 0 ->
    Now = kprof_node:now_ms(),
    case Now - Then >= ?NUDGED_MS andalso rate(Before, seen(Now, S), S) > Max of
        true -> evaluate(Now, S);
        false -> S
    end;
nudged(S) ->
    S.

sample_to(New, #s{cost = Cost} = S0) ->
    S = S0#s{limits = S0#s.limits#limits{sample = New}},
    case {kprof_sampling:in_force(S0), kprof_sampling:in_force(S)} of
        {Same, Same} -> S;
        {Old, Now} -> kprof_tiers:recut(S#s{cost = kprof_cost:resampled(Old, Now, Cost)})
    end.

%% While the breaker increases sampling in steps, the limits do not increase it as well. When sampling increases, the reason for
%% what is left stays the same.
next_sample(Goals, #s{tracing = #tracing{trace_config = #{sample := Configured}}, breaker = B, limits = #limits{why = Why}} = S) ->
    Base = kprof_sampling:base(S),
    Step = kprof_breaker:factor(B),
    case kprof_sampling:next(Base, Configured, Goals) of
        {Less, _} when Less < Base, Step > 1 -> {Base, Why};
        {Less, Other} when Less < Base, Other =/= none, Why =/= none -> {Less, Why};
        Next -> Next
    end.

%% In addition to the operator's limits, the agent has its own: ?RELAY_PERMILLE of a scheduler for the relay, and ?MOST_COPIED.
goals(Before, Seen, #s{limits = #limits{max = #{max_rate := MaxRate, max_cost := MaxCost, max_queue := MaxQueue}}, cost = Cost} = S) ->
    {All, Fixed} = kprof_cost:spent(Cost),
    [{rate, rate(Before, Seen, S), MaxRate} || MaxRate > 0] ++
        [{cost, All - Fixed, max(1, MaxCost - Fixed)} || MaxCost > 0] ++
        [{flood, busy(Before, Seen, S), ?RELAY_PERMILLE} || MaxQueue > 0] ++
        [{copies, of_now(copied, Before, Seen, S), ?MOST_COPIED} || are_copies_limited(S)].

counted_now(#s{tracing = #tracing{trace_config = #{entry := Entry, returns := Returns} = Config}} = S) ->
    #{
        now_ns => erlang:monotonic_time(nanosecond),
        loop_ns => kprof_calibration:loop_ns(),
        events => events(S),
        weighted => kprof_link:counter(?WEIGHTED, S),
        ticket => kprof_node:ticket(),
        relay_ns => kprof_link:counter(?RUN_NS, S),
        details => kprof_link:counter(?DETAIL, S),
        helped_ns => kprof_link:counter(?HELPED_NS, S),
        detail => maps:get(detail, with_detail(Config, S)),
        polls => kprof_link:counter(?POLLS, S),
        batches => kprof_link:counter(?SEQ, S),
        copied => kprof_link:counter(?COPIED, S),
        tier_calls_s => kprof_tier_rates:per_second(S) * kprof_part_time:share(S) div 1000,
        sample => kprof_sampling:momentary(S),
        factor => kprof_part_time:usual(S),
        counted_s => kprof_part_time:counted_s(S),
        entry => Entry =/= none,
        returns => Returns,
        args => maps:get(args, Config),
        schedulers => erlang:system_info(schedulers_online)
    }.

%% ---- Details: of the sampled requests, 1 in N with the scheduling of their processes ----

%% The trace configuration with the N in force, and the flags; 0: none. Without an entry there are no requests.
-spec with_detail(kprof_spec:trace_config(), state()) -> kprof_spec:trace_config().
with_detail(#{detail := N} = Config, #s{limits = #limits{detail = Factor}} = S) ->
    case detail_flags(Config, S) of
        [] -> Config#{detail := 0};
        Flags -> Config#{detail := min(1000000, N * Factor), detail_flags => Flags}
    end.

-spec detail_flags(kprof_spec:trace_config(), state()) -> [atom()].
detail_flags(#{detail := N, entry := Entry}, #s{vm = Vm}) ->
    case N > 0 andalso Entry =/= none andalso kprof_detail:allowed(Vm) of
        true -> kprof_detail:flags(kprof_hazard:allowed(gc_flags, Vm));
        false -> []
    end.

%% For the heartbeat: the N in force (0: none), and why it is not as configured: 0 it is, 1 not on this VM, 2 too many events,
%% 3 without an entry there are no requests.
-spec detail_state(state()) -> {non_neg_integer(), 0..3}.
detail_state(#s{tracing = #tracing{trace_config = #{detail := N, entry := Entry}}, vm = Vm, limits = #limits{detail = Factor}}) ->
    Allowed = kprof_detail:allowed(Vm),
    if
        N =:= 0 -> {0, 0};
        not Allowed -> {0, 1};
        Entry =:= none -> {0, 3};
        Factor > 1 -> {min(1000000, N * Factor), 2};
        true -> {N, 0}
    end.

%% Fewer requests are followed in detail if their events and the helper (kprof_detail) cost too much; more again later. The time for
%% reading the files of modules does not count: it is spent once, however many requests are followed.
detail_to(_, #s{tracing = #tracing{trace_config = #{detail := 0}}} = S) ->
    S;
detail_to(Now, #s{limits = #limits{detail = Old, detail_seen = Before, detail_cut = CutAt} = Limits} = S) ->
    Spent = kprof_link:counter(?DETAIL, S) * ?DETAIL_EVENT_NS + kprof_link:counter(?HELPED_NS, S) - kprof_link:counter(?READING_NS, S),
    Most = detail_most(S),
    case Before of
        none ->
            S#s{limits = Limits#limits{detail_seen = {Now, Spent}}};
        {Then, _} when Now - Then < ?DETAIL_SOON_MS ->
            S;
        {Then, Last} ->
            Cost = max(0, Spent - Last) div ((Now - Then) * erlang:system_info(schedulers_online)), % ns per ms: millionths
            Seen = S#s{limits = Limits#limits{detail_seen = {Now, Spent}}},
            Long = Now - Then >= ?DETAIL_MS,
            SinceCut = if CutAt =:= none -> infinity; true -> Now - CutAt end, % an atom is greater than any number
            if
                Cost > Most, Long; Cost > 4 * Most, SinceCut > ?DETAIL_MS ->
                    followed(min(?DETAIL_MOST, Old * max(2, Cost div Most)), Seen#s{limits = Seen#s.limits#limits{detail_cut = Now}});
                not Long -> S;
                Cost * 4 < Most, SinceCut > ?DETAIL_REST_MS -> followed(max(1, Old div 2), Seen);
                true -> Seen
            end
    end.

followed(Same, #s{limits = #limits{detail = Same}} = S) -> S;
followed(New, #s{limits = Limits} = S) -> kprof_tiers:resample(S#s{limits = Limits#limits{detail = New}}).

detail_most(#s{limits = #limits{max = #{max_cost := 0}}}) -> ?DETAIL_COST;
detail_most(#s{limits = #limits{max = #{max_cost := Max}}}) -> max(1, Max div 10).

%% Sampling cannot lower the cost that every call has.
heavy(#s{tracing = #tracing{on = true}, limits = #limits{max = #{max_cost := Max}, heavy = Heavy}} = S) when Max > 0 ->
    Most = kprof_part_time:most_fixed(S),
    case kprof_part_time:fixed(S) of
        Fixed when Fixed > Most, Heavy + 1 >= ?HEAVY ->
            kprof_tracing:trip(too_much(known_rates(S), S#s.tracing#tracing.trace_config, Fixed, Most), S#s{limits = S#s.limits#limits{heavy = 0}});
        Fixed when Fixed > Most ->
            S#s{limits = S#s.limits#limits{heavy = Heavy + 1}};
        _ ->
            S#s{limits = S#s.limits#limits{heavy = 0}}
    end;
heavy(S) ->
    S#s{limits = S#s.limits#limits{heavy = 0}}.

percent(Millionths) -> io_lib:format("~b.~b %", [Millionths div 10000, Millionths rem 10000 div 1000]).

tell_why(Now, #s{limits = #limits{why = Why, said = {Said, At}, max = Limits}} = S) when Why =/= Said, At =:= none orelse Now - At >= ?SAY_MS ->
    kprof_link:event(
        sampling,
        case Why of
            none -> kprof_text:format("sampling is as requested again: 1/~b", [kprof_sampling:in_force(S)]);
            rate -> kprof_text:format("sampling 1/~b to stay below ~b events/s", [kprof_sampling:in_force(S), maps:get(max_rate, Limits)]);
            cost -> kprof_text:format("sampling 1/~b to stay below ~ts of the node", [kprof_sampling:in_force(S), percent(maps:get(max_cost, Limits))]);
            flood -> kprof_text:format("sampling 1/~b: the agent cannot process more", [kprof_sampling:in_force(S)]);
            copies -> kprof_text:format("sampling 1/~b: the return values are large, and the VM copies them; lean returns need no copy", [kprof_sampling:in_force(S)]);
            part_time ->
                kprof_text:format("calls that are not sampled are expensive: from now on, tracing is on for about ~b % of the time", [(kprof_part_time:share(S) + 9) div 10])
        end,
        S
    ),
    S#s{limits = S#s.limits#limits{said = {Why, Now}}};
tell_why(_, S) ->
    S.
