%% Which functions have a pattern of ours, as a value: #{MFA => pending | {Spec, Spec as the VM tells it}}. The controller holds
%% it and shares it with the relay before the VM is changed, so that whoever lives can undo it. Below OTP 27 a function has
%% one pattern for all: what is not ours is left alone.
-module(kprof_patterns).
-export([set/4, replace/3, clear/2, left/2, lost/2, missing/2, versions/1, held_back/2, taken/3, matched/3]).
-export_type([set/0, taken/0]).

-type set() :: #{mfa() => pending | {kprof_spec:match_spec(), term()}}.
%% Tiers that get no pattern of ours.
-type taken() :: [{kprof_spec:ix(), mfa(), {note, binary()} | kprof_spec:match_spec()}].

%% Specs: [{Ix, MFA, Spec}]: sets what differs, takes off what is not among them. Before(Set) is called with all that may be
%% ours from then on. -> {Set, [{MFA, Why}] that cannot be set}
-spec set(kprof_spec:session(), kprof_spec:compiled(), set(), fun((set()) -> term())) -> {set(), [{mfa(), term()}]}.
set(Session, Specs, Set, Before) ->
    Wanted = maps:from_list([{MFA, Spec} || {_, MFA, Spec} <- Specs]),
    Gone = [MFA || MFA <- maps:keys(Set), not maps:is_key(MFA, Wanted)],
    [kprof_spec:set_pattern(Session, MFA, false, [local]) || MFA <- Gone],
    Kept = maps:without(Gone, Set),
    Before(maps:merge(maps:map(fun(_, _) -> pending end, Wanted), Kept)),
    maps:fold(fun(MFA, Spec, Acc) -> set_one(Session, MFA, Spec, Acc) end, {Kept, []}, Wanted).

%% What is remembered is the spec as asked for, and as the VM tells it.
set_one(Session, MFA, Spec, {Set, Failed}) ->
    case Set of
        #{MFA := {Spec, _}} ->
            {Set, Failed};
        _ ->
            case kprof_spec:set_pattern(Session, MFA, Spec, [local]) of
                N when is_integer(N), N > 0 -> {Set#{MFA => {Spec, kprof_spec:pattern({Session, match_spec}, MFA)}}, Failed};
                0 -> {maps:remove(MFA, Set), Failed};
                {error, Why} -> {maps:remove(MFA, Set), [{MFA, Why} | Failed]}
            end
    end.

%% All that is still ours gets this spec. -> Set
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

%% Only what is still ours.
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

ours(_, _, pending) -> true;
%% The clearing spec is ours, too: who was killed may have set it last.
ours(none, MFA, {_, Told}) -> lists:member(kprof_spec:pattern({none, match_spec}, MFA), [Told, kprof_tokens:clearing()]);
ours(_, _, _) -> true.

%% How many of Set the VM still has.
-spec left(kprof_spec:session(), set()) -> non_neg_integer().
left(Session, Set) ->
    length([MFA || {MFA, Mine} <- maps:to_list(Set), traced({Session, traced}, MFA), ours(Session, MFA, Mine)]).

%% A reloaded module has lost its patterns: these.
-spec lost(kprof_spec:session(), set()) -> [mfa()].
lost(Session, Set) -> [MFA || MFA <- maps:keys(Set), not traced({Session, traced}, MFA)].

%% Functions that were not there, and now are. Nothing is loaded for it: this is looked at twice a second.
-spec missing(kprof_spec:compiled(), set()) -> [mfa()].
missing(Specs, Set) -> [MFA || {_, {M, F, A} = MFA, _} <- Specs, not maps:is_key(MFA, Set), kprof_code:exists(M, F, A) =:= true].

%% The code that is loaded of the tiers' modules: #{Module => MD5}.
-spec versions(kprof_spec:compiled()) -> #{module() => binary()}.
versions(Specs) ->
    Modules = lists:usort([M || {_, {M, _, _}, _} <- Specs]),
    maps:from_list([{M, V} || M <- Modules, V <- [kprof_code:version(M)], V =/= none]).

%% Built-in functions, where their patterns would be everybody's (kprof_hazard): [{Ix, MFA, {note, Why}}]
-spec held_back(kprof_spec:compiled(), kprof_hazard:vm()) -> taken().
held_back(Specs, Vm) ->
    case kprof_hazard:allowed(bif_beside, Vm) of
        true -> [];
        false -> [{Ix, {M, F, A}, {note, kprof_hazard:reason(bif_beside, Vm)}} || {Ix, {M, F, A}, _} <- Specs, erlang:is_builtin(M, F, A)]
    end.

%% Below OTP 27: functions that have a pattern which is not ours.
-spec taken(kprof_spec:session(), kprof_spec:compiled(), set()) -> taken().
taken(Session, _, _) when Session =/= none -> [];
taken(none, Specs, Set) ->
    [Spec || {_, MFA, _} = Spec <- Specs, not maps:is_key(MFA, Set), traced({none, traced}, MFA)].

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
            {Ix, 0, <<"someone else traces this function on the node: left alone">>};
        {_, {Other, _, _}} when Other =/= Ix ->
            {Ix, 0, kprof_text:format("the same function as tier ~b, which has its calls", [Other])};
        _ ->
            case kprof_code:exists(M, F, A) of
                true -> {Ix, 1, <<>>};
                Why -> {Ix, 0, kprof_code:note(Why, M, F, A)}
            end
    end.
