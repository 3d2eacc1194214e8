%% The load of impact.py: open-loop clients of traced functions, and their latencies.
%% Each request has an intended start, in a schedule that does not wait for answers. A latency is the end minus the
%% intended start, so it includes the time that a request waited for earlier, slow requests. The schedule has ticks of
%% 1 ms, the resolution of the VM's timers: all requests of a tick are due at its start, divided evenly among the
%% clients. So 20,000 requests/s are 20 per ms, one of each of 20 clients. All functions must be called by one process
%% (that of kp_target), which owns the run.
-module(impact_load).
-export([start/4, window/1, result/1, stop/0, made/0, bare_on/1, bare_off/1, count_on/1, count_off/1, count_of/1, stall/1]).
-export([ask/2, served/1, hanging/1, hang_loop/1, init/1, handle_call/3, handle_cast/2]).
-export([entry/1, t1/1, t2/1, t3/1, call/2, handle/2, client/1, server/1, discard/0]).
-export([index/1, low/1, buckets_of/1]).

-define(SUB_BITS, 7). % 128 parts of each power of two: 0.8 % wide
-define(BUCKETS, 4864).
-define(SLICES, 64). % of a window, each with its own histogram
-define(SLICE_MS, 250). % or longer, in a window that has more than these
-define(STRIDE, 8). % words between the counters of two clients: one cache line

%% n: its number; of: how many; rate: requests/s of all; base: first tick in ms; bounds: the window's first tick and the one after its last
%% (and the ms of a slice)
-record(c, {n, of_all, rate, base, hist, wakes, bounds, done, kind, server}).

%% ---- traced functions ----

entry(X) -> R = ?MODULE:t1(X), [R].
t1(X) -> A = ?MODULE:t2(X), B = ?MODULE:t3(A), {A, B}.
t2(X) -> work(X, 5).
t3(X) -> work(X, 5).

