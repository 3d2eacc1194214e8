%% Computes the sampling interval that keeps the cost of stack sampling within its budget; and the time between two rounds of
%% the process table. Pure.
%%
%% Invariant: the interval is never shorter than requested. When the cost is above nine tenths of the budget, the
%% interval grows at once, so that the cost is about six tenths (by a factor of at most 8); when the cost is below a
%% third, it shrinks, each time by at most half.
-module(kprof_stack_rate).
-agent(tools).
-export([next/4, cost/4, each/2, period/4]).

-define(MOST_US, 1000000).
-define(LONGEST_US, 60000000). % between two rounds

%% Interval in use and requested (us), present and maximum cost of sampling (millionths of the schedulers' time; 0: no
%% limit).
-spec next(pos_integer(), pos_integer(), non_neg_integer(), non_neg_integer()) -> pos_integer().
next(_, Asked, _, 0) -> Asked;
next(Now, Asked, Cost, Budget) when Cost * 10 > Budget * 9 -> max(Asked, min(max(Asked, ?MOST_US), to_budget(Now, Cost, Budget)));
next(Now, Asked, Cost, Budget) when Cost * 3 < Budget -> max(Asked, max(Now div 2, to_budget(Now, Cost, Budget)));
next(Now, Asked, _, _) -> max(Asked, Now).

to_budget(Now, Cost, Budget) -> min(Now * 8, Now * Cost * 10 div max(1, Budget * 6)).

%% Samples, ns per sample, ns of other work of the sampler, ns of scheduler time that has passed -> millionths
-spec cost(non_neg_integer(), non_neg_integer(), non_neg_integer(), non_neg_integer()) -> non_neg_integer().
cost(Samples, EachNs, OwnNs, PassedNs) -> min(1000000, (Samples * EachNs + OwnNs) * 1000000 div max(1, PassedNs)).

%% The cost of a query: the time of the fastest tenth of the answers. The others waited for a running process, or for
%% a scheduler, which costs nothing. Before: the value so far (0: not known); it increases by at most a quarter.
-spec each([non_neg_integer()], non_neg_integer()) -> non_neg_integer().
each([], Before) -> Before;
each(Ns, 0) -> lists:nth((length(Ns) + 9) div 10, lists:sort(Ns));
each(Ns, Before) -> min(each(Ns, 0), Before * 5 div 4 + 1).

%% The time between two rounds of the process table: the requested one, or longer, so that rounds with this cost (ns) use six
%% tenths of the budget; at most a minute.
-spec period(pos_integer(), non_neg_integer(), pos_integer(), non_neg_integer()) -> pos_integer().
period(AskedUs, _, _, 0) -> AskedUs;
period(AskedUs, RoundNs, Schedulers, Budget) -> max(AskedUs, min(?LONGEST_US, RoundNs * 10000 div (6 * Budget * Schedulers))).
