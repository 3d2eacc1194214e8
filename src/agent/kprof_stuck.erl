%% Processes that do not answer the VM's questions: each is in a native function that runs long, or is not scheduled. A walk
%% (kprof_walk) would wait for such a process, and so would every later one. The leader of a walk looks each ?LOOK_MS where it is.
%% A walk that is at the same process twice is ended by its leader, and the next ones leave this process out until it answers.
%%
%% Invariant: for each of these processes there is one asker, which waits for its answer. It is linked to the leader, and ends with
%% it. There are at most ?MOST. Functions of the leader's process.
-module(kprof_stuck).
-agent(tools).
-export([new/0, look_later/1, look/2, answered/2, without/1, walked/1]).
-export([ask/1]).
-export_type([stuck/0, without/0]).

%% stuck: walks leave it out; answered: it was left out by the last walk, but has answered since.
-type without() :: #{pid() => stuck | answered}.

-define(LOOK_MS, 1000).
-define(MOST, 64).

-record(stuck, {
    at = none :: none | {pid(), pid()}, % the walker, and where it was at the last look
    askers = #{} :: #{reference() => pid()},
    without = #{} :: without()
}).
-opaque stuck() :: #stuck{}.

-spec new() -> stuck().
new() -> #stuck{}.

%% The caller gets {look, Walker}: then it calls look/2 if this walker is still under way, and this again if it is not stuck.
-spec look_later(pid()) -> term().
look_later(Walker) -> erlang:send_after(?LOOK_MS, self(), {look, Walker}).

%% true: the walker is stuck, and its caller ends it.
-spec look(pid(), stuck()) -> {boolean(), stuck()}.
look(Walker, #stuck{at = Before, askers = Askers, without = Without} = S) ->
    case kprof_walk:at(Walker) of
        P when {Walker, P} =:= Before, map_size(Askers) < ?MOST ->
            case kprof_node:if_room(fun() -> spawn_opt(?MODULE, ask, [P], [link, monitor, {max_heap_size, 0}]) end) of
                {_, Ref} -> {true, S#stuck{at = none, askers = Askers#{Ref => P}, without = Without#{P => stuck}}};
                none -> {false, S}
            end;
        P when is_pid(P) ->
            {false, S#stuck{at = {Walker, P}}};
        none ->
            {false, S#stuck{at = none}}
    end.

%% The answer waits as long as the process does not answer.
-spec ask(pid()) -> term().
ask(P) -> kprof_walk:info(P, status).

%% The 'DOWN' of an asker: its process has answered, or is dead.
-spec answered(reference(), stuck()) -> stuck().
answered(Ref, #stuck{askers = Askers, without = Without} = S) ->
    case Askers of
        #{Ref := P} -> S#stuck{askers = maps:remove(Ref, Askers), without = Without#{P => answered}};
        _ -> S
    end.

%% For the next walk.
-spec without(stuck()) -> without().
without(#stuck{without = Without}) -> Without.

%% A walk has read all processes but those that are stuck.
-spec walked(stuck()) -> stuck().
walked(#stuck{without = Without} = S) -> S#stuck{without = maps:filter(fun(_, What) -> What =:= stuck end, Without)}.
