%% The cleanup plan: what is set on the node, as a value (kprof_cleanup has its fields). Relay and guardian have a copy, so that
%% either can clean up if the controller is dead. It is shared before the VM is changed. Functions of the controller's process.
-module(kprof_cleanup_plan).
-export([new/1, share/1]).

-include("kprof_controller.hrl").

%% Sends the new plan to relay and guardian before anything is set.
-spec share(state()) -> state().
share(#s{relay = Relay, guardian = Guardian} = S) ->
    Plan = new(S),
    Guardian =/= none andalso (Guardian ! {cleanup, Plan}),
    Relay =/= none andalso (Relay ! {cleanup, Plan}),
    S.

-spec new(state()) -> kprof_cleanup:plan().
new(#s{session = Session, relay = Relay, tracing = #tracing{set = Set}, spawn_flags = New, tcw = Tcw, requests = #requests{capture = Capture}, stacks = Stacks, processes = Processes} = S) ->
    Counters = S#s.counting ++ if S#s.count =:= none -> []; true -> kprof_call_count:held(S#s.count) end,
    #{
        session => Session, relay => Relay, set => Set, new => New, tcw => Tcw, counting => Counters, capture => Capture,
        sampler => Stacks#stacks.sampler, table => Processes#processes.table, full => S#s.full#full.plan,
        events => kprof_vm_events:running(S), idle => S#s.idle_sessions,
        isolated => S#s.isolated, walker => S#s.tracing#tracing.walker, epoch => S#s.epoch, tokens => S#s.tracing#tracing.tokens, beside => S#s.beside
    }.
