%% One round of the process table: reads all processes in slices, ranks them by a column, adds them up by initial call and by
%% application, and asks the top processes for their current function. A process of its own, for each round.
%%
%% Known, an ets table, has a row for each process as it was in the round before:
%%   {Pid, Round, Reductions, Queue, MinorGcs, Words, BinaryWords, Statuses, Call, App, whether the length of its queue may be
%%    read, whether Call is final}
%%   {Pid, Round, own}: of an agent
%% and the names of the groups: {{call | app, Name}, Number}, {{call | app, number, Number}, Name}, {call | app, how many}.
%%
%% Invariant: the top processes are asked by other processes, which have ?ANSWER_MS. The values of a running process arrive at
%% its next yield, and the round waits for that; processes of which this is known to take long are left out. The sizes of heaps are
%% read only where reductions or queue have changed. At
%% most ?KNOWN processes are compared with the round before, at most ?CALLS initial calls and ?APPS applications are told
%% apart.
-module(kprof_process_round).
-agent(tools).
-export([start/1, init/2, known/0, forget/1, is_column/1]).
-export_type([order/0, wanted/0, told/0]).

-type column() :: reductions | memory | queue | growth | binary | gcs.
-type group() :: all | {initial_call, {binary(), binary(), arity()}} | {application, binary()}.
-type wanted() :: #{by := column(), rows := pos_integer(), within := group()}.
%% number: 1, 2, ...; before_us: when the round before began (us); without: those that are stuck are not read, and count as late
-type order() :: #{
    known := ets:tid(), number := pos_integer(), before_us := integer(), wanted := wanted(), without := kprof_stuck:without(), vm := kprof_hazard:vm()
}.
%% The rows, the groups by initial call, those by application, figures (PROTOCOL.md, "Processes").
-type told() :: {[tuple()], [tuple()], [tuple()], #{atom() => integer()}}.

-define(KNOWN, 300000).
-define(CALLS, 1000).
-define(APPS, 300).
-define(GROUPS, 200). % that are reported; the others are summed up
-define(ASKED, 200). % of unnamed processes in a round
-define(ANSWER_MS, 500).
-define(DEPTH, 8). % the VM's default backtrace_depth
-define(FIELDS, 7). % of a group
-define(HISTORY, 16#1ffffffffffffff). % 57 bits: the statuses of 19 rounds

-record(r, {
    known :: ets:tid(),
    number :: pos_integer(),
    without :: kprof_stuck:without(),
    vm :: kprof_hazard:vm(),
    masters :: #{pid() => binary()},
    sums :: counters:counters_ref(),
    column :: 2..7, % of a group
    within :: all | none | {9 | 10, non_neg_integer()}, % place in a row, number of the group
    full :: boolean(), % not all processes of the round before are known
    top :: kprof_rank:rank(), % of {Pid, growth in reductions, queue and collections since the round before}
    unnamed = [] :: [pid()],
    n_unnamed = 0 :: non_neg_integer(),
    asked_ns = 0 :: non_neg_integer(), % cost of the queries
    processes = 0 :: non_neg_integer(),
    born = 0 :: non_neg_integer()
}).

-spec is_column(term()) -> boolean().
is_column(By) -> lists:member(By, [reductions, memory, queue, growth, binary, gcs]).

%% ---- What was known ----

-spec known() -> ets:tid().
known() -> ets:new(kprof_known, [set, public]).

-spec forget(ets:tid()) -> true.
forget(Known) -> ets:delete_all_objects(Known).

%% ---- A round ----

%% The caller, who is linked to it, gets {round, Round, BeganUs, told(), ns that it has worked}, or
%% {no_round, Round}: the node had no room for a process. none: it has none for the round.
-spec start(order()) -> none | pid().
start(Order) -> kprof_node:if_room(fun() -> spawn_opt(?MODULE, init, [self(), Order], [link, kprof_walk:heap()]) end).

-spec init(pid(), order()) -> term().
init(Leader, #{known := Known, number := Number, before_us := Before, vm := Vm, without := Without, wanted := #{by := By, rows := Most, within := Within}}) ->
    Began = erlang:monotonic_time(microsecond),
    R0 = #r{
        known = Known, number = Number, without = Without, vm = Vm, masters = kprof_walk:masters(), sums = counters:new(?FIELDS * (?CALLS + ?APPS + 2), []),
        column = place(By), within = within(Within, Known), full = ets:info(Known, size) >= ?KNOWN, top = kprof_rank:new(Most)
    },
    {Source, W0} =
        case kprof_node:if_room(fun() -> kprof_walk:source(kprof_walk:new()) end) of
            none -> unlink(Leader), Leader ! {no_round, self()}, exit(normal);
            Started -> Started
        end,
    {R1, W1} = walk(Source, R0, W0),
    Died = swept(R1),
    {Rows, Late, R, W3} = described(R1, W1),
    {Calls, W4} = groups(call, R, W3),
    {Apps, W} = groups(app, R, W4),
    Figures = #{
        processes => R#r.processes, born => if Number > 1 -> R#r.born; true -> 0 end, died => Died, late => Late + length([P || {P, stuck} <- maps:to_list(Without)]),
        unnamed => R#r.n_unnamed, between_us => if Number > 1 -> Began - Before; true -> 0 end,
        round_us => erlang:monotonic_time(microsecond) - Began
    },
    unlink(Leader),
    Leader ! {round, self(), Began, {Rows, Calls, Apps, Figures}, kprof_walk:busy_ns(W) + R#r.asked_ns}.

walk(Source, R0, W0) ->
    case kprof_walk:take(Source, W0) of
        {[], W} ->
            {R0, W};
        {Pids, W1} ->
            {R, W} = kprof_walk:each(fun visit/2, R0, Pids, W1),
            walk(Source, R, W)
    end.

visit(P, R) when P =:= self() -> R;
visit(P, #r{without = Without} = R) when map_get(P, Without) =:= stuck -> R;
visit(P, #r{known = Known, vm = Vm, number = Number} = R) ->
    case ets:lookup(Known, P) of
        [{_, _, own}] ->
            ets:update_element(Known, P, {2, Number}),
            R;
        Had ->
            Row = case Had of [Is] -> Is; [] -> none end,
            taken(P, Row, facts(P, Row, Vm), R)
    end.

asked_apart(Ask) ->
    kprof_proc:ask_later(fun() ->
        Began = erlang:monotonic_time(nanosecond),
        Answer = Ask(),
        {Answer, erlang:monotonic_time(nanosecond) - Began}
    end).

%% -> {[{Key, Answer | late}], state, walk}; waiting does not count as work
answers(Asked, R, W0) ->
    {Got, W} = kprof_walk:idle(
        fun() ->
            Until = erlang:monotonic_time(millisecond) + ?ANSWER_MS,
            [{Key, kprof_proc:got(One, Until, {late, none})} || {Key, One} <- Asked]
        end,
        W0
    ),
    Each = kprof_stack_rate:each([Ns || {_, {_, Ns}} <- Got, is_integer(Ns)], 0),
    {[{Key, Answer} || {Key, {Answer, _}} <- Got], R#r{asked_ns = R#r.asked_ns + Each * length(Got)}, W}.

%% ---- What the VM reports about a process ----

%% -> {Status, Reductions, Queue | -1, {Words, BinaryWords | -1, MinorGcs | -1} | same, {FirstCall, Leader, May its queue be asked} | same}
%% | own | dead
facts(P, none, Vm) ->
    case process_info(P, [initial_call, registered_name, group_leader]) of
        [{_, First}, {_, Name}, {_, Leader}] ->
            case kprof_walk:is_agents(First) orelse kprof_walk:is_agents(Name) of
                true ->
                    own;
                false ->
                    May = kprof_walk:may_ask_queue(P, Vm),
                    with_heaps(P, read(P, May), none, {First, Leader, May})
            end;
        undefined ->
            dead
    end;
facts(P, Row, Vm) ->
    case read(P, element(11, Row)) of
        {_, Reductions, _} when Reductions < element(3, Row) -> facts(P, none, Vm); % another process with its pid
        Now -> with_heaps(P, Now, {element(3, Row), element(4, Row)}, same)
    end.

read(P, true) ->
    case process_info(P, [status, reductions, message_queue_len]) of
        [{_, Status}, {_, Reductions}, {_, Queue}] -> {kprof_proc:status(Status), Reductions, Queue};
        undefined -> dead
    end;
read(P, false) ->
    case process_info(P, [status, reductions]) of
        [{_, Status}, {_, Reductions}] -> {kprof_proc:status(Status), Reductions, -1};
        undefined -> dead
    end.

with_heaps(_, dead, _, _) -> dead;
with_heaps(_, {Status, Reductions, Queue}, {Reductions, Queue}, Who) -> {Status, Reductions, Queue, same, Who};
with_heaps(P, {Status, Reductions, Queue}, _, Who) ->
    case heaps(P, kprof_walk:is_long(Queue)) of
        dead -> dead;
        Heaps -> {Status, Reductions, Queue, Heaps, Who}
    end.

heaps(P, true) ->
    case process_info(P, heap_size) of
        {_, Words} -> {Words, -1, -1};
        undefined -> dead
    end;
heaps(P, false) ->
    case process_info(P, [garbage_collection_info, garbage_collection]) of
        [{_, Info}, {_, Gc}] ->
            {_, Minor} = lists:keyfind(minor_gcs, 1, Gc),
            {kprof_walk:of_heaps(memory, Info), kprof_walk:of_heaps(binary, Info), Minor};
        undefined ->
            dead
    end.

%% ---- Adding a process to the table ----

taken(_, _, dead, R) ->
    R;
taken(P, _, own, #r{known = Known, number = Number} = R) ->
    ets:insert(Known, {P, Number, own}),
    R;
taken(P, _, {Status, Reductions, Queue, {Words, Binary, Gcs}, {First, Leader, May}}, #r{masters = Masters, known = Known} = R) ->
    Row = {
        P, R#r.number, Reductions, Queue, Gcs, Words, Binary, Status, number(call, First, Known), number(app, maps:get(Leader, Masters, <<>>), Known), May,
        First =/= {erlang, apply, 2} andalso element(1, First) =/= proc_lib
    },
    born(P, Row, R);
taken(P, Had, {Status, Reductions, Queue, Heaps, same}, R) ->
    {Words, Binary, Gcs} = if Heaps =:= same -> {element(6, Had), element(7, Had), element(5, Had)}; true -> Heaps end,
    Row = {
        P, R#r.number, Reductions, Queue, Gcs, Words, Binary, ((element(8, Had) bsl 3) bor Status) band ?HISTORY, element(9, Had), element(10, Had),
        element(11, Had), element(12, Had)
    },
    counted(P, Row, {Reductions - element(3, Had), Queue - element(4, Had), collections(element(5, Had), Gcs)}, R).

%% A new process: all its values are changes since the last round, unless it was not stored then, because it was stuck or the table
%% was full.
born(P, Row, #r{without = Without} = R) when is_map_key(P, Without) ->
    counted(P, Row, {0, 0, 0}, R);
born(P, Row, #r{full = false, born = N} = R) ->
    counted(P, Row, {element(3, Row), max(0, element(4, Row)), max(0, element(5, Row))}, R#r{born = N + 1});
born(P, Row, #r{known = Known, processes = N} = R) ->
    case ets:info(Known, size) >= ?KNOWN of
        false -> counted(P, Row, {0, 0, 0}, R);
        true -> added(Row, {0, 0, 0}, R#r{processes = N + 1})
    end.

%% minor_gcs counts from the last major collection: after one, there were at least this many.
collections(Before, Now) when Before < 0; Now < 0 -> -1;
collections(Before, Now) when Now >= Before -> Now - Before;
collections(_, Now) -> Now + 1.

counted(P, Row, Growth, #r{known = Known, processes = N} = R) ->
    ets:insert(Known, Row),
    ranked(P, Row, Growth, unnamed(P, Row, added(Row, Growth, R#r{processes = N + 1}))).

added(Row, Growth, R) ->
    add(element(9, Row), Row, Growth, R),
    add(?CALLS + 1 + element(10, Row), Row, Growth, R),
    R.

add(Group, Row, {Reductions, Queue, Gcs}, #r{sums = Sums, number = Number}) ->
    At = Group * ?FIELDS,
    counters:add(Sums, At + 1, 1),
    Number > 1 andalso plus(Sums, At + 2, Reductions),
    plus(Sums, At + 3, max(0, element(4, Row))),
    Number > 1 andalso plus(Sums, At + 4, Queue),
    plus(Sums, At + 5, element(6, Row)),
    plus(Sums, At + 6, max(0, element(7, Row))),
    Number > 1 andalso plus(Sums, At + 7, max(0, Gcs)).

plus(_, _, 0) -> ok;
plus(Sums, At, V) -> counters:add(Sums, At, V).

unnamed(_, Row, R) when element(12, Row) -> R;
unnamed(P, _, #r{n_unnamed = N, unnamed = Unnamed} = R) when N < ?ASKED -> R#r{n_unnamed = N + 1, unnamed = [P | Unnamed]};
unnamed(_, _, #r{n_unnamed = N} = R) -> R#r{n_unnamed = N + 1}.

%% ---- On top ----

place(reductions) -> 2;
place(queue) -> 3;
place(growth) -> 4;
place(memory) -> 5;
place(binary) -> 6;
place(gcs) -> 7.

%% In the first round no value per second is known: processes are ranked by the totals.
value(2, 1, Row, _) -> element(3, Row);
value(2, _, _, {Reductions, _, _}) -> Reductions;
value(3, _, Row, _) -> element(4, Row);
value(4, 1, Row, _) -> element(4, Row);
value(4, _, _, {_, Queue, _}) -> Queue;
value(5, _, Row, _) -> element(6, Row);
value(6, _, Row, _) -> element(7, Row);
value(7, 1, Row, _) -> element(5, Row);
value(7, _, _, {_, _, Gcs}) -> Gcs.

ranked(_, _, _, #r{within = none} = R) -> R;
ranked(_, Row, _, #r{within = {At, Number}} = R) when element(At, Row) =/= Number -> R;
ranked(P, Row, Growth, #r{column = Column, number = Number, top = Top} = R) ->
    R#r{top = kprof_rank:add(value(Column, Number, Row, Growth), {P, Growth}, Top)}.

%% Processes that are not among the top ones, and whose initial call is not final yet, are asked, too, if a signal to any
%% process is safe on this VM. Their answers are for the next round. -> {rows, how many have not answered, state, walk}
described(R0, W0) ->
    #r{top = Rank, unnamed = Unnamed} = R0,
    Top = [Item || {_, Item} <- kprof_rank:best(Rank)],
    Growths = maps:from_list(Top),
    More = case kprof_hazard:allowed(sample_large, R0#r.vm) of
        true -> lists:sublist([P || P <- Unnamed, not maps:is_key(P, Growths)], max(0, ?ASKED - length(Top)));
        false -> []
    end,
    {Asked, W1} = kprof_walk:each(fun(P, Asked) -> asked(P, R0, Asked) end, [], [P || {P, _} <- Top] ++ More, W0),
    {Answers, R, W} = answers(Asked, R0, W1),
    lists:foreach(fun({P, Answer}) -> named(P, Answer, R#r.known) end, Answers),
    Late = length([late || {_, late} <- Answers]),
    Told = maps:from_list(Answers),
    {[row(P, Growth, maps:get(P, Told, late), R) || {P, Growth} <- Top], Late, R, W}.

asked(P, #r{known = Known, vm = Vm}, Asked) ->
    case ets:lookup(Known, P) of
        [Row] ->
            case kprof_walk:is_large(element(6, Row)) andalso not kprof_hazard:allowed(sample_large, Vm) of
                true -> Asked;
                false -> [{P, One} || One <- [kprof_node:if_room(fun() -> asked_apart(fun() -> answer(P, element(12, Row)) end) end)], One =/= none] ++ Asked
            end;
        [] ->
            Asked
    end.

%% In a process of its own. -> {Name | 0, current function | 0, initial call | 0} | late
answer(P, true) ->
    case process_info(P, [registered_name, current_function]) of
        [{_, Name}, {_, Now}] -> {name(Name), if tuple_size(Now) =:= 3 -> Now; true -> 0 end, 0};
        undefined -> late
    end;
answer(P, false) ->
    case process_info(P, [registered_name, current_stacktrace, initial_call]) of
        [{_, Name}, {_, Frames}, {_, {proc_lib, _, _}}] -> {name(Name), present(Frames), case kprof_stack_worker:first_call(P) of [MFA] -> MFA; [] -> 0 end};
        [{_, Name}, {_, Frames}, _] -> {name(Name), present(Frames), outermost(Frames)};
        undefined -> late
    end.

name(Name) when is_atom(Name) -> Name;
name([]) -> 0.

present([Frame | _]) -> function(Frame);
present([]) -> 0.

%% The VM has no name for a fun. A longer stack may be cut.
outermost([_ | _] = Frames) when length(Frames) < ?DEPTH -> function(lists:last(Frames));
outermost(_) -> 0.

function({M, F, Arguments, _}) when is_list(Arguments) -> {M, F, length(Arguments)};
function({M, F, Arity, _}) -> {M, F, Arity}.

%% The initial call of a process that has answered is final. The sums of this round still count it under the former one.
named(_, late, _) ->
    ok;
named(P, {_, _, First}, Known) ->
    First =/= 0 andalso ets:update_element(Known, P, {9, number(call, First, Known)}),
    ets:update_element(Known, P, {12, true}).

row(P, {Reductions, Queue, Gcs}, Answer, #r{known = Known}) ->
    {Name, Now} = case Answer of late -> {0, 0}; {N, F, _} -> {N, F} end,
    case ets:lookup(Known, P) of
        [{_, _, Total, Length, _, Words, Binary, Statuses, Call, App, _, _}] ->
            {P, Name, name(call, Call, Known), name(app, App, Known), Now, {Total, Reductions, Length, Queue, Words, Binary, Gcs, Statuses}};
        [] ->
            {P, Name, 0, <<>>, Now, {-1, Reductions, -1, Queue, -1, -1, Gcs, 0}}
    end.

%% ---- Groups ----

most(call) -> ?CALLS;
most(app) -> ?APPS.

%% 0: there are too many.
number(Kind, Name, Known) ->
    case ets:lookup(Known, {Kind, Name}) of
        [{_, Number}] ->
            Number;
        [] ->
            N = count(Kind, Known),
            case N >= most(Kind) of
                true ->
                    0;
                false ->
                    ets:insert(Known, [{Kind, N + 1}, {{Kind, Name}, N + 1}, {{Kind, number, N + 1}, Name}]),
                    N + 1
            end
    end.

count(Kind, Known) ->
    case ets:lookup(Known, Kind) of
        [{_, N}] -> N;
        [] -> 0
    end.

name(Kind, Number, Known) ->
    case ets:lookup(Known, {Kind, number, Number}) of
        [{_, Name}] -> Name;
        [] when Kind =:= call -> 0;
        [] -> <<>>
    end.

within(all, _) -> all;
within({application, App}, Known) -> {10, number(app, App, Known)};
within({initial_call, {M, F, A}}, Known) ->
    try {9, number(call, {binary_to_existing_atom(M, utf8), binary_to_existing_atom(F, utf8), A}, Known)}
    catch error:badarg -> none
    end.

%% -> {[{Name | other, sums}], walk}: those with the most, and the others together
groups(Kind, #r{known = Known, column = Column} = R, W0) ->
    Base = if Kind =:= call -> 0; true -> ?CALLS + 1 end,
    {All, W} = kprof_walk:each(fun(Number, Got) -> sums(Base + Number, Number, R, Got) end, [], lists:seq(0, count(Kind, Known)), W0),
    Sorted = lists:reverse(lists:keysort(1, [{element(Column, Sums), Number, Sums} || {Number, Sums} <- All])),
    {Most, Rest} = lists:split(min(?GROUPS, length(Sorted)), [{Number, Sums} || {_, Number, Sums} <- Sorted]),
    Others = [Sums || {_, Sums} <- Rest] ++ [Sums || {0, Sums} <- Most],
    {[{name(Kind, Number, Known), Sums} || {Number, Sums} <- Most, Number > 0] ++ [{other, together(Others)} || Others =/= []], W}.

sums(Group, Number, #r{sums = Sums}, Got) ->
    At = Group * ?FIELDS,
    case counters:get(Sums, At + 1) of
        0 -> Got;
        N -> [{Number, list_to_tuple([N | [counters:get(Sums, At + I) || I <- lists:seq(2, ?FIELDS)]])} | Got]
    end.

together([First | Rest]) -> lists:foldl(fun(Sums, Sum) -> list_to_tuple([A + B || {A, B} <- lists:zip(tuple_to_list(Sums), tuple_to_list(Sum))]) end, First, Rest).

%% ---- Processes that have ended ----

%% Rows of processes that were not there in this round. -> how many. The VM deletes them in slices of its own.
swept(#r{known = Known, number = Number}) ->
    Gone = [{'=/=', '$1', Number}],
    ets:select_delete(Known, [{{'_', '$1', own}, Gone, [true]}]),
    ets:select_delete(Known, [{{'_', '$1', '_', '_', '_', '_', '_', '_', '_', '_', '_', '_'}, Gone, [true]}]).
