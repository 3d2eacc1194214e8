%% Chooses the processes that are sampled. A separate process does this once in each period; it works in slices, then
%% ends.
%%
%% Of processes that are not chosen it reads only what the VM reads without a signal to them, unless they are running
%% (kprof_walk). If the hazard table forbids sample_queue, the queues of processes whose messages are off heap are not
%% read; if it forbids sample_large, processes with large heaps are not chosen.
%%
%% Invariant: at most ?MOST processes are chosen, none of those that are stuck (kprof_stuck); if more match, a different random part
%% of them each time. Processes of
%% agents are never chosen.
-module(kprof_stack_choice).
-agent(tools).
-export([start/3, init/4, is_who/1, refused/1, described/3]).
-export_type([who/0, chosen/0]).

-type by() :: reductions | memory | queue | binary.
-type who() ::
    {pids, [{non_neg_integer(), non_neg_integer()}]}
    | {names, [binary()]}
    | {initial_call, {binary(), binary(), arity()}}
    | {application, binary()}
    | {top, pos_integer(), by()}
    | {children, {non_neg_integer(), non_neg_integer()} | binary()}
    | inside % the sampler chooses these: kprof_stack_seen
    | all.
%% {Pid, registered name | 0, initial call, application, whether the length of its queue may be read, whether the
%% sizes of its heaps may be read, whether it was started by proc_lib, which keeps its true initial call}
-type chosen() :: {pid(), atom() | 0, mfa() | 0, binary(), boolean(), boolean(), boolean()}.

-define(MOST, 1000).
-define(OWN, 60). % this many more are ranked, because processes of agents may be among them
-define(PIECE, 20000). % at least this many processes have their reductions stored at a time
-define(MORE, 1000). % there is room for this many more
-define(TWICE_MS, 100). % between two readings of reductions
-define(FAMILY, 100000). % maximum number of descendants
-define(PASSES, 8). % maximum number of passes over all processes to find them

-record(c, {
    vm :: kprof_hazard:vm(),
    without = #{} :: kprof_stuck:without(),
    walk :: kprof_walk:walk(),
    masters :: #{pid() => binary()}, % of applications
    walked = 0 :: non_neg_integer(),
    walks = 0 :: non_neg_integer(), % over all processes
    held = 0 :: non_neg_integer() % processes that matched but were left out because of a hazard
}).

%% Whether this is a valid choice of processes.
-spec is_who(term()) -> boolean().
is_who({pids, L}) when is_list(L) -> [] =:= [X || X <- L, not is_id(X)];
is_who({names, L}) when is_list(L) -> [] =:= [X || X <- L, not is_binary(X)];
is_who({initial_call, {M, F, A}}) -> is_binary(M) andalso is_binary(F) andalso is_integer(A);
is_who({application, App}) -> is_binary(App);
is_who({top, N, By}) -> is_integer(N) andalso N > 0 andalso N =< ?MOST andalso lists:member(By, [reductions, memory, queue, binary]);
is_who({children, Of}) -> is_binary(Of) orelse is_id(Of);
is_who(inside) -> true;
is_who(all) -> true;
is_who(_) -> false.

%% Why this VM cannot choose them; none: it can.
-spec refused(who()) -> none | binary().
refused({children, _}) ->
    case catch process_info(self(), parent) of
        {'EXIT', _} -> <<"the children of a process are known from OTP 25 on">>;
        _ -> none
    end;
refused(_) ->
    none.

is_id({Id, Serial}) -> is_integer(Id) andalso is_integer(Serial);
is_id(_) -> false.

%% The caller, which is linked to it, gets {chosen, Chooser, [chosen()], Figures, ns of work, how many processes it has started}, or
%% {no_choice, Chooser}: the node had no room for a process.
-spec start(who(), kprof_stuck:without(), kprof_hazard:vm()) -> pid().
start(Who, Without, Vm) -> spawn_opt(?MODULE, init, [self(), Who, Without, Vm], [link, kprof_walk:heap()]).

