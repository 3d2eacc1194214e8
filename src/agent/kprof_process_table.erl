%% The process table while kprof-top shows it: begins a round in each period, and answers kprof-top with the newest one. A
%% process of its own, with normal priority. It ends with the controller.
%%
%% Invariant: one round at a time; none while the gate is closed. A round that a process does not answer is ended after two seconds,
%% and the next one begins anew, without this process. The time between two rounds is the requested one, or longer if
%% the budget requires it. Each round is reported at most once, and only as the answer to a request for what it was begun for.
-module(kprof_process_table).
-agent(tools).
-export([start/3, init/3]).
-export_type([options/0]).

-type options() :: #{wanted := kprof_process_round:wanted(), period_us := pos_integer(), vm := kprof_hazard:vm(), to := pid()}.

-define(SECOND_US, 500000). % between the first two rounds: the second one has the first values per second
-define(FIRST, 4). % the part of the first round's cost that delays the second one
-define(REST_US, 100000). % at least, between two rounds
-define(HEAP_WORDS, 8 bsl 20).

-record(t, {
    options :: options(),
    controller :: reference(),
    gate = 0 :: 0..3, % as in kprof_stack_sampler
    budget :: non_neg_integer(),
    known :: ets:tid(),
    round = none :: none | {pid(), kprof_process_round:wanted()},
    stuck = kprof_stuck:new() :: kprof_stuck:stuck(),
    number = 0 :: non_neg_integer(), % rounds since `known` was last cleared
    began_us :: integer(), % of the last round; before the first: as if it were due
    next :: none | reference(), % the timer of the next one
    period_us :: pos_integer(),
    cost = 0 :: non_neg_integer(),
    unpaid_ns = 0 :: non_neg_integer(), % of the first round
    told = 0 :: non_neg_integer(), % number of rounds that kprof-top has received
    newest = none :: none | {kprof_process_round:wanted(), kprof_process_round:told()}
}).

%% Called by the controller. To stop the process, kill it: its round is linked to it. none: the node has no room for a process.
-spec start(options(), 0..3, non_neg_integer()) -> none | {pid(), reference()}.
start(Options, Gate, Budget) ->
    kprof_node:if_room(fun() -> spawn_opt(?MODULE, init, [self(), Options, {Gate, Budget}], [monitor, kprof_flags:heap_limit(?HEAP_WORDS)]) end).

-spec init(pid(), options(), {0..3, non_neg_integer()}) -> no_return().
init(Controller, #{period_us := Us} = Options, {Gate, Budget}) ->
    loop(planned(0, #t{
        options = Options, controller = erlang:monitor(process, Controller), gate = Gate, budget = Budget, known = kprof_process_round:known(),
        began_us = erlang:monotonic_time(microsecond) - Us, period_us = Us, next = none
    })).

