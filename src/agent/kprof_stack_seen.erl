%% The processes that run calls of traced requests, from what the relay has traced: those in which a call of a tier began or
%% returned in the last ?SEEN_MS, or whose last event is a call (it may be open) in the last ?OPEN_MS. Pure.
%%
%% Invariant: at most ?MOST processes are kept. If there are more, only one in `thin` is kept, by a hash of its pid: so
%% processes that live long and those that live for milliseconds have the same chance, and each stands for `thin`.
-module(kprof_stack_seen).
-agent(tools).
-export([new/1, seen/3, left/2, forget/2, thin/1, size/1]).
-export_type([seen/0, event/0]).

%% Is the event a call?
-type event() :: {pid(), boolean()}.

-define(MOST, 1000).
-define(SEEN_MS, 2000).
-define(OPEN_MS, 60000).

-record(seen, {
    seed :: term(),
    thin = 1 :: pos_integer(),
    last = #{} :: #{pid() => {integer(), boolean()}} % time (ms) and kind of its last event
}).
-opaque seen() :: #seen{}.

-spec new(term()) -> seen().
new(Seed) -> #seen{seed = Seed}.

%% One process in this many is kept.
-spec thin(seen()) -> pos_integer().
thin(#seen{thin = Thin}) -> Thin.

-spec size(seen()) -> non_neg_integer().
size(#seen{last = Last}) -> map_size(Last).

%% Events, newest first. -> {processes that are new, processes that are no longer kept, table}
-spec seen([event()], integer(), seen()) -> {[pid()], [pid()], seen()}.
seen(Events, Now, S0) ->
    {New, S1} = lists:foldr(fun({P, Call}, Acc) -> one(P, Call, Now, Acc) end, {[], S0}, Events),
    case thinned([], S1) of
        {[], S} -> {New, [], S};
        {Left, S} -> {[P || P <- New, is_map_key(P, S#seen.last)], Left, S}
    end.

one(P, Call, Now, {New, #seen{last = Last} = S}) ->
    case is_map_key(P, Last) of
        true -> {New, S#seen{last = Last#{P := {Now, Call}}}};
        false ->
            case is_kept(P, S) of
                true -> {[P | New], S#seen{last = Last#{P => {Now, Call}}}};
                false -> {New, S}
            end
    end.

is_kept(_, #seen{thin = 1}) -> true;
is_kept(P, #seen{thin = Thin, seed = Seed}) -> erlang:phash2({Seed, P}, Thin) =:= 0.

%% A process that is kept as one in 2 * N is also kept as one in N.
thinned(Left, #seen{last = Last} = S) when map_size(Last) =< ?MOST -> {Left, S};
thinned(Left, #seen{last = Last, thin = Thin} = S0) ->
    S = S0#seen{thin = 2 * Thin},
    {Stay, Go} = lists:partition(fun({P, _}) -> is_kept(P, S) end, maps:to_list(Last)),
    thinned([P || {P, _} <- Go] ++ Left, S#seen{last = maps:from_list(Stay)}).

%% Removes the processes that were last seen too long ago. -> {these processes, table}
-spec left(integer(), seen()) -> {[pid()], seen()}.
left(Now, #seen{last = Last, thin = Thin} = S) ->
    Left = [P || {P, {At, Call}} <- maps:to_list(Last), Now - At > case Call of true -> ?OPEN_MS; false -> ?SEEN_MS end],
    Rest = maps:without(Left, Last),
    {Left, S#seen{last = Rest, thin = if Thin > 1, map_size(Rest) * 4 < ?MOST -> Thin div 2; true -> Thin end}}.

%% The process is dead.
-spec forget(pid(), seen()) -> seen().
forget(P, #seen{last = Last} = S) -> S#seen{last = maps:remove(P, Last)}.
