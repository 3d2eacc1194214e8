%% The shop as an appmod of yaws. /api/item/ID and /api/cart/ID are pages, /api/order accepts orders. It uses only
%% functions of yaws_api, so that one beam runs on all versions (the record #arg{} differs).
-module(real_shop).
-export([out/1]).

out(Arg) ->
    case string:lexemes(yaws_api:arg_server_path(Arg), "/") of
        ["api", "item", Id] -> page(item(list_to_integer(Id)));
        ["api", "cart", Id] -> page([item(N) || N <- lists:seq(list_to_integer(Id), list_to_integer(Id) + 4)]);
        ["api", "order"] -> page("ordered");
        _ -> {status, 404}
    end.

page(Body) -> {content, "text/plain", Body}.

item(Id) -> io_lib:format("item ~b: ~s, ~.2f~n", [Id, integer_to_list(erlang:phash2(Id), 36), Id / 7]).
