%% The keeper: owns patterns, flags and session; answers kprof-top; undoes everything when kprof-top, or the lease, is gone.
-module(kprof_keeper_00).
-export([start/1, init/2, undo/2, flags_off/1]).

-define(BEAT_MS, 500).
-define(PAUSE_MS, 10000). % without a word from kprof-top tracing pauses,
-define(END_MS, 60000). % and then we leave
-define(COOL_MS, 5000).
-define(BREAKER_MS, 100).
-define(STEER_MS, 200).
-define(STEER_FIRST, 256).
-define(RUN_QUEUE, 100). % per scheduler,
-define(BUSY_BEATS, 4). % for so many beats
-define(FLUSH_MS, 3000).
-define(SAMPLED_PROCESSES, 5000).

%% What is to be undone, known to the relay too: whoever lives does it.
%% #{session, relay, set => #{MFA => Spec as the VM tells it}, new => boolean() (new_processes is ours), tcw}

-record(s, {
    pid, % kprof-top's
    node,
    epoch,
    relay,
    pacer,
    relay_ref,
    counters,
    session = none,
    spawn_flags = true, % may we set flags of processes to come
    tcw, % {Before, Start}
    others = [],
    wish = #{tiers => [], entry => none, identity => none, returns => lean, sample => 1},
    specs = [], % [{Ix, MFA, Spec}]
    set = #{}, % MFA => spec as the VM tells it: only what we set
    tracing = false, % wished
    on = false, % flags are on
    paused = none, % lease | overload
    breaker,
    busy = 0, % beats in a row with a run queue over its limit
    limits = #{max_age_ms => 1000, max_queue => 50000, max_memory => 32 bsl 20, max_rate => 0},
    steered = 1, % sampling that --max-rate asks for; the wish's is the least
    steer_at, % {Ms, Events} of the last look
    heard, % monotonic ms
    pause_ms = ?PAUSE_MS,
    end_ms = ?END_MS,
    cpu,
    beat = 0,
    zero = 0, % beats that saw the control word 0
    counting = [] % functions with a counter of ours
}).

%% Called over rpc. -> {ok, Pid, Info} | {error, Tag, Binary}
start(Opts) ->
    {Pid, Ref} = spawn_opt(?MODULE, init, [self(), Opts], [monitor]),
    receive
        {started, Pid, Answer} ->
            erlang:demonitor(Ref, [flush]),
            Answer;
        {'DOWN', Ref, _, _, Why} ->
            {error, crashed, bin("the agent did not start: ~0tP", [Why, 20])}
    after 10000 -> {error, timeout, <<"the agent did not start within 10 s">>}
    end.

init(From, #{pid := Pid, node := Node} = Opts) ->
    group_leader(local_leader(), self()),
    case prepare(Opts) of
        {ok, S0, Info} ->
            erlang:monitor_node(Node, true),
            From ! {started, self(), {ok, self(), Info}},
            S = S0#s{
                pid = Pid,
                node = Node,
                heard = now_ms(),
                cpu = cpu(),
                pause_ms = maps:get(pause_ms, Opts, ?PAUSE_MS),
                end_ms = maps:get(end_ms, Opts, ?END_MS)
            },
            erlang:send_after(?BEAT_MS, self(), beat),
            loop(S);
        Error ->
            From ! {started, self(), Error}
    end.

%% Not the one of rpc: that lives on kprof-top's node.
local_leader() ->
    case whereis(user) of
        undefined -> whereis(init);
        User -> User
    end.

