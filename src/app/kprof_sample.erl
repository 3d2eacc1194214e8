%% The bundled sample node: a small key-value server under load. It is used by --demo, as the load of screenshots and
%% benchmarks, and as a workload with known counts for tests. It does not depend on kprof-top.
%% Path of a request: the pacer sends a line to a worker of the front pool; handle/1 parses it, sends a message to one
%% of the db workers (like a network hop) and another to the accounting process, and formats the answer.
%%
%%   tier        function                     runs in
%%   handle      kprof_sample:handle/1        front worker; the entry: all others are inside it
%%   parsing     kprof_sample:parsing/1       front worker
%%   db          kprof_sample:db/2            front worker, waiting for a db worker; argument 1 is the operation
%%   accounting  kprof_sample:accounting/2    accounting process; for reads after the answer was sent (late work)
%%   formatter   kprof_sample:formatter/1     front worker
%%   db_exec     kprof_sample:db_exec/2       db worker; not a tier of the demo, but can be added
%% Identity rule: kprof_sample:db/2 arg(1). Duration of db_exec/2:
%%   create  2 ms plus an exponential tail, mean 1 ms        update  1 to 3 ms, uniformly
%%   read    0.2 ms (4 in 5: cached) or 4 ms                 delete  1 ms
%%   one call in 500 takes 60 to 120 ms; one in 200 raises. Timers of the VM have a resolution of 1 ms, so waits
%%   of 1 ms and less are busy loops.
%%
%% Troubles (--demo-trouble), each at a place where such a fault is common:
%%   queue  accounting/2 takes so long that its process is always busy: all but reads wait for it
%%   lock   accounting/2 runs in the front worker, behind a lock: one at a time
%%   gc     formatter/1 collects garbage again and again for one update in three, in a process with a large heap
%%   dirty  db/2 reads a file itself for one update in three: a dirty job
%%   runq   processes that only burn CPU time, so all others wait for a scheduler
%%
%% Started as: erl -noinput -name ... -pa DIR -kprof_parent OS_PID -s kprof_sample start RATE [DB_WORKERS [TROUBLE]]
%% It prints "ready", and ends when the process OS_PID has ended.
-module(kprof_sample).
-export([start/0, start/1, stop/0, run_exact/1, big_state/1]).
-export([handle/1, parsing/1, formatter/1, db/2, db_exec/2, accounting/2, handle_big/2]).

-define(OPS, [create, read, update, delete]).
-define(KEYS, 1000).
-define(CACHE, kprof_sample_cache).
-define(SHARED, kprof_sample_shared).
-define(IN_FLIGHT_MAX, 2000).
-define(IN_FLIGHT_TROUBLE, 40). % so that requests wait for less than a second
-define(HEAP_WORDS, 200000). % of a front worker, trouble gc
-define(FILE_BYTES, (6 * 1024 * 1024)). % trouble dirty
-define(BURNERS, 8). % per scheduler, trouble runq
-define(BURN, 10).
-define(SPIN_MAX_US, 1000).

%% ---- start, stop

start() ->
    start(["200"]).

start([Rate]) ->
    start([Rate, default]);
start([Rate, Workers]) ->
    start([Rate, Workers, none]);
start([Rate0, Workers0, Trouble]) ->
    Rate = number(Rate0),
    Workers = case Workers0 of
        default -> between(8, Rate div 25, 512);
        _ -> between(1, number(Workers0), 4096)
    end,
    watch_parent(),
    Opts = #{trouble => Trouble, odd => Trouble =:= none, busy_us => 1400000 div Rate},
    setup(Opts#{db => Workers, spin => Rate =< 2000}, fun() ->
        Front = spawn_pool(between(16, Rate div 10, 1024), fun front_init/1),
        Burners = case Trouble of runq -> ?BURNERS * erlang:system_info(schedulers_online); _ -> 0 end,
        [spawn_link(fun() -> burn(lists:seq(1, ?BURN), lists:seq(1, ?BURN)) end) || _ <- lists:seq(1, Burners)],
        spawn_link(fun() -> register(kprof_sample_pacer, self()), pacer(Rate, Front, counters:new(1, [])) end)
    end),
    io:put_chars("ready\n").

