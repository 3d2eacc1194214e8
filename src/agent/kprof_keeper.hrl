%% The state of the keeper: one process, whose functions are in kprof_keeper_00, kprof_state_00, kprof_switch_00,
%% kprof_limits_00, kprof_rate_00 and kprof_ask_00. Nobody else sees it.
-define(PAUSE_MS, 10000). % without a word from kprof-top tracing pauses,
-define(END_MS, 60000). % and then we leave
-define(COOL_MS, 5000).
-define(STEER_MS, 200).
-define(BEAT_MS, 500).

-record(s, {
    pid, % kprof-top's
    node,
    epoch,
    relay = none,
    pacer,
    relay_ref,
    warden,
    warden_ref,
    counters,
    session = none,
    isolated = false, % are there trace sessions
    vm, % of kprof_hazard_00
    spawn_flags = true, % may we set flags of processes to come
    walker = none, % who sets flags of all processes now
    tokens = false, % requests had some
    beside = false, % other agents are on the node
    tcw, % {Before, Start}
    others = [],
    wish = #{tiers => [], entry => none, identity => none, returns => lean, sample => 1, args => false},
    specs = [], % [{Ix, MFA, Spec}]
    set = #{}, % patterns of ours: kprof_pattern_00
    versions = #{}, % of the tiers' modules, as last seen
    tracing = false, % wished
    on = false, % patterns are set; flags are, or a walker is at it
    paused = none, % lease | overload | capture | look (at the counters, before tracing begins)
    again = false, % kprof-top has lost its connection and come again
    breaker,
    breaker_timer, % of its next step
    busy = 0, % beats in a row with a run queue over its limit
    limits = #{max_age_ms => 1000, max_queue => 100000, max_memory => 32 bsl 20, max_rate => 0, max_cost => 0, max_blocked_ms => 1000},
    steered = 1, % sampling that the limits ask for; the wish's is the least
    why = none, % which limit: none | rate | cost | flood
    flooded = none, % when (ms) a flood cut sampling last
    ticket = none, % {Ms, Ticket} of the last look
    ticket_rate = 0, % calls a second that toss
    said = {none, none}, % the one last told, and when (ms)
    steer_at, % {Ms, Events, the relay's run time in ns} of the last look
    cost, % kprof_cost_00's
    heavy = 0, % looks in a row that found the match specs alone over the budget
    heard, % monotonic ms
    key, % that requests carry
    strangers = 0, % requests without it
    said_at = 1, % when so many of them have come it is said
    pause_ms = ?PAUSE_MS,
    end_ms = ?END_MS,
    cpu,
    beat = 0,
    zero = 0, % beats that saw the control word 0
    slice = 0, % looks since tracing went on | {on, what is counted for one look}: kprof_rate_00
    slice_from = 0, % the tier that is next
    rates_of = #{}, % MFA => calls a second
    counting = [], % functions with a counter of ours
    rates = none, % {counting, SinceMs, [{MFA, Before}]} | {rates, Ms, Counts}
    capture = none, % of kprof_probe_00
    caught = none, % what it brought
    count = none, % while the breaker is open: kprof_count_00
    count_timer,
    look, % the timer of the look that goes before tracing
    told_gap = 1, % by the last heartbeat that told another: why nothing is traced
    unsent = [] % what must arrive and the link did not take, newest first
}).
