%% The sampler: in each interval it gives one of ?GROUPS groups of the chosen processes to its workers, as a round; the
%% order of the groups is random. It numbers the stacks of the samples and sends them to kprof-top as {ks, ...}. It is a
%% separate process with normal priority, so on a busy node it waits as others do. It ends with the controller.
%%
%% Invariant: asked = sampled + other + died + own + skipped, once no round is under way. Samples that the link does not
%% accept are lost and counted; processes and stacks are sent with the next message.
-module(kprof_stack_sampler).
-agent(tools).
-export([start/2, last/1, init/3]).
-export_type([options/0]).

%% period_ms: time between two choices of processes; statuses: a bit for each status that is reported; to: kprof-top's
%% pid
-type options() :: #{
    who := kprof_stack_choice:who(), interval_us := pos_integer(), period_ms := pos_integer(), statuses := non_neg_integer(),
    vm := kprof_hazard:vm(), to := pid()
}.

-define(GROUPS, 11).
-define(WORKERS, 4). % for a round
-define(MOST_WORKERS, 16).
-define(STUCK_MS, 1000). % a worker that waits this long for an answer is killed
-define(DEADLINE_MS, 50). % of a round, or the interval where that is longer
-define(TELL_MS, 100).
-define(LAST_MS, 2000).
-define(ANSWER_US, 500000). % at the end, queried processes have this time to answer
-define(SHUT_US, 100000). % time between two rounds while the gate is closed
-define(LOOK_MS, 500).
-define(BATCH, 200). % samples of a message
-define(TURN_NS, 500000). % maximum that a message counts as work: if it took longer, the sampler has waited
-define(HEAP_WORDS, 8 bsl 20).

-record(l, {
    options :: options(),
    controller :: reference(),
    gate = 0 :: 0..3, % 0 open; closed: 1 the breaker is open, 2 kprof-top is silent, 3 the run queue is long
    budget = 0 :: non_neg_integer(), % millionths of the schedulers' time; 0: no limit
    seed :: non_neg_integer(),
    depth :: pos_integer(), % number of functions of a stack that the node reports
    %% the choice of processes
    chooser = none :: none | pid(),
    stuck = kprof_stuck:new() :: kprof_stuck:stuck(),
    choice_ns = 0 :: non_neg_integer(), % work of the last choice
    choice_of = 1 :: pos_integer(), % number of processes of the node then
    choice_at :: integer(), % us
    choice_us :: pos_integer(), % from then to the next one
    choose = none :: none | reference(), % its timer
    numbers = #{} :: #{pid() => non_neg_integer()},
    processes = #{} :: #{non_neg_integer() => kprof_stack_choice:chosen()},
    named = #{} :: #{non_neg_integer() => true}, % the initial call is known
    next_number = 0 :: non_neg_integer(),
    scale = {1, 1} :: {pos_integer(), pos_integer()}, % {matching, chosen} processes: a chosen one stands for this ratio
    seen = none :: none | kprof_stack_seen:seen(), % which processes are inside requests; none: others are sampled
    masters = #{} :: #{pid() => binary()},
    births :: kprof_stack_births:births(),
    %% rounds
    groups = [] :: [[non_neg_integer()]], % rounds to come, in order
    interval_us :: pos_integer(), % as planned
    pace_us :: pos_integer(), % the mean time between two rounds: longer if intervals were missed
    mean_us :: pos_integer(), % of pace_us, over some messages; it is shown
    planned = {0, 0} :: {non_neg_integer(), non_neg_integer()}, % since the last message: rounds, missed intervals
    next_us :: integer(),
    round = 0 :: non_neg_integer(),
    idle = [] :: [kprof_stack_worker:worker()],
    busy = #{} :: #{pid() => {kprof_stack_worker:worker(), integer()}},
    %% to be sent
    table :: kprof_stack_table:table(),
    blocked = false :: boolean(), % the link accepts nothing: no process is queried until it does
    seq = 0 :: non_neg_integer(),
    samples = [] :: [tuple()],
    n_samples = 0 :: non_neg_integer(),
    new_processes = [] :: [tuple()],
    left = [] :: [non_neg_integer()],
    new_stacks = [] :: [tuple()],
    gone = [] :: [non_neg_integer()],
    figures = #{} :: #{atom() => non_neg_integer()}, % totals since the start
    choice = #{} :: #{atom() => non_neg_integer()}, % of the last choice
    %% cost
    looked_ns :: integer(),
    own_ns = 0 :: non_neg_integer(), % since the last evaluation, without choices
    answers = [] :: [non_neg_integer()], % ns, since the last evaluation
    each_ns = 0 :: non_neg_integer(),
    smooth = 0 :: non_neg_integer(), % without choices
    cost = 0 :: non_neg_integer()
}).

