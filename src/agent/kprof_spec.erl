%% Match specs: the only source that makes and sets them (kprof_check checks each one first). A trace configuration (tiers,
%% entry, identity rule, returns, sampling) becomes one match spec per tier. PROTOCOL.md has the messages.
-module(kprof_spec).
-export([
    compile/1, since/2, unsampled/0, senders/1, capture/0, full_function/0, full_entry/4, full_tier/4, full_words/2, full_label/2, set_pattern/4, set_meta/4, pattern/2,
    detail_label/0, of_epoch/2, send_pattern/2, send_left/2, system/2, flags/4, session/3, end_session/1, delivered/1, reset_tokens/0, set_word/1, ticket_range/0, tickets/2, word/2, cut/1, ours/1, held/1
]).
%% Dialyzer of OTP 25 does not accept a pattern of `send` there.
-dialyzer({nowarn_function, send_pattern/2}).
-export_type([full_words/0, compiled/0, ix/0, match_spec/0, matched/0, session/0, tier/0, trace_config/0]).

-type session() :: none | tuple().
-type ix() :: non_neg_integer().
-type tier() :: {ix(), module(), atom(), arity()}.
-type match_spec() :: [{'_' | [term()], [term()], [term()]}].
%% Of one attempt of a full trace: the control word while it waits, while it traces, after the end of the request while others
%% still work for it, and afterwards.
-type full_words() :: {pos_integer(), pos_integer(), pos_integer(), pos_integer()}.
%% sent: of a function that sends messages to servers (senders/1).
-type compiled() :: [{ix() | sent, mfa(), match_spec()}].
-type matched() :: non_neg_integer() | {error, term()}.
%% The trace configuration; the epoch is that of the session.
-type trace_config() :: #{
    tiers := [tier()], entry := none | ix(), identity := none | binary(), returns := lean | full, sample := pos_integer(), args => boolean(),
    mailbox => boolean(),
    epoch => pos_integer(), detail => non_neg_integer(), detail_flags => [atom()]
}.

