%% The tiers on the VM: takes the trace configuration, sets its patterns and the sampling in force, and sets patterns again that
%% the VM has lost. Functions of the controller's process; each takes its state and returns the next one.
-module(kprof_tiers).
-export([all_the_time/1, beside/1, brake/1, clear_all/1, config/2, cut/1, recut/1, resample/1, sample/2, session_ended/1, set_all/1, watch_reloads/1, weigh/1]).

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

%% ---- The trace configuration ----

-spec config(map(), state()) -> {{ok, [{kprof_spec:ix(), 0 | 1, binary()}]} | {error, hazard | identity, binary()}, state()}.
config(Config0, #s{tracing = #tracing{trace_config = Old}} = S) ->
    Config1 = maps:merge(maps:remove(rules, Old), maps:with([tiers, entry, identity, returns, sample, args, detail, mailbox], Config0)),
    Config2 = Config1#{
        tiers := [{Ix, kprof_code:to_atom(M), kprof_code:to_atom(F), A} || {Ix, M, F, A} <- maps:get(tiers, Config1)],
        sample := max(1, min(1000000, maps:get(sample, Config1))),
        detail := max(0, min(1000000, maps:get(detail, Config1)))
    },
    Config = Config2#{rules => rules(Config2, Old)}, % once: sampling changes often
    Vm = kprof_hazard:vm(),
    case compiled(Config, Vm, S) of
        {ok, Specs, Notes} ->
            Changed = maps:get(identity, Config) =/= maps:get(identity, Old),
            [kprof_link:event(identity, N, S) || N <- Notes, Changed],
            {Taken, S1} = apply_config(Config, Specs, S),
            {{ok, [kprof_patterns:matched(T, Specs, Taken) || T <- maps:get(tiers, Config)]}, S1};
        {held, Why} ->
            {{error, hazard, Why}, S};
        {error, Why} ->
            {{error, identity, Why}, S}
    end.

