%% A request for a full trace: checks it, pauses the tiers if both cannot be on, and starts the tracer. Functions of the
%% controller's process.
-module(kprof_full_request).
-agent(tools).
-export([request/2]).

-include("kprof_controller.hrl").

-define(EVENTS, 100000).
-define(EVENTS_MOST, 500000).
-define(FUNCTIONS, 20000).
-define(MS_MOST, 3600000).
-define(FOLLOW, 64).
-define(PIDS, 16).

%% #{who, modules, follow, rule, value, name, slow_ns, events, functions, wait_ms, run_ms, id}: all but who and modules have
%% defaults.
-spec request(map(), state()) -> {ok | {error, atom(), binary()}, state()}.
request(#{who := _, modules := _} = Asked, S) ->
    case refused(Asked, S) of
        none -> ready(Asked, S);
        Why -> {{error, full, Why}, S}
    end;
request(_, S) -> {{error, full, <<"no such request">>}, S}.

refused(#{who := Who, modules := Modules}, #s{vm = Vm, tracing = #tracing{paused = Paused}} = S) ->
    Request = is_tuple(Who) andalso element(1, Who) =:= call,
    Others = not S#s.isolated andalso (S#s.others =/= [] orelse has_new_processes(S)),
    case kprof_full_modules:is_choice(Modules) andalso is_who(Who) of
        false -> <<"invalid choice of processes or modules">>;
        true when S#s.full#full.tracer =/= none -> <<"a full trace is under way on this node">>;
        true when Paused =/= none -> <<"tracing is paused (breaker open, slow start, a capture, or connection blocked): try again when it is on">>;
        true when Others -> <<"another program is tracing on this node: before OTP 27 there is one trace for all">>;
        true when Request, S#s.beside -> <<"another kprof-top is on this node, and both need the trace control word: trace a process instead">>;
        true ->
            case Request andalso not kprof_hazard:allowed(full_request, Vm) of
                true -> kprof_hazard_text:reason(full_request, Vm);
                false when Request -> kprof_patterns:held(function(element(2, Who)), kprof_hazard:vm());
                false -> none
            end
    end.

%% True if a program that began after the attach traces new processes, so probably others, too: they would send it all calls of
%% the full trace. Processes are not asked, because that is a signal to each.
has_new_processes(#s{relay = Relay}) -> not lists:member(kprof_node:tracer_of(new_processes), [[], Relay]).

is_who({pids, L}) when is_list(L), L =/= [], length(L) =< ?PIDS -> [] =:= [X || X <- L, not is_id(X)];
is_who({call, {M, F, A}}) -> is_binary(M) andalso is_binary(F) andalso is_integer(A);
is_who(_) -> false.

is_id({Id, Serial}) -> is_integer(Id) andalso is_integer(Serial);
is_id(_) -> false.

ready(#{who := {pids, Ids}} = Asked, S) ->
    case [P || {Id, Serial} <- Ids, P <- [catch kprof_proc:pid(Id, Serial)], is_pid(P), is_process_alive(P), not is_ours(P, S)] of
        [] -> {{error, full, <<"there is no such process">>}, S};
        Pids -> started({pids, Pids}, [], false, Asked, S)
    end;
ready(#{who := {call, Call}} = Asked, S) ->
    MFA = {M, F, A} = function(Call),
    Vm = kprof_hazard:vm(),
    Wished = [{T, kprof_patterns:held(T, Vm)} || T <- lists:sublist([function(T) || T <- maps:get(follow, Asked, [])], ?FOLLOW), T =/= MFA],
    [kprof_link:event(others, kprof_text:format("~ts is left out: ~ts", [kprof_text:mfa(X, Y, Z), Why]), S) || {{X, Y, Z}, Why} <- Wished, Why =/= none],
    Follow = [T || {T, none} <- Wished],
    case {kprof_code:exists(M, F, A), condition(Asked, [MFA | Follow])} of
        {true, {ok, Values, Rules}} ->
            {Clauses, Need} =
                case Rules of
                    #{0 := Own} -> {Own, false};
                    _ -> {[{'_', [], true}], map_size(Rules) > 0}
                end,
            Wanted = case Rules of #{0 := _} -> Values; _ -> true end,
            Others = [{T, maps:get(Ix, Rules, []), Values} || {Ix, T} <- lists:zip(lists:seq(1, length(Follow)), Follow)],
            started({request, MFA, Clauses, Wanted}, Others, Need, Asked, S);
        {true, {error, Why}} ->
            {{error, full, Why}, S};
        {Why, _} ->
            {{error, full, kprof_code:note(Why, M, F, A)}, S}
    end.

is_ours(P, S) -> lists:member(P, [self(), S#s.relay, S#s.pacer, S#s.guardian]).

function({M, F, A}) -> {kprof_code:to_atom(M), kprof_code:to_atom(F), A}.

%% An identity rule, and the value that it must give, or its name; without these: true. -> {ok, Values, Rules} | {error, Text}
condition(Asked, MFAs) ->
    Tiers = [{Ix, M, F, A} || {Ix, {M, F, A}} <- lists:zip(lists:seq(0, length(MFAs) - 1), MFAs)],
    case kprof_identity_rule:rules(maps:get(rule, Asked, none), Tiers, 0) of
        {ok, Rules, _} -> valued(values(Asked), Rules);
        {error, Why} -> {error, Why}
    end.

valued(Values, Rules) ->
    Late = [X || Clauses <- maps:values(Rules), {_, _, Name} <- Clauses, X <- ['kprof path', 'kprof shape', 'kprof name'], has(X, Name)],
    case {Late, Values} of
        {[_ | _], _} -> {error, <<"a match spec cannot compute path(...), shape(...) and name(...): use a rule without them">>};
        {_, error} -> {error, <<"the value is not an Erlang term">>};
        {_, {ok, These}} -> {ok, These, Rules}
    end.

values(#{name := Name}) when is_binary(Name) -> {ok, kprof_full_name:values(Name)};
values(#{value := Text}) when Text =/= none ->
    case kprof_full_name:parsed(Text) of
        {ok, Value} -> {ok, [Value]};
        error -> error
    end;
values(_) -> {ok, true}.

has(X, X) -> true;
has(X, T) when is_tuple(T) -> has(X, tuple_to_list(T));
has(X, [H | T]) -> has(X, H) orelse has(X, T);
has(_, _) -> false.

%% Below OTP 27 a process has one tracer and a function one pattern: the tiers pause. A request needs the control word and the
%% token, which the tiers use: they pause on every VM.
started(Who, Follow, Need, Asked, #s{isolated = Isolated} = S0) ->
    Pause = element(1, Who) =:= request orelse not Isolated,
    S = if Pause -> kprof_tracing:pause_for_capture(S0); true -> S0 end,
    case kprof_full_tracer:start(#{
        controller => self(), to => S#s.link#link.pid, vm => S#s.vm, isolated => Isolated, epoch => S#s.epoch, who => Who, follow => Follow,
        need => Need, modules => maps:get(modules, Asked), walker => S#s.tracing#tracing.walker,
        events => kprof_options:number(events, ?EVENTS, 1, ?EVENTS_MOST, Asked), functions => kprof_options:number(functions, ?FUNCTIONS, 1, 10 * ?FUNCTIONS, Asked),
        wait_ms => kprof_options:number(wait_ms, 30000, 1, ?MS_MOST, Asked), run_ms => kprof_options:number(run_ms, 10000, 1, ?MS_MOST, Asked),
        slow_ns => kprof_options:number(slow_ns, 0, 0, 1000000 * ?MS_MOST, Asked),
        id => kprof_options:number(id, 0, 0, 16#ffffffff, Asked)
    }) of
        none -> {kprof_link:no_room(), kprof_tracing:go_on_after_capture(S)};
        Traced -> {ok, traced_by(Traced, Who, Pause, S)}
    end.

traced_by({Tracer, Ref}, Who, Pause, S) ->
    Tracing = #tracing{tokens = Tokens} = S#s.tracing,
    kprof_cleanup_plan:share(S#s{
        full = #full{
            tracer = Tracer, ref = Ref, request = element(1, Who) =:= request, paused = Pause, plan = {Tracer, [], [], []}
        },
        tracing = Tracing#tracing{tokens = Tokens orelse element(1, Who) =:= request}
    }).
