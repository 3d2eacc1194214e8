%% Match specs: labels, tickets, sampling, contents of messages. Run by agent_test.
-module(agent_spec_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [
    load/2, unload/1, ask/2, trace_config/1, trace_config/2, traced/2, finish/2, run/3, messages/1, batches/1, calls/1,
    payloads/2, beat_now/1, beat_now/2
]).

tests() ->
    [
        {labels_are_immediates, fun labels_are_immediates/1},
        {tickets_are_unique, fun tickets_are_unique/1},
        {a_share_is_sampled, fun a_share_is_sampled/1},
        {unsampled_have_no_token, fun unsampled_have_no_token/1},
        {tickets_count_calls, fun tickets_count_calls/1},
        {a_request_is_sampled_as_a_whole, fun a_request_is_sampled_as_a_whole/1},
        {old_label_is_told, fun old_label_is_told/1},
        {lean_messages, fun lean_messages/1},
        {full_messages, fun full_messages/1},
        {messages_without_entry, fun messages_without_entry/1},
        {without_entry_calls_are_sampled, fun without_entry_calls_are_sampled/1},
        {other_processes_have_the_label, fun other_processes_have_the_label/1},
        {identity_that_fails_loses_no_call, fun identity_that_fails_loses_no_call/1},
        {big_identities_are_cut, fun big_identities_are_cut/1},
        {arguments_are_small, fun arguments_are_small/1}
    ].