work(X, 0) -> X;
work(X, N) -> work((X * 7 + N) band 16#ffff, N - 1).

%% A request to a server with a large state.
call(X, Server) ->
    Ref = make_ref(),
    Server ! {call, self(), Ref, X},
    receive {Ref, Reply} -> [Reply] end.

handle({call, _, _, X}, State) -> {reply, work(X, 5), State}.

%% A request to a gen_server, one of several.
ask({hang, Ms}, Servers) -> R = gen_server:call(element(1, Servers), 0), receive after Ms -> [R] end;
ask(X, Servers) -> R = gen_server:call(element(1 + (X + erlang:phash2(self())) rem tuple_size(Servers), Servers), X), [R].

served(X) -> work(X, 5).

init([]) -> {ok, none}.
handle_call(X, _, S) -> R = ?MODULE:served(X), {reply, R, S}.
handle_cast(_, S) -> {noreply, S}.

%% Processes with requests that are open for a second each; they end with the run.
hanging(N) ->
    {All, Pids, Servers} = get(run),
    put(run, {All, [spawn(?MODULE, hang_loop, [Servers]) || _ <- lists:seq(1, N)] ++ Pids, Servers}),
    ok.

hang_loop(Servers) -> ?MODULE:ask({hang, 1000}, Servers), hang_loop(Servers).

%% A request to the sample node; one in 200 fails.
sample(Q) ->
    Op = element(1 + Q band 3, {<<"CREATE key">>, <<"READ key">>, <<"UPDATE key">>, <<"DELETE key">>}),
    try kprof_sample:handle(<<Op/binary, (integer_to_binary(1 + Q rem 1000))/binary, (case Q band 1 of 0 -> <<" v">>; 1 -> <<>> end)/binary>>)
    catch error:db_failed -> failed
    end.

server(State) ->
    receive
        {call, From, Ref, _} = M ->
            {reply, Reply, Next} = ?MODULE:handle(M, State),
            From ! {Ref, Reply},
            server(Next)
    end.

%% ---- a run ----

%% Kind: requests, {state, Words}, {calls, Servers}, or sample: of the sample node, which must have been started.
start(Kind, Clients, Rate, InMs) ->
    Hist = counters:new(?SLICES * ?BUCKETS, [write_concurrency]),
    Wakes = counters:new(?BUCKETS, [write_concurrency]),
    Bounds = atomics:new(3, []),
    Done = atomics:new(Clients * ?STRIDE, []),
    Server =
        case Kind of
            {state, Words} -> spawn(fun() -> server(list_to_tuple(lists:seq(1, Words))) end);
            {calls, N} -> list_to_tuple([element(2, gen_server:start(?MODULE, [], [])) || _ <- lists:seq(1, N)]);
            _ -> none
        end,
    C = #c{of_all = Clients, rate = Rate, base = erlang:monotonic_time(millisecond) + 20 + InMs, hist = Hist, wakes = Wakes, bounds = Bounds,
           done = Done, kind = Kind, server = Server},
    All = [C#c{n = N} || N <- lists:seq(0, Clients - 1)],
    put(run, {All, [spawn(?MODULE, client, [One]) || One <- All], Server}),
    ok.

stop() ->
    {_, Pids, Server} = erase(run),
    Servers = if is_tuple(Server) -> tuple_to_list(Server); true -> [Server] end,
    [exit(P, kill) || P <- Pids ++ Servers, is_pid(P)],
    ok.

%% The requests of all clients since the start.
made() ->
    {All, _, _} = get(run),
    lists:sum([done(C) || C <- All]).

client(C) -> client(C, 0, erlang:monotonic_time()).

%% Q: number of its requests so far. Now: the end of the last one.
client(#c{kind = Kind} = C, Q, Now) ->
    Tick = due(C, Q),
    Start = erlang:convert_time_unit(Tick, millisecond, native),
    Now < Start andalso await(C, Tick, Start),
    case Kind of
        requests -> ?MODULE:entry(Q band 3);
        sample -> sample(Q);
        {calls, _} -> ?MODULE:ask(Q band 3, C#c.server);
        _ -> ?MODULE:call(Q band 3, C#c.server)
    end,
    End = erlang:monotonic_time(),
    Tick >= atomics:get(C#c.bounds, 1) andalso Tick < atomics:get(C#c.bounds, 2) andalso add(C#c.hist, slice(C#c.bounds, Tick), End - Start),
    atomics:put(C#c.done, C#c.n * ?STRIDE + 1, Q + 1),
    client(C, Q + 1, End).

await(C, Tick, Start) ->
    erlang:send_after(Tick, self(), go, [{abs, true}]),
    receive go -> ok end,
    Tick >= atomics:get(C#c.bounds, 1) andalso Tick < atomics:get(C#c.bounds, 2) andalso add(C#c.wakes, 0, erlang:monotonic_time() - Start).

%% The tick of request Q of a client: the requests of all clients are evenly distributed.
due(#c{n = N, of_all = All, rate = Rate, base = Base}, Q) -> Base + (Q * All + N) * 1000 div Rate.

%% The number of requests of a client that are due before a tick.
before(#c{n = N, of_all = All, rate = Rate, base = Base}, Tick) ->
    %% Q with (Q * All + N) * 1000 div Rate < Tick - Base, that is (Q * All + N) * 1000 < (Tick - Base) * Rate
    case (Tick - Base) * Rate - N * 1000 of
        Left when Left > 0 -> (Left + All * 1000 - 1) div (All * 1000);
        _ -> 0
    end.

%% Opens a window of this many ms that begins now; returns immediately.
window(Ms) ->
    {[#c{bounds = Bounds} | _], _, _} = get(run),
    From = erlang:monotonic_time(millisecond) + 2,
    atomics:put(Bounds, 3, max(?SLICE_MS, (Ms + ?SLICES - 1) div ?SLICES)),
    atomics:put(Bounds, 1, From),
    atomics:put(Bounds, 2, From + Ms),
    ok.

%% The slice of the window in which this tick is.
slice(Bounds, Tick) -> (Tick - atomics:get(Bounds, 1)) div atomics:get(Bounds, 3).

%% The values of the window, and of each of its slices, when every request due in it has ended, or after this many ms more. A request that has
%% not ended then is counted with its time so far. Ends the load.
result(PatienceMs) ->
    {All, _, _} = get(run),
    [#c{bounds = Bounds, hist = Hist, wakes = Wakes} | _] = All,
    {From, To} = {atomics:get(Bounds, 1), atomics:get(Bounds, 2)},
    drain(All, To, To + PatienceMs),
    Made = made(),
    stop(),
    Now = erlang:monotonic_time(),
    %% If a client counted its last request and was killed before it reported this, the request is counted twice: at
    %% most one per client.
    Open = [begin
                Tick = due(C, Q),
                add(Hist, slice(Bounds, Tick), max(0, Now - erlang:convert_time_unit(Tick, millisecond, native)))
            end || C <- All, Q <- from_to(max(done(C), before(C, From)), before(C, To) - 1)],
    #{due => lists:sum([before(C, To) - before(C, From) || C <- All]), unfinished => length(Open), made => Made, hist => buckets(Hist, all_slices()), wakes => buckets(Wakes, [0]),
      slices => [S || N <- all_slices(), (S = buckets(Hist, [N])) =/= []]}.

from_to(A, B) when A =< B -> lists:seq(A, B);
from_to(_, _) -> [].

done(#c{n = N, done = Done}) -> atomics:get(Done, N * ?STRIDE + 1).

drain(All, To, Until) ->
    case erlang:monotonic_time(millisecond) of
        Now when Now < To -> receive after To - Now -> drain(All, To, Until) end;
        Now when Now >= Until -> ok;
        _ ->
            case lists:all(fun(C) -> done(C) >= before(C, To) end, All) of
                true -> ok;
                false -> receive after 10 -> drain(All, To, Until) end
            end
    end.

%% Stops all clients for this time: only one scheduler is left, and a process of higher priority keeps it busy. The
%% self-test must detect this.
stall(Ms) ->
    erlang:system_flag(multi_scheduling, block_normal),
    Was = process_flag(priority, max),
    spin(erlang:monotonic_time(millisecond) + Ms + 1),
    process_flag(priority, Was),
    erlang:system_flag(multi_scheduling, unblock_normal),
    ok.

spin(Until) -> erlang:monotonic_time(millisecond) < Until andalso spin(Until).

%% ---- the histogram: log-linear, of ns ----

add(Hist, Slice, Ns) -> counters:add(Hist, Slice * ?BUCKETS + index(Ns) + 1, 1).

index(V) -> index(max(V, 0), 0).
index(V, E) when V >= 1 bsl 24 -> index(V bsr 16, E + 16);
index(V, E) when V >= 1 bsl 12 -> index(V bsr 4, E + 4);
index(V, E) when V >= 2 bsl ?SUB_BITS -> index(V bsr 1, E + 1);
index(V, E) -> min((E bsl ?SUB_BITS) + V, ?BUCKETS - 1).

%% The smallest value of a bucket.
low(I) when I < 2 bsl ?SUB_BITS -> I;
low(I) ->
    E = (I bsr ?SUB_BITS) - 1,
    (I - (E bsl ?SUB_BITS)) bsl E.

all_slices() -> lists:seq(0, ?SLICES - 1).

%% [[Least, Width, Count]] of the buckets of these slices together that are not empty.
buckets(Hist, Slices) ->
    [[low(I), low(I + 1) - low(I), N] || I <- lists:seq(0, ?BUCKETS - 1), (N = lists:sum([counters:get(Hist, S * ?BUCKETS + I + 1) || S <- Slices])) > 0].

%% A histogram of known values, for the self-test.
buckets_of(Values) ->
    Hist = counters:new(?BUCKETS, []),
    [add(Hist, 0, V) || V <- Values],
    buckets(Hist, [0]).

%% ---- the tracer for comparison ----

functions(requests) -> [{entry, 1}, {t1, 1}, {t2, 1}, {t3, 1}];
functions(_) -> [{call, 2}, {handle, 2}].

%% A tracer process that discards everything; the traced processes do the same work as with kprof-top: label, name,
%% caller.
bare_on(Kind) ->
    T = spawn_opt(?MODULE, discard, [], [{message_queue_data, off_heap}]),
    erlang:system_flag(trace_control_word, 1),
    [1 = erlang:trace_pattern({?MODULE, F, A}, spec(F), [local]) || {F, A} <- functions(Kind)],
    flags(true, T),
    put(bare, T),
    ok.

bare_off(Kind) ->
    [erlang:trace_pattern({?MODULE, F, A}, false, [local]) || {F, A} <- functions(Kind)],
    flags(false, none),
    erlang:system_flag(trace_control_word, 0),
    exit(erase(bare), kill),
    ok.

%% One process at a time: one call for all processes can crash OTP 25. Tokens need no cleanup, because each run has
%% new clients.
flags(true, T) ->
    Flags = [call, arity, return_to, monotonic_timestamp, {tracer, T}],
    erlang:trace(new, true, Flags),
    [catch erlang:trace(P, true, Flags) || P <- processes(), P =/= T],
    ok;
flags(false, _) ->
    erlang:trace(new, false, [all]),
    [catch erlang:trace(P, false, [all]) || P <- processes()],
    ok.

discard() -> receive _ -> discard() end.

spec(F) when F =:= entry; F =:= call ->
    Label = {element, 2, {get_seq_token}},
    Head = case F of entry -> ['$1']; call -> ['$1', '_'] end,
    [{Head, [], [
        {set_seq_token, label, {'bor', 7 bsl 32, {set_tcw, 0}}},
        {'=:=', 0, {set_tcw, {'+', 1, {'band', Label, 16#7ffffff}}}},
        {message, {{0, Label, {caller}, '$1', entry}}}
    ]}];
spec(F) ->
    Ix = case F of t1 -> 1; t2 -> 2; t3 -> 3; handle -> 1 end,
    [{'_', [{is_seq_trace}], [{message, {{Ix, {element, 2, {get_seq_token}}, {caller}}}}]}].

count_on(Kind) -> [1 = erlang:trace_pattern({?MODULE, F, A}, true, [local, call_count]) || {F, A} <- functions(Kind)].
count_off(Kind) -> [erlang:trace_pattern({?MODULE, F, A}, false, [local, call_count]) || {F, A} <- functions(Kind)].
count_of(Kind) -> [element(2, erlang:trace_info({?MODULE, F, A}, call_count)) || {F, A} <- functions(Kind)].
