#!/bin/sh
# Checks each source of the agent: every exported function has a -spec, and dialyzer reports nothing. One test per
# source.
# dialyzer.sh [SOURCE...]. The PLT is in build/agent/dialyzer/. It contains the modules of OTP that the sources call, not
# whole applications, which take three times as long. It is built again if they call others.
set -u
dir=build/agent/dialyzer
[ $# -gt 0 ] || set -- src/agent/kprof_*.erl
rm -rf "$dir/beams"
mkdir -p "$dir/beams"
erlc +debug_info +warn_missing_spec -I src/agent -o "$dir/beams" "$@" >"$dir/found" 2>&1

# The files of the called modules; modules of other releases have none.
called=$(erl -noinput -eval '
    Beams = filelib:wildcard("'"$dir"'/beams/*.beam"),
    Called = lists:usort([M || B <- Beams, {ok, {_, [{imports, Is}]}} <- [beam_lib:chunks(B, [imports])], {M, _, _} <- Is]),
    Erts = filename:join(code:lib_dir(erts), ebin),
    Files = [case code:which(M) of preloaded -> filename:join(Erts, atom_to_list(M) ++ ".beam"); File -> File end
             || M <- Called, code:which(M) =/= non_existing],
    [io:format("~ts~n", [File]) || File <- Files], halt().') || exit 1
plt=$dir/$(printf %s "$called" | cksum | cut -d " " -f 1).plt
if ! [ -e "$plt" ]; then
    echo "dialyzer: analyses the modules of OTP that are called, once"
    # The end of its output lists functions that these modules use.
    dialyzer --build_plt --output_plt "$plt.new" $called >"$dir/plt.log" 2>&1
    [ $? -ne 1 ] && mv "$plt.new" "$plt" || { cat "$dir/plt.log"; echo "0 passed, 1 failed"; exit 1; }
fi

dialyzer --plt "$plt" --quiet --fullpath -Wextra_return "$dir"/beams/*.beam >>"$dir/found" 2>&1
rc=$? # 2: it reported warnings
passed=0 failed=0
for source; do
    name=$(basename "$source")
    if [ ! -e "$dir/beams/${name%.erl}.beam" ] || grep -q "$name:[0-9]" "$dir/found"; then
        echo "FAIL $source"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
# A message that names no source: of dialyzer itself, or about a header.
[ $failed -gt 0 ] || { [ $rc -eq 0 ] && [ ! -s "$dir/found" ]; } || failed=1
[ $failed -eq 0 ] || cat "$dir/found"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