stop() ->
    case whereis(kprof_sample_owner) of
        undefined ->
            ok;
        Owner ->
            exit(Owner, kill), % and all processes that are linked to it
            gone([kprof_sample_owner, kprof_sample_accounting, kprof_sample_pacer]),
            persistent_term:erase(?SHARED),
            ok
    end.

gone(Names) ->
    case lists:all(fun(N) -> whereis(N) =:= undefined end, Names) of
        true -> ok;
        false -> receive after 1 -> gone(Names) end
    end.

number(A) when is_atom(A) -> number(atom_to_list(A));
number(L) when is_list(L) -> between(1, list_to_integer(L), 100000);
number(I) when is_integer(I) -> between(1, I, 100000).

between(Low, X, _) when X < Low -> Low;
between(_, X, High) when X > High -> High;
between(_, X, _) -> X.

%% The owner creates the table, the db pool and the accounting process; then calls More. Shared values are in a
%% persistent term.
setup(Opts, More) ->
    Self = self(),
    Owner = spawn(fun() -> own(Opts, More), Self ! {self(), ready}, receive stop -> ok end end),
    Ref = monitor(process, Owner),
    receive
        {Owner, ready} -> demonitor(Ref, [flush]), ok;
        {'DOWN', Ref, _, _, Why} -> error(Why)
    end.

own(#{db := Workers} = Opts, More) ->
    register(kprof_sample_owner, self()),
    ets:new(?CACHE, [named_table, public, {read_concurrency, true}]),
    [ets:insert(?CACHE, {key(I), <<"v">>}) || I <- lists:seq(1, ?KEYS)],
    Acc = spawn_link(fun() -> register(kprof_sample_accounting, self()), accounting_loop(0) end),
    Lock = spawn_link(fun() -> register(kprof_sample_lock, self()), lock_loop() end),
    persistent_term:put(?SHARED, Opts#{db => spawn_pool(Workers, fun db_init/1), next => counters:new(1, []),
                                       accounting => Acc, lock => Lock}),
    More().

