%% Queries processes for their stacks: one query per sample. A running process answers at its next yield, and the
%% worker waits until then; so there are several workers, which take the processes of a round one by one from a common
%% list.
%% Invariant: only values that kprof_stack_choice allows for a process are read. After the deadline of a round no
%% process is queried; a later answer is used, and counted as late.
-module(kprof_stack_worker).
-agent(tools).
-calls_stay([even/2, odd/2]).
-export([start/0, init/2, claimed/1, depth/0, probe/1, first_call/1]).
-export_type([asked/0, result/0, worker/0]).

-type worker() :: {pid(), atomics:atomics_ref()}.
%% {Number, Pid, whether its queue length may be read, whether its heap sizes may be read, whether its initial call is needed}
-type asked() :: {non_neg_integer(), pid(), boolean(), boolean(), boolean()}.
-type result() ::
    {non_neg_integer(), integer(), non_neg_integer(), 0..6, kprof_stack_table:stack(), tuple()}
    | {first_call, non_neg_integer(), mfa()}
    | {dead | own, non_neg_integer()}.

-define(NAME_HEAP, 100000). % words: the dictionary of a larger process is not copied
-define(FILES, 1000).
-define(DEEP, 600).

-record(w, {
    leader :: pid(), % the sampler
    own :: module(), % the agent's
    mine :: atomics:atomics_ref(), % number of processes of this round that it has taken
    files = #{} :: #{module() => {string(), binary()}} % file of each module, as text and as a binary: converted once
}).

%% Called by the sampler; the worker ends with it.
-spec start() -> worker().
start() ->
    Mine = atomics:new(1, []),
    {spawn_opt(?MODULE, init, [self(), Mine], [link, kprof_walk:heap()]), Mine}.

%% The number of processes that the worker has taken in its round; they count as skipped if it is killed.
-spec claimed(worker()) -> non_neg_integer().
claimed({_, Mine}) -> atomics:get(Mine, 1).

%% The number of functions of a stack that the node reports. Its backtrace_depth can be set but not read, so this
%% reads the stack of a process of the agent that is deep enough.
-spec depth() -> pos_integer().
depth() ->
    P = spawn_opt(?MODULE, probe, [self()], [link, kprof_walk:heap()]),
    receive {deep, P} -> ok end,
    {_, Trace} = process_info(P, current_stacktrace),
    unlink(P),
    exit(P, kill),
    max(1, length(Trace)).

-spec probe(pid()) -> term().
probe(Asker) -> [even(?DEEP, Asker)].

%% Two functions that call each other: for a function that calls itself the VM reports one frame only.
even(0, Asker) ->
    Asker ! {deep, self()},
    receive never_sent -> ok end;
even(N, Asker) -> [odd(N - 1, Asker)].

odd(N, Asker) -> [even(N, Asker)].

