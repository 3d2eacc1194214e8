#!/bin/sh
# Checks each source of the agent: every exported function has a -spec, and dialyzer reports nothing. One test per
# source.
# dialyzer.sh [SOURCE...]. The PLT of OTP is in build/agent/dialyzer/ (built once; this takes about a minute).
set -u
dir=build/agent/dialyzer
[ $# -gt 0 ] || set -- src/agent/kprof_*.erl
plt=$dir/erts-$(erl -noinput -eval 'io:put_chars(erlang:system_info(version)), halt().').plt
rm -rf "$dir/beams"
mkdir -p "$dir/beams"

if ! [ -e "$plt" ]; then
    echo "dialyzer: analyses erts, kernel and stdlib, once"
    # The end of its output lists functions of other applications that these three use.
    dialyzer --build_plt --output_plt "$plt.new" --apps erts kernel stdlib >"$dir/plt.log" 2>&1
    [ $? -ne 1 ] && mv "$plt.new" "$plt" || { cat "$dir/plt.log"; echo "0 passed, 1 failed"; exit 1; }
fi

erlc +debug_info +warn_missing_spec -I src/agent -o "$dir/beams" "$@" >"$dir/found" 2>&1
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