%% The control word: the cut, plus 1, in the bits above ?TICKET_BITS, and the ticket below. Ticket 0: a process is taking a
%% ticket.
-define(TICKET_BITS, 27).
-define(TICKETS, 16#7ffffff).
-define(CUT_BITS, 16#f8000000).
-define(CUT_MOST, 24).
-define(BRAKE, 31).
-define(LOW, 16#ffffffff). % the ticket's bits of a label
-define(WITHOUT_DETAIL, 16#ffffffffffff). % epoch and ticket
-define(DETAIL, 16#1000000000000). % the bit of a label above them: the request is followed in detail
-define(SPINS, 24).
-define(AHEAD, 16).
-define(STEADY_US, 20).
-define(TRY_US, 200).
-define(ARGS, 8). % maximum number of arguments that are sent
-define(ELEMENTS, 6). % of a tuple in them
-define(BYTES, 64). % of a binary
-define(RESET_PROCESSES, 50000).

%% ---- Match specs ----

%% -> {ok, [{Ix, MFA, Spec}], [Note]} | {error, Binary}. If several tiers have one MFA, the first one gets it.
-spec compile(trace_config()) -> {ok, compiled(), [binary()]} | {error, binary()}.
compile(#{tiers := Tiers, entry := Entry} = Config) ->
    case kprof_identity_rule:rules(maps:get(identity, Config, none), Tiers, Entry) of
        {ok, Rules, Notes} ->
            Specs = [{Ix, {M, F, A}, spec(Ix, A, maps:get(Ix, Rules, []), Config)} || {Ix, M, F, A} <- first_of(Tiers, [])],
            {ok, Specs ++ [{sent, MFA, sent(Config)} || MFA <- senders(Config)], Notes};
        Error ->
            Error
    end.

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

%% Only messages of requests to processes of this node.
sent(Config) ->
    Guards = [{is_seq_trace}, {'<', {get_tcw}, ?BRAKE bsl ?TICKET_BITS}, {is_pid, '$1'}, {'=:=', {node, '$1'}, {node}}],
    [{['$1', '_', '_', '_'], Guards, [{message, {{'$1', label(), caller(Config)}}}]}].

%% The same patterns of tiers other than the entry, for calls of requests with this ticket or a later one.
-spec since(non_neg_integer(), compiled()) -> compiled().
since(Ticket, Specs) ->
    Recent = {'>=', ticket_of(label()), Ticket}, % a label that is a pid counts as recent
    [{Ix, MFA, [{Head, Guards, told_if(Recent, Body)} || {Head, Guards, Body} <- Spec]} || {Ix, MFA, Spec} <- Specs].

%% Guards cannot read the token.
told_if(Condition, Body) ->
    {Traced, [{message, Payload}]} = lists:partition(fun(Action) -> element(1, Action) =/= message end, Body),
    {Exceptions, Others} = lists:partition(fun(Action) -> Action =:= {exception_trace} end, Traced),
    Others ++ [{message, all_of([Condition | Exceptions] ++ [Payload])}].

%% For a capture: the calling process is not recorded again.
-spec capture() -> match_spec().
capture() -> [{'_', [], [{trace, [call], []}]}].

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

-spec detail_label() -> pos_integer().
detail_label() -> ?DETAIL.

%% True if the label, a number, is that of a request of this session.
-spec of_epoch(non_neg_integer(), pos_integer()) -> boolean().
of_epoch(Label, Epoch) -> (Label band ?WITHOUT_DETAIL) bsr 32 =:= Epoch.

%% First clause: unsampled calls. They dominate the cost on a busy node, so it has only one guard, makes no token, and clears an
%% old token. The guard is evaluated once: another process may change the word at any time, and a call that is sampled for one
%% clause, but not for the next one, would keep the token of an earlier request. Without an entry, calls have no tokens.
passed_over(#{sample := N, entry := Entry}) -> [{'_', [lost(N)], passed(Entry)}].

passed(none) -> [bump(1), {message, false}];
passed(_) -> [{'andalso', {is_seq_trace}, {set_seq_token, sequential_trace_token, []}}, bump(ahead()), {message, false}].

%% An entry of which no call is sampled.
-spec unsampled() -> match_spec().
unsampled() -> [{'_', [], passed(entry)}].

%% Without an entry, a sampled call takes no ticket: it only counts itself in the control word.
self_counted(#{}) -> [bump(1)].

%% False for 1 call in N. With a cut in the control word, N is doubled for each step of the cut. A change of the cut therefore
%% needs no change of a pattern. The hash of the ticket uses two primes, because with one alone, some calls of a periodic
%% workload would be sampled too often or too rarely.
lost(N) ->
    P1 = 2147483647,
    P2 = 2147483629,
    Zero = 462063239, % Zero * 69621 rem P2 = P2 - 1: a ticket of 0 is sampled only if every call is
    Ticket = ticket_of({get_tcw}),
    Hash = {'rem', {'*', {'rem', {'+', Zero, {'*', Ticket, 48271}}, P1}, 69621}, P2},
    {'>=', Hash, {'bsr', most(P2, N), {'-', {'bsr', {get_tcw}, ?TICKET_BITS}, 1}}}.

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

-spec ticket_range() -> pos_integer().
ticket_range() -> ?TICKETS + 1.

%% The number of tickets taken between two readings; 0 if one of them was 0 (a process was taking a ticket), or if the ticket
%% went back.
-spec tickets(non_neg_integer(), non_neg_integer()) -> non_neg_integer().
tickets(Before, Now) when Before =:= 0; Now =:= 0 -> 0;
tickets(Before, Now) ->
    case (Now - Before + ?TICKETS + 1) band ?TICKETS of
        N when N > ?TICKETS div 2 -> 0;
        N -> N
    end.

%% ---- The control word: sampling is cut to 1 / (N * 2 ^ Cut); brake: nothing at all is traced ----

%% A start value for the control word that continues from this one.
-spec word(brake | non_neg_integer(), non_neg_integer()) -> non_neg_integer().
word(Cut, Word) -> (cut_bits(Cut) bsl ?TICKET_BITS) bor (1 + (Word band ?TICKETS) rem ?TICKETS).

cut_bits(brake) -> ?BRAKE;
cut_bits(Cut) -> 1 + min(?CUT_MOST, Cut).

%% Takes effect at once. A call that read the word before it was set, and writes it afterwards, restores the old cut: with calls
%% in a tight loop, this happens in about one of six changes. The word is therefore set until it has kept the cut for
%% ?STEADY_US, far longer than a match spec takes. -> boolean(): false if that was not seen within ?TRY_US
-spec cut(brake | non_neg_integer()) -> boolean().
cut(Cut) ->
    Now = erlang:monotonic_time(),
    cut(cut_bits(Cut), Cut, Now, native(?STEADY_US), Now + native(?TRY_US)).

cut(Bits, Cut, Since, Steady, End) ->
    Now = erlang:monotonic_time(), % before the word is read: this process may be interrupted in between
    Word = erlang:system_info(trace_control_word),
    Kept = Word bsr ?TICKET_BITS =:= Bits,
    Kept orelse Word band ?TICKETS =:= 0 orelse erlang:system_flag(trace_control_word, word(Cut, Word + ?AHEAD)),
    if
        Kept, Now - Since >= Steady -> true;
        Now > End -> false;
        Kept -> cut(Bits, Cut, Since, Steady, End);
        true -> cut(Bits, Cut, erlang:monotonic_time(), Steady, End)
    end.

native(Us) -> erlang:convert_time_unit(Us, microsecond, native).

%% True if the word is of an agent.
-spec ours(non_neg_integer()) -> boolean().
ours(Word) -> Word > ?TICKETS.

%% True if a process is taking the ticket.
-spec held(non_neg_integer()) -> boolean().
held(Word) -> Word band ?TICKETS =:= 0.


%% ---- A full trace (kprof_full_tracer) ----

%% The match spec of every function: the event has the function that the call returns to.
-spec full_function() -> match_spec().
full_function() -> [{'_', [], [{message, {caller}}]}].

%% The match spec of the function that starts the request, as a meta pattern: processes need no flag for it. The first call
%% that matches exchanges the control word (atomic: no other call can follow), marks its request with a token, and sets the
%% flags of its own process. The word and the label say which attempt it is. Clauses: of an identity rule, whose result must be
%% one of Values, or true. Until the first call returns, calls with its token belong to the request. A later one, for example
%% in a connection that still has the token, is another request: its token is cleared.
-spec full_entry(kprof_identity_rule:clauses(), true | [term()], full_words(), {integer(), [atom() | tuple()]}) -> match_spec().
full_entry(Clauses, Values, {Armed, Fired, Late, _}, {Label, Flags} = Mark) ->
    [
        {Head, [{'=:=', {get_tcw}, Armed} | Guards],
            [{message, all_of(wanted(Name, Values) ++ [{'=:=', Armed, {set_tcw, Fired}}, {set_seq_token, label, Label}] ++ followed(Flags, true))}]}
     || {Head, Guards, Name} <- Clauses
    ] ++ full_called([{'_', [], undefined}], true, {'=:=', {get_tcw}, Fired}, Mark) ++
        [{'_', [{is_seq_trace}, {'=:=', {get_tcw}, Late}], [{set_seq_token, sequential_trace_token, []}, {message, false}]}].

%% The match spec of a function that another process calls for the request: only where the token has its label. Clauses,
%% Values: a rule that the request must fulfil here; its event says whether it does.
-spec full_tier(kprof_identity_rule:clauses(), true | [term()], full_words(), {integer(), [atom() | tuple()]}) -> match_spec().
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

%% The four words continue from the control word before the first attempt. They contain the brake, so no tier is traced
%% meanwhile. Attempt: 0, 1, ...
-spec full_words(non_neg_integer(), non_neg_integer()) -> full_words().
full_words(Attempt, Word) ->
    list_to_tuple([full_word(Word, 4 * Attempt + N) || N <- [1, 2, 3, 4]]).

full_word(Word, N) -> ?BRAKE bsl ?TICKET_BITS bor (1 + ((Word band ?TICKETS) + N - 1) rem ?TICKETS).

%% No request of the tiers has such a label: while the brake is on, none is sampled.
-spec full_label(pos_integer(), full_words()) -> pos_integer().
full_label(Epoch, {Armed, _, _, _}) -> Epoch bsl 32 bor Armed.

%% -> the word before
-spec set_word(pos_integer()) -> non_neg_integer().
set_word(Word) -> erlang:system_flag(trace_control_word, Word).

%% ---- The VM: the only calls that set or clear anything. Session: none (the common trace) or a session of `trace` ----

%% Spec: a list, or false to clear; with [call_count]: true | false. -> matched functions | {error, Why}
%% pause: of a counter, which then costs nothing and keeps its breakpoint.
-spec set_pattern(session(), mfa() | {module(), '_', '_'}, match_spec() | boolean() | pause, [atom()]) -> matched().
set_pattern(_, _, _, [Flag | More]) when Flag =/= local, Flag =/= call_count; More =/= [] ->
    {error, {held_back, Flag}};
set_pattern(Session, MFA, Spec, Flags) when is_list(Spec) ->
    case kprof_check:check(Spec) of
        ok -> do_set(Session, MFA, Spec, Flags);
        Error -> Error
    end;
set_pattern(Session, MFA, pause, [call_count | _] = Flags) ->
    do_set(Session, MFA, pause, Flags);
set_pattern(Session, MFA, Spec, Flags) when is_boolean(Spec) ->
    do_set(Session, MFA, Spec, Flags).

%% A meta pattern: it holds for all processes, and needs no flags. Tracer: who gets its events, without a session.
-spec set_meta(session(), mfa(), match_spec() | false, pid()) -> matched().
set_meta(Session, MFA, Spec, Tracer) ->
    Flags = case {Session, Spec} of {none, [_ | _]} -> [{meta, Tracer}]; _ -> [meta] end,
    case {kprof_hazard:allowed(full_request, kprof_hazard:vm()), Spec =:= false orelse kprof_check:check(Spec)} of
        {false, _} -> {error, {held_back, full_request}};
        {true, {error, _} = Error} -> Error;
        {true, _} -> do_set(Session, MFA, Spec, Flags)
    end.

do_set(Session, MFA, Spec, Flags) ->
    try
        case Session of
            none -> erlang:trace_pattern(MFA, Spec, Flags);
            _ -> (tracer()):function(Session, MFA, Spec, Flags)
        end
    catch
        _:Why -> {error, Why}
    end.

%% What is set for a function: the value of Item (traced, match_spec, call_count). Processes are not asked: a session that was
%% asked about a dead process is never freed (erl_bif_trace.c, trace_info_pid, up to OTP 29.1).
-spec pattern({session(), traced | match_spec | call_count}, mfa()) -> term().
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

%% Flags of a process, or of new processes (new). The tracer is given when clearing, too, so that processes of another tracer
%% are not changed. Setting flags of all processes in one call is refused on every VM (see kprof_flags). -> 1 | 0: it is dead,
%% or has another tracer
-spec flags({session(), pid() | none}, pid() | new, boolean(), [atom()]) -> non_neg_integer().
flags(_, Who, _, _) when Who =/= new, not is_pid(Who) ->
    error({held_back, Who});
flags({none, Relay}, new, On, Flags) ->
    set_flags(new_processes, On, [{tracer, Relay} | Flags]);
flags({none, Relay}, P, true, Flags) ->
    %% Setting flags of a process that another tracer traces logs an error on the node. A call that clears no flags returns the
    %% same information and logs nothing.
    case set_flags(P, false, [{tracer, Relay} | []]) of
        0 -> 0;
        _ -> set_flags(P, true, [{tracer, Relay} | Flags])
    end;
flags({none, Relay}, P, false, Flags) ->
    set_flags(P, false, [{tracer, Relay} | Flags]);
flags({Session, _}, Who, On, Flags) ->
    try (tracer()):process(Session, Who, On, Flags)
    catch _:_ -> 0
    end.

set_flags(Who, On, Flags) ->
    try erlang:trace(Who, On, Flags)
    catch _:_ -> 0
    end.

%% Removes this match spec of the event `send` from the common trace, if its process was killed before it could.
-spec send_left(boolean(), match_spec()) -> true.
send_left(Isolated, Spec) ->
    Isolated orelse
        (erlang:trace_info(send, match_spec) =:= {match_spec, Spec} andalso send_pattern(none, true)),
    true.

%% The match spec of the event `send`; true: none. taken: another tracer has one (before OTP 27 there is one for all).
-spec send_pattern(session(), true | match_spec()) -> ok | taken.
send_pattern(none, true) ->
    erlang:trace_pattern(send, true, []),
    ok;
send_pattern(none, Spec) ->
    case erlang:trace_info(send, match_spec) of
        {match_spec, Now} when Now =:= true; Now =:= Spec -> % ours: its process was killed
            erlang:trace_pattern(send, Spec, []),
            ok;
        _ ->
            taken
    end;
send_pattern(Session, Spec) ->
    (tracer()):send(Session, Spec, []),
    ok.

%% A trace session of this name if the VM has trace sessions (OTP 27+); none: the common trace, which every VM has.
-spec session(boolean(), atom(), pid()) -> session().
session(true, Name, Tracer) -> (tracer()):session_create(Name, Tracer, []);
session(false, _, _) -> none.

%% Everything that was set in it is removed with it.
-spec end_session(session()) -> none | ended.
end_session(none) -> none;
end_session(Session) ->
    catch (tracer()):session_destroy(Session),
    ended.

%% Which events of the VM the tracer of the session gets; false: this event is off.
-spec system(session(), [{atom(), term()}]) -> ok.
system(Session, Settings) ->
    case kprof_hazard:allowed(vm_events, kprof_hazard:vm()) of
        true -> lists:foreach(fun({What, Value}) -> (tracer()):system(Session, What, Value) end, Settings);
        false -> error({held_back, vm_events})
    end.

%% Requests {trace_delivered, all, Ref}.
-spec delivered(session()) -> reference().
delivered(none) -> erlang:trace_delivered(all);
delivered(Session) -> (tracer()):delivered(Session, all).

tracer() -> trace.

%% Removes all tokens of the node, and blocks all schedulers meanwhile: only at the end (kprof_tokens), never on a VM that this
%% can crash, with so many processes that it takes long (30 ms for 200,000), or while another tracer uses tokens (seq_trace, or
%% an agent in another slot). -> boolean()
-spec reset_tokens() -> boolean().
reset_tokens() ->
    kprof_hazard:allowed(reset_trace, kprof_hazard:vm()) andalso
        erlang:system_info(process_count) < ?RESET_PROCESSES andalso seq_trace:get_system_tracer() =:= false andalso
        kprof_node:staying() =:= [] andalso is_tuple(seq_trace:reset_trace()) =:= false.
