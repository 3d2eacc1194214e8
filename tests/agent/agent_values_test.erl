%% Properties of values that need no node: breaker, limits, weights, texts of the merged module. Run by agent_test.
-module(agent_values_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [seed/0]).

tests() ->
    [
        {breaker_keeps_its_times, fun breaker_keeps_its_times/1},
        {limit_is_never_passed, fun limit_is_never_passed/1},
        {weights_follow_the_time, fun weights_follow_the_time/1},
        {calls_at_once_are_limited, fun calls_at_once_are_limited/1},
        {calls_beside_a_held_ticket_are_sampled, fun calls_beside_a_held_ticket_are_sampled/1},
        {args_are_limited, fun args_are_limited/1},
        {texts_are_read, fun texts_are_read/1},
        {names_are_listed_in_pieces, fun names_are_listed_in_pieces/1},
        {names_keep_no_large_binaries, fun names_keep_no_large_binaries/1},
        {large_names_are_not_walked, fun large_names_are_not_walked/1}
    ].

%% A name that is a part of a large binary, as servers take paths out of what they receive, does not keep that in memory.
names_keep_no_large_binaries(_) ->
    Large = binary:copy(<<"0123456789">>, 100000),
    Part = binary:part(Large, 7, 100),
    Own = binary:copy(Part),
    Sizes = fun(Msg) -> [binary:referenced_byte_size(B) || B <- lists:flatten([if is_tuple(X) -> tuple_to_list(X); true -> X end || X <- tuple_to_list(element(4, Msg))]), is_binary(B)] end,
    Clipped = fun(Name) -> case kprof_name:clip({0, 1, 0, {Name}, entry}) of same -> same; {0, 1, 0, {Name}, entry} = Msg -> Sizes(Msg) end end,
    ?equal(Clipped(Part), [100]),
    ?equal(Clipped({get, Part}), [100]),
    ?equal(Clipped({Own, Part}), [100, 100]),
    ?equal(Clipped(Own), same),
    ?equal(Clipped({get, Own}), same),
    ?equal(Clipped("/a/path"), same),
    ?equal(byte_size(Large), binary:referenced_byte_size(binary:part(Large, 0, 256))),
    [
        begin
            {0, 1, 0, Short, entry} = kprof_name:clip({0, 1, 0, Name, entry}),
            ?equal({Short, binary:referenced_byte_size(Short)}, {binary:part(Large, 0, byte_size(Short)), byte_size(Short)})
        end
     || Name <- [Large, binary:part(Large, 0, 300), {'kprof prefix', 90, Large}, {'kprof prefix', 90, binary:part(Large, 0, 90)}]
    ],
    {{trace_ts, p, call, mfa, {1, 2, {caller, [#{x := [{Sent}]} | rest]}, a}, 0}, _} =
        kprof_args_limit:limited({trace_ts, p, call, mfa, {1, 2, {caller, [#{x => [{Part}]} | rest]}, a}, 0}, kprof_args_limit:new()),
    ?equal({Sent, binary:referenced_byte_size(Sent)}, {Own, 100}).

%% A rule may make a name of an argument of any size, and the relay has many names to shorten.
large_names_are_not_walked(_) ->
    Self = self(),
    Numbers = lists:seq(1, 100000),
    Walked = fun(Name) ->
        spawn_opt(fun() ->
            {_, Before} = process_info(self(), reductions),
            Clipped = kprof_name:clip({0, 1, 0, Name, entry}),
            {_, After} = process_info(self(), reductions),
            Self ! {walked, After - Before, tuple_size(Clipped)}
        end, [{min_heap_size, 10000000}]),
        receive {walked, N, 5} -> N end
    end,
    [?check(Walked(Name) < 20000) || Name <- [[{X} || X <- Numbers], {all, [{X} || X <- Numbers]}, maps:from_list([{X, X} || X <- Numbers]), list_to_tuple(Numbers), Numbers]].

%% Names of pids: others run after every 500 names, and a pid without a name does not make the process list all names again.
names_are_listed_in_pieces(_) ->
    Names = [list_to_atom("agent_values_" ++ integer_to_list(I)) || I <- lists:seq(1, 1000)],
    Named = [begin P = spawn(fun() -> receive stop -> ok end end), register(N, P), P end || N <- Names],
    [Other | _] = [P || P <- processes(), process_info(P, registered_name) =:= []],
    Self = self(),
    Lister = spawn(fun() ->
        receive go -> ok end,
        Found = [kprof_name:registered(P) || P <- Named ++ [Other, Other]],
        unregister(hd(Names)),
        Self ! {found, Found, kprof_name:registered(hd(Named))}
    end),
    erlang:trace_pattern({erlang, registered, 0}, true, []),
    erlang:trace(Lister, true, [call, running]),
    Lister ! go,
    Found = receive {found, _, _} = Answer -> Answer after ?PATIENCE -> late end,
    erlang:trace_delivered(Lister),
    receive {trace_delivered, Lister, _} -> ok end,
    erlang:trace_pattern({erlang, registered, 0}, false, []),
    Seen = seen(Lister),
    [P ! stop || P <- Named],
    ?equal({found, Names ++ [undefined, undefined], undefined}, Found),
    ?equal(1, length([x || {call, {erlang, registered, []}} <- Seen])),
    ?check(length([x || {out, {kprof_flags, yield, 0}} <- Seen]) >= length(Names) div 500).

seen(Pid) ->
    receive
        {trace, Pid, What, MFA} -> [{What, MFA} | seen(Pid)]
    after 0 -> []
    end.

%% Each constant text is in the attribute once, and read in full.
texts_are_read(_) ->
    {_, [Texts]} = lists:keyfind(texts, 1, kprof_agent_00:module_info(attributes)),
    <<First:16, _/binary>> = Texts,
    All = [kprof_agent_00:text_stored_binary(I) || I <- lists:seq(0, First div 2 - 2)],
    ?equal(iolist_to_binary(All), binary:part(Texts, First, byte_size(Texts) - First)),
    ?equal(length(lists:usort(All)), length(All)),
    ?check(lists:member(<<"~ts was loaded">>, All)).

%% Properties of the breaker (a value): random sequences of trips and ticks at random times.
breaker_keeps_its_times(_) ->
    Seed = seed(),
    [breaker_history(Seed, rand:uniform(2000), 400) || _ <- lists:seq(1, 200)].

breaker_history(Seed, Cooldown0, Steps) ->
    Cooldown = max(100, Cooldown0),
    breaker_history(Seed, Cooldown, Steps, 0, kprof_breaker:new(Cooldown), {closed, 1, 0}, 0).

breaker_history(_, _, 0, _, _, _, _) ->
    ok;
breaker_history(Seed, Cooldown, Steps, Now0, B0, {State, Factor0, Since}, Trips) ->
    %% Also after long pauses, so that the longest one is reached.
    Now = Now0 + rand:uniform(Cooldown) + case rand:uniform(3) of 1 -> kprof_breaker:next_ms(Now0, B0); _ -> 0 end,
    B =
        case rand:uniform(4) of
            1 -> kprof_breaker:trip(Now, B0);
            _ -> ticked(Now, kprof_breaker:tick(Now, B0))
        end,
    Next = kprof_breaker:state(B),
    Factor = kprof_breaker:factor(B),
    Ok =
        case {State, Next} of
            {closed, closed} when Factor =/= Factor0 -> Now - Since >= 1000 andalso Factor < Factor0;
            {Same, Same} -> Factor =:= Factor0;
            {closed, open} -> kprof_breaker:next_ms(Now, B) >= Cooldown;
            {half_open, open} -> kprof_breaker:next_ms(Now, B) >= min(300000, 2 * Cooldown);
            {open, half_open} -> Now - Since >= Cooldown andalso kprof_breaker:factor(B) =:= 10;
            {open, closed} -> Now - Since >= Cooldown andalso kprof_breaker:factor(B) =:= 1;
            {half_open, closed} -> Now - Since >= 2000 andalso kprof_breaker:factor(B) > 1;
            _ -> false
        end,
    ?equal({Seed, State, Next, Ok}, {Seed, State, Next, true}),
    ?check(kprof_breaker:next_ms(Now, B) =< 300000),
    More = case {State, Next} of {open, open} -> 0; {_, open} -> 1; _ -> 0 end,
    ?equal(kprof_breaker:trips(B), Trips + More),
    At = if {State, Factor0} =:= {Next, Factor} -> {State, Factor, Since}; true -> {Next, Factor, Now} end,
    breaker_history(Seed, Cooldown, Steps - 1, Now, B, At, Trips + More).

%% Some tries are not necessary.
ticked(Now, {trying, B}) -> case rand:uniform(3) of 1 -> kprof_breaker:closed(Now, B); _ -> B end;
ticked(_, {_, B}) -> B.

%% For any order of arrivals, an interval never admits more than its limit.
limit_is_never_passed(_) ->
    Seed = seed(),
    [
        begin
            PerSecond = rand:uniform(50000),
            Most = max(1, PerSecond div 10),
            Arrivals = arrivals(500, 0),
            {Let, _} = lists:mapfoldl(
                fun({Now, N}, L0) ->
                    {Some, L} = kprof_breaker:admit(N, Now, L0),
                    ?check(Some =< N),
                    {{element(2, L), Some}, L}
                end,
                kprof_breaker:limit(PerSecond, 0),
                Arrivals
            ),
            Starts = lists:usort([I || {I, _} <- Let]),
            [?equal({Seed, I, lists:sum([N || {J, N} <- Let, J =:= I]) =< Most}, {Seed, I, true}) || I <- Starts],
            [?check(B - A >= 100) || {A, B} <- lists:zip(lists:droplast(Starts), tl(Starts))]
        end
     || _ <- lists:seq(1, 50)
    ].

arrivals(0, _) -> [];
arrivals(N, Now) -> [{Now, rand:uniform(500)} | arrivals(N - 1, Now + rand:uniform(40) - 1)].

%% The weight of an event is the last one that was changed before it was made. The parts of a batch have all its messages, in
%% their order.
weights_follow_the_time(_) ->
    Seed = seed(),
    [weights_of(Seed, rand:uniform(7)) || _ <- lists:seq(1, 300)].

weights_of(Seed, Changes) ->
    %% fewer than are remembered
    History = lists:reverse(lists:foldl(fun(_, [{Since, _} | _] = Past) -> [{Since + rand:uniform(50), rand:uniform(4)} | Past] end, [{0, 1}], lists:seq(1, Changes))),
    Weights = lists:foldl(fun({Since, N}, W) -> kprof_weights:changed(N, Since, W) end, kprof_weights:new(), tl(History)),
    True = fun(Ts) -> lists:last([N || {Since, N} <- History, Since =< max(0, Ts)]) end,
    Times = [rand:uniform(500) - 50 || _ <- lists:seq(1, 100)],
    [?equal({Seed, History, Ts, kprof_weights:at(Ts, Weights)}, {Seed, History, Ts, True(Ts)}) || Ts <- Times],
    Messages = [{trace_ts, N, return_to, mfa, Ts} || {N, Ts} <- lists:zip(lists:seq(1, 100), Times)],
    {Parts, Weights} = kprof_weights:parts(Messages, 100, Weights),
    [?equal({length(Ms), [W]}, {N, lists:usort([True(kprof_weights:made(M)) || M <- Ms])}) || {N, W, Ms} <- Parts, Ms =/= []],
    [?equal(Ms, [M || M <- Messages, lists:member(M, Ms)]) || {_, _, Ms} <- Parts],
    ?equal(lists:sort(lists:append([Ms || {_, _, Ms} <- Parts])), Messages),
    %% long after the last change the earlier ones are forgotten
    Late = {trace_ts, 0, return_to, mfa, 500 + erlang:convert_time_unit(1, second, native)},
    {_, Last} = lists:last(History),
    {[{1, Last, [Late]}], Forgotten} = kprof_weights:parts([Late], 1, Weights),
    ?equal(kprof_weights:at(-1, Forgotten), Last).

%% Where each call is sampled: four blocks of tickets are from the limit, then four are not. The match
%% spec and kprof_spec:beyond/3 agree on which. Other codes: no limit, a cut, the brake.
calls_at_once_are_limited(_) ->
    Seed = seed(),
    Before = erlang:system_info(trace_control_word),
    [limited_calls(Seed, Tiers) || Tiers <- [1, 2, 3, 5, 8, 20, 200]],
    erlang:system_flag(trace_control_word, Before).

%% A process takes and returns the ticket, which is within the limit, again and again; another one makes calls meanwhile.
calls_beside_a_held_ticket_are_sampled(_) ->
    Before = erlang:system_info(trace_control_word),
    Config = #{tiers => [{1, m, f, 1}], entry => 1, identity => none, returns => lean, sample => 1, epoch => 1},
    {ok, [{1, _, [{'_', [Lost], _} | _]}], _} = kprof_match_spec:compile(Config),
    Block = kprof_match_spec:block(Config),
    1 = erlang:trace_pattern({?MODULE, called, 0}, [{'_', [Lost], []}], [local]),
    [
        begin
            Held = (22 + B) bsl 27,
            erlang:system_flag(trace_control_word, Held bor (80 + B) * Block),
            Taking = spawn_link(fun() -> take(Held, Held bor (80 + B) * Block) end),
            {Caller, Ref} = spawn_monitor(fun() -> receive go -> called(100000) end end),
            1 = erlang:trace(Caller, true, [call]),
            Caller ! go,
            receive {'DOWN', Ref, _, _, _} -> ok end,
            unlink(Taking),
            exit(Taking, kill),
            Delivered = erlang:trace_delivered(Caller),
            receive {trace_delivered, Caller, Delivered} -> ok end,
            ?equal({B, lost(Caller, 0)}, {B, 0})
        end
     || B <- lists:seq(0, 7)
    ],
    erlang:trace_pattern({?MODULE, called, 0}, false, [local]),
    erlang:system_flag(trace_control_word, Before).

take(Held, Word) ->
    erlang:system_flag(trace_control_word, Held),
    erlang:system_flag(trace_control_word, Word),
    _ = lists:seq(1, 50),
    take(Held, Word).

called(0) -> ok;
called(N) ->
    called(),
    called(N - 1).

called() -> ok.

lost(P, N) ->
    receive {trace, P, call, _} -> lost(P, N + 1)
    after 0 -> N
    end.

limited_calls(Seed, Tiers) ->
    Config = #{tiers => [{I, m, list_to_atom("f" ++ integer_to_list(I)), 1} || I <- lists:seq(1, Tiers)], entry => 1, identity => none, returns => lean, sample => 1, epoch => 1},
    {ok, [{1, _, [{'_', [Lost], _} | _]} | _], _} = kprof_match_spec:compile(Config),
    Block = kprof_match_spec:block(Config),
    ?check(Block =:= 64 orelse 4 * Block * Tiers > 2300 andalso 4 * Block * Tiers =< 2560),
    ?equal(kprof_match_spec:block(Config#{entry := none}), 640),
    Code = fun(N, Ticket) -> (N bsl 27) bor Ticket end,
    IsLost = fun(Word) ->
        erlang:system_flag(trace_control_word, Word),
        {ok, Is, [], []} = erlang:match_spec_test([x], [{'_', [Lost], [{message, true}]}], trace),
        Is
    end,
    [
        begin
            Ticket = rand:uniform(16#7ffffff - 10 * Block),
            erlang:system_flag(trace_control_word, Code(1, Ticket)),
            {Start, Now} = kprof_spec:allow(Block, Code(1, Ticket)),
            ?equal({Seed, Start, kprof_spec:allow(Block, Now), kprof_spec:allow(none, Now)}, {Seed, Code(1, Ticket), {Now, Now}, {Now, Code(1, Ticket)}}),
            {Limit, First} = {Now bsr 27, Ticket div Block * Block},
            Calls = [{First + B * Block + I, B} || B <- lists:seq(0, 8), I <- [0, 1, Block - 1], First + B * Block + I > Ticket],
            [?equal({Seed, Limit, T, IsLost(Code(Limit, T))}, {Seed, Limit, T, B rem 8 >= 4}) || {T, B} <- Calls],
            [?equal({Seed, T, kprof_spec:beyond(Block, Now, Code(Limit, T))}, {Seed, T, length([x || X <- lists:seq(Ticket, T - 1), (X - First) div Block rem 8 >= 4])}) || {T, _} <- Calls],
            ?equal({Seed, [IsLost(Code(C, Ticket)) || C <- [1, 31]]}, {Seed, [false, true]})
        end
     || _ <- lists:seq(1, 20)
    ],
    Some = [length([x || _ <- lists:seq(1, 1000), IsLost(Code(3, rand:uniform(16#7ffffff)))])],
    ?check(Some > [650] andalso Some < [850]).

%% At most 1 KB for a call and 1 MB in a second.
args_are_limited(_) ->
    Call = fun(Args) -> {trace_ts, self(), call, {m, f, 1}, {0, 1, {caller, Args}, undefined}, 0} end,
    Began = agent_lib:now_ms(),
    {Sent, _} = lists:mapfoldl(
        fun(Bytes, Limit0) ->
            Args = {{{binary:copy(<<0>>, Bytes)}, false}},
            {{trace_ts, _, call, _, {0, 1, {caller, Now}, undefined}, 0}, Limit} = kprof_args_limit:limited(Call(Args), Limit0),
            Size = erlang:external_size(Args),
            ?check(if Size > 1024 -> Now =:= big; true -> Now =:= Args orelse Now =:= over end),
            {if Now =:= Args -> Size; true -> 0 end, Limit}
        end,
        kprof_args_limit:new(),
        [rand:uniform(1200) || _ <- lists:seq(1, 4000)]
    ),
    Seconds = 1 + (agent_lib:now_ms() - Began) div 1000,
    ?check(lists:max(Sent) =< 1024),
    ?check(lists:sum(Sent) =< Seconds * 1048576),
    ?check(lists:sum(Sent) > 900000).
