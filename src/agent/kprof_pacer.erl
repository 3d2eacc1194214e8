%% The pacer: resumes the relay every 1 to 10 ms, and suspends it after its turn. It also checks the call rate in the control
%% word: if more calls are sampled than the relay can process, it informs the controller at once, even if the relay has not run.
%% Linked to its relay.
-module(kprof_pacer).
-export([start/2, init/2]).

-include("kprof_counters.hrl").

-define(LEAST_SAMPLED, 500). % minimum number of sampled calls, so that a short burst does not count

-record(p, {relay, controller, ms = ?TICK_MS, state = running, sample = 1, twice = 2, ticket = 0, at}). % twice: two times the traced calls of a sampled request

-spec start(pid(), pid()) -> pid().
start(Relay, Controller) -> spawn_opt(?MODULE, init, [Relay, Controller], [link, {priority, high}]).

-spec init(pid(), pid()) -> no_return().
init(Relay, Controller) -> pace(#p{relay = Relay, controller = Controller, ticket = kprof_node:ticket(), at = erlang:monotonic_time()}).

pace(#p{ms = Ms} = P) ->
    receive
        kick -> woken(counted(P));
        {sample, N, Twice} -> pace(P#p{sample = N, twice = Twice, ticket = kprof_node:ticket(), at = erlang:monotonic_time()})
    after Ms -> woken(counted(P))
    end.

woken(#p{relay = Relay, state = State} = P) ->
    Relay ! tick,
    State =:= suspended andalso erlang:resume_process(Relay),
    done(P).

done(#p{relay = Relay} = P) ->
    receive
        {done, Next} ->
            erlang:suspend_process(Relay, [asynchronous]),
            pace(P#p{ms = Next, state = suspended});
        {sample, N, Twice} ->
            done(P#p{sample = N, twice = Twice, ticket = kprof_node:ticket(), at = erlang:monotonic_time()})
    after ?TICK_MS -> done(counted(P))
    end.

counted(#p{relay = Relay, controller = Controller, sample = N, twice = Twice, ticket = Before, at = Then} = P) ->
    Now = erlang:monotonic_time(),
    Ticket = kprof_node:ticket(),
    Sampled = kprof_spec:tickets(Before, Ticket) * Twice div (2 * N),
    Us = erlang:convert_time_unit(Now - Then, native, microsecond),
    PerS = Sampled * 1000000 div max(1, Us),
    Sampled > ?LEAST_SAMPLED andalso PerS > ?MOST_SAMPLED andalso (Controller ! {flood, Relay, {calls, PerS, N}}),
    P#p{ticket = Ticket, at = Now}.
