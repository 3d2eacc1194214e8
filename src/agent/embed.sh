#!/bin/sh
# embed.sh BEAM...: prints a C file with the bytes of each beam (include/kprof/trace/agent_blob.h).
set -eu

[ $# -gt 0 ] || { echo "usage: embed.sh BEAM..." >&2; exit 2; }

printf '/* Made by src/agent/embed.sh: do not edit. */\n#include <kprof/trace/agent_blob.h>\n'
for beam; do
    name=$(basename "$beam" .beam)
    printf '\nstatic const unsigned char agent_%s[] = {\n' "$name"
    od -An -v -tx1 "$beam" | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'
    printf '};\n'
done
printf '\nconst struct agent_blob agent_blobs[] = {\n'
for beam; do
    name=$(basename "$beam" .beam)
    printf '    {"%s", agent_%s, sizeof agent_%s},\n' "$name" "$name" "$name"
done
printf '};\nconst size_t agent_blob_count = sizeof agent_blobs / sizeof *agent_blobs;\n'
