%% Functions that are seldom called are not compiled: their forms are in an attribute of the merged module, and erl_eval runs
%% them. While the VM loads a module, one of its schedulers runs nothing else, for a time that is proportional to the size of
%% the code; an attribute takes it no time.
%%
%% merge.escript makes each call of a source with `-agent(interpreted).` a call of this. Such a source makes no process, has no
%% state, and is called a few times at attach or for a request of kprof-top: it is 100 to 300 times as slow.
-module(kprof_interpreted).
-export([call/3]).

-spec call(atom(), atom(), [term()]) -> term().
call(Source, F, Args) ->
    {_, Sources} = lists:keyfind(interpreted, 1, ?MODULE:module_info(attributes)),
    {_, Code} = lists:keyfind(Source, 1, Sources),
    %% A rule of many clauses takes 0.2 s. The controller's priority is high: others would have to wait for that.
    {priority, Priority} = process_info(self(), priority),
    Priority =:= high andalso process_flag(priority, normal),
    try run(F, Args, binary_to_term(Code))
    after process_flag(priority, Priority)
    end.

run(F, Args, Code) ->
    case Code of
        #{{F, length(Args)} := Clauses} ->
            Local = {value, fun(G, Values) -> run(G, Values, Code) end},
            {Body, Bindings} = erl_eval:match_clause(Clauses, Args, erl_eval:new_bindings(), Local),
            {value, Value, _} = erl_eval:exprs(Body, Bindings, Local),
            Value;
        #{} ->
            apply(?MODULE:module_info(module), F, Args) % of another source
    end.
