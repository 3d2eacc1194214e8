#!/bin/sh
# terminfo.sh TERM...: prints a C file with the terminfo entries of these terminals (src/ui/terminfo_blob.h). An entry
# that is not installed is left out.
set -eu

printf '/* Made by src/ui/terminfo.sh: do not edit. */\n#include "../src/ui/terminfo_blob.h"\n\n'
printf '#include <stddef.h>\n'
i=0
table=
for term; do
    entry=$(infocmp -0 -q -x -Q2 "$term" 2>/dev/null) || continue
    printf '\nstatic const char entry_%d[] = {\n' "$i"
    printf '%s' "$entry" | od -An -v -tu1 | sed 's/ *\([0-9][0-9]*\)/\1,/g'
    printf '0};\n'
    table="$table    {\"$term\", entry_$i},
"
    i=$((i + 1))
done
printf '\nconst struct terminfo_entry terminfo_entries[] = {\n%s    {NULL, NULL},\n};\n' "$table"
