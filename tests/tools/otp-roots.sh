#!/bin/sh
# Creates build/otp/trixie (OTP 27) and build/otp/sid (OTP 29): small Debian roots from which the tests start nodes.
# Needs root and the network. If it fails, it prints why, and the tests of these releases are skipped (and counted as
# skipped). KPROF_OTP_ROOTS: a directory that already contains the roots.
set -u
dir=${KPROF_OTP_ROOTS:-build/otp}
mkdir -p "$dir"
# suites run side by side, and each asks for the roots: one creates them, the others wait
exec 9>"$dir/lock"
flock 9
for suite in trixie sid; do
    root=$dir/$suite
    # a root without ssl is from before the tests of TLS; it is used until a new one is complete
    [ -x "$root/usr/bin/erl" ] && ls -d "$root"/usr/lib/erlang/lib/ssl-* >/dev/null 2>&1 && continue
    if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null 2>&1; then
        echo "OTP root $suite: needs root and mmdebstrap; its tests are skipped"
        continue
    fi
    if [ -e "$root.failed" ] && [ -z "$(find "$root.failed" -mmin +60)" ]; then
        echo "OTP root $suite: creating it failed less than an hour ago (see $root.log); its tests are skipped"
        continue
    fi
    rm -rf "$root.tmp" "$root.failed"
    echo "OTP root $suite: creating $root"
    if timeout 400 mmdebstrap --variant=extract --mode=root --aptopt='Acquire::Check-Valid-Until "false"' \
        --include=base-files,dash,coreutils,sed,grep,libc6,erlang-base,erlang-runtime-tools,erlang-tools,erlang-dev,erlang-ssl \
        "$suite" "$root.tmp" >"$root.log" 2>&1 && cp /etc/hosts "$root.tmp/etc/"; then
        [ -e "$root" ] && mv "$root" "$root.old"
        mv "$root.tmp" "$root"
        rm -rf "$root.old"
    else
        touch "$root.failed"
        rm -rf "$root.tmp"
        echo "OTP root $suite: could not be created (see $root.log); its tests are skipped"
    fi
done
exit 0