labels_are_immediates(T) ->
    agent_lib:load_parts(T),
    Check = fun(Spec) -> rpc:call(T, kprof_check, check, [Spec]) end,
    Label = fun(X) -> Check([{['$1'], [], [{set_seq_token, label, X}]}]) end,
    Bad = [
        {{1, 2}}, {{{1, 2}}}, {{}}, '$1', '$_', '$$', {element, 1, '$1'}, {element, 2, {get_seq_token}}, {get_seq_token}, {caller}, "abc", [],
        [1], <<"binary">>, #{}, 1.5, 1 bsl 60, 1 bsl 64, -(1 bsl 60), {'bsl', {get_tcw}, 40}, {'bsl', {get_tcw}, {get_tcw}}, {'+', {get_tcw}, 1 bsl 58},
        {'+', {'bor', {get_tcw}, 1 bsl 57}, {'bor', {get_tcw}, 1 bsl 57}}, {'*', {get_tcw}, {get_tcw}}, {'-', {get_tcw}, 1}, {'bor', {get_tcw}, -1}, {'bor', {get_tcw}, '$1'},
        {const, {1, 2}}, {const, 1}, {'andalso', true, {{1}}}, {hd, '$1'}, {map_get, a, '$1'}, {'bor', {self}, 1}, {'bsr', '$1', 2}, {abs, '$1'}, {node}
    ],
    [?equal({X, refused(Label(X))}, {X, true}) || X <- Bad],
    Good = [1, 0, undefined, {self}, {get_tcw}, {set_tcw, 0}, {'bor', 7 bsl 32, {set_tcw, 0}}, {'bor', 65535 bsl 32, {set_tcw, 0}},
            {'band', {'+', {get_tcw}, 1}, 16#ffffff}, {'bsr', {get_tcw}, 3}],
    [?equal({X, Label(X)}, {X, ok}) || X <- Good],
    %% at any depth
    Evil = {set_seq_token, label, {{1, 2}}},
    Hidden = [
        [{'_', [], [{message, {{1, Evil}}}]}],
        [{'_', [], [{message, [Evil]}]}],
        [{'_', [], [{message, [1 | Evil]}]}],
        [{'_', [], [{message, #{a => Evil}}]}],
        [{'_', [], [{message, #{Evil => a}}]}],
        [{'_', [], [{'andalso', {is_seq_trace}, Evil}]}],
        [{'_', [], [true]}, {'_', [], [{message, false}, Evil]}],
        [{'_', [Evil], [true]}],
        [{'_', [{set_seq_token, label, 1}], [true]}],
        [{'_', [], [{set_seq_token, serial, {{1, 2}}}]}],
        [{'_', [], [{set_seq_token, '$1', {{1, 2}}}]}],
        [{'_', [], [{set_seq_token, {const, label}, 1}]}],
        [{'_', [], [{set_seq_token, sequential_trace_token, {{1, 2}}}]}],
        [{'_', [], [{set_seq_token_fake, label, 1}]}],
        [{'_', [], [{trace, [], [all]}]}],
        [{'_', [], [{enable_trace, send}]}],
        [{'_', [], [{silent, true}]}],
        [{'_', [], [{display, 1}]}],
        [{'_', [], [{return_trace}]}],
        [{'_', [], {message, 1}}],
        [{'_', [], [{1, 2}]}],
        nonsense,
        [nonsense]
    ],
    [?equal({S, refused(Check(S))}, {S, true}) || S <- Hidden],
    %% setting a pattern makes this check
    ?check(is_tuple(rpc:call(T, kprof_spec, set_pattern, [none, {agent_load, leaf, 1}, hd(Hidden), [local]]))),
    ?equal(rpc:call(T, erlang, trace_info, [{agent_load, leaf, 1}, traced]), {traced, false}),
    [check_own(T, Config) || Config <- own_wishes()],
    unload(T).

own_wishes() ->
    [
        trace_config([{entry, 1}, {tier, 1}], #{returns => R, sample => N, entry => E, identity => I, epoch => 65535, args => Args})
     || Args <- [false, true], R <- [lean, full], N <- [1, 2, 1000000], E <- [0, none],
        I <- [none, <<"agent_load:entry/1 arg(1)">>, <<"fun ({agent_load,_,[#{a := X}]}) when X > 1; is_atom(X) -> {X, b} end">>]
    ].

refused({error, Text}) -> is_binary(Text);
refused(_) -> false.

check_own(T, Config) ->
    {ok, Specs, _} = rpc:call(T, kprof_match_spec, compile, [Config]),
    [?equal(rpc:call(T, kprof_check, check, [Spec]), ok) || {_, _, Spec} <- Specs].

tickets_are_unique(T) ->
    K = traced(T, trace_config([{entry, 1}])),
    Labels = labels(T, K, 0),
    finish(T, K),
    Numbers = [L || L <- Labels, is_integer(L)],
    ?equal(length(lists:usort(Numbers)), length(Numbers)),
    ?equal(lists:usort([L bsr 32 || L <- Numbers]), [?EPOCH]),
    ?check(lists:all(fun(L) -> is_integer(L) orelse is_pid(L) end, Labels)),
    ?check(lists:all(fun(L) -> L band 16#ffffffff > 0 end, Numbers)).

%% At least 10,000 tickets. If the process that holds the counter loses its scheduler, the others use their pids; then
%% more rounds are needed.
labels(_, _, Tickets) when Tickets > 10000 -> [];
labels(T, K, Tickets) ->
    run(T, many, [4, 5000]),
    Labels = [element(2, M) || M <- payloads(messages(K), entry)],
    ?equal(length(Labels), 20000),
    Labels ++ labels(T, K, Tickets + length([L || L <- Labels, is_integer(L)])).

a_share_is_sampled(T) ->
    N = 10,
    Calls = 20000,
    K = traced(T, trace_config([{entry, 1}], #{sample => N, identity => <<"agent_load:entry/1 arg(1)">>})),
    run(T, entries, [[X rem 4 || X <- lists:seq(1, Calls)]]),
    Batches = batches(K),
    finish(T, K),
    ?equal(lists:usort([W || {W, _} <- Batches]), [N]),
    Seen = [element(4, M) || {_, Ms} <- Batches, M <- payloads(Ms, entry)],
    Sigma = math:sqrt(Calls / 4 * (1 / N) * (1 - 1 / N)),
    [begin
        Share = length([X || X <- Seen, X =:= I]),
        ?check(abs(Share - Calls / 4 / N) < 5 * Sigma)
     end || I <- [0, 1, 2, 3]].

unsampled_have_no_token(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}], #{sample => 3, identity => <<"agent_load:entry/1 arg(1)">>})),
    Tokens = run(T, tokens, [lists:seq(1, 300)]),
    Ms = messages(K),
    Entries = [{element(4, M), element(2, M)} || M <- payloads(Ms, entry)],
    Tiers = [element(2, M) || M <- payloads(Ms, tier)],
    ?check(length(Entries) > 50 andalso length(Entries) < 200),
    ?equal(Entries, [{X, L} || {X, L} <- Tokens, L =/= none]),
    ?equal(Tiers, [L || {_, L} <- Entries]),
    %% an unsampled request sends no messages, not even returns
    ?equal(length([x || {trace_ts, _, return_to, _, _} <- Ms]), length(Entries) * 2),
    finish(T, K).

%% The cost is computed from the tickets: processes on several schedulers that change the control word at the same time must not
%% skip many. How many depends on how often they meet; with 16 tickets skipped each time, two cores counted twice the calls.
tickets_count_calls(T) ->
    [
        begin
            K = traced(T, trace_config([{entry, 1}], #{sample => 1000000, entry => Entry})),
            Word = fun() -> rpc:call(T, erlang, system_info, [trace_control_word]) end,
            Before = Word(),
            run(T, many, [4, 100000]),
            Tickets = kprof_spec:tickets(Before, Word()),
            finish(T, K),
            ?equal({Entry, Tickets, Tickets > 300000 andalso Tickets < Most}, {Entry, Tickets, true})
        end
     || {Entry, Most} <- [{none, 520000}, {0, 600000}]
    ].

%% Other processes change the word between any two actions of a call: its decision is made once. A label that has calls of a tier,
%% but too few of the entry, is that of an earlier request, in a process whose token was not removed.
a_request_is_sampled_as_a_whole(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}], #{sample => 2})),
    Seen = whole_requests(T, K, 30, 0),
    finish(T, K),
    ?check(Seen > 2000).

%% A round in which the relay dropped events, on a busy machine, shows nothing.
whole_requests(_, _, 0, Seen) -> Seen;
whole_requests(T, K, Rounds, Seen) ->
    {ok, _, #{dropped := Before}} = ask(K, flush),
    run(T, many, [4, 1000]),
    Ms = messages(K),
    {ok, _, #{dropped := After}} = ask(K, flush),
    Entries = [element(2, M) || M <- payloads(Ms, entry)],
    Tiers = [element(2, M) || M <- payloads(Ms, tier)],
    case After of
        Before -> ?equal(lists:sort(Tiers) -- lists:sort(Entries), []), whole_requests(T, K, Rounds - 1, Seen + length(Entries));
        _ -> whole_requests(T, K, Rounds - 1, Seen)
    end.

old_label_is_told(T) ->
    [begin
        K = traced(T, trace_config([{entry, 1}], #{sample => N, returns => Returns})),
        Tokens = run(T, tokens, [lists:seq(1, 40)]),
        Ms = payloads(messages(K), entry),
        finish(T, K),
        {_, Prevs} = lists:mapfoldl(fun({_, L}, Before) -> {{L, Before}, L} end, none, Tokens),
        _ = Prevs,
        Pairs = pairs(none, [L || {_, L} <- Tokens]),
        ?equal([told(M) || M <- Ms], [P || {L, _} = P <- Pairs, L =/= none])
     end || N <- [1, 2], Returns <- [lean, full]].

pairs(Before, [L | Ls]) -> [{L, Before} | pairs(L, Ls)];
pairs(_, []) -> [].

told({0, L, _, undefined, entry}) -> {L, none};
told({0, L, _, undefined, _, Prev}) -> {L, Prev}.

lean_messages(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}, {leaf, 1}], #{identity => <<"agent_load:tier/1 arg(1)">>})),
    run(T, entries, [[x]]),
    run(T, call, [[{leaf, [1]}]]),
    Ms = messages(K),
    finish(T, K),
    [{trace_ts, P, call, {agent_load, entry, 1}, {0, L, {agent_load, _, _}, undefined, entry}, T1},
     {trace_ts, P, call, {agent_load, tier, 1}, {1, L, {agent_load, entry, 1}, x}, T2},
     {trace_ts, P, call, {agent_load, leaf, 1}, {2, L, {agent_load, tier, 1}}, T3},
     {trace_ts, P, return_to, {agent_load, tier, 1}, T4},
     {trace_ts, P, return_to, {agent_load, entry, 1}, T5},
     {trace_ts, P, return_to, {agent_load, _, _}, T6}] = Ms,
    ?equal(lists:sort([T1, T2, T3, T4, T5, T6]), [T1, T2, T3, T4, T5, T6]).

full_messages(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}, {throws, 1}, {big, 2}], #{returns => full})),
    Calls = [{entry, [1]}, {throws, [oops]}, {big, [1, lists:seq(1, 1000)]}],
    run(T, quiet, [Calls]),
    Ms = messages(K),
    finish(T, K),
    [{trace_ts, P, call, {agent_load, entry, 1}, {0, L, 0, undefined, entry}, _},
     {trace_ts, P, call, {agent_load, tier, 1}, {1, L, 0}, _},
     {trace_ts, P, return_from, {agent_load, tier, 1}, 0, _},
     {trace_ts, P, return_from, {agent_load, entry, 1}, 0, _},
     {trace_ts, P, call, {agent_load, throws, 1}, {2, L, 0}, _},
     {trace_ts, P, exception_from, {agent_load, throws, 1}, {throw, 0}, _},
     {trace_ts, P, call, {agent_load, big, 2}, {3, L, 0}, _},
     {trace_ts, P, return_from, {agent_load, big, 2}, 0, _}] = Ms,
    %% unsampled: no return either
    K2 = traced(T, trace_config([{entry, 1}], #{returns => full, sample => 4})),
    run(T, entries, [lists:seq(1, 200)]),
    Ms2 = messages(K2),
    finish(T, K2),
    ?equal(length([x || {trace_ts, _, return_from, _, _, _} <- Ms2]), length(calls(Ms2))).

messages_without_entry(T) ->
    [begin
        K = traced(T, trace_config([{tier, 1}, {leaf, 1}], #{entry => none, returns => Returns, identity => <<"agent_load:leaf/1 arg(1)">>})),
        run(T, call, [[{tier, [z]}]]),
        ?equal(calls(messages(K)), [
            {tier, {0, 0, C({agent_load, '-call/1-lc$^0/1-0-', 1})}},
            {leaf, {1, 0, C({agent_load, tier, 1}), z}}
        ]),
        finish(T, K)
     end || {Returns, C} <- [{lean, fun(X) -> X end}, {full, fun(_) -> 0 end}]].

%% Each call is sampled independently, with the weight of the sampling rate.
without_entry_calls_are_sampled(T) ->
    K = traced(T, trace_config([{tier, 1}, {leaf, 1}], #{entry => none, sample => 10})),
    Weights = fun(F, N) ->
        run(T, call, [[{F, [X]} || X <- lists:seq(1, N)]]),
        Batches = batches(K),
        {lists:usort([W || {W, _} <- Batches]), length(calls(lists:append([Ms || {_, Ms} <- Batches])))}
    end,
    {[10], Seen} = Weights(tier, 10000),
    %% 2,000 of 20,000 calls, within five standard deviations
    ?check(abs(Seen - 2000) < 5 * math:sqrt(20000 * 0.1 * 0.9)),
    #{sample := 10, sample_why := 0} = beat_now(K),
    %% with an entry the trace configuration applies again
    {ok, _} = ask(K, {config, trace_config([{tier, 1}, {leaf, 1}], #{sample => 10})}),
    ?soon(fun() -> beat_now(K, sample) =:= 10 end),
    messages(K),
    {[10], Calls} = Weights(tier, 1000),
    ?check(Calls < 1000),
    finish(T, K).

other_processes_have_the_label(T) ->
    K = traced(T, trace_config([{entry, 1}, {tier, 1}])),
    run(T, hop, [a]),
    [{trace_ts, P1, call, _, {0, L, _, _, entry}, _}, {trace_ts, P1, call, _, {1, L, _}, _}, {trace_ts, P2, call, _, {1, L, _}, _}] =
        [M || M <- messages(K), element(3, M) =:= call],
    ?check(P1 =/= P2),
    finish(T, K).

identity_that_fails_loses_no_call(T) ->
    Values = [#{a => 1}, #{b => 1}, atom, {}, [], #{a => {2}}],
    [begin
        K = traced(T, trace_config([{entry, 1}, {tier, 1}], #{sample => N, identity => <<"agent_load:entry/1 element(1, map_get(a, arg(1))); agent_load:tier/1 map_get(a,arg(1))">>})),
        run(T, call, [[{entry, [V]} || V <- often(Values, N)]]),
        Ms = messages(K),
        finish(T, K),
        case N of
            1 ->
                ?equal([element(4, M) || M <- payloads(Ms, entry)], [undefined, undefined, undefined, undefined, undefined, 2]),
                ?equal([element(4, M) || M <- payloads(Ms, tier)], [1, undefined, undefined, undefined, undefined, {2}]);
            _ ->
                ?check(payloads(Ms, entry) =/= []),
                ?equal(length(payloads(Ms, tier)), length(payloads(Ms, entry))),
                ?equal([M || {_, M} <- calls(Ms), not is_tuple(M)], [])
        end
     end || N <- [1, 2]].

%% Of some calls only, a sample may have none.
often(Values, 1) -> Values;
often(Values, _) -> lists:append(lists:duplicate(10, Values)).

big_identities_are_cut(T) ->
    K = traced(T, trace_config([{entry, 1}], #{identity => <<"agent_load:entry/1 arg(1)">>})),
    Whole = [1 bsl 64 - 1, 1 - 1 bsl 64, 0, -1],
    Big = [binary:copy(<<"x">>, 1000000), 1 bsl 64, -(1 bsl 64), lists:seq(1, 100000), list_to_tuple(lists:seq(1, 1000)), lists:duplicate(1000, [[]]), 1 bsl 10000,
           {a, binary:copy(<<"y">>, 1000)}, maps:from_list([{I, I} || I <- lists:seq(1, 1000)])],
    run(T, quiet, [[{entry, [B]} || B <- Whole ++ Big]]),
    {Same, Names} = lists:split(length(Whole), [element(4, M) || M <- payloads(messages(K), entry)]),
    finish(T, K),
    ?equal(Same, Whole),
    ?equal(length(Names), length(Big)),
    ?equal([N || N <- Names, is_integer(N)], []),
    [?check(byte_size(term_to_binary(N)) < 2200) || N <- Names],
    ?equal(hd(Names), binary:copy(<<"x">>, 256)).

is_told({_, {X}}, Values) -> lists:keymember(X, 2, Values);
is_told(_, _) -> false.

%% For each value the text that is sent, never more, for every caller: with a rule, sampling, full returns, no entry.
arguments_are_small(T) ->
    F = false,
    B64 = binary:copy(<<"x">>, 64),
    Values = [
        {a, {{a}, F, F, F, F}},
        {-7, {{-7}, F, F, F, F}},
        {1.5, {{1.5}, F, F, F, F}},
        {[], {{[]}, F, F, F, F}},
        {B64, {{B64}, F, F, F, F}},
        {1 bsl 64, {F, F, F, F, F}},
        {1 bsl 100000, {F, F, F, F, F}},
        {binary:copy(<<"x">>, 1000000), {F, {1000000, B64}, F, F, F}},
        {{}, {F, F, {0, F, F, F, F, F, F}, F, F}},
        {{get, <<"k">>, [1], {}, #{}, 6, 7}, {F, F, {7, {get}, {<<"k">>}, F, F, F, {6}}, F, F}},
        {list_to_tuple([{I} || I <- lists:seq(1, 10000)]), {F, F, {10000, F, F, F, F, F, F}, F, F}},
        {maps:from_list([{I, I} || I <- lists:seq(1, 5000)]), {F, F, F, 5000, F}},
        {lists:seq(1, 100000), {F, F, F, F, {{1}}}},
        {[{deep, lists:seq(1, 100000)} | tail], {F, F, F, F, {F}}}
    ],
    Rule = <<"agent_load:entry/1 element(1, arg(1))">>,
    [begin
        K = traced(T, trace_config([{entry, 1}], maps:merge(#{args => true}, More))),
        run(T, quiet, [[{entry, [V]} || {V, _} <- often(Values, maps:get(sample, More, 1))]]),
        Told = [element(3, M) || M <- payloads(messages(K), entry)],
        finish(T, K),
        case More of
            #{sample := _} ->
                ?check(Told =/= []),
                ?equal([M || M <- Told, not is_told(M, Values)], []);
            _ -> ?equal([X || {_, {X}} <- Told], [X || {_, X} <- Values])
        end,
        [?check(C =:= 0 orelse C =:= undefined orelse tuple_size(C) =:= 3) || {C, _} <- Told]
     end || More <- [#{}, #{identity => Rule}, #{entry => none}, #{returns => full}, #{sample => 2}, #{sample => 2, identity => Rule}]],
    K = traced(T, trace_config([{entry, 1}], #{args => true})), % the number per second is limited
    Full = list_to_tuple(lists:duplicate(6, B64)),
    Names = list_to_tuple([list_to_atom(lists:duplicate(255, C)) || C <- "abcdef"]), % small ones, but all together
    run(T, quiet, [[{entry, [V]} || V <- [Names | lists:duplicate(6000, Full)]]]),
    [big | Told] = [A || {_, A} <- [element(3, M) || M <- payloads(messages(K), entry)]],
    finish(T, K),
    ?equal(length(Told), 6000),
    Over = length([over || over <- Told]),
    ?check(Over > 0 andalso Over < 6000).
