%% What the relay shares with its pacer and the controller.
%% The counters that the relay writes and the controller reads: an atomics array, so that neither waits for the other. It outlives
%% a relay that is killed: the next one continues it.
-define(SEQ, 1). % batches sent
-define(SENT, 2). % events
-define(DROPPED, 3). % events
-define(QUEUE, 4). % messages that wait for the relay
-define(MEMORY, 5). % bytes of the relay
-define(RUN_NS, 6). % that the relay has worked
-define(NOTED, 7). % how often the relay has written these
-define(CUT_AT, 8). % when (ms) the controller cut sampling last: the one that it writes
-define(COUNTERS, 8).

-define(TICK_MS, 10). % the relay is woken at least so often
-define(MOST_SAMPLED, 150000). % calls a second that toss and win, more than the relay can take
