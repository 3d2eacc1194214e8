#!/bin/sh
# Runs the bench programs and then tests/bench/bench_*.py (which need nodes). Each prints what it measured, and against what.
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
