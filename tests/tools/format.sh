#!/bin/sh
# Checks that clang-format would not change any C file.
set -u
passed=0 failed=0
for f in $(find src include tests -name '*.[ch]' | sort); do
    if out=$(clang-format --dry-run -Werror "$f" 2>&1); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $f ($(printf '%s\n' "$out" | grep -c 'error:') places; first below; mend with: clang-format -i $f)"
        printf '%s\n' "$out" | head -n 3
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
