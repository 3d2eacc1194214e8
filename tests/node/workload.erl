%% A workload with known counts. Each scenario runs to its end and returns the counts that a profiler must have:
%%   #{requests => N, rows => #{Tier => #{Identity => Count}}, errors => ..., late => ..., expired => ...}
%% Tiers are named by their functions. The entry is request/1 or request/2, its first argument is the identity.
-module(workload).
-behaviour(gen_server).
-compile({no_auto_import, [get/1]}).
-export([start/0, stop/0, counts/3, again/2, recursion/3, tail/2, exceptions/2, between/2, dying/2, nested/2, late/2, hostile/1,
         sleeping/2, big_state/2, tokens/0, sitters/1, load/2, load_done/0, no_request/1, undefined_identity/1,
         reload/0, hostile_names/0, reductions_per_call/2, queue/4]).
-export([request/1, request/2, parse/1, db/1, format/1, account/1, cache/1, recurse/1, tail_a/1, tail_b/1, catcher/1,
         middle/1, thrower/1, hang/1, late_work/1, outside/1, outside_load/1, sleeper/1, never/1, hold/1, 'we\e[2Jird'/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

-define(POOL, [workload_pool_1, workload_pool_2, workload_pool_3]).

%% ---- processes

start() ->
    Self = self(),
    Owner = spawn(fun() -> own(Self) end),
    receive {Owner, ready} -> ok end.

own(Starter) ->
    register(workload_owner, self()),
    ets:new(workload_tokens, [named_table, public]),
    {ok, _} = gen_server:start_link({local, workload_db}, ?MODULE, small, []),
    {ok, _} = gen_server:start_link({local, workload_big}, ?MODULE, big, []),
    [register(N, spawn_link(fun pool_loop/0)) || N <- ?POOL],
    Starter ! {self(), ready},
    receive stop -> exit(shutdown) end.

stop() ->
    Ref = monitor(process, workload_owner),
    workload_owner ! stop,
    receive {'DOWN', Ref, _, _, _} -> ok end.

pool_loop() ->
    receive
        {From, Ref, Op} ->
            R = ?MODULE:account(Op),
            From ! {Ref, R},
            pool_loop()
    end.

init(small) -> {ok, 0};
init(big) -> {ok, lists:seq(1, 12500)}. % two words per element: 25,000 words

handle_call({db, Op}, _, S) -> R = ?MODULE:db(Op), {reply, R, S};
handle_call({hold, Ms, Sent}, _, S) ->
    Began = erlang:monotonic_time(),
    R = ?MODULE:hold(Ms),
    {reply, {R, Began - Sent, erlang:monotonic_time() - Began}, S};
handle_call(big, _, S) -> {reply, ok, S}.

handle_cast({late, Op, From}, S) ->
    receive after 80 -> ok end,
    R = ?MODULE:late_work(Op),
    From ! {late_done, R},
    {noreply, S};
handle_cast(_, S) -> {noreply, S}.

handle_info(_, S) -> {noreply, S}.

%% ---- the tiers

request(sit) -> [?MODULE:parse(sit)]; % receives no messages, so it keeps its token
request(Op) ->
    P = ?MODULE:parse(Op),
    D = gen_server:call(workload_db, {db, P}),
    F = in_process(fun() -> ?MODULE:format(D) end),
    A = in_pool(F),
    C = case Op of
        read -> [?MODULE:cache(Op), ?MODULE:cache(Op), ?MODULE:cache(Op)];
        _ -> []
    end,
    {ok, A, C}.

request(Op, Fun) -> R = Fun(Op), {ok, R}.

hold(Ms) ->
    receive after Ms -> ok end,
    [Ms].

parse(Op) -> element(1, {Op}).
db(Op) -> hd([Op]).
format(Op) -> element(1, {Op}).
account(Op) -> hd([Op]).
cache(Op) -> [Op].
late_work(Op) -> [Op].
never(Op) -> Op.
outside(Op) -> [Op].
'we\e[2Jird'(Op) -> [Op].

recurse(0) -> 0;
recurse(N) -> 1 + recurse(N - 1).

tail_a(Op) -> ?MODULE:tail_b(Op).
tail_b(Op) -> [Op].

catcher(Op) ->
    R = try ?MODULE:middle(Op) catch error:{thrown, _} -> caught end,
    [R].
middle(Op) -> [?MODULE:thrower(Op)].
thrower(Op) -> error({thrown, Op}).

hang(Op) -> receive {never, Op} -> ok end.

sleeper(short) -> sleep(5);
sleeper(middle) -> sleep(20);
sleeper(long) -> sleep(100).

sleep(Ms) ->
    T1 = erlang:monotonic_time(),
    receive after Ms -> ok end,
    erlang:put(inside, erlang:monotonic_time() - T1).

%% The answer is a message: a 'DOWN' has no token and would remove the token of the request.
in_process(Fun) ->
    Self = self(),
    Ref = make_ref(),
    spawn_link(fun() -> Self ! {Ref, Fun()} end),
    receive {Ref, R} -> R end.

in_pool(Op) ->
    Ref = make_ref(),
    Worker = lists:nth(1 + erlang:phash2(Ref, length(?POOL)), ?POOL),
    Worker ! {self(), Ref, Op},
    receive {Ref, R} -> R end.

%% ---- scenarios

%% K requests of each operation, from four processes, at Rate requests per second in all.
counts(K, Ops, Rate) ->
    Todo = lists:append([Ops || _ <- lists:seq(1, K)]),
    clients(4, Todo, Rate, fun(Op) -> {ok, _, _} = ?MODULE:request(Op) end),
    Each = maps:from_list([{Op, K} || Op <- Ops]),
    Cache = case lists:member(read, Ops) of true -> #{read => 3 * K}; false -> #{} end,
    #{requests => length(Todo),
      rows => #{request => Each, parse => Each, db => Each, format => Each, account => Each, cache => Cache}}.

%% The same tier many times in one request: N calls of cache/1 in each of K requests.
again(K, N) ->
    one_by_one(K, fun(Op) -> [?MODULE:cache(Op) || _ <- lists:seq(1, N)] end),
    #{requests => K, rows => #{request => #{x => K}, cache => #{x => K * N}}}.

%% full: every call; lean: only the outermost (inner returns cannot be distinguished).
recursion(K, Depth, _Returns) ->
    one_by_one(K, fun(_) -> ?MODULE:recurse(Depth) end),
    #{requests => K, rows => #{request => #{x => K}, recurse => #{x => K * (Depth + 1)}}, outermost => K}.

tail(K, _) ->
    one_by_one(K, fun(Op) -> [?MODULE:tail_a(Op)] end),
    #{requests => K, rows => #{request => #{x => K}, tail_a => #{x => K}, tail_b => #{x => K}}}.

exceptions(K, _) ->
    one_by_one(K, fun(Op) -> ?MODULE:catcher(Op) end),
    #{requests => K, rows => #{request => #{x => K}, catcher => #{x => K}, middle => #{x => K}, thrower => #{x => K}},
      errors => #{request => 0, catcher => 0, middle => K, thrower => K}}.

%% The same, if catcher and middle are not traced.
between(K, Op) ->
    maps:with([requests, rows, errors], maps:map(
        fun(rows, _) -> #{request => #{x => K}, thrower => #{x => K}}; (errors, _) -> #{request => 0, thrower => K}; (_, V) -> V end,
        exceptions(K, Op))).

%% A process of the request is killed inside a call of hang/1: that call ends with its process, as an error.
dying(K, _) ->
    one_by_one(K, fun(Op) ->
        {Pid, Ref} = spawn_monitor(fun() -> [?MODULE:hang(Op)] end),
        wait_in(Pid, hang),
        exit(Pid, kill),
        receive {'DOWN', Ref, _, _, killed} -> ok end
    end),
    #{requests => K, rows => #{request => #{x => K}, hang => #{x => K}}, errors => #{request => 0, hang => K}}.

%% An entry inside an open request belongs to it: one request, two calls of the entry.
nested(K, _) ->
    one_by_one(K, fun(_) -> [?MODULE:request(inner, fun(Op) -> ?MODULE:cache(Op) end)] end),
    #{requests => K, rows => #{request => #{x => 2 * K}, cache => #{x => K}}}.

%% Work that begins long after its request has returned.
late(K, _) ->
    Self = self(),
    one_by_one(K, fun(Op) -> gen_server:cast(workload_db, {late, Op, Self}) end),
    [receive {late_done, _} -> ok after 10000 -> error(late) end || _ <- lists:seq(1, K)],
    #{requests => K, rows => #{request => #{x => K}, late_work => #{x => K}}, late => #{late_work => K}}.

%% Calls of a tier outside any request.
no_request(K) ->
    [?MODULE:cache(x) || _ <- lists:seq(1, K)],
    K.

%% Runs until the node ends.
outside_load(PauseMs) ->
    spawn(fun() -> outside_loop(PauseMs) end),
    ok.

outside_loop(PauseMs) ->
    ?MODULE:outside(x),
    receive stop -> ok after PauseMs -> outside_loop(PauseMs) end.

undefined_identity(K) ->
    [?MODULE:request(undefined, fun(Op) -> ?MODULE:cache(Op) end) || _ <- lists:seq(1, K)],
    K.

%% Each hostile identity K times.
hostile(K) ->
    [?MODULE:request(Name, fun(Op) -> ?MODULE:cache(Op) end) || Name <- hostile_names(), _ <- lists:seq(1, K)],
    #{requests => K * length(hostile_names()), identities => length(hostile_names())}.

hostile_names() ->
    ['\e[31m\e]0;owned\a\e[2J', list_to_atom(lists:duplicate(255, $n)), binary:copy(<<"m">>, 1000000),
     <<255, 254, 0, 128, 192, 27, "[2J">>, 'line\nbreak\ttab', <<"\x{202e}rtl"/utf8>>,
     list_to_atom(lists:duplicate(255, 16#1F600)), <<>>, '', {<<"GET">>, <<"/\e[H">>}, <<"=cmd|'/c calc'!A1,\"x\"">>].

%% N calls of sleeper/1 of each kind, with their recorded nearest-rank percentiles in microseconds: of times that are measured
%% inside of the function, and around its calls. On a busy machine these differ; the true duration is between them.
sleeping(N, _) ->
    Self = self(),
    Kinds = [short, middle, long],
    Pids = [spawn_link(fun() ->
        Times = [begin
            {ok, _} = ?MODULE:request(Kind, fun timed/1),
            {erlang:get(inside), erlang:get(around)}
        end || _ <- lists:seq(1, N)],
        Self ! {self(), Kind, Times}
    end) || Kind <- Kinds, _ <- lists:seq(1, 4)],
    All = [receive {P, Kind, Times} -> {Kind, Times} end || P <- Pids],
    Of = fun(Which, Kind) -> percentiles([element(Which, T) || {K, Ts} <- All, K =:= Kind, T <- Ts]) end,
    maps:from_list([{Kind, #{inside => Of(1, Kind), around => Of(2, Kind)}} || Kind <- Kinds]).

timed(Kind) ->
    T1 = erlang:monotonic_time(),
    R = ?MODULE:sleeper(Kind),
    erlang:put(around, erlang:monotonic_time() - T1),
    [R].

percentiles(Times) ->
    S = list_to_tuple(lists:sort(Times)),
    N = size(S),
    Us = fun(T) -> erlang:convert_time_unit(T, native, nanosecond) / 1000 end,
    At = fun(P) -> Us(element(max(1, ceil(P * N)), S)) end,
    #{count => N, min => Us(element(1, S)), p50 => At(0.5), p90 => At(0.9), p99 => At(0.99), max => Us(element(N, S))}.

%% K calls of a server whose callback returns 25,000 words, at Rate per second.
big_state(K, Rate) ->
    clients(1, lists:duplicate(K, big), Rate,
            fun(Op) -> {ok, _} = ?MODULE:request(Op, fun(_) -> gen_server:call(workload_big, big) end) end),
    #{requests => K, rows => #{request => #{big => K}, handle_call => #{big => K}}}.

%% Clients that call one server, which needs Ms for each: the time of their messages in its mailbox, and the time for which it
%% was busy, as client and server saw them (us). Each client pauses between its requests.
queue(Clients, Rounds, Ms, PauseMs) ->
    Self = self(),
    Began = erlang:monotonic_time(),
    Pids = [spawn_link(fun() -> Self ! {self(), [queued(Ms, PauseMs) || _ <- lists:seq(1, Rounds)]} end) || _ <- lists:seq(1, Clients)],
    All = lists:append([receive {P, Times} -> Times end || P <- Pids]),
    Took = erlang:monotonic_time() - Began,
    Us = fun(T) -> erlang:convert_time_unit(T, native, nanosecond) / 1000 end,
    Waits = percentiles([Wait || {_, Wait, _} <- All]),
    Waits#{mean => Us(lists:sum([Wait || {_, Wait, _} <- All])) / length(All), busy => Us(lists:sum([Busy || {_, _, Busy} <- All])), took => Us(Took)}.

queued(Ms, PauseMs) ->
    {ok, Times} = ?MODULE:request(x, fun(_) -> gen_server:call(workload_db, {hold, Ms, erlang:monotonic_time()}) end),
    receive after PauseMs -> Times end.

reductions_per_call(K, _) ->
    {reductions, R0} = process_info(self(), reductions),
    [?MODULE:cache(x) || _ <- lists:seq(1, K)],
    {reductions, R1} = process_info(self(), reductions),
    (R1 - R0) / K.

reload() ->
    {?MODULE, Beam, File} = code:get_object_code(?MODULE),
    code:purge(?MODULE),
    {module, ?MODULE} = code:load_binary(?MODULE, File, Beam),
    true.

%% ---- continuous load, and tokens

%% Processes that took part in a request and then receive only timeouts: they keep their token and report it
%% themselves (a query by message would remove it).
sitters(N) ->
    [spawn(fun() ->
        ?MODULE:request(sit),
        sit()
    end) || _ <- lists:seq(1, N)],
    N.

%% It sends messages to itself: below OTP 27 a process that never sends keeps its token, and nothing can remove it.
sit() ->
    report(),
    self() ! beat,
    receive beat -> ok end,
    receive stop -> ok after 40 -> sit() end.

report() ->
    catch ets:insert(workload_tokens, {self(), seq_trace:get_token()}).

%% The number of these processes that hold a token, according to their latest report (without dead ones).
tokens() ->
    All = [{P, T} || {P, T} <- ets:tab2list(workload_tokens), is_process_alive(P)],
    #{asked => length(All), carrying => length([P || {P, T} <- All, T =/= []])}.

%% Clients that run until load_done/0, which returns their number of requests.
load(Clients, PauseMs) ->
    Pids = [spawn(fun() -> client_loop(PauseMs, 0) end) || _ <- lists:seq(1, Clients)],
    persistent_term:put(workload_load, Pids),
    Clients.

client_loop(PauseMs, N) ->
    ?MODULE:request(lists:nth(1 + N rem 4, [create, read, update, delete])),
    report(),
    receive
        {stop, From} -> From ! {stopped, N + 1}
    after PauseMs -> client_loop(PauseMs, N + 1)
    end.

load_done() ->
    lists:sum([begin P ! {stop, self()}, receive {stopped, N} -> N after 20000 -> error(stuck) end end
               || P <- persistent_term:get(workload_load)]).

%% ---- helpers

one_by_one(K, Fun) ->
    [{ok, _} = ?MODULE:request(x, Fun) || _ <- lists:seq(1, K)].

wait_in(Pid, Fun) ->
    case process_info(Pid, [current_function, status]) of
        [{current_function, {?MODULE, Fun, _}}, {status, waiting}] -> ok;
        _ -> erlang:yield(), wait_in(Pid, Fun)
    end.

%% Divides the list among N processes with this total rate: each makes a burst every 10 ms.
clients(N, Todo, Rate, Fun) ->
    Self = self(),
    Burst = max(1, Rate div (100 * N)),
    Pids = [spawn_link(fun() -> burst(Part, Burst, Fun, erlang:monotonic_time(millisecond)), Self ! {self(), done} end)
            || Part <- deal(Todo, N)],
    [receive {P, done} -> ok end || P <- Pids].

burst([], _, _, _) -> ok;
burst(Todo, Burst, Fun, At) ->
    {Now, Later} = lists:split(min(Burst, length(Todo)), Todo),
    [Fun(Op) || Op <- Now],
    Next = At + 10,
    receive after max(0, Next - erlang:monotonic_time(millisecond)) -> ok end,
    burst(Later, Burst, Fun, Next).

deal(List, N) ->
    Numbered = lists:zip(lists:seq(0, length(List) - 1), List),
    [[X || {I, X} <- Numbered, (I div 4) rem N =:= R] || R <- lists:seq(0, N - 1)].
