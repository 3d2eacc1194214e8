%% Work with a known trouble, for tests of findings. request/1 is the entry, its argument the kind of the request; part/2 and
%% other/1 are tiers inside of it. Each kind has its own processes, which call request/1 at a rate until the caller of start/1
%% ends.
-module(why_work).
-export([start/1, more/2, fail/1, slower/1, grow/2, request/1, part/2, other/1]).

%% start([{Kind, PerSecond}])
start(Kinds) ->
    Owner = self(),
    spawn(fun() ->
        Ref = monitor(process, Owner),
        [spawn_link(fun() -> register(name(Kind), self()), pacer(Kind, Rate, now_us(), 0) end) || {Kind, Rate} <- Kinds],
        receive {'DOWN', Ref, _, _, _} -> exit(kill) end
    end),
    ok.

%% Another rate.
more(Kind, Rate) ->
    name(Kind) ! {rate, Rate},
    ok.

%% One of this many calls of the kind `fails` fails.
fail(N) -> persistent_term:put(fail, N).

%% From now on, part/2 takes this many times as long.
slower(Times) -> persistent_term:put(?MODULE, Times).

%% A process that keeps Bytes more every second.
grow(Bytes, Seconds) ->
    spawn(fun() -> grow(Bytes, Seconds, []) end),
    ok.

grow(_, 0, Kept) ->
    receive stop -> Kept end;
grow(Bytes, N, Kept) ->
    receive after 1000 -> ok end,
    grow(Bytes, N - 1, [binary:copy(<<N>>, Bytes) | Kept]).

name(Kind) -> list_to_atom("why_work_" ++ atom_to_list(Kind)).

now_us() -> erlang:monotonic_time(microsecond).

pacer(Kind, Rate, Begun, Sent) ->
    Due = (now_us() - Begun) * Rate div 1000000,
    [spawn(fun() -> catch ?MODULE:request(Kind) end) || _ <- lists:seq(Sent + 1, Due)],
    receive
        {rate, New} -> pacer(Kind, New, now_us(), 0)
    after 5 ->
        pacer(Kind, Rate, Begun, max(Sent, Due))
    end.

request(Kind) ->
    ?MODULE:other(Kind),
    work(Kind),
    ok.

%% Ten short calls; one long one; a call that fails now and then, or never ends; one whose
%% duration hardly depends on how busy the machine is.
work(many) -> [?MODULE:part(many, 300) || _ <- lists:seq(1, 10)];
work(long) -> ?MODULE:part(long, 20000);
work(port) -> ?MODULE:part(port, 0);
work(waits) -> ?MODULE:part(waits, 40000);
work(Kind) -> ?MODULE:part(Kind, 1000).

part(fails, Us) -> spin(Us), rand:uniform(persistent_term:get(fail, 2)) =:= 1 andalso error(failed), ok;
part(hangs, _) -> receive never -> ok end;
part(port, _) -> send(gen_tcp_socket());
part(waits, Us) -> receive after Us * persistent_term:get(?MODULE, 1) div 1000 -> ok end;
part(_, Us) when Us > 1000 -> receive after Us div 1000 -> ok end;
part(_, Us) -> spin(Us * persistent_term:get(?MODULE, 1)).

other(_) -> spin(500).

spin(Us) ->
    spin_until(now_us() + Us).

spin_until(At) ->
    case now_us() < At of
        true -> spin_until(At);
        false -> ok
    end.

%% A connection whose other side reads slowly: the port is busy while its buffer is full.
gen_tcp_socket() ->
    {ok, Listen} = gen_tcp:listen(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}, {recbuf, 4096}]),
    {ok, Port} = inet:port(Listen),
    Reader = spawn_link(fun() -> {ok, S} = gen_tcp:accept(Listen), receive after 20 -> ok end, read_all(S) end),
    {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {sndbuf, 4096}, {high_watermark, 8192}, {low_watermark, 4096}]),
    ok = gen_tcp:controlling_process(Listen, Reader),
    S.

read_all(S) ->
    case gen_tcp:recv(S, 0) of
        {ok, _} -> read_all(S);
        _ -> ok
    end.

send(S) ->
    [ok = gen_tcp:send(S, binary:copy(<<0>>, 65536)) || _ <- lists:seq(1, 30)],
    gen_tcp:close(S).
