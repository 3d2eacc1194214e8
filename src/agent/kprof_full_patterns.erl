%% The patterns of a full trace on the functions of its modules. Below OTP 27 a function has one pattern, whoever set it: just
%% before a module gets its patterns, its functions are looked at (no process gets a signal for this), and those with a
%% pattern of another tracer are left out. At the end only patterns that are still the agent's are removed: it knows them by
%% their match spec. In a session all patterns are the agent's.
%%
%% Invariant: works for some 200 us, then lets others run (kprof_flags), except within one call of the VM.
-module(kprof_full_patterns).
-agent(tools).
-export([set/3, clear/2, is_free/3]).

-define(STEP, 64).

%% Which: all: all functions of the module. -> {functions that have the pattern, those that were left out}
-spec set(kprof_spec:session(), module(), all | [{atom(), arity()}]) -> {non_neg_integer(), [mfa()]}.
set(none, M, Which) ->
    case looked(M, case Which of all -> kprof_code:exports(M, functions); _ -> Which end) of
        {_, _, []} -> {set_all(none, M, Which), []};
        {_, Free, Others} -> {set_all(none, M, Free), [{M, F, A} || {F, A} <- Others]}
    end;
set(Session, M, Which) ->
    {set_all(Session, M, Which), []}.

set_all(Session, M, all) -> counted(kprof_spec:set_pattern(Session, {M, '_', '_'}, kprof_spec:full_function(), [local]));
set_all(Session, M, Functions) -> each(M, Functions, Session, kprof_spec:full_function(), 0, kprof_flags:slice()).

-spec clear(kprof_spec:session(), module()) -> term().
clear(none, M) ->
    case looked(M, kprof_code:exports(M, functions)) of
        {[], _, _} -> 0;
        {_, _, []} -> kprof_spec:set_pattern(none, {M, '_', '_'}, false, [local]);
        {Ours, _, _} -> each(M, Ours, none, false, 0, kprof_flags:slice())
    end;
clear(Session, M) ->
    kprof_spec:set_pattern(Session, {M, '_', '_'}, false, [local]).

each(M, [{F, A} | Rest], Session, Spec, N, Slice) ->
    Set = counted(kprof_spec:set_pattern(Session, {M, F, A}, Spec, [local])),
    each(M, Rest, Session, Spec, N + Set, kprof_flags:rest(Slice));
each(_, [], _, _, N, _) ->
    N.

counted(N) when is_integer(N) -> N;
counted(_) -> 0.

%% -> {functions with a pattern of the agent, without one, with one of another tracer}
looked(M, Functions) -> looked(Functions, M, ?STEP, {[], [], []}, kprof_flags:slice()).

looked([], _, _, Found, _) -> Found;
looked(Functions, M, 0, Found, Slice) -> looked(Functions, M, ?STEP, Found, kprof_flags:rest(Slice));
looked([{F, A} = FA | Rest], M, Left, {Ours, Free, Others}, Slice) ->
    Found =
        case kprof_spec:pattern({none, match_spec}, {M, F, A}) of
            None when None =:= false; None =:= undefined -> {Ours, [FA | Free], Others};
            Spec ->
                case kprof_spec:full_function() of
                    Spec -> {[FA | Ours], Free, Others};
                    _ -> {Ours, Free, [FA | Others]}
                end
        end,
    looked(Rest, M, Left - 1, Found, Slice).

%% Whether a tracer may set this for the function: in the common trace, nobody else has.
-spec is_free(meta | call_count, kprof_spec:session(), mfa()) -> boolean().
is_free(meta, Session, MFA) -> kprof_spec:is_meta_free(Session, MFA, self());
is_free(call_count, Session, MFA) -> Session =/= none orelse not is_integer(kprof_spec:pattern({none, call_count}, MFA)).