%% Called by the controller, whose end also ends the sampler. To stop it, kill it: its processes are linked to it. none: the node has
%% no room for a process.
-spec start(options(), non_neg_integer()) -> none | {pid(), reference()}.
start(Options, Budget) ->
    kprof_node:if_room(fun() -> spawn_opt(?MODULE, init, [self(), Options, Budget], [monitor, kprof_flags:heap_limit(?HEAP_WORDS)]) end).

%% The caller gets {stacks_end, Ref} when all samples have been sent, at the latest after ?LAST_MS. -> Ref
-spec last(pid()) -> reference().
last(Sampler) ->
    Ref = make_ref(),
    Sampler ! {last, self(), Ref},
    erlang:send_after(?LAST_MS, self(), {stacks_end, Ref}),
    Ref.

-spec init(pid(), options(), non_neg_integer()) -> no_return().
init(Controller, #{interval_us := Us, period_ms := Ms} = Options, Budget) ->
    Ref = erlang:monitor(process, Controller),
    L = #l{
        options = Options, controller = Ref, budget = Budget, seed = erlang:phash2({self(), erlang:monotonic_time()}),
        depth = depth(Ref), interval_us = Us, pace_us = Us, mean_us = Us, next_us = now_us(), choice_at = now_us(), choice_us = 1000 * Ms, table = kprof_stack_table:new(), looked_ns = now_ns(),
        births = kprof_stack_births:new(self())
    },
    self() ! {choose, none},
    erlang:send_after(?LOOK_MS, self(), look),
    self() ! tell,
    loop(plan_round(L)).

%% Without room for the process that it reads, it waits: there is none for the workers either.
depth(Controller) ->
    case kprof_node:if_room(fun() -> kprof_stack_worker:depth() end) of
        none -> receive {'DOWN', Controller, _, _, _} -> exit(normal) after ?LOOK_MS -> depth(Controller) end;
        Depth -> Depth
    end.

