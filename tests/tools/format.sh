#!/bin/sh
# Checks that clang-format would not change any C file.
set -u
files=$(find src include tests -name '*.[ch]' | sort)
failed=0
out=$(printf '%s\n' "$files" | xargs clang-format --dry-run -Werror 2>&1) || failed=1
# One process for all files takes seconds, one for each takes more than a minute.
bad=$(printf '%s\n' "$out" | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error: .*/\1/p' | sort | uniq -c)
total=$(printf '%s\n' "$files" | wc -l)
if [ $failed -ne 0 ]; then
    failed=$(printf '%s' "$bad" | grep -c .)
    printf '%s\n' "$bad" | while read -r n f; do
        [ -z "$f" ] || echo "FAIL $f ($n places; first below; fix with: clang-format -i $f)"
        printf '%s\n' "$out" | grep -A 2 -m 1 "^$f:"
    done
    if [ "$failed" -eq 0 ]; then # clang-format itself failed
        printf '%s\n' "$out"
        failed=1
    fi
fi
echo "$((total - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
