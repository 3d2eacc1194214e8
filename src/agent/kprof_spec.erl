%% Sets and clears patterns, flags, trace sessions and the control word: the only source that does. kprof_match_spec makes the
%% match specs; kprof_check checks each one before it is set. PROTOCOL.md has the bits.
-module(kprof_spec).
-export([
    detail_label/0, of_epoch/2, ticket_range/0, tickets/2, word/2, cut/1, cut_bits/1, keep/2, allow/2, is_limited/1, beyond/3, ours/1, held/1, full_words/2, full_label/2, set_word/1, capture/0, full_function/0,
    set_pattern/4, set_meta/4, is_meta_free/3, pattern/2, flags/4, send_left/2, send_pattern/2, session/3, end_session/1,
    system/2, delivered/1, reset_tokens/1
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
%% sent: of a function that sends messages to servers (kprof_match_spec:senders/1).
-type compiled() :: [{ix() | sent, mfa(), match_spec()}].
-type matched() :: non_neg_integer() | {error, term()}.
%% The trace configuration; the epoch is that of the session.
-type trace_config() :: #{
    tiers := [tier()], entry := none | ix(), identity := none | binary(), returns := lean | full, sample := pos_integer(), args => boolean(),
    mailbox => boolean(), rules => kprof_identity_rule:rules(),
    epoch => pos_integer(), detail => non_neg_integer(), detail_flags => [atom()]
}.

-include("kprof_control_word.hrl").

-define(STEADY_US, 20).
-define(TRY_US, 200).
-define(RESET_PROCESSES, 50000).
-define(MOST_BETWEEN, 1 bsl 22). % tickets between two turns of the pacer

%% ---- Labels and tickets ----

-spec detail_label() -> pos_integer().
detail_label() -> ?DETAIL.

%% True if the label, a number, is that of a request of this session.
-spec of_epoch(non_neg_integer(), pos_integer()) -> boolean().
of_epoch(Label, Epoch) -> (Label band ?WITHOUT_DETAIL) bsr 32 =:= Epoch.

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

%% The code of a cut.
-spec cut_bits(brake | non_neg_integer()) -> 1..31.
cut_bits(brake) -> ?BRAKE;
cut_bits(Cut) -> ?NO_CUT + min(?CUT_MOST, Cut).

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
    Kept = has_code(Bits, Word),
    Kept orelse Word band ?TICKETS =:= 0 orelse erlang:system_flag(trace_control_word, word(Cut, Word + ?AHEAD)),
    if
        Kept, Now - Since >= Steady -> true;
        Now > End -> false;
        Kept -> cut(Bits, Cut, Since, Steady, End);
        true -> cut(Bits, Cut, erlang:monotonic_time(), Steady, End)
    end.

native(Us) -> erlang:convert_time_unit(Us, microsecond, native).

%% A call that the operating system interrupts between its reading of the word and its writing restores an old cut even after
%% cut/1. Sets the cut with this code again if the word has another one; a limit is without a cut, too. The brake, and a word of
%% somebody else, stay. Word: the present one, not held. -> boolean(): it was set
-spec keep(1..21, non_neg_integer()) -> boolean().
keep(Code, Word) ->
    case is_cut(Word) andalso not has_code(Code, Word) of
        true ->
            {_, Now} = change(fun(Taken) -> case is_cut(Taken) of true -> Code bsl ?TICKET_BITS bor (Taken band ?TICKETS); false -> Taken end end, Word),
            has_code(Code, Now);
        false ->
            false
    end.

is_cut(Word) -> ours(Word) andalso Word bsr ?TICKET_BITS =/= ?BRAKE.

has_code(Code, Word) -> Word bsr ?TICKET_BITS =:= Code orelse Code =:= ?NO_CUT andalso is_limited(Word).

%% ---- The limit, where each call is sampled: one code for each of eight blocks of tickets in turn ----

-spec is_limited(non_neg_integer()) -> boolean().
is_limited(Word) -> Word >= ?LIMIT bsl ?TICKET_BITS andalso Word < ?LIMIT_END bsl ?TICKET_BITS.

%% From now on, calls are sampled to the end of the ?ALLOWED blocks of so many tickets that begin with the present one; none:
%% without a limit. A word with a cut or the brake stays. Word: the present one, not held. -> {the last word with the limit from
%% before, the word now in force}
-spec allow(pos_integer() | none, non_neg_integer()) -> {non_neg_integer(), non_neg_integer()}.
allow(Size, Word) ->
    case is_without_cut(Word) andalso limited(Size, Word) of
        false -> {Word, Word};
        Word -> {Word, Word};
        _ -> change(fun(Taken) -> case is_without_cut(Taken) of true -> limited(Size, Taken); false -> Taken end end, Word)
    end.

%% Like a call that takes a ticket, so no ticket is lost, and none is given to two requests. -> {the word before, the word now}
change(New, Word) ->
    case erlang:system_flag(trace_control_word, Word band ?CUT_BITS) of
        Taken when Taken band ?TICKETS =:= 0 ->
            ours(Taken) orelse set_word(Taken), % detached meanwhile; otherwise a process is taking a ticket: at the next turn
            {Word, Word};
        Taken ->
            Now = New(Taken),
            set_word(Now),
            {Taken, Now}
    end.

is_without_cut(Word) -> Word bsr ?TICKET_BITS =:= ?NO_CUT orelse is_limited(Word).

limited(none, Word) -> ?NO_CUT bsl ?TICKET_BITS bor (Word band ?TICKETS);
limited(Size, Word) -> (?LIMIT + block(Size, Word)) bsl ?TICKET_BITS bor (Word band ?TICKETS).

block(Size, Word) -> (Word band ?TICKETS) div Size band ?BLOCKS.

%% The number of calls between two words that were not sampled because of the limit: that of the second one, because a call may
%% have restored the limit from before the first word; or that of the first one, if the sampling has just been cut.
-spec beyond(pos_integer(), non_neg_integer(), non_neg_integer()) -> non_neg_integer().
beyond(Size, Before, Now) ->
    case is_limited(Before) andalso tickets(Before band ?TICKETS, Now band ?TICKETS) of
        false ->
            0;
        Tickets when Tickets > ?MOST_BETWEEN ->
            0; % another process has set the word
        Tickets ->
            Limit = case is_limited(Now) of true -> Now; false -> Before end bsr ?TICKET_BITS - ?LIMIT,
            Blocks = (block(Size, Before) - Limit) band ?BLOCKS,
            Began = Blocks * Size + (Before band ?TICKETS) rem Size,
            beyond_of(Began + Tickets, Size) - beyond_of(Began, Size)
    end.

%% Of so many calls from the beginning of the limit's block.
beyond_of(Tickets, Size) ->
    All = (?BLOCKS + 1) * Size,
    Tickets div All * (All - ?ALLOWED * Size) + max(0, Tickets rem All - ?ALLOWED * Size).

%% True if the word is of an agent.
-spec ours(non_neg_integer()) -> boolean().
ours(Word) -> Word > ?TICKETS.

%% True if a process is taking the ticket.
-spec held(non_neg_integer()) -> boolean().
held(Word) -> Word band ?TICKETS =:= 0.

%% ---- A full trace (kprof_full_tracer) ----

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

%% ---- Match specs by which the agent knows its own patterns ----

%% For a capture: the calling process is not recorded again.
-spec capture() -> match_spec().
capture() -> [{'_', [], [{trace, [call], []}]}].

%% The match spec of every function: the event has the function that the call returns to. The last element has no effect:
%% without it this would be the alias `c` of dbg.
-spec full_function() -> match_spec().
full_function() -> [{'_', [], [{message, {caller}}, true]}].

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

%% A meta pattern: it holds for all processes, and needs no flags. Tracer: who gets its events, without a session; then one of
%% another tracer is neither replaced nor removed.
-spec set_meta(session(), mfa(), match_spec() | false, pid()) -> matched().
set_meta(Session, MFA, Spec, Tracer) ->
    Flags = case {Session, Spec} of {none, [_ | _]} -> [{meta, Tracer}]; _ -> [meta] end,
    case {kprof_hazard:allowed(full_request, kprof_hazard:vm()), Spec =:= false orelse kprof_check:check(Spec)} of
        {false, _} -> {error, {held_back, full_request}};
        {true, {error, _} = Error} -> Error;
        {true, _} ->
            case is_meta_free(Session, MFA, Tracer) of
                true -> do_set(Session, MFA, Spec, Flags);
                false -> {error, taken}
            end
    end.

%% False: in the common trace, another tracer, which is alive, has a meta pattern on the function.
-spec is_meta_free(session(), mfa(), pid()) -> boolean().
is_meta_free(none, MFA, Tracer) ->
    case pattern({none, meta}, MFA) of
        Tracer -> true;
        P when is_pid(P) -> not is_process_alive(P);
        Other -> is_atom(Other) orelse Other =:= [] % false, undefined; []: it has another kind of pattern
    end;
is_meta_free(_, _, _) ->
    true.

do_set(Session, MFA, Spec, Flags) ->
    try
        case Session of
            none -> erlang:trace_pattern(MFA, Spec, Flags);
            _ -> (tracer()):function(Session, MFA, Spec, Flags)
        end
    catch
        _:Why -> {error, Why}
    end.

%% What is set for a function: the value of Item (traced, match_spec, meta, call_count). Processes are not asked: a session
%% that was asked about a dead process is never freed (erl_bif_trace.c, trace_info_pid, up to OTP 29.1).
-spec pattern({session(), traced | match_spec | meta | call_count}, mfa()) -> term().
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
    %% If another tracer traces the process, the VM logs an error for each call: one is enough.
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
%% an agent in another slot), or if Prevents() is true, which is asked last. -> boolean()
-spec reset_tokens(fun(() -> boolean())) -> boolean().
reset_tokens(Prevents) ->
    kprof_hazard:allowed(reset_trace, kprof_hazard:vm()) andalso
        erlang:system_info(process_count) < ?RESET_PROCESSES andalso seq_trace:get_system_tracer() =:= false andalso
        kprof_node:staying() =:= [] andalso not Prevents() andalso is_tuple(seq_trace:reset_trace()) =:= false.
