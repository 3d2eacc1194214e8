#!/bin/sh
# rooms.sh "ROOMS, the lowest first" FILE.c: the rooms that a test program links, the highest first: those that FILE.c and what
# it includes from tests/ name, and every room below.
set -eu
order=$1 file=$2
here=$(dirname "$file")
files=$file
for part in $(sed -n 's/^#include "\(.*\)\.h"$/\1/p' "$file"); do
    for found in "$here/$part.h" "tests/lib/$part.h" "tests/lib/$part.c"; do
        [ ! -f "$found" ] || files="$files $found"
    done
done
named=" $(sed -n -e 's/^#include <\(kprof\/\)\{0,1\}\([a-z]*\)\/.*/\2/p' -e 's/^#include "\.\.\/\.\.\/src\/\([a-z]*\)\/.*/\1/p' $files | tr '\n' ' ') "
wanted= all=
for room in $order; do
    all="$room $all"
    case $named in *" $room "*) wanted=$all ;; esac
done
echo $wanted
