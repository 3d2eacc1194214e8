#!/bin/sh
# The manual page must pass mandoc -Tlint and must contain every option of --help.
set -u
passed=0 failed=0
if out=$(mandoc -Tlint kprof.1 2>&1) && [ -z "$out" ]; then
    echo "ok   mandoc -Tlint kprof.1"
    passed=$((passed + 1))
else
    echo "FAIL mandoc -Tlint kprof.1"
    printf '%s\n' "$out" | head -n 40
    failed=$((failed + 1))
fi
if [ -x build/kprof-top ]; then
    text=$(mandoc -Tascii kprof.1 2>/dev/null | sed 's/.\x08//g')
    missing=
    for o in $(build/kprof-top --help | grep -o -- '--[a-z][a-z-]*' | sort -u); do
        printf '%s\n' "$text" | grep -q -- "$o" || missing="$missing $o"
    done
    if [ -z "$missing" ]; then
        echo "ok   options of --help are in kprof.1"
        passed=$((passed + 1))
    else
        echo "FAIL kprof.1 lacks$missing"
        failed=$((failed + 1))
    fi
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
