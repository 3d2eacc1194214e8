%% Requests for the tests of full traces, on the target. Each function tells agent_full_log first, which is not traced. Portable back
%% to OTP 25.
-module(agent_full_work).
-export([start/1, request/2, runaway/1, serve/1]).
-export([part/1, sum/1, loop/1, deep/1, throws/1, over/1, ask/2, last/1, served/1, slow/1, spin/1]).

%% The server that requests ask.
start(Tester) -> spawn(fun() -> Tester ! {self(), ready}, ?MODULE:serve(none) end).

request(Kind, Server) ->
    agent_full_log:put(request),
    A = ?MODULE:part(1),
    B = ?MODULE:sum(3),
    C = ?MODULE:ask(Server, Kind),
    D = ?MODULE:over(2),
    E = ?MODULE:loop(4),
    R = {A, B, C, D, E, ?MODULE:last(1)},
    agent_full_log:put(request_end),
    R.

part(X) -> agent_full_log:put(part), Y = ?MODULE:deep(X), Y + 1.
deep(X) -> agent_full_log:put(deep), X.
sum(0) -> agent_full_log:put(sum), 0;
sum(N) -> agent_full_log:put(sum), N + ?MODULE:sum(N - 1).
loop(0) -> agent_full_log:put(loop), ?MODULE:deep(0);
loop(N) -> agent_full_log:put(loop), ?MODULE:loop(N - 1).
%% Calls a function of a module that is not traced, which calls back.
last(X) -> agent_full_log:put(last), lists:map(fun(Y) -> Z = ?MODULE:deep(Y), Z + 1 end, [X, X]).
over(X) -> agent_full_log:put(over), R = (catch ?MODULE:throws(X)), {caught, R}.
throws(X) -> agent_full_log:put(throws), throw({thrown, ?MODULE:deep(X)}).

ask(Server, Kind) ->
    agent_full_log:put(ask),
    Ref = make_ref(),
    Server ! {ask, self(), Ref, Kind},
    receive {Ref, Answer} -> Answer end.

serve(_) ->
    receive
        {ask, From, Ref, Kind} ->
            From ! {Ref, ?MODULE:served(Kind)},
            ?MODULE:serve(Kind)
    end.

served(Kind) -> agent_full_log:put(served), R = ?MODULE:slow(Kind), {Kind, R}.
slow(slow) -> agent_full_log:put(slow), receive after 60 -> waited end;
slow(_) -> agent_full_log:put(slow), ok.

%% Never returns.
runaway(N) -> ?MODULE:spin(N), ?MODULE:runaway(N + 1).
spin(N) -> N.
