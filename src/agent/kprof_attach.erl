%% What is checked at attach, and what kprof-top learns of the node then: other agents, other tracers, the VM.
-module(kprof_attach).
-agent(interpreted).
-export([busy/2, others/1, info/3]).

-define(MANY_PROCESSES, 10000).

%% Checks whether a controller of this kprof-top (Instance) may start. With sessions (true), there may be several agents: they
%% share only the control word and the trace token. An older controller of the same kprof-top is told to end. Agents of other
%% versions may have no instance. -> none | {busy | leaving, Binary}
-spec busy(boolean(), non_neg_integer()) -> none | {busy | leaving, binary()}.
busy(Isolated, Instance) ->
    Controllers = [{R, kprof_node:told(R)} || R <- kprof_node:of_others("controller")],
    [catch R ! {superseded, Instance} || {R, #{instance := Same}} <- Controllers, Same =:= Instance],
    Others = [Told || {_, #{state := running, who := {_, _}} = Told} <- Controllers, maps:get(instance, Told, none) =/= Instance],
    case {Isolated, Others, others()} of
        {true, _, _} -> none;
        {false, [Told | _], _} -> {busy, busy_text(Told)};
        {false, [], []} -> none;
        {false, [], _} -> {leaving, <<"another kprof-top is attaching or detaching: try again">>}
    end.

%% Registered processes of agents in other slots.
others() -> kprof_node:of_others("controller") ++ kprof_node:of_others("relay") ++ kprof_node:of_others("guardian").

busy_text(#{who := {Who, {{Y, Mo, D}, {H, Mi, S}}}}) ->
    kprof_text:format("another kprof-top is tracing this node: ~ts, since ~b-~2..0b-~2..0b ~2..0b:~2..0b:~2..0b", [Who, Y, Mo, D, H, Mi, S]).

%% Other tracers. Below OTP 27 there is only one trace. New processes and a few existing ones are checked (each check is a
%% signal, so not all are). Other tracers are found and reported when flags are set.
-spec others(boolean()) -> [binary()].
others(true) ->
    Controllers = kprof_node:of_others("controller"),
    [kprof_text:format("a trace session (~0tP)", [Name, 8]) || Name <- kprof_node:sessions(), not is_of_agent(Name)] ++
        [following(Who) || R <- Controllers, #{state := running, who := {Who, _}} <- [kprof_node:told(R)]] ++ others(false);
others(false) ->
    New = kprof_node:tracer_of(new_processes),
    Some = lists:usort([kprof_node:tracer_of(P) || P <- some_processes()]),
    [kprof_text:format("~ts", [tracer_text(T)]) || T <- lists:usort([New | Some]), T =/= []].

%% The controllers of other agents are reported, not their sessions.
is_of_agent(Name) -> is_atom(Name) andalso lists:prefix("kprof_", atom_to_list(Name)).

%% The oldest processes, which include those of the system, and the newest. If there are very many processes, no list of all is
%% made: then some of the system, which live as long as the VM.
some_processes() ->
    case erlang:system_info(process_count) > ?MANY_PROCESSES of
        true -> [P || Name <- [init, application_controller, kernel_sup, code_server, user], P <- [whereis(Name)], is_pid(P)];
        false -> kprof_node:oldest_and_newest()
    end.

%% Each agent has its own session, but a process has only one trace token.
following(Who) ->
    kprof_text:format("another kprof-top (~ts) is tracing: in requests that both trace, each may miss calls in other processes", [Who]).

tracer_text(P) when is_pid(P) ->
    case process_info(P, [registered_name, initial_call]) of
        [{_, Name}, _] when is_atom(Name) -> io_lib:format("~p (~ts)", [P, Name]);
        [_, {_, {M, F, A}}] -> io_lib:format("~p (~ts)", [P, kprof_text:mfa(M, F, A)]);
        _ -> io_lib:format("~p", [P])
    end;
tracer_text(T) ->
    io_lib:format("~0tP", [T, 6]).

%% The data about the node that kprof-top gets at the start.
-spec info(kprof_spec:session(), [binary()], kprof_hazard:vm()) -> map().
info(Session, Others, Vm) ->
    #{
        held => kprof_hazard_text:held(Vm) ++ tokens_of_others(),
        otp => list_to_binary(erlang:system_info(otp_release)),
        erts => list_to_binary(erlang:system_info(version)),
        start_time => erlang:system_info(start_time),
        time_unit => erlang:convert_time_unit(1, second, native),
        schedulers => erlang:system_info(schedulers_online),
        session => Session =/= none,
        others => Others,
        elixir => code:is_loaded(elixir) =/= false,
        lean => true,
        gc => kprof_hazard:allowed(gc_flags, Vm) andalso kprof_hazard:allowed(detail, Vm),
        node => node()
    }.

tokens_of_others() ->
    case seq_trace:get_system_tracer() of
        false -> [];
        _ -> [<<"the node uses seq_trace: kprof-top replaces the trace tokens of processes that call the entry">>]
    end.
