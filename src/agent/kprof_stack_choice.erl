%% Chooses the processes that are sampled. A separate process does this once in each period; it works in slices, then
%% ends.
%%
%% Of processes that are not chosen it reads only what the VM reads without a signal to them: reductions, sizes of
%% heaps, first call, parent, group leader, name. Lengths of queues, too; but if the hazard table forbids sample_queue, not
%% those of processes whose messages are off heap. If it forbids sample_large, processes with large heaps are not
%% chosen.
%%
%% Invariant: at most ?MOST processes are chosen; if more match, a different random part of them each time. Processes of
%% agents are never chosen.
-module(kprof_stack_choice).
-export([start/2, init/3, is_who/1, refused/1, described/3, masters/0, is_large/1, is_long/1]).
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
%% sizes of its heaps may be read, whether proc_lib has another initial call}
-type chosen() :: {pid(), atom() | 0, mfa() | 0, binary(), boolean(), boolean(), boolean()}.

-define(MOST, 1000).
-define(OWN, 60). % this many more are ranked, because processes of agents may be among them
-define(PIECE, 20000). % number of processes whose reductions are stored at a time
-define(STEP, 16). % processes between two readings of the clock
-define(TWICE_MS, 100). % between two readings of reductions
-define(LARGE, 100000). % words: from about 130,000 on the VM may collect garbage on a dirty scheduler
-define(SLICE_US, 500). % maximum that a slice counts as work: in a longer one the process has waited
-define(FAMILY, 100000). % maximum number of descendants
-define(PASSES, 8). % maximum number of passes over all processes to find them
-define(LONG, 10000). % messages: with more of them, no values are read for which the VM walks the queue