shared() ->
    persistent_term:get(?SHARED, #{}).

spawn_pool(N, Init) ->
    list_to_tuple([spawn_link(fun() -> Init(I) end) || I <- lists:seq(1, N)]).

%% Each process has its own seed, the same in every run.
seed(Kind, I) ->
    rand:seed(exsplus, {Kind, I, 20261}).

%% The demo ends when the process that started it has ended, in any way. This needs /proc.
watch_parent() ->
    case {init:get_argument(kprof_parent), file:read_file_info("/proc/self")} of
        {{ok, [[Pid | _] | _]}, {ok, _}} -> spawn(fun() -> watch(Pid, born(Pid)) end);
        _ -> none
    end.

watch(_, gone) ->
    clear(code:which(?MODULE)),
    erlang:halt(0);
watch(Pid, Born) ->
    receive after 1000 -> ok end,
    case born(Pid) of
        Born -> watch(Pid, Born);
        _ -> watch(Pid, gone)
    end.

%% Removes the directory, because the process that should remove it has ended.
clear(File) when is_list(File) ->
    Dir = filename:dirname(File),
    case filename:basename(Dir) of
        "kprof-demo-" ++ _ ->
            [file:delete(F) || F <- [File, filename:join(Dir, ".erlang.cookie")]],
            file:del_dir(Dir);
        _ -> ok
    end;
clear(_) ->
    ok.

%% The start time of the process, because OS pids are reused. proc(5): field 22; field 2 may contain blanks.
born(Pid) ->
    case file:read_file("/proc/" ++ Pid ++ "/stat") of
        {ok, Stat} ->
            Fields = string:lexemes(lists:last(binary:split(Stat, <<")">>, [global])), " "),
            case Fields of
                [<<"Z">> | _] -> gone;
                _ -> lists:nth(20, Fields)
            end;
        _ ->
            gone
    end.

%% ---- load

%% Sends requests by the clock, whether earlier ones were answered or not: an open load.
pacer(Rate, Front, Counter) ->
    seed(1, 1),
    pacer(Rate, Front, Counter, erlang:monotonic_time(microsecond), 0).

pacer(Rate, Front, Counter, Begun, Sent) ->
    Due = (erlang:monotonic_time(microsecond) - Begun) * Rate div 1000000,
    [offer(Front, Counter, I) || I <- lists:seq(Sent + 1, Due)],
    receive after 1 -> ok end,
    pacer(Rate, Front, Counter, Begun, max(Sent, Due)).

offer(Front, Counter, I) ->
    Most = case trouble() of none -> ?IN_FLIGHT_MAX; _ -> ?IN_FLIGHT_TROUBLE end,
    case counters:get(Counter, 1) < Most of
        true ->
            counters:add(Counter, 1, 1),
            Op = lists:nth(rand:uniform(4), ?OPS),
            element(1 + I rem tuple_size(Front), Front) ! {request, line(Op, rand:uniform(?KEYS)), Counter};
        false ->
            shed
    end.

line(create, K) -> <<"CREATE ", (key(K))/binary, " value">>;
line(read, K) -> <<"READ ", (key(K))/binary>>;
line(update, K) -> <<"UPDATE ", (key(K))/binary, " other">>;
line(delete, K) -> <<"DELETE ", (key(K))/binary>>.

key(I) -> <<"key", (integer_to_binary(I))/binary>>.

front_init(I) ->
    seed(2, I),
    front_ready(trouble(), I).

%% The pool is made after the shared values are set. Each collection copies all live data.
front_ready(gc, I) ->
    put(live, lists:seq(I, I + ?HEAP_WORDS div 2)), % two words per element
    front_loop();
front_ready(_, _) ->
    front_loop().

front_loop() ->
    receive
        {request, Line, Counter} ->
            try ?MODULE:handle(Line) of
                {reply, _} -> ok
            catch
                error:db_failed -> ok
            end,
            counters:sub(Counter, 1, 1),
            front_loop()
    end.

%% ---- the tiers

handle(Line) ->
    {Op, Key, Value} = parsing(Line),
    Result = db(Op, {Key, Value}),
    book(Op, Key),
    {reply, formatter(report(trouble(), Op, Result))}.

parsing(Line) ->
    wait_us(20),
    case binary:split(Line, <<" ">>, [global]) of
        [<<"CREATE">>, K, V] -> {create, K, V};
        [<<"READ">>, K] -> {read, K, none};
        [<<"UPDATE">>, K, V] -> {update, K, V};
        [<<"DELETE">>, K] -> {delete, K, none}
    end.

formatter({report, Result}) ->
    [begin _ = lists:seq(1, 1000), erlang:garbage_collect() end || _ <- lists:seq(1, 48)],
    formatter(Result);

formatter(Result) ->
    wait_us(30),
    iolist_to_binary(io_lib:format("~0p~n", [Result])).

%% One update in three.
report(gc, update, Result) -> case rand:uniform(3) of 1 -> {report, Result}; _ -> Result end;
report(_, _, Result) -> Result.

%% The client side of the db: one message to the worker, one back.
db(Op, Arg) ->
    trouble() =:= dirty andalso Op =:= update andalso rand:uniform(3) =:= 1 andalso read_file(),
    #{db := Pool, next := Next} = shared(),
    counters:add(Next, 1, 1),
    Worker = element(1 + counters:get(Next, 1) rem tuple_size(Pool), Pool),
    Ref = make_ref(),
    Worker ! {exec, self(), Ref, Op, Arg},
    receive
        {Ref, {ok, Result}} -> Result;
        {Ref, failed} -> error(db_failed)
    end.

%% Reading is a job of a dirty scheduler.
read_file() ->
    {ok, File} = file:open("/dev/urandom", [read, raw, binary]),
    {ok, _} = file:read(File, ?FILE_BYTES),
    ok = file:close(File).

db_init(I) ->
    seed(3, I),
    db_loop().

db_loop() ->
    receive
        {exec, From, Ref, Op, Arg} ->
            Answer = try {ok, ?MODULE:db_exec(Op, Arg)} catch error:disk -> failed end,
            From ! {Ref, Answer},
            db_loop()
    end.

db_exec(Op, {Key, Value}) ->
    case shared() of
        #{odd := true} ->
            rand:uniform(200) =:= 1 andalso error(disk),
            rand:uniform(500) =:= 1 andalso wait_us(60000 + rand:uniform(60000));
        _ ->
            ok
    end,
    wait_us(takes_us(Op)),
    store(Op, Key, Value).

takes_us(create) -> 2000 + round(-1000 * math:log(rand:uniform()));
takes_us(read) -> case rand:uniform(5) of 1 -> 4000; _ -> 200 end;
takes_us(update) -> 1000 + rand:uniform(2000);
takes_us(delete) -> 1000.

store(read, Key, _) -> ets:lookup(?CACHE, Key);
store(delete, Key, _) -> ets:delete(?CACHE, Key);
store(_, Key, Value) -> ets:insert(?CACHE, {Key, Value}).

%% Reads do not wait for the accounting process; the others wait for it before they answer.
book(Op, Key) ->
    case trouble() of
        lock when Op =/= read -> locked(fun() -> ?MODULE:accounting(Op, Key) end);
        _ -> send_book(Op, Key)
    end.

send_book(read, Key) ->
    maps:get(accounting, shared()) ! {book, none, none, read, Key},
    ok;
send_book(Op, Key) ->
    Ref = make_ref(),
    maps:get(accounting, shared()) ! {book, self(), Ref, Op, Key},
    receive {Ref, Booked} -> Booked end.

accounting_loop(Sum) ->
    receive
        {book, From, Ref, Op, Key} ->
            Units = ?MODULE:accounting(Op, Key),
            is_pid(From) andalso (From ! {Ref, Units}),
            accounting_loop((Sum + Units) band 16#ffffff);
        {sync, From, Ref} ->
            From ! Ref,
            accounting_loop(Sum)
    end.

accounting(Op, Key) ->
    wait_us(case shared() of
        #{trouble := queue, busy_us := Busy} -> Busy;
        #{trouble := lock, busy_us := Busy} when Op =/= read -> Busy;
        _ -> 15
    end),
    byte_size(Key) + case Op of read -> 1; _ -> 2 end.

%% ---- troubles

trouble() ->
    maps:get(trouble, shared(), none).

%% No other process runs a locked fun at the same time.
locked(Fun) ->
    Ref = make_ref(),
    Lock = maps:get(lock, shared()),
    Lock ! {take, self(), Ref},
    receive {Ref, taken} -> ok end,
    try Fun() after Lock ! {give, Ref} end.

lock_loop() ->
    receive
        {take, From, Ref} ->
            From ! {Ref, taken},
            receive {give, Ref} -> ok end,
            lock_loop()
    end.

%% A comparison of long lists counts as little work, so a burner runs for about a millisecond at a time.
burn(A, B) ->
    true = A =:= B,
    burn(A, B).

%% ---- waiting

%% At least Us. A short wait is a busy loop, because timers are coarser; not under a load where that would use too
%% much CPU.
wait_us(Us) when Us > ?SPIN_MAX_US ->
    receive after Us div 1000 -> ok end;
wait_us(Us) ->
    case shared() of
        #{spin := true} -> spin(erlang:monotonic_time(microsecond) + Us);
        _ when Us < 100 -> ok;
        _ -> receive after 1 -> ok end
    end.

spin(Until) ->
    case erlang:monotonic_time(microsecond) < Until of
        true -> spin(Until);
        false -> ok
    end.

%% ---- known counts, for tests

%% run_exact(#{create => K, read => K, update => K, delete => K, rate => PerSecond}): makes exactly this many requests
%% of each operation and returns #{Op => [LatencyMicroseconds]}, measured around handle/1. No exceptions, no slow calls.
run_exact(Options) ->
    Rate = maps:get(rate, Options, 500),
    stop(),
    setup(#{db => 64, odd => false, spin => true, trouble => none, busy_us => 0}, fun() -> ok end),
    Lines = deal([{Op, maps:get(Op, Options, 0)} || Op <- ?OPS], 1),
    Self = self(),
    Begun = erlang:monotonic_time(microsecond),
    Pids = [begin
        until(Begun + I * 1000000 div Rate),
        spawn(fun() -> Self ! {self(), Op, timed(Line)} end)
    end || {I, {Op, Line}} <- lists:zip(lists:seq(1, length(Lines)), Lines)],
    Got = [receive {P, Op, Us} -> {Op, Us} end || P <- Pids],
    until_idle(),
    stop(),
    maps:from_list([{Op, [Us || {O, Us} <- Got, O =:= Op]} || Op <- ?OPS]).

%% One request of each remaining operation per round.
deal(Left, I) ->
    case [{Op, N} || {Op, N} <- Left, N > 0] of
        [] -> [];
        Some -> [{Op, line(Op, 1 + I rem ?KEYS)} || {Op, _} <- Some] ++ deal([{Op, N - 1} || {Op, N} <- Some], I + 1)
    end.

until(At) ->
    case At - erlang:monotonic_time(microsecond) of
        Left when Left > 0 -> receive after max(1, Left div 1000) -> ok end;
        _ -> ok
    end.

timed(Line) ->
    T0 = erlang:monotonic_time(nanosecond),
    {reply, _} = ?MODULE:handle(Line),
    (erlang:monotonic_time(nanosecond) - T0) / 1000.

%% When the accounting process answers, it has processed all earlier messages.
until_idle() ->
    Ref = make_ref(),
    maps:get(accounting, shared()) ! {sync, self(), Ref},
    receive Ref -> ok end.

%% ---- a server with a large state, for benchmarks

%% big_state(#{rate => CallsPerSecond | max, ms => Duration, words => StateWords}): calls handle_big/2, which returns
%% its state like a callback of gen_server, and returns the number of calls.
big_state(Options) ->
    State = lists:seq(1, maps:get(words, Options, 25000) div 2), % two words per element
    Server = spawn(fun() -> big_loop(State) end),
    Begun = erlang:monotonic_time(microsecond),
    N = big_calls(Server, maps:get(rate, Options, 1000), Begun, Begun + 1000 * maps:get(ms, Options, 1000), 0),
    exit(Server, kill),
    N.

big_calls(Server, Rate, Begun, End, N) ->
    Now = erlang:monotonic_time(microsecond),
    if
        Now >= End -> N;
        Rate =/= max, N >= (Now - Begun) * Rate div 1000000 -> receive after 1 -> ok end, big_calls(Server, Rate, Begun, End, N);
        true ->
            Ref = make_ref(),
            Server ! {call, self(), Ref},
            receive {Ref, ok} -> ok end,
            big_calls(Server, Rate, Begun, End, N + 1)
    end.

big_loop(State) ->
    receive
        {call, From, Ref} ->
            {reply, Answer, Next} = ?MODULE:handle_big(get, State),
            From ! {Ref, Answer},
            big_loop(Next)
    end.

handle_big(get, State) ->
    {reply, ok, State}.
