%% The controller: owns patterns, flags and session; answers kprof-top; pauses tracing when the lease expires; removes everything
%% if kprof-top disappears or stays silent. It has priority over the node's own processes, so that it runs even when the node is
%% fully loaded. Longer work is done in separate processes. This source has its start, its loop and its end;
%% kprof_controller.hrl has its state, and lists the sources that change it.
-module(kprof_controller).
-export([start/1, init/2]).
-export_type([options/0]).

-type options() :: #{
    pid := pid(), node := node(), who := binary(), instance := non_neg_integer(), key := binary(), epoch := pos_integer(), force => boolean(), again => boolean(),
    pause_ms => pos_integer(), end_ms => pos_integer()
}.

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

-define(START_MS, 10000).
-define(ENDED_MS, 2000).
-define(NOTHING, 5000). % ppm of scheduler time that counts as no cost; with a long run queue, the measured cost of an idle relay is 2000

%% Called over rpc. -> {ok, Pid, Info} | {error, Tag, Binary}
-spec start(options()) -> {ok, pid(), map()} | {error, atom(), binary()}.
start(Opts) ->
    Word = kprof_node:original(erlang:system_info(trace_control_word)),
    %% The limit of the VM for heaps (+hmax) is for the node's own processes: each process of the agent has another one, or none.
    {Pid, Ref} = spawn_opt(?MODULE, init, [self(), Opts], [monitor, {priority, high}, {max_heap_size, 0}]),
    receive
        {started, Pid, Answer} ->
            erlang:demonitor(Ref, [flush]),
            Answer;
        {'DOWN', Ref, _, _, Why} ->
            {error, crashed, kprof_text:format("the agent did not start: ~0tP", [Why, 20])}
    after ?START_MS ->
        ended(Pid, Word),
        {error, timeout, kprof_text:format("the agent did not start within ~b s", [?START_MS div 1000])}
    end.

