%% The functions that have a pattern of the agent, as a value: #{MFA => pending | {Spec, Spec as the VM returns it}}; pending: it
%% may have one. The controller shares it with the relay before it changes the VM, so that the surviving process can clean up.
%% Below OTP 27 a function has one pattern: patterns of other tracers are not changed.
-module(kprof_patterns).
-export([set/4, put/2, put_fast/3, replace/3, clear/2, left/2, lost/2, silent/3, missing/2, versions/1, held_back/2, held/2, taken/3, matched/3]).
-export_type([set/0, taken/0]).

-type set() :: #{mfa() => pending | {kprof_spec:match_spec(), term()}}.
%% Tiers that get no pattern.
-type taken() :: [{kprof_spec:ix(), mfa(), {note, binary()} | kprof_spec:match_spec()}].

%% Specs: [{Ix, MFA, Spec}]: sets the patterns that differ, removes those that are not in Specs. Before(Set) is called with all
%% patterns that may be set from then on. -> {Set, [{MFA, Why}] that cannot be set}
-spec set(kprof_spec:session(), kprof_spec:compiled(), set(), fun((set()) -> term())) -> {set(), [{mfa(), term()}]}.
set(Session, Specs, Set, Before) ->
    Wanted = maps:from_list([{MFA, Spec} || {_, MFA, Spec} <- Specs]),
    Gone = [MFA || MFA <- maps:keys(Set), not maps:is_key(MFA, Wanted)],
    clear(Session, maps:with(Gone, Set)),
    Kept = maps:without(Gone, Set),
    Before(maps:merge(maps:map(fun(_, _) -> pending end, Wanted), Kept)),
    maps:fold(fun(MFA, Spec, Acc) -> set_one(Session, MFA, Spec, Acc) end, {Kept, []}, Wanted).

