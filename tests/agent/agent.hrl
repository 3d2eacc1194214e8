%% Macros that all tests of the agent use.
-define(KEY, <<"of the tests only">>).
-define(EPOCH, 7).
-define(MODULES, agent_lib:modules()).
-define(NO_LIMITS, #{max_age_ms => 0, max_queue => 0, max_memory => 0, max_rate => 0, max_blocked_ms => 0}).
%% The deadline for things that must happen (ms): on a busy machine a process may wait for seconds. A test that passes
%% never waits for it.
-define(PATIENCE, 60000).
-define(check(X), agent_lib:check(X, ??X, {?MODULE, ?LINE})).
-define(equal(A, B), agent_lib:equal(A, B, {?MODULE, ?LINE})).
-define(soon(F), agent_lib:check(agent_lib:until(?PATIENCE, F), ??F, {?MODULE, ?LINE})).
%% The next message that matches.
-define(got(Pattern), receive Pattern -> ok after ?PATIENCE -> error({?MODULE, ?LINE, not_got, ??Pattern}) end).
