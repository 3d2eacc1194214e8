%% The state of the controller: one process, whose functions are in kprof_controller, kprof_link, kprof_heartbeat,
%% kprof_tracing, kprof_limits, kprof_sampling, kprof_tier_rates, kprof_requests, kprof_stacks and kprof_cleanup_plan. Nobody else sees it.
%% A record for each concern, named after the source that changes it.
-define(PAUSE_MS, 10000). % without a word from kprof-top tracing pauses,
-define(END_MS, 60000). % and then we leave
-define(COOL_MS, 5000).
-define(ADJUST_MS, 200).
-define(BEAT_MS, 500).

%% To kprof-top (kprof_link, kprof_heartbeat).
-record(link, {
    pid :: pid(), % kprof-top's
    node :: node() | undefined,
    key :: binary() | undefined, % that requests carry
    heard :: integer() | undefined, % monotonic ms
    pause_ms = ?PAUSE_MS :: pos_integer(),
    end_ms = ?END_MS :: pos_integer(),
    unauthorized = 0 :: non_neg_integer(), % requests without the key
    said_at = 1 :: pos_integer(), % when so many of them have come it is said
    unsent = [] :: [tuple()], % what must arrive and the link did not take, newest first
    told_gap = 1 :: 0..3, % by the last heartbeat that told another: why nothing is traced
    cpu :: kprof_node:cpu() | undefined % at the last heartbeat
}).

%% What is traced (kprof_tracing).
-record(tracing, {
    trace_config = #{tiers => [], entry => none, identity => none, returns => lean, sample => 1, args => false} :: kprof_spec:trace_config(),
    specs = [] :: kprof_spec:compiled(), % of the tiers that get a pattern
    set = #{} :: kprof_patterns:set(), % patterns of ours
    versions = #{} :: #{module() => binary()}, % of the tiers' modules, as last seen
    wanted = false :: boolean(), % kprof-top has switched it on
    on = false :: boolean(), % patterns are set; flags are, or a walker is at it
    paused = none :: none | lease | overload | capture | slow_start, % slow_start: calls are counted before tracing begins
    again = false :: boolean(), % kprof-top has lost its connection and come again
    walker = none :: none | pid(), % who sets flags of all processes now
    tokens = false :: boolean(), % requests had some
    slow_start = none :: none | reference(), % its timer
    breaker_timer = none :: none | reference(), % of the breaker's next step
    count_timer = none :: none | reference() % of the counters' next step
}).

%% Sampling within the limits (kprof_limits).
-record(limits, {
    max = #{max_age_ms => 1000, max_queue => 100000, max_memory => 32 bsl 20, max_rate => 0, max_cost => 0, max_blocked_ms => 1000} ::
        #{atom() => non_neg_integer()},
    sample = 1 :: pos_integer(), % that the limits ask for; the trace configuration's is the least
    why = none :: none | rate | cost | flood, % which limit
    flooded = none :: none | integer(), % when (ms) a flood cut sampling last
    ticket = none :: none | {integer(), non_neg_integer()}, % {Ms, Ticket} of the last evaluation
    ticket_rate = 0 :: non_neg_integer(), % calls a second that toss
    said = {none, none} :: {none | rate | cost | flood, none | integer()}, % the one last told, and when (ms)
    noted = 0 :: non_neg_integer(), % how often the relay had told its counts then
    evaluated :: undefined | {integer(), integer(), integer()}, % {Ms, Events, the relay's run time in ns} of the last evaluation
    heavy = 0 :: non_neg_integer() % evaluations in a row that found the match specs alone over the budget
}).

%% How often the tiers are called (kprof_tier_rates).
-record(tier_rates, {
    slice = 0 :: non_neg_integer() | {on, [{mfa(), integer()}]}, % evaluations since tracing went on | what is counted until the next
    from = 0 :: non_neg_integer(), % the tier that is next
    rates = #{} :: kprof_tier_rates:rates()
}).

%% Requests that take a while (kprof_requests).
-record(requests, {
    rates = none :: none | {counting, integer(), [{mfa(), none | non_neg_integer()}]} | {rates, pos_integer(), tuple()},
    capture = none :: kprof_capture:capture(),
    caught = none :: none | tuple() % what it brought
}).

%% Stacks that are sampled (kprof_stacks).
-record(stacks, {
    sampler = none :: none | pid(),
    ref = none :: none | reference(), % its monitor
    busy = 0 :: non_neg_integer() % beats in a row with a long run queue; counted down when it is not
}).

%% What is looked at with each heartbeat (kprof_controller).
-record(beats, {
    n = 0 :: non_neg_integer(),
    busy = 0 :: non_neg_integer(), % in a row with a run queue over its limit
    zero = 0 :: 0..1 % that saw the control word 0
}).

-record(s, {
    %% the node, and the agent's processes on it
    epoch :: pos_integer(),
    vm :: kprof_hazard:vm(),
    isolated = false :: boolean(), % are there trace sessions
    session = none :: kprof_spec:session(),
    others = [] :: [binary()],
    beside = false :: boolean(), % other agents are on the node
    tcw :: {non_neg_integer(), non_neg_integer()}, % {Before, Start}
    spawn_flags = true :: boolean(), % may we set flags of processes to come
    relay = none :: none | pid(),
    relay_ref :: undefined | none | reference(),
    pacer :: undefined | none | pid(),
    counters :: atomics:atomics_ref(), % the relay's
    guardian :: undefined | pid(),
    guardian_ref :: undefined | reference(),
    counting = [] :: [mfa()], % functions with a counter of ours
    %% values of their modules
    breaker :: undefined | kprof_breaker:breaker(),
    count = none :: none | kprof_call_count:counts(), % while the breaker is open, and in slow start
    cost :: undefined | kprof_cost:cost(),
    %% concerns
    link :: #link{},
    tracing = #tracing{} :: #tracing{},
    limits = #limits{} :: #limits{},
    tier_rates = #tier_rates{} :: #tier_rates{},
    requests = #requests{} :: #requests{},
    stacks = #stacks{} :: #stacks{},
    beats = #beats{} :: #beats{}
}).
-type state() :: #s{}.
