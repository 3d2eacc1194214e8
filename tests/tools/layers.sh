#!/bin/sh
# layers.sh "LAYERS, from the lowest" FILE.c: prints the layers that a test program links, the highest first: the
# layers used by FILE.c and by the files of tests/ that it includes, and all layers below these.
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
for layer in $order; do
    all="$layer $all"
    case $named in *" $layer "*) wanted=$all ;; esac
done
echo $wanted
