%% A node with known behaviour, for stack samples: f/1 uses CPU and is called from g/0 and h/0 at two to one; one
%% process holds many binaries, one has a growing queue, one waits, many are idle. Loaded on the target. Runs on OTP
%% 25 and later.
-module(agent_burn).
-export([start/2, stop/1, pids/2, burn/1, hoard/2, growing/0, feed/1, waits/0, idle/0, f/1, keeper/3, sized/2]).

-define(LOOP, 40000). % about ten time slices

%% -> a process; when it ends, all others end.
start(Burners, Idle) ->
    {Keeper, Ref} = spawn_monitor(?MODULE, keeper, [self(), Burners, Idle]),
    receive
        {started, Keeper} -> erlang:demonitor(Ref, [flush]), Keeper;
        {'DOWN', Ref, _, _, Why} -> error(Why)
    end.

stop(Keeper) ->
    Ref = erlang:monitor(process, Keeper),
    exit(Keeper, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end.

%% The processes of a kind: burn, hoard, queue, wait, idle.
pids(Keeper, Kind) ->
    Keeper ! {pids, Kind, self()},
    receive {pids, Kind, Pids} -> Pids end.

keeper(From, Burners, Idle) ->
    Queue = spawn_link(?MODULE, growing, []),
    spawn_link(?MODULE, feed, [Queue]),
    Kinds = #{
        burn => [spawn_link(?MODULE, burn, [0]) || _ <- lists:seq(1, Burners)],
        hoard => [spawn_link(?MODULE, hoard, [[], 0])],
        queue => [Queue],
        wait => [spawn_link(?MODULE, waits, [])],
        idle => [spawn_link(?MODULE, idle, []) || _ <- lists:seq(1, Idle)]
    },
    From ! {started, self()},
    keep(Kinds).

keep(Kinds) ->
    receive
        {pids, Kind, From} ->
            From ! {pids, Kind, maps:get(Kind, Kinds)},
            keep(Kinds)
    end.

burn(N) ->
    A = g(),
    B = g(),
    C = h(),
    ?MODULE:burn((N + A + B + C) band 1023).

g() -> 1 + f(?LOOP).
h() -> 2 + f(?LOOP).

f(0) -> 0;
f(N) -> f(N - 1).

%% Adds 20,000 bytes every 20 ms; after 2,000 times all are freed.
hoard(_, 2000) -> hoard([], 0);
hoard(Held, N) ->
    receive after 20 -> hoard([binary:copy(<<N:32>>, 5000) | Held], N + 1) end.

growing() -> receive never_sent -> ok end.

feed(To) ->
    To ! {a, message},
    receive after 10 -> feed(To) end.

waits() -> receive waited_for -> ok end.

idle() ->
    receive _ -> idle() after 500 -> idle() end.

%% A process with a heap of this many words, and its messages on or off the heap.
sized(Words, Queue) ->
    Self = self(),
    P = spawn(fun() ->
        process_flag(message_queue_data, Queue),
        L = lists:seq(1, Words div 2),
        Self ! {sized, self()},
        receive {stop, X} -> X ! L end
    end),
    receive {sized, P} -> P end.
