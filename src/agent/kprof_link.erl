%% The connection to kprof-top: answers, events, messages that are sent again if the connection is full, and the time since the
%% last message. Functions of the controller's process.
-module(kprof_link).
-export([
    answer/3, answer_apart/4, answer_last/3, counter/2, end_apart/0, event/3, event_kept/3, heard/1, heard_before/2, is_silent/1, keep/2, missing/1, new/1, no_room/0, send/2,
    silence_ms/1, tell_all/1, tell_kept/1, unauthorized/1
]).

-type sent() :: ok | nosuspend | noconnect.

-include("kprof_controller.hrl").
-include("kprof_counters.hrl").

-define(KEPT, 20).
-define(LAST_MS, 2000). % maximum time to send the last messages
-define(AGAIN_MS, 10).

-spec new(kprof_controller:options()) -> #link{}.
new(#{pid := Pid, node := Node, key := Key} = Opts) ->
    #link{
        pid = Pid,
        node = Node,
        key = Key,
        heard = kprof_node:now_ms(),
        pause_ms = maps:get(pause_ms, Opts, ?PAUSE_MS),
        end_ms = maps:get(end_ms, Opts, ?END_MS),
        cpu = kprof_node:cpu()
    }.

%% For requests of kprof-top that take long: a separate process finds the answer and sends it.
-spec answer_apart(integer(), fun(() -> term()), [{priority, low} | {scheduler, pos_integer()}], state()) -> term().
answer_apart(Ref, Find, Opts, #s{link = #link{pid = Pid}} = S) ->
    case kprof_node:spawn_if_room(fun() -> erlang:send(Pid, {kr, Ref, found(Find)}, [noconnect]) end, [link | Opts]) of
        none -> answer(Ref, no_room(), S);
        _ -> ok
    end.

-spec no_room() -> {error, busy, binary()}.
no_room() -> {error, busy, <<"the node has as many processes as it may have">>}.

found(Find) ->
    try Find()
    catch _:Why -> {error, crashed, kprof_text:format("~0tP", [Why, 20])}
    end.

%% Before the agent ends: ends the processes of answer_apart/4 that still work (and a walk of kprof_flags, which the cleanup would
%% end, too). kprof_cleanup:reap/1 waits until they are dead: one that ran on while the module is unloaded would find no texts, and a
%% call of the module would make the code server search for it. (What these have started ends when the modules are purged.)
-spec end_apart() -> [pid()].
end_apart() ->
    {links, Linked} = process_info(self(), links),
    [ended(P) || P <- Linked, is_pid(P)].

%% Like the link, if the controller did not end as `normal`.
ended(P) ->
    unlink(P),
    exit(P, shutdown),
    P.

%% An answer is kept until it can be sent. A pong is dropped instead, because it is valid only at its time.
-spec answer(integer(), term(), state()) -> state().
answer(Ref, {pong, _} = Pong, S) ->
    send({kr, Ref, Pong}, S),
    S;
answer(Ref, Result, S) ->
    tell_kept(keep({kr, Ref, Result}, S)).

%% Called before the agent ends. It may block: only the process that asked still waits.
-spec answer_last(integer(), term(), state()) -> state().
answer_last(Ref, Result, S) -> tell_all(keep({kr, Ref, Result}, S)).

-spec tell_all(state()) -> state().
tell_all(S) -> tell_all(S, kprof_node:now_ms() + ?LAST_MS).

tell_all(S0, Until) ->
    S = tell_kept(S0),
    case S#s.link#link.unsent =:= [] orelse kprof_node:now_ms() > Until of
        true ->
            S;
        false ->
            receive
            after ?AGAIN_MS -> tell_all(S, Until)
            end
    end.

-spec send(tuple(), state()) -> sent().
send(What, #s{link = #link{pid = Pid}}) -> erlang:send(Pid, What, [nosuspend, noconnect]).
-spec event(atom(), binary(), state()) -> sent().
event(Tag, Text, S) -> send({ke, Tag, Text}, S).

%% A message that must arrive, even if the connection is blocked. -> S
-spec event_kept(atom(), binary(), state()) -> state().
event_kept(Tag, Text, S) -> tell_kept(keep({ke, Tag, Text}, S)).

-spec keep(tuple(), state()) -> state().
keep(What, #s{link = #link{unsent = Unsent}} = S) -> S#s{link = S#s.link#link{unsent = lists:sublist([What | Unsent], ?KEPT)}}.

-spec tell_kept(state()) -> state().
tell_kept(#s{link = #link{unsent = Unsent}} = S) ->
    S#s{link = S#s.link#link{unsent = lists:reverse(lists:dropwhile(fun(E) -> send(E, S) =:= ok end, lists:reverse(Unsent)))}}.

-spec counter(pos_integer(), state()) -> integer().
counter(I, #s{counters = C}) -> atomics:get(C, I).

%% Events for which later ones stand.
-spec missing(state()) -> integer().
missing(S) -> counter(?DROPPED, S) + counter(?BEYOND_EVENTS, S).

%% A message does not identify its sender; only the kprof-top that loaded the agent has the key. Reported for the 1st, 10th,
%% 100th ...
-spec unauthorized(state()) -> state().
unauthorized(#s{link = #link{unauthorized = N0, said_at = At} = Link} = S) when N0 + 1 >= At ->
    event(stranger, kprof_text:format("requests without the key of this kprof-top, which were ignored: ~b", [N0 + 1]), S),
    S#s{link = Link#link{unauthorized = N0 + 1, said_at = At * 10}};
unauthorized(#s{link = #link{unauthorized = N} = Link} = S) ->
    S#s{link = Link#link{unauthorized = N + 1}}.

%% A message from kprof-top arrived. again: tracing was paused because none had arrived.
-spec heard(state()) -> {again | on_time, state()}.
heard(#s{tracing = #tracing{paused = lease}} = S0) ->
    Text = "nothing was received from kprof-top for ~b s (it was suspended or its connection was blocked): tracing was paused and continues",
    S = event_kept(lease, kprof_text:format(Text, [silence_ms(S0) div 1000]), S0),
    {again, heard_before(0, S)};
heard(S) ->
    {on_time, heard_before(0, tell_kept(S))}.

%% kprof-top was last known to be responsive AgeMs ago.
-spec heard_before(non_neg_integer(), state()) -> state().
heard_before(AgeMs, #s{link = Link} = S) -> S#s{link = Link#link{heard = kprof_node:now_ms() - AgeMs}}.

%% Time since the last message from kprof-top.
-spec silence_ms(state()) -> integer().
silence_ms(#s{link = #link{heard = Heard}}) -> kprof_node:now_ms() - Heard.

%% True if tracing must pause now, because the next heartbeat would be too late.
-spec is_silent(state()) -> boolean().
is_silent(#s{link = #link{pause_ms = Pause}} = S) -> silence_ms(S) > Pause - min(?BEAT_MS, Pause div 10).
