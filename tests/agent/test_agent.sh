#!/bin/sh
# check-agent runs the files with names of this form.
exec sh "$(dirname "$0")/run.sh" "$@"
