%% Stack samples: choice of processes, correct shares, limits of the cost, nothing left at the end. Run by agent_test.
-module(agent_stack_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    load/2, load_parts/1, start/1, start/2, ask/2, finish/2, traced/2, trace_config/1, trace_config/2, until/2, nothing_left/1, gone/1, reaped/1,
    drain/0, other_owner/2, seed/0, numbers/2, told_gone/0
]).

-define(SAMPLES, 600). % samples of the busy processes, for the shares

tests() ->
    [
        {stack_numbers_are_bounded, fun stack_numbers_are_bounded/1},
        {stack_rate_keeps_the_budget, fun stack_rate_keeps_the_budget/1},
        {stack_seen_is_bounded, fun stack_seen_is_bounded/1},
        {rank_is_that_of_a_sort, fun rank_is_that_of_a_sort/1},
        {pids_are_given_once, fun pids_are_given_once/1},
        {a_low_limit_of_heaps, fun a_low_limit_of_heaps/1},
        {stack_births, fun stack_births/1},
        {stack_choices, fun stack_choices/1},
        {stack_children, fun stack_children/1},
        {stack_inside, fun stack_inside/1},
        {stack_births_of_a_node, fun stack_births_of_a_node/1},
        {stack_hazards_are_left_out, fun stack_hazards_are_left_out/1},
        {stack_shares, fun stack_shares/1},
        {stack_metrics, fun stack_metrics/1},
        {stack_long_queue, fun stack_long_queue/1},
        {stack_names, fun stack_names/1},
        {stack_top, fun stack_top/1},
        {stack_statuses, fun stack_statuses/1},
        {stack_weights_are_the_time, fun stack_weights_are_the_time/1},
        {stack_cost_is_kept, fun stack_cost_is_kept/1},
        {stack_choices_keep_the_cost, fun stack_choices_keep_the_cost/1},
        {stack_choices_come_sooner, fun stack_choices_come_sooner/1},
        {stack_gate_of_the_breaker, fun stack_gate_of_the_breaker/1},
        {stack_gate_of_the_run_queue, fun stack_gate_of_the_run_queue/1},
        {stack_gate_of_the_lease, fun stack_gate_of_the_lease/1},
        {stack_stuck_process_holds_nobody_up, fun stack_stuck_process_holds_nobody_up/1},
        {stack_end_holds_nobody_up, fun stack_end_holds_nobody_up/1},
        {stack_sampler_killed, fun stack_sampler_killed/1},
        {stack_relay_killed, fun stack_relay_killed/1},
        {stack_controller_killed, fun stack_controller_killed/1},
        {stack_kprof_top_killed, fun stack_kprof_top_killed/1}
    ].

%% ---- Values ----

%% For any input, the items with the largest values are the same as after sorting all; of equal values, any may be chosen.
rank_is_that_of_a_sort(_) ->
    seed(),
    [ranked(rand:uniform(40), [rand:uniform(1 + rand:uniform(100)) - 10 || _ <- lists:seq(1, rand:uniform(300) - 1)]) || _ <- lists:seq(1, 500)],
    ranked(5, []).

ranked(Most, Values) ->
    Items = lists:zip(Values, lists:seq(1, length(Values))),
    Best = kprof_rank:best(lists:foldl(fun({V, I}, R) -> kprof_rank:add(V, {item, I}, R) end, kprof_rank:new(Most), Items)),
    ?equal([V || {V, _} <- Best], lists:sublist(lists:reverse(lists:sort(Values)), Most)),
    Told = [{V, I} || {V, {item, I}} <- Best],
    ?equal(Told -- Items, []),
    ?equal(length(lists:usort(Told)), length(Told)).

