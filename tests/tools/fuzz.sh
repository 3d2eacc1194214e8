#!/bin/sh
# Runs each fuzz target for FUZZ_SECONDS (60) from its seeds in tests/fuzz/corpus/NAME; new inputs are stored under
# build/.
set -u
seconds=${FUZZ_SECONDS:-60}
passed=0 failed=0
for program in "$@"; do
    name=$(basename "$program")
    work=build/fuzz/found/$name
    mkdir -p "$work/corpus"
    seeds=
    for d in "tests/fuzz/corpus/$name" "tests/fuzz/corpus/${name#fuzz_}"; do
        [ -d "$d" ] && seeds=$d
    done
    echo "== $name, $seconds s"
    if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -artifact_prefix="$work/" -print_final_stats=1 \
        "$work/corpus" $seeds >"$work/log" 2>&1; then
        grep -E 'number_of_executed_units|peak_rss_mb' "$work/log"
        passed=$((passed + 1))
    else
        echo "FAIL $name: input in $work/"
        tail -n 60 "$work/log"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
