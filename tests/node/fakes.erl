%% Modules with the functions of servers that presets know, made here: called with arguments of their shapes.
-module(fakes).
-export([load/0, load_rabbit/2, call/2]).

load() -> [{module, _} = load(Text) || Text <- texts()], load_rabbit(new, [rabbit_exchange, rabbit_queue_type, rabbit_amqqueue_process, rabbit_msg_store]).

%% RabbitMQ with the arities of 3.10 (old) or of 4 (new): the channel, and these modules.
load_rabbit(Which, Modules) ->
    code:purge(rabbit_channel),
    [{module, _} = load(Text) || {M, Text} <- rabbit(Which), lists:member(M, [rabbit_channel | Modules])],
    ok.

load(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, M, Beam} = compile:forms(forms(Tokens, []), [nowarn_unused_vars]),
    code:load_binary(M, "", Beam).

forms([], []) -> [];
forms([{dot, _} = Dot | Rest], Form) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse([Dot | Form])),
    [Parsed | forms(Rest, [])];
forms([T | Rest], Form) -> forms(Rest, [T | Form]).

texts() ->
    [
        "-module(cowboy_stream_h). -export([request_process/3]). request_process(R, E, _) -> cowboy_router:execute(R, E), cowboy_handler:execute(R, E), ok.",
        "-module(cowboy_req). -export([reply/4]). reply(_, _, _, _) -> ok.",
        "-module(cowboy_router). -export([execute/2]). execute(_, _) -> ok.",
        "-module(cowboy_handler). -export([execute/2]). execute(_, _) -> ok.",
        "-module('Elixir.Plug.Cowboy.Handler'). -export([init/2]). init(R, _) -> 'Elixir.Plug.Conn':send_resp(R), ok.",
        "-module('Elixir.Plug.Conn'). -export([send_resp/1]). send_resp(_) -> ok.",
        "-module('Elixir.Phoenix.Router'). -export(['__call__'/5, '__call__'/2]). "
        "'__call__'(C, _, _, _, _) -> 'Elixir.Plug.Conn':send_resp(C), ok. '__call__'(C, _) -> 'Elixir.Plug.Conn':send_resp(C), ok.",
        "-module(yaws_server). -export([handle_ut/4, deliver_accumulated/4]). handle_ut(_, _, _, _) -> yaws_server:deliver_accumulated(a, s, l, f), ok. "
        "deliver_accumulated(_, _, _, _) -> ok.",
        "-module(ejabberd_c2s). -export([handle_authenticated_packet/2]). handle_authenticated_packet(P, S) -> ejabberd_router:route(P), S.",
        "-module(ejabberd_router). -export([route/1]). route(P) -> ejabberd_local:route(P), ok.",
        "-module(ejabberd_local). -export([route/1]). route(_) -> ok.",
        "-module(shop_server). -export([handle_call/3, handle_cast/2]). handle_call(_, _, S) -> {reply, ok, S}. handle_cast(_, S) -> {noreply, S}."
    ].

rabbit(old) ->
    [
        {rabbit_channel, "-module(rabbit_channel). -export([handle_cast/2]). handle_cast(_, S) -> rabbit_exchange:route(x, m), {noreply, S}."},
        {rabbit_exchange, "-module(rabbit_exchange). -export([route/2]). route(_, _) -> rabbit_queue_type:deliver(q, m, s), []."},
        {rabbit_queue_type, "-module(rabbit_queue_type). -export([deliver/3]). deliver(_, _, _) -> ok."}
        | rabbit_of_all()
    ];
rabbit(new) ->
    [
        {rabbit_channel, "-module(rabbit_channel). -export([handle_cast/2]). handle_cast(_, S) -> rabbit_exchange:route(x, m, #{}), {noreply, S}."},
        {rabbit_exchange, "-module(rabbit_exchange). -export([route/3]). route(_, _, _) -> rabbit_queue_type:deliver(q, m, o, s), []."},
        {rabbit_queue_type, "-module(rabbit_queue_type). -export([deliver/4]). deliver(_, _, _, _) -> ok."}
        | rabbit_of_all()
    ].

rabbit_of_all() ->
    [
        {rabbit_amqqueue_process,
            "-module(rabbit_amqqueue_process). -export([handle_cast/2, handle_call/3]). handle_cast(_, S) -> {noreply, S}. handle_call(_, _, S) -> {reply, ok, S}."},
        {rabbit_msg_store, "-module(rabbit_msg_store). -export([handle_cast/2]). handle_cast(_, S) -> {noreply, S}."},
        {rabbit_writer, "-module(rabbit_writer). -export([handle_message/2]). handle_message(_, S) -> S."}
    ].

%% N calls in a process of their own.
call(What, N) ->
    {P, R} = spawn_monitor(fun() -> [one(What) || _ <- lists:seq(1, N)] end),
    receive {'DOWN', R, _, P, normal} -> N end.

one(cowboy) -> cowboy_stream_h:request_process(req(), #{handler => shop_h, handler_opts => []}, []);
one(plug) -> 'Elixir.Plug.Cowboy.Handler':init(req(), {plug, []});
one(phoenix) -> 'Elixir.Phoenix.Router':'__call__'(req(), #{route => <<"/items/:id">>}, p, p, {plug, []});
one(phoenix16) -> 'Elixir.Phoenix.Router':'__call__'(req(), {#{route => <<"/items/:id">>}, p, p, {plug, []}});
one(yaws) -> yaws_server:handle_ut(s, {arg, s, ip, h, {http_request, 'GET', {abs_path, "/items/7"}, {1, 1}}, more}, ut, 0);
one(rabbitmq) ->
    rabbit_channel:handle_cast({method, {'basic.publish', 0, <<"x">>}, c, noflow}, s),
    rabbit_channel:handle_cast({queue_event, q, e}, s),
    rabbit_channel:handle_cast(terminate, s);
one(ejabberd) -> ejabberd_c2s:handle_authenticated_packet({iq, <<"1">>, get}, #{});
one(gen_server) ->
    shop_server:handle_call({get, 7}, from, s),
    shop_server:handle_call(stop, from, s),
    shop_server:handle_cast({put, 7, v}, s).

req() -> #{method => <<"GET">>, path => <<"/items/7">>, handler => none}.
