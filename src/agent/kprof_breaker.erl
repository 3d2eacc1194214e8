%% The overload circuit breaker as a value: closed -> open -> half_open -> closed. Pure: the caller passes the time in
%% milliseconds.
%%
%% Invariant: open lasts for at least the pause: the cooldown, doubled for each further consecutive trip, at most 5 minutes;
%% half_open lasts at least ?TRY_MS; sampling increases in steps (factor 10 while half open, then 5, 2, 1). Only opening takes
%% effect at once. admit/3 never admits more than the limit in an interval.
-module(kprof_breaker).
-export([new/1, trip/2, tick/2, wait/2, later/2, trying/2, closed/2, reset/1, cooldown/2, state/1, factor/1, trips/1, next_ms/2, pause_ms/1, limit/2, admit/3]).
-export_type([breaker/0, limit/0]).

-define(TRY_MS, 2000).
-define(STEP_MS, 1000).
-define(CALM_MS, 30000). % after this time closed, the next pause is the cooldown again
-define(MOST_MS, 300000).
-define(INTERVAL_MS, 100).
-define(STEPS, [10, 5, 2, 1]).

-record(b, {
    state = closed, % closed | open | half_open
    since = 0, % start of the state, or of the step
    cooldown = 5000,
    trips = 0,
    row = 0, % consecutive trips
    steps = [1] % remaining factors, the present one first
}).

-opaque breaker() :: #b{}.
-type limit() :: none | {pos_integer(), integer(), non_neg_integer()}.

%% Cooldown: ms, at least 100.
-spec new(pos_integer()) -> breaker().
new(Cooldown) -> cooldown(Cooldown, #b{}).
-spec cooldown(integer(), breaker()) -> breaker().
cooldown(Ms, B) -> B#b{cooldown = max(100, Ms)}.

-spec trip(integer(), breaker()) -> breaker().
trip(_, #b{state = open} = B) -> B;
trip(Now, #b{row = Row0} = B) ->
    Row = case calm(Now, B) of true -> 1; false -> Row0 + 1 end,
    B#b{state = open, since = Now, trips = B#b.trips + 1, row = Row, steps = ?STEPS}.

calm(Now, #b{state = closed, steps = [_], since = Since}) -> Now - Since >= ?CALM_MS;
calm(_, _) -> false.

%% -> {none | trying | factor | closed, B}: trying: a try begins, that is tracing with factor/1; factor: factor/1 has changed.
-spec tick(integer(), breaker()) -> {none | trying | factor | closed, breaker()}.
tick(Now, #b{state = open} = B) ->
    case next_ms(Now, B) of
        0 -> {trying, B#b{state = half_open, since = Now}};
        _ -> {none, B}
    end;
tick(Now, #b{state = half_open, since = Since, steps = [_ | Rest]} = B) when Now - Since >= ?TRY_MS ->
    {closed, B#b{state = closed, since = Now, steps = Rest}};
tick(Now, #b{state = closed, since = Since, steps = [_ | [_ | _] = Rest]} = B) when Now - Since >= ?STEP_MS ->
    {factor, B#b{since = Now, steps = Rest}};
tick(_, B) ->
    {none, B}.

%% Tracing is off for another reason: the try does not advance. An open breaker keeps its timer.
-spec wait(integer(), breaker()) -> breaker().
wait(_, #b{state = open} = B) -> B;
wait(Now, B) -> B#b{since = Now}.

%% A try cannot succeed: the breaker stays open for one more pause, which does not count as a trip.
-spec later(integer(), breaker()) -> breaker().
later(Now, B) -> B#b{state = open, since = Now}.

%% Begins half open, as after the cooldown of a first trip.
-spec trying(integer(), breaker()) -> breaker().
trying(Now, B) -> B#b{state = half_open, since = Now, row = 1, steps = ?STEPS}.

%% No try is necessary. If it opens soon, the pause is as long as after a try.
-spec closed(integer(), breaker()) -> breaker().
closed(Now, B) -> B#b{state = closed, since = Now, steps = [1]}.

%% The operator switched tracing off and on: there is no try; the number of trips is kept.
-spec reset(breaker()) -> breaker().
reset(B) -> B#b{state = closed, steps = [1], row = 0}.

-spec state(breaker()) -> closed | open | half_open.
state(#b{state = State}) -> State.
-spec factor(breaker()) -> pos_integer().
factor(#b{steps = [F | _]}) -> F.
-spec trips(breaker()) -> non_neg_integer().
trips(#b{trips = N}) -> N.

%% Time until the next try; 0 if not open.
-spec next_ms(integer(), breaker()) -> non_neg_integer().
next_ms(Now, #b{state = open, since = Since} = B) -> max(0, Since + pause_ms(B) - Now);
next_ms(_, _) -> 0.

%% The present pause: how long it stays open before a try.
-spec pause_ms(breaker()) -> pos_integer().
pause_ms(#b{cooldown = C, row = Row}) -> min(?MOST_MS, C bsl min(20, max(0, Row - 1))).

%% ---- A limit of events per second, applied to each tenth of a second ----

%% PerSecond 0: no limit.
-spec limit(non_neg_integer(), integer()) -> limit().
limit(0, _) -> none;
limit(PerSecond, Now) -> {max(1, PerSecond * ?INTERVAL_MS div 1000), Now, 0}.

%% N events at once -> {Admitted, Limit}. The caller drops and counts the rest. A time before the last one is treated as the
%% last one.
-spec admit(non_neg_integer(), integer(), limit()) -> {non_neg_integer(), limit()}.
admit(N, _, none) -> {N, none};
admit(N, Now, {Max, Since, _}) when Now - Since >= ?INTERVAL_MS -> admit(N, Now, {Max, Now, 0});
admit(N, _, {Max, Since, Used}) ->
    Let = min(N, Max - Used),
    {Let, {Max, Since, Used + Let}}.
