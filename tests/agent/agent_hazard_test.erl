%% Hazards: each row of the table avoids a use on the VMs with the fault, and on no other; a request for an avoided
%% use is refused. Run by agent_test.
-module(agent_hazard_test).
-export([tests/0]).

-include("agent.hrl").
-import(agent_lib, [load_parts/1, start/1, ask/2, trace_config/1, trace_config/2, finish/2, forget_beats/0, beat_now/2]).

tests() ->
    [
        {hazards_by_version, fun hazards_by_version/1},
        {hazards_are_told, fun hazards_are_told/1},
        {what_is_held_back_is_refused, fun what_is_held_back_is_refused/1},
        {hazard_of_builtins_that_others_trace, fun hazard_of_builtins_that_others_trace/1},
        {nothing_is_loaded_on_demand, fun nothing_is_loaded_on_demand/1},
        {nothing_is_searched_in_the_code_path, fun nothing_is_searched_in_the_code_path/1}
    ].

vm(Erts) -> #{otp => <<"x">>, erts => Erts, jit => true, word_bytes => 8, beside => false, common => false}.
beside(Erts) -> (vm(Erts))#{beside => true}.
common(Erts) -> (vm(Erts))#{common => true}.

%% {Use, VMs on which it is avoided, VMs on which it is allowed}
rows() ->
    Old = [vm([12, 3, 2]), vm([13, 1, 5]), vm([14, 2, 5])],
    New = [vm([15, 2, 7]), vm([16, 3]), vm([17, 1, 1])],
    [
        {reset_trace, Old, [vm([15, 0]) | New]},
        {running_flags, [vm([12, 3]), vm([13, 1, 5])], [vm([13, 2]) | New]},
        {beside_no_jit, [(beside([15, 0]))#{jit => false}, (beside([15, 1, 3]))#{jit => false}], [beside([15, 0]), (vm([15, 1, 3]))#{jit => false}, (common([15, 1, 3]))#{jit => false}, (beside([15, 2]))#{jit => false}]},
        {attach, [vm([12, 2, 1]), (vm([13, 1, 5]))#{word_bytes => 4}], [vm([12, 3]) | Old ++ New]},
        {lean_exceptions, [vm([15, 0, 1]) | Old], New},
        {lean_beside, [beside([15, 0, 1])], [common([15, 0, 1]), vm([15, 0, 1]), beside([15, 1]), beside([13, 1, 5])]},
        {bif_beside, [beside([15, 2, 7]), beside([16, 2]), common([15, 0]), common([16, 2])], [vm([15, 2, 7]), beside([17, 1]), common([16, 3]), common([13, 1, 5])]},
        {gc_flags, [vm([15, 0]), vm([15, 2]), beside([16, 3]), vm([17, 0, 3]), beside([17, 1])], [beside([17, 1, 1]) | Old]},
        {vm_events, [vm([15, 2, 7]) | Old], [vm([16, 0]), vm([16, 3]), vm([17, 1, 1])]},
        {detail, [vm([15, 0]), vm([15, 0, 1]) | Old], [vm([15, 1]), beside([15, 1]) | New]},
        {full_request, [vm([15, 0]), vm([15, 0, 1])], [vm([15, 1]) | Old ++ New]},
        {sample_queue, [vm([12, 3]), vm([13, 1, 5]), vm([13, 2, 2, 4]), vm([14, 1, 1])], [vm([13, 2, 2, 5]), vm([14, 2]) | New]},
        %% 13.2.2.5: OTP 25.3.2.8; 14.2, 14.2.1: OTP 26.2, 26.2.1 (GH-8051)
        {sample_large, [vm([13, 1, 5]), vm([13, 2, 2, 5]), vm([14, 1, 1]), vm([14, 2]), vm([14, 2, 1]), vm([15, 2, 7]), vm([16, 2])],
            [vm([13, 2, 2, 6]), vm([14, 2, 2]), vm([16, 2, 1]), vm([17, 1, 1])]}
    ] ++ [{Use, Old ++ New, []} || Use <- [existing, call_time, ask_all, module_literals, load_on_demand, name_maps, flags_idle, session_timers, sample_memory, session_drop]].

hazards_by_version(_) ->
    [begin
        [?equal({Use, Vm, kprof_hazard:allowed(Use, Vm)}, {Use, Vm, false}) || Vm <- Held],
        [?equal({Use, Vm, kprof_hazard:allowed(Use, Vm)}, {Use, Vm, true}) || Vm <- Free]
     end || {Use, Held, Free} <- rows()],
    %% each row has a test, and an unknown use is refused
    Told = [Id || {Id, _, _} <- kprof_hazard_text:list(vm([13, 1, 5]))],
    ?equal(length(Told), length(rows())),
    ?equal(kprof_hazard:allowed(anything, vm([17, 1])), false),
    %% what remains of B4 is said, and no row claims to avoid it
    [{b4, 1, Text}] = [Row || {_, _, Sentence} = Row <- kprof_hazard_text:list(vm([13, 1, 5])), string:find(Sentence, "PR 7822") =/= nomatch],
    ?check(string:find(Text, "can still hang") =/= nomatch),
    {b3, 1, Flags} = lists:keyfind(b3, 1, kprof_hazard_text:list(vm([17, 1]))),
    ?check(string:find(Flags, "capture") =/= nomatch).

hazards_are_told(T) ->
    K = start(T),
    Rows = ask(K, hazards),
    ?equal(length(Rows), length(rows())),
    [?check(is_atom(Id) andalso (Held =:= 0 orelse Held =:= 1) andalso is_binary(Text)) || {Id, Held, Text} <- Rows],
    ?equal(lists:keyfind(a1, 1, Rows) =:= false, false),
    {a1, Held1, _} = lists:keyfind(a1, 1, Rows),
    ?equal(Held1 =:= 1, list_to_integer(atom_to_list(get(version))) < 27),
    finish(T, K).

what_is_held_back_is_refused(T) ->
    load_parts(T),
    Leaf = {agent_load, leaf, 1},
    {badrpc, {'EXIT', {{held_back, existing}, _}}} = rpc:call(T, kprof_spec, flags, [{none, self()}, existing, true, [call]]),
    {badrpc, {'EXIT', {{held_back, all}, _}}} = rpc:call(T, kprof_spec, flags, [{none, self()}, all, false, [all]]),
    [{error, {held_back, Kind}} = rpc:call(T, kprof_spec, set_pattern, [none, Leaf, true, [Kind]]) || Kind <- [call_time, call_memory, meta]],
    ?equal(rpc:call(T, erlang, trace_info, [Leaf, call_time]), {call_time, false}),
    %% built-in functions while another session exists
    Bif = [{0, {erlang, self, 0}, []}, {1, Leaf, []}],
    [{0, {erlang, self, 0}, {note, Why}}] = kprof_patterns:held_back(Bif, beside([15, 2, 7])),
    ?check(string:find(Why, "built-in") =/= nomatch),
    ?equal(kprof_patterns:held_back(Bif, vm([15, 2, 7])), []),
    %% maps in names
    K = start(T),
    {error, identity, _} = ask(K, {config, trace_config([{entry, 1}], #{identity => <<"agent_load:entry/1 #{a => arg(1)}">>})}),
    {error, identity, _} = ask(K, {config, trace_config([{entry, 1}], #{identity => <<"fun ({agent_load, entry, [X]}) -> {x, #{k => X}} end">>})}),
    finish(T, K),
    [?equal(rpc:call(T, kprof_spec, reset_tokens, [fun() -> false end]), false) || list_to_integer(atom_to_list(get(version))) < 27].

%% Other tracers in the common trace: one with a pattern on the function, one of new processes, dbg. On OTP 27 the tier gets no
%% pattern, and no request sets one.
hazard_of_builtins_that_others_trace(T) ->
    Version = list_to_integer(atom_to_list(get(version))),
    Bif = {erlang, phash2, 2},
    K = start(T),
    Config = (trace_config([{entry, 1}]))#{tiers := [{0, agent_load, entry, 1}, {1, erlang, phash2, 2}], entry := none},
    Matched = fun() -> {ok, [{0, 1, _}, {1, N, _}]} = ask(K, {config, Config}), N end,
    Other = fun() -> if Version =:= 27 -> 0; true -> 1 end end,
    Tracer = spawn(T, timer, sleep, [infinity]),
    ?equal(Matched(), 1),
    1 = rpc:call(T, erlang, trace_pattern, [Bif, true, [local]]),
    ?equal(Matched(), if Version < 27 -> 0; true -> Other() end),
    Version =:= 27 andalso refused(K),
    1 = rpc:call(T, erlang, trace_pattern, [Bif, false, [local]]),
    ?equal(Matched(), 1),
    true = rpc:call(T, erlang, register, [dbg, Tracer]),
    ?equal(Matched(), Other()),
    true = rpc:call(T, erlang, unregister, [dbg]),
    Version >= 27 andalso begin
        rpc:call(T, erlang, trace, [new, true, [call, {tracer, Tracer}]]),
        ?equal(Matched(), Other()),
        rpc:call(T, erlang, trace, [new, false, [call, {tracer, Tracer}]])
    end,
    ?equal(Matched(), 1),
    exit(Tracer, kill),
    finish(T, K).

refused(K) ->
    Says = fun(Why) -> ?check(string:find(Why, "built-in") =/= nomatch) end,
    {error, nofunction, Why1} = ask(K, {capture, 1}),
    Says(Why1),
    {error, held, Why2} = ask(K, {why, 1}),
    Says(Why2),
    {error, full, Why3} = ask(K, {full, #{who => {call, {<<"erlang">>, <<"phash2">>, 2}}, modules => {some, [<<"agent_load">>], []}}}),
    Says(Why3).

nothing_is_loaded_on_demand(T) ->
    K = start(T),
    [rpc:call(T, code, F, [sofs]) || F <- [purge, delete, purge]], % another test may have loaded it
    false = rpc:call(T, erlang, module_loaded, [sofs]),
    {ok, [{0, 0, Note}]} = ask(K, {config, (trace_config([{entry, 1}]))#{tiers => [{0, sofs, set, 1}]}}),
    ?check(string:find(Note, "no module sofs is loaded") =/= nomatch),
    ?equal(ask(K, {functions, sofs}), []),
    ?equal(rpc:call(T, erlang, module_loaded, [sofs]), false),
    finish(T, K).

%% A call of a module that does not exist makes the code server search the code path, each time: it would be busy with files.
nothing_is_searched_in_the_code_path(T) ->
    K = start(T),
    {ok, _} = ask(K, {config, (trace_config([{entry, 1}, {leaf, 1}]))#{detail => 10}}),
    Searched = fun() -> element(2, rpc:call(T, erlang, process_info, [rpc:call(T, erlang, whereis, [erl_prim_loader]), reductions])) end,
    forget_beats(),
    beat_now(K, run_queue),
    Before = Searched(),
    [begin forget_beats(), beat_now(K, run_queue) end || _ <- lists:seq(1, 4)],
    ?equal(Searched(), Before),
    finish(T, K).