%% With +hmax the VM refuses a process whose first heap is larger. Nothing is killed here; only the sizes are compared.
a_low_limit_of_heaps(T) ->
    Before = rpc:call(T, erlang, system_flag, [max_heap_size, #{size => 15000, kill => false, error_logger => false}]),
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {stacks, #{who => {top, 5, reductions}, interval_us => 5000, period_ms => 500}}),
    ?check(total(sampled, listen(fun(#{figures := Figures}) -> maps:get(sampled, Figures, 0) > 20 end, state())) > 20),
    ok = ask(K, {stacks, off}),
    finish(T, K),
    rpc:call(T, erlang, system_flag, [max_heap_size, Before]),
    nothing_left(T).

%% All processes once, those since the mark again in the same lists; nothing is left. On the node, which may have an iterator.
pids_are_given_once(T) ->
    load_parts(T),
    load(T, agent_load),
    {First, Again, Rest, All} = rpc:call(T, agent_load, all_pids, [1000]),
    ?equal(First, Again),
    Given = lists:append(First) ++ lists:append(Rest),
    ?equal(length(lists:usort(Given)), length(Given)),
    ?equal(All -- Given, []),
    ?check(length(First) =:= 3 andalso length(Rest) > 1),
    ?check(lists:all(fun(L) -> length(L) =< 256 end, First ++ Rest)),
    ?soon(fun() -> rpc:call(T, agent_load, pids_left, []) =:= [] end).

%% Compared with a model that stores everything: a stack keeps its number until it is removed; no number is used twice.
stack_numbers_are_bounded(_) ->
    seed(),
    numbered(30000, kprof_stack_table:new(), #{}, -1).

numbered(0, _, Known, _) ->
    ?check(map_size(Known) =< 4096);
numbered(Left, T0, Known0, Last) ->
    Stack = {0, [{m, f, rand:uniform(6000), 1, <<>>}]},
    {N, New, T1} = kprof_stack_table:number(Stack, T0),
    {Gone, T} = kprof_stack_table:forgotten(T1),
    Known =
        case Known0 of
            #{Stack := Is} -> ?equal({N, New}, {Is, false}), Known0;
            _ -> ?equal({N, New}, {Last + 1, true}), Known0#{Stack => N}
        end,
    Kept = case Gone of [] -> Known; _ -> Of = maps:from_list([{G, true} || G <- Gone]), maps:filter(fun(_, Is) -> not maps:is_key(Is, Of) end, Known) end,
    ?equal(map_size(Known) - map_size(Kept), length(Gone)),
    ?check(map_size(Kept) =< 4096),
    numbered(Left - 1, T, Kept, max(Last, N)).

%% For any cost of a sample: after some periods the limit is kept, and the interval is the requested one if possible.
stack_rate_keeps_the_budget(_) ->
    seed(),
    [budget_kept(rand:uniform(100000), rand:uniform(2000) * 100, 1000 + rand:uniform(20000)) || _ <- lists:seq(1, 500)],
    ?equal(kprof_stack_rate:next(500000, 9000, 999999, 0), 9000),
    ?equal(kprof_stack_rate:each([], 7), 7),
    ?equal(kprof_stack_rate:each([9, 1, 5], 0), 1),
    ?equal(kprof_stack_rate:each(lists:seq(20, 1, -1), 0), 2),
    ?equal(kprof_stack_rate:each([1000], 100), 126).

budget_kept(Budget, EachUs, Asked) ->
    Cost = fun(Us) -> kprof_stack_rate:cost(1000000 div Us, EachUs, 0, 1000000) end,
    Last = lists:foldl(fun(_, Us) -> kprof_stack_rate:next(Us, Asked, Cost(Us), Budget) end, Asked, lists:seq(1, 60)),
    ?check(Last >= Asked),
    ?check(Cost(Last) =< Budget orelse Last =:= 1000000),
    ?check(Last =:= Asked orelse Cost(Asked) * 10 > Budget * 3). % not slower than necessary

%% Compared with a model: at most 1000 processes are stored, and for each of them the last event counts.
stack_seen_is_bounded(_) ->
    seed(),
    Pids = list_to_tuple([list_to_pid("<0." ++ integer_to_list(1000 + I) ++ ".0>") || I <- lists:seq(1, 6000)]),
    {S, Model} = lists:foldl(fun(Ms, Acc) -> seen_once(Ms * 10, 100 + Ms * 8, Pids, Acc) end, {kprof_stack_seen:new(seed), #{}}, lists:seq(1, 700)),
    ?check(kprof_stack_seen:thin(S) > 1),
    ?check(kprof_stack_seen:size(S) =< 1000),
    {Left, S1} = kprof_stack_seen:left(10000, S),
    Kept = maps:filter(fun(_, {At, Call}) -> Call orelse 10000 - At =< 2000 end, Model),
    ?equal(lists:sort(Left), lists:sort(maps:keys(maps:without(maps:keys(Kept), Model)))),
    ?equal(kprof_stack_seen:size(S1), map_size(Kept)),
    {_, S2} = kprof_stack_seen:left(1000000, S1),
    ?equal(kprof_stack_seen:size(S2), 0).

seen_once(Now, Of, Pids, {S0, Model0}) ->
    Events = [{element(rand:uniform(min(6000, Of)), Pids), rand:uniform(3) =:= 1} || _ <- lists:seq(1, 1 + rand:uniform(199))],
    {New, Left, S} = kprof_stack_seen:seen(Events, Now, S0),
    ?equal(New -- Left, New),
    Last = lists:foldr(fun({P, Call}, M) -> M#{P => {Now, Call}} end, #{}, Events),
    Known = maps:with(maps:keys(Model0) ++ New, Last),
    Model = maps:without(Left, maps:merge(Model0, Known)),
    ?equal({Now, kprof_stack_seen:size(S)}, {Now, map_size(Model)}),
    ?check(map_size(Model) =< 1000),
    {S, Model}.

stack_births(_) ->
    P = fun(N) -> list_to_pid("<0." ++ integer_to_list(N) ++ ".0>") end,
    Counts = fun(B) -> {kprof_stack_births:born(B), kprof_stack_births:ms(B)} end,
    B0 = kprof_stack_births:look(P(110), 1000, kprof_stack_births:new(P(100))),
    ?equal(Counts(B0), {0, 0}), % counted from here
    B1 = kprof_stack_births:look(P(120), 1500, kprof_stack_births:own(kprof_stack_births:own(B0))),
    ?equal(Counts(B1), {7, 500}), % 111 to 119, less two of the agent
    B2 = kprof_stack_births:look(P(121), 2000, B1),
    ?equal(Counts(B2), {7, 1000}),
    B3 = kprof_stack_births:look(list_to_pid("<0.5.1000>"), 2500, B2), % all numbers have been used
    B4 = kprof_stack_births:look(P(130), 3000, B3),
    ?equal({Counts(B3), Counts(B4)}, {{7, 1000}, {7, 1000}}).

%% ---- Choice of processes ----

chosen(T, Who) -> chosen(T, Who, rpc:call(T, kprof_hazard, vm, [])).
chosen(T, Who, Vm) ->
    {Chosen, Figures} = rpc:call(T, agent_load, chosen, [Who, Vm]),
    {[element(1, C) || C <- Chosen], Chosen, Figures}.

stack_choices(T) ->
    load_parts(T),
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 30]),
    [Wait] = rpc:call(T, agent_burn, pids, [Keeper, wait]),
    Idle = rpc:call(T, agent_burn, pids, [Keeper, idle]),
    rpc:call(T, erlang, register, [agent_burn_waits, Wait]),
    {[Wait], [{Wait, agent_burn_waits, {agent_burn, waits, 0}, _, true, true, false}], _} = chosen(T, {names, [<<"agent_burn_waits">>, <<"no such name here">>]}),
    {[Wait], _, _} = chosen(T, {pids, [numbers(T, Wait), {999999, 77}, {-1, 5}]}),
    {Found, _, #{matched := 30}} = chosen(T, {initial_call, {<<"agent_burn">>, <<"idle">>, 0}}),
    ?equal(lists:sort(Found), lists:sort(Idle)),
    {[], _, _} = chosen(T, {initial_call, {<<"no_such_module_here">>, <<"idle">>, 0}}),
    {OfKernel, Described, _} = chosen(T, {application, <<"kernel">>}),
    ?check(lists:member(rpc:call(T, erlang, whereis, [kernel_sup]), OfKernel)),
    ?equal([App || {_, _, _, App, _, _, _} <- Described, App =/= <<"kernel">>], []),
    {[], _, _} = chosen(T, {application, <<"agent_no_application">>}),
    {Some, _, #{matched := All}} = chosen(T, all),
    ?check(length(Some) > 30 andalso All >= length(Some)),
    [?equal(kprof_stack_choice:is_who(W), false) || W <- [everything, {children, x}, {top, 0, reductions}, {top, 2000, reductions}, {top, 5, messages}, {pids, x}, {pids, [x]}, {names, [x]}, {initial_call, {m, f, 1}}]],
    rpc:call(T, agent_burn, stop, [Keeper]).

%% A process and its descendants.
stack_children(T) ->
    load_parts(T),
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 30]),
    All = [Keeper | lists:append([rpc:call(T, agent_burn, pids, [Keeper, Kind]) || Kind <- [burn, hoard, queue, wait, idle]])],
    {Found, _, #{matched := Matched}} = chosen(T, {children, numbers(T, Keeper)}),
    ?equal(All -- Found, []),
    ?equal({length(Found), Matched}, {length(All) + 1, length(All) + 1}), % plus the process that fills the queue, which pids/2 does not list
    {OfKernel, _, _} = chosen(T, {children, <<"kernel_sup">>}),
    ?check(lists:member(rpc:call(T, erlang, whereis, [kernel_safe_sup]), OfKernel)),
    ?equal(Found -- OfKernel, Found),
    {[], _, _} = chosen(T, {children, <<"no such name here">>}),
    {[], _, _} = chosen(T, {children, {999999, 77}}),
    rpc:call(T, agent_burn, stop, [Keeper]).

%% Those that run calls of traced requests, though they live for 20 ms, and nobody else.
stack_inside(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    Steady = [rpc:call(T, agent_load, steady, []) || _ <- [1, 2, 3]],
    Brief = rpc:call(T, agent_load, brief, []),
    ok = ask(K, {stacks, #{who => inside, interval_us => 1000}}),
    Who = fun(#{samples := Samples}) -> lists:usort([P || {P, _, _, _, _, _} <- Samples]) end,
    St = listen(fun(S) -> Of = Who(S), Steady -- Of =:= [] andalso length(Of) >= 30 end, state()),
    ?equal(lists:usort([First || {_, First, _, _, _, _} <- maps:get(samples, St)] -- [{agent_load, one, 0}]) -- [{erlang, apply, 2}, {agent_load, one, 0}], []),
    ?check(not lists:member(Brief, Who(St))), % it starts those that make requests, and makes none
    %% another choice, then the first one again: each samples only its own processes
    ok = ask(K, {stacks, #{who => {names, [<<"kernel_sup">>]}, interval_us => 1000}}),
    Sup = rpc:call(T, erlang, whereis, [kernel_sup]),
    St1 = listen(fun(#{processes := Ps}) -> [P || {P, _, _, _} <- maps:values(Ps)] =:= [Sup] end, listen(enough(0), St)),
    ok = ask(K, {stacks, #{who => inside, interval_us => 1000}}),
    St2 = listen(fun(#{processes := Ps}) -> Steady -- [P || {P, _, _, _} <- maps:values(Ps)] =:= [] end, St1),
    [exit(P, kill) || P <- [Brief | Steady]],
    %% they are dead: nobody is left
    St3 = listen(fun(#{figures := #{chosen := Chosen}}) -> Chosen =:= 0 end, St2),
    ok = ask(K, {stacks, off}),
    conserved(listen_rest(St3)),
    finish(T, K).

%% How many processes the node has started meanwhile.
stack_births_of_a_node(T) ->
    K = start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    ok = ask(K, {stacks, #{who => {names, [<<"kernel_sup">>]}, interval_us => 5000}}),
    Born = fun(#{figures := Figures}) -> maps:get(born, Figures, 0) end,
    St0 = listen(fun(#{figures := Figures, seq := Seq}) -> Seq > 20 orelse maps:get(born_ms, Figures, 0) > 0 end, state()),
    ok = rpc:call(T, agent_load, spawned, [3000]),
    St =
        case total(born_ms, St0) > 0 of
            true ->
                St1 = listen(fun(S) -> Born(S) >= Born(St0) + 3000 end, St0),
                ?check(Born(St1) < Born(St0) + 3300),
                St1;
            false -> % the tests have used all numbers of pids of this node
                ?equal(Born(St0), 0),
                St0
        end,
    ok = ask(K, {stacks, off}),
    listen_rest(St),
    finish(T, K).

vm_with(Erts) -> #{otp => <<"x">>, erts => Erts, jit => true, word_bytes => 8, beside => false, common => false}.

%% Each row of the table, on any VM.
stack_hazards_are_left_out(T) ->
    load_parts(T),
    load(T, agent_burn),
    [Off, On, Large] = [rpc:call(T, agent_burn, sized, [Words, Queue]) || {Words, Queue} <- [{100, off_heap}, {100, on_heap}, {400000, on_heap}]],
    Who = {pids, [numbers(T, P) || P <- [Off, On, Large]]},
    Of = fun(Erts) ->
        {_, Chosen, #{held := Held}} = chosen(T, Who, vm_with(Erts)),
        {lists:sort([{P, Queue} || {P, _, _, _, Queue, _, _} <- Chosen]), Held}
    end,
    [?equal({Erts, Of(Erts)}, {Erts, {lists:sort([{Off, false}, {On, true}]), 1}}) || Erts <- [[13, 1, 5], [13, 2, 2, 4], [14, 1]]],
    [?equal({Erts, Of(Erts)}, {Erts, {lists:sort([{Off, true}, {On, true}]), 1}}) || Erts <- [[13, 2, 2, 5], [14, 2], [14, 2, 1], [15, 2, 7], [16, 2]]],
    [?equal({Erts, Of(Erts)}, {Erts, {lists:sort([{Off, true}, {On, true}, {Large, true}]), 0}}) || Erts <- [[13, 2, 2, 6], [14, 2, 2], [16, 2, 1], [17, 1]]],
    [exit(P, kill) || P <- [Off, On, Large]].

%% ---- Samples ----

%% The agent samples these processes; its messages are decoded as in kprof-top.
sampled(T, Who, Enough) -> sampled(T, #{who => Who, interval_us => 2000}, Enough, fun(_) -> ok end).
sampled(T, Options, Enough, Meanwhile) ->
    K = start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    ok = ask(K, {limits, ?NO_LIMITS}),
    ok = ask(K, {stacks, Options}),
    Meanwhile(K),
    St0 = listen(fun(St) -> Enough(St) end, state()),
    ok = ask(K, {stacks, off}),
    St = listen_rest(St0),
    finish(T, K),
    conserved(St),
    St.

state() -> #{processes => #{}, stacks => #{}, samples => [], weighed_us => 0, figures => #{}, seq => 0}.

listen(Enough, St) ->
    case Enough(St) of
        true -> St;
        false -> receive {ks, _, _, _, _, _, _, _, _} = M -> listen(Enough, take(M, St)) after ?PATIENCE -> error({no_samples, maps:get(figures, St)}) end
    end.

listen_rest(St) -> receive {ks, _, _, _, _, _, _, _, _} = M -> listen_rest(take(M, St)) after 0 -> St end.

take({ks, Seq, Native, Figures, Processes, Left, Stacks, Gone, Samples}, #{seq := Before, processes := P0, stacks := S0, samples := Had, weighed_us := Weighed} = St) ->
    ?equal(Seq, Before + 1),
    ?check(is_integer(Native)),
    P = lists:foldl(fun({N, Pid, Name, First, App}, Acc) -> Acc#{N => {Pid, Name, First, App}} end, P0, Processes),
    S = lists:foldl(fun({Id, Cut, Frames}, Acc) -> ?check(not maps:is_key(Id, Acc)), Acc#{Id => {Cut, Frames}} end, S0, Stacks),
    More = [
        begin
            #{N := {Pid, _, First, _}} = P,
            #{Id := Stack} = S,
            {Pid, First, At, Stack, Status, Values}
        end
     || {N, At, Id, Status, Values} <- Samples
    ],
    St#{seq := Seq, figures := Figures, weighed_us := Weighed + length(Samples) * maps:get(weight_us, Figures), processes := maps:without(Left, P), stacks := maps:without(Gone, S), samples := More ++ Had}.

total(What, #{figures := Figures}) -> maps:get(What, Figures, 0).

%% Each process was sampled in its turn, or a reason was reported.
conserved(#{samples := Samples} = St) ->
    ?equal(total(asked, St), lists:sum([total(What, St) || What <- [sampled, other, died, own, skipped]])),
    ?equal(total(sampled, St), length(Samples) + total(lost, St)).

enough(N) -> fun(#{samples := Samples}) -> length(Samples) >= N end.

names({_, Frames}) -> [F || {agent_burn, F, _, _, _} <- Frames].

%% f is called from g and h at two to one. The bound is four standard deviations for this number of samples.
stack_shares(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [4, 0]),
    Burners = rpc:call(T, agent_burn, pids, [Keeper, burn]),
    #{samples := Samples} = sampled(T, {pids, [numbers(T, P) || P <- Burners]}, enough(?SAMPLES)),
    rpc:call(T, agent_burn, stop, [Keeper]),
    Stacks = [names(Stack) || {_, _, _, Stack, _, _} <- Samples],
    G = length([x || [f, g, burn] <- Stacks]),
    H = length([x || [f, h, burn] <- Stacks]),
    N = G + H,
    ?check(N > length(Stacks) * 95 div 100), % a sample may fall into g, h or burn
    Sigma = math:sqrt(2 / 3 * 1 / 3 / N),
    io:format("from g ~.2f %, of ~b samples; the bound is ~.2f~n", [100 * G / N, N, 400 * Sigma]),
    ?check(abs(G / N - 2 / 3) < 4 * Sigma),
    %% fair: each equally often, except for those not yet sampled at the end
    Each = [length([x || {P, _, _, _, _, _} <- Samples, P =:= B]) || B <- Burners],
    ?check(lists:max(Each) - lists:min(Each) < length(Samples) div 4),
    Lines = lists:usort([Line || {_, _, _, {0, [{agent_burn, f, 1, Line, File} | _]}, _, _} <- Samples, filename:basename(File) =:= <<"agent_burn.erl">>]),
    ?check(Lines =/= [] andalso hd(Lines) > 0).

%% Values of a process over its samples, oldest first.
series(P, Samples) -> [V || {_, V} <- lists:sort([{At, Values} || {Pid, _, At, _, _, Values} <- Samples, Pid =:= P])].

grown(I, Series) -> element(I, lists:last(Series)) - element(I, hd(Series)).

%% The processes with many binaries and with a long queue; the values are those of process_info.
stack_metrics(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 20]),
    [Hoarder] = rpc:call(T, agent_burn, pids, [Keeper, hoard]),
    [Queue] = rpc:call(T, agent_burn, pids, [Keeper, queue]),
    [Burner] = rpc:call(T, agent_burn, pids, [Keeper, burn]),
    All = lists:append([rpc:call(T, agent_burn, pids, [Keeper, Kind]) || Kind <- [burn, hoard, queue, wait, idle]]),
    #{samples := Samples} = sampled(T, {pids, [numbers(T, P) || P <- All]}, enough(24 * 60)),
    rpc:call(T, agent_burn, stop, [Keeper]),
    Most = fun(I) -> element(2, lists:max([{grown(I, series(P, Samples)), P} || P <- All])) end,
    Binary = fun(P) -> {10, lists:sum([abs(B - A) || {A, B} <- pairs([element(10, V) || V <- series(P, Samples)])])} end,
    ?equal(element(2, lists:max([{Binary(P), P} || P <- All])), Hoarder),
    ?equal(Most(2), Queue),
    ?equal(Most(1), Burner),
    [?equal(tuple_size(V), 14) || {_, _, _, _, _, V} <- Samples].

%% The heap sizes of a process with a long queue are not queried, whether it was long from the start or later.
stack_long_queue(T) ->
    load(T, agent_burn),
    P = rpc:call(T, agent_burn, sized, [100, on_heap]),
    Fill = fun() -> [P ! message || _ <- lists:seq(1, 10001)] end,
    Sizes = fun(#{samples := Samples}) -> [tuple_size(V) || {_, _, _, _, _, V} <- Samples] end,
    St = sampled(T, #{who => {pids, [numbers(T, P)]}, interval_us => 2000}, fun(S) -> hd(Sizes(S) ++ [14]) =:= 2 end, fun(_) -> Fill() end),
    ?check(lists:member(2, Sizes(St))),
    ?equal(lists:usort(Sizes(sampled(T, {pids, [numbers(T, P)]}, enough(5)))), [2]),
    exit(P, kill).

pairs([A, B | Rest]) -> [{A, B} | pairs([B | Rest])];
pairs(_) -> [].

%% Names: the registered name, the initial call, or the initial call of proc_lib.
stack_names(T) ->
    [Sup, Init] = [rpc:call(T, erlang, whereis, [Name]) || Name <- [kernel_sup, init]],
    Both = fun(#{processes := Ps}) ->
        [x || {Of, _, {supervisor, kernel, 1}, _} <- maps:values(Ps), Of =:= Sup] =/= [] andalso [x || {Of, _, _, _} <- maps:values(Ps), Of =:= Init] =/= []
    end,
    #{processes := Processes} = sampled(T, {names, [<<"kernel_sup">>, <<"init">>]}, Both),
    [?check(lists:member({P, Name}, [{Pid, Is} || {Pid, Is, _, _} <- maps:values(Processes)])) || {P, Name} <- [{Sup, kernel_sup}, {Init, init}]],
    [<<"kernel">>] = [App || {Pid, _, _, App} <- maps:values(Processes), Pid =:= Sup].

%% The top processes by each metric; never processes of the agent, although they are busy.
stack_top(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 50]),
    Find = fun(By) ->
        #{samples := Samples, figures := Figures} = sampled(T, {top, 15, By}, enough(100)),
        ?check(maps:get(chosen, Figures) =< 15),
        ?equal([P || {P, {M, _, _}, _, _, _, _} <- Samples, lists:member(M, ?MODULES)], []),
        lists:usort([P || {P, _, _, _, _, _} <- Samples])
    end,
    [
        ?check(lists:member(hd(rpc:call(T, agent_burn, pids, [Keeper, Kind])), Find(By)))
     || {Kind, By} <- [{burn, reductions}, {queue, queue}, {hoard, binary}]
    ],
    Large = rpc:call(T, agent_burn, sized, [40000, on_heap]), % heap size below that of a hazard
    ?check(lists:member(Large, Find(memory))),
    exit(Large, kill),
    rpc:call(T, agent_burn, stop, [Keeper]).

%% Only processes with some status: waiting ones (3) are not sent.
stack_statuses(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [2, 0]),
    Both = lists:append([rpc:call(T, agent_burn, pids, [Keeper, Kind]) || Kind <- [burn, wait]]),
    Options = #{who => {pids, [numbers(T, P) || P <- Both]}, interval_us => 2000, statuses => 2#0110},
    #{samples := Samples} = St = sampled(T, Options, enough(50), fun(_) -> ok end),
    rpc:call(T, agent_burn, stop, [Keeper]),
    ?equal(lists:usort([Status || {_, _, _, _, Status, _} <- Samples]) -- [1, 2], []),
    ?check(total(other, St) > 0).

%% With an interval that the timers of the node cannot keep: the samples of a process stand for the time that has passed. The
%% samples of the first message have the planned weight.
stack_weights_are_the_time(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [0, 1]),
    [Idle] = rpc:call(T, agent_burn, pids, [Keeper, idle]),
    Long = fun(#{samples := Samples}) -> Samples =/= [] andalso passed_us(T, Samples) > 5000000 end,
    #{samples := Samples, weighed_us := Weighed} = St = sampled(T, #{who => {pids, [numbers(T, Idle)]}, interval_us => 1000}, Long, fun(_) -> ok end),
    rpc:call(T, agent_burn, stop, [Keeper]),
    Asked = Weighed * total(asked, St) div total(sampled, St), % as if none had been skipped
    Passed = passed_us(T, Samples),
    ?equal([{Us, Passed} || Us <- [Asked], Us * 10 < Passed * 7 orelse Us * 10 > Passed * 13], []).

passed_us(T, Samples) ->
    At = [A || {_, _, A, _, _, _} <- Samples],
    (lists:max(At) - lists:min(At)) * 1000000 div rpc:call(T, erlang, convert_time_unit, [1, second, native]).

%% ---- Limits ----

%% It samples more slowly than requested, and reports this.
stack_cost_is_kept(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 200]),
    Idle = rpc:call(T, agent_burn, pids, [Keeper, idle]),
    Options = #{who => {pids, [numbers(T, P) || P <- Idle]}, interval_us => 2000},
    Slower = fun(#{figures := Figures}) -> maps:get(interval_us, Figures, 0) >= 20000 end,
    #{figures := Figures} = sampled(T, Options, Slower, fun(K) -> ok = ask(K, {limits, #{max_cost => 20}}) end),
    ?equal(maps:get(asked_us, Figures), 2000),
    ?check(maps:get(weight_us, Figures) >= 20000 * 11),
    rpc:call(T, agent_burn, stop, [Keeper]).

%% Where the walk over all processes would cost more than the budget, it is made less often: a process that starts later is not
%% chosen soon.
stack_choices_keep_the_cost(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 5000]),
    K = start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    Options = #{who => {initial_call, {<<"agent_burn">>, <<"waits">>, 0}}, interval_us => 5000, period_ms => 500},
    Started = fun() -> rpc:call(T, erlang, spawn, [agent_burn, waits, []]) end,
    ok = ask(K, {limits, ?NO_LIMITS}),
    ok = ask(K, {stacks, Options}),
    St0 = listen(fun(#{processes := Processes}) -> map_size(Processes) =:= 1 end, state()),
    ok = ask(K, {limits, #{max_cost => 10}}),
    Until = agent_lib:now_ms() + 6000,
    Matched = matched(Started, Until, [], St0),
    ?check(length(lists:usort(Matched)) =< 6), % one each 0.5 s until the sampler knows the limit, and the one that is due then
    ok = ask(K, {stacks, off}),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K),
    nothing_left(T).

%% With a small budget, the next choice is planned a minute later. It comes in some seconds if the budget grows, or if most of the
%% processes have ended.
stack_choices_come_sooner(T) ->
    load(T, agent_burn),
    [sooner(T, Cost, Change) || {Cost, Change} <- [{10, budget}, {30, processes}]],
    nothing_left(T).

sooner(T, Cost, Change) ->
    Keeper = rpc:call(T, agent_burn, start, [1, 5000]),
    K = start(T, #{pause_ms => 10 * ?PATIENCE, end_ms => 20 * ?PATIENCE}),
    ok = ask(K, {limits, (?NO_LIMITS)#{max_cost => Cost}}),
    receive {kh, _, _} -> ok after ?PATIENCE -> error(no_heartbeat) end,
    Whole = #{who => {initial_call, {<<"agent_burn">>, <<"waits">>, 0}}, interval_us => 5000, period_ms => 500},
    ok = ask(K, {stacks, Whole}),
    St0 = listen(fun(#{processes := Processes}) -> map_size(Processes) =:= 1 end, state()),
    New = rpc:call(T, erlang, spawn, [agent_burn, waits, []]),
    Until = agent_lib:now_ms() + 2000,
    St1 = listen(fun(_) -> agent_lib:now_ms() > Until end, St0),
    ?equal(map_size(maps:get(processes, St1)), 1),
    case Change of
        budget -> ok = ask(K, {limits, #{max_cost => 1000000}});
        processes -> rpc:call(T, agent_burn, stop, [Keeper])
    end,
    Began = agent_lib:now_ms(),
    St2 = listen(fun(#{processes := Processes}) -> lists:member(New, [P || {P, _, _, _} <- maps:values(Processes)]) end, St1),
    ?check(agent_lib:now_ms() - Began < 20000),
    ok = ask(K, {stacks, off}),
    listen_rest(St2),
    exit(New, kill),
    rpc:call(T, agent_burn, stop, [Keeper]),
    finish(T, K).

%% How many processes each choice has found, while more are started all the time.
matched(Started, Until, Seen, St0) ->
    case agent_lib:now_ms() > Until of
        true -> Seen;
        false ->
            P = Started(),
            St = receive {ks, _, _, _, _, _, _, _, _} = M -> take(M, St0) after 200 -> St0 end,
            Found = matched(Started, Until, [maps:get(matched, maps:get(figures, St)) | Seen], St),
            exit(P, kill),
            Found
    end.

gate_is(Gate) -> fun(#{figures := Figures}) -> maps:get(gate, Figures, none) =:= Gate end.

%% From here on nothing is sampled: the count is the same in several messages.
stands(St0) ->
    St1 = listen(fun(#{seq := Seq}) -> Seq >= maps:get(seq, St0) + 1 end, St0), % pending queries have been answered
    St = listen(fun(#{seq := Seq}) -> Seq >= maps:get(seq, St1) + 3 end, St1),
    ?equal(total(asked, St), total(asked, St1)),
    St.

stack_gate_of_the_breaker(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {limits, #{cooldown_ms => 3000}}),
    ok = ask(K, {stacks, #{who => {names, [<<"kernel_sup">>, <<"code_server">>]}, interval_us => 2000}}),
    St0 = listen(enough(20), state()),
    ok = ask(K, {trip, <<"a test">>}),
    St1 = stands(listen(gate_is(1), St0)),
    St2 = listen(gate_is(0), St1),
    listen(fun(#{samples := Samples}) -> length(Samples) > length(maps:get(samples, St2)) + 10 end, St2),
    finish(T, K).

stack_gate_of_the_run_queue(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {stacks, #{who => {names, [<<"kernel_sup">>, <<"code_server">>]}, interval_us => 2000}}),
    St0 = listen(enough(20), state()),
    Many = rpc:call(T, agent_load, spinning, [150 * rpc:call(T, erlang, system_info, [schedulers_online])]),
    St1 = stands(listen(gate_is(3), St0)),
    rpc:call(T, agent_load, stop_spinning, [Many]),
    #{samples := Samples} = St2 = listen(gate_is(0), St1),
    St = listen(enough(length(Samples) + 20), St2),
    ok = ask(K, {stacks, off}),
    conserved(listen_rest(St)),
    finish(T, K),
    nothing_left(T).

stack_gate_of_the_lease(T) ->
    K = start(T, #{pause_ms => 1000, end_ms => 10 * ?PATIENCE}),
    ok = ask(K, {stacks, #{who => {names, [<<"kernel_sup">>]}, interval_us => 2000}}),
    St = stands(listen(gate_is(2), state())),
    K ! {kp_lease, ?KEY},
    listen(gate_is(0), St),
    finish(T, K).

%% A suspended process answers; a process inside a native function does not: nothing waits for it.
stack_stuck_process_holds_nobody_up(T) ->
    load(T, agent_burn),
    Keeper = rpc:call(T, agent_burn, start, [1, 20]),
    Idle = rpc:call(T, agent_burn, pids, [Keeper, idle]),
    Holders = [rpc:call(T, agent_load, hold, [P]) || P <- lists:sublist(Idle, 5)],
    #{samples := Samples} = sampled(T, {pids, [numbers(T, P) || P <- Idle]}, enough(600)),
    ?check(length(lists:usort([P || {P, _, _, _, _, _} <- Samples])) >= 15),
    [rpc:call(T, agent_load, let_go, [H]) || H <- Holders],
    rpc:call(T, agent_burn, stop, [Keeper]).

%% ---- The end ----

%% Not one of its workers, whose pids may be smaller if the VM has used all numbers.
sampler(T) -> hd(rpc:call(T, agent_load, samplers, ["stack_sampler_"])).

sampling(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    ok = ask(K, {stacks, #{who => {top, 20, reductions}, interval_us => 2000}}),
    listen(enough(20), state()),
    K.

%% Requests are answered while the sampler has not sent its last samples.
stack_end_holds_nobody_up(T) ->
    K = sampling(T),
    Holder = rpc:call(T, agent_load, hold, [sampler(T)]),
    [Off, Ping] = [erlang:unique_integer([positive]) || _ <- [off, ping]],
    K ! {kp, ?KEY, Off, {stacks, off}},
    K ! {kp, ?KEY, Ping, ping},
    receive {kr, First, _} -> ?equal(First, Ping) after ?PATIENCE -> error(no_answer) end,
    rpc:call(T, agent_load, let_go, [Holder]),
    receive {kr, Off, Answer} -> ?equal(Answer, ok) after ?PATIENCE -> error(no_end) end,
    ?equal(rpc:call(T, agent_load, samplers, []), []),
    finish(T, K).

%% kprof-top is told, and may start again.
stack_sampler_killed(T) ->
    K = sampling(T),
    exit(sampler(T), kill),
    receive {ke, stacks, Text} -> ?check(string:find(Text, "killed") =/= nomatch) after ?PATIENCE -> error(not_told) end,
    ?soon(fun() -> rpc:call(T, agent_load, samplers, []) =:= [] end),
    flush_stacks(),
    ok = ask(K, {stacks, #{who => {top, 20, reductions}, interval_us => 2000}}),
    listen(enough(20), state()),
    finish(T, K),
    ?soon(fun() -> rpc:call(T, agent_load, samplers, []) =:= [] end),
    nothing_left(T).

%% When the relay is dead everything is removed, including the sampler.
stack_relay_killed(T) ->
    K = sampling(T),
    exit(rpc:call(T, erlang, whereis, [kprof_relay_00]), kill),
    receive {ke, stacks, _} -> ok after ?PATIENCE -> error(not_told) end,
    ?soon(fun() -> rpc:call(T, agent_load, samplers, []) =:= [] end),
    ask(K, detach),
    gone(T),
    nothing_left(T).

flush_stacks() -> receive {ks, _, _, _, _, _, _, _, _} -> flush_stacks() after 0 -> ok end.

stack_controller_killed(T) ->
    K = sampling(T),
    exit(K, kill),
    told_gone(),
    gone(T),
    ?equal(rpc:call(T, agent_load, samplers, []), []),
    nothing_left(T),
    drain().

stack_kprof_top_killed(T) ->
    {Peer, Owner, K} = other_owner(T, trace_config([{entry, 1}])),
    Owner ! {self(), {ask, K, {stacks, #{who => {top, 20, reductions}, interval_us => 2000}}}},
    receive {Owner, ok} -> ok after ?PATIENCE -> error(no_answer) end,
    ?soon(fun() -> rpc:call(T, agent_load, samplers, []) =/= [] end),
    rpc:call(Peer, erlang, halt, [0, [{flush, false}]]),
    gone(T),
    ?equal(rpc:call(T, agent_load, samplers, []), []),
    nothing_left(T).
