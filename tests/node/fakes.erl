%% Creates modules with the functions of servers that have presets, and calls them with typical arguments.
-module(fakes).
-export([load/0, load_rabbit/2, call/2, shop/2]).

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
        "-module('Elixir.Phoenix.LiveView.Channel'). -export([handle_info/2]). "
        "handle_info(M, S) -> 'Elixir.Phoenix.LiveView.Utils':'maybe_call_live_view_mount!'(s, v, p, M, u), {noreply, S}.",
        "-module('Elixir.Phoenix.LiveView.Utils'). -export(['maybe_call_live_view_mount!'/5]). "
        "'maybe_call_live_view_mount!'(S, V, _, _, _) -> 'Elixir.Phoenix.LiveView.Renderer':to_rendered(S, V), ok.",
        "-module('Elixir.Phoenix.LiveView.Renderer'). -export([to_rendered/2]). to_rendered(S, _) -> 'Elixir.Phoenix.LiveView.Diff':render(S, r, c), ok.",
        "-module('Elixir.Phoenix.LiveView.Diff'). -export([render/3]). render(_, _, _) -> ok.",
        "-module('Elixir.Ecto.Adapters.SQL'). -export([execute/6, struct/10, query/4]). "
        "execute(_, _, _, _, _, _) -> 'Elixir.DBConnection':execute(c, q, [], []), ok. "
        "struct(_, _, _, _, _, _, _, _, _, _) -> 'Elixir.Ecto.Adapters.SQL':query(m, s, [], []), ok. "
        "query(_, _, _, _) -> 'Elixir.DBConnection':prepare_execute(c, q, [], []), ok.",
        "-module('Elixir.DBConnection'). -export([execute/4, prepare_execute/4]). "
        "execute(_, _, _, _) -> 'Elixir.DBConnection.Holder':checkout(p, [], []), ok. "
        "prepare_execute(_, _, _, _) -> 'Elixir.DBConnection.Holder':checkout(p, [], []), ok.",
        "-module('Elixir.DBConnection.Holder'). -export([checkout/3]). checkout(_, _, _) -> ok.",
        "-module('Elixir.Oban.Queue.Executor'). -export([call/1, perform/1, report_finished/1]). "
        "call(X) -> 'Elixir.Oban.Queue.Executor':report_finished('Elixir.Oban.Queue.Executor':perform(X)), ok. perform(X) -> X. "
        "report_finished(_) -> 'Elixir.Oban.Engine':complete_job(c, j), ok.",
        "-module('Elixir.Oban.Engine'). -export([complete_job/2]). complete_job(_, _) -> ok.",
        "-module(shop_door). -export([handle_event/4]). handle_event(_, _, _, D) -> {keep_state, D}.",
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

%% N calls in a new process.
call(What, N) ->
    {P, R} = spawn_monitor(fun() -> [one(What) || _ <- lists:seq(1, N)] end),
    receive {'DOWN', R, _, P, normal} -> N end.

shop_of(Server, I) ->
    [asked(Server, A) || A <- requests(I)],
    I rem 10 =:= 0 andalso timer:sleep(2).

%% Requests of a shop with N ids, as these handlers receive them; with pauses, so that no limit reduces the sampling
%% rate.
shop(Server, N) ->
    {P, R} = spawn_monitor(fun() -> [shop_of(Server, I) || I <- lists:seq(1, N)] end),
    receive {'DOWN', R, _, P, normal} -> N end.

requests(I) ->
    Id = integer_to_list(I),
    [{get, "/api/item/" ++ Id ++ "?page=" ++ Id}, {get, "/user/" ++ string:to_lower(integer_to_list(16#1000000000 + I, 16)) ++ "/orders"}, {post, "/cart"}, {get, "/"}].

asked(plug, Asked) ->
    'Elixir.Plug.Cowboy.Handler':init(req(Asked), {plug, []});
asked(cowboy, {_, Url} = Asked) ->
    Handler = case Url of "/api" ++ _ -> item_h; "/user" ++ _ -> orders_h; "/cart" -> cart_h; "/" -> home_h end,
    cowboy_stream_h:request_process(req(Asked), #{handler => Handler, handler_opts => []}, []);
asked(yaws, {Method, Url}) ->
    Http = {http_request, list_to_atom(string:to_upper(atom_to_list(Method))), {abs_path, Url}, {1, 1}},
    yaws_server:handle_ut(s, {arg, s, ip, h, Http, more}, ut, 0).

req({Method, Url}) ->
    [Path | Query] = string:split(Url, "?"),
    (req())#{method := list_to_binary(string:to_upper(atom_to_list(Method))), path := list_to_binary(Path), qs => list_to_binary(Query)}.

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
    shop_server:handle_cast({put, 7, v}, s);
one(gen_statem) ->
    shop_door:handle_event({call, from}, {push, 7}, closed, d),
    shop_door:handle_event(cast, lock, closed, d),
    shop_door:handle_event({timeout, auto}, <<"x">>, open, d),
    shop_door:handle_event(info, {tcp, s, <<"x">>}, open, d);
one(liveview) ->
    State = #{socket => #{view => 'Elixir.Shop.CartLive'}},
    Live = 'Elixir.Phoenix.LiveView.Channel',
    Live:handle_info(#{event => <<"event">>, payload => #{<<"event">> => <<"add">>, <<"value">> => 7}}, State),
    Live:handle_info(#{event => <<"live_patch">>, payload => #{}}, State),
    Live:handle_info({stock, 7}, State),
    Live:handle_info({'Elixir.Phoenix.Channel', p, from, socket}, ref);
one(ecto) ->
    SQL = 'Elixir.Ecto.Adapters.SQL',
    SQL:execute(named, m, #{sources => {{<<"items">>, 'Elixir.Shop.Item', nil}}}, p, [], []),
    SQL:struct(m, c, s, insert, <<"orders">>, [], [], raise, [], []);
one(oban) ->
    'Elixir.Oban.Queue.Executor':call(#{job => #{worker => <<"Shop.Mailer">>}, state => unset});
one('phoenix,ecto') -> one(phoenix), one(ecto).

req() -> #{method => <<"GET">>, path => <<"/items/7">>, handler => none}.
