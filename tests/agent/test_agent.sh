#!/bin/sh
# Under the name by which check-agent finds it.
exec sh "$(dirname "$0")/run.sh" "$@"
