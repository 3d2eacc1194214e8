%% The process table: starts it when kprof-top asks for it, pauses it, and ends it when kprof-top no longer asks. Functions of
%% the controller's process.
-module(kprof_processes).
-agent(tools).
-export([beat/1, ended/2, request/3]).

-include("kprof_controller.hrl").

-define(UNASKED_MS, 3000). % after this time it ends,
-define(UNASKED_PERIODS, 5). % or after this many periods, if that is longer
-define(ROWS, 200).
-define(PERIOD_MS, 2000).

%% off | #{by, rows, period_ms, within}: what is left out has its default. The table itself answers.
-spec request(integer(), off | map(), state()) -> state().
request(Ref, off, S) ->
    kprof_link:answer(Ref, ok, stopped(S));
request(Ref, #{} = Asked, S0) ->
    By = maps:get(by, Asked, reductions),
    Within = maps:get(within, Asked, all),
    case kprof_process_round:is_column(By) andalso is_group(Within) of
        true ->
            Wanted = #{by => By, rows => kprof_options:number(rows, ?ROWS, 1, ?ROWS, Asked), within => Within},
            PeriodUs = kprof_options:number(period_ms, ?PERIOD_MS, 500, 60000, Asked) * 1000,
            taken(Ref, Wanted, PeriodUs, started(Wanted, PeriodUs, S0));
        false ->
            kprof_link:answer(Ref, {error, processes, <<"no such column, or no such group">>}, S0)
    end.

taken(Ref, _, _, #s{processes = #processes{table = none}} = S) ->
    kprof_link:answer(Ref, kprof_link:no_room(), S);
taken(Ref, Wanted, PeriodUs, #s{processes = #processes{table = Table} = Processes} = S) ->
    Table ! {take, Ref, Wanted, PeriodUs},
    Patience = max(?UNASKED_MS, ?UNASKED_PERIODS * PeriodUs div 1000),
    S#s{processes = Processes#processes{until_ms = kprof_node:now_ms() + Patience}}.

is_group(all) -> true;
is_group({application, App}) -> is_binary(App);
is_group({initial_call, {M, F, A}}) -> is_binary(M) andalso is_binary(F) andalso is_integer(A);
is_group(_) -> false.

started(Wanted, PeriodUs, #s{processes = #processes{table = none}, vm = Vm, link = #link{pid = To}} = S) ->
    case kprof_process_table:start(#{wanted => Wanted, period_us => PeriodUs, vm => Vm, to => To}, kprof_stack_control:closed_by(S), kprof_stack_control:budget(S)) of
        {Table, Ref} -> kprof_stack_control:gate(kprof_cleanup_plan:share(S#s{processes = #processes{table = Table, ref = Ref}}));
        none -> S
    end;
started(_, _, S) ->
    S.

stopped(#s{processes = #processes{table = Table, ref = Ref}} = S) ->
    erlang:demonitor(Ref, [flush]),
    kprof_node:kill(Table),
    kprof_stack_control:gate(kprof_cleanup_plan:share(S#s{processes = #processes{}})).

%% It has ended by itself.
-spec ended(term(), state()) -> state().
ended(Why, S0) ->
    S = kprof_stack_control:gate(kprof_cleanup_plan:share(S0#s{processes = #processes{}})),
    case Why of
        killed -> kprof_link:event_kept(processes, kprof_text:format("the process table ended: its process was killed, or took too much memory", []), S);
        _ -> kprof_link:event_kept(processes, kprof_text:format("the process table ended: ~0tP", [Why, 12]), S)
    end.

%% At each heartbeat.
-spec beat(state()) -> state().
beat(#s{processes = #processes{table = Table, until_ms = Until}} = S) ->
    case Table =/= none andalso kprof_node:now_ms() > Until of
        true -> stopped(S);
        false -> S
    end.
