%% The pacer: resumes the relay every 1 to 10 ms, and suspends it after its turn. It also checks the call rate in the control
%% word: if more calls are sampled than the relay can process, it informs the controller at once, even if the relay has not run.
%% Where each call is sampled, only so many are between two of its turns (kprof_spec:allow/2). Keeps the cut in the control word.
%% Linked to its relay.
-module(kprof_pacer).
-export([start/3, init/3]).

-include("kprof_counters.hrl").

-define(LEAST_SAMPLED, 500). % minimum number of sampled calls, so that a short burst does not count

%% counters: of kprof_counters.hrl; twice: two times the traced calls of a sampled request; block: {its size, events of a request} where calls that
%% come at once are limited, or none
-record(p, {relay, controller, counters, ms = ?TICK_MS, state = running, sample = 1, twice = 2, block = none, ticket = 0, word = 0, at}).

-spec start(pid(), pid(), atomics:atomics_ref()) -> pid().
start(Relay, Controller, Counters) -> spawn_opt(?MODULE, init, [Relay, Controller, Counters], [link, {priority, high}, {max_heap_size, 0}]).

-spec init(pid(), pid(), atomics:atomics_ref()) -> no_return().
init(Relay, Controller, Counters) -> pace(#p{relay = Relay, controller = Controller, counters = Counters, word = erlang:system_info(trace_control_word), ticket = kprof_node:ticket(), at = erlang:monotonic_time()}).

pace(#p{ms = Ms} = P) ->
    receive
        kick -> woken(counted(P));
        {sample, N, Twice, Block} -> pace(sampled(N, Twice, Block, P))
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
            pace((limited(P))#p{ms = Next, state = suspended});
        {sample, N, Twice, Block} -> done(sampled(N, Twice, Block, P))
    after ?TICK_MS -> done(counted(P))
    end.

sampled(N, Twice, Block, P0) ->
    P = limited(P0), % with the limit that was in force
    limited(P#p{sample = N, twice = Twice, block = Block, ticket = kprof_node:ticket(), at = erlang:monotonic_time()}).

limited(P) -> limited(16, P).

limited(0, P) -> P; % at the next turn
limited(Tries, P) ->
    Word = erlang:system_info(trace_control_word),
    case kprof_spec:held(Word) of
        true -> limited(Tries - 1, P);
        false ->
            %% the code after the word: a cut that is newer than the word is in force
            case is_restored(atomics:get(P#p.counters, ?CUT_CODE), Word) of
                true -> limited(Tries - 1, P); % the controller may have cut since
                false -> limited_from(Word, P)
            end
    end.

is_restored(0, _) -> false;
is_restored(Code, Word) -> kprof_spec:keep(Code, Word).

%% Without a limit: one that this pacer has set, or found when it began, is removed; that of another agent stays.
limited_from(Word, #p{block = none, word = Before} = P) ->
    kprof_spec:is_limited(Before) andalso kprof_spec:allow(none, Word),
    P#p{word = 0};
limited_from(Word, #p{block = {Size, Events}, counters = C, word = Before} = P) ->
    {Until, Now} = kprof_spec:allow(Size, Word),
    case kprof_spec:beyond(Size, Before, Until) of
        0 ->
            ok;
        Requests ->
            atomics:add(C, ?BEYOND, Requests),
            atomics:add(C, ?BEYOND_EVENTS, Requests * Events)
    end,
    P#p{word = Now}.

counted(#p{relay = Relay, controller = Controller, sample = N, twice = Twice, ticket = Before, at = Then} = P) ->
    Now = erlang:monotonic_time(),
    Ticket = kprof_node:ticket(),
    Sampled = kprof_spec:tickets(Before, Ticket) * Twice div (2 * N),
    Us = erlang:convert_time_unit(Now - Then, native, microsecond),
    PerS = Sampled * 1000000 div max(1, Us),
    Sampled > ?LEAST_SAMPLED andalso PerS > ?MOST_SAMPLED andalso (Controller ! {flood, Relay, {calls, PerS, N}}),
    (limited(P))#p{ticket = Ticket, at = Now}.