loop(#l{controller = Controller} = L) ->
    receive
        {'DOWN', Controller, _, _, _} -> exit(shutdown); % with those that are linked to it
        Message -> loop(timed(Message, L))
    end.

%% The sampler's own work is part of the cost. A timer message comes with a tick of the timer wheel, which also wakes
%% other processes of the node: these run first. The next round is planned before that, so that it is not delayed.
timed(Message, L0) ->
    L1 = if Message =:= round -> plan_round(L0); true -> L0 end,
    (is_atom(Message) orelse element(1, Message) =:= choose) andalso erlang:yield(),
    Began = now_ns(),
    L = handle(Message, L1),
    L#l{own_ns = L#l.own_ns + min(?TURN_NS, now_ns() - Began)}.

handle(round, L) -> turn(L);
handle({seen, Events}, L) -> seen(Events, L);
handle({sampled, Worker, _, Results, Skipped, Late}, L) -> sampled(Worker, Results, Skipped, Late, L);
handle({chosen, Chooser, Chosen, Figures, Ns, Walks}, #l{chooser = Chooser} = L0) ->
    L = lists:foldl(fun(_, L1) -> started(L1) end, L0, lists:seq(1, Walks)),
    chosen(Chosen, choice_later(Ns, L#l{chooser = none, choice = Figures, stuck = kprof_stuck:walked(L#l.stuck)}));
handle({no_choice, Chooser}, #l{chooser = Chooser, options = #{period_ms := Ms}} = L) -> choose_in(1000 * Ms, L#l{chooser = none});
handle({choose, Timer}, #l{choose = Timer} = L) -> choose(L);
handle({look, Chooser}, #l{chooser = Chooser} = L) -> looked(kprof_stuck:look(Chooser, L#l.stuck), L);
handle({'DOWN', Ref, _, _, _}, #l{stuck = Stuck} = L) -> L#l{stuck = kprof_stuck:answered(Ref, Stuck)};
handle(tell, L) ->
    erlang:send_after(?TELL_MS, self(), tell),
    case L#l.blocked orelse L#l.n_samples > 0 orelse L#l.new_processes =/= [] of
        true -> tell(L);
        false -> L
    end;
handle(look, L) ->
    erlang:send_after(?LOOK_MS, self(), look),
    look(L);
handle({last, From, Ref}, #l{controller = Controller} = L) ->
    tell(answered(now_us() + ?ANSWER_US, L)),
    From ! {stacks_end, Ref},
    receive {'DOWN', Controller, _, _, _} -> exit(normal) end; % it is killed now; nothing more is sampled
handle({gate, Gate, Budget}, #l{gate = Gate} = L) -> L#l{budget = Budget};
handle({gate, Gate, Budget}, L) -> tell(L#l{gate = Gate, budget = Budget, next_us = now_us(), planned = {0, 0}});
handle({who, Who, Statuses, Us, PeriodMs}, #l{options = Options} = L) ->
    New = Options#{who := Who, statuses := Statuses, interval_us := Us, period_ms := PeriodMs},
    Seen = if Who =:= inside -> L#l.seen; true -> none end,
    L1 = planned_every(max(Us, L#l.interval_us), unchosen(tell(L))),
    choose(L1#l{options = New, planned = {0, 0}, seen = Seen});
handle(_, L) -> L.

%% ---- Choice of processes ----

%% If a chooser is still running, no other one is started.
choose(#l{options = #{who := inside}, seen = none, seed = Seed} = L) ->
    chosen([], choice_later(0, L#l{choice = #{matched => 0}, seen = kprof_stack_seen:new(Seed), masters = kprof_walk:masters()}));
choose(#l{options = #{who := inside}} = L) ->
    choice_later(0, L#l{masters = kprof_walk:masters()});
choose(#l{chooser = none, gate = 0, blocked = false, stuck = Stuck, options = #{who := Who, vm := Vm, period_ms := Ms}} = L) ->
    case kprof_node:if_room(fun() -> kprof_stack_choice:start(Who, kprof_stuck:without(Stuck), Vm) end) of
        none ->
            choose_in(1000 * Ms, L);
        Chooser ->
            kprof_stuck:look_later(Chooser),
            started(L#l{choose = none, chooser = Chooser})
    end;
choose(#l{options = #{period_ms := Ms}} = L) ->
    choose_in(1000 * Ms, L).

looked({true, Stuck}, L) ->
    choose_in(0, (unchosen(L))#l{stuck = Stuck});
looked({false, Stuck}, #l{chooser = Chooser} = L) ->
    kprof_stuck:look_later(Chooser),
    L#l{stuck = Stuck}.

%% After a choice that took so many ns of work. The timer before, if there is one, does not count.
choice_later(Ns, L) ->
    Us = choice_period(Ns, L),
    choose_in(Us, L#l{choice_ns = Ns, choice_of = erlang:system_info(process_count), choice_at = now_us(), choice_us = Us}).

%% Choices may use half of the budget.
choice_period(Ns, #l{options = #{period_ms := Ms}, budget = Budget}) ->
    kprof_stack_rate:period(1000 * Ms, Ns, erlang:system_info(schedulers_online), Budget - Budget div 2).

%% If the budget has grown since the last choice, or processes that it has read have ended, the next one comes sooner, by a quarter
%% of the period or more.
choice_sooner(#l{chooser = none, gate = 0, choice_ns = Ns, choice_of = Of, choice_at = At, choice_us = Before} = L) ->
    case choice_period(Ns * min(Of, erlang:system_info(process_count)) div Of, L) of
        Us when Us * 4 =< Before * 3 -> choose_in(max(0, At + Us - now_us()), L#l{choice_us = Us});
        _ -> L
    end;
choice_sooner(L) ->
    L.

choose_in(Us, L) ->
    Timer = make_ref(),
    erlang:send_after(Us div 1000, self(), {choose, Timer}),
    L#l{choose = Timer}.

%% The answer of a chooser that is still running would belong to an earlier request.
unchosen(#l{chooser = none} = L) ->
    L;
unchosen(#l{chooser = Chooser} = L) ->
    unlink(Chooser),
    exit(Chooser, kill),
    L#l{chooser = none}.

%% Processes that the relay has traced. A new one is put at random into a group of the next ?GROUPS intervals: so one that
%% lives for a shorter time is sampled in proportion to its lifetime.
seen(Events, #l{seen = Seen, gate = 0, blocked = false, options = #{vm := Vm}} = L0) when Seen =/= none ->
    {New, Left, Seen1} = kprof_stack_seen:seen(Events, now_us() div 1000, Seen),
    Chosen = kprof_stack_choice:described(New, Vm, L0#l.masters),
    Dead = [P || P <- New -- [element(1, C) || C <- Chosen], process_info(P, status) =:= undefined],
    Seen2 = lists:foldl(fun kprof_stack_seen:forget/2, Seen1, Dead),
    L1 = case kprof_stack_seen:thin(Seen2) =:= kprof_stack_seen:thin(Seen) of true -> L0; false -> tell(L0) end,
    counted_in(lists:foldl(fun joined/2, left(Left, L1#l{seen = Seen2}), Chosen));
seen(_, L) ->
    L.

%% Processes that the relay has seen, but that may not be sampled (kprof_hazard), are counted as `held`.
counted_in(#l{seen = Seen, numbers = Numbers, choice = Choice} = L) ->
    {Thin, Size} = {kprof_stack_seen:thin(Seen), kprof_stack_seen:size(Seen)},
    L#l{scale = {Thin, 1}, choice = Choice#{matched => Size * Thin, held => max(0, Size - map_size(Numbers))}}.

joined(Chosen, #l{next_number = N, seed = Seed} = L0) ->
    case taken(Chosen, L0) of
        #l{next_number = N} = L -> L;
        #l{groups = Groups} = L -> L#l{groups = dealt_in(erlang:phash2({Seed, N, joined}, ?GROUPS), N, Groups)}
    end.

%% A process whose turn is after the groups that are left: the next distribution includes it.
dealt_in(0, N, [Group | Groups]) -> [[N | Group] | Groups];
dealt_in(I, N, [Group | Groups]) -> [Group | dealt_in(I - 1, N, Groups)];
dealt_in(_, _, []) -> [].

left(Pids, L) -> lists:foldl(fun(P, #l{numbers = Numbers} = L1) -> case Numbers of #{P := N} -> dropped(N, L1); _ -> L1 end end, L, Pids).

%% A process of the agent was started.
started(#l{births = Births} = L) -> L#l{births = kprof_stack_births:own(Births)}.

%% A process that is chosen again keeps its number; other numbers are never used again.
chosen(Chosen, #l{numbers = Old} = L0) ->
    Pids = maps:from_list([{P, true} || {P, _, _, _, _, _, _} <- Chosen]),
    Gone = [P || P <- maps:keys(Old), not maps:is_key(P, Pids)],
    L1 = lists:foldl(fun(P, L) -> dropped(maps:get(P, Old), L) end, L0, Gone),
    L2 = lists:foldl(fun taken/2, L1, Chosen),
    Matched = maps:get(matched, L2#l.choice),
    L2#l{scale = {max(1, Matched), max(1, length(Chosen))}}. % new processes are in the next groups

taken(Chosen, #l{numbers = Numbers, processes = Processes, next_number = Next} = L) ->
    P = element(1, Chosen),
    case Numbers of
        #{P := N} ->
            L#l{processes = Processes#{N := Chosen}};
        _ ->
            Named = case element(7, Chosen) of true -> L#l.named; false -> (L#l.named)#{Next => true} end,
            defined(Next, element(3, Chosen), L#l{numbers = Numbers#{P => Next}, processes = Processes#{Next => Chosen}, named = Named, next_number = Next + 1})
    end.

defined(N, First, #l{processes = Processes, new_processes = New} = L) ->
    {P, Name, _, App, _, _, _} = maps:get(N, Processes),
    L#l{new_processes = [{N, P, Name, First, App} | New]}.

dropped(N, #l{numbers = Numbers, processes = Processes, named = Named, left = Left} = L) ->
    case Processes of
        #{N := Chosen} ->
            L#l{numbers = maps:remove(element(1, Chosen), Numbers), processes = maps:remove(N, Processes), named = maps:remove(N, Named), left = [N | Left]};
        _ ->
            L
    end.

%% ---- Rounds ----

%% By the clock, so that a late round does not delay the next one; missed intervals are skipped, and counted.
plan_round(#l{gate = Gate} = L) when Gate > 0 -> next_round(now_us() + ?SHUT_US, L);
plan_round(#l{next_us = Next, interval_us = Us, planned = {Rounds, Missed}} = L) ->
    More = max(0, now_us() - Next) div Us,
    %% after a stop of the whole VM, samples do not stand for the time of the stop
    next_round(Next + (More + 1) * Us, L#l{planned = {Rounds + 1, Missed + min(More, ?LOOK_MS * 1000 div Us)}}).

next_round(At, L) ->
    erlang:send_after((At + 999) div 1000, self(), round, [{abs, true}]),
    L#l{next_us = At}.

turn(#l{gate = Gate, blocked = Blocked} = L) when Gate > 0; Blocked -> L;
turn(#l{groups = []} = L0) ->
    case grouped(L0) of
        #l{groups = []} = L -> L;
        L -> turn(L)
    end;
turn(#l{groups = [[] | Groups]} = L) -> L#l{groups = Groups};
turn(#l{groups = [Group | Groups]} = L0) ->
    L1 = workers(given_up(L0#l{groups = Groups})),
    Asked = list_to_tuple([asked(N, L1) || N <- Group, maps:is_key(N, L1#l.processes)]),
    L = count(asked, tuple_size(Asked), L1),
    case L#l.idle of
        [] -> count(skipped, tuple_size(Asked), L);
        _ when tuple_size(Asked) =:= 0 -> L;
        Idle -> given(Asked, lists:sublist(Idle, min(?WORKERS, tuple_size(Asked))), L)
    end.

given(Asked, Workers, #l{round = Round, idle = Idle, busy = Busy, interval_us = Us} = L) ->
    Now = erlang:monotonic_time(),
    Until = Now + erlang:convert_time_unit(max(?DEADLINE_MS * 1000, Us), microsecond, native),
    Next = atomics:new(1, []),
    [P ! {round, Round, Asked, Next, Until, L#l.depth} || {P, _} <- Workers],
    L#l{round = Round + 1, idle = Idle -- Workers, busy = lists:foldl(fun({P, _} = W, B) -> B#{P => {W, Now}} end, Busy, Workers)}.

asked(N, #l{processes = Processes, named = Named}) ->
    {P, _, _, _, Queue, Heaps, _} = maps:get(N, Processes),
    {N, P, Queue, Heaps, not maps:is_key(N, Named)}.

%% Distributes all processes at random to ?GROUPS groups: each is sampled once before any is sampled again.
grouped(#l{processes = Processes, seed = Seed} = L) ->
    Tossed = [N || {_, N} <- lists:sort([{erlang:phash2({Seed, N}), N} || N <- maps:keys(Processes)])],
    Groups = dealt(Tossed, lists:duplicate(?GROUPS, []), []),
    Order = [G || {_, G} <- lists:sort([{erlang:phash2({Seed, I, group}), G} || {I, G} <- lists:zip(lists:seq(1, ?GROUPS), Groups)])],
    L#l{groups = if Tossed =:= [] -> []; true -> Order end, seed = erlang:phash2({Seed, next})}.

dealt([], Groups, Dealt) -> Groups ++ Dealt;
dealt(Tossed, [], Dealt) -> dealt(Tossed, Dealt, []);
dealt([N | Rest], [Group | Groups], Dealt) -> dealt(Rest, Groups, [[N | Group] | Dealt]).

workers(#l{idle = Idle, busy = Busy} = L) ->
    case length(Idle) < ?WORKERS andalso length(Idle) + map_size(Busy) < ?MOST_WORKERS of
        true ->
            case kprof_node:if_room(fun() -> kprof_stack_worker:start() end) of
                none -> L;
                Worker -> started(L#l{idle = [Worker | Idle]})
            end;
        false -> L
    end.

%% At the end: waits for the busy workers, and kills those that have not answered in time.
answered(_, #l{busy = Busy} = L) when map_size(Busy) =:= 0 -> L;
answered(Until, #l{busy = Busy} = L) ->
    receive
        {sampled, Worker, _, Results, Skipped, Late} -> answered(Until, sampled(Worker, Results, Skipped, Late, L))
    after max(0, (Until - now_us()) div 1000) -> lists:foldl(fun give_up/2, L, [W || {W, _} <- maps:values(Busy)])
    end.

%% Kills the workers that wait too long for a process that does not answer: it is in a long native function, or
%% suspended.
given_up(#l{busy = Busy} = L) ->
    Limit = erlang:monotonic_time() - erlang:convert_time_unit(?STUCK_MS, millisecond, native),
    lists:foldl(fun give_up/2, L, [W || {W, Since} <- maps:values(Busy), Since < Limit]).

give_up({P, _} = Worker, #l{busy = Busy} = L) ->
    unlink(P),
    Ref = erlang:monitor(process, P),
    exit(P, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    receive
        {sampled, P, _, Results, Skipped, Late} -> (sampled(P, Results, Skipped, Late, L))#l{idle = L#l.idle}
    after 0 -> count(stuck, 1, count(skipped, kprof_stack_worker:claimed(Worker), L#l{busy = maps:remove(P, Busy)}))
    end.

sampled(P, Results, Skipped, Late, #l{busy = Busy, idle = Idle} = L0) ->
    L1 =
        case maps:take(P, Busy) of
            {{Worker, _}, Rest} -> L0#l{busy = Rest, idle = [Worker | Idle]};
            error -> L0
        end,
    L2 = lists:foldl(fun result/2, count(late, Late, count(skipped, Skipped, L1)), Results),
    case L2#l.n_samples >= ?BATCH of
        true -> tell(L2);
        false -> L2
    end.

result({dead, N}, L) -> count(died, 1, dropped(N, unseen(N, L)));
result({own, N}, L) -> count(own, 1, dropped(N, L));
result({first_call, N, MFA}, #l{named = Named, processes = Processes} = L) ->
    case Processes of
        #{N := _} -> defined(N, MFA, L#l{named = Named#{N => true}});
        _ -> L
    end;
result({N, At, Ns, Status, Stack, Values}, #l{answers = Answers, options = #{statuses := Statuses}, processes = Processes} = L0) ->
    L1 = L0#l{answers = [Ns | Answers], named = (L0#l.named)#{N => true}},
    case maps:is_key(N, Processes) of
        false -> count(other, 1, L1#l{named = L0#l.named}); % it is no longer chosen
        true when (Statuses bsr Status) band 1 =:= 0 -> count(other, 1, L1);
        true -> kept(N, At, Status, Stack, Values, grown_large(N, Values, grown_long(N, Values, L1)))
    end.

unseen(_, #l{seen = none} = L) -> L;
unseen(N, #l{seen = Seen, processes = Processes} = L) ->
    case Processes of
        #{N := Chosen} -> L#l{seen = kprof_stack_seen:forget(element(1, Chosen), Seen)};
        _ -> L
    end.

kept(N, At, Status, {Cut, Frames} = Stack, Values, L0) ->
    {Id, New, Table} = kprof_stack_table:number(Stack, L0#l.table),
    {Gone, Table1} = kprof_stack_table:forgotten(Table),
    L = count(cut, Cut, count(sampled, 1, L0#l{table = Table1, gone = Gone ++ L0#l.gone, samples = [{N, At, Id, Status, Values} | L0#l.samples], n_samples = L0#l.n_samples + 1})),
    case New of
        true -> L#l{new_stacks = [{Id, Cut, Frames} | L#l.new_stacks]};
        false -> L
    end.

%% From now on, the sizes of the heaps of the process are not read.
grown_long(N, Values, #l{processes = Processes} = L) ->
    case kprof_walk:is_long(element(2, Values)) of
        true -> L#l{processes = Processes#{N := setelement(6, maps:get(N, Processes), false)}};
        false -> L
    end.

%% If the hazard table forbids sample_large, a process is no longer sampled once its heap is large.
grown_large(N, Values, #l{options = #{vm := Vm}} = L) when tuple_size(Values) > 4 ->
    case kprof_walk:is_large(element(3, Values) + element(4, Values)) andalso not kprof_hazard:allowed(sample_large, Vm) of
        true -> dropped(N, L);
        false -> L
    end;
grown_large(_, _, L) ->
    L.

count(What, N, #l{figures = Figures} = L) -> L#l{figures = Figures#{What => maps:get(What, Figures, 0) + N}}.

%% ---- Cost ----

look(#l{looked_ns = Then, answers = Answers, own_ns = Own, interval_us = Us, budget = Budget, options = #{interval_us := Asked}} = L0) ->
    Now = now_ns(),
    Each = kprof_stack_rate:each(Answers, L0#l.each_ns),
    Cost = kprof_stack_rate:cost(length(Answers), Each, Own, (Now - Then) * erlang:system_info(schedulers_online)),
    Choices = kprof_stack_rate:cost(0, 0, L0#l.choice_ns, L0#l.choice_us * 1000 * erlang:system_info(schedulers_online)),
    Smooth = (L0#l.smooth + Cost) div 2,
    Births = case kprof_node:if_room(fun() -> probe() end) of none -> L0#l.births; Probe -> kprof_stack_births:look(Probe, Now div 1000000, L0#l.births) end,
    L = gone_quiet(tell(L0#l{looked_ns = Now, answers = [], own_ns = 0, each_ns = Each, smooth = Smooth, cost = Smooth + Choices, births = Births})),
    case L#l.gate of
        0 -> choice_sooner(planned_every(kprof_stack_rate:next(Us, Asked, Smooth, Budget - min(Choices, Budget div 2)), L));
        _ -> L
    end.

planned_every(Us, #l{interval_us = Us} = L) -> L;
planned_every(Us, L) -> L#l{interval_us = Us, pace_us = Us, mean_us = Us}.

%% If rounds come later than planned (timers of a busy node, or of an interval of 1 ms), each sample stands for more time: that of
%% the rounds since the last message.
paced(#l{planned = {0, _}} = L) -> L;
paced(#l{planned = {Rounds, Missed}, interval_us = Us, mean_us = Mean} = L) ->
    Pace = Us + Us * Missed div Rounds,
    L#l{pace_us = Pace, mean_us = (7 * Mean + Pace) div 8, planned = {0, 0}}.

%% Processes that were inside a request and no longer are.
gone_quiet(#l{seen = none} = L) -> L;
gone_quiet(#l{seen = Seen} = L) ->
    {Left, Rest} = kprof_stack_seen:left(now_us() div 1000, Seen),
    counted_in(left(Left, L#l{seen = Rest})).

%% A process that ends at once: its pid shows how many were started before it.
probe() -> spawn(erlang, self, []).

%% ---- To kprof-top ----

tell(L) -> told(paced(L)).

told(#l{seq = Seq, options = #{to := To}, new_processes = Processes, left = Left, new_stacks = Stacks, samples = Samples} = L) ->
    Message = {ks, Seq + 1, erlang:monotonic_time(), figures(L), lists:reverse(Processes), Left, lists:reverse(Stacks), L#l.gone, Samples},
    case erlang:send(To, Message, [nosuspend, noconnect]) of
        ok -> L#l{blocked = false, seq = Seq + 1, new_processes = [], left = [], new_stacks = [], gone = [], samples = [], n_samples = 0};
        _ -> count(lost, L#l.n_samples, L#l{blocked = true, samples = [], n_samples = 0})
    end.

figures(#l{figures = Totals, choice = Choice, scale = {Of, Is}, interval_us = Us, pace_us = Pace, mean_us = Mean, options = #{interval_us := Asked}} = L) ->
    maps:merge(
        maps:merge(Totals, Choice),
        #{
            interval_us => Us, asked_us => Asked, pace_us => max(Us, Mean), weight_us => Pace * ?GROUPS * Of div Is, groups => ?GROUPS, chosen => map_size(L#l.processes),
            workers => length(L#l.idle) + map_size(L#l.busy), cost => L#l.cost, sample_ns => L#l.each_ns, gate => L#l.gate,
            depth => L#l.depth, born => kprof_stack_births:born(L#l.births), born_ms => kprof_stack_births:ms(L#l.births)
        }
    ).

now_us() -> erlang:monotonic_time(microsecond).
now_ns() -> erlang:monotonic_time(nanosecond).
