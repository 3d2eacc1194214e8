%% Shared between relay, pacer and controller: the relay writes these counters and the controller reads them, in an atomics
%% array, so that neither waits for the other. It outlives a relay that is killed: the next one continues it.
-define(SEQ, 1). % batches sent
-define(SENT, 2). % events
-define(DROPPED, 3). % events
-define(QUEUE, 4). % messages in the queue of the relay
-define(MEMORY, 5). % memory of the relay in bytes
-define(RUN_NS, 6). % run time of the relay
-define(NOTED, 7). % number of updates of these counters
-define(CUT_AT, 8). % when (ms) the controller last cut sampling; the controller writes this one
-define(DETAIL, 9). % events of requests that are followed in detail, sent or not
-define(POLLS, 10). % polls of processes in which requests hang; the processes that poll write this one
-define(HELPED_NS, 11). % run time of the process that helps with detailed requests
-define(READ, 12). % events that were read while the breaker was closed: sent, held or dropped
-define(WEIGHTED, 13). % sum of their weights
-define(ENTRIES, 14). % sum of the weights of calls of counted functions while tracing is on for a part of the time
-define(READING_NS, 15). % the part of ?HELPED_NS in which files of modules were read
-define(BEYOND, 16). % requests beyond the limit of bursts; the pacer writes this one and the next
-define(BEYOND_EVENTS, 17). % the events that they would have made
-define(CUT_CODE, 18). % of the cut in the control word, which the pacer keeps; 0: none is kept. The controller writes this one
-define(COPIED, 19). % words of return values, which the VM has copied (full returns)
-define(COUNTERS, 19).

-define(TICK_MS, 10). % maximum time until the relay is resumed
-define(MOST_SAMPLED, 150000). % the relay cannot process more sampled calls per second than this
