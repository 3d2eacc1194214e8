%% A full trace: all calls of the chosen modules in the processes of one request, or in given processes. This is the tracer: a
%% process of its own, in its own trace session (OTP 27+), otherwise in the common trace while the relay is paused.
%%
%% A request: a meta pattern on one function waits for a call that matches; processes need no flag for it. This call marks the
%% request with a token and sets the flags of its own process. Meta patterns on the functions of `follow` do the same in other
%% processes, for calls with this token. So only processes of the request have flags. It ends when the first call returns; a request that was
%% not slow enough, or that does not fulfil the rule, is dropped, and the next one is traced.
%%
%% Invariant: at most `events` events are kept; with the last one tracing ends: first the control word (no further process
%% begins), then flags and meta patterns, then the patterns of the modules, one after the other. Everything is in the cleanup
%% plan before it is set. When all of it is removed, the controller gets {full_off, Tracer}; then the events are sent.
-module(kprof_full_tracer).
-agent(tools).
-export([start/1, init/1]).
-export_type([options/0, who/0, why/0]).

-type who() :: {pids, [pid()]} | {request, mfa(), kprof_identity_rule:clauses(), true | [term()]}.
-type options() :: #{
    controller := pid(), to := pid(), vm := kprof_hazard:vm(), isolated := boolean(), epoch := pos_integer(), who := who(),
    follow := [{mfa(), kprof_identity_rule:clauses(), true | [term()]}], need := boolean(), modules := kprof_full_modules:choice(),
    events := pos_integer(), functions := pos_integer(), wait_ms := pos_integer(), run_ms := pos_integer(), slow_ns := non_neg_integer(),
    walker := none | pid(), id := non_neg_integer()
}.
-type why() :: done | no_call | none_matched | budget | time | no_function | too_many | breaker | lease | run_queue | behind |
    canceled | died | refused | code_server.

-define(CODE_MS, 5000). % for an answer of the code server
-define(LOOK, 64). % messages between two readings of the clock and the queue
-define(HIGH_US, 1000). % time at high priority until all others run once
-define(BEHIND_MS, 400). % if messages are older than this and the queue is long, the tracer cannot catch up
-define(QUEUE, 100000).
-define(LATE_MS, 60). % time for calls of the request in other processes, after its end
-define(TICK_MS, 100).
-define(TELL_MS, 500).
-define(BATCH, 500). % events of a message
-define(SEND_MS, 10000).
-define(HEAP_WORDS, 48 bsl 20).
-define(DROPPED, 4). % at most this factor times `events` events may be dropped

%% Kinds of events.
-define(CALL, 0).
-define(RETURN_TO, 1).
-define(OUT, 2).
-define(IN, 3).
-define(GC, 4).
-define(GC_END, 5).
-define(BEGIN, 6).
-define(END, 7).
-define(END_EXCEPTION, 8).

%% What changes with each event.
-record(h, {
    procs = #{} :: #{pid() => {non_neg_integer(), non_neg_integer()}}, % number, and how many calls of tiers are open: 0: events are dropped
    names = #{} :: #{term() => non_neg_integer()},
    events = [] :: [tuple()], % newest first
    n = 0 :: non_neg_integer(),
    dropped = 0 :: non_neg_integer(),
    look = ?LOOK :: integer(),
    rested = none :: none | integer() % native: when all others could run
}).
-record(f, {
    o :: options(),
    session = none :: kprof_spec:session(),
    flags :: [atom()],
    phase = setting :: setting | waiting | running | late | sending,
    modules = [] :: [module()], % that have patterns
    functions = 0 :: non_neg_integer(), % of them
    metas = [] :: [mfa()],
    counted = [] :: [mfa()], % the function that starts requests, if it has a counter of this tracer
    left_out = [] :: [mfa()], % another tracer traces them
    base :: integer(), % native: times of events are relative to this
    deadline = infinity :: integer() | infinity, % native
    told :: integer(), % ms
    %% requests
    attempt = 0 :: non_neg_integer(),
    words = none :: none | kprof_spec:full_words(),
    word = 0 :: non_neg_integer(), % before the first attempt
    monitors = [] :: [reference()], % of processes of the request
    others = #{} :: #{pid() => true}, % that began another request, before the control word said that this one has ended
    entry = none :: none | pid(),
    began = 0 :: integer(), % native
    fulfilled = false :: boolean(), % a call of a tier has fulfilled the rule
    attempts = 0 :: non_neg_integer(), % requests that were traced
    slowest_ns = 0 :: non_neg_integer(), % of the slowest of them that was not kept
    calls = 0 :: integer(), % of the function that starts requests; -1: not counted
    total = 0 :: non_neg_integer(), % events of all requests
    set_ms = 0 :: non_neg_integer(),
    off_us = 0 :: non_neg_integer(), % time from the end of the trace until all flags were off
    seq = 0 :: non_neg_integer()
}).

