%% The load of `make survive`: everything that could be a problem for a tracer, all at once. It runs until the node
%% ends. Requests pass through several processes; each answer is checked and counted. Nothing here calls trace
%% functions.
-module(survive_load).
-behaviour(gen_server).
-export([start/0, reload/0, hang/2, settle/1, errors/0, left/1, ours/1, dirty/0, figures/0]).
-export([request/1, parse/1, front/1, work/1, store/2, format/1, number/1, throwing/1]). % tiers
-export([client/1, poller/2, reader/1, hasher/0, collector/0, births/0, linked/0, ports/0, sleeper/2, wake/2, loader/1, timers/0, spinner/0, worker/0, idler/1, long_queue/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, log/2]).

-define(WORKERS, 4).
-define(CLIENTS, 6).
-define(ASKED, 1). % counters
-define(ANSWERED, 2).
-define(WRONG, 3).
-define(PAUSED, 4).
-define(SETTLE_LOOK_MS, 20).

%% ---- start

start() ->
    Self = self(),
    Owner = spawn(fun() -> own(Self) end),
    receive {Owner, ready} -> erlang:system_info(process_count) end.

%% Owns tables and servers, so that they do not depend on the caller of start/0.
own(Starter) ->
    register(survive_owner, self()),
    ets:new(survive_errors, [named_table, public, ordered_set]),
    ets:new(survive_store, [named_table, public, {write_concurrency, true}]),
    persistent_term:put(?MODULE, counters:new(4, [])),
    ok = logger:add_handler(?MODULE, ?MODULE, #{level => warning}),
    _ = logger:remove_handler(default),
    modules(),
    {ok, _} = gen_server:start_link({local, survive_front}, ?MODULE, [], []),
    [register(worker_name(I), spawn_link(?MODULE, worker, [])) || I <- lists:seq(1, ?WORKERS)],
    [spawn(F) || F <- crowd()],
    [spawn(?MODULE, client, [I]) || I <- lists:seq(1, ?CLIENTS)],
    Starter ! {self(), ready},
    receive never -> ok end.

%% Several monitors query the queues and memory of all processes at the same time, as observer_cli, recon and RabbitMQ
%% do.
crowd() ->
    Items = [
        message_queue_len, memory, total_heap_size, messages, all,
        [registered_name, initial_call, memory, reductions, message_queue_len, current_function, dictionary, links]
    ],
    lists:append([
        [fun() -> poller(Item, 15) end || Item <- Items],
        [fun() -> poller(message_queue_len, 4) end],
        copies(300, fun() -> idler(1 + erlang:unique_integer([positive]) rem 50) end),
        copies(8, fun() -> reader("/etc/hosts") end),
        copies(2, fun hasher/0),
        copies(2, fun collector/0),
        copies(2, fun births/0),
        copies(2, fun ports/0),
        copies(8, fun() -> sleeper(0, heap(20000)) end),
        copies(3, fun timers/0),
        copies(2, fun long_queue/0),
        copies(3, fun spinner/0),
        [fun() -> loader(0) end]
    ]).

copies(N, F) -> [F || _ <- lists:seq(1, N)].

heap(N) -> lists:seq(1, N).

pause(Ms) -> receive after Ms -> ok end.

now_us() -> erlang:monotonic_time(microsecond).

%% It has worked from Began until now; pauses N times as long. So the load never needs more time than a slow machine
%% has.
rest(Began, Times) -> pause(1 + min(1000, Times * (now_us() - Began) div 1000)).

%% ---- requests: client -> parse; front (a gen_server) -> worker -> caller of front; another process formats

client(N) ->
    C = persistent_term:get(?MODULE),
    case counters:get(C, ?PAUSED) of
        0 ->
            one(C, op(N), N),
            pause(1 + N rem 4);
        _ ->
            pause(5)
    end,
    client(N + ?CLIENTS).

one(C, Op, N) ->
    counters:add(C, ?ASKED, 1),
    try ?MODULE:request({Op, N}) of
        {ok, N, _} -> counters:add(C, ?ANSWERED, 1);
        _ -> wrong(C)
    catch
        _:_ -> wrong(C)
    end.

%% Slow requests, at the same time; the worker that serves one sleeps. Others wait behind them.
hang(Times, Ms) ->
    C = persistent_term:get(?MODULE),
    length([spawn(fun() -> one(C, {hang, Ms}, N) end) || N <- lists:seq(1, Times)]).

wrong(C) ->
    counters:add(C, ?WRONG, 1),
    counters:add(C, ?ANSWERED, 1).

op(N) -> element(1 + N rem 4, {create, read, update, delete}).

request({_, N} = X) ->
    P = ?MODULE:parse(X),
    N = gen_server:call(survive_front, {work, P}, infinity),
    _ = (catch ?MODULE:throwing(N)),
    {ok, N, formatted(N)}.

parse({Op, N}) ->
    _ = reloaded:work(N),
    ?MODULE:store(Op, N),
    {Op, N}.

store(Op, N) ->
    true = ets:insert(survive_store, {N rem 100, Op, N}),
    _ = ets:lookup(survive_store, N rem 97),
    N.

front(N) -> lists:nth(1 + N rem ?WORKERS, [worker_name(I) || I <- lists:seq(1, ?WORKERS)]).

work({_, N}) -> ?MODULE:number(N).

number(N) -> N + 0.

throwing(N) when N rem 7 =:= 0 -> throw({seven, N});
throwing(N) -> N.

format(N) -> integer_to_binary(N).

formatted(N) ->
    Self = self(),
    Ref = make_ref(),
    spawn(fun() -> Self ! {Ref, ?MODULE:format(N)} end),
    receive {Ref, Text} -> Text end.

worker_name(I) -> element(I, {survive_worker_1, survive_worker_2, survive_worker_3, survive_worker_4}).

worker() ->
    receive
        {work, From, {Op, N} = X} ->
            pause(case Op of {hang, Ms} -> Ms; _ -> 0 end),
            N rem 20 =:= 0 andalso prim_file:read_file_info("/tmp"),
            gen_server:reply(From, ?MODULE:work(X))
    end,
    ?MODULE:worker().

init([]) -> {ok, heap(5000)}.

handle_call({work, {_, N} = P}, From, S) ->
    ?MODULE:front(N) ! {work, From, P},
    {noreply, S}.

handle_cast(_, S) -> {noreply, S}.
handle_info(_, S) -> {noreply, S}.

%% Clients pause until all requests are answered. -> #{asked, wrong} | #{missing} after Ms
settle(Ms) ->
    C = persistent_term:get(?MODULE),
    counters:put(C, ?PAUSED, 1),
    Told = settled(C, erlang:monotonic_time(millisecond) + Ms),
    counters:put(C, ?PAUSED, 0),
    Told.

settled(C, End) ->
    Answered = counters:get(C, ?ANSWERED), % read before `asked`, so it is never larger
    case counters:get(C, ?ASKED) - Answered of
        0 ->
            #{asked => Answered, wrong => counters:get(C, ?WRONG), missing => 0};
        Missing ->
            case erlang:monotonic_time(millisecond) > End of
                true -> #{asked => Answered + Missing, wrong => counters:get(C, ?WRONG), missing => Missing};
                false -> pause(?SETTLE_LOOK_MS), settled(C, End)
            end
    end.

%% ---- other processes

poller(Item, Times) ->
    Began = now_us(),
    [asked(P, Item) || P <- processes(), P =/= self()],
    rest(Began, Times),
    ?MODULE:poller(Item, Times).

asked(P, all) -> process_info(P);
asked(P, Item) -> process_info(P, Item).

%% Most of a node's processes: they have a heap, and wait.
idler(N) ->
    put(heap, heap(N * 10)),
    receive stop -> ok after 1000 + N * 50 -> ok end,
    idler(N).

%% Dirty IO.
reader(File) ->
    Began = now_us(),
    [prim_file:read_file_info("/tmp") || _ <- lists:seq(1, 20)],
    {ok, _} = prim_file:read_file(File),
    rest(Began, 8),
    ?MODULE:reader(File).

%% Dirty CPU: crypto if it is installed, and functions that the VM has for its own tests.
hasher() ->
    Began = now_us(),
    hash(dirty()),
    rest(Began, 10),
    ?MODULE:hasher().

hash(crypto) ->
    apply(crypto, pbkdf2_hmac, [sha256, <<"secret">>, <<"salt">>, 500, 32]),
    hash(debug);
hash(debug) ->
    erts_debug:dirty_cpu(wait, 1).

dirty() ->
    case persistent_term:get({?MODULE, dirty}, none) of
        none ->
            Has = try apply(crypto, pbkdf2_hmac, [sha256, <<"a">>, <<"b">>, 1, 8]) of _ -> crypto catch error:_ -> debug end,
            persistent_term:put({?MODULE, dirty}, Has),
            Has;
        Has ->
            Has
    end.

%% Heaps so large that a dirty scheduler collects them, by the process itself and on request of another.
collector() ->
    Began = now_us(),
    put(heap, heap(200000)),
    erlang:garbage_collect(),
    Other = spawn_link(fun() -> put(heap, heap(100000)), receive done -> ok end end),
    erlang:garbage_collect(Other),
    Other ! done,
    rest(Began, 20),
    ?MODULE:collector().

%% Bursts of short-lived processes, monitors, links and exit signals; processes are killed while on a dirty scheduler.
births() ->
    Began = now_us(),
    Storm = [spawn_monitor(fun() -> prim_file:read_file_info("/tmp"), exit({done, heap(9)}) end) || _ <- lists:seq(1, 20)],
    [receive {'DOWN', R, process, P, _} -> ok end || {P, R} <- Storm],
    Chain = spawn(?MODULE, linked, []),
    Reading = spawn(fun Read() -> prim_file:read_file_info("/tmp"), Read() end),
    Monitor = monitor(process, Chain),
    pause(3),
    exit(Reading, kill),
    exit(Chain, gone),
    receive {'DOWN', Monitor, process, _, _} -> ok end,
    rest(Began, 5),
    ?MODULE:births().

linked() ->
    [spawn_link(fun() -> receive never -> ok end end) || _ <- lists:seq(1, 5)],
    _ = spawn_opt(fun() -> receive never -> ok end end, [link, {message_queue_data, off_heap}, {fullsweep_after, 0}]),
    receive never -> ok end.

ports() ->
    Port = open_port({spawn_executable, "/bin/cat"}, [binary, stream]),
    [begin Port ! {self(), {command, <<"echo">>}}, receive {Port, {data, _}} -> ok end, pause(5) end || _ <- lists:seq(1, 20)],
    Port ! {self(), close},
    receive {Port, closed} -> ok end,
    ?MODULE:ports().

%% Hibernates with a large heap; a timer, a message or a signal wakes it.
sleeper(N, Heap) ->
    erlang:send_after(50 + N rem 100, self(), wake),
    proc_lib:hibernate(?MODULE, wake, [N, Heap]).

wake(N, Heap) ->
    receive wake -> ok end,
    _ = [X || X <- Heap, X > N],
    sleeper(N + 1, Heap).

%% Timers of all kinds; most are canceled.
timers() ->
    Began = now_us(),
    Refs = [erlang:start_timer(5 + I, self(), I) || I <- lists:seq(1, 50)],
    [erlang:cancel_timer(R) || R <- Refs],
    [receive {timeout, R, _} -> ok after 0 -> ok end || R <- Refs],
    rest(Began, 10),
    ?MODULE:timers().

%% Always uses its full time slice, so that queried processes must wait for a scheduler.
%% Hundreds of events of the VM in a second: a session that reports them ends among them.
long_queue() ->
    P = spawn(fun() -> receive never -> ok end end),
    [P ! N || N <- lists:seq(1, 1001)],
    exit(P, kill),
    receive after rand:uniform(6) -> long_queue() end.

spinner() ->
    Began = now_us(),
    [lists:foldl(fun(X, A) -> X + A end, 0, lists:seq(1, 20000)) || _ <- lists:seq(1, 4)],
    rest(Began, 8),
    ?MODULE:spinner().

%% ---- modules that are loaded and unloaded

%% Two versions of each of three modules, compiled here.
modules() -> persistent_term:put({?MODULE, beams}, [{M, [compiled(M, V) || V <- [1, 2]]} || M <- [survive_m1, survive_m2, survive_m3]]).

compiled(M, V) ->
    A = erl_anno:new(1),
    Body = [{clause, A, [{var, A, 'X'}], [], [{tuple, A, [{integer, A, V}, {var, A, 'X'}, erl_parse:abstract(lists:duplicate(20, {literal, V}))]}]}],
    {ok, M, Beam} = compile:forms([{attribute, A, module, M}, {attribute, A, export, [{value, 1}]}, {function, A, value, 1, Body}], [deterministic]),
    Beam.

%% One at a time, in turn, purged in one of two ways; sometimes the module of the tier reloaded:work/1.
loader(N) ->
    Modules = persistent_term:get({?MODULE, beams}),
    {M, Beams} = lists:nth(1 + N rem length(Modules), Modules),
    V = 1 + (N div length(Modules)) rem length(Beams),
    {module, M} = code:load_binary(M, "", lists:nth(V, Beams)),
    {V, N, _} = M:value(N),
    purged(M, N),
    N rem 15 =:= 0 andalso reload(),
    pause(200),
    ?MODULE:loader(N + 1).

%% reloaded:reload/0 runs in its own module: of two such processes, one kills the other. This one kills no process.
reload() -> global:trans({survive_reload, self()}, fun() -> reload_now() end, [node()]).

reload_now() ->
    case code:soft_purge(reloaded) of
        true ->
            {reloaded, Beam, File} = code:get_object_code(reloaded),
            {module, reloaded} = code:load_binary(reloaded, File, Beam),
            true;
        false ->
            pause(1),
            reload_now()
    end.

purged(M, N) when N rem 2 =:= 0 -> code:soft_purge(M) orelse code:purge(M);
purged(M, N) when N rem 6 =:= 1 -> code:purge(M), code:delete(M), code:purge(M);
purged(M, _) -> code:purge(M).

%% ---- the state of the node

%% A logger handler that stores warnings and errors.
log(#{level := Level, msg := Msg}, _) ->
    Text = case Msg of
        {report, R} -> io_lib:format("~0tP", [R, 60]);
        {string, S} -> S;
        {F, Args} -> io_lib:format(F, Args)
    end,
    catch ets:insert(survive_errors, {erlang:monotonic_time(), Level, unicode:characters_to_binary(Text)}),
    ok.

%% Returns and empties the error log.
errors() ->
    All = ets:tab2list(survive_errors),
    [ets:delete(survive_errors, At) || {At, _, _} <- All],
    [<<(atom_to_binary(L))/binary, ": ", (binary:part(T, 0, min(800, byte_size(T))))/binary>> || {_, L, T} <- All].

figures() -> #{erts => list_to_binary(erlang:system_info(version)), processes => erlang:system_info(process_count), memory => erlang:memory(total), atoms => erlang:system_info(atom_count)}.

%% What a profiler has left on the node. quick: without queries of processes or functions, for polling; all: called
%% once, when quick is empty.
left(quick) ->
    [N || N <- registered(), ours(N)] ++ [M || {M, _} <- code:all_loaded(), ours(M)] ++ sessions() ++
        [{control_word, W} || W <- [erlang:system_info(trace_control_word)], W =/= 0] ++
        [{new_processes, F} || {flags, [_ | _] = F} <- [erlang:trace_info(new_processes, flags)]];
left(all) ->
    [{flags, P, F} || P <- processes(), {flags, [_ | _] = F} <- [erlang:trace_info(P, flags)]] ++
        [{MFA, traced} || MFA <- functions(), {traced, T} <- [erlang:trace_info(MFA, traced)], T =:= local orelse T =:= global] ++
        [{MFA, call_count} || MFA <- functions(), {call_count, C} <- [erlang:trace_info(MFA, call_count)], is_integer(C)] ++
        [{{?MODULE, F, A}, call_time} || {F, A} <- ?MODULE:module_info(exports), {call_time, T} <- [erlang:trace_info({?MODULE, F, A}, call_time)], is_list(T)] ++
        [{on, E} || E <- [send, 'receive'], {match_spec, S} <- [erlang:trace_info(E, match_spec)], S =/= true].

ours(Name) -> lists:prefix("kprof_", atom_to_list(Name)).

functions() -> [{M, F, A} || {M, _} <- code:all_loaded(), M =/= erlang, {F, A} <- exports(M)].

%% A module may be unloaded between two calls.
exports(M) -> try M:module_info(functions) catch _:_ -> [] end.

sessions() ->
    case list_to_integer(erlang:system_info(otp_release)) >= 27 of
        true ->
            {module, trace} = code:ensure_loaded(trace),
            [{session, S} || {S, _} <- apply(trace, session_info, [all]), S =/= legacy];
        false ->
            []
    end.