-spec init(pid(), atomics:atomics_ref()) -> no_return().
init(Leader, Mine) -> loop(#w{leader = Leader, mine = Mine, own = ?MODULE:module_info(module)}).

loop(#w{leader = Leader} = W0) ->
    receive
        {round, Round, Asked, Next, Until, Depth} ->
            atomics:put(W0#w.mine, 1, 0),
            {Results, Skipped, Late, W} = in_round(Asked, Next, Until, Depth, [], 0, 0, W0),
            atomics:put(W#w.mine, 1, 0),
            Leader ! {sampled, self(), Round, Results, Skipped, Late},
            loop(W);
        _ ->
            loop(W0)
    end.

in_round(Asked, Next, Until, Depth, Results, Skipped, Late, W) ->
    I = atomics:add_get(Next, 1, 1),
    if
        I > tuple_size(Asked) ->
            {Results, Skipped, Late, W};
        true ->
            atomics:add(W#w.mine, 1, 1),
            erlang:yield(), % a round begins with a tick of the timer wheel, which also wakes other processes: these run first
            Before = erlang:monotonic_time(),
            case Before > Until of
                true ->
                    in_round(Asked, Next, Until, Depth, Results, Skipped + 1, Late, W);
                false ->
                    {Got, W1} = sample(element(I, Asked), Before, Depth, W),
                    More = case erlang:monotonic_time() > Until of true -> 1; false -> 0 end,
                    in_round(Asked, Next, Until, Depth, Got ++ Results, Skipped, Late + More, W1)
            end
    end.

sample({N, P, Queue, Gc, First}, Before, Depth, W) ->
    case process_info(P, items(Queue, Gc)) of
        undefined ->
            {[{dead, N}], W};
        [{_, Status}, {_, Trace}, {_, Reductions} | More] ->
            At = erlang:monotonic_time(),
            case is_own(Trace, W#w.own) of
                true ->
                    {[{own, N}], W};
                false ->
                    {Frames, W1} = frames(Trace, W),
                    Cut = if length(Trace) >= Depth -> 1; true -> 0 end,
                    Sample = {N, At, erlang:monotonic_time() - Before, kprof_proc:status(Status), {Cut, Frames}, values(Reductions, More)},
                    {[Sample | [{first_call, N, MFA} || First, MFA <- first_call(P)]], W1}
            end
    end.

items(Queue, Gc) ->
    [status, current_stacktrace, reductions | [message_queue_len || Queue] ++ [What || Gc, What <- [garbage_collection_info, garbage_collection]]].

%% In the order of PROTOCOL.md; -1: not read.
values(Reductions, [{message_queue_len, Queue} | Gc]) -> list_to_tuple([Reductions, Queue | gc(Gc)]);
values(Reductions, Gc) -> list_to_tuple([Reductions, -1 | gc(Gc)]).

gc([]) ->
    [];
gc([{_, Info}, {_, Gc}]) ->
    [value(K, Info) || K <- gc_names()] ++ [value(minor_gcs, Gc)].

gc_names() ->
    [
        old_heap_block_size, heap_block_size, mbuf_size, recent_size, stack_size, old_heap_size, heap_size, bin_vheap_size, bin_vheap_block_size,
        bin_old_vheap_size, bin_old_vheap_block_size
    ].

value(K, L) ->
    case lists:keyfind(K, 1, L) of
        {_, V} when is_integer(V) -> V;
        _ -> -1
    end.

%% Whether this is a process of the agent that was not recognized when it was chosen.
is_own([{M, _, _, _} | _], M) -> true;
is_own([_ | Frames], M) -> is_own(Frames, M);
is_own([], _) -> false.

frames([], W) ->
    {[], W};
frames([{M, F, A, Where} | Rest], W0) ->
    {File, Line, W1} = place(M, Where, W0),
    {Frames, W} = frames(Rest, W1),
    Arity = if is_list(A) -> length(A); true -> A end,
    {[{M, F, Arity, Line, File} | Frames], W}.

place(M, [{file, Text}, {line, Line}], #w{files = Files} = W) ->
    case Files of
        #{M := {Text, File}} ->
            {File, Line, W};
        _ ->
            File = unicode:characters_to_binary(Text),
            Kept = if map_size(Files) < ?FILES -> Files; true -> #{} end,
            {File, Line, W#w{files = Kept#{M => {Text, File}}}}
    end;
place(_, _, W) ->
    {<<>>, 0, W}.

%% The function that proc_lib started the process with. OTP 27 can read one key of a process dictionary; before OTP 27,
%% all of the dictionary is copied.
-dialyzer({nowarn_function, first_call/1}). % the OTP that dialyzer reads may not know the item
-spec first_call(pid()) -> [mfa()].
first_call(P) ->
    case catch process_info(P, {dictionary, '$initial_call'}) of
        {_, {M, F, A}} when is_atom(M), is_atom(F), is_integer(A) -> [{M, F, A}];
        {'EXIT', _} -> translated(P, process_info(P, heap_size));
        _ -> []
    end.

translated(P, {_, Words}) when Words < ?NAME_HEAP ->
    case catch proc_lib:translate_initial_call(P) of
        {M, F, A} when is_atom(M), is_atom(F), is_integer(A) -> [{M, F, A}];
        _ -> []
    end;
translated(_, _) ->
    [].