loop(#t{controller = Controller} = T) ->
    receive
        {'DOWN', Controller, _, _, _} -> exit(shutdown); % with those that are linked to it
        Message -> loop(handle(Message, T))
    end.

handle({take, Ref, Wanted, PeriodUs}, T) -> answered(Ref, changed(Wanted, PeriodUs, T));
handle({next, Timer}, #t{next = Timer} = T) -> begun(T#t{next = none});
handle({round, Round, BeganUs, Told, Ns}, #t{round = {Round, Wanted}, stuck = Stuck} = T) -> rounded(BeganUs, Ns, T#t{round = none, newest = {Wanted, Told}, stuck = kprof_stuck:walked(Stuck)});
handle({no_round, Round}, #t{round = {Round, _}, period_us = Us, number = N} = T) -> planned(Us, T#t{round = none, number = N - 1});
handle({look, Round}, #t{round = {Round, _}} = T) -> looked(kprof_stuck:look(Round, T#t.stuck), Round, T);
handle({'DOWN', Ref, _, _, _}, #t{stuck = Stuck} = T) -> T#t{stuck = kprof_stuck:answered(Ref, Stuck)};
handle({gate, Gate, Budget}, #t{gate = Gate} = T) -> T#t{budget = Budget};
handle({gate, 0, Budget}, T) -> planned(0, T#t{gate = 0, budget = Budget});
handle({gate, Gate, Budget}, T) -> forgotten(T#t{gate = Gate, budget = Budget});
handle(_, T) -> T.

%% ---- Rounds ----

planned(InUs, #t{next = none, gate = 0} = T) ->
    Timer = make_ref(),
    erlang:send_after((max(0, InUs) + 999) div 1000, self(), {next, Timer}),
    T#t{next = Timer};
planned(_, T) ->
    T.

begun(#t{gate = 0, round = none, number = N, known = Known, began_us = Before, stuck = Stuck, options = #{wanted := Wanted, vm := Vm}} = T) ->
    case kprof_process_round:start(#{known => Known, number => N + 1, before_us => Before, wanted => Wanted, without => kprof_stuck:without(Stuck), vm => Vm}) of
        none ->
            planned(T#t.period_us, T); % no room for a process
        Round ->
            kprof_stuck:look_later(Round),
            T#t{round = {Round, Wanted}, number = N + 1}
    end;
begun(T) ->
    T.

%% The first round of a large node reads more than those after it. So that the first values per second come soon, only a part of it
%% delays the second round; the third one waits for the rest. After a round that is no longer wanted the next one comes soon.
rounded(BeganUs, Ns, #t{number = N, newest = {Is, _}, budget = Budget, unpaid_ns = Unpaid, options = #{wanted := Wanted, period_us := Asked}} = T) ->
    Schedulers = erlang:system_info(schedulers_online),
    {Due, Later} = if N =:= 1 -> {Ns div ?FIRST, Ns - Ns div ?FIRST}; true -> {Ns + Unpaid, 0} end,
    Us = kprof_stack_rate:period(if N =:= 1; Is =/= Wanted -> min(?SECOND_US, Asked); true -> Asked end, Due, Schedulers, Budget),
    Cost = kprof_stack_rate:cost(0, 0, Due, Us * 1000 * Schedulers),
    planned(max(?REST_US, BeganUs + Us - erlang:monotonic_time(microsecond)), T#t{began_us = BeganUs, period_us = Us, cost = Cost, unpaid_ns = Later}).

looked({true, Stuck}, _, T) ->
    planned(?REST_US, (forgotten(T))#t{stuck = Stuck});
looked({false, Stuck}, Round, T) ->
    kprof_stuck:look_later(Round),
    T#t{stuck = Stuck}.

%% A round that is under way ends; what was known is too old to compare with when the next one begins.
forgotten(#t{round = Round, known = Known} = T) ->
    Round =/= none andalso killed(element(1, Round)),
    kprof_process_round:forget(Known),
    T#t{round = none, next = none, number = 0, cost = 0, unpaid_ns = 0}.

killed(Round) ->
    unlink(Round),
    Ref = erlang:monitor(process, Round),
    exit(Round, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end.

%% ---- To kprof-top ----

%% Another order is shown soon, unless rounds cost so much that they are rare.
changed(Wanted, Us, #t{options = #{wanted := Wanted, period_us := Us}} = T) ->
    T;
changed(Wanted, Us, #t{options = #{wanted := Before} = Options, began_us = Began, period_us = Now} = T0) ->
    T = T0#t{options = Options#{wanted := Wanted, period_us := Us}},
    case Wanted =/= Before andalso T#t.next =/= none andalso Now =< Us of
        true -> planned(Began + min(Us, ?SECOND_US) - erlang:monotonic_time(microsecond), T#t{next = none});
        false -> T
    end.

answered(Ref, #t{newest = {Wanted, {Rows, Calls, Apps, Figures}}, told = N, options = #{to := To, wanted := #{by := By} = Wanted}} = T) ->
    erlang:send(To, {kr, Ref, {processes, N + 1, By, maps:merge(Figures, figures(T)), Rows, Calls, Apps}}, [noconnect]),
    T#t{newest = none, told = N + 1};
answered(Ref, #t{options = #{to := To}} = T) ->
    erlang:send(To, {kr, Ref, {wait, figures(T)}}, [noconnect]),
    T.

figures(#t{gate = Gate, period_us = Us, cost = Cost, began_us = Began, options = #{period_us := Asked}}) ->
    #{gate => Gate, period_us => Us, asked_us => Asked, cost => Cost, next_us => max(0, Began + Us - erlang:monotonic_time(microsecond))}.