%% -> {Tracer, Monitor}; none: the node has no room for a process. It ends with the controller.
-spec start(options()) -> none | {pid(), reference()}.
start(O) ->
    Options = [monitor, {priority, high}, {message_queue_data, off_heap}, kprof_flags:heap_limit(?HEAP_WORDS)],
    kprof_node:if_room(fun() -> spawn_opt(?MODULE, init, [O], Options) end).

-spec init(options()) -> term().
init(#{controller := Controller, walker := Walker, isolated := Isolated, vm := Vm} = O) ->
    erlang:monitor(process, Controller),
    kprof_flags:walked(Walker),
    Flags = [call, arity, return_to, monotonic_timestamp] ++ [running || kprof_hazard:allowed(running_flags, Vm)] ++
        [garbage_collection || kprof_hazard:allowed(gc_flags, Vm)],
    F0 = #f{o = O, session = kprof_spec:session(Isolated, ?MODULE, self()), flags = Flags, base = erlang:monotonic_time(), told = now_ms()},
    {Why, H0, F1} = traced(F0),
    {H, F2} = off(H0, F1),
    F = cleared(F2),
    Controller ! {full_off, self()},
    process_flag(priority, normal), % nothing waits for the events, which may be many
    send_all(Why, H, F).

%% -> {Why it ended, events, state}
traced(#f{o = #{modules := Choice, functions := Most}} = F0) ->
    case chosen(kprof_full_modules:start(Choice)) of
        {stop, Why} -> {Why, #h{}, F0};
        {_, 0} -> {no_function, #h{}, F0};
        {_, N} when N > Most -> {too_many, #h{}, F0#f{functions = N}};
        {Sets, _} ->
            Began = now_ms(),
            F1 = planned(Sets, F0),
            case is_entry_taken(F1) orelse patterns(Sets, F1) of
                true -> {refused, #h{}, say_left_out(F1)};
                {stop, Why, F} -> {Why, #h{}, F};
                #f{functions = 0} = F -> {no_function, #h{}, say_left_out(F)};
                F ->
                    process_flag(priority, high), % it loses it if the patterns of a module take long
                    begun(say_left_out(F#f{set_ms = now_ms() - Began}))
            end
    end.

is_entry_taken(#f{o = #{who := {request, MFA, _, _}}, left_out = Left}) -> lists:member(MFA, Left);
is_entry_taken(_) -> false.

say_left_out(#f{left_out = []} = F) -> F;
say_left_out(#f{left_out = Left, o = #{controller := Controller}} = F) ->
    Controller ! {full_left_out, self(), lists:last(Left), length(Left)},
    F.

%% -> kprof_full_modules:chosen() | {stop, why()}
chosen(none) -> exit(system_limit); % the node has no room for a process; the controller says it
chosen(P) -> chosen(P, ?CODE_MS).

chosen(P, Ms) ->
    receive
        {listed, P} -> chosen(P, infinity);
        {chosen, P, Chosen} -> Chosen;
        {stop, Why} -> kprof_full_modules:stop(P), {stop, Why};
        {'DOWN', _, _, _, _} -> kprof_full_modules:stop(P), exit(normal)
    after Ms -> kprof_full_modules:stop(P), {stop, code_server}
    end.

%% The controller puts it into the cleanup plan.
planned(Sets, #f{o = #{controller := Controller, who := Who, follow := Follow} = O, session = Session} = F) ->
    Entry = case Who of {request, MFA, _, _} -> [MFA]; _ -> [] end,
    Wanted = Entry ++ lists:usort([T || Entry =/= [], {T, _, _} <- Follow] -- Entry),
    Metas = [T || T <- Wanted, kprof_full_patterns:is_free(meta, Session, T)],
    Counted = [T || T <- Entry, kprof_full_patterns:is_free(call_count, Session, T)],
    Controller ! {full_plan, self(), {self(), [M || {M, _} <- Sets], Metas, Counted}},
    receive planned -> ok end,
    Left = Wanted -- Metas,
    Followed = [T || T <- Follow, not lists:member(element(1, T), Left)],
    F#f{metas = Metas, counted = Counted, left_out = Left, o = O#{follow := Followed}}.

%% ---- Patterns: a module at a time ----

patterns([], F) -> F;
patterns([{M, Which} | Rest], #f{session = Session} = F0) ->
    receive
        {stop, Why} -> {stop, Why, F0};
        {'DOWN', _, _, _, _} -> exit(normal)
    after 0 ->
        {N, Others} = kprof_full_patterns:set(Session, M, Which),
        kprof_flags:yield(),
        F = F0#f{modules = [M | F0#f.modules], functions = F0#f.functions + N, left_out = Others ++ F0#f.left_out},
        patterns(Rest, telling(#h{}, F))
    end.

cleared(#f{modules = Modules, session = Session} = F) ->
    lists:foreach(fun(M) -> kprof_full_patterns:clear(Session, M), kprof_flags:yield() end, Modules),
    kprof_spec:end_session(Session),
    F#f{modules = []}.

%% ---- Begin and end ----

begun(#f{o = #{who := {pids, Pids}, run_ms := Ms}} = F0) ->
    F = F0#f{phase = running, began = erlang:monotonic_time(), deadline = after_ms(Ms)},
    case [P || P <- Pids, flag(P, F) > 0] of
        [] -> {died, #h{}, F};
        Flagged ->
            [erlang:monitor(process, P) || P <- Flagged],
            erlang:send_after(?TICK_MS, self(), tick),
            H = #h{procs = maps:from_list(lists:zip(Flagged, [{I, 1} || I <- lists:seq(0, length(Flagged) - 1)]))},
            loop(H, told(H, [], [], [], F#f{attempts = 1, told = now_ms()}))
    end;
begun(#f{o = #{wait_ms := Ms}, counted = Counted, session = Session} = F0) ->
    Set = [N || MFA <- Counted, N <- [kprof_spec:set_pattern(Session, MFA, true, [call_count])], is_integer(N), N > 0],
    F1 = F0#f{deadline = after_ms(Ms), calls = case Set of [_] -> 0; [] -> -1 end},
    erlang:send_after(?TICK_MS, self(), tick),
    case armed(F1#f{word = erlang:system_info(trace_control_word)}) of
        {refused, F} -> {refused, #h{}, F};
        F -> loop(#h{}, told(#h{}, [], [], [], F#f{told = now_ms()}))
    end.

flag(P, #f{session = Session, flags = Flags}) -> kprof_spec:flags({Session, self()}, P, true, Flags).

%% Waits for the next call that matches. Each attempt has its own label, so that a process that still works for an earlier
%% request does not count.
armed(#f{o = #{epoch := Epoch, who := {request, MFA, Clauses, Values}, follow := Follow}, attempt = N, session = Session} = F) ->
    Words = {Armed, _, _, _} = kprof_spec:full_words(N, F#f.word),
    Flags = F#f.flags ++ [{const, {tracer, self()}} || Session =:= none],
    Mark = {kprof_spec:full_label(Epoch, Words), Flags},
    Set = [set_tier(Tier, Words, Mark, F) || Tier <- Follow, element(1, Tier) =/= MFA],
    Entry = kprof_match_spec:full_entry(Clauses, Values, Words, Mark),
    case [Error || {error, _} = Error <- [kprof_spec:set_meta(Session, MFA, Entry, self()) | Set]] of
        [] ->
            kprof_spec:set_word(Armed),
            F#f{phase = waiting, words = Words, attempt = N + 1, entry = none, fulfilled = false};
        _ ->
            {refused, F}
    end.

set_tier({MFA, Clauses, Values}, Words, Mark, #f{session = Session}) ->
    kprof_spec:set_meta(Session, MFA, kprof_match_spec:full_tier(Clauses, Values, Words, Mark), self()).

%% No further events are made once the flags are off. Events that are under way at that time are received.
off(H0, #f{counted = Counted, session = Session} = F0) ->
    Began = erlang:monotonic_time(),
    F1 = quiet(F0),
    [kprof_spec:flags({Session, self()}, P, false, [all]) || P <- maps:keys(H0#h.procs) ++ maps:keys(F1#f.others)],
    F2 = F1#f{off_us = erlang:convert_time_unit(erlang:monotonic_time() - Began, native, microsecond)},
    Calls = case Counted of [MFA] -> kprof_spec:pattern({Session, call_count}, MFA); [] -> -1 end,
    kprof_full:unset_metas(Session, self(), F2#f.metas, Counted),
    {waited_for(H0, F2), F2#f{phase = sending, calls = if is_integer(Calls) -> Calls; true -> -1 end}}.

quiet(#f{words = none} = F) -> F;
quiet(#f{words = {_, _, _, Off}} = F) ->
    kprof_spec:set_word(Off),
    F.

%% A process may have got its flags just before the word changed: its first event is then among those under way.
waited_for(H, #f{session = Session}) ->
    Ref = kprof_spec:delivered(Session),
    Left = rest(H, Ref),
    [kprof_spec:flags({Session, self()}, P, false, [all]) || P <- maps:keys(Left)],
    H.

rest(#h{procs = Procs}, Ref) -> rest(Ref, Procs, #{}).
rest(Ref, Procs, New) ->
    receive
        {trace_delivered, all, Ref} -> New;
        {trace_ts, P, call, _, {full, _, _}, _} when not is_map_key(P, Procs) -> rest(Ref, Procs, New#{P => true});
        Trace when element(1, Trace) =:= trace_ts -> rest(Ref, Procs, New)
    after 2000 -> New
    end.

%% ---- Events ----

%% Below OTP 27, functions that another tracer traces have its match specs: their events may have other messages, or be of
%% returns (with an integer as time; those of meta patterns have a tuple), and are then dropped.
loop(#h{look = 0} = H, F) -> looked(H#h{look = ?LOOK}, F);
loop(#h{look = Look} = H0, F) ->
    H = H0#h{look = Look - 1},
    receive
        {trace_ts, P, call, {_, _, A} = MFA, Caller, Ts} when
            is_integer(A), Caller =:= undefined orelse tuple_size(Caller) =:= 3 andalso is_atom(element(1, Caller)) andalso is_atom(element(2, Caller)) andalso is_integer(element(3, Caller))
        ->
            event(P, ?CALL, MFA, Caller, Ts, H, F);
        {trace_ts, P, return_to, MFA, Ts} -> event(P, ?RETURN_TO, MFA, 0, Ts, H, F);
        {trace_ts, P, out, MFA, Ts} -> event(P, ?OUT, MFA, 0, Ts, H, F);
        {trace_ts, P, in, MFA, Ts} -> event(P, ?IN, MFA, 0, Ts, H, F);
        {trace_ts, P, What, _, Ts} when What =:= gc_minor_start; What =:= gc_major_start -> event(P, ?GC, What, 0, Ts, H, F);
        {trace_ts, P, What, _, Ts} when What =:= gc_minor_end; What =:= gc_major_end -> event(P, ?GC_END, What, 0, Ts, H, F);
        {trace_ts, P, call, {M, Fn, Args}, {full, Caller, Given}, Now} -> entered(P, {M, Fn, length(Args)}, Caller, Given, native(Now), H, F);
        {trace_ts, P, return_from, MFA, _, Now} when is_tuple(Now) -> left(P, ?END, MFA, native(Now), H, F);
        {trace_ts, P, exception_from, MFA, _, Now} when is_tuple(Now) -> left(P, ?END_EXCEPTION, MFA, native(Now), H, F);
        {stop, Why} -> {Why, H, F};
        tick ->
            erlang:send_after(?TICK_MS, self(), tick),
            looked(H, telling(H, F));
        late when F#f.phase =:= late -> judged(H, F);
        {'DOWN', _, _, Controller, _} when Controller =:= map_get(controller, F#f.o) -> exit(normal);
        {'DOWN', _, _, P, _} -> ended(P, H, F);
        _ -> loop(H, F)
    end.

event(P, Kind, A, B, Ts, #h{procs = Procs} = H, #f{o = #{events := Most}} = F) ->
    case Procs of
        #{P := {I, Open}} when Open > 0 -> kept(I, Kind, A, B, Ts, H, F);
        _ when H#h.dropped >= ?DROPPED * Most -> {budget, H, F};
        _ -> loop(H#h{dropped = H#h.dropped + 1}, F)
    end.

kept(I, Kind, A, B, Ts, H, F) -> next(stored(I, Kind, A, B, Ts, H, F), F).

next(#h{n = N} = H, #f{o = #{events := Most}} = F) when N >= Most -> {budget, H, F};
next(H, F) -> loop(H, F).

stored(I, Kind, A, B, Ts, H0, #f{base = Base}) ->
    {Na, H1} = named(A, H0),
    {Nb, #h{events = Events, n = N} = H} = named(B, H1),
    H#h{events = [{I, Kind, Na, Nb, Ts - Base} | Events], n = N + 1}.

named(0, H) -> {0, H};
named(Name, #h{names = Names} = H) ->
    case Names of
        #{Name := N} -> {N, H};
        _ -> N = map_size(Names) + 1, {N, H#h{names = Names#{Name => N}}}
    end.

%% A call of the first function, or of a function of `follow` with the request's token. If the process has flags already, and
%% the function's module is chosen, the pattern of the module has already reported this call.
entered(P, MFA, Caller, _, Ts, #h{procs = Procs} = H, #f{entry = none, phase = waiting, o = #{run_ms := Ms}} = F) ->
    kept(0, ?BEGIN, MFA, Caller, Ts, H#h{procs = Procs#{P => {0, 1}}}, (watched(P, F))#f{
        phase = running, entry = P, began = Ts, attempts = F#f.attempts + 1, fulfilled = false, deadline = after_ms(Ms)
    });
entered(P, MFA, _, _, _, #h{procs = Procs} = H, #f{phase = late, o = #{who := {request, First, _, _}}, others = Others} = F) when
    not is_map_key(P, Procs), MFA =:= First orelse is_map_key(P, Others)
->
    kprof_spec:flags({F#f.session, self()}, P, false, [all]),
    loop(H, F#f{others = Others#{P => true}});
entered(P, MFA, Caller, Given, Ts, #h{procs = Procs} = H, #f{fulfilled = Before} = F0) ->
    F = F0#f{fulfilled = Before orelse Given =:= true},
    case Procs of
        #{P := {I, Open}} when Open > 0 -> loop(H#h{procs = Procs#{P := {I, Open + 1}}}, F);
        #{P := {I, 0}} when P =/= F#f.entry -> kept(I, ?BEGIN, MFA, Caller, Ts, H#h{procs = Procs#{P := {I, 1}}}, F);
        #{P := _} -> loop(H, F);
        _ ->
            I = map_size(Procs),
            kept(I, ?BEGIN, MFA, Caller, Ts, H#h{procs = Procs#{P => {I, 1}}}, watched(P, F))
    end.

watched(P, #f{monitors = Refs} = F) -> F#f{monitors = [erlang:monitor(process, P) | Refs]}.

left(P, Kind, MFA, Ts, #h{procs = Procs, n = N} = H0, #f{o = #{events := Most}} = F) ->
    case Procs of
        #{P := {I, 1}} ->
            H = stored(I, Kind, MFA, 0, Ts, H0#h{procs = Procs#{P := {I, 0}}}, F),
            if
                P =:= F#f.entry, N + 1 < Most -> over(P, Ts, H, F);
                true -> next(H, F)
            end;
        #{P := {I, Open}} when Open > 1 -> loop(H0#h{procs = Procs#{P := {I, Open - 1}}}, F);
        _ -> loop(H0, F)
    end.

%% A process has ended. If the request began in it, the request is over.
ended(P, #h{procs = Procs} = H0, #f{entry = Entry} = F) ->
    H = case Procs of #{P := {I, _}} -> H0#h{procs = Procs#{P := {I, 0}}}; _ -> H0 end,
    Live = [Q || {Q, {_, Open}} <- maps:to_list(H#h.procs), Open > 0],
    if
        P =:= Entry, F#f.phase =:= running -> over(P, erlang:monotonic_time(), H, F);
        Entry =:= none, Live =:= [], F#f.phase =:= running -> {died, H, F};
        true -> loop(H, F)
    end.

%% The first call has returned. Other processes may work for the request a little longer.
over(P, Ts, H, #f{session = Session, began = Began, words = {_, _, Late, _}} = F0) ->
    kprof_spec:set_word(Late),
    kprof_spec:flags({Session, self()}, P, false, [all]),
    F = F0#f{began = Ts - Began, phase = late},
    case F#f.metas of
        [_] -> judged(H, F);
        _ -> erlang:send_after(?LATE_MS, self(), late), loop(H#h{look = ?LOOK}, F)
    end.

%% Whether this request is kept. `began` is its duration now.
judged(H0, #f{began = Took, fulfilled = Fulfilled, o = #{slow_ns := Slow, need := Need, wait_ms := Ms}} = F0) ->
    Ns = erlang:convert_time_unit(Took, native, nanosecond),
    case Ns >= Slow andalso (Fulfilled orelse not Need) of
        true ->
            {done, H0, F0};
        false ->
            F1 = quiet(F0),
            [kprof_spec:flags({F1#f.session, self()}, P, false, [all]) || P <- maps:keys(H0#h.procs) ++ maps:keys(F1#f.others)],
            waited_for(H0, F1),
            [erlang:demonitor(Ref, [flush]) || Ref <- F1#f.monitors],
            F2 = F1#f{monitors = [], others = #{}, slowest_ns = max(Ns, F1#f.slowest_ns), total = F1#f.total + H0#h.n, deadline = waits_until(Ms, F1)},
            case armed(F2) of
                {refused, F} -> {refused, #h{}, F};
                F -> loop(#h{names = H0#h.names}, F)
            end
    end.

%% All attempts together have wait_ms.
waits_until(Ms, #f{base = Base, set_ms = Set}) -> Base + erlang:convert_time_unit(Ms + Set, millisecond, native).

%% Every few messages, and with each tick.
looked(H0, #f{deadline = Deadline, phase = Phase} = F) ->
    H = rested(H0),
    Late = erlang:monotonic_time() > Deadline, % infinity, an atom, is greater
    {_, Queue} = process_info(self(), message_queue_len),
    if
        Late, Phase =:= waiting -> {waited(F), H, F};
        Late, Phase =:= running -> {time, H, F};
        Queue > ?QUEUE -> {behind, H, F};
        true -> behind(H, F)
    end.

rested(#h{rested = Since} = H) ->
    case Since =:= none orelse erlang:monotonic_time() - Since > erlang:convert_time_unit(?HIGH_US, microsecond, native) of
        true ->
            kprof_flags:yield(),
            H#h{rested = erlang:monotonic_time()};
        false ->
            H
    end.

waited(#f{attempts = 0, calls = Counted, o = #{who := {request, MFA, _, _}}, session = Session}) when Counted >= 0 ->
    case kprof_spec:pattern({Session, call_count}, MFA) of
        N when is_integer(N), N > 0 -> none_matched;
        _ -> no_call
    end;
waited(#f{attempts = 0}) -> no_call;
waited(_) -> none_matched.

behind(#h{events = [{_, _, _, _, T} | _]} = H, #f{base = Base, phase = running} = F) ->
    case erlang:convert_time_unit(erlang:monotonic_time() - Base - T, native, millisecond) of
        Ms when Ms > ?BEHIND_MS ->
            {_, Queue} = process_info(self(), message_queue_len),
            if Queue > ?LOOK * ?LOOK -> {behind, H, F}; true -> loop(H, F) end;
        _ -> loop(H, F)
    end;
behind(H, F) ->
    loop(H, F).

%% The stamps of meta events are {Mega, Seconds, Micro} of erlang:now().
native({Mega, S, Us}) -> erlang:convert_time_unit((Mega * 1000000 + S) * 1000000 + Us, microsecond, native) - erlang:time_offset().

after_ms(Ms) -> erlang:monotonic_time() + erlang:convert_time_unit(Ms, millisecond, native).
now_ms() -> erlang:monotonic_time(millisecond).

%% ---- To kprof-top ----

telling(H, #f{told = Told} = F) ->
    case now_ms() - Told >= ?TELL_MS of
        true -> told(H, [], [], [], F#f{told = now_ms()});
        false -> F
    end.

%% Names first, then processes, then events, oldest first.
send_all(Why, #h{procs = Procs, names = Names, events = Events} = H, F0) ->
    By = lists:sort([{N, Name} || {Name, N} <- maps:to_list(Names)]),
    F1 = F0#f{total = F0#f.total + H#h.n},
    F2 = in_batches(By, fun(Some, F) -> told(H, Some, [], [], F) end, F1),
    F3 = in_batches([described(I, P) || {P, {I, _}} <- maps:to_list(Procs)], fun(Some, F) -> told(H, [], Some, [], F) end, F2),
    F4 = in_batches(lists:reverse(Events), fun(Some, F) -> told(H, [], [], Some, F) end, F3),
    told(reason(Why), H, [], [], [], F4).

in_batches([], _, F) -> F;
in_batches(All, Tell, F) ->
    {Some, Rest} = batch(?BATCH, All, []),
    in_batches(Rest, Tell, Tell(Some, F)).

batch(N, [H | T], Some) when N > 0 -> batch(N - 1, T, [H | Some]);
batch(_, Rest, Some) -> {lists:reverse(Some), Rest}.

described(I, P) ->
    case process_info(P, [registered_name, initial_call]) of
        [{_, Name}, {_, First}] -> {I, P, if is_atom(Name) -> Name; true -> 0 end, First};
        _ -> {I, P, 0, 0}
    end.

told(H, Names, Processes, Events, F) -> told(0, H, Names, Processes, Events, F).

told(Reason, H, Names, Processes, Events, #f{o = #{to := To}, seq = Seq} = F) ->
    sent(To, {kf, Seq + 1, erlang:monotonic_time(), (figures(H, F))#{reason => Reason}, Names, Processes, Events}, now_ms() + ?SEND_MS),
    F#f{seq = Seq + 1}.

%% While it traces, a message that the link does not accept is dropped: it contains only figures.
sent(To, Message, Until) ->
    case erlang:send(To, Message, [nosuspend, noconnect]) of
        ok -> ok;
        _ when element(5, Message) =:= [], element(7, Message) =:= [], map_get(reason, element(4, Message)) =:= 0 -> ok;
        _ ->
            case now_ms() > Until of
                true -> exit(normal);
                false -> receive after 5 -> sent(To, Message, Until) end
            end
    end.

figures(H, #f{o = #{events := Most, id := Id}} = F) ->
    #{
        phase => case F#f.phase of setting -> 1; waiting -> 2; running -> 3; late -> 3; sending -> 4 end,
        base => F#f.base, functions => F#f.functions, budget => Most, events => H#h.n, total => max(F#f.total, H#h.n),
        dropped => H#h.dropped, requests => F#f.attempts, calls => max(0, F#f.calls), counted => if F#f.calls < 0 -> 0; true -> 1 end,
        id => Id, slowest_ns => F#f.slowest_ns, set_ms => F#f.set_ms, off_us => F#f.off_us,
        waits => flagged(running, F), gc => flagged(garbage_collection, F)
    }.

flagged(Flag, #f{flags = Flags}) -> case lists:member(Flag, Flags) of true -> 1; false -> 0 end.

%% As enum full_reason of kprof-top.
reason(done) -> 1;
reason(no_call) -> 2;
reason(none_matched) -> 3;
reason(budget) -> 4;
reason(time) -> 5;
reason(no_function) -> 6;
reason(too_many) -> 7;
reason(breaker) -> 8;
reason(lease) -> 9;
reason(run_queue) -> 10;
reason(behind) -> 11;
reason(canceled) -> 12;
reason(died) -> 13;
reason(refused) -> 14;
reason(code_server) -> 15.
