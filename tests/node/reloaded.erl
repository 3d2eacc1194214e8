%% A module that tests reload: no process runs in it, so none is killed when old code is purged.
-module(reloaded).
-export([work/1, reload/0]).

work(X) -> [X].

reload() ->
    {?MODULE, Beam, File} = code:get_object_code(?MODULE),
    code:purge(?MODULE),
    {module, ?MODULE} = code:load_binary(?MODULE, File, Beam),
    true.