%% Those of these processes that may be sampled, in the calling process. Masters: of applications.
-spec described([pid()], kprof_hazard:vm(), #{pid() => binary()}) -> [chosen()].
described([], _, _) ->
    [];
described(Pids, Vm, Masters) ->
    element(1, described(Pids, #c{vm = Vm, walk = kprof_walk:new(), masters = Masters})).

-spec init(pid(), who(), kprof_stuck:without(), kprof_hazard:vm()) -> term().
init(Leader, Who, Without, Vm) ->
    C0 = #c{vm = Vm, without = Without, walk = kprof_walk:new(), masters = kprof_walk:masters()},
    {Pids, Matched, C1} =
        case kprof_node:if_room(fun() -> candidates(Who, C0) end) of
            none -> unlink(Leader), Leader ! {no_choice, self()}, exit(normal);
            Found -> Found
        end,
    {Chosen, C} = described(Pids, C1),
    Kept = lists:sublist(Chosen, most(Who)),
    unlink(Leader),
    Leader ! {chosen, self(), Kept, #{matched => max(length(Kept), Matched), held => C#c.held, walked => C#c.walked}, kprof_walk:busy_ns(C#c.walk), C#c.walks}.

most({top, N, _}) -> N;
most(_) -> ?MOST.

%% ---- Processes that match ----

candidates({pids, L}, C) -> few([pid(Id, Serial) || {Id, Serial} <- lists:sublist(L, ?MOST)], C);
candidates({names, L}, C) -> few([P || Name <- lists:sublist(L, ?MOST), P <- named(Name)], C);
candidates({application, App}, #c{masters = Masters} = C) ->
    Of = [Master || {Master, A} <- maps:to_list(Masters), A =:= App],
    matching(fun(P) -> lists:member(kprof_walk:info(P, group_leader), Of) end, C);
candidates({initial_call, {M, F, A}}, C) ->
    case catch {binary_to_existing_atom(M, utf8), binary_to_existing_atom(F, utf8)} of
        {'EXIT', _} -> {[], 0, C};
        {Module, Function} -> matching(fun(P) -> kprof_walk:info(P, initial_call) =:= {Module, Function, A} end, C)
    end;
candidates({children, Of}, C) -> family([P || P <- oldest(Of), is_pid(P)], C);
candidates(all, C) -> matching(fun(_) -> true end, C);
candidates({top, N, By}, C) -> top(By, kprof_rank:new(N + ?OWN), C).

few(Pids, C) ->
    Own = [P || P <- lists:usort(Pids), is_pid(P), node(P) =:= node()],
    {Own, length(Own), C}.

pid(Id, Serial) ->
    try list_to_pid(lists:flatten(io_lib:format("<0.~b.~b>", [Id, Serial])))
    catch _:_ -> none
    end.

named(Name) ->
    try [P || P <- [whereis(binary_to_existing_atom(Name, utf8))], is_pid(P)]
    catch _:_ -> []
    end.

%% ---- A process and those that it started ----

oldest({Id, Serial}) -> [pid(Id, Serial)];
oldest(Name) -> named(Name).

%% A process can be read before its parent: so there are several passes, until one finds no further process.
family([], C) ->
    {[], 0, C};
family([Oldest], C0) ->
    {Family, C1} = family(?PASSES, maps:from_list([{Oldest, true}]), C0),
    {Tossed, C} = each(toss(), kprof_rank:new(?MOST), maps:keys(Family), C1),
    {best(Tossed), map_size(Family), C}.

family(0, Family, C) ->
    {Family, C};
family(Passes, Before, C0) ->
    {Source, C1} = source(C0),
    {Family, C} = more_family(Source, Before, C1),
    kprof_pids:stop(Source),
    if
        Family =:= Before -> {Before, C};
        true -> family(Passes - 1, Family, C)
    end.

more_family(Source, Family0, C0) ->
    case take(Source, C0) of
        {[], C} ->
            {Family0, C};
        {Pids, C1} ->
            {Family, C} = started_by(Family0, Pids, C1),
            more_family(Source, Family, C)
    end.

started_by(Family, Pids, C) ->
    each(
        fun(P, Found) ->
            case map_size(Found) < ?FAMILY andalso is_map_key(kprof_walk:info(P, parent), Found) of
                true -> Found#{P => true};
                false -> Found
            end
        end,
        Family,
        Pids,
        C
    ).

%% Reads all processes, in pieces. -> {a random part of those that match, the number of those that match, state}
matching(F, C0) ->
    {Source, C} = source(C0),
    matching(F, toss(), Source, {0, kprof_rank:new(?MOST)}, C).

matching(F, Toss, Source, {N, Tossed} = Found0, C0) ->
    case take(Source, C0) of
        {[], C} ->
            {best(Tossed), N, C};
        {Pids, C1} ->
            {Found, C} = each(
                fun(P, {Had, Best} = Found) ->
                    case F(P) of
                        true -> {Had + 1, Toss(P, Best)};
                        false -> Found
                    end
                end,
                Found0,
                Pids,
                C1
            ),
            matching(F, Toss, Source, Found, C)
    end.

%% Ranks processes at random.
toss() ->
    Seed = erlang:unique_integer(),
    fun(P, Tossed) -> kprof_rank:add(erlang:phash2({Seed, P}), P, Tossed) end.

best(Rank) -> [P || {_, P} <- kprof_rank:best(Rank)].

source(#c{walk = W0, walks = N} = C) ->
    {Source, W} = kprof_walk:source(W0),
    {Source, C#c{walk = W, walks = N + 1}}.

%% The next of all processes.
take(Source, #c{walked = N} = C0) ->
    {Pids, C} = repeated(Source, C0),
    {Pids, C#c{walked = N + length(Pids)}}.

%% The next of all processes, without counting them.
repeated(Source, #c{walk = W0} = C) ->
    {Pids, W} = kprof_walk:take(Source, W0),
    {Pids, C#c{walk = W}}.

%% Without those that would not answer.
each(F, Acc0, Pids, #c{walk = W0, without = Without} = C) ->
    {Acc, W} = kprof_walk:each(
        fun
            (P, Acc) when map_get(P, Without) =:= stuck -> Acc;
            (P, Acc) -> F(P, Acc)
        end,
        Acc0,
        Pids,
        W0
    ),
    {Acc, C#c{walk = W}}.

%% ---- The top processes by a value ----

top(By, Best, C0) ->
    {Source, C} = source(C0),
    case By of
        reductions -> grown(Source, atomics:new(?PIECE + ?MORE, []), Best, C);
        _ -> largest(By, Source, Best, C)
    end.

largest(By, Source, Best0, C0) ->
    case take(Source, C0) of
        {[], C} ->
            {best(Best0), 0, C};
        {Pids, C1} ->
            {Best, C} = each(
                fun(P, Got) ->
                    case amount(By, P, C1) of
                        V when is_integer(V) -> kprof_rank:add(V, P, Got);
                        none -> Got
                    end
                end,
                Best0,
                Pids,
                C1
            ),
            largest(By, Source, Best, C)
    end.

%% Processes are ranked by the growth of their reductions per second: a piece of the list of processes is read twice. The first
%% readings are outside of the heap, by the place of the process in the piece, so that garbage collections have little to do.
grown(Source, Before, Best0, C0) ->
    Began = erlang:monotonic_time(microsecond),
    kprof_pids:mark(Source),
    case first(Source, Before, 0, C0) of
        {0, C} ->
            {best(Best0), 0, C};
        {N, C1} ->
            {[], W} = kprof_walk:idle(fun() -> receive after ?TWICE_MS -> [] end end, C1#c.walk),
            kprof_pids:back(Source),
            Us = max(1, erlang:monotonic_time(microsecond) - Began),
            {Best, C} = second(Source, Before, N, Us, 0, Best0, C1#c{walk = W}),
            grown(Source, Before, Best, C)
    end.

first(_, _, N, C) when N >= ?PIECE -> {N, C};
first(Source, Before, N0, C0) ->
    case take(Source, C0) of
        {[], C} ->
            {N0, C};
        {Pids, C1} ->
            {N, C} = each(fun(P, I) -> atomics:put(Before, I + 1, reductions(P)), I + 1 end, N0, Pids, C1),
            first(Source, Before, N, C)
    end.

second(_, _, N, _, N, Best, C) -> {Best, C};
second(Source, Before, N, Us, I0, Best0, C0) ->
    {Pids, C1} = repeated(Source, C0),
    {{I, Best}, C} = each(fun(P, {I, Best}) -> {I + 1, ranked(reductions(P), atomics:get(Before, I + 1), Us, P, Best)} end, {I0, Best0}, Pids, C1),
    second(Source, Before, N, Us, I, Best, C).

ranked(After, Before, _, _, Best) when After < 0; Before < 0 -> Best;
ranked(After, Before, Us, P, Best) -> kprof_rank:add(max(0, After - Before) * 1000000 div Us, P, Best).

%% -1: it is dead.
reductions(P) ->
    case kprof_walk:info(P, reductions) of
        N when is_integer(N) -> N;
        none -> -1
    end.

amount(queue, P, #c{vm = Vm}) -> kprof_walk:queue(P, Vm);
amount(By, P, #c{vm = Vm}) -> kprof_walk:words(By, P, Vm).

%% ---- Data about the chosen processes ----

described(Pids, C0) ->
    {{Chosen, Held}, C} = each(fun(P, Got) -> described_one(P, Got, C0) end, {[], 0}, Pids, C0),
    {lists:reverse(Chosen), C#c{held = C#c.held + Held}}.

described_one(P, {Chosen, Held} = Got, C) ->
    case process_info(P, [registered_name, initial_call, group_leader, heap_size]) of
        [{_, Name}, {_, First}, {_, Leader}, _] ->
            case kprof_walk:is_agents(First) orelse kprof_walk:is_agents(Name) orelse is_held(P, C) of
                held -> {Chosen, Held + 1};
                true -> Got;
                false -> {[describe(P, Name, First, Leader, C) | Chosen], Held}
            end;
        _ ->
            Got
    end.

describe(P, Name, First, Leader, #c{vm = Vm, masters = Masters}) ->
    Queue = kprof_walk:may_ask_queue(P, Vm),
    Heaps = not (Queue andalso kprof_walk:is_long(kprof_walk:info(P, message_queue_len))),
    {P, if is_atom(Name) -> Name; true -> 0 end, First, maps:get(Leader, Masters, <<>>), Queue, Heaps, element(1, First) =:= proc_lib}.

%% -> false | held
is_held(P, #c{vm = Vm}) ->
    case kprof_hazard:allowed(sample_large, Vm) of
        true -> false;
        false -> held(kprof_walk:of_heaps(heaps, kprof_walk:info(P, garbage_collection_info)))
    end.

held(Words) when is_integer(Words) ->
    case kprof_walk:is_large(Words) of
        true -> held;
        false -> false
    end;
held(_) ->
    false.
