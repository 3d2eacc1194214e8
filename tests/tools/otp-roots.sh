#!/bin/sh
# Creates build/otp/trixie (OTP 27) and build/otp/sid (OTP 29): small Debian roots from which the tests start nodes.
# Needs root and the network. If it fails, it prints why, and the tests of these releases are skipped (and counted as
# skipped). KPROF_OTP_ROOTS: a directory that already contains the roots.
set -u
dir=${KPROF_OTP_ROOTS:-build/otp}
for suite in trixie sid; do
    root=$dir/$suite
    [ -x "$root/usr/bin/erl" ] && continue
    if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null 2>&1; then
        echo "OTP root $suite: needs root and mmdebstrap; its tests are skipped"
        continue
    fi
    if [ -e "$root.failed" ] && [ -z "$(find "$root.failed" -mmin +60)" ]; then
        echo "OTP root $suite: could not be created less than an hour ago (see $root.log); its tests are skipped"
        continue
    fi
    mkdir -p "$dir"
    rm -rf "$root" "$root.tmp" "$root.failed"
    echo "OTP root $suite: creating $root"
    if timeout 400 mmdebstrap --variant=extract --mode=root --aptopt='Acquire::Check-Valid-Until "false"' \
        --include=base-files,dash,coreutils,sed,grep,libc6,erlang-base,erlang-runtime-tools,erlang-tools,erlang-dev \
        "$suite" "$root.tmp" >"$root.log" 2>&1 && cp /etc/hosts "$root.tmp/etc/"; then
        mv "$root.tmp" "$root"
    else
        touch "$root.failed"
        rm -rf "$root.tmp"
        echo "OTP root $suite: could not be created (see $root.log); its tests are skipped"
    fi
done
exit 0