%% kprof-top unloads the module next, so this waits for the guardian, which removes what the controller has set. Before there is
%% a guardian, nothing but the control word can be set.
ended(Controller, Word) ->
    Ref = erlang:monitor(process, Controller),
    exit(Controller, kill),
    gone(Ref),
    gone(erlang:monitor(process, kprof_guardian)),
    kprof_node:restore(#{tcw => {Word, Word}}).

gone(Ref) ->
    receive {'DOWN', Ref, _, _, _} -> ok
    after ?ENDED_MS -> erlang:demonitor(Ref, [flush])
    end.

-spec init(pid(), options()) -> term().
init(From, #{node := Node} = Opts) ->
    group_leader(kprof_node:local_leader(), self()),
    case prepare(Opts) of
        {ok, S0, Info} ->
            erlang:monitor_node(Node, true),
            put(kprof_state, running),
            From ! {started, self(), {ok, self(), Info}},
            erlang:send_after(?BEAT_MS, self(), beat),
            loop(S0#s{link = kprof_link:new(Opts)});
        Error ->
            From ! {started, self(), Error}
    end.

prepare(#{who := Who, instance := Instance} = Opts) ->
    put(kprof_who, {Who, calendar:local_time()}),
    put(kprof_instance, Instance),
    Isolated = kprof_node:isolated(),
    Vm = kprof_hazard:vm(),
    case {[Use || Use <- [attach, beside_no_jit], not kprof_hazard:allowed(Use, Vm)], catch register(?MODULE, self())} of
        {[Use | _], _} -> {error, hazard, kprof_hazard_text:reason(Use, Vm)};
        {_, {'EXIT', _}} -> {error, leaving, <<"an agent with this name is already running">>};
        _ ->
            case kprof_attach:busy(Isolated, Instance) of
                none -> prepare_trace(Isolated, Opts);
                {Tag, Text} -> {error, Tag, Text}
            end
    end.

prepare_trace(Isolated, #{epoch := Epoch} = Opts) ->
    Others = kprof_attach:others(Isolated),
    case Others =/= [] andalso not Isolated andalso not maps:get(force, Opts, false) of
        true ->
            {error, tracer, kprof_text:format("another program is tracing on this node: ~ts; --force attaches anyway", [lists:join(", ", Others)])};
        false ->
            Counters = atomics:new(?COUNTERS, []),
            atomics:put(Counters, ?CUT_AT, kprof_node:now_ms() - 1000), % no cut yet
            Vm = kprof_hazard:vm(),
            S0 = #s{guardian = Guardian} = new_guardian(#s{
                link = kprof_link:new(Opts),
                tracing = #tracing{reconnected = maps:get(again, Opts, false)},
                epoch = Epoch,
                vm = Vm,
                isolated = Isolated,
                others = Others,
                beside = kprof_node:agents(),
                tcw = kprof_node:control_word(),
                spawn_flags = Isolated orelse kprof_node:tracer_of(new_processes) =:= [],
                counters = Counters
            }),
            is_pid(Guardian) orelse unguarded(S0),
            {Costs, Session} = kprof_calibration:calibrate(Isolated, Others =/= [], Epoch),
            S1 = kprof_idle_sessions:add(Session, S0#s{cost = kprof_cost:new(Costs), breaker = kprof_breaker:new(?COOL_MS)}),
            S = kprof_tracing:new_relay(S1),
            {ok, S, kprof_attach:info(S#s.session, Others, Vm)}
    end.

%% Without room for it, a heartbeat tries again; at the start the agent ends.
new_guardian(#s{link = #link{pid = Pid}} = S) ->
    case kprof_guardian:start(Pid, kprof_cleanup_plan:new(S)) of
        {Guardian, Ref} -> S#s{guardian = Guardian, guardian_ref = Ref};
        none -> S#s{guardian = none, guardian_ref = none}
    end.

%% Nobody else would restore the control word.
-spec unguarded(state()) -> no_return().
unguarded(#s{tcw = Tcw}) ->
    kprof_node:restore(#{tcw => Tcw}),
    exit(system_limit).

guarded(#s{guardian = none} = S) -> new_guardian(S);
guarded(S) -> S.

%% ---- The loop ----

loop(S) ->
    receive
        {kp, Key, Ref, detach} when Key =:= S#s.link#link.key ->
            detach(Ref, S);
        {kp, Key, Ref, Request} when Key =:= S#s.link#link.key ->
            loop(request(Ref, Request, heard(S)));
        {kp_lease, Key} when Key =:= S#s.link#link.key ->
            loop(heard(S));
        Other when element(1, Other) =:= kp; element(1, Other) =:= kp_lease ->
            loop(kprof_link:unauthorized(S));
        beat ->
            erlang:send_after(?BEAT_MS, self(), beat),
            beat(S);
        {'DOWN', R, _, _, _} when R =:= S#s.relay_ref ->
            loop(relay_died(S));
        {'DOWN', R, _, _, _} when R =:= S#s.guardian_ref ->
            loop(new_guardian(S));
        {'DOWN', R, _, _, Why} when R =:= S#s.stacks#stacks.ref ->
            loop(kprof_stack_control:ended(Why, S));
        {'DOWN', R, _, _, Why} when R =:= S#s.processes#processes.ref ->
            loop(kprof_processes:ended(Why, S));
        {'DOWN', R, _, _, Why} when R =:= S#s.full#full.ref ->
            loop(kprof_full_control:ended(Why, S));
        {'DOWN', R, _, _, _} when R =:= element(2, S#s.vm_events) ->
            loop(kprof_vm_events:ended(S));
        {full_plan, Tracer, Plan} when is_pid(Tracer), Tracer =:= S#s.full#full.tracer ->
            loop(kprof_full_control:planned(Plan, S));
        {full_left_out, Tracer, MFA, N} when is_pid(Tracer), Tracer =:= S#s.full#full.tracer ->
            loop(kprof_full_control:left_out(MFA, N, S));
        {full_off, Tracer} when is_pid(Tracer), Tracer =:= S#s.full#full.tracer ->
            loop(kprof_full_control:off(S));
        {superseded, Instance} ->
            superseded(Instance, S);
        {nodedown, Node} when Node =:= S#s.link#link.node ->
            leave(S);
        {walked, Walker, Refused} when Walker =:= S#s.tracing#tracing.walker ->
            loop(kprof_tracing:walked(Refused, S));
        {slow_start, Timer} when Timer =:= S#s.tracing#tracing.slow_start ->
            loop(kprof_tracing:slow_start_over(S));
        {overload, Relay, Text} when Relay =:= S#s.relay ->
            loop(kprof_tracing:overload(Text, S));
        {breaker, Timer} when Timer =:= S#s.tracing#tracing.breaker_timer ->
            loop(kprof_tracing:breaker(S));
        {adjust, Relay} when Relay =:= S#s.relay ->
            erlang:send_after(?ADJUST_MS, self(), {adjust, Relay}),
            loop(kprof_limits:adjust(S));
        {part_time, Timer} when Timer =:= S#s.part_time#part_time.timer ->
            loop(kprof_part_time:step(S));
        {flood, Relay, Waiting} when Relay =:= S#s.relay ->
            loop(kprof_limits:flood(Waiting, S));
        {over, Relay} when Relay =:= S#s.relay ->
            loop(kprof_limits:nudged(S));
        {count, Timer} when Timer =:= S#s.tracing#tracing.count_timer ->
            loop(kprof_tracing:count_step(S));
        {why, Key, Ref, Ix, MFA} when Key =:= S#s.link#link.key ->
            loop(kprof_requests:counted(Ref, Ix, MFA, S));
        {survey, Timer} when is_reference(Timer), Timer =:= S#s.survey#survey.timer ->
            loop(kprof_survey:step(S));
        {stacks_end, Ending} when is_reference(Ending), Ending =:= S#s.stacks#stacks.ending ->
            loop(kprof_stack_control:stopped(S));
        {captured, Capturer, Caught} when Capturer =:= element(1, S#s.requests#requests.capture) ->
            loop(kprof_requests:caught(Caught, S));
        {'DOWN', _, _, Capturer, _} when Capturer =:= element(1, S#s.requests#requests.capture) ->
            loop(kprof_requests:capture_end(S));
        _ ->
            loop(S)
    end.

%% A message from kprof-top renews the lease; tracing that was paused by the lease continues.
heard(S) ->
    case kprof_link:heard(S) of
        {again, S1} -> kprof_tracing:go_on_after_lease(S1);
        {on_time, S1} -> S1
    end.

%% kprof-top then sends {tools, Beam}, and this request again.
request(Ref, Request, S) ->
    case is_for_tools(Request) andalso not erlang:module_loaded(kprof_tools) of
        true -> kprof_link:answer(Ref, tools, S);
        false -> request_now(Ref, Request, S)
    end.

%% Sources with `-agent(tools)` do these.
is_for_tools({What, Asked}) when What =:= full; What =:= stacks; What =:= processes -> is_map(Asked);
is_for_tools({capture, Asked}) -> Asked =/= none;
is_for_tools({What, _}) -> lists:member(What, [catalog, callees, calls, rates, why]);
is_for_tools(What) -> What =:= rates orelse What =:= captured.

request_now(Ref, {tools, Beam}, S) when is_binary(Beam) ->
    kprof_link:answer_apart(Ref, fun() -> kprof_node:load(kprof_tools, Beam) end, [kprof_node:last_scheduler()], S),
    S;
request_now(Ref, {why, Ix}, S) ->
    kprof_requests:why(Ref, Ix, S);
request_now(Ref, {processes, off}, #s{processes = #processes{table = none}} = S) ->
    kprof_link:answer(Ref, ok, S);
request_now(Ref, {processes, What}, S) when What =:= off; is_map(What) ->
    kprof_processes:request(Ref, What, S);
request_now(Ref, {stacks, off}, S) ->
    kprof_stacks:off(Ref, S);
request_now(Ref, {rates, MFAs}, S) when is_list(MFAs) ->
    kprof_survey:count(Ref, MFAs, S);
request_now(Ref, {catalog, _} = Question, S) ->
    kprof_link:answer_apart(Ref, fun() -> kprof_catalog:answer(Question) end, [{priority, low}], S),
    S;
request_now(Ref, {exist, MFAs}, S) ->
    kprof_link:answer_apart(Ref, fun() -> kprof_code:exist(MFAs) end, [{priority, low}], S),
    S;
request_now(Ref, {modules, Prefix}, S) ->
    kprof_link:answer_apart(Ref, fun() -> kprof_completion:modules(unicode:characters_to_list(Prefix)) end, [{priority, low}], S),
    S;
request_now(Ref, {functions, M}, S) ->
    kprof_link:answer_apart(Ref, fun() -> kprof_completion:functions(kprof_code:to_atom(M)) end, [{priority, low}], S),
    S;
request_now(Ref, {What, _} = Question, S) when What =:= callees; What =:= calls ->
    kprof_link:answer_apart(Ref, fun() -> kprof_callees:answer(Question) end, [{priority, low}], S),
    S;
request_now(Ref, {hang, Pids}, #s{vm = Vm, counters = Counters, tracing = #tracing{on = true}} = S) ->
    kprof_link:answer_apart(Ref, fun() -> kprof_hang:answer(Pids, Vm, Counters) end, [], S),
    S;
request_now(Ref, {hang, _}, S) ->
    kprof_link:answer(Ref, {0, []}, S);
request_now(Ref, {queue, Name}, #s{vm = Vm} = S) when is_binary(Name) ->
    kprof_link:answer_apart(Ref, fun() -> kprof_proc:queue(Name, Vm) end, [], S),
    S;
request_now(Ref, {What, _} = Question, #s{vm = Vm} = S) when What =:= stack; What =:= who; What =:= alive ->
    kprof_link:answer_apart(Ref, fun() -> kprof_proc:answer(Question, Vm) end, [], S),
    S;
request_now(Ref, Request, S0) ->
    {Result, S} =
        try handle(Request, S0)
        catch _:Why -> {{error, crashed, kprof_text:format("~0tP", [Why, 20])}, S0}
        end,
    kprof_link:answer(Ref, Result, S).

handle({config, Config}, S0) ->
    {Result, S} = kprof_tiers:config(Config, S0),
    {Result, kprof_tracing:recount(S)};
handle({tracing, On}, S) when is_boolean(On) -> {ok, kprof_heartbeat:send(kprof_tracing:tracing(On, kprof_full:aborted(capture_ended(S))))};
handle({sample, N}, S) when is_integer(N), N > 0 -> {ok, kprof_tiers:sample(N, S)};
handle({limits, Limits}, S) -> {ok, kprof_limits:limits(Limits, S)};
handle({trip, Text}, S) when is_binary(Text) -> {ok, kprof_tracing:trip(Text, S)};
handle(flush, S) ->
    Seq = kprof_tracing:flush(S),
    {{ok, Seq, #{sent => kprof_link:counter(?SENT, S), dropped => kprof_link:missing(S)}}, S};
handle(hazards, S) -> {kprof_hazard_text:list(S#s.vm), S};
handle(rates, S) -> kprof_survey:take(S);
handle({capture, none}, #s{requests = #requests{capture = none}} = S) -> {ok, S#s{requests = #requests{}}};
handle({capture, Ix}, S) -> kprof_requests:capture(Ix, S);
handle({full, off}, S) -> {ok, kprof_full:cancel(canceled, S)};
handle({full, What}, S) when is_map(What) -> kprof_full_request:request(What, S);
handle({stacks, What}, S) when is_map(What) -> kprof_stack_control:request(What, S);
handle(captured, S) -> {kprof_requests:captured(S), S};
handle({ping, AgeMs}, S) when is_integer(AgeMs), AgeMs >= 0 -> {{pong, erlang:monotonic_time()}, kprof_link:heard_before(AgeMs, S)};
handle(ping, S) -> {{pong, erlang:monotonic_time()}, S};
handle(Other, S) -> {{error, unknown, kprof_text:format("unknown request ~0tP", [Other, 8])}, S}.

capture_ended(#s{requests = #requests{capture = none}} = S) -> S;
capture_ended(S) -> kprof_requests:capture_end(S).

relay_died(S0) ->
    S = kprof_tracing:counting_off(S0),
    kprof_cleanup:relay_died(kprof_cleanup_plan:new(S)),
    kprof_link:send({kx, kprof_link:counter(?SEQ, S)}, S),
    kprof_link:event(relay_died, <<"the relay on the node was killed: tracing is off, nothing is left behind">>, S),
    kprof_tracing:relay_died(kprof_tier_rates:relay_died((survey_forgotten(S))#s{counting = [], relay = none, pacer = none, relay_ref = none, session = none, idle_sessions = []})).

survey_forgotten(#s{survey = #survey{phase = none}} = S) -> S;
survey_forgotten(S) -> kprof_survey:forget(S).

%% ---- Heartbeats ----

beat(#s{beats = #beats{n = N}} = Before) ->
    S0 = guarded(Before),
    Silence = kprof_link:silence_ms(S0),
    S1 = kprof_heartbeat:send(kprof_vm_events:gate(kprof_full:beat(kprof_stacks:beat(kprof_tiers:beside(S0#s{beats = S0#s.beats#beats{n = N + 1}}))))),
    S2 = kprof_link:tell_kept(kprof_tracing:counting_told(run_queue(kprof_tracing:watch_flags(kprof_tiers:watch_reloads(if N rem 2 =:= 0 -> ticket_lives(S1); true -> S1 end))))),
    Pause = kprof_link:is_silent(S2),
    if
        Silence > S2#s.link#link.end_ms -> silent(S2);
        Pause, S2#s.tracing#tracing.paused =:= none, S2#s.tracing#tracing.on -> loop(kprof_tracing:let_go(S2));
        Pause -> loop(kprof_tracing:counting_off(S2));
        true -> loop(kprof_tracing:counting(S2))
    end.

%% While the run queue is long, sampling is cut at each heartbeat. After ?BUSY_BEATS heartbeats the breaker opens, unless tracing
%% costs almost nothing: then the run queue has another cause, and nothing more is done.
run_queue(#s{tracing = #tracing{on = true}, beats = #beats{busy = Busy}, cost = Cost} = S) ->
    {Spent, _} = kprof_cost:spent(Cost),
    case kprof_node:long_run_queue() of
        none -> S#s{beats = S#s.beats#beats{busy = 0}};
        _ when Busy + 1 < ?BUSY_BEATS -> kprof_limits:flood(0, S#s{beats = S#s.beats#beats{busy = Busy + 1}});
        _ when Spent < ?NOTHING -> S#s{beats = S#s.beats#beats{busy = Busy + 1}};
        Length -> kprof_tracing:trip(kprof_text:format("the node's run queue is ~b long", [Length]), S#s{beats = S#s.beats#beats{busy = 0}})
    end;
run_queue(S) ->
    S#s{beats = S#s.beats#beats{busy = 0}}.

%% A ticket is put back within a microsecond. If it is 0 in two checks in a row, someone else has set the word to 0.
ticket_lives(#s{beats = #beats{zero = Zero}} = S) ->
    case kprof_spec:held(erlang:system_info(trace_control_word)) of
        true when Zero > 0 ->
            erlang:system_flag(trace_control_word, kprof_spec:word(kprof_sampling:cut(S), 1 + erlang:unique_integer([positive]))),
            S#s{beats = S#s.beats#beats{zero = 0}};
        true ->
            S#s{beats = S#s.beats#beats{zero = 1}};
        false ->
            S#s{beats = S#s.beats#beats{zero = 0}}
    end.

%% ---- The end ----

-spec detach(integer(), state()) -> no_return().
detach(Ref, S0) ->
    kprof_cleanup:leaving(),
    S1 = kprof_tracing:all_told(capture_stopped(S0)),
    %% If tracing is paused, the last heartbeat reports for how long.
    S = if S1#s.tracing#tracing.paused =:= none -> S1; true -> kprof_heartbeat:send(kprof_link:tell_all(S1)) end,
    Receipt = kprof_cleanup:all(kprof_cleanup_plan:new(S)),
    Reaper = kprof_cleanup:reap([S#s.relay, S#s.pacer | kprof_link:end_apart()]),
    end_relay(S),
    kprof_link:answer_last(Ref, Receipt, S),
    kprof_cleanup:reap_at_last(Reaper),
    exit(normal).

-spec leave(state()) -> no_return().
leave(S0) ->
    kprof_cleanup:leaving(),
    S = capture_stopped(S0),
    Reaper = kprof_cleanup:reap([S#s.relay, S#s.pacer | kprof_link:end_apart()]),
    kprof_cleanup:all(kprof_cleanup_plan:new(S)),
    end_relay(S),
    kprof_cleanup:reap_at_last(Reaper),
    exit(normal).

%% Tracing does not resume after it.
capture_stopped(#s{requests = Requests} = S) ->
    kprof_idle_sessions:add(kprof_capture:stop(Requests#requests.capture), S#s{requests = Requests#requests{capture = none}}).

-spec silent(state()) -> no_return().
silent(#s{link = #link{pid = Pid, end_ms = Ms}} = S) ->
    kprof_cleanup:gone(Pid, kprof_text:format("it received nothing from kprof-top for ~b s; it has removed everything and ended", [Ms div 1000])),
    leave(S).

%% kprof-top has reconnected.
superseded(Instance, S) ->
    case get(kprof_instance) of
        Instance -> leave(S);
        _ -> loop(S)
    end.

end_relay(#s{relay = none}) -> ok;
end_relay(#s{relay = Relay, relay_ref = Ref}) ->
    exit(Relay, kill),
    receive
        {'DOWN', Ref, _, _, _} -> ok
    after 1000 -> ok
    end.
