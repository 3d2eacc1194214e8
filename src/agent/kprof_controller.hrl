%% The state of the controller: one process, whose functions are in kprof_controller, kprof_link, kprof_heartbeat,
%% kprof_tracing, kprof_tiers, kprof_limits, kprof_sampling, kprof_part_time, kprof_tier_rates, kprof_requests,
%% kprof_survey, kprof_stacks, kprof_stack_control, kprof_processes, kprof_full, kprof_full_control, kprof_vm_events,
%% kprof_idle_sessions and kprof_cleanup_plan. No other process uses it. Each part is a record, named after the source that changes it.
-define(PAUSE_MS, 10000). % tracing pauses after this time without a message from kprof-top,
-define(END_MS, 60000). % and the agent ends after this one
-define(COOL_MS, 5000).
-define(ADJUST_MS, 200).
-define(BEAT_MS, 500).
-define(BUSY_BEATS, 4). % so many heartbeats with a long run queue in a row stop what kprof-top does on the node

%% To kprof-top (kprof_link, kprof_heartbeat).
-record(link, {
    pid :: pid(), % of kprof-top
    node :: node() | undefined,
    key :: binary() | undefined, % requests contain it
    heard :: integer() | undefined, % time of the last message, monotonic ms
    pause_ms = ?PAUSE_MS :: pos_integer(),
    end_ms = ?END_MS :: pos_integer(),
    unauthorized = 0 :: non_neg_integer(), % requests without the key
    said_at = 1 :: pos_integer(), % number of them at which the next report is sent
    unsent = [] :: [tuple()], % messages that must arrive but could not be sent yet, newest first
    told_gap = 1 :: 0..3, % last reported reason why nothing is traced
    cpu :: kprof_node:cpu() | undefined % at the last heartbeat
}).

%% What is traced (kprof_tracing, kprof_tiers).
-record(tracing, {
    trace_config = #{tiers => [], entry => none, identity => none, returns => lean, sample => 1, args => false, detail => 0, mailbox => false} :: kprof_spec:trace_config(),
    specs = [] :: kprof_spec:compiled(), % of the tiers that get a pattern
    set = #{} :: kprof_patterns:set(), % patterns of the agent
    versions = #{} :: #{module() => binary()}, % of the modules of the tiers, as last read
    sessions = [] :: [term()], % all trace sessions, as last read (kprof_patterns:silent/3)
    wanted = false :: boolean(), % kprof-top has switched it on
    on = false :: boolean(), % patterns are set; flags are set, or a walker is setting them
    paused = none :: none | lease | overload | capture | slow_start, % slow_start: calls are counted before tracing begins
    reconnected = false :: boolean(), % kprof-top has reconnected after a lost connection
    walker = none :: none | pid(), % the process that sets flags of all processes now
    refused = #{} :: #{pid() => true}, % processes with another tracer, which walks leave out, since refused_ms
    refused_ms = 0 :: integer(),
    flagged = false :: boolean(), % since the last walk, `init` was seen to have the flags
    tokens = false :: boolean(), % requests had some
    slow_start = none :: none | reference() | interrupted, % its timer; interrupted: by a capture
    breaker_timer = none :: none | reference(), % of the breaker's next step
    count_timer = none :: none | reference() % of the counters' next step
}).

%% Sampling within the limits (kprof_limits).
-record(limits, {
    max = #{max_age_ms => 1000, max_queue => 100000, max_memory => 32 bsl 20, max_rate => 0, max_cost => 0, max_blocked_ms => 1000, part_ms => 0, part_assumed => 0, part_cost => 20000} ::
        #{atom() => non_neg_integer()},
    sample = 1 :: pos_integer(), % N that the limits require; at least that of the trace configuration
    why = none :: none | rate | cost | flood | copies | part_time, % which limit; tracing is on for a part of the time
    flooded = none :: none | integer(), % when (ms) a flood last cut sampling, or part time began
    ticket = none :: none | {integer(), non_neg_integer()}, % {Ms, Ticket} of the last evaluation
    ticket_rate = 0 :: non_neg_integer(), % calls per second that take a sampling decision
    calls = unknown :: unknown | pos_integer(), % traced calls of a sampled request
    said = {none, none} :: {none | rate | cost | flood | copies | part_time, none | integer()}, % the limit last reported, and when (ms)
    noted = 0 :: non_neg_integer(), % number of counter updates of the relay at the last evaluation
    evaluated :: undefined | kprof_limits:evaluated(), % of the last evaluation
    detail = 1 :: pos_integer(), % factor: one request in N * factor is a detailed one; N as requested
    detail_seen = none :: none | {integer(), non_neg_integer()}, % {Ms, ns that detailed requests have cost} when it was last checked
    detail_cut = none :: none | integer(), % ms: when fewer were followed
    heavy = 0 :: non_neg_integer() % consecutive evaluations in which unsampled calls alone cost too much
}).

%% Tracing for a part of the time (kprof_part_time).
-record(part_time, {
    phase = off :: off | rest | open | closed,
    timer = none :: none | reference(), % the end of the phase
    set = #{} :: kprof_patterns:set(), % patterns that are set now
    cycle_at = 0 :: integer(), % ms: when the patterns were set
    permille = 4 :: pos_integer(), % of a cycle in which calls are sampled
    factor = 1 :: pos_integer(), % a traced request stands for this many, besides sampling
    counters = [] :: [mfa()], % functions whose calls are counted: the entry, or all tiers
    covered = 0 :: integer(), % their calls (less ?ENTRIES), or time (native), for which events stand
    last = 0 :: integer(), % their value at last_at (native), in the last cycle
    last_at = 0 :: integer(),
    longer = 1000 :: pos_integer(), % permille: how long sampling was really on, of the intended time; smoothed
    open_at = 0 :: integer(), % when (native) sampling began in this cycle
    opened = 0 :: integer(), % counted calls, or time (native), at that time
    held = none :: none | integer(), % the relay holds the events since then (native)
    ticket = 0 :: non_neg_integer(), % at that time
    read = 0 :: non_neg_integer(), % events before it
    calls_s = 0 :: non_neg_integer(), % calls per second that took a sampling decision while it was last open
    cheap = 0 :: non_neg_integer() % consecutive cycles in which tracing all the time would be cheap
}).

