%% The patterns of the functions that kprof_calibration calls. Me: the merged module, which has these functions.
-module(kprof_calibration_patterns).
-agent(interpreted).
-export([set/4, unset/2]).

-define(SELDOM, 1000000).
-define(NEVER, 2147483647).

%% The match specs that the node will have. With ?NEVER no request is followed in detail, so no process gets the flags for it.
-spec set(module(), kprof_spec:session(), pos_integer(), boolean()) -> 1.
set(Me, Session, Epoch, Detail) ->
    Config = #{identity => none, returns => lean, sample => 1, epoch => Epoch, entry => 0},
    {ok, Lean, _} = kprof_match_spec:compile(Config#{tiers => [{0, Me, calibration_entry, 1}, {1, Me, calibration_tier, 1}, {2, Me, calibration_miss, 1}]}),
    {ok, Rare, _} = kprof_match_spec:compile(Config#{tiers => [{0, Me, calibration_rare, 1}], sample => ?SELDOM}),
    {ok, Rare0, _} = kprof_match_spec:compile(Config#{tiers => [{0, Me, calibration_rare0, 1}], entry => none, sample => ?SELDOM}),
    {ok, Hit0, _} = kprof_match_spec:compile(Config#{tiers => [{0, Me, calibration_hit0, 1}], entry => none}),
    {ok, Full, _} = kprof_match_spec:compile(Config#{tiers => [{1, Me, calibration_full, 1}], returns => full}),
    {ok, Told, _} = kprof_match_spec:compile(Config#{tiers => [{1, Me, calibration_told, 3}], args => true}),
    Detailed =
        case Detail of
            true ->
                {ok, Both, _} = kprof_match_spec:compile(Config#{tiers => [{0, Me, calibration_draw, 1}, {1, Me, calibration_detail, 1}], detail => ?NEVER, detail_flags => kprof_detail:flags(false)}),
                Both;
            false ->
                []
        end,
    [1 = kprof_spec:set_pattern(Session, MFA, Spec, [local]) || {_, MFA, Spec} <- Lean ++ Rare ++ Rare0 ++ Hit0 ++ Full ++ Told ++ Detailed],
    1 = kprof_spec:set_pattern(Session, {Me, calibration_counted, 1}, true, [call_count]).

-spec unset(module(), kprof_spec:session()) -> kprof_spec:matched().
unset(Me, Session) ->
    [kprof_spec:set_pattern(Session, {Me, F, 1}, false, [local]) || F <- [calibration_entry, calibration_tier, calibration_miss, calibration_rare, calibration_rare0, calibration_hit0, calibration_full, calibration_detail, calibration_draw]],
    kprof_spec:set_pattern(Session, {Me, calibration_told, 3}, false, [local]),
    kprof_spec:set_pattern(Session, {Me, calibration_counted, 1}, false, [call_count]).
