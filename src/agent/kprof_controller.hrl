%% The state of the controller: one process, whose functions are in kprof_controller, kprof_tracing,
%% kprof_limits, kprof_tier_rates and kprof_requests. Nobody else sees it.
-define(PAUSE_MS, 10000). % without a word from kprof-top tracing pauses,
-define(END_MS, 60000). % and then we leave
-define(COOL_MS, 5000).
-define(ADJUST_MS, 200).
-define(BEAT_MS, 500).

-record(s, {
    pid, % kprof-top's
    node,
    epoch,
    relay = none,
    pacer,
    relay_ref,
    guardian,
    guardian_ref,
    counters,
    session = none,
    isolated = false, % are there trace sessions
    vm, % of kprof_hazard
    spawn_flags = true, % may we set flags of processes to come
    walker = none, % who sets flags of all processes now
    tokens = false, % requests had some
    beside = false, % other agents are on the node
    tcw, % {Before, Start}
    others = [],
    trace_config = #{tiers => [], entry => none, identity => none, returns => lean, sample => 1, args => false},
    specs = [], % [{Ix, MFA, Spec}]
    set = #{}, % patterns of ours: kprof_patterns
    versions = #{}, % of the tiers' modules, as last seen
    tracing = false, % asked for
    on = false, % patterns are set; flags are, or a walker is at it
    paused = none, % lease | overload | capture | slow_start (counters are looked at before tracing begins)
    again = false, % kprof-top has lost its connection and come again
    breaker,
    breaker_timer, % of its next step
    busy = 0, % beats in a row with a run queue over its limit
    limits = #{max_age_ms => 1000, max_queue => 100000, max_memory => 32 bsl 20, max_rate => 0, max_cost => 0, max_blocked_ms => 1000},
    for_limits = 1, % sampling that the limits ask for; the trace configuration's is the least
    why = none, % which limit: none | rate | cost | flood
    flooded = none, % when (ms) a flood cut sampling last
    ticket = none, % {Ms, Ticket} of the last look
    ticket_rate = 0, % calls a second that toss
    said = {none, none}, % the one last told, and when (ms)
    looked_at, % {Ms, Events, the relay's run time in ns} of the last look
    cost, % kprof_cost's
    heavy = 0, % looks in a row that found the match specs alone over the budget
    heard, % monotonic ms
    key, % that requests carry
    unauthorized = 0, % requests without it
    said_at = 1, % when so many of them have come it is said
    pause_ms = ?PAUSE_MS,
    end_ms = ?END_MS,
    cpu,
    beat = 0,
    zero = 0, % beats that saw the control word 0
    slice = 0, % looks since tracing went on | {on, what is counted for one look}: kprof_tier_rates
    slice_from = 0, % the tier that is next
    rates_of = #{}, % MFA => calls a second
    counting = [], % functions with a counter of ours
    rates = none, % {counting, SinceMs, [{MFA, Before}]} | {rates, Ms, Counts}
    capture = none, % of kprof_capture
    caught = none, % what it brought
    count = none, % while the breaker is open: kprof_call_count
    count_timer,
    slow_start, % its timer
    told_gap = 1, % by the last heartbeat that told another: why nothing is traced
    unsent = [] % what must arrive and the link did not take, newest first
}).
-type state() :: #s{}.
