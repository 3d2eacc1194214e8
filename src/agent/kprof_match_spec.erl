%% Makes match specs; kprof_spec sets them. A trace configuration (tiers, entry, identity rule, returns, sampling) becomes one
%% match spec per tier. No side effects. PROTOCOL.md has the messages.
-module(kprof_match_spec).
-export([compile/1, block/1, rules/1, since/2, unsampled/0, senders/1, uses_word/1, full_entry/4, full_tier/4]).

-include("kprof_control_word.hrl").

-define(SPINS, 24).
-define(AT_ONCE, 2560). % traced calls between two turns of the pacer, if a request makes one of each function
-define(LEAST_BLOCK, 64).
-define(ARGS, 8). % maximum number of arguments that are sent
-define(ELEMENTS, 6). % of a tuple in them
-define(BYTES, 64). % of a binary

%% -> {ok, [{Ix, MFA, Spec}], [Note]} | {error, Binary}. If several tiers have one MFA, the first one gets it.
-spec compile(kprof_spec:trace_config()) -> {ok, kprof_spec:compiled(), [binary()]} | {error, binary()}.
compile(#{tiers := Tiers} = Config) ->
    case rules(Config) of
        {ok, Rules, Notes} ->
            Specs = [{Ix, {M, F, A}, spec(Ix, A, maps:get(Ix, Rules, []), Config)} || {Ix, M, F, A} <- first_of(Tiers, [])],
            {ok, Specs ++ [{sent, MFA, sent(Config)} || MFA <- senders(Config)], Notes};
        Error ->
            Error
    end.

%% The identity rule, compiled; a trace configuration may have it already, as `rules`.
-spec rules(map()) -> kprof_identity_rule:rules().
rules(#{rules := Rules}) -> Rules;
rules(#{tiers := Tiers, entry := Entry} = Config) -> kprof_identity_rule:rules(maps:get(identity, Config, none), Tiers, Entry).

%% The functions that send the message of a call to a server, if the time in mailboxes is measured. They are not tiers. All calls
%% of gen_server, gen_statem, gen_event and of their Elixir counterparts go through gen:do_call/4, which has the pid. Without an
%% entry there are no tokens, so the message and the call that it causes cannot be matched.
-spec senders(map()) -> [mfa()].
senders(#{mailbox := true, entry := Entry, tiers := Tiers}) when Entry =/= none ->
    case [tier || {_, gen, do_call, 4} <- Tiers] of
        [] -> [{gen, do_call, 4}];
        _ -> []
    end;
senders(_) ->
    [].

%% True for the match specs of tiers and senders. Hardly any other tracer uses the control word.
-spec uses_word(term()) -> boolean().
uses_word(T) when tuple_size(T) =:= 1, element(1, T) =:= get_tcw -> true;
uses_word(T) when is_tuple(T) -> uses_word(tuple_to_list(T));
uses_word([H | T]) -> uses_word(H) orelse uses_word(T);
uses_word(_) -> false.

%% Only messages of requests to processes of this node.
sent(Config) ->
    Guards = [{is_seq_trace}, {'<', {get_tcw}, ?BRAKE bsl ?TICKET_BITS}, {is_pid, '$1'}, {'=:=', {node, '$1'}, {node}}],
    [{['$1', '_', '_', '_'], Guards, [{message, {{'$1', label(), caller(Config)}}}]}].

%% The same patterns of tiers other than the entry, for calls of requests with this ticket or a later one.
-spec since(non_neg_integer(), kprof_spec:compiled()) -> kprof_spec:compiled().
since(Ticket, Specs) ->
    Recent = {'>=', ticket_of(label()), Ticket}, % a label that is a pid counts as recent
    [{Ix, MFA, [{Head, Guards, told_if(Recent, Body)} || {Head, Guards, Body} <- Spec]} || {Ix, MFA, Spec} <- Specs].

%% Guards cannot read the token.
told_if(Condition, Body) ->
    {Traced, [{message, Payload}]} = lists:partition(fun(Action) -> element(1, Action) =/= message end, Body),
    {Exceptions, Others} = lists:partition(fun(Action) -> Action =:= {exception_trace} end, Traced),
    Others ++ [{message, all_of([Condition | Exceptions] ++ [Payload])}].

first_of([{_, M, F, A} = T | Rest], Seen) ->
    case lists:member({M, F, A}, Seen) of
        true -> first_of(Rest, Seen);
        false -> [T | first_of(Rest, [{M, F, A} | Seen])]
    end;
first_of([], _) ->
    [].

spec(Ix, A, Rules, #{entry := Ix} = Config) ->
    passed_over(Config) ++ lists:append([entry(Ix, Rule, Config) || Rule <- clauses(Rules, A, Config)]);
spec(Ix, A, Rules, #{entry := none} = Config) ->
    passed_over(Config) ++
        [{Head, Guards, self_counted(Config) ++ full(Config) ++ [{message, payload(Ix, 0, Head, Name, Rules, Config)}]} || {Head, Guards, Name} <- clauses(Rules, A, Config)];
spec(Ix, A, Rules, Config) ->
    [
        {Head, [{is_seq_trace}, {'<', {get_tcw}, ?BRAKE bsl ?TICKET_BITS} | Guards],
            full(Config) ++ detail_switch(Config) ++ [{message, payload(Ix, label(), Head, Name, Rules, Config)}]}
     || {Head, Guards, Name} <- clauses(Rules, A, Config)
    ].

clauses(Rules, A, Config) ->
    All = Rules ++ [{'_', [], undefined}],
    case maps:get(args, Config, false) of
        true -> [{variables(Head, A), Guards, Name} || {Head, Guards, Name} <- All];
        false -> All
    end.

payload(Ix, Label, Head, _, [], Config) -> {{Ix, Label, caller(Head, Config)}};
payload(Ix, Label, Head, Name, _, Config) -> {{Ix, Label, caller(Head, Config), Name}}.

full(#{returns := full}) -> [{exception_trace}];
full(_) -> [].

caller(Head, #{args := true} = Config) -> {{caller(Config), arguments(Head)}};
caller(_, Config) -> caller(Config).

caller(#{returns := full}) -> 0;
caller(_) -> {caller}.

%% ---- Arguments (--slow-args) ----

%% A match spec cannot measure the size of a term, but guards can test for small terms. Only these are copied. An argument is
%% {Value, Prefix, Tuple, Map, List}, all false but one; all false if it is none of these.
%%   Value: {V}, V small                 Prefix: {Bytes, <<the first of them>>}
%%   Tuple: {Size, {V} | false, ...}     Map: how many keys     List: {{V} | false}, of its head
%% Every argument that is sent has its own variable.
variables('_', A) -> variables(lists:duplicate(A, '_'), A);
variables(Head, _) -> variables_from(Head, 1).

variables_from(['_' | Rest], I) when I =< ?ARGS -> [list_to_atom("$" ++ integer_to_list(900 + I)) | variables_from(Rest, I + 1)];
variables_from([P | Rest], I) -> [P | variables_from(Rest, I + 1)];
variables_from([], _) -> [].

arguments(Head) ->
    More = ['...' || length(Head) > ?ARGS],
    {list_to_tuple([argument(P) || P <- lists:sublist(Head, ?ARGS)] ++ More)}.

argument(X) when is_atom(X), X =/= '_' ->
    case kprof_check:variable(X) of
        true -> {{value(X), prefix(X), elements(X), {'andalso', {is_map, X}, {map_size, X}}, head_of(X)}};
        false -> '...'
    end;
argument(_) ->
    '...'.

value(X) -> {'andalso', small(X), {{X}}}.

small(X) ->
    {'orelse', {is_atom, X}, {is_pid, X}, {is_float, X}, {is_reference, X}, {'=:=', X, []},
        {'andalso', {is_integer, X}, {'<', X, two_to_64()}, {'>', X, -two_to_64()}},
        {'andalso', {is_binary, X}, {'=<', {byte_size, X}, ?BYTES}}}.

%% As a constant it would be a literal of the module (merge.escript).
two_to_64() ->
    <<N:72>> = <<1, 0:64>>,
    N.

prefix(X) -> {'andalso', {is_binary, X}, {'>', {byte_size, X}, ?BYTES}, {{{byte_size, X}, {binary_part, X, 0, ?BYTES}}}}.

elements(X) ->
    Told = [{'andalso', {'>=', {size, X}, I}, value({element, I, X})} || I <- lists:seq(1, ?ELEMENTS)],
    {'andalso', {is_tuple, X}, {list_to_tuple([{size, X} | Told])}}.

head_of(X) -> {'andalso', {is_list, X}, {'=/=', X, []}, {{value({hd, X})}}}.

%% ---- Tokens ----

label() -> {element, 2, {get_seq_token}}.
low() -> {'band', label(), ?LOW}.

%% Two clauses of the match spec for each clause of the rule: a process that already has a token sends the old label, too.
%% Elements of a tuple, and the arguments of a function, are evaluated from right to left: the last element is the label from
%% before the actions.
entry(Ix, {Head, Guards, Name}, #{epoch := Epoch} = Config) ->
    Ticket = ticket(Epoch, {set_seq_token, label, {self}}) ++ detail_draw(Config),
    C = caller(Head, Config),
    [
        {Head, [{is_seq_trace} | Guards],
            full(Config) ++ [{message, {{Ix, label(), C, Name, {'=:=', 0, {list_to_tuple(lists:reverse(Ticket))}}, label()}}}] ++ detail_switch(Config)},
        {Head, Guards, Ticket ++ full(Config) ++ [{message, {{Ix, label(), C, Name, entry}}}] ++ detail_switch(Config)}
    ].

%% ---- Detail: some of the sampled requests, with the scheduling of their processes ----

%% Sets the bit in the label of 1 request in N. The hash is not that of the sampling, so that the two choices are independent. If
%% the label is a pid (no ticket), the hash fails, and the comparison is false.
detail_draw(#{detail := N}) when N > 0 ->
    P1 = 2147483399,
    P2 = 2147483647,
    Hash = {'rem', {'*', {'+', 1, {'rem', {'*', {'band', label(), ?TICKETS}, 40692}, P1}}, 16807}, P2},
    [{'andalso', {'<', Hash, P2 div N}, {set_seq_token, label, {'bor', ?DETAIL, {'band', label(), ?WITHOUT_DETAIL}}}}];
detail_draw(_) ->
    [].

%% A call of such a request sets the flags of its process. To clear them here would cost each call of other requests 0.3 us. The
%% bit is the highest one of a label, so one comparison is enough for other requests; a pid is greater than any number.
detail_switch(#{detail := N, detail_flags := Flags}) when N > 0 ->
    [{'andalso', {'>=', label(), ?DETAIL}, {is_integer, label()}, {trace, [], Flags}}];
detail_switch(_) ->
    [].

%% First clause: unsampled calls. They dominate the cost on a busy node, so it has only one guard, makes no token, and clears an
%% old token. The guard is evaluated once: another process may change the word at any time, and a call that is sampled for one
%% clause, but not for the next one, would keep the token of an earlier request. Without an entry, calls have no tokens.
passed_over(#{sample := N, entry := Entry} = Config) -> [{'_', [lost(N, Config)], passed(Entry)}].

passed(none) -> [bump(1), {message, false}];
passed(_) -> [{'andalso', {is_seq_trace}, {set_seq_token, sequential_trace_token, []}}, bump(ahead()), {message, false}].

%% An entry of which no call is sampled.
-spec unsampled() -> kprof_spec:match_spec().
unsampled() -> [{'_', [], passed(entry)}].

%% Without an entry, a sampled call takes no ticket: it only counts itself in the control word.
self_counted(#{}) -> [bump(1)].

%% False for 1 call in N. With a cut in the control word, N is doubled for each step of the cut. A change of the cut therefore
%% needs no change of a pattern. The hash of the ticket uses two primes, because with one alone, some calls of a periodic
%% workload would be sampled too often or too rarely.
lost(N, Config) ->
    P1 = 2147483647,
    P2 = 2147483629,
    Zero = 462063239, % Zero * 69621 rem P2 = P2 - 1: a ticket of 0 is sampled only if every call is
    Ticket = ticket_of({get_tcw}),
    Hash = {'rem', {'*', {'rem', {'+', Zero, {'*', Ticket, 48271}}, P1}, 69621}, P2},
    Lost = {'>=', Hash, {'bsr', most(P2, N), {'-', {'bsr', {get_tcw}, ?TICKET_BITS}, 1}}},
    case N of
        1 -> {'andalso', Lost, {'orelse', {'<', {get_tcw}, ?LIMIT bsl ?TICKET_BITS}, beyond(block(Config)), {'>=', {get_tcw}, ?LIMIT_END bsl ?TICKET_BITS}}};
        _ -> Lost
    end.

%% With a limit, which looks like a deep cut at first: true if the ticket is in none of the blocks that the limit allows. While a
%% process is taking a ticket, it is not known: a call is sampled. Each {get_tcw} may read another word. With one comparison, a
%% few of a million calls read a ticket of 0 there, but not before and after it, and were lost; with two, one of 10 million did
%% on a machine whose cores had other work. Three such times do not follow each other as fast.
beyond(Block) ->
    Ticket = ticket_of({get_tcw}),
    Ahead = {'-', {'+', {'div', Ticket, Block}, ?LIMIT + ?BLOCKS + 1}, {'bsr', {get_tcw}, ?TICKET_BITS}},
    Is = {'>=', {'band', Ahead, ?BLOCKS}, ?ALLOWED},
    Known = {'=/=', Ticket, 0},
    {'andalso', Known, Is, Known, Is, Known, Is, Known}.

%% Requests in a block. Where each call is sampled, the pacer lets at most ?ALLOWED blocks pass between two of its turns
%% (kprof_spec:allow/2). A process runs for 4000 reductions: if all calls of a tight loop were sampled, other processes would
%% wait longer than 10 ms for its turn. The more traced functions there are, the fewer requests. Without an entry, calls are counted.
-spec block(kprof_spec:trace_config()) -> pos_integer().
block(#{entry := none}) -> ?AT_ONCE div ?ALLOWED;
block(#{tiers := Tiers}) -> max(?LEAST_BLOCK, ?AT_ONCE div (?ALLOWED * max(1, length(Tiers)))).

%% A call with a hash below this is sampled, without a cut. P2: one more than the largest hash.
most(P2, 1) -> P2;
most(P2, N) -> P2 div N.

%% One more call in the control word. Not atomic: a lost count only means that two calls share a sampling decision. A
%% process that finds that the word has changed since it read it may have set it back by the tickets that others have taken
%% since: it skips Ahead tickets, so that no two requests get the same. Every ticket that it skips counts as a call, so Ahead is
%% not more than needed: 1 if calls take no tickets. Ticket 0: a process is taking a ticket (ticket/2).
bump(Ahead) ->
    {'orelse',
        {'=:=', 0, ticket_of({get_tcw})},
        {'=:=', {get_tcw}, {'+', 1, {set_tcw, after_it({get_tcw}, 1)}}},
        {'=:=', 0, {set_tcw, after_it({get_tcw}, Ahead)}}}.

%% Between the two actions that read and write the word, another scheduler has time for one call.
ahead() -> min(?AHEAD, max(1, erlang:system_info(schedulers_online) - 1)).

%% The word that is N tickets after this one; after the last ticket comes 1.
after_it(Word, N) -> {'bor', {'band', {get_tcw}, ?CUT_BITS}, {'+', 1, {'rem', {'+', N - 1, ticket_of(Word)}, ?TICKETS}}}.

ticket_of(Word) -> {'band', Word, ?TICKETS}.

%% An atomic ticket. set_tcw exchanges values: a process that reads a number owns it until it writes the next one. A process
%% that reads 0 tries again, and finally uses Otherwise. The label of the token serves as the variable that match specs lack.
ticket(Epoch, Otherwise) ->
    Take = {set_seq_token, label, {'bor', Epoch bsl 32, {set_tcw, {'band', {get_tcw}, ?CUT_BITS}}}},
    Put = {'=:=', 0, {set_tcw, after_it(low(), 1)}},
    [Take, {'orelse', again(?SPINS, Take, Otherwise), Put}].

again(0, _, Otherwise) -> {'andalso', {'=:=', 0, ticket_of(label())}, Otherwise};
again(N, Take, Otherwise) -> {'andalso', {'=:=', 0, ticket_of(label())}, {'andalso', Take, again(N - 1, Take, Otherwise)}}.

%% ---- A full trace (kprof_full_tracer) ----

%% The match spec of the function that starts the request, as a meta pattern: processes need no flag for it. The first call
%% that matches exchanges the control word (atomic: no other call can follow), marks its request with a token, and sets the
%% flags of its own process. The word and the label say which attempt it is. Clauses: of an identity rule, whose result must be
%% one of Values, or true. Until the first call returns, calls with its token belong to the request. A later one, for example
%% in a connection that still has the token, is another request: its token is cleared.
-spec full_entry(kprof_identity_rule:clauses(), true | [term()], kprof_spec:full_words(), {integer(), [atom() | tuple()]}) -> kprof_spec:match_spec().
full_entry(Clauses, Values, {Armed, Fired, Late, _}, {Label, Flags} = Mark) ->
    [
        {Head, [{'=:=', {get_tcw}, Armed} | Guards],
            [{message, all_of(wanted(Name, Values) ++ [{'=:=', Armed, {set_tcw, Fired}}, {set_seq_token, label, Label}] ++ followed(Flags, true))}]}
     || {Head, Guards, Name} <- Clauses
    ] ++ full_called([{'_', [], undefined}], true, {'=:=', {get_tcw}, Fired}, Mark) ++
        [{'_', [{is_seq_trace}, {'=:=', {get_tcw}, Late}], [{set_seq_token, sequential_trace_token, []}, {message, false}]}].

%% The match spec of a function that another process calls for the request: only where the token has its label. Clauses,
%% Values: a rule that the request must fulfil here; its event says whether it does.
-spec full_tier(kprof_identity_rule:clauses(), true | [term()], kprof_spec:full_words(), {integer(), [atom() | tuple()]}) -> kprof_spec:match_spec().
full_tier(Clauses, Values, {_, Fired, Late, _}, Mark) ->
    full_called(Clauses ++ [{'_', [], undefined}], Values, {'orelse', {'=:=', {get_tcw}, Fired}, {'=:=', {get_tcw}, Late}}, Mark).

full_called(Clauses, Values, Word, {Label, Flags}) ->
    [
        {Head, [{is_seq_trace}, Word | Guards], [{message, all_of([{'=:=', label(), Label}] ++ followed(Flags, given(Name, Values)))}]}
     || {Head, Guards, Name} <- Clauses
    ].

followed(Flags, Given) -> [{exception_trace}, {'orelse', {trace, [], Flags}, true}, {{full, {caller}, Given}}].

all_of(Conditions) -> list_to_tuple(['andalso' | Conditions]).

wanted(true, true) -> [];
wanted(Name, Values) -> [one_of(Name, Values)].

given(undefined, _) -> false;
given(Name, Values) -> one_of(Name, Values).

one_of(Name, true) -> {'=:=', Name, {const, true}};
one_of(Name, [Value]) -> {'=:=', Name, {const, Value}};
one_of(Name, Values) -> list_to_tuple(['orelse' | [{'=:=', Name, {const, Value}} || Value <- Values]]).
