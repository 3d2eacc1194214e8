%% Stack samples and the process table, as the other parts of the controller see them. kprof_stack_control and kprof_processes do the
%% work. They belong to the tools, which are loaded when the first sample or table is asked for.
%%
%% Invariant: no function of the tools is called while neither a sampler nor a table runs.
-module(kprof_stacks).
-export([beat/1, gate/1, off/2, watch/1]).

-include("kprof_controller.hrl").

-spec beat(state()) -> state().
beat(#s{stacks = #stacks{sampler = none}, processes = #processes{table = none}} = S) -> S;
beat(S) -> kprof_processes:beat(kprof_stack_control:beat(S)).

-spec gate(state()) -> state().
gate(#s{stacks = #stacks{sampler = none}, processes = #processes{table = none}} = S) -> S;
gate(S) -> kprof_stack_control:gate(S).

-spec off(integer(), state()) -> state().
off(Ref, #s{stacks = #stacks{sampler = none}} = S) -> kprof_link:answer(Ref, ok, S);
off(Ref, S) -> kprof_stack_control:off(Ref, S).

%% After each start of a relay, which reports to nobody at first.
-spec watch(state()) -> state().
watch(#s{stacks = #stacks{sampler = none}} = S) -> S;
watch(S) -> kprof_stack_control:watch(S).
