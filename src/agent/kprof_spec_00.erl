%% Match specs: the only module that makes them and sets them (kprof_check_00 looks at each before).
%% A wish (tiers, entry, identity rule, returns, sampling) becomes one spec a tier; see PROTOCOL.md for the messages.
-module(kprof_spec_00).
-export([compile/1, capture/0, set_pattern/4, pattern/2, flags/4, session/3, end_session/1, delivered/1, sweep/0, ticket_range/0]).

-define(TICKETS, 16#7ffffff). % tickets are 1..this
-define(LOW, 16#ffffffff). % the ticket's bits of a label
-define(SPINS, 24).
-define(ARGS, 8). % arguments that are told, at most
-define(ELEMENTS, 6). % of a tuple in them
-define(BYTES, 64). % of a binary
-define(BIG, 16#10000000000000000).

%% ---- The specs ----

%% -> {ok, [{Ix, MFA, Spec}], [Note]} | {error, Binary}. The first tier of several with one MFA gets it.
compile(#{tiers := Tiers, entry := Entry} = Wish) ->
    case kprof_rule_00:rules(maps:get(identity, Wish, none), Tiers, Entry) of
        {ok, Rules, Notes} ->
            {ok, [{Ix, {M, F, A}, spec(Ix, A, maps:get(Ix, Rules, []), Wish)} || {Ix, M, F, A} <- first_of(Tiers, [])], Notes};
        Error ->
            Error
    end.

%% For a capture: the process that calls is not seen again.
capture() -> [{'_', [], [{trace, [call], []}]}].

first_of([{_, M, F, A} = T | Rest], Seen) ->
    case lists:member({M, F, A}, Seen) of
        true -> first_of(Rest, Seen);
        false -> [T | first_of(Rest, [{M, F, A} | Seen])]
    end;
first_of([], _) ->
    [].

spec(Ix, A, Rules, #{entry := Ix} = Wish) ->
    lists:append([entry(Ix, Rule, Wish) || Rule <- clauses(Rules, A, Wish)]);
spec(Ix, A, Rules, #{entry := none} = Wish) ->
    [{Head, Guards, full(Wish) ++ [{message, payload(Ix, 0, Head, Name, Rules, Wish)}]} || {Head, Guards, Name} <- clauses(Rules, A, Wish)];
spec(Ix, A, Rules, Wish) ->
    [
        {Head, [{is_seq_trace} | Guards], full(Wish) ++ [{message, payload(Ix, label(), Head, Name, Rules, Wish)}]}
     || {Head, Guards, Name} <- clauses(Rules, A, Wish)
    ].

clauses(Rules, A, Wish) ->
    All = Rules ++ [{'_', [], undefined}],
    case maps:get(args, Wish, false) of
        true -> [{variables(Head, A), Guards, Name} || {Head, Guards, Name} <- All];
        false -> All
    end.

payload(Ix, Label, Head, _, [], Wish) -> {{Ix, Label, caller(Head, Wish)}};
payload(Ix, Label, Head, Name, _, Wish) -> {{Ix, Label, caller(Head, Wish), Name}}.

full(#{returns := full}) -> [{exception_trace}];
full(_) -> [].

caller(Head, #{args := true} = Wish) -> {{caller(Wish), arguments(Head)}};
caller(_, Wish) -> caller(Wish).

caller(#{returns := full}) -> 0;
caller(_) -> {caller}.

%% ---- Arguments (--slow-args) ----

%% A match spec cannot ask how big a term is, but a few guards tell what is small: and nothing else leaves the process. An
%% argument is {Value, Prefix, Tuple, Map, List}, all false but one; all are false of what is none of these.
%%   Value: {V}, V small                 Prefix: {Bytes, <<the first of them>>}
%%   Tuple: {Size, {V} | false, ...}     Map: how many keys     List: {{V} | false}, of its head
%% Every argument that is told has a variable of its own.
variables('_', A) -> variables(lists:duplicate(A, '_'), A);
variables(Head, _) -> variables_from(Head, 1).

variables_from(['_' | Rest], I) when I =< ?ARGS -> [list_to_atom("$" ++ integer_to_list(900 + I)) | variables_from(Rest, I + 1)];
variables_from([P | Rest], I) -> [P | variables_from(Rest, I + 1)];
variables_from([], _) -> [].

arguments(Head) ->
    More = ['...' || length(Head) > ?ARGS],
    {list_to_tuple([argument(P) || P <- lists:sublist(Head, ?ARGS)] ++ More)}.

argument(X) when is_atom(X), X =/= '_' ->
    case kprof_check_00:variable(X) of
        true -> {{value(X), prefix(X), elements(X), {'andalso', {is_map, X}, {map_size, X}}, head_of(X)}};
        false -> '...'
    end;
argument(_) ->
    '...'.

value(X) -> {'andalso', small(X), {{X}}}.

small(X) ->
    {'orelse', {is_atom, X}, {is_pid, X}, {is_float, X}, {is_reference, X}, {'=:=', X, []},
        {'andalso', {is_integer, X}, {'<', X, ?BIG}, {'>', X, -(?BIG)}},
        {'andalso', {is_binary, X}, {'=<', {byte_size, X}, ?BYTES}}}.

prefix(X) -> {'andalso', {is_binary, X}, {'>', {byte_size, X}, ?BYTES}, {{{byte_size, X}, {binary_part, X, 0, ?BYTES}}}}.

elements(X) ->
    Told = [{'andalso', {'>=', {size, X}, I}, value({element, I, X})} || I <- lists:seq(1, ?ELEMENTS)],
    {'andalso', {is_tuple, X}, {list_to_tuple([{size, X} | Told])}}.

head_of(X) -> {'andalso', {is_list, X}, {'=/=', X, []}, {{value({hd, X})}}}.

%% ---- Tokens ----

label() -> {element, 2, {get_seq_token}}.
low() -> {'band', label(), ?LOW}.

%% Two specs for a clause: a process that carries a token already tells the old label too. Elements of a tuple, and the
%% arguments of a function, are evaluated from right to left: the last element is the label from before the actions.
entry(Ix, {Head, Guards, Name}, #{epoch := Epoch, sample := 1} = Wish) ->
    Ticket = ticket(Epoch, {set_seq_token, label, {self}}),
    C = caller(Head, Wish),
    [
        {Head, [{is_seq_trace} | Guards],
            full(Wish) ++ [{message, {{Ix, label(), C, Name, {'=:=', 0, {list_to_tuple(lists:reverse(Ticket))}}, label()}}}]},
        {Head, Guards, Ticket ++ full(Wish) ++ [{message, {{Ix, label(), C, Name, entry}}}]}
    ];
entry(Ix, {Head, Guards, Name}, #{epoch := Epoch, sample := N} = Wish) when N > 1 ->
    %% Who cannot get a ticket is not sampled: its pid has no dice.
    Ticket = ticket(Epoch, {'=:=', 0, low()}),
    C = caller(Head, Wish),
    Toss = [{'orelse', {'=:=', 1, dice(N)}, {set_seq_token, sequential_trace_token, []}}],
    Full = [{'andalso', {is_seq_trace}, F} || F <- full(Wish)],
    Carried = {{Ix, label(), C, Name, {'=:=', 0, {list_to_tuple(lists:reverse(Ticket))}}, label()}},
    [
        {Head, [{is_seq_trace} | Guards], [{message, {element, dice(N), {{Carried, false}}}}] ++ Toss ++ Full},
        {Head, Guards, Ticket ++ Toss ++ Full ++ [{message, {'andalso', {is_seq_trace}, {{Ix, label(), C, Name, entry}}}}]}
    ].

%% An atomic ticket. set_tcw exchanges: who reads a number owns it until it puts back the next one; who reads 0 (someone
%% else is at it) tries again, and at last does Otherwise. The token's label is the variable that match specs lack.
ticket(Epoch, Otherwise) ->
    Take = {set_seq_token, label, {'bor', Epoch bsl 32, {set_tcw, 0}}},
    Put = {'=:=', 0, {set_tcw, {'+', 1, {'rem', low(), ?TICKETS}}}},
    [Take, {'orelse', again(?SPINS, Take, Otherwise), Put}].

again(0, _, Otherwise) -> {'andalso', {'=:=', 0, low()}, Otherwise};
again(N, Take, Otherwise) -> {'andalso', {'=:=', 0, low()}, {'andalso', Take, again(N - 1, Take, Otherwise)}}.

%% 1 for one ticket in N, 2 for the others and for 0. Two multiplications modulo two primes: one alone would favour
%% workloads that go round by turns. 0 maps to the largest value, which is never sampled.
dice(N) ->
    P1 = 2147483647,
    P2 = 2147483629,
    Zero = 462063239, % Zero * 69621 rem P2 = P2 - 1
    Hash = {'rem', {'*', {'rem', {'+', Zero, {'*', low(), 48271}}, P1}, 69621}, P2},
    {'+', 1, {'div', {'+', Hash, P2 - P2 div N}, P2}}.

ticket_range() -> ?TICKETS.

%% ---- The VM: the only calls that set or clear anything. Session: none (the global trace) or a session of `trace` ----

%% Spec: a list, or false to clear; with [call_count]: true | pause | false. -> matched functions | {error, Why}
set_pattern(Session, MFA, Spec, Flags) when is_list(Spec) ->
    case kprof_check_00:check(Spec) of
        ok -> do_set(Session, MFA, Spec, Flags);
        Error -> Error
    end;
set_pattern(Session, MFA, Spec, Flags) when is_boolean(Spec) ->
    do_set(Session, MFA, Spec, Flags).

do_set(Session, MFA, Spec, Flags) ->
    try
        case Session of
            none -> erlang:trace_pattern(MFA, Spec, Flags);
            _ -> (tracer()):function(Session, MFA, Spec, Flags)
        end
    catch
        _:Why -> {error, Why}
    end.

%% What is set on a function: the value for Item (traced, match_spec, call_count).
pattern({Session, Item}, MFA) ->
    try
        case Session of
            none -> erlang:trace_info(MFA, Item);
            _ -> (tracer()):info(Session, MFA, Item)
        end
    of
        {_, Value} -> Value;
        _ -> undefined
    catch
        _:_ -> undefined
    end.

%% Flags of processes (Who: a pid, existing, new); the tracer is named when clearing too, so that processes of another tracer are left alone.
flags({none, Relay}, Who, On, Flags) ->
    try erlang:trace(common(Who), On, [{tracer, Relay} | Flags])
    catch _:_ -> 0
    end;
flags({Session, _}, Who, On, Flags) ->
    try (tracer()):process(Session, Who, On, Flags)
    catch _:_ -> 0
    end.

common(existing) -> existing_processes;
common(new) -> new_processes;
common(Pid) -> Pid.

%% A trace session of this name, where there are sessions (OTP 27+); none: the common trace.
session(true, Name, Tracer) -> (tracer()):session_create(Name, Tracer, []);
session(false, _, _) -> none.

%% What was set in it goes with it.
end_session(none) -> none;
end_session(Session) ->
    catch (tracer()):session_destroy(Session),
    ended.

%% Asks for {trace_delivered, all, Ref}.
delivered(none) -> erlang:trace_delivered(all);
delivered(Session) -> (tracer()):delivered(Session, all).

tracer() -> trace.

%% All tokens of the node go: not those of another who uses them (seq_trace, or an agent in another slot).
sweep() ->
    case seq_trace:get_system_tracer() =:= false andalso kprof_node_00:staying() =:= [] of
        true ->
            seq_trace:reset_trace(),
            swept;
        false ->
            kept
    end.