rules(#{tiers := Tiers, entry := Entry, identity := Rule}, #{tiers := Tiers, entry := Entry, identity := Rule, rules := Rules}) -> Rules;
rules(Config, _) -> kprof_match_spec:rules(Config).

%% A configuration that is not supported on this VM is refused (kprof_hazard).
compiled(#{returns := Returns} = Config, Vm, S) ->
    case Returns =:= lean andalso not kprof_hazard:allowed(lean_beside, Vm) of
        true -> {held, kprof_hazard_text:reason(lean_beside, Vm)};
        false -> patterns(Config, S#s{tracing = S#s.tracing#tracing{trace_config = Config}})
    end.

patterns(Config, S) -> kprof_match_spec:compile((kprof_limits:with_detail(Config, S))#{epoch => S#s.epoch, sample := kprof_sampling:of_patterns(S)}).

%% -> {The functions that are left to other tracers, S}
apply_config(Config, Specs, #s{tracing = #tracing{trace_config = Old, on = On}} = S) ->
    Returns = maps:get(returns, Config) =/= maps:get(returns, Old),
    S1 =
        case On andalso Returns of
            true -> kprof_tracing:quiet(S);
            false -> S
        end,
    %% What is set already is replaced: to remove it now is what harms others.
    New = [Spec || {_, MFA, _} = Spec <- Specs, not is_map_key(MFA, S1#s.tracing#tracing.set)],
    Taken = kprof_patterns:held_back(New, kprof_hazard:vm()) ++ taken(Specs, S1),
    Ours = [Spec || {Ix, _, _} = Spec <- Specs, not lists:keymember(Ix, 1, Taken)],
    S2 = S1#s{tracing = S1#s.tracing#tracing{trace_config = Config, specs = Ours}},
    On andalso unlimited(S2), % a limit belongs to the patterns
    S3 = if On -> set_all(S2); true -> S2 end,
    S3#s.relay =/= none andalso weigh(S3),
    On andalso not S3#s.beside andalso cut(S3),
    Tracing = #tracing{tokens = Tokens} = S3#s.tracing,
    S4 = if On andalso Returns -> kprof_tracing:trace_on(S3); true -> S3#s{tracing = Tracing#tracing{tokens = Tokens orelse (On andalso maps:get(entry, Config) =/= none)}} end,
    {Taken, S4}.

%% Functions that other tracers trace. Without a session where there are sessions, the relay was killed: the next one gets a
%% session, and then the patterns of others do not matter.
taken(_, #s{isolated = true, session = none}) -> [];
taken(Specs, #s{session = Session, tracing = #tracing{set = Set}}) -> kprof_patterns:taken(Session, Specs, Set).

-spec sample(pos_integer(), state()) -> state().
sample(N, #s{tracing = #tracing{trace_config = Config} = Tracing} = S) ->
    resample(S#s{tracing = Tracing#tracing{trace_config = Config#{sample := min(N, 1000000)}}}).

-spec resample(state()) -> state().
resample(#s{tracing = #tracing{trace_config = Config}} = S) ->
    case patterns(Config, S) of
        {ok, Specs, _} ->
            {Taken, S1} = apply_config(Config, Specs, S),
            left_to_others([Spec || {_, MFA, _} = Spec <- Taken, lists:keymember(MFA, 2, S#s.tracing#tracing.specs)], S1),
            S1;
        _ ->
            S
    end.

left_to_others(Taken, S) -> [kprof_link:event(others, kprof_text:format("another tracer traces ~ts now: it is not traced here", [kprof_text:mfa(M, F, A)]), S) || {_, {M, F, A}, _} <- Taken].

%% Applies the sampling that the limits require: at once, by the control word alone if no other agent uses it.
-spec recut(state()) -> state().
recut(#s{tracing = #tracing{on = true}, beside = false} = S) ->
    cut(S),
    weigh(S),
    S;
recut(#s{beside = true} = S) ->
    resample(S);
recut(S) ->
    S.

%% Sets the cut that the sampling requires, which the pacer keeps; with other agents none, which nobody keeps.
-spec cut(state()) -> boolean().
cut(#s{beside = Beside, counters = Counters} = S) ->
    Cut = kprof_sampling:cut(S),
    atomics:put(Counters, ?CUT_CODE, case Beside of true -> 0; false -> kprof_spec:cut_bits(Cut) end), % before the word
    kprof_spec:cut(Cut).

%% Another agent has attached to the node, or the last other one has ended: they share the control word.
-spec beside(state()) -> state().
beside(#s{beside = Before} = S0) ->
    case kprof_node:agents() of
        Before ->
            S0;
        Now ->
            S = kprof_cleanup_plan:share(S0#s{beside = Now}),
            S#s.relay =/= none andalso weigh(S), % an agent that is not alone has no limit in the control word
            Now andalso cut(S),
            if S#s.tracing#tracing.on -> resample(S); true -> S end
    end.

%% Tracing was on for a part of the time.
-spec all_the_time(state()) -> state().
all_the_time(S0) ->
    S = set_all(S0),
    weigh(S),
    cut(S),
    S.

%% Sets the weight of the events from now on.
-spec weigh(state()) -> term().
weigh(#s{relay = Relay} = S) ->
    N = kprof_sampling:in_force(S),
    Relay ! {weight, N, erlang:monotonic_time()},
    sampling(kprof_limits:block(S), S).

%% For the pacer.
sampling(Block, #s{pacer = Pacer} = S) -> Pacer ! {sample, kprof_sampling:momentary(S), kprof_limits:twice_calls_of_request(S), Block}.

unlimited(S) ->
    sampling(none, S),
    Word = erlang:system_info(trace_control_word),
    S#s.beside orelse kprof_spec:held(Word) orelse kprof_spec:allow(none, Word).

%% Stops all tracing by the control word (the brake), whatever patterns are set.
-spec brake(state()) -> term().
brake(#s{beside = false}) -> kprof_spec:cut(brake);
brake(_) -> false.

%% Sets the patterns that differ.
-spec set_all(state()) -> state().
set_all(S0) ->
    #s{tracing = #tracing{specs = Specs, set = Set0, trace_config = Config}, session = Session, relay = Relay} = S = kprof_part_time:forget(S0),
    Details = kprof_limits:detail_flags(Config, S),
    Details =/= [] andalso (Relay ! {detail, Details}), % before the first event of them
    {Set, Failed} = kprof_patterns:set(Session, Specs, Set0, fun(Coming) -> kprof_cleanup_plan:share(S#s{tracing = S#s.tracing#tracing{set = Coming}}) end),
    Details =:= [] andalso (Relay ! {detail, []}),
    [kprof_link:event(pattern, kprof_text:format("cannot trace ~ts: ~0tP", [kprof_text:mfa(M, F, A), Why, 12]), S) || {{M, F, A}, Why} <- Failed],
    kprof_cleanup_plan:share(S#s{tracing = S#s.tracing#tracing{set = Set}}).

-spec clear_all(state()) -> state().
clear_all(#s{session = Session} = S0) ->
    kprof_patterns:clear(Session, kprof_part_time:own(S0)),
    S = kprof_part_time:forget(S0),
    kprof_cleanup_plan:share(S#s{tracing = S#s.tracing#tracing{set = #{}}}).

%% A reloaded module has lost its patterns. If there are none (the breaker is open, tracing is off), or a pattern was set since,
%% the version of the module shows the reload.
-spec watch_reloads(state()) -> state().
watch_reloads(#s{tracing = #tracing{versions = Before}} = S0) ->
    Versions = maps:merge(Before, kprof_patterns:versions(S0#s.tracing#tracing.specs)),
    Other = [M || {M, V} <- maps:to_list(Versions), maps:get(M, Before, V) =/= V],
    {Lost, S} = put_again(S0#s{tracing = S0#s.tracing#tracing{versions = Versions}}),
    Marks = lists:usort([M || {M, _, _} <- Lost] ++ Other),
    [kprof_link:event(reload, kprof_text:format("~ts was loaded", [shown(M)]), S) || M <- Marks, not lists:keymember(M, 1, Lost)],
    lists:foldl(fun(M, Acc) -> kprof_link:event_kept(mark, kprof_text:format("~ts", [shown(M)]), Acc) end, S, Marks).

%% A built-in function whose pattern is off is traced again once its pattern is set again. -> {Functions that had lost their
%% pattern, S}
put_again(#s{part_time = #part_time{phase = Phase}} = S) when Phase =/= off ->
    {[], S}; % each cycle sets the patterns
put_again(#s{tracing = #tracing{on = true, set = Set, specs = Specs, sessions = Before} = Tracing, session = Session, vm = Vm} = S0) ->
    {Sessions, Silent} = kprof_patterns:silent(Set, Before, Vm),
    S = S0#s{tracing = Tracing#tracing{sessions = Sessions}},
    Lost = kprof_patterns:lost(Session, Set),
    case Lost ++ kprof_patterns:missing(Specs, Set) of
        [] when Silent =:= [] ->
            {[], S};
        All ->
            Taken = kprof_patterns:taken(Session, Specs, Set), % also after the module was loaded
            left_to_others(Taken, S),
            S1 = set_all(S#s{tracing = S#s.tracing#tracing{set = maps:without(Lost ++ Silent, Set), specs = Specs -- Taken}}),
            [kprof_link:event(reload, kprof_text:format("~ts was loaded: ~ts", [kprof_text:mfa(M, F, A), again(maps:is_key(MFA, S1#s.tracing#tracing.set))]), S) || {M, F, A} = MFA <- All, not lists:keymember(MFA, 2, Taken)],
            {Lost, S1}
    end;
put_again(S) ->
    {[], S}.

%% One of the agent, which may have begun after sessions were last read.
-spec session_ended(state()) -> state().
session_ended(#s{tracing = #tracing{sessions = Sessions} = Tracing} = S) -> S#s{tracing = Tracing#tracing{sessions = [ended | Sessions]}}.

shown(M) -> kprof_text:shown(atom_to_list(M)).

again(true) -> "it is traced again";
again(false) -> "this function no longer exists".
