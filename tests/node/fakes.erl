%% Modules with the functions of servers that presets know, made here: called with arguments of their shapes.
-module(fakes).
-export([load/0, call/2]).

load() -> [{module, _} = load(Text) || Text <- texts()], ok.

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
        "-module(cowboy_router). -export([execute/2]). execute(_, _) -> ok.",
        "-module(cowboy_handler). -export([execute/2]). execute(_, _) -> ok.",
        "-module('Elixir.Plug.Cowboy.Handler'). -export([init/2]). init(R, _) -> 'Elixir.Plug.Conn':send_resp(R), ok.",
        "-module('Elixir.Plug.Conn'). -export([send_resp/1]). send_resp(_) -> ok.",
        "-module('Elixir.Phoenix.Router'). -export(['__call__'/5, '__call__'/2]). "
        "'__call__'(C, _, _, _, _) -> 'Elixir.Plug.Conn':send_resp(C), ok. '__call__'(C, _) -> 'Elixir.Plug.Conn':send_resp(C), ok.",
        "-module(yaws_server). -export([handle_ut/4]). handle_ut(_, _, _, _) -> ok.",
        "-module(rabbit_channel). -export([handle_cast/2]). handle_cast(_, S) -> rabbit_exchange:route(x, m, #{}), {noreply, S}.",
        "-module(rabbit_exchange). -export([route/3]). route(_, _, _) -> [].",
        "-module(ejabberd_c2s). -export([handle_authenticated_packet/2]). handle_authenticated_packet(P, S) -> ejabberd_router:route(P), S.",
        "-module(ejabberd_router). -export([route/1]). route(_) -> ok.",
        "-module(shop_server). -export([handle_call/3, handle_cast/2]). handle_call(_, _, S) -> {reply, ok, S}. handle_cast(_, S) -> {noreply, S}."
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
