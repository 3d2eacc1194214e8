%% The costs that kprof_calibration has measured, completed with values that are assumed.
-module(kprof_calibration_costs).
-agent(interpreted).
-export([assumed/0, completed/3]).

-define(MOST_CHECK_NS, 150).
-define(MOST_DRAW_NS, 300).

%% Nanoseconds of a call and its return, at the speed of `loop`, minus the untraced call: hit: a tier in a sampled request (lean); full: the same with
%% full returns; args: added if it sends its arguments; entry: of a sampled request; rare: of an unsampled request; rare0: an
%% unsampled call without an entry; hit0: a sampled one (lean); miss: a tier outside of a request; count: call_count. detail: added to each call of a
%% request that is not a detailed one, if others are; draw: added to that for a call of the entry.
-spec assumed() -> kprof_calibration:costs().
assumed() ->
    #{hit => 2000, full => 2200, args => 2000, entry => 4500, rare => 550, rare0 => 550, hit0 => 2200, miss => 350, count => 50, detail => 60, draw => 120,
        loop => 0, close => #{rare => 450, rare0 => 450, miss => 250}, assumed => true}.

%% Values are assumed for the kinds for which there was no time.
-spec completed(#{atom() => pos_integer()}, #{atom() => pos_integer()}, pos_integer()) -> kprof_calibration:costs().
completed(Measured, Close, Loop) ->
    Costs = maps:merge(assumed(), differences(Measured)),
    Main = [x || Kind <- [miss, rare, rare0, hit, entry, hit0], is_map_key(Kind, Measured)],
    Costs#{loop := Loop, close := maps:merge(maps:with([miss, rare, rare0], Costs), Close), assumed := length(Main) < 6}.

%% What is added to other kinds, which are measured before these.
differences(#{args := Told, hit := Hit, entry := Entry} = Costs0) ->
    Costs = Costs0#{args := max(1, Told - Hit)},
    case Costs of
        #{detail := Detail, draw := Draw} ->
            Check = added(Detail - Hit, ?MOST_CHECK_NS),
            Costs#{detail := Check, draw := added(Draw - Entry - Check, ?MOST_DRAW_NS)};
        _ ->
            maps:remove(detail, Costs)
    end;
differences(Costs) ->
    Costs.

%% The small difference of two measurements: on a busy machine, their errors are larger than that.
added(Ns, Most) -> min(Most, max(0, Ns)).
