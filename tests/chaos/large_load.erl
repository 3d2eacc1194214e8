%% A node with very many processes: most are idle, some are connections that made a request and keep its token, some
%% hundred make requests all the time. A ticker of normal priority runs every millisecond, and records how long it
%% could not run.
-module(large_load).
-export([start/1, population/0, requests/0, keepalive_round/0, tokens/0, tight/0, tight_end/0]).
-export([ticker/0, phase/0, ours/0, until_clean/1]).
-export([request/1, parse/1, store/1, format/1]).
-export([idle/0, connection/0, worker/1, server/0, spin/1, tick/1, spinners/0]). % number of processes

-define(WORKERS, 300).
-define(REST_MS, 100). % pause of a worker between two requests: 3,000 requests/s in all
-define(KEEPALIVE, 100). % one process in this many
-define(SERVERS, 8).
-define(LONG_US, 5000). % shortest gap that counts
-define(SAMPLED, 50). % number of processes of each kind whose flags are checked
-define(LOOK_MS, 10).
-define(TIGHT, large_load_tight).

%% ---- The application ----

request(X) ->
    P = ?MODULE:parse(X),
    R = ?MODULE:store(P),
    F = ?MODULE:format(R),
    {ok, F}.

parse(X) -> X.
format(X) -> {text, X}.

store(quick) -> quick;
store(X) ->
    Server = element(1 + erlang:phash2(self(), ?SERVERS), get_all(servers)),
    R = make_ref(),
    Server ! {store, self(), R},
    receive {stored, R} -> X after 60000 -> error(no_server) end.

server() ->
    receive {store, From, R} -> From ! {stored, R} end,
    server().

%% Starts the application with this many processes in all. -> the number of processes
start(N) ->
    persistent_term:put({?MODULE, count}, counters:new(1, [write_concurrency])),
    put_all(servers, [spawn(?MODULE, server, []) || _ <- lists:seq(1, ?SERVERS)]),
    Many = N div ?KEEPALIVE,
    put_all(connections, [spawn(?MODULE, connection, []) || _ <- lists:seq(1, Many)]),
    put_all(workers, [spawn(?MODULE, worker, [I * ?REST_MS div ?WORKERS]) || I <- lists:seq(1, ?WORKERS)]),
    put_all(idle, [spawn(?MODULE, idle, []) || _ <- lists:seq(1, max(0, N - population()))]),
    true = ticker(),
    population().

put_all(Kind, Pids) -> persistent_term:put({?MODULE, Kind}, list_to_tuple(Pids)).
get_all(Kind) -> persistent_term:get({?MODULE, Kind}, {}).

population() -> erlang:system_info(process_count).
requests() -> counters:get(persistent_term:get({?MODULE, count}), 1).

idle() -> receive stop -> ok end.

%% One request for each message; it waits for the next one with the token of its last request.
connection() ->
    receive go -> made(?MODULE:request(read)) end,
    connection().

worker(Rest) ->
    receive after Rest -> ok end,
    made(?MODULE:request(lists:nth(1 + erlang:unique_integer([positive]) rem 3, [create, read, update]))),
    worker(?REST_MS).

made({ok, _}) -> counters:add(persistent_term:get({?MODULE, count}), 1, 1).

%% Each connection makes one request, 20 per millisecond. -> the number of requests
keepalive_round() ->
    Before = requests(),
    Connections = tuple_to_list(get_all(connections)),
    some(Connections, 20),
    {length(Connections), requests() - Before}.

some([], _) -> ok;
some(Ps, 0) -> receive after 1 -> some(Ps, 20) end;
some([P | Ps], N) -> P ! go, some(Ps, N - 1).

%% The number of connections that hold a token. Tokens are read under a lock, without signals to processes.
tokens() -> length([P || P <- tuple_to_list(get_all(connections)), {_, T} <- [process_info(P, sequential_trace_token)], T =/= []]).

%% Calls the entry in a tight loop, on each scheduler. Their pids are not in a persistent term: when one is replaced, the VM makes
%% a list of all processes and asks each of them, which stops schedulers for up to 26 ms.
tight() -> register(?TIGHT, spawn(?MODULE, spinners, [])).
tight_end() -> exit(whereis(?TIGHT), kill).

spinners() ->
    [spawn_link(?MODULE, spin, [1000]) || _ <- lists:seq(1, erlang:system_info(schedulers_online))],
    receive after infinity -> ok end.

spin(0) ->
    counters:add(persistent_term:get({?MODULE, count}), 1, 1000),
    spin(1000);
spin(N) ->
    {ok, _} = ?MODULE:request(quick),
    spin(N - 1).

%% ---- The ticker ----

ticker() -> register(?MODULE, spawn(?MODULE, tick, [fresh(now_us())])).

fresh(Now) -> #{last => Now, longest => 0, gaps => []}.

%% A gap is the time from one tick to the next: 1 ms plus the delay of a timer, on an idle node.
tick(#{last := Last, longest := Longest, gaps := Gaps} = S) ->
    receive
        {take, From, R} ->
            From ! {R, S},
            tick(fresh(now_us()))
    after 1 ->
        Now = now_us(),
        Gap = Now - Last,
        tick(S#{last := Now, longest := max(Longest, Gap), gaps := [{Last, Now} || Gap > ?LONG_US] ++ Gaps})
    end.

%% For the time since the last call: {the longest gap, [{begin, end}] of each long one, in microseconds}.
phase() ->
    R = make_ref(),
    ?MODULE ! {take, self(), R},
    receive
        {R, #{longest := Longest, gaps := Gaps}} -> {Longest, Gaps}
    end.

%% The clock of core_stalls.c.
now_us() -> os:system_time(microsecond).

%% ---- What a profiler has left ----

%% Cheap queries first: names of modules and processes; only if there are none, the patterns and the flags of some
%% processes.
ours() ->
    case {[M || M <- erlang:loaded(), kprof(M)], [P || P <- registered(), kprof(P)]} of
        {[], []} -> traced();
        {Modules, Processes} -> #{modules => Modules, processes => Processes}
    end.

traced() ->
    Patterns = [{F, What} || F <- [request, parse, store, format], What <- [traced, call_count], set(erlang:trace_info({?MODULE, F, 1}, What))],
    Flags = [P || P <- [new_processes | sampled()], {flags, [_ | _]} <- [erlang:trace_info(P, flags)]],
    #{patterns => Patterns, flags => length(Flags), sessions => sessions()}.

set({_, Is}) -> Is =/= false andalso Is =/= undefined.

sampled() -> lists:append([some_of(get_all(Kind)) || Kind <- [workers, connections, servers, idle]]).
some_of({}) -> [];
some_of(Pids) -> [element(rand:uniform(tuple_size(Pids)), Pids) || _ <- lists:seq(1, ?SAMPLED)].

%% The end of a session removes its flags and patterns.
sessions() ->
    case erlang:function_exported(trace, session_info, 1) of
        true -> length([S || {Name, _} = S <- apply(trace, session_info, [all]), Name =/= legacy]);
        false -> 0
    end.

kprof(Name) -> lists:prefix("kprof_", atom_to_list(Name)).

%% -> clean, or what is left after this time
until_clean(Ms) -> until_clean_at(now_us() + Ms * 1000).

until_clean_at(End) ->
    case ours() of
        #{patterns := [], flags := 0, sessions := 0} -> clean;
        Left ->
            case now_us() > End of
                true -> Left;
                false -> receive after ?LOOK_MS -> until_clean_at(End) end
            end
    end.