prepare(#{who := Who} = Opts) ->
    put(kprof_who, {Who, calendar:local_time()}),
    Isolated = isolated(),
    case {erlang:system_info(wordsize), catch register(?MODULE, self()), busy(Isolated)} of
        {4, _, _} -> {error, wordsize, <<"the node is a 32-bit VM: request labels need 64 bits">>};
        {_, {'EXIT', _}, _} -> {error, busy, busy_text(?MODULE)};
        {_, _, Name} when is_atom(Name), Name =/= none -> {error, busy, busy_text(Name)};
        _ -> prepare_trace(Isolated, Opts)
    end.

prepare_trace(Isolated, #{epoch := Epoch, pid := Pid} = Opts) ->
    Others = others(Isolated),
    case Others =/= [] andalso not Isolated andalso not maps:get(force, Opts, false) of
        true ->
            {error, tracer, bin("someone else traces on this node: ~ts; --force traces beside them", [lists:join(", ", Others)])};
        false ->
            Counters = atomics:new(5, [{signed, false}]),
            S0 = #s{pid = Pid, epoch = Epoch, counters = Counters, others = Others, tcw = control_word()},
            S1 = new_relay(S0#s{breaker = kprof_breaker_00:new(?COOL_MS), spawn_flags = Isolated orelse tracer_of(new_processes) =:= []}),
            {ok, S1, info(S1)}
    end.

isolated() ->
    code:ensure_loaded(trace),
    erlang:function_exported(trace, session_create, 3).

busy(true) -> none;
busy(false) ->
    Mine = lists:sublist(atom_to_list(?MODULE), length(atom_to_list(?MODULE)) - 2),
    case [R || R <- registered(), R =/= ?MODULE, lists:prefix(Mine, atom_to_list(R))] of
        [R | _] -> R;
        [] -> none
    end.

busy_text(Name) ->
    Told =
        case process_info(whereis(Name), dictionary) of
            {_, D} -> proplists:get_value(kprof_who, D);
            _ -> undefined
        end,
    case Told of
        {Who, {{Y, Mo, D1}, {H, Mi, S}}} ->
            bin("another kprof-top is tracing this node: ~ts, since ~b-~2..0b-~2..0b ~2..0b:~2..0b:~2..0b", [Who, Y, Mo, D1, H, Mi, S]);
        _ ->
            <<"another kprof-top is tracing this node">>
    end.

%% Who else traces. Below OTP 27 there is one trace for all: processes to come, and some of those that are, are asked.
others(true) ->
    %% The session "legacy" is always there: it stands for the old trace.
    [bin("a trace session (~0tP)", [Name, 8]) || {Name, _} <- sessions(), Name =/= legacy] ++ others(false);
others(false) ->
    New = tracer_of(new_processes),
    Some = lists:usort([tracer_of(P) || P <- lists:sublist(processes(), ?SAMPLED_PROCESSES)]),
    [bin("~ts", [tracer_text(T)]) || T <- lists:usort([New | Some]), T =/= []].

sessions() ->
    try
        [S || {_, _} = S <- apply(trace, session_info, [all])]
    catch
        _:_ -> []
    end.

tracer_of(What) ->
    case erlang:trace_info(What, tracer) of
        {tracer, T} -> T;
        undefined -> []
    end.

tracer_text(P) when is_pid(P) ->
    case process_info(P, [registered_name, initial_call]) of
        [{_, Name}, _] when is_atom(Name) -> io_lib:format("~p (~ts)", [P, Name]);
        [_, {_, {M, F, A}}] -> io_lib:format("~p (~ts)", [P, mfa(M, F, A)]);
        _ -> io_lib:format("~p", [P])
    end;
tracer_text(T) ->
    io_lib:format("~0tP", [T, 6]).

%% The control word is our ticket: never 0 while we run.
control_word() ->
    Before = erlang:system_info(trace_control_word),
    Start =
        case Before =< kprof_spec_00:ticket_range() of
            true when Before > 0 -> Before;
            _ -> 1
        end,
    erlang:system_flag(trace_control_word, Start),
    {Before, Start}.

info(S) ->
    #{
        otp => list_to_binary(erlang:system_info(otp_release)),
        erts => list_to_binary(erlang:system_info(version)),
        start_time => erlang:system_info(start_time),
        time_unit => erlang:convert_time_unit(1, second, native),
        schedulers => erlang:system_info(schedulers_online),
        session => S#s.session =/= none,
        others => S#s.others,
        elixir => code:is_loaded(elixir) =/= false,
        lean => true,
        node => node()
    }.

new_relay(#s{pid = Pid, counters = Counters} = S0) ->
    {Relay, Pacer} = kprof_relay_00:start(#{keeper => self(), pid => Pid, counters => Counters, undo => #{}}),
    Session =
        case isolated() of
            true -> apply(trace, session_create, [?MODULE, Relay, []]);
            false -> none
        end,
    share(send_limits(S0#s{relay = Relay, pacer = Pacer, relay_ref = erlang:monitor(process, Relay), session = Session})).

%% The relay knows what to undo before it is done.
share(#s{relay = none} = S) ->
    S;
share(S) ->
    S#s.relay ! {undo, undo_of(S)},
    S.

undo_of(#s{session = Session, relay = Relay, set = Set, spawn_flags = New, tcw = Tcw, counting = Counting}) ->
    #{session => Session, relay => Relay, set => Set, new => New, tcw => Tcw, counting => Counting}.

%% ---- The loop ----

loop(S) ->
    receive
        {kp, Ref, Request} ->
            loop(request(Ref, Request, heard(S)));
        {kp_lease} ->
            loop(heard(S));
        beat ->
            erlang:send_after(?BEAT_MS, self(), beat),
            beat(S);
        {'DOWN', R, _, _, _} when R =:= S#s.relay_ref ->
            loop(relay_died(S));
        {nodedown, Node} when Node =:= S#s.node ->
            leave(S);
        {overload, Relay, Text} when Relay =:= S#s.relay ->
            loop(overload(Text, S));
        {breaker, Relay} when Relay =:= S#s.relay ->
            loop(breaker(S));
        {steer, Relay} when Relay =:= S#s.relay ->
            loop(steer(S));
        {why, Ref, Ix, MFA} ->
            loop(counted(Ref, Ix, MFA, S));
        _ ->
            loop(S)
    end.

heard(#s{paused = lease} = S) -> trace_on(S#s{heard = now_ms(), paused = none});
heard(S) -> S#s{heard = now_ms()}.

request(Ref, detach, S) ->
    Receipt = undo(undo_of(quiet(S)), []),
    reap([self(), S#s.relay, S#s.pacer], 50),
    end_relay(S),
    answer(Ref, Receipt, S),
    exit(normal);
request(Ref, {why, Ix}, S) ->
    why(Ref, Ix, S);
request(Ref, Request, S0) ->
    {Result, S} =
        try handle(Request, S0)
        catch _:Why -> {{error, crashed, bin("~0tP", [Why, 20])}, S0}
        end,
    answer(Ref, Result, S),
    S.

answer(Ref, Result, S) -> send({kr, Ref, Result}, S).
send(What, #s{pid = Pid}) -> erlang:send(Pid, What, [nosuspend, noconnect]).
event(Tag, Text, S) -> send({ke, Tag, Text}, S).

handle({config, Wish}, S) -> config(Wish, S);
handle({tracing, On}, S) when is_boolean(On) -> {ok, tracing(On, S)};
handle({sample, N}, #s{wish = Wish} = S) when is_integer(N), N > 0 -> {ok, resample(S#s{wish = Wish#{sample := min(N, 1000000)}})};
handle({limits, Limits}, S) -> {ok, limits(Limits, S)};
handle({trip, Text}, S) when is_binary(Text) -> {ok, trip(Text, S)};
handle(flush, S) ->
    Seq = flush(S),
    {{ok, Seq, #{sent => count(2, S), dropped => count(3, S)}}, S};
handle({alive, Pids}, S) -> {[P || P <- Pids, dead(P)], S};
handle({who, Pids}, S) -> {[{Id, Serial, who(Id, Serial)} || {Id, Serial} <- Pids], S};
handle({modules, Prefix}, S) -> {modules(unicode:characters_to_list(Prefix)), S};
handle({functions, M}, S) -> {functions(to_atom(M)), S};
handle(ping, S) -> {{pong, erlang:monotonic_time()}, S};
handle(Other, S) -> {{error, unknown, bin("unknown request ~0tP", [Other, 8])}, S}.

count(I, #s{counters = C}) -> atomics:get(C, I).

%% max_age_ms, max_queue, max_memory, max_rate (0: no limit), cooldown_ms: what is not named stays.
limits(New, #s{limits = Old, breaker = B} = S) ->
    S1 = send_limits(S#s{
        limits = maps:merge(Old, maps:with(maps:keys(Old), New)),
        breaker = kprof_breaker_00:cooldown(maps:get(cooldown_ms, New, ?COOL_MS), B)
    }),
    case sample_now(S1) =:= sample_now(S) of
        true -> S1;
        false -> resample(S1)
    end.

send_limits(#s{relay = none} = S) -> S;
send_limits(#s{relay = Relay, limits = #{max_age_ms := AgeMs, max_queue := Queue, max_memory := Memory, max_rate := Rate}} = S) ->
    Relay ! {limits, erlang:convert_time_unit(AgeMs, millisecond, native), Queue, Memory, Rate},
    steered(S).

%% With a limit of events, sampling begins sparse and is let out as the node bears it.
steered(#s{limits = #{max_rate := 0}} = S) -> S#s{steered = 1, steer_at = undefined};
steered(#s{steer_at = undefined, relay = Relay} = S) ->
    erlang:send_after(?STEER_MS, self(), {steer, Relay}),
    S#s{steered = ?STEER_FIRST, steer_at = {now_ms(), count(2, S) + count(3, S)}};
steered(S) -> S.

%% What shall be sampled now: 1 in so many.
sample_now(#s{wish = Wish, steered = Steered, breaker = B}) ->
    min(1000000, max(maps:get(sample, Wish), Steered) * kprof_breaker_00:factor(B)).

%% Keeps the events between a third and nine tenths of the limit: up at once, down by a quarter at most.
steer(#s{limits = #{max_rate := 0}} = S) -> S#s{steered = 1, steer_at = undefined};
steer(#s{relay = Relay, steer_at = {Then, Before}, steered = Old, limits = #{max_rate := Max}} = S0) ->
    erlang:send_after(?STEER_MS, self(), {steer, Relay}),
    Now = now_ms(),
    Events = count(2, S0) + count(3, S0),
    Rate = (Events - Before) * 1000 div max(1, Now - Then),
    Least = maps:get(sample, S0#s.wish),
    New =
        if
            not S0#s.on -> Old;
            Rate * 10 > Max * 9 -> Old * Rate div (Max * 6 div 10) + 1;
            Rate * 3 < Max -> max(Least, max(Old div 4, Old * Rate div (Max * 6 div 10)));
            true -> Old
        end,
    S = S0#s{steer_at = {Now, Events}, steered = min(1000000, max(1, New))},
    case S#s.steered of
        Old -> S;
        _ -> resample(S)
    end.

%% Everything traced so far is sent on. -> the last batch's number
flush(#s{relay = none} = S) ->
    count(1, S);
flush(#s{session = Session, relay_ref = Down} = S) ->
    Ref = kprof_spec_00:delivered(Session),
    receive
        {trace_delivered, all, Ref} -> sent(S);
        {'DOWN', Down, _, _, _} = Died -> put_back(Died, S)
    after ?FLUSH_MS -> sent(S)
    end.

sent(#s{relay = Relay, pacer = Pacer, relay_ref = Down} = S) ->
    Ref = make_ref(),
    Relay ! {flush, self(), Ref},
    Pacer ! kick,
    receive
        {flushed, Ref, Seq} -> Seq;
        {'DOWN', Down, _, _, _} = Died -> put_back(Died, S)
    after ?FLUSH_MS -> count(1, S)
    end.

put_back(Message, S) ->
    self() ! Message,
    count(1, S).

%% ---- Tracing on and off ----

tracing(On, #s{tracing = On} = S) -> S;
tracing(true, S) -> trace_on(resample(S#s{tracing = true, paused = none, breaker = kprof_breaker_00:reset(S#s.breaker)}));
tracing(false, S) -> (trace_off(S))#s{tracing = false, paused = none, breaker = kprof_breaker_00:reset(S#s.breaker)}.

trace_on(#s{on = false, tracing = true, paused = none} = S0) ->
    S1 = set_all(with_relay(S0)),
    S1#s.relay ! {gate, open},
    S1#s.relay ! {weight, sample_now(S1)},
    switch(true, S1),
    S1#s{on = true};
trace_on(S) ->
    S.

with_relay(#s{relay = none} = S) -> new_relay(S);
with_relay(S) -> S.

%% Flags off, what was traced is sent, patterns off, tokens swept. Off already (breaker, lease): kprof-top still gets its {kx,_}.
trace_off(#s{on = true} = S) ->
    S1 = clear_all(quiet(S)),
    kprof_spec_00:sweep(),
    S1;
trace_off(#s{relay = none} = S) ->
    S;
trace_off(S) ->
    S#s.relay ! off,
    S#s.pacer ! kick,
    S.

quiet(#s{on = true} = S) ->
    switch(false, S),
    flush(S),
    S#s.relay =/= none andalso (S#s.relay ! off),
    S#s.relay =/= none andalso flush(S),
    S#s{on = false};
quiet(S) ->
    S.

switch(On, #s{wish = Wish} = S) ->
    Flags =
        case maps:get(returns, Wish) of
            lean when On -> [call, arity, monotonic_timestamp, return_to];
            full when On -> [call, arity, monotonic_timestamp];
            _ -> [all]
        end,
    Own = {S#s.session, S#s.relay},
    kprof_spec_00:flags(Own, existing(S), On, Flags),
    S#s.spawn_flags andalso kprof_spec_00:flags(Own, new(S), On, Flags),
    On andalso [kprof_spec_00:flags(Own, P, false, [all]) || P <- [self(), S#s.pacer]],
    ok.

existing(#s{session = none}) -> existing_processes;
existing(_) -> existing.
new(#s{session = none}) -> new_processes;
new(_) -> new.

%% Called by the relay: nothing more may come, at once.
flags_off(#{session := Session, relay := Relay, new := New}) ->
    {Existing, Coming} = whom(Session),
    New andalso kprof_spec_00:flags({Session, Relay}, Coming, false, [all]),
    kprof_spec_00:flags({Session, Relay}, Existing, false, [all]),
    kprof_spec_00:sweep().

whom(none) -> {existing_processes, new_processes};
whom(_) -> {existing, new}.

%% The relay has taken the flags off already.
overload(Text, #s{breaker = B0} = S) ->
    B = kprof_breaker_00:trip(now_ms(), B0),
    event(overload, bin("breaker open: ~ts; next try in ~b s", [Text, (kprof_breaker_00:next_ms(now_ms(), B) + 999) div 1000]), S),
    S#s.relay ! off,
    erlang:send_after(?BREAKER_MS, self(), {breaker, S#s.relay}),
    %% A pattern costs a little even where no process has a flag.
    heartbeat(clear_all(S#s{on = false, paused = overload, breaker = B})).

%% Our own reasons, or kprof-top's.
trip(_, #s{on = false} = S) -> S;
trip(Text, S) ->
    S#s.relay ! {gate, shut},
    flags_off(undo_of(S)),
    overload(Text, S).

breaker(#s{breaker = B0, relay = Relay} = S0) ->
    {What, B} = kprof_breaker_00:tick(now_ms(), B0),
    S = S0#s{breaker = B},
    case kprof_breaker_00:state(B) =:= closed andalso kprof_breaker_00:factor(B) =:= 1 of
        true -> ok;
        false -> erlang:send_after(?BREAKER_MS, self(), {breaker, Relay})
    end,
    stepped(What, S).

stepped(none, S) -> S;
stepped(probe, #s{paused = overload} = S) ->
    S1 = trace_on(resample(S#s{paused = none})),
    event(half_open, bin("breaker half open: tracing 1 request in ~b", [sample_now(S1)]), S1),
    heartbeat(S1);
stepped(closed, S) ->
    event(closed, bin("breaker closed: sampling comes back in steps", []), S),
    heartbeat(resample(S));
stepped(_, S) ->
    resample(S).

relay_died(S) ->
    send({kx, count(1, S)}, S),
    event(relay_died, <<"the relay on the node was killed: tracing is off, nothing is left behind">>, S),
    undo_relay(undo_of(S)),
    S#s{relay = none, pacer = none, relay_ref = none, session = none, set = #{}, on = false, tracing = false, paused = none, steer_at = undefined}.

%% ---- The wish ----

config(Wish0, #s{wish = Old} = S) ->
    Wish1 = maps:merge(Old, maps:with([tiers, entry, identity, returns, sample], Wish0)),
    Wish = Wish1#{
        tiers := [{Ix, to_atom(M), to_atom(F), A} || {Ix, M, F, A} <- maps:get(tiers, Wish1)],
        sample := max(1, min(1000000, maps:get(sample, Wish1)))
    },
    case kprof_spec_00:compile(Wish#{epoch => S#s.epoch, sample := sample_now(S#s{wish = Wish})}) of
        {ok, Specs, Notes} ->
            Changed = maps:get(identity, Wish) =/= maps:get(identity, Old),
            [event(identity, N, S) || N <- Notes, Changed],
            apply_wish(Wish, Specs, S);
        {error, Why} ->
            {{error, identity, Why}, S}
    end.

apply_wish(Wish, Specs, #s{wish = Old, on = On} = S) ->
    Returns = maps:get(returns, Wish) =/= maps:get(returns, Old),
    Entry = maps:get(entry, Wish) =/= maps:get(entry, Old),
    S1 =
        case On andalso Returns of
            true -> quiet(S);
            false -> S
        end,
    Taken = taken(Specs, S1),
    S2 = S1#s{wish = Wish, specs = [Spec || {Ix, _, _} = Spec <- Specs, not lists:keymember(Ix, 1, Taken)]},
    S3 = if On -> set_all(S2); true -> S2 end,
    S3#s.relay =/= none andalso (S3#s.relay ! {weight, sample_now(S3)}),
    On andalso Entry andalso kprof_spec_00:sweep(),
    S4 = if On andalso Returns -> trace_on(S3); true -> S3 end,
    {{ok, [matched(T, Specs, Taken) || T <- maps:get(tiers, Wish)]}, S4}.

resample(#s{wish = Wish} = S) ->
    case kprof_spec_00:compile(Wish#{epoch => S#s.epoch, sample := sample_now(S)}) of
        {ok, Specs, _} ->
            {_, S1} = apply_wish(Wish, Specs, S),
            S1;
        _ ->
            S
    end.

%% Below OTP 27: functions that have a pattern which is not ours.
taken(_, #s{session = Session}) when Session =/= none -> [];
taken(Specs, #s{set = Set}) ->
    [Spec || {_, MFA, _} = Spec <- Specs, not maps:is_key(MFA, Set), traced({none, traced}, MFA)].

traced(Where, MFA) ->
    case kprof_spec_00:pattern(Where, MFA) of
        local -> true;
        global -> true;
        _ -> false
    end.

matched({Ix, M, F, A}, Specs, Taken) ->
    case {lists:keymember(Ix, 1, Taken), lists:keyfind({M, F, A}, 2, Specs)} of
        {true, _} ->
            {Ix, 0, <<"someone else traces this function on the node: left alone">>};
        {_, {Other, _, _}} when Other =/= Ix ->
            {Ix, 0, bin("the same function as tier ~b, which has its calls", [Other])};
        _ ->
            case exists(M, F, A) of
                true -> {Ix, 1, <<>>};
                Why -> {Ix, 0, note(Why, M, F, A)}
            end
    end.

%% Sets what differs.
set_all(#s{specs = Specs, set = Set, session = Session} = S0) ->
    Wanted = maps:from_list([{MFA, Spec} || {_, MFA, Spec} <- Specs]),
    Gone = [MFA || MFA <- maps:keys(Set), not maps:is_key(MFA, Wanted)],
    [kprof_spec_00:set_pattern(Session, MFA, false, [local]) || MFA <- Gone],
    Kept = maps:without(Gone, Set),
    S1 = share(S0#s{set = maps:merge(maps:map(fun(_, _) -> pending end, Wanted), Kept)}),
    share(S1#s{set = maps:fold(fun(MFA, Spec, Acc) -> set_one(MFA, Spec, Acc, S1) end, Kept, Wanted)}).

%% What is remembered is the wish and how the VM tells it.
set_one({M, F, A} = MFA, Spec, Set, #s{session = Session} = S) ->
    case Set of
        #{MFA := {Spec, _}} ->
            Set;
        _ ->
            loaded(M),
            case kprof_spec_00:set_pattern(Session, MFA, Spec, [local]) of
                N when is_integer(N), N > 0 ->
                    Set#{MFA => {Spec, kprof_spec_00:pattern({Session, match_spec}, MFA)}};
                0 ->
                    maps:remove(MFA, Set);
                {error, Why} ->
                    event(pattern, bin("cannot trace ~ts: ~0tP", [mfa(M, F, A), Why, 12]), S),
                    maps:remove(MFA, Set)
            end
    end.

clear_all(#s{set = Set, session = Session} = S) ->
    clear(Session, Set),
    share(S#s{set = #{}}).

%% Only what is still ours.
clear(Session, Set) ->
    maps:fold(
        fun(MFA, Mine, _) ->
            case ours(Session, MFA, Mine) of
                true -> kprof_spec_00:set_pattern(Session, MFA, false, [local]);
                false -> 0
            end
        end,
        0,
        Set
    ).

ours(_, _, pending) -> true;
ours(none, MFA, {_, Told}) -> kprof_spec_00:pattern({none, match_spec}, MFA) =:= Told;
ours(_, _, _) -> true.

%% A reloaded module has lost its patterns.
watch_reloads(#s{on = true, set = Set, specs = Specs, session = Session} = S) ->
    Lost = [MFA || MFA <- maps:keys(Set), not traced({Session, traced}, MFA)],
    Missing = [MFA || {_, {M, F, A} = MFA, _} <- Specs, not maps:is_key(MFA, Set), exists(M, F, A) =:= true],
    case Lost ++ Missing of
        [] ->
            S;
        _ ->
            S1 = set_all(S#s{set = maps:without(Lost, Set)}),
            [event(reload, bin("~ts was loaded: ~ts", [mfa(M, F, A), again(maps:is_key(MFA, S1#s.set))]), S) || {M, F, A} = MFA <- Lost ++ Missing],
            S1
    end;
watch_reloads(S) ->
    S.

again(true) -> "it is traced again";
again(false) -> "this function is no longer in it".

%% ---- Beats ----

beat(#s{heard = Heard, beat = N} = S0) ->
    Silence = now_ms() - Heard,
    S1 = heartbeat(S0#s{beat = N + 1}),
    S2 = run_queue(if N rem 2 =:= 0 -> watch_reloads(ticket_lives(S1)); true -> S1 end),
    if
        Silence > S2#s.end_ms -> leave(S2);
        Silence > S2#s.pause_ms, S2#s.paused =:= none, S2#s.on -> loop((trace_off(S2))#s{paused = lease});
        true -> loop(S2)
    end.

%% A node whose run queue stays long has no time for us.
run_queue(#s{on = true, busy = Busy} = S) ->
    Long = erlang:statistics(run_queue),
    case Long > ?RUN_QUEUE * erlang:system_info(schedulers_online) of
        true when Busy + 1 >= ?BUSY_BEATS -> trip(bin("the node's run queue is ~b long", [Long]), S#s{busy = 0});
        true -> S#s{busy = Busy + 1};
        false -> S#s{busy = 0}
    end;
run_queue(S) ->
    S#s{busy = 0}.

%% The ticket is put back within a microsecond; found away twice, someone else has zeroed the word.
ticket_lives(#s{zero = Zero} = S) ->
    case erlang:system_info(trace_control_word) of
        0 when Zero > 0 ->
            erlang:system_flag(trace_control_word, 1 + erlang:unique_integer([positive]) rem kprof_spec_00:ticket_range()),
            S#s{zero = 0};
        0 ->
            S#s{zero = 1};
        _ ->
            S#s{zero = 0}
    end.

heartbeat(#s{cpu = Before} = S) ->
    Now = cpu(),
    {Up, _} = erlang:statistics(wall_clock),
    send(
        {kh, erlang:monotonic_time(), #{
            run_queue => erlang:statistics(run_queue),
            sched => permille(Before, Now),
            memory => erlang:memory(total),
            processes => erlang:system_info(process_count),
            uptime_ms => Up,
            relay_queue => count(4, S),
            relay_memory => count(5, S),
            dropped => count(3, S),
            others => length(S#s.others),
            breaker => case kprof_breaker_00:state(S#s.breaker) of closed -> 0; open -> 1; half_open -> 2 end,
            trips => kprof_breaker_00:trips(S#s.breaker),
            next_ms => kprof_breaker_00:next_ms(now_ms(), S#s.breaker),
            sample => sample_now(S)
        }},
        S
    ),
    S#s{cpu = Now}.

%% Scheduler use: wall time of schedulers if someone has switched it on, else CPU time of the VM.
cpu() ->
    case erlang:statistics(scheduler_wall_time) of
        undefined ->
            {Runtime, _} = erlang:statistics(runtime),
            {runtime, Runtime, now_ms() * erlang:system_info(schedulers_online)};
        Times ->
            Normal = [{A, T} || {Id, A, T} <- Times, Id =< erlang:system_info(schedulers_online)],
            {wall, lists:sum([A || {A, _} <- Normal]), lists:sum([T || {_, T} <- Normal])}
    end.

permille({Kind, Used0, All0}, {Kind, Used1, All1}) when All1 > All0 -> max(0, min(1000, (Used1 - Used0) * 1000 div (All1 - All0)));
permille(_, _) -> -1.

now_ms() -> erlang:monotonic_time(millisecond).

%% ---- The end ----

leave(S) ->
    reap([self(), S#s.relay, S#s.pacer], 0),
    undo(undo_of(S), []),
    end_relay(S),
    exit(normal).

end_relay(#s{relay = none}) -> ok;
end_relay(#s{relay = Relay, relay_ref = Ref}) ->
    exit(Relay, kill),
    receive
        {'DOWN', Ref, _, _, _} -> ok
    after 1000 -> ok
    end.

%% Undoes everything; the relay still lives. Reap: processes after whose end our modules go, too. -> receipt
undo(Undo, []) ->
    #{session := Session, relay := Relay, set := Set} = Undo,
    case Relay of
        none -> none;
        _ -> flags_off(Undo)
    end,
    clear(Session, Set),
    uncount(Undo),
    Tokens = kprof_spec_00:sweep(),
    Patterns = length([MFA || {MFA, Mine} <- maps:to_list(Set), traced({Session, traced}, MFA), ours(Session, MFA, Mine)]),
    Flags = length([P || P <- processes(), flagged(P, Session, Relay)]),
    restore(Undo),
    #{patterns => Patterns, flags => Flags, tokens => Tokens, session => destroy(Session)};
undo(Undo, Pids) ->
    reap(Pids, 0),
    undo(Undo, []).

uncount(#{session := Session, counting := Counting}) ->
    [kprof_spec_00:set_pattern(Session, MFA, false, [call_count]) || MFA <- Counting].

flagged(_, _, none) -> false;
flagged(P, none, Relay) -> tracer_of(P) =:= Relay;
flagged(P, Session, _) ->
    case catch apply(trace, info, [Session, P, flags]) of
        {flags, [_ | _]} -> true;
        _ -> false
    end.

%% The relay is dead. Its processes lose their flags when asked for their tracer.
undo_relay(#{session := Session, set := Set, new := New} = Undo) ->
    clear(Session, Set),
    uncount(Undo),
    case Session of
        none ->
            New andalso tracer_of(new_processes),
            [tracer_of(P) || P <- processes()];
        _ ->
            kprof_spec_00:flags({Session, none}, new, false, [all]),
            kprof_spec_00:flags({Session, none}, existing, false, [all])
    end,
    kprof_spec_00:sweep(),
    destroy(Session).

destroy(none) -> none;
destroy(Session) ->
    catch apply(trace, session_destroy, [Session]),
    ended.

%% Others may count on their control word; a large value is not one of our tickets.
restore(#{tcw := {Before, _}}) ->
    case erlang:system_info(trace_control_word) =< kprof_spec_00:ticket_range() of
        true -> erlang:system_flag(trace_control_word, Before);
        false -> ok
    end.

%% Unloads our modules once Pids are dead, in a process that runs none of our code: erl_eval does. With Tries it first
%% leaves that to kprof-top, for as many times 100 ms.
reap(Pids, Tries) ->
    Text =
        "lists:foreach(fun(P) -> R = erlang:monitor(process, P), receive {'DOWN', R, _, _, _} -> ok after 3000 -> ok end end, Pids),"
        "Wait = fun Again(0) -> true;"
        "            Again(N) -> erlang:module_loaded(hd(Modules)) andalso (receive after 100 -> Again(N - 1) end) end,"
        "Wait(Tries) andalso erlang:whereis(hd(Modules)) =:= undefined andalso"
        "  lists:foreach(fun(M) -> code:purge(M), code:delete(M), code:purge(M) end, Modules).",
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Forms} = erl_parse:parse_exprs(Tokens),
    Bindings = [
        {'Pids', [P || P <- Pids, is_pid(P)]},
        {'Modules', modules()},
        {'Tries', Tries}
    ],
    spawn(erl_eval, exprs, [Forms, Bindings]).

%% Asked, not written: a list of atoms is a literal of the beam, and kprof-top renames atoms in the atom chunk only.
modules() ->
    [
        ?MODULE:module_info(module),
        kprof_relay_00:module_info(module),
        kprof_spec_00:module_info(module),
        kprof_breaker_00:module_info(module)
    ].

%% ---- Questions about the node ----

dead({Id, Serial}) ->
    not is_process_alive(pid(Id, Serial)).

pid(Id, Serial) -> list_to_pid(lists:flatten(io_lib:format("<0.~b.~b>", [Id, Serial]))).

who(Id, Serial) ->
    case process_info(pid(Id, Serial), [registered_name, initial_call, current_function]) of
        [{_, Name}, _, _] when is_atom(Name) -> bin("~ts", [Name]);
        [_, {_, {proc_lib, init_p, _}}, {_, {M, F, A}}] -> bin("~ts", [first_call(pid(Id, Serial), mfa(M, F, A))]);
        [_, {_, {M, F, A}}, _] -> bin("~ts", [mfa(M, F, A)]);
        undefined -> <<>>
    end.

%% proc_lib keeps it in the dictionary, which may be large.
first_call(P, Else) ->
    case process_info(P, memory) of
        {_, Bytes} when Bytes < 1000000 ->
            {M, F, A} = proc_lib:translate_initial_call(P),
            mfa(M, F, A);
        _ ->
            Else
    end.

modules(Prefix) ->
    Names = lists:usort([atom_to_list(M) || {M, _} <- code:all_loaded()] ++ available()),
    [bin("~ts", [N]) || N <- lists:sublist([N || N <- Names, lists:prefix(Prefix, N) orelse lists:prefix("Elixir." ++ Prefix, N)], 500)].

available() ->
    try [N || {N, _, false} <- apply(code, all_available, [])]
    catch _:_ -> []
    end.

functions(M) ->
    loaded(M),
    Exports = exports(M, exports),
    lists:sublist([{F, A, lists:member({F, A}, Exports)} || {F, A} <- lists:usort(exports(M, functions)), not generated(F)], 5000).

generated(F) ->
    case atom_to_list(F) of
        [$- | _] -> true;
        _ -> false
    end.

exports(M, What) ->
    try erlang:get_module_info(M, What)
    catch _:_ -> []
    end.

loaded(M) ->
    erlang:module_loaded(M) orelse (code:get_mode() =:= interactive andalso code:ensure_loaded(M)).

exists(M, F, A) ->
    loaded(M),
    case erlang:module_loaded(M) of
        false -> no_module;
        true -> lists:member({F, A}, exports(M, functions)) orelse no_function
    end.

note(no_module, M, _, _) ->
    Loaded = [atom_to_list(X) || {X, _} <- code:all_loaded()],
    Near = [shown(N) || N <- near(atom_to_list(M), Loaded)],
    Embedded = [" that is loaded (the node loads none on demand)" || code:get_mode() =:= embedded],
    bin("no module ~ts~ts~ts", [shown(atom_to_list(M)), Embedded, instead(Near)]);
note(no_function, M, F, A) ->
    All = [FA || {X, _} = FA <- exports(M, functions), not generated(X)],
    Arities = lists:sort([N || {X, N} <- All, X =:= F]),
    Near =
        case Arities of
            [] -> [mfa(M, X, N) || Name <- near(atom_to_list(F), lists:usort([atom_to_list(X) || {X, _} <- All])), {X, N} <- All, atom_to_list(X) =:= Name];
            _ -> [mfa(M, F, N) || N <- Arities]
        end,
    bin("no function ~ts~ts", [mfa(M, F, A), instead(lists:sublist(Near, 3))]).

instead([]) -> "";
instead(Near) -> ["; there is ", lists:join(", ", Near)].

%% The three nearest names, if near at all.
near(Name, Names) ->
    Max = max(2, length(Name) div 3),
    Far = [{distance(Name, N), N} || N <- Names, abs(length(N) - length(Name)) =< Max, length(N) < 100],
    lists:sublist([N || {D, N} <- lists:sort(Far), D =< Max], 3).

distance(A, B) -> lists:last(rows(A, B, lists:seq(0, length(B)))).

rows([], _, Row) -> Row;
rows([C | Rest], B, [First | _] = Row) -> rows(Rest, B, [First + 1 | row(C, B, Row, First + 1)]).

row(C, [X | Xs], [Diagonal, Above | Row], Left) ->
    Cost = lists:min([Left + 1, Above + 1, Diagonal + (if C =:= X -> 0; true -> 1 end)]),
    [Cost | row(C, Xs, [Above | Row], Cost)];
row(_, [], _, _) ->
    [].

%% Is it called at all? The VM counts for a second; of those the relay saw are in requests.
why(Ref, Ix, #s{wish = Wish, session = Session} = S) ->
    case lists:keyfind(Ix, 1, maps:get(tiers, Wish)) of
        {_, M, F, A} ->
            loaded(M),
            MFA = {M, F, A},
            Before = call_count(Session, MFA),
            %% Someone else's counter is only read; ours is known to who undoes things before it is there.
            S1 = if Before =:= none -> share(S#s{counting = [MFA | S#s.counting]}); true -> S end,
            case is_integer(Before) orelse kprof_spec_00:set_pattern(Session, MFA, true, [call_count]) of
                No when No =:= 0; is_tuple(No) ->
                    answer(Ref, nofunction, S1),
                    share(S1#s{counting = S1#s.counting -- [MFA]});
                _ ->
                    S1#s.relay =/= none andalso (S1#s.relay ! {watch, Ix, self(), Ref}),
                    erlang:send_after(1000, self(), {why, Ref, Ix, {MFA, Before}}),
                    S1
            end;
        false ->
            answer(Ref, nofunction, S),
            S
    end.

counted(Ref, Ix, {MFA, Before}, #s{session = Session} = S) ->
    Calls =
        case {call_count(Session, MFA), Before} of
            {N, none} when is_integer(N) -> N;
            {N, _} when is_integer(N), N >= Before -> N - Before;
            _ -> 0
        end,
    S1 =
        case Before of
            none ->
                kprof_spec_00:set_pattern(Session, MFA, false, [call_count]),
                share(S#s{counting = S#s.counting -- [MFA]});
            _ ->
                S
        end,
    flush(S),
    Seen = min(Calls, watched(Ix, S) * sample_now(S)),
    answer(Ref, {called, Calls, Seen, Calls - Seen}, S),
    S1.

call_count(Session, MFA) ->
    case kprof_spec_00:pattern({Session, call_count}, MFA) of
        N when is_integer(N) -> N;
        _ -> none
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

to_atom(A) when is_atom(A) -> A;
to_atom(B) when is_binary(B) -> binary_to_atom(B, utf8).

%% As the language writes it.
mfa(M, F, A) ->
    case atom_to_list(M) of
        "Elixir." ++ Name -> io_lib:format("~ts.~ts/~b", [Name, F, A]);
        Name -> io_lib:format("~ts:~ts/~b", [Name, F, A])
    end.

shown("Elixir." ++ Name) -> Name;
shown(Name) -> Name.

bin(Format, Args) -> unicode:characters_to_binary(io_lib:format(Format, Args)).
