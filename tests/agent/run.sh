#!/bin/sh
# Tests of the agent on nodes of this machine's OTP and, through chroot, of those under KPROF_OTP_ROOTS (trixie: OTP 27,
# sid: OTP 29). run.sh [WORD...]: only tests whose name contains one of them; KPROF_AGENT_OTP="25 27 29" chooses versions.
# The versions run at the same time: the tests mostly wait. KPROF_TEST_JOBS=1: one after the other.
# KPROF_FAILED: a file to which a line "VERSION TEST" is appended for each failure; KPROF_ONLY: such a file; only its
# tests run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
roots=${KPROF_OTP_ROOTS:-$top/build/otp}
work=$(mktemp -d)
passed=0 failed=0 skipped=0
# Nodes are children of subshells; their pids are in files.
stop_nodes() {
    for file in "$work"/*.pid; do
        [ ! -f "$file" ] || kill -9 "$(cat "$file")" 2>/dev/null
    done
}
trap 'stop_nodes; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

sources=$(ls "$top"/src/agent/kprof_*.erl)
erlc -Werror +deterministic +no_debug_info -o "$work" $sources || exit 1
escript "$top/src/agent/merge.escript" "$work" $sources || exit 1
erlc -Werror -o "$work" "$here"/agent_*.erl "$top/src/app/kprof_sample.erl" || exit 1
epmd -daemon 2>/dev/null
host=$(hostname -s)
# Idle schedulers do not spin: the three versions and other suites share the cores.
idle="+sbwt none +sbwtdcpu none +sbwtdio none"

# run VERSION COMMAND...: starts a target with COMMAND and tests it; the results are in $work/VERSION.out.
run() {
    label=$1
    shift
    name=kprof_agent_target_${label}_$$
    (cd "$work" && exec "$@" $idle +P 131072 -sname "$name" -setcookie kprof_agent -noinput -kernel logger_level emergency) >"$work/$label.log" 2>&1 &
    echo $! >"$work/$label.node.pid"
    (cd "$work" && exec erl $idle -kernel logger_level emergency -sname "kprof_agent_tester_${label}_$$" -setcookie kprof_agent -hidden -noinput -pa "$work" \
        -s agent_test main "$name@$host" "$label" "$work" $tests) >"$work/$label.out" 2>&1 &
    echo $! >"$work/$label.tester.pid"
    wait $!
    kill -9 "$(cat "$work/$label.node.pid")" 2>/dev/null
    wait
    rm -f "$work/$label".*.pid
}

# suite VERSION COMMAND...: runs the tests of a version, if any are chosen.
suite() {
    if [ -n "${KPROF_ONLY:-}" ]; then
        tests=$(sed -n "s/^$1 /=/p" "$KPROF_ONLY") # =NAME: the whole name
        [ -n "$tests" ] || return 0
    fi
    run "$@"
}

# in_root VERSION: the directory of its Debian root.
in_root() {
    case $1 in 27) echo "$roots/trixie" ;; 29) echo "$roots/sid" ;; esac
}

# one_by_one: waits for the version that runs, if no others may run beside it.
one_by_one() {
    [ "${KPROF_TEST_JOBS:-2}" -gt 1 ] || wait
}

# result VERSION: prints the results of a version and counts them.
result() {
    grep -v ' passed, ' "$work/$1.out"
    [ -z "${KPROF_FAILED:-}" ] || sed -n 's/^FAIL OTP //p' "$work/$1.out" >>"$KPROF_FAILED"
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$work/$1.out")
    if [ -z "$counts" ]; then
        echo "FAIL OTP $1: the tester ended early"
        [ -z "${KPROF_FAILED:-}" ] || echo "not again: $1: the tester ended early" >>"$KPROF_FAILED"
        failed=$((failed + 1))
    else
        set -- $counts
        passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    fi
}

tests=$*
own=$(erl -noinput -eval 'io:put_chars(erlang:system_info(otp_release)), halt().')
wanted=${KPROF_AGENT_OTP:-$own 27 29}
in_roots=
for version in 27 29; do
    case " $wanted " in *" $version "*) ;; *) continue ;; esac
    [ "$version" = "$own" ] && continue
    if [ -x "$(in_root "$version")/usr/bin/erl" ] && [ "$(id -u)" = 0 ]; then
        in_roots="$in_roots $version"
    else
        echo "skip OTP $version: no root with it at $(in_root "$version") (KPROF_OTP_ROOTS)"
        skipped=$((skipped + 1))
    fi
done
case " $wanted " in *" $own "*) suite "$own" erl & one_by_one ;; esac
for version in $in_roots; do
    suite "$version" chroot "$(in_root "$version")" env -i HOME=/root PATH=/usr/bin:/bin erl &
    one_by_one
done
wait
ran=no
for version in "$own" $in_roots; do
    [ ! -f "$work/$version.out" ] || { ran=yes; result "$version"; }
done
if [ "$ran" = yes ] && [ $((passed + failed)) -eq 0 ]; then
    echo "no test has $* in its name"
    failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
