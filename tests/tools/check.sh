#!/bin/sh
# Runs suites (make check-NAME each), goes on after a failing one, shows what failed, and closes with one line of counts.
# A suite is to print a closing line `N passed, N failed[, N skipped]`; one that does not counts as one failure.
set -u
mkdir -p build/check
passed=0 failed=0 skipped=0
counts() { # log -> "passed failed skipped", the sum of its closing lines; nothing when there is none
    awk '/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ { p += $1; f += $3; s += $5; n++ }
         END { if (n) print p, f, s + 0 }' "$1"
}
began=$(date +%s)
for suite in "$@"; do
    log=build/check/$suite.log
    t0=$(date +%s)
    ${MAKE:-make} --no-print-directory "check-$suite" >"$log" 2>&1
    rc=$?
    took=$(($(date +%s) - t0))
    set -- $(counts "$log")
    p=${1:-0} f=${2:-0} s=${3:-0}
    if [ $rc -ne 0 ] && [ "$f" -eq 0 ]; then
        f=1
    fi
    if [ $# -eq 0 ] && [ $rc -eq 0 ]; then
        f=1
        echo "check-$suite printed no counts" >>"$log"
    fi
    if [ "$f" -gt 0 ]; then
        echo "---- check-$suite: failed ----"
        tail -n 200 "$log"
        echo "---- (all of it in $log)"
    else
        grep -i '^skip' "$log"
    fi
    printf 'check-%-9s %4d passed, %d failed, %d skipped   %d s\n' "$suite" "$p" "$f" "$s" "$took"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$(($(date +%s) - began)) s in all"
if [ $skipped -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ $failed -eq 0 ]