-record(c, {
    vm :: kprof_hazard:vm(),
    slice :: kprof_flags:slice(),
    masters :: #{pid() => binary()}, % of applications
    busy_us = 0 :: non_neg_integer(), % work in the previous slices
    walked = 0 :: non_neg_integer(),
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

%% The caller, which is linked to it, gets {chosen, Chooser, [chosen()], Figures, ns of work}.
-spec start(who(), kprof_hazard:vm()) -> pid().
start(Who, Vm) -> spawn_opt(?MODULE, init, [self(), Who, Vm], [link]).

%% Those of these processes that may be sampled, in the calling process. Masters: of applications.
-spec described([pid()], kprof_hazard:vm(), #{pid() => binary()}) -> [chosen()].
described([], _, _) ->
    [];
described(Pids, Vm, Masters) ->
    element(1, described(Pids, [], ?STEP, #c{vm = Vm, slice = kprof_flags:slice(), masters = Masters})).

-spec init(pid(), who(), kprof_hazard:vm()) -> term().
init(Leader, Who, Vm) ->
    C0 = #c{vm = Vm, slice = kprof_flags:slice(), masters = masters()},
    {Pids, Matched, C1} = candidates(Who, C0),
    {Chosen, C2} = described(Pids, [], ?STEP, C1),
    C = worked(C2),
    Kept = lists:sublist(Chosen, most(Who)),
    unlink(Leader),
    Leader ! {chosen, self(), Kept, #{matched => max(length(Kept), Matched), held => C#c.held, walked => C#c.walked}, C#c.busy_us * 1000}.

most({top, N, _}) -> N;
most(_) -> ?MOST.

%% ---- Processes that match ----

candidates({pids, L}, C) -> few([pid(Id, Serial) || {Id, Serial} <- lists:sublist(L, ?MOST)], C);
candidates({names, L}, C) -> few([P || Name <- lists:sublist(L, ?MOST), P <- named(Name)], C);
candidates({application, App}, #c{masters = Masters} = C) ->
    Of = [Master || {Master, A} <- maps:to_list(Masters), A =:= App],
    matching(fun(P) -> lists:member(info(P, group_leader), Of) end, C);
candidates({initial_call, {M, F, A}}, C) ->
    case catch {binary_to_existing_atom(M, utf8), binary_to_existing_atom(F, utf8)} of
        {'EXIT', _} -> {[], 0, C};
        {Module, Function} -> matching(fun(P) -> info(P, initial_call) =:= {Module, Function, A} end, C)
    end;
candidates({children, Of}, C) -> family([P || P <- oldest(Of), is_pid(P)], C);
candidates(all, C) -> matching(fun(_) -> true end, C);
candidates({top, N, By}, C) -> top(N + ?OWN, By, source(), [], C).

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

%% A process can be read before its parent: so there are several passes, until one finds nobody.
family([], C) ->
    {[], 0, C};
family([Oldest], C0) ->
    {Family, C} = family(?PASSES, maps:from_list([{Oldest, true}]), C0),
    Seed = erlang:unique_integer(),
    Tossed = lists:sublist(lists:sort([{erlang:phash2({Seed, P}), P} || P <- maps:keys(Family)]), ?MOST),
    {[P || {_, P} <- Tossed], map_size(Family), C}.

family(0, Family, C) ->
    {Family, C};
family(Passes, Before, C0) ->
    case more_family(source(), Before, C0) of
        {Before, C} -> {Before, C};
        {Family, C} -> family(Passes - 1, Family, C)
    end.

more_family(Source0, Family0, C0) ->
    case take(?PIECE, Source0) of
        {[], _} ->
            {Family0, C0};
        {Pids, Source} ->
            {Family, C} = started_by(Family0, Pids, ?STEP, C0),
            more_family(Source, Family, C)
    end.

started_by(Family, [], _, C) ->
    {Family, C};
started_by(Family, Pids, 0, C) ->
    started_by(Family, Pids, ?STEP, rested(C));
started_by(Family, [P | Rest], Left, #c{walked = Walked} = C) ->
    Parent = info(P, parent),
    case map_size(Family) < ?FAMILY andalso is_map_key(Parent, Family) of
        true -> started_by(Family#{P => true}, Rest, Left - 1, C#c{walked = Walked + 1});
        false -> started_by(Family, Rest, Left - 1, C#c{walked = Walked + 1})
    end.

info(P, What) ->
    case process_info(P, What) of
        {_, V} -> V;
        _ -> none
    end.

%% Reads all processes, in pieces. -> {a random part of those that match, the number of those that match, state}
matching(F, C) -> matching(F, source(), [], 0, C).

matching(F, Source0, Found0, N0, C0) ->
    case take(?PIECE, Source0) of
        {[], _} ->
            {[P || {_, P} <- Found0], N0, C0};
        {Pids, Source} ->
            {Found, C} = filter(F, Pids, C0),
            Seed = erlang:unique_integer(),
            Tossed = lists:sublist(lists:sort([{erlang:phash2({Seed, P}), P} || P <- Found] ++ Found0), ?MOST),
            matching(F, Source, Tossed, N0 + length(Found), C)
    end.

filter(F, Pids, C) -> filter(F, Pids, ?STEP, [], C).

filter(_, [], _, Found, C) -> {Found, C};
filter(F, Pids, 0, Found, C) -> filter(F, Pids, ?STEP, Found, rested(C));
filter(F, [P | Rest], Left, Found, #c{walked = Walked} = C0) ->
    C = C0#c{walked = Walked + 1},
    case F(P) of
        true -> filter(F, Rest, Left - 1, [P | Found], C);
        false -> filter(F, Rest, Left - 1, Found, C)
    end.

%% From OTP 28 there is an iterator: a list of a million pids need not be made.
source() ->
    case erlang:function_exported(erlang, processes_iterator, 0) of
        true -> {iterator, apply(erlang, processes_iterator, [])};
        false -> {list, processes()}
    end.

take(N, {list, Pids}) -> split(N, Pids, []);
take(N, {iterator, I}) -> next(N, I, []).

split(N, [P | Rest], Taken) when N > 0 -> split(N - 1, Rest, [P | Taken]);
split(_, Rest, Taken) -> {Taken, {list, Rest}}.

next(0, I, Taken) ->
    {Taken, {iterator, I}};
next(N, I, Taken) ->
    case apply(erlang, processes_next, [I]) of
        {P, More} -> next(N - 1, More, [P | Taken]);
        none -> {Taken, {list, []}}
    end.

%% Yields when a slice is over.
rested(#c{slice = Slice} = C) ->
    case kprof_flags:rest(Slice) of
        Slice -> C;
        Next -> (worked(C))#c{slice = Next}
    end.

worked(#c{slice = {_, Since}, busy_us = Us} = C) -> C#c{busy_us = Us + min(?SLICE_US, erlang:monotonic_time(microsecond) - Since)}.

%% ---- The top processes by a value ----

top(N, By, Source0, Best, C0) ->
    case take(?PIECE, Source0) of
        {[], _} ->
            {[P || {_, P} <- Best], 0, C0};
        {Pids, Source} ->
            {Ranked, C} = ranked(By, Pids, C0),
            top(N, By, Source, lists:sublist(lists:reverse(lists:sort(Ranked ++ Best)), N), C)
    end.

ranked(reductions, Pids, C0) ->
    Began = erlang:monotonic_time(microsecond),
    {Before, C1} = measured(reductions, Pids, C0),
    C2 = worked(C1),
    receive after ?TWICE_MS -> ok end,
    Us = max(1, erlang:monotonic_time(microsecond) - Began),
    {After, C} = measured(reductions, [P || {_, P} <- Before], C2#c{slice = kprof_flags:slice()}),
    {grown(lists:keysort(2, Before), lists:keysort(2, After), Us), C#c{walked = C1#c.walked}};
ranked(By, Pids, C) ->
    measured(By, Pids, C).

%% Growth per second. Both lists are sorted by pid; a process that has died in between is missing in the second list.
grown([{_, P} | Before], [{_, Q} | _] = After, Us) when P =/= Q -> grown(Before, After, Us);
grown([{V, P} | Before], [{W, _} | After], Us) -> [{max(0, W - V) * 1000000 div Us, P} | grown(Before, After, Us)];
grown(_, _, _) -> [].

measured(By, Pids, C) -> measured(By, Pids, ?STEP, [], C).

measured(_, [], _, Got, C) -> {Got, C};
measured(By, Pids, 0, Got, C) -> measured(By, Pids, ?STEP, Got, rested(C));
measured(By, [P | Rest], Left, Got, #c{walked = Walked} = C0) ->
    C = C0#c{walked = Walked + 1},
    case amount(By, P, C) of
        V when is_integer(V) -> measured(By, Rest, Left - 1, [{V, P} | Got], C);
        none -> measured(By, Rest, Left - 1, Got, C)
    end.

amount(reductions, P, _) -> info(P, reductions);
amount(queue, P, C) -> queue(P, C);
amount(By, P, C) ->
    case queue(P, C) of
        N when is_integer(N), N > ?LONG -> info(P, heap_size);
        _ -> of_heaps(By, info(P, garbage_collection_info))
    end.

of_heaps(memory, Info) when is_list(Info) -> sum([old_heap_block_size, heap_block_size, mbuf_size], Info);
of_heaps(binary, Info) when is_list(Info) -> sum([bin_vheap_size, bin_old_vheap_size], Info);
of_heaps(_, _) -> none.

sum(Keys, Info) -> lists:sum([V || K <- Keys, {_, V} <- [lists:keyfind(K, 1, Info)]]).

queue(P, #c{vm = Vm}) ->
    case may_ask_queue(P, Vm) of
        true -> info(P, message_queue_len);
        false -> none
    end.

may_ask_queue(P, Vm) -> kprof_hazard:allowed(sample_queue, Vm) orelse info(P, message_queue_data) =:= on_heap.

%% ---- Data about the chosen processes ----

described([], Chosen, _, C) ->
    {lists:reverse(Chosen), C};
described(Pids, Chosen, 0, C) ->
    described(Pids, Chosen, ?STEP, rested(C));
described([P | Rest], Chosen, Left, #c{held = Held} = C) ->
    case process_info(P, [registered_name, initial_call, group_leader, heap_size]) of
        [{_, Name}, {_, First}, {_, Leader}, _] ->
            case is_agents(First) orelse is_agents(Name) orelse is_held(P, C) of
                held -> described(Rest, Chosen, Left - 1, C#c{held = Held + 1});
                true -> described(Rest, Chosen, Left - 1, C);
                false -> described(Rest, [describe(P, Name, First, Leader, C) | Chosen], Left - 1, C)
            end;
        _ ->
            described(Rest, Chosen, Left - 1, C)
    end.

describe(P, Name, First, Leader, #c{vm = Vm, masters = Masters}) ->
    Queue = may_ask_queue(P, Vm),
    Heaps = not (Queue andalso is_long(info(P, message_queue_len))),
    {P, if is_atom(Name) -> Name; true -> 0 end, First, maps:get(Leader, Masters, <<>>), Queue, Heaps, element(1, First) =:= proc_lib}.

%% Whether the queue is so long that the sizes of heaps are not read. To read them, the VM walks the messages (5 ms
%% for a million).
-spec is_long(term()) -> boolean().
is_long(N) -> is_integer(N) andalso N > ?LONG.

%% -> false | held
is_held(P, #c{vm = Vm}) ->
    case kprof_hazard:allowed(sample_large, Vm) of
        true -> false;
        false -> held(info(P, garbage_collection_info))
    end.

held(Info) when is_list(Info) ->
    case is_large(sum([old_heap_block_size, heap_block_size], Info)) of
        true -> held;
        false -> false
    end;
held(_) ->
    false.

%% The heap in words.
-spec is_large(integer()) -> boolean().
is_large(Words) -> Words > ?LARGE.

%% Whether this is a module, or a registered name, of an agent in any slot.
is_agents({M, _, _}) -> is_agents(M);
is_agents(Name) when is_atom(Name) -> kprof_catalog:agent(Name);
is_agents(_) -> false.

%% A process belongs to the application whose master leads its group.
-spec masters() -> #{pid() => binary()}.
masters() ->
    maps:from_list([
        {Master, atom_to_binary(App, utf8)}
     || {App, _, _} <- application:loaded_applications(), Master <- [application_controller:get_master(App)], is_pid(Master)
    ]).
