#!/bin/sh
# Runs cmocka programs, continues after a failure, prints the output of failed programs, and ends with the counts.
# KPROF_UNIT_JOBS: how many programs run at the same time (default 1). KPROF_FAILED: a file to which each failed program
# is appended; KPROF_ONLY: such a file; only its programs run.
set -u
if [ "${1:-}" = --one ]; then # a single program: its exit status and its output, in files
    out=$2/$(echo "$3" | tr / _)
    timeout -k 5 300 "$3" >"$out.out" 2>&1
    rc=$?
    # With some settings of address space randomization, ThreadSanitizer cannot start.
    if [ $rc -ne 0 ] && grep -q 'unexpected memory mapping' "$out.out"; then
        timeout -k 5 300 setarch "$(uname -m)" -R "$3" >"$out.out" 2>&1
        rc=$?
    fi
    echo $rc >"$out.rc"
    exit 0
fi
passed=0 failed=0 skipped=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
number() { # number WORD: the sum of WORD (as cmocka prints it) over the groups of a program
    sed -n "s/^\[ *$1 *\] \([0-9][0-9]*\) test.*/\1/p" "$out" | awk '{ n += $1 } END { print n + 0 }'
}
chosen=
for program in "$@"; do
    if [ -z "${KPROF_ONLY:-}" ] || grep -qxF "$program" "$KPROF_ONLY"; then
        chosen="$chosen $program"
    fi
done
printf '%s\n' $chosen | xargs -P "${KPROF_UNIT_JOBS:-1}" -I '{}' sh "$0" --one "$dir" '{}'
for program in $chosen; do
    out=$dir/$(echo "$program" | tr / _).out
    rc=$(cat "${out%.out}.rc")
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
