#!/bin/sh
# threaded.sh PROGRAM...: the names of the programs that can start a thread (the linker found a use of pthread_create).
# Only those are built and run with ThreadSanitizer: a data race needs two threads.
set -u
found=
for program in "$@"; do
    if nm -u "$program" | grep -q ' pthread_create'; then
        found=1
        basename "$program"
    fi
done
[ -n "$found" ] || { echo "threaded.sh: no program of $# can start a thread" >&2; exit 1; }
