#!/bin/sh
# Runs the benchmark programs and then tests/bench/bench_*.py (which need nodes). Each prints its results and their
# limits.
set -u
failed=0
for program in "$@" tests/bench/bench_*.py; do
    [ -e "$program" ] || continue
    echo "== $(basename "$program")"
    case $program in
    *.py) python3 "$program" || failed=$((failed + 1)) ;;
    *) "$program" || failed=$((failed + 1)) ;;
    esac
done
[ $failed -eq 0 ]
