#!/bin/sh
# embed.sh FILE...: prints a C file with the bytes of each file (src/export/page_blob.h), named as the file.
set -eu

printf '/* Made by src/export/embed.sh: do not edit. */\n#include "../src/export/page_blob.h"\n'
for file; do
    name=$(basename "$file" | tr . _)
    printf '\nconst char page_%s[] = {\n' "$name"
    od -An -v -tu1 "$file" | sed 's/ *\([0-9][0-9]*\)/\1,/g'
    printf '};\nconst size_t page_%s_bytes = sizeof page_%s;\n' "$name" "$name"
done