%% Call rates of the tiers (kprof_tier_rates).
-record(tier_rates, {
    slice = 0 :: non_neg_integer() | {on, [{mfa(), integer()}]}, % evaluations since tracing was switched on, or since the last slice | functions that are counted until the next evaluation
    from = 0 :: non_neg_integer(), % the next tier
    resting = [] :: [mfa()], % built-in functions whose counters are paused
    rates = #{} :: kprof_tier_rates:rates()
}).

%% Captures (kprof_requests).
-record(requests, {
    capture = none :: kprof_capture:capture(),
    caught = none :: none | tuple() % the result of the capture
}).

%% Calls of many functions, counted for a second (kprof_survey).
-record(survey, {
    phase = none :: kprof_survey:phase(),
    ref = none :: none | integer(), % of the request, until it is answered
    timer = none :: none | reference(), % of the next slice
    asked = [] :: [mfa()],
    todo = [] :: [mfa()], % functions of this phase
    held = [] :: [mfa()], % functions of the survey whose counters are in the cleanup plan
    % whose counter it is; its value when it was set or read, and that time (native)
    on = #{} :: #{mfa() => {free | ours | theirs, non_neg_integer(), integer()}},
    calls = #{} :: #{mfa() => {non_neg_integer(), integer()}}, % calls, in this many native units
    since = 0 :: integer(), % native: setting began; then, counting began
    span = 0 :: integer() % native units from then to the last reading
}).

%% Stack sampling (kprof_stack_control).
-record(stacks, {
    sampler = none :: none | pid(),
    ref = none :: none | reference(), % its monitor
    ending = none :: none | reference(), % it was asked for its last samples
    enders = [] :: [integer()], % requests that are answered when these have been sent
    inside = false :: boolean(), % the relay tells it which processes it has traced
    busy = 0 :: non_neg_integer() % consecutive heartbeats with a long run queue; counted down while it is short
}).

%% The process table (kprof_processes).
-record(processes, {
    table = none :: none | pid(),
    ref = none :: none | reference(), % its monitor
    until_ms = 0 :: integer() % when it ends if kprof-top does not ask for it again
}).

%% A full trace (kprof_full).
-record(full, {
    tracer = none :: none | pid(),
    ref = none :: none | reference(), % its monitor
    request = false :: boolean(), % it is of a request, not of given processes
    paused = false :: boolean(), % the tiers pause for it
    plan = none :: kprof_full:full(), % what must be removed if the tracer is killed
    busy = 0 :: non_neg_integer() % consecutive heartbeats with a long run queue
}).

%% Checked with each heartbeat (kprof_controller).
-record(beats, {
    n = 0 :: non_neg_integer(),
    memory = 0 :: non_neg_integer(), % bytes of the VM, as last measured
    busy = 0 :: non_neg_integer(), % consecutive heartbeats with a run queue over the limit
    zero = 0 :: 0..1 % consecutive checks in which the ticket was 0
}).

-record(s, {
    %% the node, and the agent's processes on it
    epoch :: pos_integer(),
    vm :: kprof_hazard:vm(),
    isolated = false :: boolean(), % the VM has trace sessions
    session = none :: kprof_spec:session(),
    idle_sessions = [] :: [kprof_spec:session()],
    others = [] :: [binary()],
    beside = false :: boolean(), % other agents are on the node (`beside` of kprof_hazard:vm/0 is also true for trace sessions of others)
    tcw :: {non_neg_integer(), non_neg_integer()}, % {Before, Start}
    spawn_flags = true :: boolean(), % flags of new processes may be set
    relay = none :: none | pid(),
    relay_ref :: undefined | none | reference(),
    pacer :: undefined | none | pid(),
    counters :: atomics:atomics_ref(), % of the relay
    guardian :: undefined | none | pid(), % none: it was killed, and the node has no room for another one
    guardian_ref :: undefined | none | reference(),
    counting = [] :: [mfa()], % functions with a counter of the agent
    %% values of these modules
    breaker :: undefined | kprof_breaker:breaker(),
    count = none :: none | kprof_call_count:counts(), % while the breaker is open, and in slow start
    cost :: undefined | kprof_cost:cost(),
    %% the parts
    link :: #link{},
    tracing = #tracing{} :: #tracing{},
    limits = #limits{} :: #limits{},
    part_time = #part_time{} :: #part_time{},
    tier_rates = #tier_rates{} :: #tier_rates{},
    requests = #requests{} :: #requests{},
    survey = #survey{} :: #survey{},
    stacks = #stacks{} :: #stacks{},
    processes = #processes{} :: #processes{},
    full = #full{} :: #full{},
    vm_events = none :: none | {pid(), reference(), kprof_spec:session(), boolean()}, % kprof_vm_events, its monitor, its session; events are on
    vm_events_at = -(1 bsl 59) :: integer(), % not started before this time (ms)
    beats = #beats{} :: #beats{}
}).
-type state() :: #s{}.