%% Sets patterns, in this order, where no other tracer has one. -> Set
-spec put(kprof_spec:session(), kprof_spec:compiled()) -> set().
put(Session, Specs) -> lists:foldl(fun({_, MFA, Spec}, Set) -> put_one(Session, MFA, Spec, Set) end, #{}, Specs).

put_one(Session, MFA, Spec, Set) ->
    case free(Session, MFA) of
        true -> element(1, set_one(Session, MFA, Spec, {Set, []}));
        false -> Set
    end.

free(Session, MFA) -> Session =/= none orelse not traced({none, traced}, MFA).

%% The same for one function, with as few calls as possible. -> true: the pattern is set
-spec put_fast(kprof_spec:session(), mfa(), kprof_spec:match_spec()) -> boolean().
put_fast(Session, MFA, Spec) -> free(Session, MFA) andalso kprof_spec:set_pattern(Session, MFA, Spec, [local]) =:= 1.

%% Stores the match spec as requested, and as the VM returns it (in a session, where nobody else sets patterns, the same).
set_one(Session, MFA, Spec, {Set, Failed}) ->
    case Set of
        #{MFA := {Spec, _}} ->
            {Set, Failed};
        _ ->
            case kprof_spec:set_pattern(Session, MFA, Spec, [local]) of
                N when is_integer(N), N > 0 -> {Set#{MFA => {Spec, as_told(Session, MFA, Spec)}}, Failed};
                0 -> {maps:remove(MFA, Set), Failed};
                {error, Why} -> {maps:remove(MFA, Set), [{MFA, Why} | Failed]}
            end
    end.

as_told(none, MFA, _) -> kprof_spec:pattern({none, match_spec}, MFA);
as_told(_, _, Spec) -> Spec.

%% Sets this match spec on all functions whose pattern is still the agent's. -> Set
-spec replace(kprof_spec:session(), set(), kprof_spec:match_spec()) -> set().
replace(Session, Set, Spec) ->
    maps:map(
        fun(MFA, Mine) ->
            case ours(Session, MFA, Mine) andalso kprof_spec:set_pattern(Session, MFA, Spec, [local]) of
                N when is_integer(N), N > 0 -> {Spec, kprof_spec:pattern({Session, match_spec}, MFA)};
                _ -> Mine
            end
        end,
        Set
    ).

%% Only patterns that are still the agent's.
-spec clear(kprof_spec:session(), set()) -> term().
clear(Session, Set) ->
    maps:fold(
        fun(MFA, Mine, _) ->
            case ours(Session, MFA, Mine) of
                true -> kprof_spec:set_pattern(Session, MFA, false, [local]);
                false -> 0
            end
        end,
        0,
        Set
    ).

%% pending: another tracer may have set a pattern meanwhile.
ours(none, MFA, pending) ->
    Told = kprof_spec:pattern({none, match_spec}, MFA),
    Told =:= kprof_tokens:clearing() orelse kprof_match_spec:uses_word(Told);
%% The clearing match spec belongs to the agent, too: a process that was killed may have set it.
ours(none, MFA, {_, Told}) -> lists:member(kprof_spec:pattern({none, match_spec}, MFA), [Told, kprof_tokens:clearing()]);
ours(_, _, _) -> true.

%% The number of patterns of Set that are still set in the VM.
-spec left(kprof_spec:session(), set()) -> non_neg_integer().
left(Session, Set) ->
    length([MFA || {MFA, Mine} <- maps:to_list(Set), traced({Session, traced}, MFA), ours(Session, MFA, Mine)]).

%% Functions that lost their patterns because their module was reloaded.
-spec lost(kprof_spec:session(), set()) -> [mfa()].
lost(Session, Set) -> [MFA || MFA <- maps:keys(Set), not traced({Session, traced}, MFA)].

%% Built-in functions whose patterns a VM with hazard D3 has switched off, because a trace session has ended; it still returns
%% them. Before: the sessions as last read. -> {sessions now, functions}
-spec silent(set(), [term()], kprof_hazard:vm()) -> {[term()], [mfa()]}.
silent(Set, Before, Vm) ->
    case [MFA || {M, F, A} = MFA <- maps:keys(Set), erlang:is_builtin(M, F, A)] of
        [_ | _] = Builtins -> silent_of(Builtins, Before, kprof_hazard:allowed(bif_beside, Vm#{beside := true}));
        [] -> {[], []}
    end.

silent_of(_, _, true) ->
    {[], []};
silent_of(Builtins, Before, false) ->
    Now = kprof_node:session_list(),
    {Now, case Before -- Now of [] -> []; _ -> Builtins end}.

%% Functions that did not exist before and exist now. No module is loaded for this; it runs twice a second.
-spec missing(kprof_spec:compiled(), set()) -> [mfa()].
missing(Specs, Set) -> [MFA || {_, {M, F, A} = MFA, _} <- Specs, not maps:is_key(MFA, Set), kprof_code:exists(M, F, A) =:= true].

%% The versions of the loaded modules of the tiers: #{Module => MD5}.
-spec versions(kprof_spec:compiled()) -> #{module() => binary()}.
versions(Specs) ->
    Modules = lists:usort([M || {_, {M, _, _}, _} <- Specs]),
    maps:from_list([{M, V} || M <- Modules, V <- [kprof_code:version(M)], V =/= none]).

%% Built-in functions, if a pattern that is removed from them would go off in all sessions: [{Ix, MFA, {note, Why}}]
-spec held_back(kprof_spec:compiled(), kprof_hazard:vm()) -> taken().
held_back(Specs, Vm) -> [{Ix, MFA, {note, Why}} || {Ix, MFA, _} <- Specs, Why <- [held(MFA, Vm)], Why =/= none].

%% The reason why this function gets no pattern and no counter. Asked before each use: another tracer may have begun.
-spec held(mfa(), kprof_hazard:vm()) -> none | binary().
held({M, F, A} = MFA, Vm) ->
    %% In this order: most functions are not built in, and most VMs do not have the fault.
    case
        erlang:is_builtin(M, F, A) andalso not kprof_hazard:allowed(bif_beside, Vm#{beside := true}) andalso
            (not kprof_hazard:allowed(bif_beside, Vm) orelse in_common(MFA))
    of
        true -> kprof_hazard_text:reason(bif_beside, Vm);
        false -> none
    end.

%% A pattern or a counter in the common trace.
in_common(MFA) -> [] =/= [What || What <- [traced, call_count, meta], not lists:member(kprof_spec:pattern({none, What}, MFA), [false, undefined, []])].

%% Below OTP 27: functions that have a pattern of another tracer, which may have replaced the agent's.
-spec taken(kprof_spec:session(), kprof_spec:compiled(), set()) -> taken().
taken(Session, _, _) when Session =/= none -> [];
taken(none, Specs, Set) ->
    [Spec || {_, MFA, _} = Spec <- Specs, traced({none, traced}, MFA), not (is_map_key(MFA, Set) andalso ours(none, MFA, map_get(MFA, Set))), not own(MFA)].

%% The pattern of a capture or of a full trace of the agent, which is removed when tracing goes on.
own(MFA) -> lists:member(kprof_spec:pattern({none, match_spec}, MFA), [kprof_spec:capture(), kprof_spec:full_function()]).

traced(Where, MFA) ->
    case kprof_spec:pattern(Where, MFA) of
        local -> true;
        global -> true;
        _ -> false
    end.

%% {Ix, Matched, Note} of one tier, for the answer to `config`.
-spec matched(kprof_spec:tier(), kprof_spec:compiled(), taken()) -> {kprof_spec:ix(), 0 | 1, binary()}.
matched({Ix, M, F, A}, Specs, Taken) ->
    case {lists:keyfind(Ix, 1, Taken), lists:keyfind({M, F, A}, 2, Specs)} of
        {{_, _, {note, Why}}, _} ->
            {Ix, 0, Why};
        {{_, _, _}, _} ->
            {Ix, 0, <<"another tracer traces this function on the node: it is not traced here">>};
        {_, {Other, _, _}} when Other =/= Ix ->
            {Ix, 0, kprof_text:format("this function is already tier ~b", [Other])};
        _ ->
            case kprof_code:exists(M, F, A) of
                true -> {Ix, 1, <<>>};
                Why -> {Ix, 0, kprof_code:note(Why, M, F, A)}
            end
    end.
