#!/bin/sh
# Runs cmocka programs, continues after a failure, prints the output of failed programs, and ends with the counts.
# KPROF_FAILED: a file to which each failed program is appended; KPROF_ONLY: such a file; only its programs run.
set -u
passed=0 failed=0 skipped=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
number() { # number WORD: the sum of WORD (as cmocka prints it) over the groups of a program
    sed -n "s/^\[ *$1 *\] \([0-9][0-9]*\) test.*/\1/p" "$out" | awk '{ n += $1 } END { print n + 0 }'
}
for program in "$@"; do
    if [ -n "${KPROF_ONLY:-}" ] && ! grep -qxF "$program" "$KPROF_ONLY"; then
        continue
    fi
    timeout -k 5 300 "$program" >"$out" 2>&1
    rc=$?
    # With some settings of address space randomization, ThreadSanitizer cannot start.
    if [ $rc -ne 0 ] && grep -q 'unexpected memory mapping' "$out"; then
        timeout -k 5 300 setarch "$(uname -m)" -R "$program" >"$out" 2>&1
        rc=$?
    fi
    p=$(number PASSED) f=$(number FAILED) s=$(number SKIPPED)
    [ $rc -eq 0 ] || [ "$f" -gt 0 ] || f=1
    [ $((p + f + s)) -gt 0 ] || f=1
    if [ "$f" -gt 0 ]; then
        echo "FAIL $program (exit $rc)"
        [ -z "${KPROF_FAILED:-}" ] || echo "$program" >>"$KPROF_FAILED"
        tail -n 120 "$out"
    else
        echo "ok   $program ($p)"
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
[ $# -gt 0 ] || { echo "no unit tests"; failed=1; }
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
